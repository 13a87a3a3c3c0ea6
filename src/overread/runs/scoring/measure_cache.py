"""Cache of measured statistics, so that an interrupted grading continues.

One append-only file for each grading, in the user's cache folder (`OVERREAD_CACHE`, or the
system's), readable by its owner
only. The key of a line covers files, settings and version. Each line begins with a checksum; a
damaged or torn line is measured again.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
import zlib
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

_DAYS = 60
_MAX_BYTES = 1 << 29


def cache_folder() -> Path:
    """Where overread keeps what it can make again."""
    own = os.environ.get("OVERREAD_CACHE")
    if own:
        return Path(own)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "overread"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "overread"


def digest(*parts: Any) -> str:
    """A short digest of plain values."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def file_identity(source: Path | bytes) -> list[Any]:
    """What tells one state of a file from another without reading it all."""
    if isinstance(source, bytes):
        return ["bytes", hashlib.sha256(source).hexdigest()]
    status = source.stat()
    return [str(source.resolve()), status.st_size, status.st_mtime_ns]


class MeasureCache:
    """The cached statistics of one grading: key → rows."""

    def __init__(self, name: str, *, fresh: bool = False) -> None:
        """`name` is the digest of the grading; `fresh` forgets what was kept."""
        self._path = cache_folder() / "grades" / f"{version('overread')}-{name}.jsonl"
        self._out: IO[bytes] | None = None
        self._lines: dict[str, Any] = {}
        try:
            if fresh:
                self._path.unlink(missing_ok=True)
            raw = self._path.read_bytes() if self._path.stat().st_size <= _MAX_BYTES else b""
        except OSError:
            return
        for line in raw.split(b"\n"):
            mark, _, body = line.partition(b" ")
            if mark == _checksum(body):
                item = json.loads(body)
                self._lines[item["key"]] = item["rows"]

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
            self._out.write(_checksum(line) + b" " + line + b"\n")
            self._out.flush()
        except OSError:
            return

    def close(self) -> None:
        """Close the file, and delete cache files that were not used for 60 days."""
        if self._out is not None:
            self._out.close()
            _remove_old(self._path.parent)


def _checksum(line: bytes) -> bytes:
    return f"{zlib.crc32(line):08x}".encode()


def _open_append(path: Path) -> IO[bytes]:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    number = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    out = os.fdopen(number, "ab")
    if out.tell():
        out.write(b"\n")  # the last line may have been cut off by a kill
    return out


def _remove_old(folder: Path) -> None:
    oldest = time.time() - _DAYS * 86400
    for path in folder.glob("*.jsonl"):
        try:
            if path.stat().st_mtime < oldest:
                path.unlink()
        except OSError:
            continue
