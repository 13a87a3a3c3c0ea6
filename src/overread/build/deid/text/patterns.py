"""The patterns that texts are searched by, from a file of their own."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files


@cache
def pattern(name: str) -> re.Pattern[str]:
    """One pattern by its name; `%NAME%` in it stands for a part that several share."""
    source = _load_file()
    return re.compile(_fill_parts(source["patterns"][name], source["parts"]))


def patterns(prefix: str) -> dict[str, re.Pattern[str]]:
    """All patterns whose names begin with a prefix, in the order of the file."""
    return {name: pattern(name) for name in _load_file()["patterns"] if name.startswith(prefix)}


@cache
def _load_file() -> dict[str, dict[str, str]]:
    file = files("overread.build.deid") / "data" / "text_patterns.toml"
    return tomllib.loads(file.read_text("utf-8"))


def _fill_parts(text: str, parts: dict[str, str]) -> str:
    # Line breaks are for the eye: a pattern may be written over several lines.
    text = re.sub(r"\s*\n\s*", "", text.strip())
    return re.sub(r"%([A-Z_]+)%", lambda match: _fill_parts(parts[match[1]], parts), text)
