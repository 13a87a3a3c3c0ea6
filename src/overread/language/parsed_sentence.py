"""One sentence while it is parsed: its words, and everything that was found among them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Generic, TypeVar, overload

from overread.language.phrases import PhraseMatch
from overread.language.places import PlaceMention, find_places, split_place
from overread.language.presence import Cue, find_cues, split_clauses
from overread.language.sizes import Size, find_sizes
from overread.language.text import Sentence, Span
from overread.language.thing_words import LOOSE, TRAIT, Range, ThingWords, assign_words
from overread.language.tokens import Token, tokenise
from overread.language.vocabulary import Head, Observation, Vocabulary

Modifier = PhraseMatch[tuple[tuple[str, str], ...]]
T = TypeVar("T")


class once(Generic[T]):  # noqa: N801
    """A property that is computed when it is first used; without the lock of `cached_property`."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        """`make` computes it."""
        self._make = make
        self._name = make.__name__
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> once[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> once[T] | T:
        """The value, which is kept in the instance from now on."""
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._make(instance)
        return value


@dataclass
class StatementDraft:
    """The fields of a statement while it is built, and the characters each was read from."""

    fields: dict[str, object] = field(default_factory=dict)
    evidence: dict[str, Span] = field(default_factory=dict)

    def add(self, name: str, value: object, span: Span) -> None:
        """Fill a field."""
        self.fields[name] = value
        self.evidence[name] = span


_TOUCHING = frozenset(
    "abutting abut invading invade contacting touching extending destroying grow growing infiltrating".split()
)
_SPARING = frozenset("not none except excepting sparing spare".split())
_SUBJECTLESS = frozenset("which that is are was were has have appear remain show".split())
"""Words that a clause begins with whose subject stands in the clause before."""
_SUBJECT_REACH = 4
"""Words from the beginning of such a clause to what is said of its subject, at most."""
_MARKS = {"traits": TRAIT, "severity": LOOSE, "spread": LOOSE}
_CLEAR = frozenset("clear spared sharp normal unremarkable".split())


@lru_cache(maxsize=1000)
def _heading_groups(section: str, vocabulary: Vocabulary) -> frozenset[str]:
    return frozenset(match.value for match in vocabulary.anatomy_phrases.find(tokenise(section)))


@dataclass
class ParsedSentence:
    """A sentence's words and the things it names; places, cues and sizes are found when used."""

    text: str
    sentence: Sentence
    vocabulary: Vocabulary
    words: list[Token]
    things: list[PhraseMatch[Observation | Head]]
    adjectives: dict[int, PhraseMatch[str]] = field(default_factory=dict)
    """First word of a noun that has its meaning from an adjective → that adjective."""

    @once
    def anatomy(self) -> list[PhraseMatch[str]]:
        """Places other than lobes and segments."""
        found = self.vocabulary.anatomy_phrases.find(self.words)
        # What a thing only touches is not the place it is in.
        return [place for place in found if not self._preceded_by(place.first, _TOUCHING, 4)]

    @once
    def qualities(self) -> list[PhraseMatch[str]]:
        """Common adjectives that some nouns have their meaning from."""
        return self.vocabulary.quality_phrases.find(self.words)

    def company(self, head: Head) -> list[PhraseMatch[str]]:
        """What a head has its meaning from: places, or qualities."""
        return self.qualities if self.vocabulary.qualities.issuperset(head.by) else self.anatomy

    @once
    def heading(self) -> frozenset[str]:
        """Groups of the place that the heading names, where the sentence names none: "PLEURA: Dry." """
        if not self.sentence.section or self.anatomy:
            return frozenset()
        return _heading_groups(self.sentence.section, self.vocabulary)

    @once
    def places(self) -> list[PlaceMention]:
        """Sides, lobes, segments and zones."""
        starts = {thing.first for thing in self.things}
        ends = {thing.last for thing in self.things}
        found: list[PlaceMention] = []
        for place in find_places(self.words):
            if not self._is_spared(place):
                found += split_place(self.words, place, starts, ends)
        return found

    def _is_spared(self, place: PlaceMention) -> bool:
        """Whether a place is named because nothing is there: "the right lung is clear"."""
        if self._preceded_by(place.first, _SPARING, 3) or self._is_measured_against(place.first):
            return True
        if place.last in self._normal_starts or place.last + 1 in self._normal_starts:
            return False  # the place that something normal is told of
        behind = [word.word for word in self.words[place.last : place.last + 3]]
        if behind[1:2] == ["free"] and behind[0] in ("is", "are") and behind[-1] not in ("of", "from"):
            return True
        behind = behind[:2]
        return bool(behind) and (
            behind[0] in _CLEAR or (behind[0] in ("is", "are", "was") and behind[-1] in _CLEAR)
        )

    def _is_measured_against(self, at: int) -> bool:
        """Whether a side only tells what another is compared with: "higher than the left"."""
        row = [word.word for word in self.words[max(0, at - 3) : at] if word.word != "the"]
        return row[-2:] in (["higher", "than"], ["lower", "than"], ["relative", "to"])

    @once
    def _normal_starts(self) -> frozenset[int]:
        """Words at which something is called normal."""
        return frozenset(
            thing.first for thing in self.things if isinstance(thing.value, Head) and thing.value.normal
        )

    def _preceded_by(self, at: int, words: frozenset[str], reach: int) -> bool:
        """Whether one of some words stands shortly before a place."""
        return any(word.word in words for word in self.words[max(0, at - reach) : at])

    @once
    def in_place(self) -> bytearray:
        """For each word, whether it is part of a side, lobe, segment or zone."""
        marks = bytearray(len(self.words))
        for place in self.places:
            marks[place.first : place.last] = b"\1" * (place.last - place.first)
        return marks

    @once
    def cues(self) -> list[Cue]:
        """What says whether something is there."""
        return find_cues(self.words, self.vocabulary)

    @once
    def modifiers(self) -> list[Modifier]:
        """What is said of things; the name of a segment is none."""
        used = {n for place in self.places for n in place.segment_words}
        return [
            match for match in self.vocabulary.modifier_phrases.find(self.words) if match.first not in used
        ]

    @once
    def sizes(self) -> list[tuple[int, Size]]:
        """Sizes, and the word each of them begins at."""
        starts = [word.start for word in self.words]
        found = find_sizes(self.text, self.sentence.start, self.sentence.end)
        return [(bisect_left(starts, size.span.start), size) for size in found]

    @once
    def clauses(self) -> list[Range]:
        """Rows of words that a cue does not reach beyond."""
        return split_clauses(self.words, self.vocabulary.end_phrases.find(self.words))

    @once
    def _clause_starts(self) -> list[int]:
        return [first for first, _ in self.clauses]

    def clause(self, at: int) -> Range:
        """The clause that a word stands in."""
        return self.clauses[bisect_right(self._clause_starts, at) - 1]

    def subject_clause(self, at: int) -> Range:
        """The clause of a word, and the one before where its subject stands: "…, which is dilated"."""
        first, last = self.clause(at)
        n = bisect_left(self._clause_starts, first)
        if at - first > _SUBJECT_REACH:
            return first, last
        while n and self.words[first].word in _SUBJECTLESS:
            n -= 1
            first = self.clauses[n][0]
        return first, last

    @once
    def stretches(self) -> list[Range]:
        """Clauses, each with those beside it that name no thing."""
        starts = [thing.first for thing in self.things]
        found: list[Range] = []
        lead = None
        for first, last in self.clauses:
            named = bisect_left(starts, first) < bisect_left(starts, last)
            if named:
                found.append((first if lead is None else lead, last))
                lead = None
            elif found:
                found[-1] = (found[-1][0], last)
            elif lead is None:
                lead = first
        return found

    @once
    def thing_words(self) -> list[ThingWords]:
        """The words of each thing."""
        marks = bytearray(len(self.words))
        for match in self.modifiers:
            mark = max(_MARKS.get(name, 0) for name, _ in match.value)
            if mark:
                mark = TRAIT if any(name == "traits" for name, _ in match.value) else mark
                marks[match.first : match.last] = bytes([mark]) * (match.last - match.first)
        starts = [thing.first for thing in self.things]
        found: list[ThingWords] = []
        for first, last in self.stretches:
            some = self.things[bisect_left(starts, first) : bisect_left(starts, last)]
            found += assign_words(self.words, some, self.in_place, (first, last), marks)
        return found

    def span(self, first: int, last: int) -> Span:
        """The characters of words."""
        return Span(start=self.words[first].start, end=self.words[last - 1].end)
