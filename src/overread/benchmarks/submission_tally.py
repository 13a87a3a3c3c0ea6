"""Counts which readings go into a submission, and notes why the others do not."""

from __future__ import annotations

from pathlib import Path

from overread.core import Entry, Progress, Reading, Release, WrittenSubmission
from overread.core.submission import FindReading
from overread.errors import SubmissionError


class SubmissionTally:
    """Counts what goes out, and says of everything else why it does not."""

    def __init__(self, release: Release, readings: FindReading, progress: Progress | None = None) -> None:
        """`readings` gives what there is of a case."""
        self._total = release.count()
        self._readings = readings
        self._progress = progress
        self._notes: list[str] = []
        self._seen = self._written = self._missing = self._failed = 0

    def find_reading(self, entry: Entry) -> Reading | None:
        """The reading of a case, if there is one that can go; asked once for each case."""
        self._seen += 1
        if self._progress is not None:
            self._progress(self._seen, self._total)
        reading = self._readings(entry.case.id)
        if reading is None:
            self._missing += 1
        elif reading.error:
            self.leave_out(entry, f"its reading failed ({reading.error})")
            return None
        return reading

    def leave_out(self, entry: Entry, why: str) -> None:
        """A case that cannot be handed in."""
        self._failed += 1
        self._notes.append(f"{entry.case.id} is left out: {why}")

    def note(self, entry: Entry, what: str) -> None:
        """Something that the format made of a case."""
        self._notes.append(f"{entry.case.id}: {what}")

    def count_written(self) -> None:
        """One case is in the submission."""
        self._written += 1

    def require_written(self) -> None:
        """Raise if no case was written; called before the file is put in place."""
        if not self._written:
            raise SubmissionError(
                "there is nothing to hand in: no case was read",
                remedy=self._notes[0] if self._notes else "run the reader first",
            )

    def to_result(self, path: Path) -> WrittenSubmission:
        """The result: path, counts, notes."""
        return WrittenSubmission(path, self._written, self._missing, self._failed, tuple(self._notes))
