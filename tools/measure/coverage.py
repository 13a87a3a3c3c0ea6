"""How often intervals, rank sets and tests are right, by simulation: the tables of docs/grading.md.

.venv/bin/python -m tools.measure.coverage
.venv/bin/python -m tools.measure.coverage --quick
.venv/bin/python -m tools.measure.coverage --part shares --repeats 5000 --seed 1

Samples are drawn from distributions whose truth is known. Clustered ones have one to six units a
patient, correlated by .3 on the scale of a latent normal. Everything is computed by the functions that
score, beside the percentile bootstrap that used to be the only interval.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtr, ndtri

from overread.metrics.choice import BINS, calibration_error, calibration_error_debiased
from overread.metrics.sample import Sample
from overread.metrics.statistics.interval_rule import (
    FEWEST,
    Bounds,
    Ends,
    cluster_totals,
    jackknife_interval,
    leave_one_out_ratios,
    paired_share_interval,
    share_interval,
)
from overread.metrics.statistics.paired_tests import centred_p
from overread.metrics.statistics.ranks import rank_sets
from overread.metrics.statistics.swap_test import swap_totals

Numbers = NDArray[np.float64]
Random = np.random.Generator

SIZES = (4, 5, 10, 20, 50, 100)
SHARES = (0.5, 0.9, 0.97)
LEVEL = 0.95
CORRELATION = 0.3
MOST_UNITS = 6
DRAWS = 400
"""Draws of the percentile bootstrap in each sample: enough to measure its coverage to a percent."""
MOST_DRAWN = 400
"""Samples that are drawn from as well; what is no longer used need not be known so well."""
FLAT = 1e-9
"""Width below which an interval has none."""
UNIT = Bounds(0.0, 1.0)


@dataclass(frozen=True)
class Coverage:
    """How an interval did over many samples."""

    rule: float
    """Share of the samples whose interval by the rule holds the truth."""
    drawn: float
    """The same for the percentile bootstrap."""
    rule_flat: float
    """Share of intervals without width."""
    drawn_flat: float
    width: float
    """Mean width by the rule."""


@dataclass(frozen=True)
class Kind:
    """A distribution of the scores of units, by its quantiles."""

    name: str
    quantiles: Callable[[Numbers], Numbers]
    bounds: Bounds = UNIT

    @property
    def mean(self) -> float:
        """Its true mean."""
        return float(self.quantiles((np.arange(400_000) + 0.5) / 400_000).mean())


def with_misses(missed: float, one: float, other: float) -> Callable[[Numbers], Numbers]:
    """Zero for a share of the units, else from a beta distribution."""
    return lambda u: np.where(
        u < missed, 0.0, betaincinv(one, other, np.clip((u - missed) / (1 - missed), 0, 1))
    )


KINDS = (
    Kind("middling, Beta(2, 2), mean .50", lambda u: betaincinv(2.0, 2.0, u)),
    Kind("Dice with 15 % missed, mean .68", with_misses(0.15, 8.0, 2.0)),
    Kind("high, Beta(9, 1), mean .90", lambda u: betaincinv(9.0, 1.0, u)),
    Kind("very high, Beta(20, .6), mean .97", lambda u: betaincinv(20.0, 0.6, u)),
    Kind("distances, exponential", lambda u: -np.log1p(-u), Bounds(0.0)),
)
RARE = Kind("Dice with 5 % missed, else .97", with_misses(0.05, 30.0, 1.0))


def draw_units(random: Random, n: int, *, clustered: bool) -> tuple[Numbers, NDArray[np.int64]]:
    """Uniform numbers of the units of n patients, and whose each is."""
    sizes = random.integers(1, MOST_UNITS + 1, n) if clustered else np.ones(n, dtype=np.int64)
    codes = np.repeat(np.arange(n), sizes)
    shared = CORRELATION if clustered else 0.0
    latent = math.sqrt(shared) * random.normal(size=n)[codes]
    return ndtr(latent + math.sqrt(1 - shared) * random.normal(size=len(codes))), codes


def draw_quotients(random: Random, top: Numbers, bottom: Numbers, draws: int = DRAWS) -> Numbers:
    """Quotients of totals in draws of whole patients."""
    n = len(top)
    counts = random.multinomial(n, np.full(n, 1 / n), size=draws)
    below = counts @ bottom
    return (counts @ top)[below > 0] / below[below > 0]


def measure_coverage(
    random: Random,
    repeats: int,
    truth: float,
    sample: Callable[[], tuple[Numbers, Numbers]],
    rule: Callable[[Numbers, Numbers], Ends],
) -> Coverage:
    """Draw samples (totals of each patient), and count how often their intervals hold the truth."""
    held = flat = held_drawn = flat_drawn = 0
    width = 0.0
    compared = min(repeats, MOST_DRAWN)
    for number in range(repeats):
        top, bottom = sample()
        ends = rule(top, bottom)
        assert ends.low is not None
        assert ends.high is not None
        held += ends.low <= truth <= ends.high
        flat += ends.high - ends.low < FLAT
        width += ends.high - ends.low
        if number < compared:
            low, high = np.quantile(draw_quotients(random, top, bottom), [0.025, 0.975])
            held_drawn += bool(low <= truth <= high)
            flat_drawn += bool(high - low < FLAT)
    return Coverage(
        held / repeats, held_drawn / compared, flat / repeats, flat_drawn / compared, width / repeats
    )


def share_coverage(random: Random, n: int, share: float, repeats: int, *, clustered: bool) -> Coverage:
    """The interval of a share of right answers of n patients."""

    def sample() -> tuple[Numbers, Numbers]:
        units, codes = draw_units(random, n, clustered=clustered)
        right = (units < share).astype(np.float64)
        return cluster_totals(codes, right), cluster_totals(codes, np.ones(len(codes)))

    return measure_coverage(
        random, repeats, share, sample, lambda t, b: share_interval(t, b, level=LEVEL, fewest=2)
    )


def mean_coverage(random: Random, n: int, kind: Kind, repeats: int, *, clustered: bool) -> Coverage:
    """The interval of a mean score of the units of n patients."""

    def sample() -> tuple[Numbers, Numbers]:
        units, codes = draw_units(random, n, clustered=clustered)
        return cluster_totals(codes, kind.quantiles(units)), cluster_totals(codes, np.ones(len(codes)))

    return measure_coverage(random, repeats, kind.mean, sample, _mean_rule(kind.bounds))


def pooled_f1_coverage(random: Random, n: int, repeats: int) -> Coverage:
    """The interval of an F1 over the lesions of n patients; each has a skill of its own."""
    lesions, surplus = 2.0, 0.8

    def sample() -> tuple[Numbers, Numbers]:
        there = 1 + random.poisson(lesions - 1, n)
        found = random.binomial(there, random.beta(3, 1.5, n))
        told = found + there + random.poisson(surplus, n)
        return (2 * found).astype(np.float64), told.astype(np.float64)

    hit = lesions * 3 / 4.5
    return measure_coverage(random, repeats, 2 * hit / (hit + lesions + surplus), sample, _mean_rule(UNIT))


def _mean_rule(bounds: Bounds) -> Callable[[Numbers, Numbers], Ends]:
    def rule(top: Numbers, bottom: Numbers) -> Ends:
        left_out = leave_one_out_ratios(top, bottom)
        return jackknife_interval(top.sum() / bottom.sum(), left_out, bounds, level=LEVEL, fewest=2)

    return rule


@dataclass(frozen=True)
class TestSize:
    """How often two equal readers come out different at 5 %, and how often the interval holds 0."""

    swaps: float
    drawn: float
    """The same for p from draws centred on zero."""
    held: float


def paired_size(random: Random, n: int, kind: Kind | None, repeats: int, *, clustered: bool) -> TestSize:
    """Two equally good readers of the same patients; without a kind of score, right or wrong at .8."""
    swapped = drawn = held = 0
    for _ in range(repeats):
        units, codes = draw_units(random, n, clustered=clustered)
        # What a case is like is shared by the readers, and each has its own luck.
        both = [
            ndtr(math.sqrt(0.6) * ndtri(units) + math.sqrt(0.4) * random.normal(size=len(units)))
            for _ in range(2)
        ]
        one, two = ((u < 0.8).astype(np.float64) if kind is None else kind.quantiles(u) for u in both)
        bottom = cluster_totals(codes, np.ones(len(codes)))
        tops = [cluster_totals(codes, own) for own in (one, two)]
        seed = int(random.integers(1 << 30))
        p = swap_totals((tops[0], bottom), (tops[1], bottom), draws=999, seed=seed).p
        assert p is not None
        swapped += p <= 0.05
        apart = tops[0] - tops[1]
        value = float(apart.sum() / bottom.sum())
        drawn += centred_p(value, draw_quotients(random, apart, bottom)) <= 0.05
        if kind is None:
            ends = paired_share_interval(one - two, codes, level=LEVEL)
        else:
            left_out = leave_one_out_ratios(apart, bottom)
            ends = jackknife_interval(value, left_out, Bounds(), level=LEVEL)
        held += ends.low is None or ends.high is None or ends.low <= 0 <= ends.high
    return TestSize(swapped / repeats, drawn / repeats, held / repeats)


@dataclass(frozen=True)
class RankCoverage:
    """How often ranks are right: all at once by the sure sets, and the least covered reader's."""

    sets: float
    least_of_sets: float
    least_drawn: float
    """The least covered reader by the range of ranks in draws."""
    ranks_left: float
    """Mean number of ranks in a set."""


