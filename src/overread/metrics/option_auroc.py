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

from overread.metrics.contract import Measured, Metric, Statistics, Subject, by_name, stored_as
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
    owner, scores, right = _options(sample.rows)
    if not len(scores):
        return out
    order = np.argsort(scores, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(scores[order]) != 0))
    step = max(1, _AT_ONCE // len(scores))
    for first in range(0, sample.draws, step):
        drawn = sample.weights[first : first + step][:, owner[order]]
        true = np.add.reduceat(drawn * right[order], starts, axis=1)
        false = np.add.reduceat(drawn * ~right[order], starts, axis=1)
        below = false.cumsum(axis=1) - false / 2
        pairs = true.sum(axis=1) * false.sum(axis=1)
        out[first : first + step] = safe_divide((true * below).sum(axis=1), pairs)
    return out


def _options(rows: Sequence[Statistics]) -> tuple[np.ndarray, Numbers, np.ndarray]:
    """Every option of every row: which row it is of, its probability, whether it is right."""
    told = [
        (n, chance, place == 0)
        for n, row in enumerate(rows)
        for place, chance in enumerate((row["right"], *row["wrong"]))
    ]
    owner, scores, right = ([one[part] for one in told] for part in range(3))
    return np.array(owner, np.intp), np.array(scores, np.float64), np.array(right, bool)


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
