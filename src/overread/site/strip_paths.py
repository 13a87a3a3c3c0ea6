"""Removes paths of this machine from texts that are sent, since others may read them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_PATH = re.compile(r"(?<![\w.:/~<])(?:~|[A-Za-z]:)?[/\\](?:[^\s/\\:,;()'\"<>]+[/\\])+")


def strip_paths(text: str) -> str:
    """A text with only the last part of each path in it.

    >>> strip_paths("a.png: not there (in /data/lungs/a.png), and/or http://localhost:8000/v1/x")
    'a.png: not there (in …/a.png), and/or http://localhost:8000/v1/x'
    """
    return _PATH.sub("…/", text)


def strip_paths_in_json(value: Any) -> Any:
    """The same for all texts of some plain JSON."""
    if isinstance(value, str):
        return strip_paths(value)
    if isinstance(value, Mapping):
        return {str(key): strip_paths_in_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [strip_paths_in_json(item) for item in value]
    return value
