"""Taking the paths of this machine out of what is sent: others may look."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_PATH = re.compile(r"(?<![\w.:/~<])(?:~|[A-Za-z]:)?[/\\](?:[^\s/\\:,;()'\"<>]+[/\\])+")


def unplaced(text: str) -> str:
    """A text with only the last part of each path in it.

    >>> unplaced("a.png: not there (in /data/lungs/a.png), and/or http://localhost:8000/v1/x")
    'a.png: not there (in …/a.png), and/or http://localhost:8000/v1/x'
    """
    return _PATH.sub("…/", text)


def unplaced_in(value: Any) -> Any:
    """The same for all texts of some plain JSON."""
    if isinstance(value, str):
        return unplaced(value)
    if isinstance(value, Mapping):
        return {str(key): unplaced_in(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [unplaced_in(item) for item in value]
    return value
