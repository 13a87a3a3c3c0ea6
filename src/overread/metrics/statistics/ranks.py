"""Many readers on the same cases: which ranks are theirs, and who really beats whom."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from overread.errors import UsageError
from overread.metrics.contract import Statistics
from overread.metrics.sample import Numbers, Sample, find_quotient
from overread.metrics.statistics.bootstrap import BootstrapDraws, Combine, check_level, check_rows, evaluate
from overread.metrics.statistics.interval_rule import FEWEST, is_counts, t_quantile
from overread.metrics.statistics.result import Result, format_number, format_p
from overread.metrics.statistics.unit_pairs import Key, UnitChoice, pair_units

Better: TypeAlias = Literal["higher", "lower"]
Ties: TypeAlias = Literal["mean", "min"]
"""Readers with the same number share the mean of their ranks (1, 2.5, 2.5, 4) or the best of them
(1, 2, 2, 4)."""

EXACT = 50
"""Cases that differ, up to which the signed-rank test is exact."""
DIGITS = 12
"""Decimals that count: what differs by less is tied, whatever the order of additions was."""


@dataclass(frozen=True)
class RankRange(Result):
    """The rank of one reader, and the ranks that draws of the cases leave to it."""

    reader: str
    value: float
    rank: float
    low: float | None
    high: float | None
    mean_rank: float | None
    first: float | None
    """Share of the draws in which no other reader is better."""
    best: int | None = None
    """Best rank of the confidence set: one more than the readers who are surely better."""
    worst: int | None = None
    """Worst rank of it. The sets of all readers hold together, with the level of the ranking."""

    def __str__(self) -> str:
        text = f"{self.rank:g}. {self.reader} {format_number(self.value)}"
        if self.low is None:
            return text
        sure = "" if self.best is None else f"; surely {self.best} to {self.worst}"
        return f"{text} (rank {self.low:g} to {self.high:g}{sure})"


@dataclass(frozen=True)
class Ranking(Result):
    """All readers by one metric, the best first."""

    ranks: tuple[RankRange, ...]
    better: Better
    ties: Ties
    n: int
    clusters: int
    draws: int
    undefined: int
    """Draws in which the metric of some reader is undefined; they are left out."""
    level: float
    left_out: Mapping[str, int]
    note: str = ""

    def __str__(self) -> str:
        return "; ".join([*map(str, self.ranks), *([self.note] if self.note else [])])


@dataclass(frozen=True)
class PairTest(Result):
    """Two readers' scores case by case, by Wilcoxon's signed-rank test."""

    first: str
    second: str
    n: int
    zeros: int
    """Cases with equal scores, which the test leaves out."""
    statistic: float
    """The smaller of the two sums of ranks."""
    p: float
    """Two-sided; 1 where no case differs."""
    adjusted: float
    """After Holm, over all pairs."""
    ahead: str
    """The reader whom the ranks favour; empty where they favour none."""

    def __str__(self) -> str:
        ahead = f"{self.ahead} ahead" if self.ahead else "neither ahead"
        return f"{self.first} and {self.second}: {ahead}, Holm {format_p(self.adjusted)}"


@dataclass(frozen=True)
class RankGroup(Result):
    """Readers whom equally many others beat significantly; rank 1 is beaten by none."""

    rank: int
    readers: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.rank}. {', '.join(self.readers)}"


@dataclass(frozen=True)
class Significance(Result):
    """Which readers differ by more than chance, pair by pair, and the groups that follow."""

    tests: tuple[PairTest, ...]
    groups: tuple[RankGroup, ...]
    ranges: Mapping[str, tuple[int, int]]
    """Reader → best and worst rank that the significant differences leave open."""
    better: Better
    n: int
    level: float
    left_out: Mapping[str, int]
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "; ".join([*map(str, self.groups), *self.notes])


def rank_ranges(
    combine: Combine,
    readers: Mapping[str, Mapping[Key, Statistics]],
    *,
    better: Better,
    clusters: Mapping[Key, str] | None = None,
    units: UnitChoice = "same",
    ties: Ties = "mean",
    draws: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> Ranking:
    """Rank readers by one metric, and again in every draw of the cases (the same for all readers).

    The range runs from the lower to the upper percentile of a reader's ranks, each taken to the
    outer rank where it falls between two. It says how ranks move, and is too narrow where readers lie
    close together; the confidence set beside it (see `rank_sets`) is the one to go by.

    >>> sure = {i: {"right": int(i % 10 < 9), "asked": 1} for i in range(200)}
    >>> weak = {i: {"right": int(i % 10 < 3), "asked": 1} for i in range(200)}
    >>> both = {"weak": weak, "sure": sure}
    >>> print(rank_ranges(lambda s: s.ratio("right", "asked"), both, better="higher"))
    1. sure 0.900 (rank 1 to 1; surely 1 to 1); 2. weak 0.300 (rank 2 to 2; surely 2 to 2)
    """
    check_level(level)
    _check_choice(better, ties)
    lined = pair_units(readers, clusters, units=units)
    drawn = BootstrapDraws(lined.clusters, draws=draws, seed=seed)
    for rows in lined.rows.values():
        check_rows(rows, drawn)

    def values(weights: Numbers) -> Numbers:
        each = [evaluate({"": combine}, rows, weights)[""] for rows in lined.rows.values()]
        return np.stack(each, axis=1)

    names = list(lined.rows)
    once = values(np.ones((1, len(lined.clusters))))
    if np.isnan(once).any():
        lost = names[int(np.argmax(np.isnan(once[0])))]
        raise UsageError(f"the metric of {lost!r} is undefined", remedy="rank without this reader")
    rank = _rank_values(once, better, ties)[0]
    note, low, high, sets = "", None, None, None
    pieces = [values(weights) for weights in drawn.blocks()]
    known = np.concatenate([*pieces, np.zeros((0, len(names)))])
    known = known[~np.isnan(known).any(axis=1)]
    if drawn.clusters < 2:
        note = "no ranges: there is only one cluster"
    elif not len(known):
        note = "no ranges: nothing was drawn, or every draw is undefined"
    else:
        again = _rank_values(known, better, ties)
        low = np.quantile(again, (1 - level) / 2, axis=0, method="lower")
        high = np.quantile(again, (1 + level) / 2, axis=0, method="higher")
        mean = again.mean(axis=0)
        first = (_rank_values(known, better, "min") == 1).mean(axis=0)
        if drawn.clusters >= FEWEST:
            shares = all(_is_share(combine, rows) for rows in lined.rows.values())
            sets = rank_sets(
                once[0], known, better=better, clusters=drawn.clusters, level=level, shares=shares
            )
    order = sorted(range(len(names)), key=lambda i: (rank[i], names[i]))
    return Ranking(
        ranks=tuple(
            RankRange(
                reader=names[i],
                value=float(once[0, i]),
                rank=float(rank[i]),
                low=None if low is None else float(low[i]),
                high=None if high is None else float(high[i]),
                mean_rank=None if low is None else float(mean[i]),
                first=None if low is None else float(first[i]),
                best=None if sets is None else sets[i][0],
                worst=None if sets is None else sets[i][1],
            )
            for i in order
        ),
        better=better,
        ties=ties,
        n=len(lined.clusters),
        clusters=drawn.clusters,
        draws=draws,
        undefined=sum(map(len, pieces)) - len(known),
        level=level,
        left_out=lined.left_out,
        note=note,
    )


def rank_sets(
    values: Numbers, drawn: Numbers, *, better: Better, clusters: int, level: float, shares: bool = False
) -> list[tuple[int, int]]:
    """Best and worst rank of each reader, all of them right at once with the given level.

    After Mogstad, Romano, Shaikh and Wilhelm (2024): the differences of all pairs are studentised, and
    the largest deviation among them in each draw gives how far a difference must be from zero. A
    reader's best rank is one more than the readers surely better, its worst leaves out those surely
    worse. `drawn` has one line a draw and one column a reader. Few clusters widen the sets as Student's
    t does; between shares one unit more is reckoned with on either side, as in Bonett and Price's
    interval.

    >>> drawn = np.random.default_rng(0).normal([0.9, 0.5, 0.48], 0.05, size=(999, 3))
    >>> rank_sets(np.array([0.9, 0.5, 0.48]), drawn, better="higher", clusters=100, level=0.95)
    [(1, 1), (2, 3), (2, 3)]
    """
    from scipy.special import ndtri

    readers = len(values)
    one, two = np.triu_indices(readers, 1)
    apart = values[one] - values[two]
    moved = drawn[:, one] - drawn[:, two]
    variance = moved.var(axis=0) * clusters / (clusters - 1)
    variance[variance < 10.0 ** (-2 * DIGITS)] = 0.0
    if shares:
        variance += 2 / (clusters + 2) ** 2
    spread = np.sqrt(variance)
    sure = np.zeros((readers, readers), dtype=bool)
    if len(one):
        known = spread > 0
        far = np.abs(moved[:, known] - apart[known]) / spread[known]
        limit = float(np.quantile(far.max(axis=1), level)) if known.any() else 0.0
        limit *= t_quantile(clusters, level) / float(ndtri((1 + level) / 2))
        ahead = np.abs(apart) > np.maximum(limit * spread, 10.0**-DIGITS)
        first = (apart > 0) == (better == "higher")
        sure[one[ahead & first], two[ahead & first]] = True
        sure[two[ahead & ~first], one[ahead & ~first]] = True
    return [(1 + int(sure[:, i].sum()), readers - int(sure[i].sum())) for i in range(readers)]


def _is_share(combine: Combine, rows: Sequence[Statistics]) -> bool:
    """Whether the number is a share of units that are right or wrong."""
    sample = Sample(rows)
    asked = find_quotient(combine, sample) if rows else None
    if asked is None:
        return False
    return is_counts(sample.column(asked[0]), sample.column(asked[1]))


def significance(
    scores: Mapping[str, Mapping[Key, float]],
    *,
    better: Better,
    clusters: Mapping[Key, str] | None = None,
    units: UnitChoice = "same",
    level: float = 0.95,
) -> Significance:
    """Test every pair of readers on their scores case by case (Wilcoxon signed-rank, Holm).

    With clusters, scores are first averaged within each, since the test takes what it is given
    for independent. A reader's rank is one more than the number of readers who beat it.

    >>> low = {i: i / 100 for i in range(40)}
    >>> high = {i: i / 100 + 0.1 + i / 1000 for i in range(40)}
    >>> print(significance({"a": low, "b": high}, better="higher"))
    1. b; 2. a
    """
    check_level(level)
    _check_choice(better, "mean")
    lined = pair_units(scores, clusters, units=units)
    table = {}
    notes = []
    codes = np.unique(lined.clusters, return_inverse=True)[1] if lined.clusters else np.zeros(0, int)
    sizes = np.bincount(codes)
    if sizes.max(initial=1) > 1:
        notes.append(f"{len(codes)} scores averaged within {len(sizes)} clusters")
    for name, own in lined.rows.items():
        values = np.array(own, dtype=np.float64)
        if not np.isfinite(values).all():
            raise UsageError(
                f"a score of {name!r} is {float(values[~np.isfinite(values)][0])}",
                remedy="give a number for every case, the worst one where there is none",
            )
        table[name] = np.bincount(codes, weights=values) / sizes
    found = []
    for first, second in itertools.combinations(table, 2):
        apart = table[first] - table[second]
        found.append((first, second, *signed_rank(apart)))
    adjusted = holm([p for *_, p in found])
    tests = []
    for (first, second, plus, minus, p), after in zip(found, adjusted, strict=True):
        ahead = "" if plus == minus else first if (plus > minus) == (better == "higher") else second
        zeros = int((np.round(table[first] - table[second], DIGITS) == 0).sum())
        tests.append(PairTest(first, second, len(sizes), zeros, min(plus, minus), p, after, ahead))
    beaten = dict.fromkeys(table, 0)
    beats = dict.fromkeys(table, 0)
    for test in tests:
        # Holm's p equal to the error is significant, as in its definition.
        if test.ahead and test.adjusted <= 1 - level + 1e-12:
            beats[test.ahead] += 1
            beaten[test.second if test.ahead == test.first else test.first] += 1
    groups = [
        RankGroup(losses + 1, tuple(sorted(name for name in table if beaten[name] == losses)))
        for losses in sorted(set(beaten.values()))
    ]
    return Significance(
        tests=tuple(tests),
        groups=tuple(groups),
        ranges={name: (1 + beaten[name], len(table) - beats[name]) for name in table},
        better=better,
        n=len(sizes),
        level=level,
        left_out=lined.left_out,
        notes=tuple(notes),
    )


def signed_rank(apart: Numbers) -> tuple[float, float, float]:
    """Wilcoxon's test of differences: the sums of ranks above and below zero, and two-sided p.

    Zeros are left out, ties share their mean rank. Exact up to 50 differences, ties included;
    beyond that normal, corrected for ties but not for continuity.

    >>> signed_rank(np.array([1.0, 2.0, 3.0, 4.0, -5.0]))
    (10.0, 5.0, 0.625)
    """
    from scipy.special import ndtr
    from scipy.stats import rankdata

    apart = np.round(apart, DIGITS)
    apart = apart[apart != 0]
    n = len(apart)
    if n == 0:
        return 0.0, 0.0, 1.0
    ranks = rankdata(np.abs(apart))
    plus, minus = float(ranks[apart > 0].sum()), float(ranks[apart < 0].sum())
    if n > EXACT:
        same = np.unique(ranks, return_counts=True)[1].astype(np.float64)
        variance = n * (n + 1) * (2 * n + 1) / 24 - float((same**3 - same).sum()) / 48
        return plus, minus, min(1.0, 2 * float(ndtr(-abs(plus - minus) / 2 / math.sqrt(variance))))
    # Each rank is above or below zero with equal chance: add one after the other, in halves.
    chances = np.ones(1)
    for double in np.rint(2 * ranks).astype(int).tolist():
        longer = np.zeros(len(chances) + double)
        longer[: len(chances)] += chances / 2
        longer[double:] += chances / 2
        chances = longer
    tail = float(chances[: round(2 * min(plus, minus)) + 1].sum())
    return plus, minus, min(1.0, 2 * tail)


def holm(values: Sequence[float]) -> list[float]:
    """p adjusted for being one of several, by Holm's step-down rule.

    >>> [round(p, 2) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    if any(not 0 <= p <= 1 for p in values):
        raise UsageError("a p is not between 0 and 1", remedy="leave undefined tests out")
    adjusted = [0.0] * len(values)
    reached = 0.0
    for step, place in enumerate(sorted(range(len(values)), key=lambda i: values[i])):
        reached = max(reached, min(1.0, (len(values) - step) * values[place]))
        adjusted[place] = reached
    return adjusted


def _rank_values(values: Numbers, better: Better, ties: Ties) -> Numbers:
    """Ranks along each line, 1 for the best."""
    from scipy.stats import rankdata

    method = "average" if ties == "mean" else "min"
    signed = np.round(-values if better == "higher" else values, DIGITS)
    ranks: Numbers = rankdata(signed, method=method, axis=1).astype(np.float64)
    return ranks


def _check_choice(better: str, ties: str) -> None:
    if better not in ("higher", "lower"):
        raise UsageError(f"no direction {better!r}", remedy="'higher' or 'lower' is better")
    if ties not in ("mean", "min"):
        raise UsageError(f"no rule for ties {ties!r}", remedy="'mean' or 'min'")
