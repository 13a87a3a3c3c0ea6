"""The folder of a run: readings that are appended line by line and survive anything.

`readings.jsonl` is only ever appended to, one write a line. A line that a kill cut off is taken
away when the run goes on. The last line of a (case, sample) counts.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from overread.core import Message, Reading
from overread.errors import OverreadError, UsageError

_BLOCK = 1 << 16

QuestionMessages = tuple[Message, ...]
_SYNC_SECONDS = 1.0


class RunUnwritable(OverreadError):
    """The folder of a run cannot be written: that ends it, and what is there is kept."""


@dataclass
class KnownReadings:
    """Which readings a run has already."""

    done: set[tuple[str, int]] = field(default_factory=set)
    """(case, sample) of every reading that is there."""
    failed: dict[tuple[str, int], str] = field(default_factory=dict)
    """Those of them that failed, and why."""
    damaged: int = 0
    """Lines that cannot be read; their cases are read again."""


def iter_readings(folder: Path) -> Iterator[Reading]:
    """The readings of a run as they were written; the last of a (case, sample) counts."""
    for line in _iter_lines(folder / "readings.jsonl"):
        try:
            yield Reading.model_validate_json(line)
        except ValidationError:
            continue  # damaged: as if it had not been read


def last_readings(folder: Path) -> dict[tuple[str, int], Reading]:
    """(case, sample) → its reading, of a whole run."""
    return {(reading.case_id, reading.sample): reading for reading in iter_readings(folder)}


def scan_readings(folder: Path) -> KnownReadings:
    """Which readings a run has, without keeping them."""
    found = KnownReadings()
    for line in _iter_lines(folder / "readings.jsonl"):
        try:
            # As whoever scores it will: a line that is no reading to them is none here.
            reading = Reading.model_validate_json(line)
        except ValidationError:
            found.damaged += 1
            continue
        key = (reading.case_id, reading.sample)
        found.done.add(key)
        found.failed.pop(key, None)
        if reading.error is not None:
            found.failed[key] = reading.error
    return found


def find_unusable_questions(folder: Path) -> dict[tuple[str, int], tuple[QuestionMessages, ...]]:
    """(case, sample) of each failed reading → the questions whose replies could not be used.

    Such a reply is in the cache and would fail again, so a retry must ask these questions anew.
    """
    found: dict[tuple[str, int], tuple[QuestionMessages, ...]] = {}
    for reading in iter_readings(folder):
        key = (reading.case_id, reading.sample)
        found.pop(key, None)
        if reading.error is not None:
            bad = tuple(e.messages for e in reading.exchanges if e.problem is not None)
            found[key] = bad
    return found


def _iter_lines(path: Path) -> Iterator[bytes]:
    """Whole lines only: what stands behind the last line's end was cut off."""
    try:
        with path.open("rb") as file:
            for line in file:
                if line.endswith(b"\n") and line != b"\n":
                    yield line
    except FileNotFoundError:
        return


def to_line(reading: Reading) -> bytes:
    """A reading as it is stored; one that cannot be stored becomes a failed one."""
    try:
        return reading.model_dump_json(exclude_none=True).encode() + b"\n"
    except (PydanticSerializationError, UnicodeEncodeError, ValueError):
        lost = Reading(
            case_id=reading.case_id,
            reader=reading.reader,
            sample=reading.sample,
            error="the reading holds text that cannot be stored",
        )
        return lost.model_dump_json(exclude_none=True).encode() + b"\n"


class ReadingStore:
    """The readings of one run, open for appending by nobody else."""

    def __init__(self, folder: Path) -> None:
        """Open or make the folder, lock it, and take away a line that was cut off."""
        self.folder = folder
        self._path = folder / "readings.jsonl"
        self._synced = time.monotonic()
        self._dirty = False
        try:
            folder.mkdir(parents=True, exist_ok=True)
            number = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        except OSError as error:
            raise RunUnwritable(
                f"the run cannot be written ({error.strerror})",
                where=str(folder),
                remedy="give another --out",
            ) from None
        self._file: IO[bytes] = os.fdopen(number, "rb+", buffering=0)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _cut_torn_line(self._file)
            for left in folder.glob("arrays/.*.part"):
                left.unlink(missing_ok=True)  # a mask that a kill cut off
        except BlockingIOError:
            self._file.close()
            raise UsageError(
                "another process is writing this run",
                where=str(folder),
                remedy="wait until it is done, or give another --out",
            ) from None
        except BaseException:
            self._file.close()
            raise

    def append(self, reading: Reading) -> None:
        """Write one reading; from now on a kill does not lose it."""
        line = memoryview(to_line(reading))
        try:
            while line:
                line = line[self._file.write(line) :]
        except OSError as error:
            raise self.write_error(error) from None
        self._dirty = True

    def is_sync_due(self) -> bool:
        """Whether it is time to fsync; resets the clock, so True is returned once."""
        now = time.monotonic()
        if not self._dirty or now - self._synced < _SYNC_SECONDS:
            return False
        self._dirty = False
        self._synced = now
        return True

    def sync(self) -> None:
        """Have the disk keep what was written; may be called from a thread."""
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise self.write_error(error) from None

    def write_error(self, error: OSError) -> RunUnwritable:
        """The error for a file of this run that cannot be written."""
        return RunUnwritable(
            f"the run cannot be written ({error.strerror})",
            where=str(self._path),
            remedy="fix this and run the same command again; finished work is kept",
        )

    def close(self) -> None:
        """Keep everything and let go of the folder."""
        if self._file.closed:
            return
        try:
            if self._dirty:
                self.sync()
        finally:
            self._file.close()

    def __enter__(self) -> ReadingStore:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def _cut_torn_line(file: IO[bytes]) -> None:
    """Take away what stands behind the last line's end."""
    end = file.seek(0, os.SEEK_END)
    at = end
    while at > 0:
        begin = max(0, at - _BLOCK)
        file.seek(begin)
        block = file.read(at - begin)
        found = block.rfind(b"\n")
        if found >= 0:
            at = begin + found + 1
            break
        at = begin
    if at != end:
        file.truncate(at)
