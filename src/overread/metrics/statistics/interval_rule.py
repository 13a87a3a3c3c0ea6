"""Which interval a number gets, by what it is and by how many patients it rests on.

Shares get Wilson's interval with an effective number of units, means and other numbers one from a
jackknife over patients with Student's t, both kept within the range of the metric. Under five patients
there is none. `tools/measure/coverage.py` measures how often these intervals hold the truth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from overread.metrics.contract import Metric
from overread.metrics.sample import Numbers
from overread.metrics.statistics.quantiles import gamma_quantile, student_quantile

RuleMethod: TypeAlias = Literal["wilson", "score-t", "cluster-t", "paired-t", "none"]
"""What the rule chose: see `docs/grading.md`."""

FEWEST = 5
"""Clusters under which no interval is given: even Student's t is then mostly about the t."""
MANY = 200
"""Clusters from which on a number that is no ratio of totals is drawn rather than jackknifed."""
RARE = 3.5
"""Units right (or wrong) below which Wilson's end is moved outwards: three, whatever the last bit says."""
_HAIR = 1e-12


@dataclass(frozen=True)
class Bounds:
    """Between what a number lies, whatever the sample."""

    low: float = -math.inf
    high: float = math.inf

    @property
    def within_unit(self) -> bool:
        """Whether it is a number from 0 to 1."""
        return self.low == 0.0 and self.high == 1.0


UNBOUNDED = Bounds()


@dataclass(frozen=True)
class Ends:
    """An interval, and how it was made; without ends the note says why."""

    low: float | None
    high: float | None
    method: RuleMethod
    note: str = ""


def metric_bounds(metric: Metric) -> Bounds:
    """The bounds of a metric: its best and worst value, where it has them.

    >>> from overread.metrics.choice import ACCURACY
    >>> metric_bounds(ACCURACY)
    Bounds(low=0.0, high=1.0)
    """
    low, high = (metric.worst, metric.best) if metric.better == "higher" else (metric.best, metric.worst)
    return Bounds(-math.inf if math.isnan(low) else low, math.inf if math.isnan(high) else high)


def few_note(clusters: int, word: str = "patients") -> str:
    """Why there is no interval where clusters are few.

    >>> few_note(1), few_note(4, "cases")
    ('only 1 patient: no interval under 5', 'only 4 cases: no interval under 5')
    """
    return f"only {clusters} {word[:-1] if clusters == 1 else word}: no interval under {FEWEST}"


def t_quantile(clusters: int, level: float) -> float:
    """Student's t for a two-sided interval, with one degree of freedom less than clusters.

    >>> round(t_quantile(10, 0.95), 3)
    2.262
    """
    return student_quantile(clusters - 1, level)


def is_counts(top: Numbers, bottom: Numbers) -> bool:
    """Whether the statistics of rows count units: whole numbers, no more above than below."""
    return bool(
        len(top)
        and (bottom >= 0).all()
        and (top >= 0).all()
        and (top <= bottom).all()
        and (top == np.rint(top)).all()
        and (bottom == np.rint(bottom)).all()
    )


def cluster_totals(codes: NDArray[np.int64], values: Numbers, clusters: int = 0) -> Numbers:
    """The sum of the values of each cluster; `codes` says whose each is.

    >>> cluster_totals(np.array([0, 2, 0]), np.array([0.5, 1.0, 0.25]))
    array([0.75, 0.  , 1.  ])
    """
    totals: Numbers = np.bincount(codes, weights=values, minlength=clusters).astype(np.float64)
    return totals


def leave_one_out_ratios(top: Numbers, bottom: Numbers) -> Numbers:
    """One total over another without each cluster in turn; `top` and `bottom` are their totals.

    >>> leave_one_out_ratios(np.array([1.0, 0, 1]), np.array([1.0, 1, 2]))
    array([0.33333333, 0.66666667, 0.5       ])
    """
    below = bottom.sum() - bottom
    out = np.full(len(top), np.nan)
    np.divide(top.sum() - top, below, out=out, where=below > 0)
    return out


