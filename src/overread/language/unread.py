"""Which sentences of a text were not read: they state something that the vocabulary has no word for.

A sentence is read where it holds a statement. One that holds none may still be ordinary: it calls a
place normal or unchanged and has no unknown word, denies something, speaks of the examination or the
person. Only what is left was not read. The words are in `vocabulary/ordinary.toml`. A sentence of
which only a half was understood counts as read, so the number is a lower bound.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from overread.core import Record
from overread.language.findings import same_size
from overread.language.sizes import find_sizes
from overread.language.statements import Statement, sentence_statements
from overread.language.text import Sentence, split_sentences
from overread.language.vocabulary import vocabulary
from overread.ontology.terms import load_toml

_WORD = re.compile(r"[a-z]+(?:['’-][a-z]+)*|\d+")
_LENGTH = re.compile(r"\d\s?-?(?:mm|cm|millimet|centimet)", re.IGNORECASE)
_WHOLE_LENGTH = re.compile(r"\d{1,4}(?:[.,]\d{1,2})?\s?-?(?:mm|cm)\b")
_CLEAR = re.compile(
    r"\b(?:(?P<side>right|left|both)\s{1,3})?(?:lungs?|lung fields?)\s{1,3}"
    r"(?:(?:is|are|appears?|remains?|both|grossly)\s{1,3}){0,3}clear\b|\bclear lungs\b",
    re.IGNORECASE,
)
_EXCEPTION = re.compile(
    r"\b(?:otherwise|except|apart|aside|other than|remainder|rest|remaining|elsewhere|but|although"
    r"|bases?|apex|apices)\b",
    re.IGNORECASE,
)
# "No frobnitz": what is denied has no name here, which does no harm. "No change of the frobnitz" says
# that there is one.
_DENIAL = re.compile(r"(?:there (?:is|are|was|were) )?(?:no|negative for|without)\b(?!.{0,40}\bchange)")
# "Heart size cannot be assessed": nothing is stated.
_LIMIT = re.compile(r"\b(?:cannot|not|difficult to|hard to)\b.{0,40}\b(?:assess|evaluat|apprais|judged)")
ROUNDED = 0.6
"""Millimetres by which two lengths differ that are one, rounded."""
_OPENING_WORDS = 12
"""Words that the first sentence may have, where it only says why or how the examination was made."""
_HEADING_WORDS = 5
"""Words before a colon that are a heading."""
_EMPTY = frozenset(
    "a an and are as at be been by for from has have in is it its of on or the this to was were with".split()
)
"""Words by which two sentences are not compared."""


class OrdinaryWords(Record):
    """Words of sentences that state nothing and hide nothing."""

    normal: frozenset[str]
    """A place is as it should be."""
    unchanged: frozenset[str]
    """Something is as before."""
    denied: frozenset[str]
    """Something is denied."""
    examination: frozenset[str]
    """What was done."""
    harmless: frozenset[str]
    """Whatever else such a sentence may hold; any other word may say anything."""
    deniable: frozenset[str]
    """Harmless too, where something is denied."""
    person: frozenset[str]
    """Who was examined, where the sentence names no structure and none of `shows`."""
    advice: frozenset[str]
    """What is to be done, under the same condition."""
    structure: frozenset[str]
    """What everybody has."""
    shows: frozenset[str]
    """The sentence goes on to what is seen."""
    section: frozenset[str]
    """Headings under which nothing is found."""


@dataclass(frozen=True, slots=True)
class TextRead:
    """What was read of a text, and what was not."""

    statements: list[Statement]
    """Everything that it states."""
    sentences: int
    """How many sentences it has."""
    unread: list[frozenset[str]]
    """The telling words of each sentence that was not read."""
    clear: frozenset[str] = frozenset()
    """Sides of which it says that the lung is clear, without any exception."""
    sizes: tuple[float, ...] = ()
    """All lengths that it tells, in millimetres, smallest first."""
    loose_sizes: tuple[float, ...] = ()
    """Those of them that no statement has: "the aorta measures 54 mm"."""
    text: str = ""
    """The text itself."""
    spoken: Sequence[Sentence] = ()
    """Its sentences."""
    unread_at: Sequence[int] = ()
    """Where the sentences begin that were not read, as in `unread`."""

    @property
    def words(self) -> list[str]:
        """All words, in lower case."""
        return _WORD.findall(self.text.lower())


def read_statements(text: str) -> TextRead:
    """The statements of a text, with the sentences that were not read.

    >>> told = read_statements("No effusion. The ribs are regular. The frobnitz is elevated.")
    >>> len(told.statements), told.sentences, [sorted(words) for words in told.unread]
    (1, 3, [['elevated', 'frobnitz']])
    """
    known = vocabulary()
    found: list[Statement] = []
    unread: dict[int, frozenset[str]] = {}
    clear: set[str] = set()
    sentences = split_sentences(text)
    says_clear = "clear" in text.lower()
    for sentence in sentences:
        stated = sentence_statements(text, sentence, known)
        if says_clear:
            clear |= _clear_sides(text, sentence)
        if stated:
            found += stated
            continue
        said = sentence.extract(text).lower()
        words = frozenset(_WORD.findall(said))
        if not found and len(sentences) > 1 and is_opening(words, said):
            continue
        if not is_ordinary(words, said, sentence.section):
            # Lengths are compared as such.
            telling = frozenset(_WORD.findall(_WHOLE_LENGTH.sub("", said)))
            unread[sentence.start] = telling - _EMPTY or words
    sizes, loose = _find_lengths(text, found) if _LENGTH.search(text) else ((), ())
    return TextRead(
        found,
        len(sentences),
        list(unread.values()),
        frozenset(clear),
        sizes,
        loose,
        text,
        sentences,
        tuple(unread),
    )


def _find_lengths(text: str, found: list[Statement]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """All lengths of a text, and those that no statement took."""
    taken = {
        span.start
        for statement in found
        for name, span in statement.evidence.items()
        if name in ("size_mm", "above_carina_mm")
    }
    told = find_sizes(text)
    loose = (size.largest for size in told if size.span.start not in taken)
    return tuple(sorted(size.largest for size in told)), tuple(sorted(loose))


def differing_lengths(ours: TextRead, theirs: TextRead) -> int:
    """How many loose lengths of both texts have no counterpart anywhere in the other.

    One that only one text has is untold in the other, and no difference.

    >>> one = read_statements("The frobnitz measures 54 mm.")
    >>> others = [read_statements(f"Frobnitz: {told}.") for told in ("5.4 cm", "70 mm", "wide")]
    >>> [differing_lengths(one, other) for other in others]
    [0, 1, 0]
    """
    alone = [
        sum(not _has_length(length, other.sizes) for length in own.loose_sizes)
        for own, other in ((ours, theirs), (theirs, ours))
    ]
    return min(alone)


def rounded_lengths(ours: TextRead, theirs: TextRead) -> int:
    """How many lengths of both texts have only nearly the same one in the other: 12 and 13 mm.

    >>> one = read_statements("Nodule of 12 mm.")
    >>> [rounded_lengths(one, read_statements(f"{told} nodule.")) for told in ("1.2 cm", "13 mm", "Large")]
    [0, 1, 0]
    """
    alone = [
        sum(not any(abs(length - other) <= ROUNDED for other in others.sizes) for length in own.sizes)
        for own, others in ((ours, theirs), (theirs, ours))
    ]
    return min(alone)


def _has_length(length: float, sizes: Sequence[float]) -> bool:
    """Whether one of some ordered sizes is the same."""
    at = bisect_left(sizes, length)
    return any(same_size(length, size) for size in sizes[max(0, at - 1) : at + 1])


def _clear_sides(text: str, sentence: Sentence) -> set[str]:
    """Right and left, where "the lungs are clear" stands there; "otherwise clear" says less."""
    match = _CLEAR.search(text, sentence.start, sentence.end)
    if match is None or _EXCEPTION.search(text, sentence.start, sentence.end):
        return set()
    side = (match["side"] or "").lower()
    return {side} if side in ("right", "left") else {"right", "left"}


def is_ordinary(words: frozenset[str], said: str, section: str = "") -> bool:
    """Whether a sentence without a statement hides none either; `words` are those of what is `said`."""
    known = ordinary_words()
    signs, plain, denying = _word_sets()
    if section in known.section or not words:
        return True
    if said.endswith(":") and len(words) <= _HEADING_WORDS:
        return True
    if words <= (denying if words & known.denied else plain):
        return bool(words & signs)
    if (_DENIAL.match(said) or _LIMIT.search(said)) and not _EXCEPTION.search(said):
        return True
    if words & known.shows or words & known.structure:
        return False
    return bool(words & known.person or words & known.advice)


def is_opening(words: frozenset[str], said: str) -> bool:
    """Whether the first words of a report only say why or how the examination was made.

    They stand before every finding, name the examination or the person, and show nothing.

    >>> [is_opening(frozenset(told.split()), told) for told in ("gated ct of the aorta", "frobnitz of 3 cm")]
    [True, False]
    """
    known = ordinary_words()
    if words & known.shows or _LENGTH.search(said) or len(words) > _OPENING_WORDS:
        return False
    return bool(words & known.examination or (words & known.person and not words & known.structure))


@cache
def _word_sets() -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Words of which an ordinary sentence has at least one; all that it may have; where it denies."""
    known = ordinary_words()
    signs = known.normal | known.unchanged | known.denied | known.examination
    plain = signs | known.harmless | _EMPTY
    return signs, plain, plain | known.deniable


def unlike(
    ours: Sequence[frozenset[str]], theirs: Sequence[frozenset[str]], also: Iterable[str] = ()
) -> float:
    """How many unread sentences have no counterpart on the other side, each between 0 and 1.

    A sentence with the same telling words counts 0. Any other counts the share of its words that no
    unread sentence of the other side has, and at least a tenth: the same words in another order or
    one more "not" may turn its meaning round. `also` are words that the other side has elsewhere.

    >>> one, two = frozenset({"elevated", "frobnitz"}), frozenset({"raised", "frobnitz"})
    >>> unlike([one], [one]), unlike([one], [two]), unlike([one], [])
    (0.0, 0.5, 1.0)
    """
    left = list(theirs)
    same: dict[frozenset[str], int] = {}
    for words in left:
        same[words] = same.get(words, 0) + 1
    everything = frozenset(also).union(*left)
    total = 0.0
    for words in ours:
        if same.get(words, 0) > 0:
            same[words] -= 1
        else:
            total += max(0.1, len(words - everything) / len(words))
    return round(total, 6)


@cache
def ordinary_words() -> OrdinaryWords:
    """The words of `vocabulary/ordinary.toml`."""
    return load_toml("overread.language", "vocabulary", OrdinaryWords, "ordinary.toml")
