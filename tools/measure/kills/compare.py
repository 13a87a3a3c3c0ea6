"""What a command left in its place, so that two runs can be held against each other."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

MAY_DIFFER = frozenset(("seconds", "calls", "from_cache", "measured_at", "at", "made", "created"))
"""Fields of our JSON files that tell when and how long something was done, or who was asked for it."""
_CHAINED = frozenset(("hash", "before"))
"""Of the log of verdicts: they tie each line to the time of all before."""
_SQLITE_ASIDE = ("-wal", "-shm", "-journal")


def describe(place: Path) -> dict[str, Any]:
    """Every file and folder of a place by its name, hidden ones too, and what it holds."""
    found: dict[str, Any] = {}
    for path in sorted(place.rglob("*")):
        name = path.relative_to(place).as_posix()
        if path.is_dir():
            found[f"{name}/"] = "folder"
        elif not name.endswith(_SQLITE_ASIDE):
            found[name] = _content(path)
    return found


def _content(path: Path) -> Any:
    readers: dict[str, Callable[[Path], Any]] = {".sqlite": _decisions, ".jsonl": _lines, ".json": _json}
    if path.name == "secret":
        return path.stat().st_size  # by lot
    if path.name == "passwords":
        return [line.partition(":")[0] for line in path.read_text("utf-8").splitlines()]  # salted by lot
    return readers.get(path.suffix, Path.read_bytes)(path)


def _json(path: Path) -> Any:
    return strip_differing(path.read_text("utf-8"))


def _lines(path: Path) -> Any:
    """Lines without their order: several cases are read at once."""
    return sorted(json.dumps(strip_differing(line), sort_keys=True) for line in path.read_text().splitlines())


def strip_differing(text: str) -> Any:
    """JSON less what may differ; any other text as it is."""
    try:
        return _strip(json.loads(text))
    except ValueError:
        return text


def _strip(value: Any) -> Any:
    if isinstance(value, dict):
        left = MAY_DIFFER | _CHAINED if "hash" in value else MAY_DIFFER
        return {name: _strip(inner) for name, inner in value.items() if name not in left}
    return [_strip(inner) for inner in value] if isinstance(value, list) else value


def _decisions(path: Path) -> Any:
    """What a ledger decided, less when; how often it was begun is no part of it."""
    query = "SELECT DISTINCT item, step, key, outcome, reason, why FROM entries ORDER BY 1, 2, 3"
    with closing(sqlite3.connect(path)) as base:
        return base.execute(query).fetchall()


def differences(calm: dict[str, Any], found: dict[str, Any]) -> str:
    """Which files are too many, missing or other."""
    parts = {
        "too many": sorted(found.keys() - calm.keys()),
        "missing": sorted(calm.keys() - found.keys()),
        "other": sorted(name for name in calm.keys() & found.keys() if calm[name] != found[name]),
    }
    return "; ".join(f"{what}: {', '.join(names[:5])}" for what, names in parts.items() if names)
