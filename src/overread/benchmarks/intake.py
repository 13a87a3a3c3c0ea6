"""Collect a submission: one reading per case, every problem noted.

Nothing is skipped silently. A problem of one row or file costs only that one; equal warnings are
merged into one line.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from overread.benchmarks.row_fields import format_value
from overread.core import Entry, Finding, Problem, Reading, Release, Submission
from overread.core.submission import SubmittedFiles
from overread.errors import SubmissionError
from overread.storage.spilled import SpilledMapping

MAX_NOTED = 1000
"""Problems that concern no case and are still told one by one; the rest is counted."""

_MAX_NAMED = 5
_MAX_UNKNOWN = 10
SUFFIXES = re.compile(r"(\.(jsonl|json|parquet|ndjson|zip|gz))+$", re.IGNORECASE)
"""Endings of a submission's name that say how it is stored."""


@dataclass
class _CasePrediction:
    """What was handed in for one case."""

    reading: Reading
    first: int | None
    repeats: list[int | None]
    differs: bool = False


@dataclass
class _WarningGroup:
    """Warnings that say the same."""

    first: Problem
    places: list[str]
    last: str
    count: int = 1


def entries_by_case(release: Release, entries: Collection[Entry] | None) -> Mapping[str, Entry]:
    """Case → its entry: those that were loaded already where they are the values of such a mapping."""
    found = getattr(entries, "mapping", None)
    if isinstance(found, Mapping):
        return found
    loaded: SpilledMapping[str, Entry] = SpilledMapping()
    for entry in entries or release.entries():
        loaded[entry.case.id] = entry
    return loaded


class Intake:
    """Collects readings and problems while a submission is read, and settles them at the end."""

    def __init__(self, path: Path, cases: Iterable[str], *, unit: str = "row") -> None:
        """`cases` are the ids of the release; `unit` is what the submission has one of a case."""
        self.reader = reader_name(path)
        self.file = make_printable(path.name) or "."
        self._cases = list(cases)
        self._unit = unit
        self.errors: list[Problem] = []
        self._unnoted = 0
        self._warnings: dict[tuple[str, str], _WarningGroup] = {}
        self._predictions: SpilledMapping[str, _CasePrediction] = SpilledMapping()
        self._unknown_cases: list[tuple[int | None, str, str]] = []
        self._by_normalised = {_normalise_name(case): case for case in self._cases}
        self._unknown_count = 0

    def error(
        self,
        what: str,
        remedy: str,
        *,
        file: str | None = None,
        row: int | None = None,
        case: str | None = None,
    ) -> None:
        """Something that costs a case, or a part of its reading."""
        # A file of a million broken rows must not become a million sentences.
        most = MAX_NOTED if case is None else MAX_NOTED + 4 * len(self._cases)
        if len(self.errors) >= most:
            self._unnoted += 1
            return
        self.errors.append(self._problem(what, remedy, file, row, case))

    def warn(
        self,
        what: str,
        remedy: str,
        *,
        file: str | None = None,
        row: int | None = None,
        case: str | None = None,
    ) -> None:
        """Something that costs nothing; the same words about many rows become one line."""
        kind = self._warnings.get((what, remedy))
        place = str(row) if row is not None else case or file or self.file
        if kind is None and len(self._warnings) >= MAX_NOTED:
            self._unnoted += 1
            return
        if kind is None:
            problem = self._problem(what, remedy, file, row, case)
            warning = problem.model_copy(update={"severity": "warning"})
            self._warnings[what, remedy] = _WarningGroup(warning, [place], place)
            return
        if place == kind.last:
            return  # the same of the same row, said once
        kind.last = place
        kind.count += 1
        if len(kind.places) < _MAX_NAMED:
            kind.places.append(place)

    def add_reading(self, reading: Reading, *, row: int | None = None) -> None:
        """A reading of a case of the release, good or failed."""
        if reading.case_id not in self._predictions:
            self._predictions[reading.case_id] = _CasePrediction(reading, row, [])
            return
        offer = self._predictions[reading.case_id]
        if len(offer.repeats) < _MAX_NAMED:
            offer.repeats.append(row)
        offer.differs |= reading != offer.reading
        self._predictions[reading.case_id] = offer

    def fail(
        self,
        case: str,
        what: str,
        remedy: str,
        *,
        file: str | None = None,
        row: int | None = None,
        findings: tuple[Finding, ...] | None = None,
    ) -> None:
        """A case that was handed in and cannot be used: an error, and a reading that failed.

        `findings` name what was handed in, where another's scorer would have looked at it.
        """
        self.error(what, remedy, file=file, row=row, case=case)
        failed = Reading(case_id=case, reader=self.reader, error=what, findings=findings)
        self.add_reading(failed, row=row)

    def note_unknown_case(self, name: str, *, row: int | None = None) -> None:
        """A prediction for a case that the release does not have."""
        self._unknown_count += 1
        if len(self._unknown_cases) < _MAX_UNKNOWN:
            near = self._by_normalised.get(_normalise_name(name[:200]), "")
            self._unknown_cases.append((row, make_printable(name), near))

    def lacks(self, case: str) -> bool:
        """Whether nothing was handed in for that case so far."""
        return case not in self._predictions

    def to_submission(self, files: SubmittedFiles | None = None) -> Submission:
        """Everything settled; raises `SubmissionError` where nothing is about any case."""
        if not self._predictions:
            raise self._empty_error()
        self._note_unknown_cases()
        readings: SpilledMapping[str, Reading] = SpilledMapping()
        for case in self._cases:
            if case in self._predictions:
                readings[case] = self._settle_case(case)
        missing = [case for case in self._cases if case not in readings]
        if missing:
            self.errors.append(
                self._problem(
                    f"{len(missing):,} of {len(self._cases):,} cases have no prediction "
                    f"({format_few(missing, len(missing))})",
                    f"hand in one {self._unit} for each; they count as the worst",
                )
            )
        if self._unnoted:
            what = f"{self._unnoted:,} more {self._unit}s have problems like these"
            self.errors.append(self._problem(what, "mend these first"))
        # What concerns the whole submission must not drown in what concerns single cases.
        ordered = sorted(self.errors, key=lambda p: p.case is not None or p.row is not None)
        return Submission(readings, [*ordered, *self._group_warnings()], self.reader, files)

    def _settle_case(self, case: str) -> Reading:
        offer = self._predictions[case]
        if not offer.repeats:
            return offer.reading
        remedy = f"hand in one {self._unit} for each case"
        if not offer.differs:
            what = "the case is there more than once, each time the same"
            self.warn(what, remedy, row=offer.repeats[0], case=case)
            return offer.reading
        rows = [str(n) for n in (offer.first, *offer.repeats) if n is not None]
        places = f" ({self._unit}s {format_few(rows, len(rows))})" if rows else ""
        what = f"the case is there more than once, and not the same{places}"
        self.error(what, remedy, case=case)
        return Reading(case_id=case, reader=self.reader, error=what)

    def _note_unknown_cases(self) -> None:
        for row, name, near in self._unknown_cases:
            remedy = f"did you mean '{near}'?" if near else "leave it out; it was not scored"
            self.warn(f"the release has no case '{name}'", remedy, row=row)
        more = self._unknown_count - len(self._unknown_cases)
        if more:
            self.warn(
                f"{more:,} more {self._unit}s are about cases that the release does not have",
                "is this the right split?",
            )

    def _group_warnings(self) -> Iterator[Problem]:
        for kind in self._warnings.values():
            if kind.count == 1:
                yield kind.first
                continue
            number = f"{kind.count:,} {self._unit}s: {format_few(kind.places, kind.count)}"
            what = f"{kind.first.what} ({number})"
            yield kind.first.model_copy(update={"what": what, "row": None, "case": None, "file": self.file})

    def _empty_error(self) -> SubmissionError:
        """The error for a submission in which nothing is about a case of the release."""
        what = f"no prediction is about any of the {len(self._cases):,} cases"
        if self._unknown_cases:
            _, name, _ = self._unknown_cases[0]
            remedy = f"is this the right split? The first {self._unit} is about '{name}'"
            if self._cases:
                remedy += f", the release has '{self._cases[0]}'"
        elif self.errors:
            first = self.errors[0]
            return SubmissionError(first.what, where=first.where, remedy=first.remedy)
        else:
            remedy = f"hand in one {self._unit} for each case"
        return SubmissionError(what, where=self.file, remedy=remedy)

    def _problem(
        self, what: str, remedy: str, file: str | None = None, row: int | None = None, case: str | None = None
    ) -> Problem:
        name = self.file if file is None else file
        return Problem(file=name, row=row, case=case, what=what, remedy=remedy)


