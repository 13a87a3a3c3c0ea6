"""BLEU of texts and of sets of them, equal to sacrebleu 2.6.0, and the BLEU-2 within RadCliQ.

Papineni et al., "BLEU: a method for automatic evaluation of machine translation", 2002.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from overread.errors import UsageError
from overread.metrics.words.overlap import shared_runs
from overread.metrics.words.tokens import Tokenizer, bleu_words, radcliq_words

Smoothing = Literal["exp", "floor", "add-k", "none"]
"""What an order without any match counts: halved each time, a small number, one more, nothing."""

_USUAL_VALUE = {"exp": 0.0, "floor": 0.1, "add-k": 1.0, "none": 0.0}
_LOG_OF_NOTHING = -9999999999
_EPSILON = 0.1
"""What an order without any match counts in RadCliQ's BLEU-2 (nltk's first method)."""


class BleuCounts(NamedTuple):
    """What is counted of one text, or added up over many; whole numbers unless weighted."""

    words: float
    """Words of the reading."""
    truth_words: float
    """Words of the reference; of several, that of the nearest length."""
    shared: tuple[float, ...]
    """Runs of 1, 2, … words that a reference has too."""
    runs: tuple[float, ...]
    """All runs of 1, 2, … words of the reading."""


class Bleu(NamedTuple):
    """BLEU and what it is made of."""

    score: float
    """From 0 to 100, as sacrebleu gives it."""
    precisions: tuple[float, ...]
    """Of 1, 2, … words, from 0 to 100, smoothed."""
    brevity: float
    """Factor below 1 where the readings are shorter than the references."""
    counts: BleuCounts
    """What it was made from."""


def bleu_counts(references: Sequence[Sequence[str]], own: Sequence[str], order: int = 4) -> BleuCounts:
    """Count one text against its references, all of them as words.

    >>> bleu_counts([["no", "effusion", "seen"]], ["no", "effusion"], order=2)
    BleuCounts(words=2, truth_words=3, shared=(2, 1), runs=(2, 1))
    """
    if not references:
        raise UsageError("BLEU needs at least one reference", remedy="leave out texts without one")
    nearest = min((len(words) for words in references), key=lambda n: (abs(n - len(own)), n))
    if len(references) == 1:
        shared = shared_runs(references[0], own, order)
    else:
        shared = [_shared_with_any(references, own, size) for size in range(1, order + 1)]
    runs = (max(0, len(own) - size) for size in range(order))
    return BleuCounts(len(own), nearest, tuple(shared), tuple(runs))


def _shared_with_any(references: Sequence[Sequence[str]], own: Sequence[str], size: int) -> int:
    """Runs of one length, each as often as the reading and some reference have it."""
    most: Counter[tuple[str, ...]] = Counter()
    for words in references:
        most |= _runs(words, size)
    return (_runs(own, size) & most).total()


def _runs(words: Sequence[str], size: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[first : first + size]) for first in range(len(words) - size + 1))


def add_counts(counts: Iterable[BleuCounts], order: int = 4) -> BleuCounts:
    """The counts of many texts as those of one."""
    rows = [(one.words, one.truth_words, *one.shared, *one.runs) for one in counts]
    total = [sum(column) for column in zip(*rows, strict=True)] or [0] * (2 + 2 * order)
    return BleuCounts(total[0], total[1], tuple(total[2 : 2 + order]), tuple(total[2 + order :]))


def bleu_of_counts(
    counts: BleuCounts,
    *,
    smoothing: Smoothing = "exp",
    smoothing_value: float | None = None,
    effective_order: bool = False,
) -> Bleu:
    """BLEU from what was counted; the order is that of the counts.

    `effective_order` leaves out the orders for which the reading is too short.

    >>> round(bleu_of_counts(BleuCounts(2, 3, (2, 1), (2, 1))).score, 2)
    60.65
    """
    if smoothing not in _USUAL_VALUE:
        raise UsageError(
            f"there is no smoothing {smoothing!r}", remedy=f"use one of {', '.join(_USUAL_VALUE)}"
        )
    value = _USUAL_VALUE[smoothing] if smoothing_value is None else smoothing_value
    words, truth_words = counts.words, counts.truth_words
    brevity = 1.0
    if words < truth_words:
        brevity = math.exp(1 - truth_words / words) if words else 0.0
    order = used = len(counts.runs)
    precisions = [0.0] * order
    if not any(counts.shared):
        return Bleu(0.0, tuple(precisions), brevity, counts)
    halved = 1.0
    for place, (shared, runs) in enumerate(zip(counts.shared, counts.runs, strict=True)):
        top, bottom = float(shared), float(runs)
        if smoothing == "add-k" and place:
            top, bottom = top + value, bottom + value
        if not bottom:
            break
        if effective_order:
            used = place + 1
        if top:
            precisions[place] = 100.0 * top / bottom
        elif smoothing == "exp":
            halved *= 2
            precisions[place] = 100.0 / (halved * bottom)
        elif smoothing == "floor":
            precisions[place] = 100.0 * value / bottom
    logs = [math.log(one) if one else _LOG_OF_NOTHING for one in precisions[:used]]
    return Bleu(brevity * math.exp(sum(logs) / used), tuple(precisions), brevity, counts)


def corpus_bleu(
    references: Sequence[str | Sequence[str]],
    candidates: Sequence[str],
    order: int = 4,
    *,
    tokenizer: Tokenizer = "13a",
    lowercase: bool = False,
    smoothing: Smoothing = "exp",
    smoothing_value: float | None = None,
    effective_order: bool = False,
) -> Bleu:
    """BLEU of a set of texts: what is counted is added up before anything is divided.

    `references` has one text, or several, for each candidate.

    >>> truth = ["Heart size is normal.", "No pleural effusion is seen."]
    >>> round(corpus_bleu(truth, ["Heart size normal.", "No pleural effusion."], 2).score, 2)
    56.12
    """
    counted: list[BleuCounts] = []
    for truth, own in zip(references, candidates, strict=True):
        texts = [truth] if isinstance(truth, str) else truth
        cut = [bleu_words(text, tokenizer, lowercase=lowercase) for text in (own, *texts)]
        counted.append(bleu_counts(cut[1:], cut[0], order))
    return bleu_of_counts(
        add_counts(counted, order),
        smoothing=smoothing,
        smoothing_value=smoothing_value,
        effective_order=effective_order,
    )


def sentence_bleu(
    reference: str | Sequence[str],
    candidate: str,
    order: int = 4,
    *,
    tokenizer: Tokenizer = "13a",
    lowercase: bool = False,
    smoothing: Smoothing = "exp",
    smoothing_value: float | None = None,
    effective_order: bool = True,
) -> Bleu:
    """BLEU of a single text; orders for which it is too short are left out unless told otherwise.

    >>> round(sentence_bleu("No pleural effusion.", "No effusion.").score, 2)
    45.14
    """
    return corpus_bleu(
        [reference],
        [candidate],
        order,
        tokenizer=tokenizer,
        lowercase=lowercase,
        smoothing=smoothing,
        smoothing_value=smoothing_value,
        effective_order=effective_order,
    )


def radcliq_bleu2(reference: str, candidate: str) -> float:
    """The BLEU-2 of one text that RadCliQ is made of, from 0 to 1.

    It equals nltk's `sentence_bleu` with weights (½, ½) and smoothing method 1 on `radcliq_words`.

    >>> round(radcliq_bleu2("No pleural effusion.", "No effusion."), 4)
    0.5067
    """
    words, truth = radcliq_words(candidate), radcliq_words(reference)
    shared = shared_runs(truth, words, 2)
    if not shared[0]:
        return 0.0
    brevity = 1.0 if len(words) > len(truth) else math.exp(1 - len(truth) / len(words))
    runs = (len(words), max(1, len(words) - 1))
    logs = (0.5 * math.log((hits or _EPSILON) / all_) for hits, all_ in zip(shared, runs, strict=True))
    return brevity * math.exp(math.fsum(logs))
