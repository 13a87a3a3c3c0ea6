"""The folder of a run: readings that are appended line by line and survive anything.

`readings.jsonl` is only ever appended to, one write a line. A line that a kill cut off is taken
away when the run goes on. The last line of a (case, sample) counts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from overread.core import Message, Reading
from overread.errors import OverreadError, UsageError
from overread.storage.append_log import AppendLog, iter_lines
from overread.storage.atomic import remove_leftovers
from overread.storage.system_errors import remedy_for

QuestionMessages = tuple[Message, ...]
_SYNC_SECONDS = 1.0


class RunUnwritable(OverreadError):
    """The folder of a run cannot be written: that ends it, and what is there is kept."""

    fatal = True


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
    for line in iter_lines(folder / "readings.jsonl"):
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
    for line in iter_lines(folder / "readings.jsonl"):
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
        busy = UsageError(
            "another process is writing this run",
            where=str(folder),
            remedy="wait until it is done, or give another --out",
        )
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._log = AppendLog(self._path, torn="cut", busy=busy, unwritable=self.write_error)
        except OSError as error:
            raise RunUnwritable(
                f"the run cannot be written ({error.strerror})",
                where=str(folder),
                remedy=remedy_for(error, "give another --out"),
            ) from None
        remove_leftovers(folder / "arrays")  # masks that a kill cut off

    def append(self, reading: Reading) -> None:
        """Write one reading; from now on a kill does not lose it."""
        self._log.append(to_line(reading))
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
        self._log.sync()

    def write_error(self, error: OSError) -> RunUnwritable:
        """The error for a file of this run that cannot be written."""
        return RunUnwritable(
            f"the run cannot be written ({error.strerror})",
            where=str(self._path),
            remedy=remedy_for(error, "fix this and run the same command again; finished work is kept"),
        )

    def close(self) -> None:
        """Keep everything and let go of the folder."""
        self._log.close(sync=self._dirty)

    def __enter__(self) -> ReadingStore:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
