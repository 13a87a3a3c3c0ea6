"""Several readers against several others on the same cases: does one group read better?

Two things vary here that a comparison of two readers leaves out or mixes up: another day other cases would
have come, and other readers would have been asked. The analysis of Obuchowski and Rockette (1995) takes both
into account: how far readers of a group lie apart tells the second, and the covariances of their numbers
over cases the first. Degrees of freedom are those of Hillis (2007).

- *paired*: the same readers in both groups, for instance without and with a model's help (the factorial
  design of the books);
- *unpaired*: other readers in each group, for instance people and models. Each group keeps its own
  spread between readers, as in Welch's test. A group of one reader is that reader and nobody like it:
  the test is then the one for a single model against a group of radiologists, but for one thing: the
  group's spread is at least what the variances over cases alone would make it. Without that two people
  against one model of the same skill had p < .05 in 9 of 100 simulated studies.

With fixed readers nothing is said about other readers than these, and a normal distribution is taken.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from overread.errors import UsageError
from overread.metrics.contract import Statistics
from overread.metrics.sample import Numbers, Sample
from overread.metrics.statistics.bootstrap import Combine, check_level
from overread.metrics.statistics.result import Result, format_p
from overread.metrics.statistics.unit_pairs import Key, UnitChoice, pair_units

Readers: TypeAlias = Literal["random", "fixed"]
Values: TypeAlias = Mapping[str, Mapping[str, float]]
"""Group → reader → number; the readers of paired groups in the same order."""

_CELLS = 4_000_000
"""Left-out cases × rows that are held at once."""


@dataclass(frozen=True)
class Estimate(Result):
    """A number with its standard error and the range it leaves open."""

    value: float
    se: float
    df: float | None
    """Degrees of freedom of Student's distribution; None for the normal one."""
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"


@dataclass(frozen=True)
class GroupComparison(Result):
    """Two groups of readers on the same cases, the first minus the second."""

    groups: dict[str, dict[str, float]]
    """Group → reader → number."""
    means: dict[str, Estimate]
    difference: Estimate
    t: float | None
    p: float | None
    """Two-sided; None where nothing varies at all."""
    variance: float
    """Mean variance of one reader's number over cases."""
    covariances: dict[str, float | None]
    """Mean covariances over cases: `same reader` in both groups (Cov1), `same group` (Cov2),
    `neither` (Cov3)."""
    paired: bool
    readers: Readers
    cases: int
    """Patients, or cases where no patient is known, that the jackknife left out one by one."""
    level: float
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        one, two = self.means
        apart = self.difference
        text = f"{one} {self.means[one]} against {two} {self.means[two]}: "
        text += f"difference {apart.value:+.3f} ({apart.low:+.3f} to {apart.high:+.3f}), {format_p(self.p)}"
        return "; ".join([text, *self.notes])


def compare_groups(
    combine: Combine,
    groups: Mapping[str, Mapping[str, Mapping[Key, Statistics]]],
    *,
    clusters: Mapping[Key, str] | None = None,
    paired: bool = False,
    readers: Readers = "random",
    units: UnitChoice = "same",
    level: float = 0.95,
) -> GroupComparison:
    """Compare two groups by any metric: group → reader → unit → statistics.

    Covariances over cases come from leaving out one patient after the other (jackknife).

    >>> def right(*cases): return {n: {"right": int(n in cases), "asked": 1} for n in range(10)}
    >>> people = {"ann": right(0, 1, 2, 3, 4), "bob": right(0, 1, 2, 4, 5, 6), "cyd": right(0, 1, 8)}
    >>> model = {"ours": right(0, 1, 2, 3, 4, 5, 6, 7)}
    >>> found = compare_groups(lambda s: s.ratio("right", "asked"), {"people": people, "model": model})
    >>> print(found.difference, found.notes[0])
    -0.333 (-0.632 to -0.035) 'model' is one reader: what is said holds for it, not for others like it
    """
    flat = {(group, name): rows for group, own in groups.items() for name, rows in own.items()}
    named = {f"{group}: {name}": rows for (group, name), rows in flat.items()}
    lined = pair_units(named, clusters, units=units)
    rows = list(lined.rows.values())
    once = np.ones((1, len(lined.clusters)))
    values = [float(combine(Sample(own, once))[0]) for own in rows]
    for (group, name), value in zip(flat, values, strict=True):
        if not math.isfinite(value):
            raise UsageError(f"the number of '{name}' in '{group}' is undefined", remedy="leave it out")
    covariance = jackknife_covariance(combine, rows, lined.clusters)
    told: dict[str, dict[str, float]] = {group: {} for group in groups}
    for (group, name), value in zip(flat, values, strict=True):
        told[group][name] = value
    count = len(set(lined.clusters))
    return obuchowski_rockette(told, covariance, paired=paired, readers=readers, level=level, cases=count)


