"""AUROC of options: does a right option get a higher probability than a wrong one?

Letters mean nothing from case to case, so there is no class "A" to be told from the rest. What can be told
apart is right from wrong: all right options of all cases are the positives, all wrong options of all cases
the negatives, each with the probability that the reader gave it. The area is the chance that a right
option, drawn from any case, has a higher probability than a wrong one, drawn from any case.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from overread.metrics.contract import Measured, Metric, Statistics, Subject, by_name, stored_as
from overread.metrics.rows import as_rows
from overread.metrics.sample import Numbers, Sample, safe_divide

_AT_ONCE = 4_000_000
"""Numbers that are held at once: draws are taken in blocks of this size."""


@stored_as("option_auroc.measure_option_probabilities")
def measure_option_probabilities(subject: Subject) -> Measured:
    """One row a case: the probability of the right option, and those of the wrong ones.

    A case without probabilities is taken as sure and wrong: 0 for the right option, 1 for the others.
    """
    truth, options = subject.entry.truth, subject.entry.case.options
    letters = [option.letter for option in options]
    if truth is None or truth.answer not in letters:
        return {}
    reading = subject.usable_reading
    told = reading.probabilities if reading else None
    total = sum(told.values()) if told else 0.0
    if not told or not math.isfinite(total) or total <= 0:
        chances = {letter: float(letter != truth.answer) for letter in letters}
    else:
        chances = {letter: told.get(letter, 0.0) / total for letter in letters}
    wrong = [chances[letter] for letter in letters if letter != truth.answer]
    return {"": {"asked": 1, "right": chances[truth.answer], "wrong": wrong}}


def option_auroc(sample: Sample) -> Numbers:
    """The area for each draw; NaN where a draw has no right or no wrong option.

    >>> rows = [{"right": 0.6, "wrong": [0.3, 0.1]}, {"right": 0.2, "wrong": [0.7, 0.1]}]
    >>> option_auroc(Sample(rows))
    array([0.625])
    """
    out = np.full(sample.draws, np.nan)
    owner, wrong = sample.compute(_wrong_options)
    if not len(wrong):
        return out
    right = sample.column("right")
    # How many wrong options lie below each right one, and how many do not lie above it.
    below, up_to = (np.searchsorted(wrong, right, side=side) for side in ("left", "right"))
    step = max(1, _AT_ONCE // len(wrong))
    for first in range(0, sample.draws, step):
        drawn = sample.weights[first : first + step]
        passed = np.zeros((len(drawn), len(wrong) + 1))
        np.cumsum(drawn[:, owner], axis=1, out=passed[:, 1:])
        won = (drawn * (passed[:, below] + passed[:, up_to])).sum(axis=1) / 2
        out[first : first + step] = safe_divide(won, drawn.sum(axis=1) * passed[:, -1])
    return out


def _wrong_options(rows: Sequence[Statistics]) -> tuple[NDArray[np.intp], Numbers]:
    """The probabilities of all wrong options, the lowest first, and which row each is of."""
    counts, chances = as_rows(rows).lists("wrong")
    owner = np.repeat(np.arange(len(rows)), counts)
    order = np.argsort(chances, kind="stable")
    return owner[order], chances[order]


AUROC = Metric(
    name="auroc",
    about="chance that a right option has a higher probability than a wrong one, over all cases",
    better="higher",
    needs=("probabilities",),
    measure=measure_option_probabilities,
    combine=option_auroc,
    best=1.0,
    worst=0.0,
    reference="scikit-learn roc_auc_score",
    settings={
        "positives": "right options",
        "negatives": "wrong options",
        "pairs": "of all cases with all",
        "equal": 0.5,
        "missing": "sure and wrong",
    },
)

METRICS = by_name(AUROC)
