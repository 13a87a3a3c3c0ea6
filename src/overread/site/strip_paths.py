"""Removes paths of this machine from texts that are sent, since others may read them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_PATH = re.compile(r"(?<![\w.:/~<])(?:~|[A-Za-z]:)?[/\\](?:[^\s/\\:,;()'\"<>]+[/\\])+")
_PATH_OR_URL = re.compile(r"(?:/[\w.~+@-]+){2,}/?|[A-Za-z]:\\\S+|\w+://\S+")


def strip_paths(text: str, names: Mapping[str, str] | None = None) -> str:
    """A text with only the last part of each path in it; `names` says what known places are called.

    >>> strip_paths("a.png: not there (in /data/lungs/a.png), and/or http://localhost:8000/v1/x")
    'a.png: not there (in …/a.png), and/or http://localhost:8000/v1/x'
    >>> strip_paths("no /my data/a.png in /my data", {"/my data": "the dataset"})
    'no a.png in the dataset'
    """
    # Known places first: they may hold blanks, at which no pattern can tell where a path ends.
    for place, name in sorted((names or {}).items(), key=lambda one: -len(one[0])):
        if len(place) > 1:
            text = text.replace(f"{place}/", "").replace(place, name)
    return _PATH.sub("…/", text)


def strip_paths_and_urls(text: str) -> str:
    """A text without any path or address, for files that are handed on.

    >>> strip_paths_and_urls("there is no file (in /home/x/data/a.jpg): look")
    'there is no file (in …): look'
    """
    return _PATH_OR_URL.sub("…", text)


def strip_paths_in_json(value: Any) -> Any:
    """The same for all texts of some plain JSON."""
    if isinstance(value, str):
        return strip_paths(value)
    if isinstance(value, Mapping):
        return {str(key): strip_paths_in_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [strip_paths_in_json(item) for item in value]
    return value
