"""ROUGE-N, ROUGE-L and ROUGE-Lsum, equal to rouge-score 0.1.2 to the last bit.

Lin, "ROUGE: a package for automatic evaluation of summaries", 2004.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from overread.errors import UnknownName
from overread.metrics.words.overlap import Overlap, overlap, sentence_hits, shared_runs
from overread.metrics.words.tokens import rouge_words

KINDS = ("rouge1", "rouge2", "rougeL")


class Rouge(NamedTuple):
    """Three numbers from 0 to 1."""

    precision: float
    """Share of the reading's words (or runs of words) that the reference has."""
    recall: float
    """Share of the reference's words (or runs of words) that the reading has."""
    fmeasure: float
    """Their harmonic mean; 0 where both are."""


def rouge(
    reference: str, candidate: str, kinds: Sequence[str] = KINDS, *, stemmed: bool = True
) -> dict[str, Rouge]:
    """ROUGE of one text against one reference: 'rouge1' to 'rouge9', 'rougeL', 'rougeLsum'.

    For rougeLsum each line is a sentence.

    >>> scores = rouge("Small left pleural effusion.", "There is a small pleural effusion.")
    >>> {kind: round(score.fmeasure, 3) for kind, score in scores.items()}
    {'rouge1': 0.6, 'rouge2': 0.25, 'rougeL': 0.6}
    """
    truth, own = rouge_words(reference, stemmed=stemmed), rouge_words(candidate, stemmed=stemmed)
    common = overlap(truth, own)
    scores: dict[str, Rouge] = {}
    for kind in kinds:
        if kind in KINDS:
            scores[kind] = rouge_from_overlap(common, kind)
        elif kind == "rougeLsum":
            lines = [
                [rouge_words(line, stemmed=stemmed) for line in text.split("\n") if line]
                for text in (reference, candidate)
            ]
            scores[kind] = _score(sentence_hits(*lines), len(truth), len(own))
        elif kind.startswith("rouge") and kind[5:] in tuple("3456789"):
            size = int(kind[5:])
            hits = shared_runs(truth, own, size)[-1]
            scores[kind] = _score(hits, len(truth) - size + 1, len(own) - size + 1)
        else:
            raise UnknownName(
                f"there is no ROUGE called {kind!r}",
                remedy="use 'rouge1' to 'rouge9', 'rougeL' or 'rougeLsum'",
            )
    return scores


def rouge_from_overlap(common: Overlap, kind: str) -> Rouge:
    """One of `KINDS`, from what the two texts have in common.

    >>> common = Overlap(words=4, truth_words=5, shared1=3, shared2=1, in_order=3)
    >>> rouge_from_overlap(common, "rougeL")
    Rouge(precision=0.75, recall=0.6, fmeasure=0.6666666666666665)
    """
    words, truth_words, shared1, shared2, in_order = common
    if kind == "rouge2":
        return _score(shared2, truth_words - 1, words - 1)
    return _score(in_order if kind == "rougeL" else shared1, truth_words, words)


def _score(hits: int, truth: int, own: int) -> Rouge:
    if not hits:
        return Rouge(0.0, 0.0, 0.0)
    precision, recall = hits / own, hits / truth
    return Rouge(precision, recall, 2 * precision * recall / (precision + recall))
