"""Which sentences of a text were not read: they state something that the vocabulary has no word for.

A sentence is read where it holds a statement. One that holds none may still be ordinary: it calls a
place normal, denies something, names the examination or the person. Only what is left was not read.
The words are in `vocabulary/ordinary.toml`. A sentence of which only a half was understood counts as
read, so the number is a lower bound.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from overread.core import Record
from overread.language.statements import Statement, sentence_statements
from overread.language.text import Sentence, split_sentences
from overread.language.vocabulary import vocabulary
from overread.ontology.terms import load_toml

_WORD = re.compile(r"[a-z]+(?:['’-][a-z]+)*|\d+")
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
_EMPTY = frozenset(
    "a an and are as at be been by for from has have in is it its of on or the this to was were with".split()
)
"""Words by which two sentences are not compared."""


class OrdinaryWords(Record):
    """Words of sentences that state nothing and hide nothing."""

    normal: frozenset[str]
    """A place is as it should be."""
    denial: frozenset[str]
    """Something is denied."""
    unchanged: frozenset[str]
    """Something is as before: ordinary only of a `structure` or of `everything`."""
    structure: frozenset[str]
    """What everybody has."""
    everything: frozenset[str]
    """The whole of what was examined."""
    examination: frozenset[str]
    """What was done, where the sentence names no structure and none of `shows`."""
    person: frozenset[str]
    """Who was examined, under the same condition."""
    advice: frozenset[str]
    """What is to be done."""
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


def read_statements(text: str) -> TextRead:
    """The statements of a text, with the sentences that were not read.

    >>> told = read_statements("No effusion. The lungs are clear. The frobnitz is elevated.")
    >>> len(told.statements), told.sentences, [sorted(words) for words in told.unread]
    (1, 3, [['elevated', 'frobnitz']])
    """
    known = vocabulary()
    found: list[Statement] = []
    unread: list[frozenset[str]] = []
    clear: set[str] = set()
    sentences = split_sentences(text)
    for sentence in sentences:
        stated = sentence_statements(text, sentence, known)
        clear |= _clear_sides(text, sentence)
        if stated:
            found += stated
            continue
        words = frozenset(_WORD.findall(sentence.extract(text).lower()))
        if not is_ordinary(words, sentence):
            unread.append(words - _EMPTY or words)
    return TextRead(found, len(sentences), unread, frozenset(clear))


def _clear_sides(text: str, sentence: Sentence) -> set[str]:
    """Right and left, where "the lungs are clear" stands there; "otherwise clear" says less."""
    match = _CLEAR.search(text, sentence.start, sentence.end)
    if match is None or _EXCEPTION.search(text, sentence.start, sentence.end):
        return set()
    side = (match["side"] or "").lower()
    return {side} if side in ("right", "left") else {"right", "left"}


def is_ordinary(words: frozenset[str], sentence: Sentence) -> bool:
    """Whether a sentence without a statement hides none either."""
    known = ordinary_words()
    if sentence.section in known.section or not words:
        return True
    if words & known.normal or words & known.denial:
        return True
    if words & known.unchanged and words & (known.structure | known.everything):
        return True
    about = known.examination | known.person | known.advice
    return bool(words & about) and not words & (known.shows | known.structure)


def unlike(ours: Sequence[frozenset[str]], theirs: Sequence[frozenset[str]]) -> float:
    """How many unread sentences have no counterpart on the other side, each between 0 and 1.

    A sentence with the same telling words counts 0. Any other counts the share of its words that no
    unread sentence of the other side has, and at least a tenth: the same words in another order or
    one more "not" may turn its meaning round.

    >>> one, two = frozenset({"elevated", "frobnitz"}), frozenset({"raised", "frobnitz"})
    >>> unlike([one], [one]), unlike([one], [two]), unlike([one], [])
    (0.0, 0.5, 1.0)
    """
    left = list(theirs)
    same: dict[frozenset[str], int] = {}
    for words in left:
        same[words] = same.get(words, 0) + 1
    everything = frozenset().union(*left)
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
