"""Where something stands in a text, and how finds that overlap are settled."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from overread.build.deid.results import RemovalKind


@dataclass(frozen=True)
class PhiSpan:
    """Something in a text that tells who it is about."""

    start: int
    end: int
    kind: RemovalKind
    rule: str
    replacement: str | None = None
    """What is to stand there, where the finder knows; otherwise it follows from the kind."""


class CoveredText:
    """Marks which characters of a text are already covered by a find."""

    def __init__(self, text: str, found: Iterable[PhiSpan] = ()) -> None:
        """For one text; what is given is taken from the start."""
        self._held = bytearray(len(text))
        for one in found:
            self.cover(one.start, one.end)

    def cover(self, start: int, end: int) -> None:
        """Take a stretch."""
        self._held[start:end] = b"\1" * (end - start)

    def overlaps(self, one: PhiSpan) -> bool:
        """Whether a find lies over anything taken."""
        return any(self._held[one.start : one.end])

    def free_parts(self, start: int, end: int) -> list[tuple[int, int]]:
        """The parts of a stretch that are not taken."""
        parts = re.finditer(rb"\0+", self._held[start:end])
        return [(start + part.start(), start + part.end()) for part in parts]


def resolve_overlaps(found: Iterable[PhiSpan], text: str) -> list[PhiSpan]:
    """Finds in order, none over another; of two that overlap the longer one, the rest trimmed off.

    What sticks out of the longer one is not given up: it becomes a find of its own.
    """
    kept: list[PhiSpan] = []
    taken = CoveredText(text)
    for one in sorted(found, key=lambda one: (one.start - one.end, one.start)):
        for start, end in taken.free_parts(one.start, one.end):
            piece = text[start:end]
            stripped = piece.strip(" \t\r\n,;:.-")
            if not any(character.isalnum() for character in stripped):
                continue
            start += piece.index(stripped)
            end = start + len(stripped)
            whole = (start, end) == (one.start, one.end)
            kept.append(one if whole else PhiSpan(start, end, one.kind, one.rule, None))
            taken.cover(start, end)
    return sorted(kept, key=lambda one: one.start)
