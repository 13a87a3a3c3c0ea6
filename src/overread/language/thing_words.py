"""Which words of a sentence belong to which of the things that it names.

Words between two things are the first one's up to the last joint ("effusion on the right | and a
mild consolidation"). Things that are one finding share their words: "emphysematous bulla", "foci
of atelectasis", "opacity compatible with atelectasis". What follows "with" is a part of the thing
before it: "nodule with cavitation in the right lung" lies in the right lung, "8 mm nodule with
cavitation" is no cavity of 8 mm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from overread.language.phrases import PhraseMatch
from overread.language.tokens import Token

Range = tuple[int, int]

TRAIT, LOOSE = 1, 2
"""Marks of words: they tell a trait, or how much or where and may stand between two names."""

_MOST = 6
"""Names of one finding; a longer row is a list of words, and time stays linear."""
_FAR = 24
"""Words between two things that can still be one finding, its place in between."""
_JOINTS = frozenset("and , or with plus but ( ; accompanying associated adjacent & which".split())
_SAME = frozenset(
    {
        "", "of", "in", "along", "forming", "producing", "compatible with", "consistent with",
        "form of", "keeping with", "in keeping with", "in form of", "in favor of", "suggestive of",
        "type", "character", "as", "representing", "of type", "secondary to", "in style",
        "evaluated as", "shape", "in line with", "indicating",
    }
)  # fmt: skip
_FILLERS = frozenset(
    "a an the in at on , is are was were seen observed detected noted area focus accumulation"
    " collection".split()
)
_LOOKS = frozenset("character appearance pattern distribution component type style form".split())
_FEW = 3
_FUNCTION = frozenset("and or , with in at on of is are was were has have no not without ( )".split())
_PARTS = frozenset({"calcification", "cavitation", "necrosis"})
_ENDS = frozenset("in at on of is are was were".split())
_VAGUE = frozenset("lesion nodule opacity density increase nodularity nodular change".split())


@dataclass(frozen=True)
class ThingWords:
    """The words that belong to one thing of a sentence."""

    before: Range
    """Ahead of it, up to the thing before or the last joint."""
    after: Range
    """Behind it, up to the next joint or thing."""
    inside: Range
    """From the first to the last of the things that are one finding with it."""
    part_ranges: tuple[Range, ...] = ()
    """Those behind it that speak of its parts: "with a 5 mm cavity"."""

    def is_own(self, at: int) -> bool:
        """Whether a word describes the thing itself, and not one of its parts."""
        return not any(first <= at < last for first, last in self.part_ranges)


def assign_words(
    words: Sequence[Token],
    things: Sequence[PhraseMatch[Any]],
    in_place: bytearray,
    stretch: Range,
    marks: bytearray,
) -> list[ThingWords]:
    """The words of each of the things of a stretch."""
    links = [_link(words, one, other, in_place, marks) for one, other in pairwise(things)]
    borders = [_border(words, one.last, other.first, in_place) for one, other in pairwise(things)]
    firsts = _run_starts(links, ("same",))
    # The same from behind: the last thing of each run.
    back = links[::-1]
    lasts = [len(things) - 1 - n for n in _run_starts(back, ("same",))][::-1]
    wholes = [len(things) - 1 - n for n in _run_starts(back, ("same", "with"))][::-1]
    found: list[ThingWords] = []
    for n in range(len(things)):
        first, last, whole = firsts[n], lasts[n], wholes[n]
        part = first > 0 and links[first - 1] == "with"
        start, end = things[first].first, things[last].last
        ahead, behind = stretch
        if first > 0:
            ahead = things[first - 1].last if part else borders[first - 1]
        if whole + 1 < len(things):
            behind = borders[whole]
        parts = tuple((borders[k], things[k + 1].last) for k in range(last, whole))
        found.append(ThingWords((ahead, start), (end, behind), (start, end), parts))
    return found


def _run_starts(links: Sequence[str], kinds: tuple[str, ...]) -> list[int]:
    """For each thing, the first thing of the run that links of these kinds join it to."""
    found = [0]
    for n, link in enumerate(links):
        joined = link in kinds and n - found[-1] < _MOST
        found.append(found[-1] if joined else n + 1)
    return found


def _link(
    words: Sequence[Token],
    one: PhraseMatch[Any],
    other: PhraseMatch[Any],
    in_place: bytearray,
    marks: bytearray,
) -> str:
    """How two neighbours hang together: 'same', 'with', or not at all."""
    if other.first - one.last > _FAR:
        return ""
    gap = range(one.last, other.first)
    row = [words[n].word for n in gap if not in_place[n] and marks[n] != LOOSE]
    kept = [word for word in row if word not in _FILLERS]
    # A place alone parts two things: "effusion on the right and left pneumothorax".
    told = bool(kept) or not any(in_place[one.last : other.first])
    if told and " ".join(kept) in _SAME and "," not in row:
        return "same"
    if len(row) <= _FEW and not _FUNCTION.intersection(row) and _is_adjective(words[one.last - 1]):
        return "same"  # "calcified solid lung nodule"
    is_trait = all(mark == TRAIT for mark in marks[other.first : other.last])
    is_part = is_trait and words[other.last - 1].word in _PARTS
    joined = any(word in ("and", ",", "or") for word in row)
    if "with" in row or kept[:1] == ["accompanied"]:
        looks = is_trait or _follows(words, other.last) in _LOOKS
        if looks and not joined and words[one.last - 1].word in _VAGUE:
            return "same"  # "lesion with cavitation", "nodules with perilymphatic distribution"
        return "with" if looks or not joined else ""
    return "with" if is_part and "and" in kept and not _ENDS.intersection(row) else ""


def _is_adjective(word: Token) -> bool:
    return word.word.endswith(("ic", "ed", "ous", "ar", "ary", "ive"))


def _follows(words: Sequence[Token], at: int) -> str:
    return words[at].word if at < len(words) else ""


def _border(words: Sequence[Token], first: int, last: int, in_place: bytearray) -> int:
    """Where the words of the next thing begin."""
    for n in range(last - 1, first - 1, -1):
        if words[n].word in _JOINTS and not in_place[n]:
            return n
    return last
