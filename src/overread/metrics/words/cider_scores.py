"""CIDEr-D of a set of texts, as pycocoevalcap computes it.

Vedantam, Zitnick, Parikh, "CIDEr: consensus-based image description evaluation", 2015. Runs of one
to four words are weighted by how rare they are among the references of the set that is scored;
candidate and reference are compared by the cosine of those weights, clipped where the candidate
repeats itself, and damped where the lengths differ.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from overread.errors import UsageError
from overread.metrics.words.tokens import bleu_words

Numbers = NDArray[np.float64]
Ids = NDArray[np.int64]

ORDER = 4
SIGMA = 6.0
"""By how many words lengths may differ before it costs much."""


def cider_words(text: str) -> list[str]:
    """Words in lower case without punctuation: sacrebleu's 13a, of which only words are kept.

    >>> cider_words("Nodule (3.5 mm), stable.")
    ['nodule', '3.5', 'mm', 'stable']
    """
    return keep_words(bleu_words(text))


def keep_words(words: Sequence[str]) -> list[str]:
    """Those of the words that have a letter or a digit, in lower case."""
    return [word.lower() for word in words if word.isalnum() or any(map(str.isalnum, word))]


def cider(references: Sequence[str | Sequence[str]], candidates: Sequence[str]) -> Numbers:
    """CIDEr-D of each text of a set, from 0 to 10; the set's is the mean.

    `references` has one text, or several, for each candidate.

    >>> truth = ["small left effusion today", "normal heart size today"]
    >>> cider(truth, ["small left effusion today", "normal heart"]).round(2)
    array([10. ,  3.3])
    """
    several = [[truth] if isinstance(truth, str) else truth for truth in references]
    words = [[cider_words(text) for text in texts] for texts in several]
    return cider_of_words(words, [cider_words(text) for text in candidates])


def cider_of_words(
    references: Sequence[Sequence[Sequence[str]]],
    candidates: Sequence[Sequence[str]],
    *,
    order: int = ORDER,
    sigma: float = SIGMA,
) -> Numbers:
    """CIDEr-D of each text of a set that is already cut into words.

    >>> cider_of_words([[["no", "effusion"]], [["no", "mass"]]], [["no", "mass"], []]).tolist()
    [0.0, 0.0]
    """
    if len(references) != len(candidates) or not all(references):
        raise UsageError(
            f"{len(references)} sets of references for {len(candidates)} texts, or a set is empty",
            remedy="give at least one reference for each text",
        )
    truths = [words for texts in references for words in texts]
    owners = np.repeat(np.arange(len(references)), [len(texts) for texts in references])
    numbers: dict[str, int] = {}
    ids = [numbers.setdefault(word, len(numbers)) for words in (*candidates, *truths) for word in words]
    lengths = [len(words) for words in (*candidates, *truths)]
    return cider_of_ids(np.array(ids, dtype=np.int64), np.array(lengths), owners, order=order, sigma=sigma)


def cider_of_ids(ids: Ids, lengths: Ids, owners: Ids, *, order: int = ORDER, sigma: float = SIGMA) -> Numbers:
    """CIDEr-D of each candidate, from all texts as one row of word numbers.

    First stand the candidates, then the references; `lengths` says where each ends, and `owners`
    to which candidate each reference belongs, in rising order.
    """
    cases = len(lengths) - len(owners)
    if not cases:
        return np.zeros(0)
    apart = (lengths[owners] - lengths[cases:]).astype(np.float64)
    damping = np.exp(-(apart**2) / (2 * sigma**2))
    sums = np.zeros(len(owners))
    text = np.repeat(np.arange(len(lengths)), lengths)
    runs, starts = ids.copy(), np.arange(len(ids))
    for size in range(1, order + 1):
        if size > 1:
            # A run is the run that is one word shorter, and the word behind it, in the same text.
            inside = starts + size - 1 < len(ids)
            inside[inside] = text[starts[inside]] == text[starts[inside] + size - 1]
            starts, runs = starts[inside], runs[inside]
            runs = runs * (ids.max(initial=0) + 1) + ids[starts + size - 1]
        if not len(runs):
            break
        # Texts stand in their order, so a stable sort by run sorts by run and text.
        sorting = np.argsort(runs, kind="stable")
        numbers = np.cumsum(_changes(runs[sorting])) - 1
        runs[sorting] = numbers
        sums += damping * _cosines(numbers, text[starts][sorting], owners, cases)
    scores = np.bincount(owners, sums, minlength=cases) / np.bincount(owners, minlength=cases)
    return np.asarray(10.0 * scores / order, dtype=np.float64)


def _changes(*columns: Ids) -> NDArray[np.bool_]:
    """Whether a row differs from the row before it; the first one does."""
    differs = np.zeros(len(columns[0]), dtype=np.bool_)
    differs[:1] = True
    for column in columns:
        differs[1:] |= column[1:] != column[:-1]
    return differs


def _cosines(run: Ids, text: Ids, owners: Ids, cases: int) -> Numbers:
    """For each reference, the clipped cosine with its candidate, for runs of one length.

    `run` and `text` have a row for each run of each text, sorted by run and then by text.
    """
    firsts = np.flatnonzero(_changes(run, text))
    counts = np.diff(np.append(firsts, len(run)))
    run, text = run[firsts], text[firsts]
    theirs = text >= cases
    truth, their_run = text[theirs] - cases, run[theirs]
    owner = owners[truth]
    documents = their_run[_changes(their_run, owner)]
    frequency = np.bincount(documents, minlength=int(run[-1]) + 1)
    weight = counts * (np.log(cases) - np.log(np.maximum(frequency, 1)))[run]
    norm = np.sqrt(np.bincount(text, weight**2, minlength=cases + len(owners)))

    own, wanted = run[~theirs] * cases + text[~theirs], their_run * cases + owner
    own_weight, their_weight = weight[~theirs], weight[theirs]
    at = np.searchsorted(own, wanted)
    met = at < len(own)
    met[met] = own[at[met]] == wanted[met]
    clipped = np.minimum(own_weight[at[met]], their_weight[met]) * their_weight[met]
    top = np.bincount(truth[met], clipped, minlength=len(owners))
    bottom = norm[owners] * norm[cases:]
    cosines: Numbers = np.divide(top, bottom, out=np.zeros(len(owners)), where=bottom > 0)
    return cosines