def rank_coverage(
    random: Random, n: int, shares: Sequence[float], repeats: int, *, alike: float
) -> RankCoverage:
    """Readers who are right as often as told, on the same n cases; `alike`: how far they err together."""
    truth = np.array([1 + sum(other > own for other in shares) for own in shares])
    readers, every = len(shares), 0
    held, held_drawn = np.zeros(readers), np.zeros(readers)
    left = 0.0
    for _ in range(repeats):
        latent = math.sqrt(alike) * random.normal(size=(n, 1))
        latent = latent + math.sqrt(1 - alike) * random.normal(size=(n, readers))
        right = (latent < ndtri(shares)).astype(np.float64)
        drawn = random.multinomial(n, np.full(n, 1 / n), size=DRAWS) @ right / n
        sets = rank_sets(right.mean(axis=0), drawn, better="higher", clusters=n, level=LEVEL, shares=True)
        low, high = np.array(sets).T
        fine = (low <= truth) & (truth <= high)
        held += fine
        every += bool(fine.all())
        left += float((high - low + 1).mean())
        order = (drawn[:, None, :] > drawn[:, :, None] + 1e-12).sum(axis=2)
        ties = (np.abs(drawn[:, None, :] - drawn[:, :, None]) <= 1e-12).sum(axis=2)
        ranks = order + (ties + 1) / 2
        ends = (
            np.quantile(ranks, 0.025, axis=0, method="lower"),
            np.quantile(ranks, 0.975, axis=0, method="higher"),
        )
        held_drawn += (ends[0] <= truth) & (truth <= ends[1])
    return RankCoverage(
        every / repeats, float(held.min()) / repeats, float(held_drawn.min()) / repeats, left / repeats
    )


