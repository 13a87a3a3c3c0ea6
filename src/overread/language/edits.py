"""What two sentences that are nearly the same differ in: a side, a length, a degree, a denial.

Where one word of a sentence was changed, the word itself tells what kind of change it is, whatever the
sentence speaks of. So a change is seen also in a sentence that was not understood.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Literal, NamedTuple, TypeAlias

from overread.language.findings import same_size
from overread.language.sizes import find_sizes
from overread.language.statements import THERE
from overread.language.text import Sentence
from overread.language.tokens import spell_out_sides, tokenise
from overread.language.unread import TextRead
from overread.language.vocabulary import vocabulary

EditKind: TypeAlias = Literal["presence", "omission", "addition", "side", "severity", "size"]

_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*|\d+(?:\.\d+)?")
_SHARE = re.compile(r"(?<![\w.])(?:\d{1,3}(?:\.\d+)?(?= ?%)|[01]\.\d+(?! ?[cm]m))")
_ALIKE = 0.5
"""Share of their words that two sentences must have in common to be one sentence, changed."""
_EMPTY = frozenset(
    "a an and are as at be by for from has have in is it of on or the there to was with".split()
)
_SHORTER = 0.1
"""How much less alike a denial is that has most words of a longer sentence."""
_MORE_WORDS = 2
"""Words that a sentence must have more to name one more thing."""
_SIDES = {
    **dict.fromkeys(("left", "left-sided", "leftward", "leftwards", "lt"), "left"),
    **dict.fromkeys(("right", "right-sided", "rightward", "rightwards", "rt"), "right"),
}
_REASSURING = frozenset(
    "no not without absent negative nil none neither nor never resolved excluded cleared gone "
    "normal normally clear unremarkable intact patent clean spared dry uninvolved preserved".split()
)
"""Words of sentences that say that something is not there."""
_DENIALS = frozenset("no not without nor".split())
_EXCEPTING = frozenset("apart except excepting otherwise besides aside".split())
"""Words of sentences that reassure of all but one thing: "apart from a cyst, the liver is normal"."""
_OF_EARLIER = re.compile(
    r"\bnot?\b(?:\W+\w+){0,4}?\W+(?:before|previous(?:ly)?|earlier|prior|ago|last|(?:19|20)\d\d"
    r"|significance|consequence|importance|concern)\b"
)
"""A denial that tells of an earlier picture, or of what a finding matters, and denies no finding."""
_SHOWN = frozenset(
    "look looks show shows seen appears demonstrated noted present identified which this "
    "suggest suggests any evidence".split()
)
"""Words that come and go with a denial."""


class Edit(NamedTuple):
    """One change between two sentences, which are named by their first characters."""

    kind: EditKind
    ours: int
    theirs: int


@dataclass(frozen=True)
class Edits:
    """What was changed between two texts."""

    found: list[Edit]
    """Changes within a sentence."""
    dropped: frozenset[int]
    """Sentences of ours that are gone, where theirs has nothing new that could say the same."""
    added: frozenset[int]
    """Sentences that are only in theirs, where all of ours are still there."""
    mine: Sequence[Sentence] = ()
    """Sentences of ours that theirs does not have word by word."""
    yours: Sequence[Sentence] = ()
    """Sentences of theirs that ours does not have word by word."""


@dataclass(frozen=True)
class _Said:
    """The words of a sentence, ready to be compared."""

    text: str

    @cached_property
    def words(self) -> list[str]:
        return _WORD.findall(self.text)

    @cached_property
    def telling(self) -> Counter[str]:
        return Counter(word for word in self.words if word not in _EMPTY)

    @cached_property
    def different(self) -> frozenset[str]:
        return frozenset(self.words) - _EMPTY

    @cached_property
    def sides(self) -> list[str]:
        return [_SIDES[word] for word in self.words if word in _SIDES]

    @cached_property
    def without_sides(self) -> list[str]:
        return [word for word in self.words if word not in _SIDES]

    @cached_property
    def degrees(self) -> list[str]:
        known = _degrees()
        return [known[word] for word in self.words if word in known]

    @cached_property
    def sizes(self) -> list[float]:
        return [size.largest for size in find_sizes(self.text)]

    @cached_property
    def reassures(self) -> bool:
        return reassures(self.text)


@lru_cache(maxsize=20_000)
def _remember(text: str) -> _Said:
    """The words of a sentence; real reports repeat every second one."""
    return _Said(text)


class _Told(NamedTuple):
    """A sentence of a report."""

    at: Sentence
    said: _Said


def find_edits(ours: TextRead, theirs: TextRead) -> Edits:
    """What was changed between two texts, sentence by sentence.

    >>> from overread.language.unread import read_statements
    >>> one = read_statements("Frobnitz on the right. Flump of 3 cm. Clear lungs.")
    >>> two = read_statements("Frobnitz on the left. Flump of 5 cm. Clear lungs.")
    >>> [edit.kind for edit in find_edits(one, two).found]
    ['side', 'size']
    >>> sorted(find_edits(one, read_statements("Flump of 3 cm. Clear lungs.")).dropped)
    [0]
    """
    mine, yours = _sentences_alone(ours, theirs), _sentences_alone(theirs, ours)
    pairs = _pair_sentences(mine, yours)
    found = [
        Edit(kind, one.at.start, two.at.start)
        for one, two in pairs
        for kind in _changes(one.said, two.said, here=_tells(ours, one), there=_tells(theirs, two))
    ]
    left = {one.at.start for one in mine} - {one.at.start for one, _ in pairs}
    right = {two.at.start for two in yours} - {two.at.start for _, two in pairs}
    if left or right or len(pairs) > 1:
        # What one sentence has more may stand in another.
        found = [edit for edit in found if edit.kind not in ("omission", "addition")]
    return Edits(
        found,
        frozenset(left if not right else ()),
        frozenset(right if not left else ()),
        [one.at for one in mine],
        [two.at for two in yours],
    )


def reassures(said: str) -> bool:
    """Whether a sentence says that something is not there.

    >>> told = ("no nodule", "a nodule, not there a year ago", "apart from a cyst, normal")
    >>> [reassures(said) for said in told]
    [True, False, False]
    """
    words = _WORD.findall(_OF_EARLIER.sub(" ", said.lower()))
    return not _REASSURING.isdisjoint(words) and _EXCEPTING.isdisjoint(words)


def find_sides(said: str) -> set[str]:
    """The sides that a sentence names."""
    return {_SIDES[word] for word in _WORD.findall(said.lower()) if word in _SIDES}


def _sentences_alone(own: TextRead, other: TextRead) -> list[_Told]:
    """The sentences that the other text does not have word by word."""
    there = {_comparable(sentence, other.text) for sentence in other.spoken}
    told = ((sentence, _comparable(sentence, own.text)) for sentence in own.spoken)
    return [_Told(sentence, _remember(text)) for sentence, text in told if text not in there]


def _comparable(sentence: Sentence, text: str) -> str:
    return _compared_words(sentence.extract(text))


@lru_cache(maxsize=20_000)
def _compared_words(said: str) -> str:
    return spell_out_sides(said).lower().rstrip(". ")


def _pair_sentences(mine: Sequence[_Told], yours: Sequence[_Told]) -> list[tuple[_Told, _Told]]:
    """Sentences that are alike, the most alike first, each at most once."""
    alike = []
    for n, (_, one) in enumerate(mine):
        words, size = one.different, len(one.different)
        for m, (_, two) in enumerate(yours):
            both = len(words & two.different)
            if not both:
                continue
            share = 2 * both / (size + len(two.different))
            if share < _ALIKE and both > 1 and one.reassures != two.reassures:
                # "No pleural thickening" denies all of a long sentence about one.
                least = min(len(words - _REASSURING), len(two.different - _REASSURING))
                share = both / max(1, least) - _SHORTER
            if share >= _ALIKE:
                alike.append((-share, n, m))
    pairs: dict[int, int] = {}
    for _, n, m in sorted(alike):
        if n not in pairs and m not in pairs.values():
            pairs[n] = m
    return [(mine[n], yours[m]) for n, m in sorted(pairs.items())]


def _tells(read: TextRead, told: _Told) -> bool:
    """Whether a sentence says that something is there, or may do so."""
    start = told.at.start
    if start in read.unread_at:
        return True
    return any(each.sentence.start == start and each.presence in THERE for each in read.statements)


def _changes(one: _Said, two: _Said, *, here: bool, there: bool) -> Iterable[EditKind]:
    """The kinds of change between two sentences that are alike; `here` and `there`: they tell something."""
    told = there if one.reassures else here
    if one.reassures != two.reassures and (
        _is_only_denied(one, two) or (told and _is_all_else_kept(one, two))
    ):
        yield "presence"
        return
    if _names_more(one, two):
        yield "omission"
    if _names_more(two, one):
        yield "addition"
    if _is_other_side(one, two):
        yield "side"
    lost, new = Counter(one.degrees) - Counter(two.degrees), Counter(two.degrees) - Counter(one.degrees)
    if lost and new:
        yield "severity"
    if (_lacks(one.sizes, two.sizes) and _lacks(two.sizes, one.sizes)) or _is_other_share(one, two):
        yield "size"


def _names_more(one: _Said, two: _Said) -> bool:
    """Whether the one is the other and something besides: "rib fractures and a fracture of the sternum"."""
    more = one.telling - two.telling
    if more.total() < _MORE_WORDS or two.telling - one.telling:
        return False
    words = tokenise(" ".join(word for word in one.words if word in more))
    return bool(vocabulary().thing_phrases.find(words))


def _is_only_denied(one: _Said, two: _Said) -> bool:
    """Whether nothing but the denial comes or goes: "with no recurrence", "with recurrence"."""
    ours, theirs = ([word for word in said.words if word not in _DENIALS] for said in (one, two))
    return bool(ours) and ours == theirs


def _is_all_else_kept(one: _Said, two: _Said) -> bool:
    """Whether, but for what denies, one sentence has hardly a word that the other has not."""
    ours, theirs = (said.different - _REASSURING - _SHOWN for said in (one, two))
    return min(len(ours - theirs), len(theirs - ours)) <= (1 if len(ours & theirs) > 1 else 0)


def _is_other_side(one: _Said, two: _Said) -> bool:
    if one.sides == two.sides or not one.sides or not two.sides:
        return False
    if one.without_sides == two.without_sides:
        return True
    # The same sides in another order may come with other words.
    return Counter(one.sides) != Counter(two.sides) and len(one.sides) == len(two.sides)


def _is_other_share(one: _Said, two: _Said) -> bool:
    """Whether nothing but a share or a ratio differs: "CTR 0.58", "a ratio of 1.1", "40 %"."""
    return one.text != two.text and _SHARE.sub("", one.text) == _SHARE.sub("", two.text)


def _lacks(sizes: Iterable[float], others: Sequence[float]) -> bool:
    return any(not any(same_size(size, other) for other in others) for size in sizes)


@cache
def _degrees() -> dict[str, str]:
    """Word → mild, moderate or severe."""
    return {
        word: value
        for value, words in vocabulary().modifiers.severity.items()
        for word in words
        if " " not in word
    }
