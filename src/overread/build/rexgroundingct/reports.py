"""The reports of a source: rows of a CSV table as CT-RATE has it, or a folder of text files.

What is wrong with a row is a defect, with the row's number, and the row makes no item. What is
wrong with a report (empty, too long, another language) is decided by the first step, so that it
stands in the ledger under the report's own name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from overread.benchmarks.rows import Row, parse_cells
from overread.build.item import Data, Item
from overread.build.rexgroundingct.scan_paths import patient_of, scan_stem
from overread.build.rexgroundingct.settings import columns_of
from overread.core import Defect
from overread.errors import UsageError
from overread.storage.tables import decode_text, find_bad_byte, open_text, read_csv

_LARGEST_TABLE = 1 << 30
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}")


def items(source: Path, settings: Mapping[str, str]) -> Iterator[Item | Defect]:
    """Every report of a source as an item, and every row that makes none as a defect."""
    table = _find_table(source)
    rows = _read_texts(source) if table is None else _read_rows(table, columns_of(settings))
    seen: dict[str, int] = {}
    for found in rows:
        if isinstance(found, Defect):
            yield found
            continue
        number, file, name, data = found
        problem = _check_name(file, number, name, seen)
        if problem is not None:
            yield problem
            continue
        seen[scan_stem(name)] = number
        full = name if name != scan_stem(name) else f"{name}.nii.gz"
        yield Item(
            id=scan_stem(name), patient=patient_of(name) or scan_stem(name), data={"name": full, **data}
        )


ReportRow = tuple[int, str, str, Data]


def _find_table(source: Path) -> Path | None:
    """The table of a source; None where it is a folder of text files."""
    if source.is_file():
        return source
    if not source.is_dir():
        raise UsageError("there is no such source", where=str(source), remedy="name a folder or a CSV table")
    tables = sorted(path for path in source.iterdir() if path.suffix.lower() == ".csv")
    named = [path for path in tables if path.name == "reports.csv"]
    if len(tables) > 1 and not named:
        raise UsageError(
            f"there are {len(tables)} tables",
            where=str(source),
            remedy="name one of them as the source, or call it reports.csv",
        )
    if not tables and not any(source.glob("*.txt")):
        raise UsageError(
            "there are no reports",
            where=str(source),
            remedy="expected a table reports.csv, or one .txt file for each report",
        )
    return next(iter(named or tables), None)


def _read_texts(folder: Path) -> Iterator[ReportRow | Defect]:
    """One report a text file; what stands under 'Impression' is its impression."""
    for number, path in enumerate(sorted(folder.glob("*.txt")), 1):
        try:
            text = decode_text(path.read_bytes())
        except OSError as error:
            why = str(error.strerror)
            yield Defect(code="unreadable-file", file=path.name, expected="a readable file", found=why)
            continue
        if (bad := find_bad_byte(text)) is not None:
            found = f"{bad} on line {bad.line}; is it Latin-1 or Windows-1254?"
            yield Defect(code="wrong-encoding", file=path.name, expected="UTF-8", found=found)
            continue
        findings, impressions = split_sections(text)
        yield number, path.name, path.stem, {"findings": findings, "impressions": impressions}


def split_sections(text: str) -> tuple[str, str]:
    """Findings and impression of a whole report; all of it is findings where it has no headings.

    >>> split_sections("FINDINGS: A nodule. IMPRESSION: Nodule.")
    ('A nodule.', 'Nodule.')
    """
    from overread.language.text import split_sections

    other = ("technique", "procedure", "history", "indication", "indications", "comparison",
             "comparisons", "clinical history", "clinical information", "clinical indication",
             "exam", "examination")  # fmt: skip
    found: list[str] = []
    summed: list[str] = []
    for heading, span in split_sections(text):
        if heading in ("impression", "impressions", "conclusion", "conclusions", "summary"):
            summed.append(span.extract(text).strip())
        elif heading not in other:
            found.append(span.extract(text).strip())
    return "\n".join(found), "\n".join(summed)


def _read_rows(table: Path, columns: Mapping[str, str]) -> Iterator[ReportRow | Defect]:
    """The rows of a table; the header must have the columns that are asked for."""
    if table.stat().st_size > _LARGEST_TABLE:
        raise UsageError(
            f"the table has more than {_LARGEST_TABLE:,} bytes", where=str(table), remedy="cut it"
        )
    with open_text(table) as stream:
        rows = read_csv(stream, str(table), known=columns.values())
        header = [name.strip() for name in next(rows, (0, []))[1]]
        _check_header(header, table, columns)
        for number, (_, cells) in enumerate(rows, 1):
            if any(cell.strip() for cell in cells):
                row = parse_cells(header, cells, table.name, number)
                yield row.defect or _make_row(row, table.name, columns)


def _make_row(row: Row, file: str, columns: Mapping[str, str]) -> ReportRow:
    cells = row.data or {}
    texts = {key: cells[column] for key, column in columns.items()}
    more = {name: cell for name, cell in cells.items() if name not in columns.values()}
    data: Data = {"findings": texts["findings"], "impressions": texts.get("impressions", "")}
    return row.number, file, texts["id"].strip(), {**data, "columns": more}


def _check_header(header: list[str], table: Path, columns: Mapping[str, str]) -> None:
    if not header:
        raise UsageError("the table is empty", where=str(table))
    lacking = [column for column in columns.values() if column not in header]
    if lacking:
        there = ", ".join(name[:40] for name in header[:12])
        raise UsageError(
            f"the table has no column {', '.join(lacking)}",
            where=str(table),
            remedy=f"it has {there}; say which is which with the setting "
            "columns=id=…,findings=…,impressions=…",
        )


def _check_name(file: str, number: int, name: str, seen: Mapping[str, int]) -> Defect | None:
    where = {"file": file, "row": number, "field": "id"}
    if not name:
        return Defect(code="missing-field", **where, expected="the name of a scan", found="nothing")
    if not _NAME.fullmatch(name) or ".." in name:
        shown = "".join(c if c.isprintable() else "?" for c in name[:40])
        return Defect(code="refused-file", **where, expected="a plain name", found=f"'{shown}'")
    if scan_stem(name) in seen:
        found = f"'{scan_stem(name)}', which row {seen[scan_stem(name)]} has"
        return Defect(code="duplicate-id", **where, expected="a name of its own", found=found)
    return None
