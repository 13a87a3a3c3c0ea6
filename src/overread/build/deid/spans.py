"""Where something stands in a text, and how finds that overlap are settled."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from overread.build.deid.record import Kind


@dataclass(frozen=True)
class Found:
    """Something in a text that tells who it is about."""

    start: int
    end: int
    kind: Kind
    rule: str
    instead: str | None = None
    """What is to stand there, where the finder knows; otherwise it follows from the kind."""


class Taken:
    """Which characters of a text are taken, so that asking costs the length of what is asked."""

    def __init__(self, text: str, found: Iterable[Found] = ()) -> None:
        """For one text; what is given is taken from the start."""
        self._held = bytearray(len(text))
        for one in found:
            self.take(one.start, one.end)

    def take(self, start: int, end: int) -> None:
        """Take a stretch."""
        self._held[start:end] = b"\1" * (end - start)

    def over(self, one: Found) -> bool:
        """Whether a find lies over anything taken."""
        return any(self._held[one.start : one.end])

    def free(self, start: int, end: int) -> list[tuple[int, int]]:
        """The parts of a stretch that are not taken."""
        parts = re.finditer(rb"\0+", self._held[start:end])
        return [(start + part.start(), start + part.end()) for part in parts]


def settled(found: Iterable[Found], text: str) -> list[Found]:
    """Finds in order, none over another; of two that overlap the longer one, the rest trimmed off.

    What sticks out of the longer one is not given up: it becomes a find of its own.
    """
    kept: list[Found] = []
    taken = Taken(text)
    for one in sorted(found, key=lambda one: (one.start - one.end, one.start)):
        for start, end in taken.free(one.start, one.end):
            piece = text[start:end]
            stripped = piece.strip(" \t\r\n,;:.-")
            if not any(character.isalnum() for character in stripped):
                continue
            start += piece.index(stripped)
            end = start + len(stripped)
            whole = (start, end) == (one.start, one.end)
            kept.append(one if whole else Found(start, end, one.kind, one.rule, None))
            taken.take(start, end)
    return sorted(kept, key=lambda one: one.start)
