"""Two readers on the same cases: how far apart are they, and could that be chance?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from overread.errors import UsageError
from overread.metrics.contract import Statistics
from overread.metrics.sample import Numbers, Sample, find_quotient
from overread.metrics.statistics.bootstrap import (
    BootstrapDraws,
    Combine,
    Interval,
    Method,
    check_level,
    check_rows,
    evaluate,
    make_interval,
    ruled_interval,
)
from overread.metrics.statistics.interval_rule import (
    MANY,
    UNBOUNDED,
    Bounds,
    cluster_totals,
    is_counts,
    jackknife_difference,
    leave_one_out_ratios,
    paired_share_interval,
)
from overread.metrics.statistics.result import Result, finite_or_none, format_number, format_p
from overread.metrics.statistics.swap_test import swap_rows, swap_totals
from overread.metrics.statistics.unit_pairs import Key, UnitChoice, pair_units

RowPair: TypeAlias = tuple[Sequence[Statistics], Sequence[Statistics]]
"""The rows of two readers, of the same units in the same order."""

FEW = 20
"""Clusters below which a bootstrap is too sure of itself; the result then says so."""


@dataclass(frozen=True)
class Difference(Result):
    """One metric of two readers on the same units, the first minus the second."""

    first: float | None
    second: float | None
    difference: Interval
    p: float | None
    """Two-sided: the share of swaps of the readers within clusters that give as large a difference.
    Where percentiles or BCa were asked for, (1 + c) / (1 + draws): c draws lie as far from the
    difference found as that lies from zero."""
    left_out: tuple[int, int]
    """Units that only the first, only the second had; not 0 only where that was allowed."""
    notes: tuple[str, ...] = ()
    p_method: str = ""
    """How p was found: by all swaps, by so many drawn ones, or from draws centred on zero."""

    def __str__(self) -> str:
        values = f"{format_number(self.first)} against {format_number(self.second)}"
        text = f"{values}, difference {self.difference}, {format_p(self.p)}"
        return "; ".join([text, *self.notes])


@dataclass(frozen=True)
class McNemar(Result):
    """Two readers right or wrong on the same units, counted, and tested on where they differ."""

    both: int
    first_only: int
    second_only: int
    neither: int
    exact_p: float
    """Two-sided binomial of the units on which one alone is right; 1 where there are none."""
    chi_square: float | None
    """With continuity correction; None where the readers are right on the same units."""
    chi_square_p: float | None
    left_out: tuple[int, int]
    notes: tuple[str, ...] = ()
    mid_p: float = 1.0
    """The exact p with what is as extreme as the counts found taken by half (Fagerland et al. 2013):
    less cautious, and now and then above its 5 %. 1 where the readers are right on the same units."""

    @property
    def n(self) -> int:
        """How many units both readers have."""
        return self.both + self.first_only + self.second_only + self.neither

    def __str__(self) -> str:
        text = (
            f"{self.n} units, first alone right {self.first_only}, "
            f"second alone {self.second_only}, both {self.both}, neither {self.neither}: "
            f"exact {format_p(self.exact_p)}, mid-p {format_p(self.mid_p).removeprefix('p ')}"
        )
        return "; ".join([text, *self.notes])


def difference(
    combine: Combine,
    first: Mapping[Key, Statistics],
    second: Mapping[Key, Statistics],
    *,
    clusters: Mapping[Key, str] | None = None,
    units: UnitChoice = "same",
    draws: int = 1000,
    seed: int = 0,
    level: float = 0.95,
    method: Method = "rule",
    bounds: Bounds = UNBOUNDED,
) -> Difference:
    """How far two readers are apart in one metric, with interval and p; whole clusters count.

    Units that only one reader has are refused, unless `units="common"` asks to leave them out.

    >>> first = {i: {"right": int(i % 10 < 8), "asked": 1} for i in range(100)}
    >>> second = {i: {"right": int(i % 10 < 7), "asked": 1} for i in range(100)}
    >>> found = difference(lambda s: s.ratio("right", "asked"), first, second)
    >>> found.first, found.second, found.p < 0.01
    (0.8, 0.7, True)
    """
    return differences(
        {"": combine},
        first,
        second,
        clusters=clusters,
        units=units,
        draws=draws,
        seed=seed,
        level=level,
        method=method,
        bounds={"": bounds},
    )[""]


def differences(
    combines: Mapping[str, Combine],
    first: Mapping[Key, Statistics],
    second: Mapping[Key, Statistics],
    *,
    clusters: Mapping[Key, str] | None = None,
    units: UnitChoice = "same",
    draws: int = 1000,
    seed: int = 0,
    level: float = 0.95,
    method: Method = "rule",
    bounds: Mapping[str, Bounds] | None = None,
) -> dict[str, Difference]:
    """The same for several metrics at once."""
    check_level(level, method)
    lined = pair_units({"first": first, "second": second}, clusters, units=units)
    drawn = BootstrapDraws(lined.clusters, draws=draws, seed=seed)
    pair = (lined.rows["first"], lined.rows["second"])
    for rows in pair:
        check_rows(rows, drawn)
    once = np.ones((1, len(lined.clusters)))
    values = [evaluate(combines, rows, once) for rows in pair]
    counts = (lined.left_out["first"], lined.left_out["second"])
    results = {}
    if method == "rule" and draws:
        for name, combine in combines.items():
            one, two = (float(value[name][0]) for value in values)
            if drawn.clusters > 1 and math.isfinite(one - two):
                own = (bounds or {}).get(name, UNBOUNDED)
                results[name] = _ruled_difference(combine, pair, (one, two), drawn, own, level, counts)
    left = {name: combine for name, combine in combines.items() if name not in results}
    pieces = [_apart(left, pair, weights) for weights in drawn.blocks()] if left else []
    bared = [_apart(left, pair, weights) for weights in drawn.leave_one_out()] if method == "bca" else []
    notes = []
    if 1 < drawn.clusters < FEW:
        notes.append(f"only {drawn.clusters} clusters: the interval is too narrow and p too small")
    for name in left:
        one, two = (float(value[name][0]) for value in values)
        moved = np.concatenate([*(piece[name] for piece in pieces), np.zeros(0)])
        found = make_interval(
            one - two,
            moved,
            n=len(lined.clusters),
            clusters=drawn.clusters,
            level=level,
            left_out=np.concatenate([piece[name] for piece in bared]) if bared else None,
        )
        results[name] = Difference(
            first=finite_or_none(one),
            second=finite_or_none(two),
            difference=found,
            p=None if found.low is None else centred_p(one - two, moved),
            left_out=counts,
            notes=tuple(notes),
            p_method="" if found.low is None else f"{found.draws} draws centred on zero",
        )
    return {name: results[name] for name in combines}


def _apart(combines: Mapping[str, Combine], pair: RowPair, weights: Numbers) -> dict[str, Numbers]:
    one, two = (evaluate(combines, rows, weights) for rows in pair)
    return {name: one[name] - two[name] for name in combines}


def _ruled_difference(
    combine: Combine,
    pair: RowPair,
    values: tuple[float, float],
    drawn: BootstrapDraws,
    bounds: Bounds,
    level: float,
    left_out: tuple[int, int],
) -> Difference:
    """The interval by the rule for small samples, and p from swapped readers."""
    value, n = values[0] - values[1], len(drawn.codes)
    totals = _quotient_totals(combine, pair, values, drawn)
    if totals is not None:
        tops, bottoms, columns = totals
        swaps = swap_totals((tops[0], bottoms[0]), (tops[1], bottoms[1]), draws=drawn.draws, seed=drawn.seed)
    else:
        swaps = swap_rows(combine, *pair, drawn.codes, draws=drawn.draws, seed=drawn.seed)
    width = bounds.high - bounds.low
    around = Bounds(-width, width) if math.isfinite(width) else UNBOUNDED
    moved = np.zeros(0)
    if totals is not None and _same_units(columns):
        asked = columns[1] > 0
        codes = np.unique(drawn.codes[asked], return_inverse=True)[1]
        ends = paired_share_interval((columns[0] - columns[2])[asked], codes, level=level, word=drawn.word)
    elif totals is not None:
        there = (bottoms[0] != 0) | (bottoms[1] != 0)
        one, two = (leave_one_out_ratios(t[there], b[there]) for t, b in zip(tops, bottoms, strict=True))
        ends = jackknife_difference(value, one - two, around, level=level, word=drawn.word)
    elif drawn.clusters < MANY:
        pieces = [_apart({"": combine}, pair, weights)[""] for weights in drawn.leave_one_out()]
        ends = jackknife_difference(value, np.concatenate(pieces), around, level=level, word=drawn.word)
    else:
        ends = None
        moved = np.concatenate([_apart({"": combine}, pair, weights)[""] for weights in drawn.blocks()])
    found = (
        make_interval(value, moved, n=n, clusters=drawn.clusters, level=level)
        if ends is None
        else ruled_interval(value, ends, n=n, clusters=drawn.clusters, level=level)
    )
    if ends is None and found.low is not None and found.low == found.high:
        ends = jackknife_difference(
            value, np.full(drawn.clusters, value), around, level=level, word=drawn.word
        )
        found = ruled_interval(value, ends, n=n, clusters=drawn.clusters, level=level)
    return Difference(
        first=values[0],
        second=values[1],
        difference=found,
        p=swaps.p,
        left_out=left_out,
        p_method=swaps.method,
    )


def _quotient_totals(
    combine: Combine, pair: RowPair, values: tuple[float, float], drawn: BootstrapDraws
) -> tuple[list[Numbers], list[Numbers], list[Numbers]] | None:
    """Above and below of each cluster, for both readers, and the columns of their rows; None where the
    number is no quotient of totals.
    """
    tops: list[Numbers] = []
    bottoms: list[Numbers] = []
    columns: list[Numbers] = []
    for rows, value in zip(pair, values, strict=True):
        sample = Sample(rows)
        asked = find_quotient(combine, sample)
        if asked is None:
            return None
        for name, totals in zip(asked, (tops, bottoms), strict=True):
            columns.append(sample.column(name))
            totals.append(cluster_totals(drawn.codes, columns[-1], drawn.clusters))
        if not math.isclose(tops[-1].sum() / bottoms[-1].sum(), value, rel_tol=1e-9, abs_tol=1e-12):
            return None
    return tops, bottoms, columns


def _same_units(columns: Sequence[Numbers]) -> bool:
    """Whether both readers are right or wrong on the same units, one a row."""
    right, asked, other, below = columns
    return bool(
        (asked == below).all()
        and np.isin(asked, (0, 1)).all()
        and is_counts(right, asked)
        and is_counts(other, below)
    )


def centred_p(value: float, drawn: Numbers) -> float:
    """Two-sided p of a difference from its draws, with the null that they centre on zero.

    >>> centred_p(0.5, np.array([0.4, 0.5, 0.6, 1.0]))
    0.4
    """
    known = drawn[~np.isnan(drawn)]
    # Draws that lie exactly as far must count, whatever the last bit of a quotient says.
    far = np.abs(known - value) >= abs(value) * (1 - 1e-9)
    return float((1 + far.sum()) / (1 + len(known)))


def mcnemar(
    first: Mapping[Key, bool | int],
    second: Mapping[Key, bool | int],
    *,
    clusters: Mapping[Key, str] | None = None,
    units: UnitChoice = "same",
) -> McNemar:
    """McNemar's test of who is right more often: unit → right or wrong, for two readers.

    The test takes units for independent. Where clusters repeat, a note says so; `difference`
    draws whole clusters instead.

    >>> first = {i: i < 80 for i in range(100)}
    >>> second = {i: i < 70 for i in range(100)}
    >>> print(mcnemar(first, second))
    100 units, first alone right 10, second alone 0, both 70, neither 20: exact p = 0.002, mid-p < 0.001
    """
    from scipy.stats import binom, chi2

    lined = pair_units({"first": first, "second": second}, clusters, units=units)
    for name, own in lined.rows.items():
        for value in own:
            if value not in (0, 1):
                raise UsageError(
                    f"{value!r} of the {name} reader is neither right nor wrong",
                    remedy="give True or False; compare other numbers with difference()",
                )
    table = np.zeros((2, 2), dtype=int)
    np.add.at(table, tuple(np.array(own, dtype=int) for own in lined.rows.values()), 1)
    alone, other = int(table[1, 0]), int(table[0, 1])
    apart = alone + other
    exact = mid = 1.0
    statistic = chi_p = None
    if apart:
        exact = min(1.0, 2 * float(binom.cdf(min(alone, other), apart, 0.5)))
        same = float(binom.pmf(min(alone, other), apart, 0.5))
        mid = exact - same if alone != other else 1 - same / 2
        # The correction only ever takes away: equal counts give 0, not 1 / apart.
        statistic = max(0, abs(alone - other) - 1) ** 2 / apart
        chi_p = float(chi2.sf(statistic, 1))
    repeated = len(lined.clusters) - len(set(lined.clusters))
    notes = []
    if repeated:
        notes.append(
            "McNemar's test takes units for independent, and some share a patient or a case: go by "
            "the difference and its p"
        )
    return McNemar(
        both=int(table[1, 1]),
        first_only=alone,
        second_only=other,
        neither=int(table[0, 0]),
        exact_p=exact,
        chi_square=statistic,
        chi_square_p=chi_p,
        left_out=(lined.left_out["first"], lined.left_out["second"]),
        notes=tuple(notes),
        mid_p=mid,
    )
