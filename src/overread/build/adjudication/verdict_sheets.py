"""Verdicts from and to files: CSV for spreadsheets, JSONL for programs.

One line a verdict. With a person's name the file is that person's sheet: own verdicts and the
questions that are left, and nothing of what others said. What comes in goes through the same checks
and into the same log as what is typed, all of it or nothing.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from overread.build.adjudication.queue import Queue, VerdictInput
from overread.build.adjudication.reads import PersonVerdict, person_key, person_name
from overread.build.item import Question
from overread.errors import OverreadError, UsageError
from overread.storage.atomic import open_atomic, remove_leftovers
from overread.storage.tables import read_sheet, read_user_file, split_jsonl

COLUMNS = (
    "question", "item", "kind", "text", "shown", "choices", "person", "verdict", "reasons", "note",
    "corrected", "at", "asked",
)  # fmt: skip
"""The columns of a file, in their order; `question` and `verdict` are needed, others may lack."""
_NEEDED = ("question", "verdict")
_MAX_CELL = 30_000
"""Characters of the longest cell: spreadsheets cut beyond 32,767."""
_FORMULA = r"[=+\-@\t\r]"
_FORMULA_ERRORS = re.compile(r"#(?:NAME\?|REF!|VALUE!|DIV/0!|N/A|NULL!|NUM!)")
"""What a spreadsheet leaves where it took a text for a formula."""


@dataclass(frozen=True)
class ImportResult:
    """What an import brought."""

    new: int
    """Verdicts that were taken."""
    known: int
    """Verdicts that were there already."""
    empty: int
    """Lines without a verdict."""


def export_verdicts(queue: Queue, path: Path, *, person: str | None = None) -> int:
    """Write the verdicts that stand to a new file, in the order in which they came; how many lines.

    With `person`, write that person's sheet: own verdicts, and below them every question that is
    left, with an empty verdict.
    """
    write = _choose_format(path)
    remove_leftovers(path.parent)
    if path.exists():
        raise UsageError(
            f"there is a file {path} already, perhaps with somebody's verdicts", remedy="give another name"
        )
    given = queue.current_verdicts()
    rows: list[dict[str, Any]]
    if person is None:
        rows = [_make_row(queue.questions[one.question], one) for one in given]
    else:
        name = person_name(person)
        own = [one for one in given if person_key(one.person) == person_key(name)]
        rows = [_make_row(queue.questions[one.question], one) for one in own]
        rows += [
            _make_row(question, None) | {"person": name, "asked": queue.question_digest(question.id)}
            for question in queue.open_questions(name)
        ]
    with open_atomic(path, compress=False, exclusive=True) as file:
        file.write(write(rows))
    return len(rows)


def import_verdicts(queue: Queue, path: Path, *, person: str | None = None) -> ImportResult:
    """Take all verdicts of a file, or none; the first thing that is wrong ends it, with its line.

    `person` is whose they are where the file does not say; where it does, it must be this one.
    """
    _choose_format(path)
    text = read_user_file(path, "verdicts")
    if "\0" in text:
        raise OverreadError("the file holds NUL characters", where=str(path))
    rows = _read_csv(text, str(path)) if _is_csv(path) else _read_jsonl(text, str(path))
    offers: list[tuple[str, VerdictInput]] = []
    empty = 0
    for where, row in rows:
        offer = _parse_verdict(queue, row, where, person)
        if offer is None:
            empty += 1
        else:
            offers.append((where, offer))
    if not offers:
        raise OverreadError("no line has a verdict", where=str(path), remedy="fill in the column 'verdict'")
    new, known = queue.submit_all(offers)
    return ImportResult(new, known, empty)


# ---- out ---------------------------------------------------------------------------------------


def _make_row(question: Question, given: PersonVerdict | None) -> dict[str, Any]:
    asked = {
        "question": question.id,
        "item": question.item,
        "kind": question.kind,
        "text": question.text,
        "shown": question.shown,
        "choices": list(question.choices),
    }
    if given is None:
        return asked | {"verdict": None, "reasons": [], "note": "", "corrected": None}
    own = given.model_dump(mode="json", exclude={"question", "item", "kind"})
    return asked | own


def _as_csv(rows: Sequence[dict[str, Any]]) -> bytes:
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(COLUMNS)
    for row in rows:
        cells = {
            **row,
            "shown": _truncate_cell(json.dumps(row["shown"], ensure_ascii=False)),
            "text": _truncate_cell(row["text"]),
            "choices": "|".join(row["choices"]),
            "reasons": "|".join(row["reasons"]),
            "corrected": _correction_cell(row["corrected"]),
        }
        lines.writerow([escape_formula(str(cells.get(name) or "")) for name in COLUMNS])
    # With a mark of order, without which spreadsheets take UTF-8 for something else.
    return out.getvalue().encode("utf-8-sig", "replace")


def _as_jsonl(rows: Sequence[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def _correction_cell(corrected: Any) -> str:
    return "" if corrected is None else json.dumps(corrected, ensure_ascii=False)


def _truncate_cell(text: str) -> str:
    return text if len(text) <= _MAX_CELL else f"{text[:_MAX_CELL]} … (cut; the JSONL has all)"


def escape_formula(cell: str) -> str:
    """A text as a cell that no spreadsheet takes for a formula; `unescape_formula` undoes it.

    >>> escape_formula("=1+1"), escape_formula("a mass"), unescape_formula(escape_formula("'=1+1"))
    ("'=1+1", 'a mass', "'=1+1")
    """
    return f"'{cell}" if re.match(f"'*{_FORMULA}", cell) else cell


def unescape_formula(cell: str) -> str:
    """The text of a cell."""
    return cell[1:] if re.match(f"'+{_FORMULA}", cell) else cell


# ---- in ----------------------------------------------------------------------------------------


def _is_csv(path: Path) -> bool:
    return path.suffix.lower() == ".csv"


def _choose_format(path: Path) -> Any:
    """How rows become bytes, by the file's name."""
    if _is_csv(path):
        return _as_csv
    if path.suffix.lower() == ".jsonl":
        return _as_jsonl
    raise UsageError(f"{path.name} is neither .csv nor .jsonl", remedy="name it so")


