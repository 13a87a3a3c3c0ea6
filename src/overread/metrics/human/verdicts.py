"""Verdicts of people on the steps of explanations, from and to CSV.

One line a step and rater. Columns: `case`, `step` (counted from 1), `factual`; and where they are
there `critical`, `errors`, `rater`, `sample` and `text`. A line whose `factual` is empty was not
rated. Nothing is guessed: a cell that cannot be read ends it, with its line.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from overread.core.verdicts import StepVerdicts
from overread.errors import OverreadError
from overread.ontology import step_errors
from overread.storage.tables import read_sheet, read_user_file

COLUMNS = ("case", "sample", "step", "text", "factual", "critical", "errors", "rater")
"""The columns of a sheet for raters."""

_NEEDED = ("case", "step", "factual")
_YES_NO = {"1": True, "yes": True, "y": True, "true": True}
_YES_NO |= {"0": False, "no": False, "n": False, "false": False}
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class HumanVerdict:
    """What one rater said of one step."""

    line: int
    """Line of the file, for messages."""
    case_id: str
    sample: int
    step: int
    """Counted from 1."""
    factual: bool
    critical: bool | None = None
    """None where it was not asked or not answered."""
    errors: tuple[str, ...] | None = None
    """Codes of the step errors; None where there is no such column."""
    rater: str = "human"
    text: str = ""
    """The step as it stood on the sheet, where it does."""


def read_human_verdicts(path: Path) -> list[HumanVerdict]:
    """The verdicts in a CSV file; raises one sentence with the line where something is wrong."""
    name = str(path)
    text = read_user_file(path, "human verdicts")
    found: list[HumanVerdict] = []
    before: dict[tuple[str, str, int, int], int] = {}
    for line, row in read_sheet(text, name, COLUMNS, lambda header: _check_header(header, name)):
        verdict = _parse_verdict(row, name, line)
        if verdict is None:
            continue
        key = (verdict.rater, verdict.case_id, verdict.sample, verdict.step)
        if key in before:
            raise OverreadError(
                f"rater '{verdict.rater}' judged step {verdict.step} of {verdict.case_id} "
                f"twice, first on line {before[key]}",
                where=f"{name}, line {verdict.line}",
                remedy="leave one line for each step and rater",
            )
        before[key] = verdict.line
        found.append(verdict)
    if not found:
        raise OverreadError(
            "no step has a verdict", where=name, remedy="fill in the column 'factual', 1 or 0"
        )
    return found


def _check_header(header: Sequence[str], name: str) -> None:
    where = f"{name}, line 1"
    lacking = [column for column in _NEEDED if column not in header]
    if lacking:
        raise OverreadError(
            f"there is no column {' and no column '.join(lacking)}",
            where=where,
            remedy="the first line must name case, step and factual; "
            "critical, errors, rater, sample and text may follow",
        )
    for column in COLUMNS:
        if header.count(column) > 1:
            raise OverreadError(f"there are two columns '{column}'", where=where)


def _parse_verdict(cells: Mapping[str, str], name: str, line: int) -> HumanVerdict | None:
    where = f"{name}, line {line}"
    row = {column: cell.strip() for column, cell in cells.items()}
    if not row.get("factual"):
        return None
    factual = _parse_yes_no(row, "factual", where)
    assert factual is not None
    case = row.get("case", "")
    if not case:
        raise OverreadError("the case is not named", where=where, remedy="write its id")
    errors = _parse_errors(row["errors"], where) if "errors" in row else None
    if errors and factual:
        raise OverreadError(
            "the step is factual and has errors",
            where=where,
            remedy="leave 'errors' empty, or say that it is not factual",
        )
    return HumanVerdict(
        line=line,
        case_id=case,
        sample=_parse_number(row.get("sample") or "0", "sample", 0, where),
        step=_parse_number(row.get("step", ""), "step", 1, where),
        factual=factual,
        critical=_parse_yes_no(row, "critical", where),
        errors=errors,
        rater=row.get("rater") or "human",
        text=row.get("text", ""),
    )


def _parse_yes_no(row: Mapping[str, str], column: str, where: str) -> bool | None:
    cell = row.get(column, "")
    if not cell:
        return None
    if cell.lower() in _YES_NO:
        return _YES_NO[cell.lower()]
    raise OverreadError(f"'{column}' is '{cell[:40]}'", where=where, remedy="write 1, 0, yes or no")


def _parse_number(cell: str, column: str, lowest: int, where: str) -> int:
    if re.fullmatch(r"\d{1,6}", cell, re.ASCII) and int(cell) >= lowest:
        return int(cell)
    raise OverreadError(
        f"'{column}' is '{cell[:40]}'", where=where, remedy=f"write a whole number, counted from {lowest}"
    )


def _parse_errors(cell: str, where: str) -> tuple[str, ...]:
    known = {
        _normalise_name(name): error.code
        for error in step_errors().item
        for name in (error.code, error.name, error.name.removesuffix(" error"))
    }
    codes: list[str] = []
    for word in re.split(r"[;,|]", cell):
        if not word.strip():
            continue
        if _normalise_name(word) not in known:
            raise OverreadError(
                f"there is no step error '{word.strip()[:40]}'",
                where=where,
                remedy="write codes with | between them: "
                + ", ".join(error.code for error in step_errors().item),
            )
        codes.append(known[_normalise_name(word)])
    return tuple(dict.fromkeys(codes))


def _normalise_name(name: str) -> str:
    return " ".join(re.findall(r"[a-z]+", name.casefold()))


def same_text(sheet: str, step: str) -> bool:
    """Whether the step on a sheet is the step that was judged, blanks aside."""
    return " ".join(sheet.split()).removeprefix("'") == " ".join(step.split()).removeprefix("'")


def rating_sheet(verdicts: Iterable[StepVerdicts], rater: str = "") -> str:
    """The steps that were judged as a CSV for people to rate, without what the judge said.

    >>> from overread.core.verdicts import StepVerdict
    >>> told = StepVerdicts(case_id="c1", judge="j", about="", steps=(StepVerdict(text="A mass."),))
    >>> print(rating_sheet([told], "ann"), end="")
    case,sample,step,text,factual,critical,errors,rater
    c1,0,1,A mass.,,,,ann
    """
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(COLUMNS)
    for told in verdicts:
        for number, step in enumerate(told.steps, 1):
            # A model's words must not become a formula in somebody's spreadsheet.
            text = f"'{step.text}" if step.text.startswith(_FORMULA) else step.text
            lines.writerow((told.case_id, told.sample, number, text, "", "", "", rater))
    return out.getvalue()
