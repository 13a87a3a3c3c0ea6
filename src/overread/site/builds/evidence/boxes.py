"""The boxes that a question speaks of, wherever they stand in what it shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import JsonValue

from overread.build.item import Data
from overread.core import Record

MAX_BOXES = 200
"""Boxes of one question that are drawn."""
_MAX_DEPTH = 6
_NAMES = ("label", "name", "regions", "region")


class EvidenceBox(Record):
    """A box on a picture, in its pixels."""

    label: str
    asked: bool
    """Whether the question is about it; else it is there to tell where things are."""
    x1: float
    y1: float
    x2: float
    y2: float


def find_boxes(shown: Data) -> list[EvidenceBox]:
    """Every box of what a question shows; those that are asked about come first.

    >>> [b.label for b in find_boxes({"boxes": {"heart": [0, 0, 9, 9]}, "box": [1, 2, 3, 4]})]
    ['', 'heart']
    >>> find_boxes({"looks": [{"regions": ["heart"], "box": [1, 2, 3, 4]}]})[0].label
    'heart'
    """
    found = list(_iter_boxes(shown, 0))[:MAX_BOXES]
    if all(not box.asked for box in found):
        found = [box.model_copy(update={"asked": len(found) == 1}) for box in found]
    return sorted(found, key=lambda box: not box.asked)


def is_only_boxes(value: JsonValue) -> bool:
    """Whether a value is boxes and nothing else, so that nobody needs to read its numbers."""
    if isinstance(value, dict):
        return bool(value) and all(_corners(inner) is not None for inner in value.values())
    if isinstance(value, list) and _corners(value) is None:
        return bool(value) and all(_corners(inner) is not None for inner in value)
    return _corners(value) is not None


def _iter_boxes(shown: Any, depth: int) -> Iterator[EvidenceBox]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(shown, list):
        for inner in shown:
            yield from _iter_boxes(inner, depth + 1)
        return
    if not isinstance(shown, dict):
        return
    own = _corners(shown.get("box"))
    if own is not None:
        yield _box(own, _label(shown), asked=True)
    several = shown.get("boxes")
    if isinstance(several, dict):
        named = ((str(name), _corners(value)) for name, value in several.items())
        yield from (_box(at, name, asked=False) for name, at in named if at is not None)
    elif isinstance(several, list):
        plain = (_corners(value) for value in several)
        yield from (_box(at, "", asked=True) for at in plain if at is not None)
    for name, inner in shown.items():
        if name != "box" and isinstance(inner, dict | list):
            yield from _iter_boxes(inner, depth + 1)


def _label(told: dict[str, Any]) -> str:
    for name in _NAMES:
        value = told.get(name)
        if isinstance(value, str):
            return value[:120]
        if isinstance(value, list):
            return ", ".join(word for word in value if isinstance(word, str))[:120]
    return ""


def _corners(value: Any) -> tuple[float, float, float, float] | None:
    if not isinstance(value, list) or len(value) != 4:
        return None
    if not all(isinstance(n, int | float) and not isinstance(n, bool) for n in value):
        return None
    if not all(abs(n) < 1e6 for n in value):
        return None
    left, top, right, bottom = (float(n) for n in value)
    return (left, top, right, bottom) if left < right and top < bottom else None


def _box(at: tuple[float, float, float, float], label: str, *, asked: bool) -> EvidenceBox:
    return EvidenceBox(label=label, asked=asked, x1=at[0], y1=at[1], x2=at[2], y2=at[3])
