"""A table of reports in, a table of labels out: one row for one row, in the same order."""

from __future__ import annotations

import codecs
import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import typer

from overread.cli.read_text import decode_with_warning, read_bytes, warn
from overread.errors import OverreadError, UsageError


def label_table(
    table: Path, column: str | None, id_column: str | None, labels: str, out: Path | None, *, as_json: bool
) -> None:
    """Label every report of a CSV file and write the labels as a CSV file."""
    from overread.catalog import unknown_name
    from overread.cli.console import print_json, progress_bar
    from overread.language.labels import LABELS
    from overread.language.labels import compute_labels as labels_of
    from overread.language.statements import find_statements
    from overread.storage.atomic import open_atomic, remove_leftovers
    from overread.storage.tables import read_csv

    for option, value in (("--column", column), ("--id", id_column), ("--out", out)):
        if value is None:
            raise UsageError(f"{option} is missing", remedy="a table needs --column, --id and --out")
    assert column is not None
    assert id_column is not None
    assert out is not None
    if labels not in LABELS:
        raise unknown_name("label set", labels, LABELS)
    remove_leftovers(out.parent)
    if out.exists():
        raise UsageError(f"{out} already exists", remedy="choose another --out, or remove it")
    text = decode_with_warning(read_bytes(table), str(table))
    rows = [cells for _, cells in read_csv(text, str(table), known=(column, id_column))]
    if not rows:
        raise OverreadError("the table is empty", where=str(table), remedy="its first row is a header")
    header = [name.strip() for name in rows.pop(0)]
    at, id_at = (_column_index(name, header, table) for name in (column, id_column))
    names = list(LABELS[labels]([]))
    if id_column in names:
        raise UsageError(f"the id column is called like a label, '{id_column}'", where=str(table))
    if not rows:
        warn(f"{table} has a header and no rows")
    notes: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    seen: set[str] = set()
    with (
        progress_bar("reading reports", quiet=as_json) as told,
        open_atomic(out, exclusive=True) as stream,
    ):
        writer = csv.writer(codecs.getwriter("utf-8")(stream), lineterminator="\n")
        writer.writerow([id_column, *names])
        for number, row in enumerate(rows, 1):
            report, name = (row[n] if n < len(row) else "" for n in (at, id_at))
            notes.update(_oddities(row, header, report, name, seen))
            seen.add(name)
            marks = labels_of(find_statements(report), labels)
            counts.update(label for label, mark in marks.items() if mark)
            writer.writerow([name, *(marks[label] for label in names)])
            if number % 50 == 0 or number == len(rows):
                told(number, len(rows))
    for note, times in notes.items():
        warn(f"{times} row(s) of {table} {note}")
    if as_json:
        summary = {"table": str(table), "out": str(out), "labels": labels, "reports": len(rows)}
        print_json(summary | {"positive": {name: counts[name] for name in names}, "notes": dict(notes)})
    else:
        typer.echo(f"wrote {out}: {len(rows):,} report(s), {len(names)} labels of {labels}")


def _oddities(row: list[str], header: list[str], report: str, name: str, seen: set[str]) -> Iterator[str]:
    """What is odd about a row; it is written all the same."""
    if len(row) > len(header):
        yield "have more fields than the header: is a text with commas not in quotes?"
    elif len(row) < len(header):
        yield "have fewer fields than the header"
    if not report.strip():
        yield "have no text: their labels are those of a report that says nothing"
    if not name.strip():
        yield "have no id"
    elif name in seen:
        yield "have an id that stood there before"


def _column_index(name: str, header: list[str], table: Path) -> int:
    from overread.catalog import unknown_name

    if name not in header:
        error = unknown_name("column", name, header)
        raise UsageError(error.what, where=str(table), remedy=error.remedy)
    if header.count(name) > 1:
        raise UsageError(
            f"{header.count(name)} columns are called '{name}'",
            where=str(table),
            remedy="give each its own name",
        )
    return header.index(name)
