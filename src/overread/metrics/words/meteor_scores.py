"""METEOR of two texts: words that are equal, or have the same stem, and how scattered they stand.

Lavie and Agarwal, "Meteor: an automatic metric for MT evaluation with high levels of correlation
with human judgments", 2007, as nltk has it, without the last of its three stages: words that
WordNet calls synonyms do not match, since WordNet is a download of its own and names few terms of
radiology. METEOR 1.5, the Java program, has other constants and tables of paraphrases.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from overread.metrics.words.stems import stem
from overread.metrics.words.tokens import rouge_words
from overread.metrics.words.word_cache import WordCache

ALPHA, BETA, GAMMA = 0.9, 3.0, 0.5
"""How much recall outweighs precision; the shape and the weight of what scattered words cost."""

_stems = WordCache(stem)


def meteor(reference: str, written: str) -> float:
    """METEOR of two texts, from 0 to less than 1; words are runs of a-z and 0-9 in lower case.

    >>> round(meteor("Small left pleural effusion.", "A small effusion on the left."), 4)
    0.3571
    >>> meteor("Effusion.", "Effusion.")
    0.5
    """
    return meteor_of_words(rouge_words(reference, stemmed=False), rouge_words(written, stemmed=False))


def meteor_of_words(reference: Sequence[str], written: Sequence[str]) -> float:
    """METEOR of two texts that are cut into words of lower case already."""
    pairs = align(reference, written)
    if not pairs:
        return 0.0
    precision, recall = len(pairs) / len(written), len(pairs) / len(reference)
    mean = precision * recall / (ALPHA * precision + (1 - ALPHA) * recall)
    scattered = _count_chunks(pairs) / len(pairs)
    return float((1 - GAMMA * scattered**BETA) * mean)


def align(reference: Sequence[str], written: Sequence[str]) -> list[tuple[int, int]]:
    """(place in what was written, place in the reference) of words that match, in order.

    Equal words are paired first, then those left over by their stems; of several the last with the
    last, as in nltk.

    >>> align(["opacity", "left", "base"], ["left", "opacities"])
    [(0, 1), (1, 0)]
    """
    own, theirs = list(enumerate(written)), list(enumerate(reference))
    found, own, theirs = _pair_equal(own, theirs)
    own = [(place, _stems[word]) for place, word in own]
    theirs = [(place, _stems[word]) for place, word in theirs]
    return sorted(found + _pair_equal(own, theirs)[0])


_Words = list[tuple[int, str]]


def _pair_equal(own: _Words, theirs: _Words) -> tuple[list[tuple[int, int]], _Words, _Words]:
    """Pairs of equal words, the last with the last, and the words left over on both sides."""
    places: dict[str, list[int]] = {}
    for place, word in theirs:
        places.setdefault(word, []).append(place)
    pairs, left = [], []
    for place, word in reversed(own):
        free = places.get(word)
        if free:
            pairs.append((place, free.pop()))
        else:
            left.append((place, word))
    open_places = {place for free in places.values() for place in free}
    return pairs, left[::-1], [pair for pair in theirs if pair[0] in open_places]


def _count_chunks(pairs: Sequence[tuple[int, int]]) -> int:
    """How many runs of neighbouring words of both texts the pairs make."""
    follows = [(own + 1, theirs + 1) == after for (own, theirs), after in pairwise(pairs)]
    return 1 + follows.count(False)
