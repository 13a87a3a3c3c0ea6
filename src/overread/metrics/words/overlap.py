"""What two lists of words have in common: words, runs of words, and words in the same order.

The longest common subsequence is found with one bit a word (Hyyrö 2004): a row of the usual table
is one whole number of Python, and a step to the next row is three operations on it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple


class Overlap(NamedTuple):
    """What two texts have in common, and how long each is, counted in words."""

    words: int
    """Words of the reading."""
    truth_words: int
    """Words of the reference."""
    shared1: int
    """Words in common, each as often as both have it."""
    shared2: int
    """Pairs of neighbouring words in common."""
    in_order: int
    """Length of the longest common subsequence."""


def overlap(truth: Sequence[str], own: Sequence[str]) -> Overlap:
    """All that ROUGE-1, ROUGE-2 and ROUGE-L need of two texts, in one pass.

    >>> overlap("no pleural effusion is seen".split(), "no large pleural effusion".split())
    Overlap(words=4, truth_words=5, shared1=3, shared2=1, in_order=3)
    """
    places = _places(truth)
    free = places.copy()
    row = full = (1 << len(truth)) - 1
    before = shared1 = 0
    pairs: list[int] = []
    for word in own:
        if word not in places:
            before = 0
            continue
        place = places[word]
        met = row & place
        row = (row + met) | (row - met)
        # Where this word follows the one before. No two pairs share such a place, so the places
        # stand for the pair itself.
        pair = before << 1 & place
        if pair:
            pairs.append(pair)
        before = place
        rest = free[word]
        if rest:
            shared1 += 1
            free[word] = rest & (rest - 1)
    # Sums carry beyond the last word; what lies there is not asked for.
    in_order = len(truth) - (row & full).bit_count()
    return Overlap(len(own), len(truth), shared1, _clip_counts(pairs), in_order)


def shared_runs(truth: Sequence[str], own: Sequence[str], longest: int) -> list[int]:
    """How many runs of 1, 2, … neighbouring words two texts share, each as often as both have it.

    >>> shared_runs("no pleural effusion is seen".split(), "a pleural effusion is seen".split(), 4)
    [4, 3, 2, 1]
    """
    places = _places(truth)
    runs: list[list[int]] = [[] for _ in range(longest)]
    ends: list[int] = []
    for place in map(places.get, own):
        if not place:
            ends = []
            continue
        # Where the runs of 1, 2, … words up to this one end in the reference.
        shorter, ends = ends[: longest - 1], [place]
        runs[0].append(place)
        for end in shorter:
            end = end << 1 & place
            if not end:
                break
            runs[len(ends)].append(end)
            ends.append(end)
    return [_clip_counts(found) for found in runs]


def _clip_counts(found: list[int]) -> int:
    """How many of the runs that were found are in the reference as often as they were found."""
    if len(set(found)) == len(found):
        return len(found)
    return sum(min(often, places.bit_count()) for places, often in Counter(found).items())


def sentence_hits(truth: Sequence[Sequence[str]], own: Sequence[Sequence[str]]) -> int:
    """Words of the reference met when it is held, sentence by sentence, against every sentence.

    A word of a reference sentence is met where it lies on the longest common subsequence with any
    sentence of the reading; no word is met more often than either text has it.
    """
    left = Counter(word for sentence in own for word in sentence)
    hits = 0
    for sentence in truth:
        met = set[int]().union(*(_subsequence(sentence, other) for other in own))
        for index in sorted(met):
            word = sentence[index]
            if left[word] > 0:
                hits += 1
                left[word] -= 1
    return hits


def _places(words: Sequence[str]) -> dict[str, int]:
    """Word → a number with a bit set for every place where the word stands."""
    places: dict[str, int] = {}
    bit = 1
    for word in words:
        if word in places:
            places[word] |= bit
        else:
            places[word] = bit
        bit <<= 1
    return places


def _subsequence(truth: Sequence[str], own: Sequence[str]) -> list[int]:
    """Places, in `truth`, of that longest common subsequence which rouge-score takes.

    There may be several; walking back from the ends, it prefers to step back in `truth`.
    """
    places, full = _places(own), (1 << len(own)) - 1
    rows = [full]
    for place in (places.get(word, 0) for word in truth):
        met = rows[-1] & place
        rows.append(((rows[-1] + met) | (rows[-1] - met)) & full)
    found: list[int] = []
    i, j = len(truth), len(own)
    while i and j:
        if truth[i - 1] == own[j - 1]:
            i, j = i - 1, j - 1
            found.append(i)
            continue
        seen = (1 << j) - 1
        # The table's entry is the number of cleared bits below j: no difference to the row above
        # means that stepping back in `truth` loses nothing.
        if (rows[i] & seen).bit_count() == (rows[i - 1] & seen).bit_count():
            i -= 1
        else:
            j -= 1
    return found
