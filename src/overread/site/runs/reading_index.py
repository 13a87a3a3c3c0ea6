"""Index of the readings of a run, kept up to date while the run is being written.

The file of readings is only ever appended to, so each refresh reads only what is new.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from pydantic import ValidationError

from overread.catalog import unknown_name
from overread.core import Reading, Record, Usage
from overread.errors import NotThere, OverreadError

Key = tuple[str, int]
"""(case, sample)."""
_LOCKS = Path("/proc/locks")
_RECENT = 15.0
"""Seconds since the last line, below which a run is taken to go on where locks are not told."""


@dataclass(frozen=True)
class ReadingSummary:
    """The fields of a reading that tables show, and where its line is in the file."""

    at: int
    """Where its line begins."""
    length: int
    choice: str | None
    error: str | None
    sure: float | None
    """Probability of the option it holds most likely, where it tells."""
    steps: int
    findings: int
    usage: Usage | None


class SampleState(Record):
    """One reading that a run has of a case."""

    sample: int
    failed: bool


@dataclass
class ReadingIndex:
    """The readings of one run, as of the last refresh."""

    folder: Path
    damaged: int = 0
    """Lines that are no reading."""
    _found: dict[Key, ReadingSummary] = field(default_factory=dict)
    _seen: tuple[int, int] = (0, 0)
    """(inode, mtime) at the last look."""
    _until: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def refresh(self) -> Mapping[Key, ReadingSummary]:
        """(case, sample) → its last reading, with what came since the last look."""
        with self._lock:
            try:
                self._read_on()
            except FileNotFoundError:
                self._forget()
            except OSError as error:
                told = f"the readings cannot be read ({error.strerror})"
                raise OverreadError(told) from None
            return dict(self._found)

    def cases(self) -> dict[str, list[SampleState]]:
        """Case → its readings by sample, cases in the order they were first read."""
        found: dict[str, list[SampleState]] = {}
        for (case, sample), glance in self.refresh().items():
            found.setdefault(case, []).append(SampleState(sample=sample, failed=glance.error is not None))
        for own in found.values():
            own.sort(key=lambda one: one.sample)
        return found

    def reading(self, case: str, sample: int = 0) -> Reading:
        """One reading, whole, or an error that says what there is."""
        reading = self.find(case, sample)
        if reading is not None:
            return reading
        samples = sorted(own for name, own in self._found if name == case)
        if not samples:
            raise unknown_name("reading of", case, sorted({name for name, _ in self._found}))
        raise NotThere(
            f"the run has no sample {sample} of '{case}'", remedy=f"there are {', '.join(map(str, samples))}"
        )

    def find(self, case: str, sample: int = 0) -> Reading | None:
        """One reading, whole; None where the run has no such one."""
        glance = self.refresh().get((case, sample))
        if glance is None:
            return None
        try:
            with (self.folder / "readings.jsonl").open("rb") as file:
                file.seek(glance.at)
                reading = Reading.model_validate_json(file.read(glance.length))
        except (OSError, ValidationError):
            reading = None
        if reading is None or (reading.case_id, reading.sample) != (case, sample):
            raise OverreadError("the readings changed while they were read", remedy="try again")
        return reading

    def _read_on(self) -> None:
        with (self.folder / "readings.jsonl").open("rb") as file:
            now = os.fstat(file.fileno())
            if now.st_ino != self._seen[0] or now.st_size < self._until:
                self._forget()
            elif now.st_mtime_ns == self._seen[1] and now.st_size == self._until:
                return
            self._seen = (now.st_ino, now.st_mtime_ns)
            file.seek(self._until)
            for line in file:
                if not line.endswith(b"\n"):
                    break  # half a line: the rest is being written
                if line != b"\n":
                    self._add_line(line)
                self._until += len(line)

    def _add_line(self, line: bytes) -> None:
        try:
            reading = Reading.model_validate_json(line)
        except ValidationError:
            self.damaged += 1
            return
        told = reading.probabilities
        total = sum(told.values()) if told else 0.0
        self._found[reading.case_id, reading.sample] = ReadingSummary(
            at=self._until,
            length=len(line),
            choice=reading.choice,
            error=reading.error,
            sure=max(told.values()) / total if told and total > 0 else None,
            steps=len(reading.trace.steps) if reading.trace else 0,
            findings=len(reading.findings or ()),
            usage=reading.usage,
        )

    def _forget(self) -> None:
        self._found, self._until, self.damaged, self._seen = {}, 0, 0, (0, 0)


@lru_cache(maxsize=256)
def index_of_run(folder: Path) -> ReadingIndex:
    """The follower of a run, the same one for everybody who looks."""
    return ReadingIndex(folder)


def is_written_now(folder: Path) -> bool:
    """Whether another process holds the run.

    Whoever writes it holds a lock. The lock is looked up and not tried: a run that begins just then
    would be refused.
    """
    try:
        own = (folder / "readings.jsonl").stat()
    except OSError:
        return False
    try:
        held = _LOCKS.read_text("ascii", "replace")
    except OSError:  # not Linux
        return time.time() - own.st_mtime < _RECENT
    for line in held.splitlines():
        words = line.split()
        if "FLOCK" in words and "WRITE" in words and words[-3].endswith(f":{own.st_ino}"):
            return True
    return False


def modified_at(file: Path) -> float | None:
    """When a file was last written, in seconds; None where there is none."""
    try:
        return file.stat().st_mtime
    except OSError:
        return None