def _normalise_name(name: str) -> str:
    """A name without what people get wrong in it; 'case12' and 'case13' stay two cases.

    >>> _normalise_name("Case_007"), _normalise_name("case7"), _normalise_name("case70")
    ('case7', 'case7', 'case70')
    """
    return re.sub(r"[^a-z0-9]+|0+(?=[0-9])", "", name.casefold())


def json_kind(value: object) -> str:
    """What sort of JSON value this is, in words.

    >>> json_kind([1]), json_kind(None), json_kind(2.5)
    ('a list', 'null', 'a number')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    names = {str: "a text", int: "a number", float: "a number", list: "a list"}
    return names.get(type(value), "an object")


def quote_value(value: object) -> str:
    """A value from outside in quotes, short, on one line, and harmless to a terminal."""
    return format_value(repr(value) if isinstance(value, str) else json_kind(value))


def make_printable(name: str) -> str:
    """A name from outside as it can be printed and stored.

    >>> make_printable("a\\x1b[2Jb"), make_printable("train_1.nii.gz")
    ('a?[2Jb', 'train_1.nii.gz')
    """
    clean = "".join(c if c.isprintable() else "?" for c in name)
    return clean if len(clean) <= 160 else clean[:157] + "…"


def format_few(names: list[str], count: int) -> str:
    """The first few names, and a mark where there are more."""
    return ", ".join(names[:_MAX_NAMED]) + (", …" if count > len(names[:_MAX_NAMED]) else "")


def reader_name(path: Path) -> str:
    """The name of a reader that nobody named: that of the file or folder.

    >>> reader_name(Path("runs/my-model.jsonl.gz"))
    'my-model'
    """
    name = path.name or path.resolve().name
    return make_printable(SUFFIXES.sub("", name)) or "reader"
