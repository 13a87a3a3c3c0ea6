"""Short keys for plain values and for files, to find again what was computed from them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def digest(*parts: Any) -> str:
    """A short digest of plain values."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def digest_list(items: Iterable[Any]) -> str:
    """The digest of a list of plain values that come one by one.

    >>> digest_list(iter([{"a": 1}, 2])) == digest([{"a": 1}, 2])
    True
    """
    state = hashlib.sha256(b"[[")
    for place, item in enumerate(items):
        text = json.dumps(item, sort_keys=True, default=str)
        state.update((", " * (place > 0) + text).encode("utf-8", "surrogatepass"))
    state.update(b"]]")
    return state.hexdigest()[:32]


def file_identity(source: Path | bytes) -> list[Any]:
    """What tells one state of a file from another without reading it all."""
    if isinstance(source, bytes):
        return ["bytes", hashlib.sha256(source).hexdigest()]
    status = source.stat()
    return [str(source.resolve()), status.st_size, status.st_mtime_ns]
