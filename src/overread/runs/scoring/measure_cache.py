"""Cache of measured statistics, so that an interrupted grading continues.

One append-only file for each grading, in the user's cache folder, readable by its owner only. The
key of a line covers files, settings and version. Each line begins with a checksum; a damaged or
torn line is measured again.
"""

from __future__ import annotations

import json
import os
import zlib
from importlib.metadata import version
from pathlib import Path
from typing import Any

from overread.storage.append_log import iter_lines, write_all
from overread.storage.cache_folder import cache_folder, remove_unused

_DAYS = 60
_MAX_BYTES = 1 << 29


class MeasureCache:
    """The cached statistics of one grading: key → rows."""

    def __init__(self, name: str, *, fresh: bool = False) -> None:
        """`name` is the digest of the grading; `fresh` forgets what was kept."""
        self._path = cache_folder() / "grades" / f"{version('overread')}-{name}.jsonl"
        self._out: int | None = None
        self._lines: dict[str, Any] = {}
        try:
            if fresh:
                self._path.unlink(missing_ok=True)
            if self._path.stat().st_size > _MAX_BYTES:
                return
            for line in iter_lines(self._path, torn=True):
                mark, _, body = line.removesuffix(b"\n").partition(b" ")
                if mark == _checksum(body):
                    item = json.loads(body)
                    self._lines[item["key"]] = item["rows"]
        except OSError:
            return

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
        """Close the file, and delete cache files that were not used for 60 days."""
        if self._out is not None:
            os.close(self._out)
            self._out = None
            remove_unused(self._path.parent, "*.jsonl", days=_DAYS)


def _checksum(line: bytes) -> bytes:
    return f"{zlib.crc32(line):08x}".encode()


def _open_append(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    out = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    if os.fstat(out).st_size:
        write_all(out, b"\n")  # the last line may have been cut off by a kill
    return out