def _read_csv(text: str, name: str) -> Iterable[tuple[str, dict[str, Any]]]:
    rows = read_sheet(text, name, COLUMNS, lambda header: _check_header(header, f"{name}, line 1"))
    for line, row in rows:
        where = f"{name}, line {line}"
        yield where, _parse_cells(row, where)


def _check_header(header: Sequence[str], where: str) -> None:
    strange = [column for column in header if column not in COLUMNS]
    lacking = [column for column in _NEEDED if column not in header]
    twice = sorted({column for column in header if header.count(column) > 1} - set(strange))
    if strange or lacking or twice:
        what = [f"there is no column '{column}'" for column in lacking]
        what += [f"there are two columns '{column}'" for column in twice]
        if strange:
            what.append("unknown columns: " + ", ".join(f"'{c[:40]}'" for c in strange[:5]))
        raise OverreadError("; ".join(what), where=where, remedy=f"the columns are {', '.join(COLUMNS)}")


def _parse_cells(row: dict[str, str], where: str) -> dict[str, Any]:
    """A line of a spreadsheet as the object that a line of JSONL would be."""
    for column in ("question", "person", "verdict", "reasons", "note", "corrected"):
        cell = row.get(column, "").strip()
        if cell.startswith(("=", "@")) or _FORMULA_ERRORS.match(cell):
            raise OverreadError(
                f"the cell '{column}' is a formula, or what became of one ({cell[:40]})",
                where=where,
                remedy="write an apostrophe before a text that begins so",
            )
    plain: dict[str, Any] = {name: unescape_formula(cell) for name, cell in row.items()}
    # A row may end early: programs leave out empty cells at its end.
    plain["verdict"] = plain.get("verdict", "").strip() or None
    words = re.split(r"[|;,]", plain.get("reasons", ""))
    plain["reasons"] = [word.strip() for word in words if word.strip()]
    corrected = plain.get("corrected", "").strip()
    try:
        plain["corrected"] = json.loads(corrected) if corrected else None
    except (ValueError, RecursionError):
        raise OverreadError(
            f"the cell 'corrected' is no JSON ({corrected[:40]})",
            where=where,
            remedy='write {"box": [left, top, right, bottom]} or {"slices": [12, 13]}',
        ) from None
    return plain


def _read_jsonl(text: str, name: str) -> Iterable[tuple[str, dict[str, Any]]]:
    for number, line in split_jsonl(text):
        where = f"{name}, line {number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            raise OverreadError("this is no JSON object", where=where)
        _check_header(list(row), where)
        yield where, row


def _parse_verdict(queue: Queue, row: dict[str, Any], where: str, person: str | None) -> VerdictInput | None:
    """The verdict of a line; None where it has none."""
    texts = {name: row.get(name) or "" for name in ("question", "person", "note", "at", "asked")}
    verdict, reasons = row["verdict"] or "", row.get("reasons") or []
    told = [*texts.items(), ("verdict", verdict), *(("reasons", code) for code in _as_list(reasons))]
    for name, value in told:
        if not isinstance(value, str):
            raise OverreadError(f"'{name}' is no text", where=where)
    if not verdict:
        if reasons or texts["note"].strip() or row.get("corrected"):
            raise OverreadError(
                "there are reasons, a note or corrected data, and no verdict",
                where=where,
                remedy="fill in the verdict, or empty the line",
            )
        return None
    who = texts["person"].strip() or person
    if not who:
        raise OverreadError(
            "the row does not name the person",
            where=where,
            remedy="fill in the column 'person', or give --as NAME",
        )
    if person is not None and person_key(who) != person_key(person):
        raise OverreadError(
            f"this is a verdict of {who[:80]}, not of {person}",
            where=where,
            remedy="import it without --as, or take the line out",
        )
    question, asked = texts["question"], texts["asked"].strip()
    question = question if question in queue.questions else question.strip()
    if question in queue.questions and asked and asked != queue.question_digest(question):
        raise OverreadError(
            f"question '{question}' has changed since this verdict",
            where=where,
            remedy="export the questions again, and have it read again",
        )
    return VerdictInput(
        person=who,
        question=question,
        verdict=verdict,
        reasons=tuple(reasons),
        note=texts["note"],
        corrected=row.get("corrected"),
        at=_check_time(texts["at"].strip(), where),
    )


def _as_list(reasons: Any) -> list[Any]:
    return reasons if isinstance(reasons, list) else [None]


def _check_time(text: str, where: str) -> str:
    try:
        if text and datetime.fromisoformat(text).tzinfo is None:
            raise ValueError
    except ValueError:
        raise OverreadError(
            f"'{text[:40]}' is no time",
            where=where,
            remedy="leave 'at' empty, or write it as 2026-02-01T09:30:00+00:00",
        ) from None
    return text
