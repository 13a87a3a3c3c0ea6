"""What is kept of a pair of texts, and how the counts of many make a number.

All metrics of one part of a reading share one `measure`, so a text is cut into words once. What is
kept are counts, from which every ROUGE and BLEU follows, and for CIDEr-D the words themselves,
since it weighs them by how rare they are in the set that is scored, which no single case knows.
They are kept as eight signs a word, which say whether two words are equal and do not spell out the
truth (they hide it from a glance, not from somebody with a dictionary).
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Literal

import numpy as np

from overread.metrics.contract import Measured, Statistics, Subject, stored_as
from overread.metrics.sample import Numbers, Sample, safe_divide
from overread.metrics.texts import Part, text_pairs
from overread.metrics.words.bleu_scores import BleuCounts, Smoothing, bleu_counts, bleu_of_counts
from overread.metrics.words.cider_scores import cider_of_ids, keep_words
from overread.metrics.words.meteor_scores import BETA, GAMMA, meteor
from overread.metrics.words.overlap import overlap
from overread.metrics.words.tokens import Tokenizer, bleu_words, rouge_words
from overread.metrics.words.word_cache import WordCache

Average = Literal["units", "cases"]
"""Every report or picture counts the same, or every case does, whatever its number of pictures."""
RougeScore = Literal["fmeasure", "precision", "recall"]

_ORDER = 4
_HASH_LENGTH = 8


@dataclass(frozen=True)
class Cutting:
    """How the texts of one part of a reading become words."""

    part: Part
    stemmed: bool = True
    tokenizer: Tokenizer = "13a"
    lowercase: bool = False


# ---- what is kept of a pair of texts -------------------------------------------------------


@stored_as("words.counting.measure_words")
def measure_words(subject: Subject, cutting: Cutting) -> Measured:
    """Counts of each pair of texts of a case.

    A reference without a single Latin letter or digit leaves nothing to judge.
    """
    measured: dict[str, dict[str, Any]] = {}
    for unit, reference, written in text_pairs(subject, cutting.part):
        row = _count_pair(reference, written, cutting)
        if row["rouge_truth_words"]:
            measured[unit] = row
    return {unit: row | {"units": len(measured)} for unit, row in measured.items()}


def _count_pair(reference: str, written: str, cutting: Cutting) -> dict[str, Any]:
    cut = [rouge_words(text, stemmed=cutting.stemmed) for text in (reference, written)]
    row: dict[str, Any] = {f"rouge_{k}": v for k, v in overlap(*cut)._asdict().items()}
    row["meteor"] = meteor(reference, written)
    truth, own = (
        bleu_words(text, cutting.tokenizer, lowercase=cutting.lowercase) for text in (reference, written)
    )
    counts = bleu_counts([truth], own, _ORDER)
    row |= {"bleu_words": counts.words, "bleu_truth_words": counts.truth_words}
    row |= {f"bleu_shared{size}": hits for size, hits in enumerate(counts.shared, 1)}
    if cutting.tokenizer != "13a":
        truth, own = bleu_words(reference), bleu_words(written)
    row["cider_words"] = _hash_words(keep_words(own))
    row["cider_truth_words"] = _hash_words(keep_words(truth))
    return row


def _hash_word(word: str) -> str:
    digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=6).digest()
    return base64.b64encode(digest).decode("ascii")


_word_hashes = WordCache(_hash_word)


def _hash_words(words: Iterable[str]) -> str:
    return "".join(map(_word_hashes.__getitem__, words))


@cache
def make_measure(cutting: Cutting) -> partial[Measured]:
    """The one `measure` of all metrics that cut the texts of a part alike."""
    return partial(measure_words, cutting=cutting)


# ---- how many make a number ----------------------------------------------------------------


def combine_rouge(
    sample: Sample, *, kind: str, score: RougeScore = "fmeasure", average: Average = "units"
) -> Numbers:
    """The mean of one ROUGE score, one number a draw.

    >>> row = {"rouge_words": 4, "rouge_truth_words": 5, "rouge_in_order": 3, "units": 1}
    >>> combine_rouge(Sample([row]), kind="rougeL")
    array([0.66666667])
    """
    column = {"rouge1": "rouge_shared1", "rouge2": "rouge_shared2", "rougeL": "rouge_in_order"}
    hits = sample.column(column[kind])
    fewer = 1 if kind == "rouge2" else 0
    precision = hits / np.maximum(sample.column("rouge_words") - fewer, 1)
    recall = hits / np.maximum(sample.column("rouge_truth_words") - fewer, 1)
    if score != "fmeasure":
        return _mean(sample, precision if score == "precision" else recall, average)
    both = precision + recall
    values = np.divide(2 * precision * recall, both, out=np.zeros(len(hits)), where=both > 0)
    return _mean(sample, values, average)


def combine_rouge2_ceiling(sample: Sample, *, average: Average = "units") -> Numbers:
    """ROUGE-2 of the references against themselves: 0 for those of one word, else 1."""
    words = sample.column("rouge_truth_words")
    return _mean(sample, np.where(words > 1, 1.0, 0.0), average)


def combine_meteor(sample: Sample, *, average: Average = "units", perfect: bool = False) -> Numbers:
    """The mean METEOR, one number a draw; `perfect` holds the references to themselves.

    >>> rows = [{"meteor": 0.25, "rouge_truth_words": 2}, {"meteor": 0.75, "rouge_truth_words": 1}]
    >>> combine_meteor(Sample(rows)), combine_meteor(Sample(rows), perfect=True)
    (array([0.5]), array([0.71875]))
    """
    if not perfect:
        return _mean(sample, sample.column("meteor"), average)
    words = np.maximum(sample.column("rouge_truth_words"), 1)  # a text is one run against itself
    return _mean(sample, 1 - GAMMA / words**BETA, average)


def combine_bleu(sample: Sample, *, order: int, smoothing: Smoothing = "exp") -> Numbers:
    """Corpus BLEU from 0 to 1, one number a draw; NaN where no reference has so many words."""
    own, truth = sample.column("bleu_words"), sample.column("bleu_truth_words")
    sizes = range(order)
    totals = np.stack(
        [
            sample.total("bleu_words"),
            sample.total("bleu_truth_words"),
            *(sample.total(f"bleu_shared{size + 1}") for size in sizes),
            *(sample.weights @ np.maximum(own - size, 0) for size in sizes),
        ],
        axis=1,
    )
    asked = sample.weights @ np.maximum(truth - (order - 1), 0)
    values = np.full(sample.draws, np.nan)
    for draw in np.flatnonzero(asked).tolist():
        words, truth_words, *rest = totals[draw].tolist()
        counts = BleuCounts(words, truth_words, tuple(rest[:order]), tuple(rest[order:]))
        # The exponential of a logarithm can be a hair above 100.
        values[draw] = min(bleu_of_counts(counts, smoothing=smoothing).score, 100.0) / 100
    return values


def combine_cider(sample: Sample, *, average: Average = "units", perfect: bool = False) -> Numbers:
    """CIDEr-D from 0 to 10, one number a draw; `perfect` holds the references to themselves.

    How rare a run of words is comes from all rows of the sample, drawn or not, so that draws differ
    by who is drawn and not by what the words weigh.
    """
    return _mean(sample, sample.relative_values(_perfect_cider if perfect else _cider), average)


def _cider(rows: Sequence[Statistics]) -> Numbers:
    pairs = [(row["cider_words"], row["cider_truth_words"]) for row in rows]
    return _cider_values([own for own, _ in pairs], [truth for _, truth in pairs])


def _perfect_cider(rows: Sequence[Statistics]) -> Numbers:
    truths = [row["cider_truth_words"] for row in rows]
    return _cider_values(truths, truths)


def _cider_values(own: Sequence[str], truths: Sequence[str]) -> Numbers:
    """The CIDEr-D of each text, words given as hashes of eight letters."""
    texts = [*own, *truths]
    words = np.frombuffer("".join(texts).encode("ascii"), dtype=np.uint64)  # eight bytes, one word
    ids = np.unique(words, return_inverse=True)[1].reshape(-1).astype(np.int64)
    lengths = np.array([len(text) // _HASH_LENGTH for text in texts], dtype=np.int64)
    values: Numbers = cider_of_ids(ids, lengths, np.arange(len(truths)))
    return values


def _mean(sample: Sample, values: Numbers, average: Average) -> Numbers:
    counted = np.ones(len(values)) if average == "units" else 1 / sample.column("units")
    return safe_divide(sample.weights @ (values * counted), sample.weights @ counted)
