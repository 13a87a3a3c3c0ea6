"""Reason codes: why a verdict was given, in words that can be counted."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

from overread.errors import OverreadError

REASONS_FILE = "reasons.toml"
OTHER = "other"
"""The code that needs words beside it."""
_ANY = "any"

ReasonCodes = Mapping[str, str]
"""Code → what it means."""


def reasons_for(kind: str, folder: Path | None = None) -> ReasonCodes:
    """The codes that go with a kind of question: its own, and those that go with every kind.

    A file `reasons.toml` in the folder replaces the lists of the kinds that it names.

    >>> list(reasons_for("category"))[:3]
    ['too-broad', 'too-narrow', 'wrong-parent']
    >>> list(reasons_for("a new kind"))
    ['not-shown', 'poor-picture', 'ambiguous', 'not-covered', 'other']
    """
    lists = _load_bundled() | (_load_from_folder(folder) if folder is not None else {})
    return {**lists.get(kind, {}), **lists[_ANY]}


@cache
def _load_bundled() -> dict[str, dict[str, str]]:
    here = files("overread.build.adjudication") / REASONS_FILE
    return _parse_lists(here.read_text("utf-8"), REASONS_FILE)


def _load_from_folder(folder: Path) -> dict[str, dict[str, str]]:
    path = folder / REASONS_FILE
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError):
        raise OverreadError("the reason codes cannot be read", where=str(path)) from None
    return _parse_lists(text, str(path))


def _parse_lists(text: str, where: str) -> dict[str, dict[str, str]]:
    try:
        lists = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise OverreadError(f"this is not TOML ({error})", where=where) from None
    except RecursionError:
        raise OverreadError("its values are nested too deeply", where=where) from None
    for kind, codes in lists.items():
        good = isinstance(codes, dict) and all(
            isinstance(about, str) and not set(code) & set(" |;,:") and not code.isdecimal()
            for code, about in codes.items()
        )
        if not good:
            raise OverreadError(
                f"the reason codes of '{kind}' cannot be used",
                where=where,
                remedy='write a table for each kind, and in it lines like wrong-side = "left and '
                'right are exchanged"; a code is one word and no number',
            )
    return lists
