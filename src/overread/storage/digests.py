"""Short keys for plain values and for files, to find again what was computed from them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any


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