def jackknife_variance(left_out: Numbers) -> float:
    """The variance of a number, from what it is without each cluster; NaN where that is unknown."""
    known = left_out[np.isfinite(left_out)]
    if len(known) < 2:
        return math.nan
    return float((len(known) - 1) / len(known) * ((known - known.mean()) ** 2).sum())


def share_interval(
    top: Numbers, bottom: Numbers, *, level: float, word: str = "patients", fewest: int = FEWEST
) -> Ends:
    """The interval of a share of units, from the units right and asked of each cluster.

    Wilson's, with Student's t in place of the normal quantile and as many units as independent ones
    would tell as much: n over the design effect, by a jackknife over clusters and never more than n.
    Where all units are right, or all wrong, nothing is known of the design effect, and each cluster
    counts as one unit. Where at most three units are right (or wrong) the end on their side is that of
    a Poisson count, as in Brown, Cai and DasGupta (2001): Wilson's own fails there.

    >>> found = share_interval(np.ones(10), np.ones(10), level=0.95)
    >>> round(found.low, 3), found.high
    (0.661, 1.0)
    """
    there = bottom > 0
    top, bottom = top[there], bottom[there]
    clusters = len(top)
    if clusters < fewest:
        return Ends(None, None, "none", few_note(clusters, word))
    units = float(bottom.sum())
    share = float(top.sum()) / units
    worth = float(clusters)
    if 0 < share < 1:
        variance = jackknife_variance(leave_one_out_ratios(top, bottom))
        # As many as give this variance; clusters of one unit each are worth their number.
        alone = share * (1 - share) / (units - 1)
        worth = units * min(1.0, alone / variance) if variance > 0 else units
    low, high = wilson(share, worth, t_quantile(clusters, level), 1 - level)
    return Ends(low, high, "wilson")


def wilson(share: float, n: float, quantile: float, alpha: float) -> tuple[float, float]:
    """Wilson's interval of a share of n units (not always a whole number), its ends repaired.

    With the normal quantile and more than three units right and wrong it is the textbook's.

    >>> [round(end, 4) for end in wilson(0.5, 20, 1.959964, 0.05)]
    [0.2993, 0.7007]
    """
    square = quantile**2
    middle = (share + square / (2 * n)) / (1 + square / n)
    half = quantile / (1 + square / n) * math.sqrt(share * (1 - share) / n + square / (4 * n * n))
    low, high = middle - half, middle + half
    right, wrong = n * share, n * (1 - share)
    if share <= _HAIR:
        low = 0.0
    elif right <= RARE:
        low = min(low, gamma_quantile(right, alpha) / n)
    if share >= 1 - _HAIR:
        high = 1.0
    elif wrong <= RARE:
        high = max(high, 1 - gamma_quantile(wrong, alpha) / n)
    return max(0.0, min(low, share)), min(1.0, max(high, share))


