"""The readings of a run by case and sample, found by their place in the file.

A run may still be going on while somebody looks: the file is only ever appended to, so that only
what came since the last look is read.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from overread.catalog import unknown
from overread.core import Reading
from overread.errors import NotThere, OverreadError

_MOST_RUNS = 64


class _Line(NamedTuple):
    """Where the reading of one (case, sample) stands."""

    at: int
    size: int
    failed: bool


@dataclass(frozen=True)
class Sampled:
    """One reading that a run has of a case."""

    sample: int
    failed: bool


class ReadingFile:
    """`readings.jsonl` of one run."""

    def __init__(self, folder: Path) -> None:
        """Nothing is read before it is asked for."""
        self._path = folder / "readings.jsonl"
        self._lock = threading.Lock()
        self._stamp: tuple[int, int, int] | None = None
        self._end = 0
        self._lines: dict[tuple[str, int], _Line] = {}

    def cases(self) -> dict[str, list[Sampled]]:
        """Case → its readings by sample, cases in the order they were first read."""
        found: dict[str, list[Sampled]] = {}
        for (case, sample), line in self._current().items():
            found.setdefault(case, []).append(Sampled(sample, line.failed))
        for own in found.values():
            own.sort(key=lambda one: one.sample)
        return found

    def reading(self, case: str, sample: int) -> Reading:
        """One reading, or an error that says what there is."""
        lines = self._current()
        line = lines.get((case, sample))
        if line is None:
            known = {name for name, _ in lines}
            if case not in known:
                raise unknown("reading of", case, sorted(known))
            raise NotThere(
                f"the run has no sample {sample} of '{case}'",
                remedy=f"there are {', '.join(str(s) for c, s in sorted(lines) if c == case)}",
            )
        try:
            with self._path.open("rb") as file:
                file.seek(line.at)
                return Reading.model_validate_json(file.read(line.size))
        except (OSError, ValidationError):
            raise OverreadError(
                f"the reading of '{case}' cannot be read any more", remedy="look again"
            ) from None

    def _current(self) -> dict[tuple[str, int], _Line]:
        """Where all readings stand by now; of a (case, sample) the last line counts."""
        with self._lock:
            try:
                status = self._path.stat()
            except OSError:
                self._stamp, self._end, self._lines = None, 0, {}
                return {}
            stamp = (status.st_ino, status.st_size, status.st_mtime_ns)
            if stamp != self._stamp:
                grew = self._stamp is not None and self._stamp[0] == stamp[0]
                if not grew or stamp[1] <= self._end:
                    self._end, self._lines = 0, {}  # written anew
                self._read_on()
                self._stamp = stamp
            return dict(self._lines)

    def _read_on(self) -> None:
        try:
            with self._path.open("rb") as file:
                file.seek(self._end)
                for line in file:
                    if not line.endswith(b"\n"):
                        break  # still being written, or cut off
                    try:
                        one = Reading.model_validate_json(line)
                    except ValidationError:
                        pass  # damaged: as if it had not been read
                    else:
                        spot = _Line(self._end, len(line), one.error is not None)
                        self._lines[one.case_id, one.sample] = spot
                    self._end += len(line)
        except OSError:
            return


_files: OrderedDict[Path, ReadingFile] = OrderedDict()
_files_lock = threading.Lock()


def reading_file(folder: Path) -> ReadingFile:
    """The readings of a run; where they stand is known from the last look."""
    with _files_lock:
        found = _files.pop(folder, None) or ReadingFile(folder)
        _files[folder] = found
        while len(_files) > _MOST_RUNS:
            _files.popitem(last=False)
        return found