@dataclass(frozen=True)
class CalibrationBias:
    """Mean calibration error over many samples, as it is and debiased, and what it is without end."""

    truth: float
    plain: float
    debiased: float


def calibration_bias(random: Random, n: int, repeats: int, *, too_sure: float = 0.0) -> CalibrationBias:
    """A reader of n cases whose confidence is too high by so much, from .2 to 1 as five options give."""
    plain, debiased = [], []
    for _ in range(repeats):
        sure = 0.2 + 0.8 * random.beta(2, 1.2, n)
        right = random.random(n) < np.maximum(sure - too_sure, 0)
        place = np.clip(np.ceil(sure * BINS).astype(int) - 1, 0, BINS - 1)
        rows = [
            {"asked": 1, f"bin:{b}:n": 1, f"bin:{b}:sure": float(s), f"bin:{b}:right": int(r)}
            for b, s, r in zip(place, sure, right, strict=True)
        ]
        plain.append(calibration_error(Sample(rows))[0])
        debiased.append(calibration_error_debiased(Sample(rows))[0])
    return CalibrationBias(too_sure, float(np.mean(plain)), float(np.mean(debiased)))


# ---- tables ----------------------------------------------------------------------------------


def share_lines(random: Random, repeats: int) -> Iterator[str]:
    """Coverage for shares."""
    yield from _head("share", "patients", *_COVERAGE_HEADS)
    for share in SHARES:
        for n in SIZES:
            found = [share_coverage(random, n, share, repeats, clustered=c) for c in (False, True)]
            yield _line(f"{share:g}", _size(n), *_cells(found))


