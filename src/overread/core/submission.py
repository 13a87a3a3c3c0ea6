"""Submissions: what a reader handed in for a whole split, and everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from overread.core.defects import Severity
from overread.core.record import Record
from overread.core.trace import Reading
from overread.errors import NotThere

if TYPE_CHECKING:
    from overread.core.benchmark import Progress, Release
    from overread.core.case import Entry

FindReading = Callable[[str], Reading | None]
"""What there is of a case, by its id."""
FindFile = Callable[[str], Path | bytes]
"""Where a file lies, or its bytes, by the name that a record gives."""


class Problem(Record):
    """One thing that is wrong with a submission, where, and what to do about it.

    An error costs something: a case, or a part of its reading, counts as the worst. A warning costs
    nothing, because what was meant could be told.
    """

    file: str
    """File it stands in, as the submission names it."""
    row: int | None = None
    """Line of a jsonl file or entry of a list, counted from 1."""
    case: str | None = None
    """Id of the case that it concerns, where that can be told."""
    what: str
    """What is wrong."""
    remedy: str
    """What to do about it."""
    severity: Severity = "error"
    """Whether it costs something."""

    @property
    def where(self) -> str:
        """File, row and case in one phrase."""
        row = f", row {self.row}" if self.row is not None else ""
        return f"{self.file}{row}" + (f", {self.case}" if self.case else "")

    def __str__(self) -> str:
        """One sentence.

        >>> print(Problem(file="mine.jsonl", row=3, case="case00003",
        ...               what="the prediction is 'F'", remedy="write one letter, A to E"))
        the prediction is 'F' (in mine.jsonl, row 3, case00003): write one letter, A to E
        """
        return f"{self.what} (in {self.where}): {self.remedy}"


class SubmittedFiles(Protocol):
    """Gives the files of a submission: masks, crops. It must survive being pickled."""

    def source(self, file: str) -> Path | bytes:
        """Where the bytes of the file are; raises `PictureError` where there is none."""


@dataclass
class Submission:
    """What one reader handed in: a reading for each case that it spoke of, and every problem.

    A case that was handed in and cannot be used has a reading with an `error`; a case of which
    there is nothing at all has no reading. It can be pickled, for processes that open its files.
    """

    readings: Mapping[str, Reading]
    """Case id → what the reader made of it."""
    problems: list[Problem]
    """Everything that is wrong: what concerns all cases first, then errors, then warnings."""
    reader: str
    """Who read: the name of the file or folder, unless somebody says better."""
    files: SubmittedFiles | None = None
    """The files beside the words: masks, crops."""

    def source(self, file: str) -> Path | bytes:
        """Where the bytes of a file of the submission are; raises `PictureError`."""
        if self.files is None:
            raise NotThere(f"there is no file {file} in this submission")
        return self.files.source(file)

    def with_reader(self, reader: str) -> Submission:
        """The same submission under another reader's name."""
        readings = {
            case: reading.model_copy(update={"reader": reader}) for case, reading in self.readings.items()
        }
        return replace(self, reader=reader, readings=readings)


class ReadSubmission(Protocol):
    """Reads a submission in the format that the benchmark asks for; nothing in it is trusted."""

    def __call__(self, release: Release, path: Path, entries: Collection[Entry] | None = None) -> Submission:
        """Problems cost only the row or file they stand in.

        What cannot be graded at all raises `SubmissionError`. `entries` are those of the release
        where they were loaded already: loading takes longer than most grading.
        """


@dataclass(frozen=True)
class WrittenSubmission:
    """The result of writing a submission: where it is, and how many cases are in it, missing or
    failed.
    """

    path: Path
    """The file or folder that was written."""
    written: int
    """Cases that are in it."""
    missing: int
    """Cases of which there is no reading; they stay missing."""
    failed: int
    """Cases whose reading failed or lacks what is asked for; they are left out."""
    notes: tuple[str, ...] = ()
    """What was left out or filled in, and why: one sentence each."""


class Submit(Protocol):
    """Writes readings in the format that the benchmark asks for, one case at a time."""

    def __call__(
        self,
        release: Release,
        readings: FindReading,
        source: FindFile,
        out: Path,
        *,
        progress: Progress | None = None,
    ) -> WrittenSubmission:
        """`readings` gives what there is of a case, `source` the files that readings name.

        `out` is free, and nobody sees what is written there, or beside it, before all of it is:
        `overread.storage.atomic.stage` then puts it in its place.
        """
