"""FROC: how much of what is there is found, at so many false marks a case.

Found things are ranked by how sure the reader is of them, over all cases. Each confidence that occurs
is an operating point: what is at least that sure counts, and the rest does not. Sensitivity is read
off at given numbers of false marks a case, on straight lines between operating points; beyond the last
one the curve stays where it is. The rates are those of LUNA16.

A row of a sample has 'truths' (how many things are there), 'found' [[confidence, hit], …], and 'cases',
the share that it has in a case: 1, or less where a case has several rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from overread.metrics.contract import Measured, Metric, Statistics, Subject
from overread.metrics.sample import Numbers, Sample, safe_divide

RATES = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""False marks a case at which sensitivity is read."""
_AT_ONCE = 4_000_000
"""Numbers that are held at once: draws are taken in blocks of this size."""


def froc_curves(rows: Sequence[Statistics], weights: Numbers) -> tuple[Numbers, Numbers]:
    """False marks a case, and sensitivity, from the surest mark on: one line a draw.

    Every curve begins with nothing marked. NaN where a draw has no case, or nothing to be found.

    >>> rows = [{"cases": 1, "truths": 2, "found": [[0.9, 1], [0.4, 0]]}]
    >>> [curve.tolist() for curve in froc_curves(rows, np.ones((1, 1)))]
    [[[0.0, 0.0, 1.0]], [[0.0, 0.5, 0.5]]]
    """
    marks = [(n, *mark) for n, row in enumerate(rows) for mark in row["found"]]
    sure = np.array([mark[1] for mark in marks], np.float64)
    levels, level = np.unique(-sure, return_inverse=True)
    # What each row adds at each level, so that the draws are one product.
    false, true = np.zeros((2, len(rows), len(levels) + 1))
    owner = np.array([mark[0] for mark in marks], np.intp)
    hit = np.array([mark[2] for mark in marks], np.float64)
    np.add.at(false, (owner, level + 1), 1 - hit)
    np.add.at(true, (owner, level + 1), hit)
    cases, truths = (
        weights @ np.array([row[name] for row in rows], np.float64) for name in ("cases", "truths")
    )
    return (
        safe_divide((weights @ false).cumsum(axis=1), cases[:, None]),
        safe_divide((weights @ true).cumsum(axis=1), truths[:, None]),
    )


def froc(sample: Sample, *, rates: Sequence[float] = RATES) -> Numbers:
    """The mean sensitivity at these numbers of false marks a case, for every draw.

    >>> rows = [{"cases": 1, "truths": 1, "found": [[0.9, 0], [0.8, 1]]}]
    >>> froc(Sample(rows), rates=[0.5]), froc(Sample(rows), rates=[2])
    (array([0.]), array([1.]))
    """
    out = np.full(sample.draws, np.nan)
    if not sample.rows:
        return out
    steps = 1 + sum(len(row["found"]) for row in sample.rows)
    block = max(1, _AT_ONCE // steps)
    for first in range(0, sample.draws, block):
        false, found = froc_curves(sample.rows, sample.weights[first : first + block])
        for n in range(len(false)):
            if np.isfinite(false[n, 0]) and np.isfinite(found[n, 0]):
                out[first + n] = float(np.mean(np.interp(rates, false[n], found[n])))
    return out


def froc_metrics(
    prefix: str,
    what: str,
    *,
    needs: tuple[str, ...],
    measure: Callable[[Subject], Measured],
    settings: Mapping[str, Any],
    **rest: Any,
) -> tuple[Metric, ...]:
    """The mean over all rates, and the sensitivity at each of them."""
    chosen = {
        f"{prefix}froc": (RATES, f"mean sensitivity for {what} at 1/8 to 8 false ones a case"),
        **{
            f"{prefix}froc_{rate:g}": ((rate,), f"sensitivity for {what} at {rate:g} false ones a case")
            for rate in RATES
        },
    }
    return tuple(
        Metric(
            name=name,
            about=about,
            better="higher",
            needs=needs,
            measure=measure,
            combine=partial(froc, rates=rates),
            best=1.0,
            worst=0.0,
            reference="MONAI compute_froc_curve_data and compute_froc_score",
            settings={
                **settings,
                "false_per_case": list(rates),
                "between": "straight lines",
                "equal confidences": "together",
                "found twice": "false",
            },
            **rest,
        )
        for name, (rates, about) in chosen.items()
    )
