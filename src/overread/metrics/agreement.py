"""Agreement of raters with intervals: percent, Cohen's kappa, MCC, Krippendorff's alpha.

Where everybody gives one and the same label a coefficient is 0/0: undefined here, so None in
results and NaN in draws. Others differ: scikit-learn's kappa is NaN too, its MCC is 0, nltk's alpha
is 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np

from overread.errors import UsageError
from overread.metrics.sample import Numbers, Sample, safe_divide
from overread.metrics.statistics.bootstrap import (
    BootstrapDraws,
    Combine,
    Interval,
    Method,
    interval,
    intervals,
)
from overread.metrics.statistics.interval_rule import Bounds
from overread.metrics.statistics.result import Result, format_number

Label: TypeAlias = str | int | float | bool
Weighting: TypeAlias = Literal["none", "linear", "quadratic"]
"""How far apart two labels are: 1, their distance in the order of labels, or its square."""
Level: TypeAlias = Literal["nominal", "ordinal", "interval"]
"""What differs between values: that they do, how many ratings lie between, or how much."""
COEFFICIENT = Bounds(-1.0, 1.0)
"""Between what a coefficient of agreement lies, by and large."""


@dataclass(frozen=True)
class Agreement(Result):
    """How far two raters agree on the same items."""

    n: int
    labels: tuple[Label, ...]
    confusion: tuple[tuple[int, ...], ...]
    """One line a label of the first rater, one column a label of the second."""
    share: Interval
    """Share of items with the same label: percent agreement, as a fraction."""
    kappa: Interval
    kappa_linear: Interval | None
    """None where nobody said in which order the labels are; the next one too."""
    kappa_quadratic: Interval | None
    mcc: Interval

    def __str__(self) -> str:
        kappa, mcc = format_number(self.kappa.value), format_number(self.mcc.value)
        return f"agree {self.share}, kappa {kappa}, MCC {mcc}"


@dataclass(frozen=True)
class Alpha(Result):
    """Krippendorff's alpha of any number of raters."""

    alpha: Interval
    level: Level
    items: int
    """Items of the table; those with fewer than two ratings say nothing about agreement."""
    pairable: int
    """Ratings of the items that have at least two."""

    def __str__(self) -> str:
        return f"alpha {self.alpha}, {self.level}, {self.pairable} ratings"


def agree(
    first: Sequence[Label],
    second: Sequence[Label],
    *,
    labels: Sequence[Label] | None = None,
    clusters: Sequence[str] | None = None,
    draws: int = 1000,
    seed: int = 0,
    level: float = 0.95,
    method: Method = "rule",
) -> Agreement:
    """How far two raters agree: the confusion, and each coefficient with an interval over items.

    `labels` says which there are and in which order; one that is not among them is refused.
    Without it the labels are those that occur, and weighted kappas are given for numbers only,
    whose order is known. Weights go by the place of a label in the order, not by its value.

    >>> found = agree(["mass", "mass", "none", "none"], ["mass", "none", "none", "none"])
    >>> found.confusion, found.share.value, found.kappa.value, round(found.mcc.value, 3)
    (((1, 1), (0, 2)), 0.75, 0.5, 0.577)
    """
    if len(first) != len(second):
        raise UsageError(
            f"{len(first)} labels of the first rater and {len(second)} of the second",
            remedy="give one of each for every item",
        )
    told = None if labels is None else list(labels)
    given = [*first, *second]
    _check_labels([*given, *(told or ())], "use alpha() where ratings are missing")
    ordered = told is not None or all(_is_number(label) for label in given)
    names = _ordered_labels(given, told)
    place = {label: i for i, label in enumerate(names)}
    rows = [pair_statistics(place[a], place[b]) for a, b in zip(first, second, strict=True)]
    table = np.zeros((len(names), len(names)), dtype=int)
    for row in rows:
        table[row["first"], row["second"]] += 1
    combines: dict[str, Combine] = {
        "share": share_agreed,
        "none": partial(kappa, weighting="none"),
        "linear": partial(kappa, weighting="linear"),
        "quadratic": partial(kappa, weighting="quadratic"),
        "mcc": mcc,
    }
    drawn = BootstrapDraws(_own_clusters(len(rows)) if clusters is None else clusters, draws=draws, seed=seed)
    found = intervals(
        combines, rows, drawn, level=level, method=method, bounds=dict.fromkeys(combines, COEFFICIENT)
    )
    return Agreement(
        n=len(rows),
        labels=tuple(names),
        confusion=tuple(tuple(line) for line in table.tolist()),
        share=found["share"],
        kappa=found["none"],
        kappa_linear=found["linear"] if ordered else None,
        kappa_quadratic=found["quadratic"] if ordered else None,
        mcc=found["mcc"],
    )


