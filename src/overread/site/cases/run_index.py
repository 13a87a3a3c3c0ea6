"""Which cases a run has read, without reading its readings: they may be many and long."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable

from pydantic_core import from_json

from overread.site.shelf import Run

_FIRST = re.compile(rb'\{"case_id":"([A-Za-z0-9_.-]{1,120})",')
_lock = threading.Lock()
_cache: dict[str, tuple[tuple[int, int], frozenset[str]]] = {}


def runs_that_read(runs: Iterable[Run], case: str) -> list[Run]:
    """Those of the runs that have a reading of the case."""
    return [run for run in runs if case in cases_read(run)]


def cases_read(run: Run) -> frozenset[str]:
    """The cases a run has read; looked up again only where its file changed."""
    file = run.folder / "readings.jsonl"
    try:
        at = file.stat()
        stamp = (at.st_mtime_ns, at.st_size)
        with _lock:
            kept = _cache.get(run.id)
            if kept is not None and kept[0] == stamp:
                return kept[1]
        with file.open("rb") as lines:
            found = frozenset(filter(None, map(_case_of_line, lines)))
    except OSError:
        return frozenset()
    with _lock:
        _cache[run.id] = (stamp, found)
    return found


def _case_of_line(line: bytes) -> str | None:
    """The case of a line; runs write it first, others may not."""
    first = _FIRST.match(line)
    if first is not None:
        return first.group(1).decode()
    try:
        body = from_json(line)
    except ValueError:
        return None
    name = body.get("case_id") if isinstance(body, dict) else None
    return name if isinstance(name, str) else None
