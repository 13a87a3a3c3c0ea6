"""Areas under ROC curves with the intervals and the test of DeLong, DeLong and Clarke-Pearson (1988).

The area is the chance that something positive has a higher score than something negative, equal scores
counting one half. Its variance comes from what each positive and each negative brings to it. Where several
scores belong to one patient, what a patient brings is added up first (Obuchowski 1997).

The interval is taken on the logit scale unless somebody asks for the plain one, which is what pROC prints.
Of 2,500 samples each, 95 % intervals held the true area in (logit, plain): .97, .91 with 10 positives and
10 negatives and an area of .76; .98, .87 with an area of .92; .95, .90 with 25 and 35; .95, .94 with 50 and
100 and .86; .91, .79 with 4 and 40.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.errors import UsageError
from overread.metrics.sample import Numbers
from overread.metrics.statistics.bootstrap import check_level
from overread.metrics.statistics.result import Result, format_number, format_p

NO_WIDTH = "all positives lie above all negatives or below: DeLong's interval would have no width"


Scale = Literal["logit", "plain"]


@dataclass(frozen=True)
class Auroc(Result):
    """One area, and how far it is known."""

    value: float
    se: float | None
    low: float | None
    """From DeLong's variance; None where that is not there or 0."""
    high: float | None
    positives: int
    negatives: int
    level: float
    scale: Scale
    note: str = ""
    """Why there is no interval."""

    def __str__(self) -> str:
        between = f"no interval: {self.note}"
        if self.low is not None and self.high is not None:
            between = f"{100 * self.level:g} % {self.low:.3f} to {self.high:.3f}, DeLong"
        return f"{self.value:.3f} ({between}; {self.positives} positives, {self.negatives} negatives)"


@dataclass(frozen=True)
class AurocDifference(Result):
    """Two areas of the same cases, the first minus the second, by DeLong's test."""

    first: float
    second: float
    difference: float
    se: float | None
    low: float | None
    high: float | None
    z: float | None
    p: float | None
    """Two-sided; None where the variance of the difference is 0."""
    level: float

    def __str__(self) -> str:
        values = f"{format_number(self.first)} against {format_number(self.second)}"
        return f"{values}, difference {self.difference:+.3f}, DeLong's {format_p(self.p)}"


def auroc(
    positive: ArrayLike,
    scores: ArrayLike,
    *,
    clusters: Sequence[str] | None = None,
    level: float = 0.95,
    scale: Scale = "logit",
) -> Auroc:
    """The area under the ROC curve of scores: `positive` says which of them should be high.

    `clusters` names the patient of each score, where some belong together. A `plain` interval is cut
    off at 0 and 1.

    >>> print(auroc([0, 0, 0, 1, 1, 1], [0.1, 0.4, 0.6, 0.5, 0.7, 0.9]))
    0.889 (95 % 0.261 to 0.995, DeLong; 3 positives, 3 negatives)
    >>> print(auroc([0, 1], [0.2, 0.7]).note)
    two positives and two negatives, of two patients each, are the least
    """
    check_level(level)
    if scale not in ("logit", "plain"):
        raise UsageError(f"no scale {scale!r}", remedy="'logit' or 'plain'")
    areas, covariance = auroc_covariance(positive, [scores], clusters=clusters)
    value, variance = float(areas[0]), float(covariance[0, 0])
    sides = np.asarray(positive, bool)
    counts: dict[str, Any] = {"positives": int(sides.sum()), "negatives": int((~sides).sum())}
    counts |= {"level": level, "scale": scale}
    if not variance > 0:
        few = "two positives and two negatives, of two patients each, are the least"
        return Auroc(value, None, None, None, **counts, note=few if math.isnan(variance) else NO_WIDTH)
    se = math.sqrt(variance)
    reach = _normal_quantile(level) * se
    if scale == "plain":
        return Auroc(value, se, max(0.0, value - reach), min(1.0, value + reach), **counts)
    middle, reach = math.log(value / (1 - value)), reach / (value * (1 - value))
    low, high = (1 / (1 + math.exp(-end)) for end in (middle - reach, middle + reach))
    return Auroc(value, se, low, high, **counts)