def pair_statistics(first: int, second: int) -> dict[str, int]:
    """The statistics of one item that two raters gave labels, by the places of the labels."""
    return {"first": first, "second": second, "same": int(first == second), "items": 1}


def share_agreed(sample: Sample) -> Numbers:
    """The share of items on which both raters agree, one number a draw."""
    return sample.ratio("same", "items")


def kappa(sample: Sample, *, weighting: Weighting = "none") -> Numbers:
    """Cohen's kappa of `pair_statistics`, one number a draw; NaN where chance leaves no room.

    >>> rows = [pair_statistics(0, 0), pair_statistics(0, 1), pair_statistics(1, 1)]
    >>> kappa(Sample(rows)).round(3)
    array([0.4])
    """
    one, two = _margins(sample)
    places = np.arange(one.shape[1], dtype=np.float64)
    apart = np.abs(sample.column("first") - sample.column("second"))
    if weighting == "none":
        observed, n = sample.weights @ (apart > 0), sample.total("items")
        expected = n * n - (one * two).sum(axis=1)
    else:
        power = 1 if weighting == "linear" else 2
        observed, n = sample.weights @ apart**power, sample.total("items")
        distance = np.abs(places[:, None] - places) ** power
        expected = ((one @ distance) * two).sum(axis=1)
    result: Numbers = 1 - safe_divide(n * observed, expected)
    return result


def mcc(sample: Sample) -> Numbers:
    """Matthews' correlation of `pair_statistics` for two or more labels, one number a draw.

    NaN where a rater gave one label only (scikit-learn gives 0 there).
    """
    one, two = _margins(sample)
    n = sample.total("items")
    together = n * sample.total("same") - (one * two).sum(axis=1)
    alone = (n * n - (one**2).sum(axis=1)) * (n * n - (two**2).sum(axis=1))
    return safe_divide(together, np.sqrt(alone))


def alpha(
    table: Sequence[Sequence[Label | None]],
    level: Level = "nominal",
    *,
    labels: Sequence[Label] | None = None,
    clusters: Sequence[str] | None = None,
    draws: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
    method: Method = "rule",
) -> Alpha:
    """Krippendorff's alpha of a table: one line an item, one column a rater, None where missing.

    Ordinal values are numbers, or texts whose order `labels` gives; interval values are numbers.
    The interval is that of the other numbers here, over items with all their ratings.

    >>> table = [[1, 1], [2, 2], [3, 3], [1, 2], [3, None]]
    >>> print(alpha(table, draws=0))
    alpha 0.667 (no interval: nothing was drawn; n = 5), nominal, 8 ratings
    >>> round(alpha(table, "ordinal").alpha.value, 3)
    0.79
    """
    if level not in ("nominal", "ordinal", "interval"):
        raise UsageError(f"no level {level!r}", remedy="'nominal', 'ordinal' or 'interval'")
    given = [[value for value in line if value is not None] for line in table]
    flat = [value for line in given for value in line]
    told = None if labels is None else list(labels)
    _check_labels([*flat, *(told or ())], "write None where a rating is missing")
    numbers = all(_is_number(value) for value in flat)
    if not numbers and (level == "interval" or (level == "ordinal" and told is None)):
        raise UsageError(
            f"{level} values must have an order, and {flat[0]!r} has none",
            remedy="give numbers" + (", or the order as labels" if level == "ordinal" else ""),
        )
    place = {label: i for i, label in enumerate(_ordered_labels(flat, told))}
    middle = math.fsum(flat) / len(flat) if numbers and flat else 0.0  # type: ignore[arg-type]
    rows = [
        {
            "ratings": [place[value] for value in line],
            "values": [float(value) - middle for value in line] if level == "interval" else [],
        }
        for line in given
    ]
    keys = _own_clusters(len(rows)) if clusters is None else clusters
    combine = partial(krippendorff_alpha, level=level)
    return Alpha(
        alpha=interval(
            combine,
            rows,
            keys,
            draws=draws,
            seed=seed,
            level=confidence,
            method=method,
            bounds=COEFFICIENT,
        ),
        level=level,
        items=len(rows),
        pairable=sum(len(line) for line in given if len(line) > 1),
    )