def jackknife_interval(
    value: float,
    left_out: Numbers,
    bounds: Bounds,
    *,
    level: float,
    word: str = "patients",
    fewest: int = FEWEST,
) -> Ends:
    """The interval of any number, from what it is without each cluster.

    Between two finite bounds it is Wilson's form with the jackknife's variance: the variance is taken
    to shrink towards the bounds, as it must. From 0 to 1 one further cluster of which nothing is known
    is reckoned with, since a failure that has not been seen yet has no variance. With a lower bound
    alone the variance is taken to grow with the number, and the further cluster to vary as much as the
    number is large; without any bound it is Student's.

    >>> spread = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    >>> found = jackknife_interval(0.75, leave_one_out_ratios(spread, np.ones(6)), Bounds(), level=0.95)
    >>> round(found.low, 3), round(found.high, 3)  # scipy.stats.ttest_1samp(...).confidence_interval()
    (0.554, 0.946)
    """
    known = left_out[np.isfinite(left_out)]
    clusters = len(known)
    if clusters < fewest:
        return _no_ends(len(left_out), word)
    variance = jackknife_variance(known)
    # What the order of additions leaves is no spread.
    if variance <= (1e-12 * max(1.0, abs(value))) ** 2:
        variance = 0.0
    quantile = t_quantile(clusters, level)
    inside = bounds.low <= value <= bounds.high
    if inside and math.isfinite(bounds.low) and math.isfinite(bounds.high):
        width = bounds.high - bounds.low
        place, variance_of_place = (value - bounds.low) / width, variance / width**2
        room = place * (1 - place)
        if bounds.within_unit:
            variance_of_place += room / clusters**2
        at_bound = room <= _HAIR and not variance
        if at_bound:
            low, high = wilson(place, clusters, quantile, 1 - level)
            return Ends(bounds.low + width * low, bounds.low + width * high, "score-t")
        # A mean of numbers within bounds is worth about as many units as there are clusters, or more;
        # what is worth much less is no such mean, and may lie near a bound with any variance.
        if variance_of_place > 0 and room / variance_of_place >= clusters / 4:
            low, high = wilson(place, room / variance_of_place, quantile, 1 - level)
            return Ends(bounds.low + width * low, bounds.low + width * high, "score-t")
    if inside and math.isfinite(bounds.low) and value > bounds.low and not math.isfinite(bounds.high):
        above = value - bounds.low
        grown = quantile**2 * (variance + (above / clusters) ** 2) / above
        half = math.sqrt(grown * above + grown**2 / 4)
        return Ends(max(bounds.low, value + grown / 2 - half), value + grown / 2 + half, "score-t")
    if not variance:
        return Ends(None, None, "none", f"all {word} alike: no interval without spread")
    half = quantile * math.sqrt(variance)
    low, high = value - half, value + half
    if inside:
        low, high = max(low, bounds.low), min(high, bounds.high)
    return Ends(low, high, "cluster-t")


def _no_ends(clusters: int, word: str) -> Ends:
    """No interval: of too few clusters, or because the number is undefined without some of them."""
    if clusters < FEWEST:
        return Ends(None, None, "none", few_note(clusters, word))
    return Ends(None, None, "none", f"rests on few {word}: undefined without some of them")


def jackknife_difference(
    value: float, left_out: Numbers, bounds: Bounds, *, level: float, word: str = "patients"
) -> Ends:
    """Student's interval of a difference, from what it is without each cluster; cut at the bounds."""
    known = left_out[np.isfinite(left_out)]
    if len(known) < FEWEST:
        return _no_ends(len(left_out), word)
    half = t_quantile(len(known), level) * math.sqrt(jackknife_variance(known))
    if half <= _HAIR * max(1.0, abs(value)):
        return Ends(None, None, "none", f"all {word} alike: no interval without spread")
    return Ends(max(bounds.low, value - half), min(bounds.high, value + half), "cluster-t")


def paired_share_interval(
    apart: Numbers, codes: NDArray[np.int64], *, level: float, word: str = "patients"
) -> Ends:
    """The interval of a difference of shares of the same units.

    `apart` has 1 for each unit on which the first reader alone is right, -1 for the second, else 0.
    Bonett and Price's interval (2012): one unit more is reckoned with on either side, so that readers
    who agree everywhere have one too. With Student's t, and n over the design effect of the clusters.

    >>> apart = np.where(np.arange(720) < 5, 1.0, 0.0)
    >>> found = paired_share_interval(apart, np.arange(720), level=0.95)
    >>> round(found.low, 4), round(found.high, 4)
    (-0.0003, 0.0141)
    """
    sums, sizes = cluster_totals(codes, apart), cluster_totals(codes, np.ones(len(apart)))
    clusters = len(sums)
    if clusters < FEWEST:
        return Ends(None, None, "none", few_note(clusters, word))
    n = len(apart)
    value, differing = float(apart.mean()), float(np.abs(apart).mean())
    effect = n / clusters
    if differing:
        alone = (differing - value**2) / (n - 1)
        variance = jackknife_variance(leave_one_out_ratios(sums, sizes))
        effect = max(1.0, variance / alone) if alone > 0 else effect
    worth = n / effect
    centre = value * worth / (worth + 2)
    spread = (differing * worth + 2) / (worth + 2) - centre**2
    half = t_quantile(clusters, level) * math.sqrt(spread / (worth + 2))
    return Ends(max(-1.0, min(centre - half, value)), min(1.0, max(centre + half, value)), "paired-t")