def mean_lines(random: Random, repeats: int) -> Iterator[str]:
    """Coverage for means."""
    yield from _head("mean of", "patients", *_COVERAGE_HEADS)
    for kind in (*KINDS, RARE):
        for n in SIZES:
            found = [mean_coverage(random, n, kind, repeats, clustered=c) for c in (False, True)]
            yield _line(kind.name, _size(n), *_cells(found))
    for n in SIZES[1:]:
        yield _line(
            "pooled F1 of lesions", _size(n), *_cells([pooled_f1_coverage(random, n, repeats)]), *"–––"
        )


def paired_lines(random: Random, repeats: int) -> Iterator[str]:
    """How often equal readers come out different."""
    heads = ("one unit: swaps", "draws", "interval", "several: swaps", "draws", "interval")
    yield from _head("equal readers", "patients", *heads)
    for name, kind in (("right or wrong", None), ("Dice with 15 % missed", KINDS[1])):
        for n in SIZES[1:]:
            cells = []
            for clustered in (False, True):
                found = paired_size(random, n, kind, repeats, clustered=clustered)
                cells += [found.swaps, found.drawn, found.held]
            yield _line(name, _size(n), *map(_share, cells))


def rank_lines(random: Random, repeats: int) -> Iterator[str]:
    """Coverage for ranks."""
    close = (0.70, 0.705, 0.71, 0.715, 0.72)
    heads = ("all sets hold", "least of sets", "least of ranges", "ranks in a set")
    yield from _head("five readers", "cases", "err together", *heads)
    for name, shares in (("half a point apart", close), ("ten points apart", (0.5, 0.6, 0.7, 0.8, 0.9))):
        for n in (10, 20, 100, 720):
            for alike in (0.0, 0.6, 0.95):
                found = rank_coverage(random, n, shares, repeats, alike=alike)
                cells = map(_share, (found.sets, found.least_of_sets, found.least_drawn))
                yield _line(name, str(n), f"{alike:g}", *cells, f"{found.ranks_left:.1f}")


def calibration_lines(random: Random, repeats: int) -> Iterator[str]:
    """Bias of the calibration error."""
    yield from _head("too sure by", "cases", "calibration_error", "calibration_error_debiased")
    for too_sure in (0.0, 0.05, 0.1, 0.2):
        for n in (50, 100, 200, 720):
            found = calibration_bias(random, n, max(20, repeats // 4), too_sure=too_sure)
            yield _line(f"{too_sure:g}", str(n), f"{found.plain:.3f}", f"{found.debiased:.3f}")


_COVERAGE_HEADS = ("one unit: rule", "draws", "flat draws", "several: rule", "draws", "flat draws")


def _head(*names: str) -> Iterator[str]:
    yield _line(*names)
    yield f"|{'---|' * len(names)}"


def _cells(found: Sequence[Coverage]) -> list[str]:
    return [_share(value) for own in found for value in (own.rule, own.drawn, own.drawn_flat)]


def _size(n: int) -> str:
    return f"{n} (not given)" if n < FEWEST else str(n)


def _share(value: float) -> str:
    """A share to three places without its zero; cut, not rounded, so that it never looks better."""
    return f"{math.floor(value * 1000 + 1e-9) / 1000:.3f}".removeprefix("0")


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


PARTS = {
    "shares": share_lines,
    "means": mean_lines,
    "paired": paired_lines,
    "ranks": rank_lines,
    "calibration": calibration_lines,
}


def main(words: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", choices=PARTS, action="append")
    parser.add_argument("--repeats", type=int, default=2000, help="samples for each line")
    parser.add_argument("--quick", action="store_true", help="200 samples for each line")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(words)
    for part in given.part or PARTS:
        print(f"\n{part}\n")
        for line in PARTS[part](np.random.default_rng(given.seed), 200 if given.quick else given.repeats):
            print(line, flush=True)


if __name__ == "__main__":
    main()