def krippendorff_alpha(sample: Sample, *, level: Level = "nominal") -> Numbers:
    """Alpha of items with the places of their `ratings` (and `values`), one number a draw.

    Alpha is 1 − observed / expected disagreement. Squared distances, of values or of mean ranks,
    add up from sums and sums of squares, so no table of all pairs is needed.
    """
    from scipy.sparse import csr_array

    sizes = np.array([len(row["ratings"]) for row in sample.rows])
    paired = np.flatnonzero(sizes > 1)
    if not len(paired):
        return np.full(sample.draws, np.nan)
    weights, m = sample.weights[:, paired], sizes[paired].astype(np.float64)
    rows = [sample.rows[i] for i in paired.tolist()]
    codes = np.array([code for row in rows for code in row["ratings"]])
    item = np.repeat(np.arange(len(rows)), sizes[paired])
    counts = csr_array((np.ones(len(codes)), (item, codes)))
    totals: Numbers = (counts.T @ weights.T).T
    n = weights @ m
    if level == "nominal":
        squares = np.asarray(counts.multiply(counts).sum(axis=1))
        observed = weights @ ((m * m - squares) / (m - 1))
        expected = n * n - (totals**2).sum(axis=1)
    elif level == "ordinal":
        # The place of a value among all ratings of the draw, counted from their middle.
        ranks = np.cumsum(totals, axis=1) - totals / 2 - n[:, None] / 2
        sums, squares = (counts @ ranks.T).T, (counts @ (ranks**2).T).T
        observed = (weights * (2 * (m * squares - sums**2) / (m - 1))).sum(axis=1)
        expected = 2 * n * (totals * ranks**2).sum(axis=1)
    else:
        values = [np.array(row["values"]) for row in rows]
        within = np.array([2 * ((own - own.mean()) ** 2).sum() for own in values])
        observed = weights @ (m * within / (m - 1))
        sums, squares = (np.array([(own**k).sum() for own in values]) for k in (1, 2))
        expected = 2 * (n * (weights @ squares) - (weights @ sums) ** 2)
    # Counted, not computed: rounding must not turn 0/0 into a number.
    expected = np.where(totals.max(axis=1) == n, 0.0, expected)
    result: Numbers = 1 - safe_divide((n - 1) * observed, expected)
    return result


def _margins(sample: Sample) -> tuple[Numbers, Numbers]:
    """How often each rater gave each label, one line a draw."""
    from scipy.sparse import csr_array

    codes = [sample.column(name).astype(np.int64) for name in ("first", "second")]
    size = 1 + max((int(code.max(initial=0)) for code in codes), default=0)
    margins = []
    for code in codes:
        marks = csr_array((np.ones(len(code)), (code, np.arange(len(code)))), (size, len(code)))
        margins.append((marks @ sample.weights.T).T)
    return margins[0], margins[1]


def _own_clusters(items: int) -> list[str]:
    """A cluster of its own for each item."""
    return [f"{i:09d}" for i in range(items)]


def _is_number(label: Any) -> bool:
    return isinstance(label, (int, float, np.integer, np.floating)) and not isinstance(label, bool)


def _check_labels(labels: Sequence[Any], missing: str) -> None:
    """Refuse what is no label, and a mixture in which 1 and '1' would be strangers."""
    for label in labels:
        if label is None or (isinstance(label, (float, np.floating)) and not math.isfinite(label)):
            raise UsageError(f"{label} is no label", remedy=missing)
    kinds = {isinstance(label, str) for label in labels}
    if len(kinds) > 1:
        raise UsageError("some labels are texts and some are not", remedy="use one kind for all")


def _ordered_labels(given: Sequence[Label], labels: Sequence[Label] | None) -> list[Label]:
    """The labels in their order: as told, else sorted."""
    if labels is None:
        return sorted(set(given))
    known = set(labels)
    if len(known) < len(labels):
        raise UsageError("a label is given twice", remedy="name each label once")
    for label in given:
        if label not in known:
            raise UsageError(f"{label!r} is not among the labels {list(labels)}")
    return list(labels)