def jackknife_covariance(
    combine: Combine, rows: Sequence[Sequence[Statistics]], clusters: Sequence[str]
) -> Numbers:
    """Covariances over cases of the numbers of several readers, from leaving out each cluster once.

    >>> rows = [[{"v": 1}, {"v": 2}, {"v": 6}], [{"v": 2}, {"v": 4}, {"v": 12}]]
    >>> for own in rows: own[:] = [{**row, "n": 1} for row in own]
    >>> jackknife_covariance(lambda sample: sample.ratio("v", "n"), rows, ["a", "b", "c"]).round(3)
    array([[2.333, 4.667],
           [4.667, 9.333]])
    """
    codes = np.unique(np.asarray(clusters, dtype=str), return_inverse=True)[1]
    count = int(codes.max()) + 1 if len(codes) else 0
    if count < 2:
        raise UsageError(f"{count} patient(s) or case(s) are too few for a comparison of groups")
    step = max(1, _CELLS // len(codes))
    bared = np.concatenate(
        [
            np.array([combine(Sample(own, weights)) for own in rows])
            for first in range(0, count, step)
            for weights in [(codes != np.arange(first, min(first + step, count))[:, None]).astype(float)]
        ],
        axis=1,
    )
    if not np.isfinite(bared).all():
        raise UsageError(
            "without some case the number of a reader is undefined",
            remedy="choose another metric, or more cases",
        )
    apart = bared - bared.mean(axis=1, keepdims=True)
    return np.asarray(apart @ apart.T * (count - 1) / count)


def obuchowski_rockette(
    groups: Values,
    covariance: Numbers,
    *,
    paired: bool = False,
    readers: Readers = "random",
    level: float = 0.95,
    cases: int = 0,
) -> GroupComparison:
    """The analysis itself, from the numbers of all readers and their covariances over cases.

    Lines and columns of `covariance` follow the readers of the first group, then those of the
    second.
    """
    check_level(level)
    if len(groups) != 2 or not all(groups.values()):
        raise UsageError(
            f"{len(groups)} group(s) were given, and two with readers in both can be compared",
            remedy="name two groups",
        )
    if readers not in ("random", "fixed"):
        raise UsageError(f"readers cannot be {readers!r}", remedy="'random' or 'fixed'")
    sizes = [len(own) for own in groups.values()]
    if paired and (sizes[0] != sizes[1] or sizes[0] < 2):
        raise UsageError(
            f"groups of {sizes[0]} and {sizes[1]} readers are not the same two readers or more",
            remedy="give each reader once in both groups, in the same order, or leave pairing out",
        )
    table = np.asarray(covariance, np.float64)
    if table.shape != (sum(sizes), sum(sizes)):
        raise UsageError(f"a covariance of shape {table.shape} was given for {sum(sizes)} readers")
    parts = _Parts.of(groups, table, paired=paired)
    notes = []
    if readers == "random":
        for name, size in zip(groups, sizes, strict=True):
            if size == 1:
                notes.append(f"'{name}' is one reader: what is said holds for it, not for others like it")
            elif size == 2:
                notes.append(f"'{name}' has two readers: how far readers differ is hardly known from two")
    else:
        notes.append("readers are fixed: nothing is said of other readers than these")
    apart = parts.means[0] - parts.means[1]
    variance, df = parts.difference(readers)
    se = math.sqrt(variance)
    return GroupComparison(
        groups={name: dict(own) for name, own in groups.items()},
        means={
            name: _estimate(parts.means[side], *parts.mean(side, readers), level)
            for side, name in enumerate(groups)
        },
        difference=_estimate(apart, variance, df, level),
        t=apart / se if se else None,
        p=_two_sided(apart / se, df) if se else None,
        variance=parts.variance,
        covariances={
            "same reader": parts.cov1,
            "same group": parts.cov2,
            "neither": parts.cov3,
        },
        paired=paired,
        readers=readers,
        cases=cases,
        level=level,
        notes=tuple(notes),
    )


@dataclass(frozen=True)
class _Parts:
    """What the formulas are made of."""

    values: tuple[Numbers, Numbers]
    table: Numbers
    paired: bool

    @classmethod
    def of(cls, groups: Values, table: Numbers, *, paired: bool) -> _Parts:
        one, two = (np.array(list(own.values()), np.float64) for own in groups.values())
        return cls((one, two), table, paired)

    @property
    def means(self) -> tuple[float, float]:
        return float(self.values[0].mean()), float(self.values[1].mean())

    def block(self, side: int, other: int) -> Numbers:
        """The covariances of readers of one group with those of one."""
        cut = len(self.values[0])
        ends = (slice(0, cut), slice(cut, None))
        return self.table[ends[side], ends[other]]

    @property
    def variance(self) -> float:
        return float(np.diag(self.table).mean())

    @property
    def cov1(self) -> float | None:
        """Of the same reader in both groups."""
        return float(np.diag(self.block(0, 1)).mean()) if self.paired else None

    @property
    def cov2(self) -> float | None:
        """Of two readers of one group."""
        found = [_off_diagonal(self.block(side, side)) for side in (0, 1)]
        known = np.concatenate(found)
        return float(known.mean()) if len(known) else None

    @property
    def cov3(self) -> float:
        """Of two readers of different groups, not the same one."""
        cross = self.block(0, 1)
        return float((_off_diagonal(cross) if self.paired else cross).mean())

    def mean(self, side: int, readers: Readers) -> tuple[float, float | None]:
        """Variance and degrees of freedom of the mean of one group."""
        spread, within = self._spread(side), self._case_part(side)
        if readers == "fixed" or spread is None:
            return float(self.block(side, side).mean()), None
        variance = spread + max(within, 0.0)
        return variance, _degrees(variance, [(spread, len(self.values[side]) - 1)])

    def difference(self, readers: Readers) -> tuple[float, float | None]:
        """Variance and degrees of freedom of the difference of the means."""
        if readers == "fixed":
            shares = np.concatenate(
                [np.full(len(own), sign / len(own)) for sign, own in zip((1, -1), self.values, strict=True)]
            )
            return max(float(shares @ self.table @ shares), 0.0), None
        if self.paired:
            count = len(self.values[0])
            # With two groups the interaction's mean square is half the variance of the differences.
            square = float((self.values[0] - self.values[1]).var(ddof=1)) / 2
            spread = 2 * square / count
            variance = spread + 2 * max((self.cov2 or 0.0) - self.cov3, 0.0)
            return variance, _degrees(variance, [(spread, count - 1)])
        spreads = [self._spread(side) for side in (0, 1)]
        if None in spreads:
            # Against one reader nothing else keeps p honest where two or three happen to agree.
            spreads = [
                None if spread is None else max(spread, self._least_spread(side))
                for side, spread in enumerate(spreads)
            ]
        shared = max(self._case_part(0) + self._case_part(1) - 2 * self.cov3, 0.0)
        variance = sum(spread or 0.0 for spread in spreads) + shared
        known = [
            (spread, len(own) - 1)
            for spread, own in zip(spreads, self.values, strict=True)
            if spread is not None
        ]
        return variance, _degrees(variance, known)

    def _spread(self, side: int) -> float | None:
        """What the readers of a group, as they lie apart, say of the variance of their mean."""
        own = self.values[side]
        return float(own.var(ddof=1)) / len(own) if len(own) > 1 else None

    def _least_spread(self, side: int) -> float:
        """How far readers lie apart for what each one's own share of the variance over cases is."""
        block = self.block(side, side)
        return float(np.diag(block).mean() - _off_diagonal(block).mean()) / len(block)

    def _case_part(self, side: int) -> float:
        """What is common to the readers of a group for reading the same cases; all of it for one."""
        block = self.block(side, side)
        return float(_off_diagonal(block).mean()) if len(block) > 1 else float(block[0, 0])


def _off_diagonal(table: Numbers) -> Numbers:
    return np.asarray(table[~np.eye(len(table), dtype=bool)])


def _degrees(variance: float, spreads: Sequence[tuple[float, int]]) -> float | None:
    """Satterthwaite's degrees of freedom, where only what comes from readers is estimated from few."""
    below = sum(spread**2 / df for spread, df in spreads)
    return variance**2 / below if below > 0 else None


def _estimate(value: float, variance: float, df: float | None, level: float) -> Estimate:
    from scipy.stats import norm, t

    se = math.sqrt(variance)
    share = (1 + level) / 2
    reach = se * float(norm.ppf(share) if df is None else t.ppf(share, df))
    return Estimate(value, se, df, value - reach, value + reach)


def _two_sided(statistic: float, df: float | None) -> float:
    from scipy.stats import norm, t

    tail: Any = norm.sf(abs(statistic)) if df is None else t.sf(abs(statistic), df)
    return 2 * float(tail)
