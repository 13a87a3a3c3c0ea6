"""Replays a submission in the benchmark's official format, as if its reader were run here.

The file is not trusted: it is read as `overread grade` reads it, and every problem is reported.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from overread.core import Case, Pictures, Reading, ReleaseRef, Submission
from overread.errors import ReaderError, UsageError
from overread.readers.arguments import settings_from
from overread.readers.whole_case import WholeCaseBase, require_release


@dataclass(frozen=True)
class ReplaySettings:
    """What is replayed."""

    file: Path
    """The submission: a file of rows, or a folder or zip of masks, as the benchmark has it."""
    name: str = ""
    """Who read, where the name of the file does not tell."""


def make(arguments: Mapping[str, str], *, place: ReleaseRef | None = None) -> ReplayReader:
    """The submission as a reader."""
    settings = settings_from(ReplaySettings, arguments)
    place = require_release(place, "replay")
    exam = place.definition
    if exam.read_submission is None:
        raise UsageError(f"{exam.title} has no format for predictions")
    submission = exam.read_submission(place.open(), settings.file)
    return ReplayReader(submission, settings)


class ReplayReader(WholeCaseBase):
    """Hands in what a submission says of each case; a case that it lacks has failed."""

    ignores_pictures = True

    def __init__(self, submission: Submission, settings: ReplaySettings) -> None:
        """The submission has been read; its files are read when they are asked for."""
        super().__init__(
            settings.name or submission.reader,
            {"reader": "replay", "file": settings.file.name, "content": _content_digest(settings.file)},
        )
        self._submission = submission
        self.problems = tuple(str(problem) for problem in submission.problems)
        """Everything that is wrong with the submission, one sentence each: to be told."""

    async def reading(self, case: Case, pictures: Pictures, *, seed: int) -> Reading:
        """What was handed in for one case, its problems included."""
        found = self._submission.readings.get(case.id)
        if found is None:
            raise ReaderError("nothing was handed in for this case")
        return found.model_copy(update={"reader": self.name})

    def source(self, file: str) -> Path | bytes:
        """The submission's own masks and cut-outs."""
        return self._submission.source(file)


def _content_digest(path: Path) -> str:
    """What tells one submission from another: a digest of the file, or of a folder's list."""
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.is_file())
        told = "\n".join(f"{p.relative_to(path).as_posix()} {p.stat().st_size}" for p in files)
        return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]
