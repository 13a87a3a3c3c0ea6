"""Two readers on the same cases: how far apart are they, and could that be chance?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from overread.errors import UsageError
from overread.metrics.contract import Statistics
from overread.metrics.sample import Numbers
from overread.metrics.statistics.bootstrap import (
    BootstrapDraws,
    Combine,
    Interval,
    Method,
    check_level,
    check_rows,
    evaluate,
    make_interval,
)
from overread.metrics.statistics.result import Result, finite_or_none, format_number, format_p
from overread.metrics.statistics.unit_pairs import Key, UnitChoice, pair_units

FEW = 20
"""Clusters below which a bootstrap is too sure of itself; the result then says so."""


@dataclass(frozen=True)
class Difference(Result):
    """One metric of two readers on the same units, the first minus the second."""

    first: float | None
    second: float | None
    difference: Interval
    p: float | None
    """Two-sided, (1 + c) / (1 + draws): c draws lie as far from the difference found as that lies
    from zero. The null is thus that of the draws moved to be centred on zero."""
    left_out: tuple[int, int]
    """Units that only the first, only the second had; not 0 only where that was allowed."""
    notes: tuple[str, ...] = ()

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

    @property
    def n(self) -> int:
        """How many units both readers have."""
        return self.both + self.first_only + self.second_only + self.neither

    def __str__(self) -> str:
        text = (
            f"{self.n} units, first alone right {self.first_only}, "
            f"second alone {self.second_only}, both {self.both}, neither {self.neither}: "
            f"exact {format_p(self.exact_p)}"
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
    method: Method = "percentile",
) -> Difference:
    """How far two readers are apart in one metric, with interval and p, by the same draws for both.

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
    method: Method = "percentile",
) -> dict[str, Difference]:
    """The same for several metrics at once."""
    check_level(level, method)
    lined = pair_units({"first": first, "second": second}, clusters, units=units)
    drawn = BootstrapDraws(lined.clusters, draws=draws, seed=seed)
    pair = (lined.rows["first"], lined.rows["second"])
    for rows in pair:
        check_rows(rows, drawn)

    def apart(weights: Numbers) -> dict[str, Numbers]:
        one, two = (evaluate(combines, rows, weights) for rows in pair)
        return {name: one[name] - two[name] for name in combines}

    pieces = [apart(weights) for weights in drawn.blocks()]
    bared = [apart(weights) for weights in drawn.leave_one_out()] if method == "bca" else []
    once = np.ones((1, len(lined.clusters)))
    values = [evaluate(combines, rows, once) for rows in pair]
    notes = []
    if 1 < drawn.clusters < FEW:
        notes.append(f"only {drawn.clusters} clusters: the interval is too narrow and p too small")
    results = {}
    for name in combines:
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
            left_out=(lined.left_out["first"], lined.left_out["second"]),
            notes=tuple(notes),
        )
    return results


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
    100 units, first alone right 10, second alone 0, both 70, neither 20: exact p = 0.002
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
    exact = 1.0
    statistic = chi_p = None
    if apart:
        exact = min(1.0, 2 * float(binom.cdf(min(alone, other), apart, 0.5)))
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
    )
