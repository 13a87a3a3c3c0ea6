"""Cache of measured statistics, so that an interrupted grading continues.

One append-only file for each grading, in the user's cache folder, readable by its owner only. The
key of a line covers files, settings and version. Each line begins with a checksum; a damaged or
torn line is measured again. Whoever measures holds a lock beside it, which ends with the process: so
of two gradings at once one measures and the other waits, and then takes what there is.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from overread.storage.append_log import write_all
from overread.storage.cache_folder import cache_folder, remove_unused
from overread.storage.locks import wait_for_lock
from overread.storage.spilled import SpilledMapping
from overread.storage.system import open_binary

_DAYS = 60
_MAX_BYTES = 1 << 29


class MeasureCache:
    """The cached statistics of one grading: key → rows."""

    def __init__(self, name: str, *, fresh: bool = False) -> None:
        """`name` is the digest of the grading; `fresh` believes nothing that is there by now."""
        self._path = cache_folder() / "grades" / f"{version('overread')}-{name}.jsonl"
        self._out: int | None = None
        self._lock: int | None = None
        self._lines: SpilledMapping[str, Any] = SpilledMapping()
        self._fresh = fresh
        self._until = 0
        if fresh:
            with suppress(OSError):
                self._until = self._path.stat().st_size
        else:
            self._read_on()

    def wait_for_others(self, tell: Callable[[str], None] | None = None) -> bool:
        """Have this grading to oneself; whether there is more by then than was there before.

        Where another process measures the same, `tell` is told and this waits until that has ended.
        """
        waited = False

        def wait() -> None:
            nonlocal waited
            waited = True
            if tell is not None:
                tell("another grading is measuring the same; waiting for it, then going on with what it has")

        try:
            lock = cache_folder() / "grading" / f"{self._path.stem}.lock"
            lock.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = open_binary(lock, os.O_RDWR | os.O_CREAT, 0o600)
            wait_for_lock(self._lock, wait)
            os.utime(lock)
            if self._fresh and not waited:
                self._path.unlink(missing_ok=True)
        except OSError:
            return False  # a cache that cannot be written costs nothing but time
        return self._read_on()

    def _read_on(self) -> bool:
        """Take in the lines that were added since the last look; whether there were any."""
        before = len(self._lines)
        try:
            size = self._path.stat().st_size
            if size > _MAX_BYTES:
                return False
            if size < self._until:
                self._until = 0  # begun anew meanwhile
            with self._path.open("rb") as file:
                file.seek(self._until)
                for line in file:
                    mark, _, body = line.removesuffix(b"\n").partition(b" ")
                    if mark == _checksum(body):
                        item = json.loads(body)
                        self._lines[item["key"]] = item["rows"]
                    if line.endswith(b"\n"):
                        self._until += len(line)
        except OSError:
            return False
        return len(self._lines) > before

    def get(self, key: str) -> dict[str, Any] | None:
        """What was measured under that key before."""
        found: dict[str, Any] | None = self._lines.get(key)
        return found

    def add(self, key: str, rows: dict[str, Any]) -> None:
        """Keep what was measured; a cache that cannot be written costs nothing but time."""
        line = json.dumps({"key": key, "rows": rows}, allow_nan=False).encode()
        try:
            if self._out is None:
                self._out = _open_append(self._path)
            write_all(self._out, _checksum(line) + b" " + line + b"\n")
        except OSError:
            return

    def close(self) -> None:
        """Close the file, let others measure, and delete files that were not used for 60 days."""
        if self._out is not None:
            os.close(self._out)
            self._out = None
            remove_unused(self._path.parent, "*.jsonl", days=_DAYS)
            remove_unused(cache_folder() / "grading", "*.lock", days=_DAYS)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _checksum(line: bytes) -> bytes:
    return f"{zlib.crc32(line):08x}".encode()


def _open_append(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    out = open_binary(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    if os.fstat(out).st_size:
        write_all(out, b"\n")  # the last line may have been cut off by a kill
    return out
