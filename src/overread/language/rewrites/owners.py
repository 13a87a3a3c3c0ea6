"""Which finding a number or a side is told of, by where it stands in its sentence.

It belongs to the finding that it stands right before ("5 mm nodule", "left pleural effusion"), else
to the last one before it ("nodule in the left lung, 5 mm"), else to the next ("on the left there is
a nodule"). It does so surely where no more than a few words lie between, or where the sentence has
one finding only.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from overread.language.text import Sentence, Span

_SIDE = re.compile(
    r"\b(?:(?P<pair>right\s+(?:and|or)\s+left|left\s+(?:and|or)\s+right)"
    r"|(?P<both>bilateral(?:ly)?|biapical|bibasilar|bibasal|bihilar|both(?!\s+\S{1,20}\s+and\b))"
    r"|(?P<right>right|rul|rml|rll)|(?P<left>left|lul|lll)"
    # Lobes that only one side has need no side to be told.
    r"|(?P<lone_right>middle\s+lobe)|(?P<lone_left>lingular?))\b",
    re.IGNORECASE,
)
# Words and signs that part what stands before a finding from it.
_PARTS = re.compile(
    r"[,;:.()\n]|\b(?:in|on|at|of|with|without|and|or|but|is|are|was|were|has|have|which|that|the|a|an|"
    r"shows?|contains?|to|from|for|by|no|there)\b",
    re.IGNORECASE,
)
_REACH = 60
"""Characters that a few words have at most."""
_WORDS = 5
"""A few words."""


@dataclass(frozen=True)
class SideWord:
    """A word that tells a side."""

    span: Span
    sides: frozenset[str]
    implied: bool = False
    """Whether it is the name of a lobe that only one side has."""

    @property
    def meaning(self) -> str:
        """Right, left or both."""
        return "both" if len(self.sides) == 2 else next(iter(self.sides))


def side_words(text: str) -> list[SideWord]:
    """All words that tell a side, in order.

    >>> [word.meaning for word in side_words("Right and left effusion, LUL nodule, both bases")]
    ['both', 'left', 'both']
    """
    found = []
    for match in _SIDE.finditer(text):
        kind = (match.lastgroup or "").removeprefix("lone_")
        sides = frozenset(("right", "left") if kind in ("pair", "both") else (kind,))
        span = Span(start=match.start(), end=match.end())
        found.append(SideWord(span, sides, implied=(match.lastgroup or "").startswith("lone")))
    return found


class OwnerIndex:
    """Finds the finding of a text that a number or side word belongs to."""

    def __init__(
        self, text: str, sentences: Sequence[Sentence], mentions: Iterable[tuple[Span, int]]
    ) -> None:
        """`mentions` are the words that name a finding, and the key of that finding."""
        self._text = text
        self._starts = [sentence.start for sentence in sentences]
        rows: dict[int, list[tuple[int, int, int]]] = {}
        for span, key in mentions:
            rows.setdefault(self.sentence_at(span), []).append((span.start, span.end, key))
        self._rows = {at: sorted(row) for at, row in rows.items()}
        self._sole = {at: len({key for _, _, key in row}) == 1 for at, row in rows.items()}

    def sentence_at(self, span: Span) -> int:
        """Number of the sentence that a stretch begins in; -1 before the first."""
        return bisect_right(self._starts, span.start) - 1

    def find_owner(self, span: Span) -> tuple[int | None, bool]:
        """The key of the finding that a stretch belongs to, and whether that is sure."""
        at = self.sentence_at(span)
        row = self._rows.get(at)
        if row is None:
            return None, False
        sole = self._sole[at]
        after = bisect_left(row, (span.start, 0, 0))
        before = row[after - 1] if after else None
        if before is not None and before[1] > span.start:
            return before[2], True  # inside its name
        following = row[after] if after < len(row) else None
        if following is not None and following[0] < span.end:
            return following[2], True
        if following is not None and following[0] - span.end <= _REACH:
            between = self._text[span.end : following[0]]
            if not _PARTS.search(between):
                return following[2], True
        if before is not None:
            between = self._text[before[1] : span.start]
            near = len(between) <= _REACH and len(between.split()) <= _WORDS
            return before[2], near or sole
        return (following[2], sole) if following is not None else (None, False)