def auroc_difference(
    positive: ArrayLike,
    first: ArrayLike,
    second: ArrayLike,
    *,
    clusters: Sequence[str] | None = None,
    level: float = 0.95,
) -> AurocDifference:
    """DeLong's test of two areas on the same cases.

    >>> first, second = [0.1, 0.4, 0.6, 0.5, 0.7, 0.9], [0.3, 0.2, 0.9, 0.4, 0.1, 0.8]
    >>> print(auroc_difference([0, 0, 0, 1, 1, 1], first, second))
    0.889 against 0.444, difference +0.444, DeLong's p = 0.157
    """
    from scipy.stats import norm

    check_level(level)
    areas, covariance = auroc_covariance(positive, [first, second], clusters=clusters)
    one, two = (float(area) for area in areas)
    variance = float(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    if not variance > 1e-20:
        return AurocDifference(one, two, one - two, None, None, None, None, None, level)
    se = math.sqrt(variance)
    reach, z = _normal_quantile(level) * se, (one - two) / se
    return AurocDifference(
        one, two, one - two, se, one - two - reach, one - two + reach, z, 2 * float(norm.sf(abs(z))), level
    )


def auroc_covariance(
    positive: ArrayLike, readers: Sequence[ArrayLike], *, clusters: Sequence[str] | None = None
) -> tuple[Numbers, Numbers]:
    """The areas of several readers on the same cases, and DeLong's covariances of them.

    NaN stands where a covariance cannot be told, with fewer than two positives or two negatives.
    """
    sides = np.asarray(positive)
    table = np.asarray([np.asarray(scores, np.float64) for scores in readers])
    if sides.ndim != 1 or table.ndim != 2 or table.shape[1] != len(sides):
        raise UsageError(
            f"{table.shape[-1] if table.ndim else 0} scores were given for {sides.size} cases",
            remedy="give one score a case for each reader",
        )
    if not np.isin(sides, (0, 1)).all() or not np.isfinite(table).all():
        raise UsageError("a ROC curve takes labels 0 and 1, and finite scores")
    true = sides.astype(bool)
    if true.all() or not true.any():
        raise UsageError("a ROC curve takes positives and negatives, and only one of them is there")
    if clusters is not None and len(clusters) != len(sides):
        raise UsageError(f"{len(clusters)} clusters were given for {len(sides)} cases")
    above, below = structural_components(table[:, true], table[:, ~true])
    areas: Numbers = above.mean(axis=1)
    names = np.arange(len(sides)) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    return areas, _covariance(above, below, areas, names[true], names[~true])


def structural_components(positives: Numbers, negatives: Numbers) -> tuple[Numbers, Numbers]:
    """The share of negatives below each positive, and of positives above each negative.

    One line a reader; equal scores count one half. From ranks, so that no pair is gone through.

    >>> above, below = structural_components(np.array([[2.0, 1.0]]), np.array([[1.0, 0.0, 3.0]]))
    >>> above.round(3).tolist(), below.tolist()
    ([[0.667, 0.5]], [[0.75, 1.0, 0.0]])
    """
    from scipy.stats import rankdata

    m, n = positives.shape[1], negatives.shape[1]
    together = rankdata(np.concatenate((positives, negatives), axis=1), axis=1)
    above = (together[:, :m] - rankdata(positives, axis=1)) / n
    below = 1 - (together[:, m:] - rankdata(negatives, axis=1)) / m
    return above, below


def _covariance(
    above: Numbers, below: Numbers, areas: Numbers, of_above: NDArray[np.intp], of_below: NDArray[np.intp]
) -> Numbers:
    """DeLong's covariances of areas; components of one cluster are added up first."""
    count = int(max(of_above.max(), of_below.max())) + 1
    sums = [
        np.array([np.bincount(owner, own, minlength=count) for own in parts - areas[:, None]])
        for parts, owner in ((above, of_above), (below, of_below))
    ]
    sizes = [len(np.unique(of_above)), len(np.unique(of_below)), len(np.union1d(of_above, of_below))]
    if min(sizes[:2]) < 2:
        return np.full((len(areas), len(areas)), np.nan)
    m, n = above.shape[1], below.shape[1]
    one, two = (
        sums[side] @ sums[side].T * size / (size - 1) for side, size in zip((0, 1), sizes[:2], strict=True)
    )
    cross = sums[0] @ sums[1].T * sizes[2] / (sizes[2] - 1)
    return np.asarray(one / m**2 + two / n**2 + (cross + cross.T) / (m * n))


def _normal_quantile(level: float) -> float:
    from scipy.stats import norm

    return float(norm.ppf((1 + level) / 2))
