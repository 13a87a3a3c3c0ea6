"""Whether two sentences may say the same thing in other words.

Not every wording is understood, and what was understood of one sentence may be missed in another that
means the same. Then the one seems to leave out what the other has. Two sentences that speak of the same
organ and the same kind of thing, and both say that something is there, are taken for one said twice: not
for a proof that they agree, only for a doubt that they do not. The words are in
`vocabulary/word_families.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache

from overread.core import Record
from overread.ontology.terms import load_toml

_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*\d{0,2}")
_STEM = 5
"""First letters by which words are compared that are in no family."""
_SHORTEST = 4
"""Letters of a word in no family that may tie two sentences together."""
_TIES = 2
"""Families that two sentences must share."""


class WordFamilies(Record):
    """Words of one meaning."""

    common: frozenset[str]
    """Words that tie no sentences together."""
    families: dict[str, frozenset[str]]
    """Family → its words; one with a star stands for all that begin like it."""


def may_be_same(one: frozenset[str], two: frozenset[str]) -> bool:
    """Whether what two sentences speak of is enough alike, by `topics`.

    >>> told = [topics(t) for t in ("Gaseous distension of the stomach", "The stomach contains more gas")]
    >>> may_be_same(*told), may_be_same(told[0], topics("The liver contains gas"))
    (True, False)
    """
    shared, least = len(one & two), min(len(one), len(two))
    return shared >= _TIES or (least == 1 and shared == 1)


@lru_cache(maxsize=50_000)
def topics(said: str) -> frozenset[str]:
    """What a sentence speaks of.

    >>> sorted(topics("The liver is mildly steatotic")), sorted(topics("Hepatic steatosis"))
    (['fat', 'liver'], ['fat', 'liver'])
    """
    return frozenset(filter(None, map(_topic, _WORD.findall(said.lower()))))


@lru_cache(maxsize=50_000)
def _topic(word: str) -> str:
    """The family of a word, or its first letters; nothing for a word that every report has."""
    common, families = _families()
    if _is_among(word, *common):
        return ""
    for name, (whole, beginnings) in families.items():
        if word in whole or word.startswith(beginnings):
            return name
    return word[:_STEM] if len(word) >= _SHORTEST else ""


def _is_among(word: str, whole: frozenset[str], beginnings: tuple[str, ...]) -> bool:
    return word in whole or word.startswith(beginnings)


@cache
def _families() -> tuple[
    tuple[frozenset[str], tuple[str, ...]], dict[str, tuple[frozenset[str], tuple[str, ...]]]
]:
    known = load_toml("overread.language", "vocabulary", WordFamilies, "word_families.toml")
    return _split(known.common), {name: _split(words) for name, words in known.families.items()}


def _split(words: Iterable[str]) -> tuple[frozenset[str], tuple[str, ...]]:
    """Whole words, and beginnings."""
    every = sorted(words)
    return (
        frozenset(word for word in every if not word.endswith("*")),
        tuple(word[:-1] for word in every if word.endswith("*")),
    )
