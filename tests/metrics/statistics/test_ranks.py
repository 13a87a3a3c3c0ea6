"""Ranks of many readers, against loops, scipy's Wilcoxon test and statsmodels' Holm."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm, rankdata, wilcoxon
from statsmodels.stats.multitest import multipletests

from overread.errors import UsageError
from overread.metrics.sample import Numbers, Sample
from overread.metrics.statistics.interval_rule import FEWEST, t_quantile
from overread.metrics.statistics.ranks import (
    Better,
    Ties,
    holm,
    rank_ranges,
    rank_sets,
    signed_rank,
    significance,
)
from tools.measure.coverage import rank_coverage

Scores = dict[str, dict[str, float]]


def mean(sample: Sample) -> Numbers:
    return sample.ratio("score", "one")


def made(readers: int, n: int, *, step: float = 0.1, seed: int = 0) -> Scores:
    random = np.random.default_rng(seed)
    hard = random.normal(size=n)
    return {
        f"r{k}": {f"{i:03d}": float(hard[i] + step * k + random.normal(0, 0.5)) for i in range(n)}
        for k in range(readers)
    }


def rows(scores: Scores) -> dict[str, dict[str, dict[str, Any]]]:
    return {
        name: {unit: {"score": score, "one": 1} for unit, score in own.items()}
        for name, own in scores.items()
    }


@pytest.mark.parametrize("better", ["higher", "lower"])
@pytest.mark.parametrize("ties", ["mean", "min"])
@pytest.mark.parametrize("draws", [300, 13, 6])
def test_rank_ranges_are_those_of_a_loop(better: Better, ties: Ties, draws: int) -> None:
    """Drawing patients, averaging and ranking one draw after the other gives the same ranges."""
    scores = {
        name: {unit: float(round(score)) for unit, score in own.items()}
        for name, own in made(5, 24, step=0.3).items()
    }
    clusters = {unit: f"p{int(unit) % 8}" for unit in scores["r0"]}
    found = rank_ranges(mean, rows(scores), better=better, ties=ties, clusters=clusters, draws=draws, seed=4)
    random, again = np.random.default_rng(4), []
    sign = -1 if better == "higher" else 1
    for _ in range(draws):
        picked = random.integers(0, 8, size=8)
        units = [u for i in picked for u in clusters if clusters[u] == f"p{i}"]
        # Sums of whole numbers: ties are exact.
        sums = [sign * sum(own[u] for u in units) for own in scores.values()]
        again.append(rankdata(sums, method="average" if ties == "mean" else "min"))
    for i, name in enumerate(scores):
        own = next(rank for rank in found.ranks if rank.reader == name)
        column = sorted(line[i] for line in again)
        ends = (column[math.floor(0.025 * (draws - 1))], column[math.ceil(0.975 * (draws - 1))])
        assert (own.low, own.high) == ends
        assert own.mean_rank == pytest.approx(np.mean(column))
    assert (found.n, found.clusters, found.undefined) == (24, 8, 0)


def test_direction_and_order() -> None:
    """The best comes first, whichever direction is better, and values are plain means."""
    scores = made(4, 60, step=1.0)
    up = rank_ranges(mean, rows(scores), better="higher")
    down = rank_ranges(mean, rows(scores), better="lower")
    assert [rank.reader for rank in up.ranks] == ["r3", "r2", "r1", "r0"]
    assert [rank.reader for rank in down.ranks] == ["r0", "r1", "r2", "r3"]
    assert up.ranks[0].value == pytest.approx(np.mean(list(scores["r3"].values())))
    assert (up.ranks[0].low, up.ranks[0].high, up.ranks[0].first) == (1, 1, 1)


@pytest.mark.parametrize(("ties", "expected"), [("mean", [1, 2.5, 2.5, 4]), ("min", [1, 2, 2, 4])])
def test_equal_readers_share_a_rank(ties: Ties, expected: list[float]) -> None:
    """Twins share the mean or the best of their ranks, in every draw, whatever order adds up."""
    scores = made(3, 30, step=2.0)
    # The same numbers, summed from other summands: equal but for the last bit.
    scores["twin"] = {unit: score / 3 * 3 for unit, score in scores["r1"].items()}
    found = rank_ranges(mean, rows(scores), better="higher", ties=ties)
    assert [rank.rank for rank in found.ranks] == expected
    assert [(rank.low, rank.high) for rank in found.ranks] == [(rank, rank) for rank in expected]


def test_too_little_to_rank_is_said() -> None:
    """One cluster or no draws: ranks without ranges and a note; an undefined metric is refused."""
    one = rank_ranges(mean, rows(made(2, 1)), better="higher")
    assert one.ranks[0].low is None
    assert "one cluster" in str(one)
    none = rank_ranges(mean, rows(made(2, 9)), better="higher", draws=0)
    assert "nothing was drawn" in none.note
    with pytest.raises(UsageError, match="'r0' is undefined"):
        rank_ranges(mean, rows(made(2, 0)), better="higher")
    for found in (one, none):
        json.dumps(found.as_dict(), allow_nan=False)


def test_draws_without_a_number_are_counted() -> None:
    """A draw in which one reader's metric is undefined is left out for all."""
    readers = rows(made(2, 3))
    for unit in ("000", "001"):
        readers["r1"][unit]["one"] = 0
    found = rank_ranges(mean, readers, better="higher", draws=500)
    # The third unit is absent from a draw with (2/3)³.
    assert found.undefined / 500 == pytest.approx(8 / 27, abs=0.06)
    assert found.ranks[0].low is not None


def test_readers_need_the_same_units() -> None:
    """Missing units are refused, or left out and counted where asked for."""
    scores = made(3, 20)
    del scores["r1"]["005"]
    with pytest.raises(UsageError, match="1 units of 'r0'"):
        rank_ranges(mean, rows(scores), better="higher")
    with pytest.raises(UsageError, match="1 units of 'r0'"):
        significance(scores, better="higher")
    assert rank_ranges(mean, rows(scores), better="higher", units="common").left_out == {
        "r0": 1,
        "r1": 0,
        "r2": 1,
    }
    assert significance(scores, better="higher", units="common").n == 19


def halves(apart: list[float]) -> float:
    """The exact p by going through all signs."""
    left = [value for value in apart if value]
    ranks = rankdata(np.abs(left))
    low = min(ranks[np.array(left) > 0].sum(), ranks[np.array(left) < 0].sum())
    sums = [
        sum(rank for rank, sign in zip(ranks, signs, strict=True) if sign)
        for signs in itertools.product((0, 1), repeat=len(left))
    ]
    return min(1.0, 2 * float(np.mean([value <= low for value in sums])))


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9).filter(any))
def test_small_signed_rank_tests_are_exact_with_ties(apart: list[int]) -> None:
    """Going through all signs gives the same p, ties and zeros included."""
    assert signed_rank(np.array(apart, float))[2] == pytest.approx(halves(list(map(float, apart))))


@given(st.integers(1, 50), st.integers(0, 10_000))
def test_exact_signed_rank_is_scipys(n: int, seed: int) -> None:
    """Without ties, scipy.stats.wilcoxon gives the same exact p and statistic."""
    apart = np.random.default_rng(seed).normal(0.2, 1, n)
    theirs = wilcoxon(apart, method="exact")
    plus, minus, p = signed_rank(apart)
    assert min(plus, minus) == theirs.statistic
    assert p == pytest.approx(theirs.pvalue, rel=1e-9)


@given(st.integers(51, 300), st.integers(0, 10_000), st.integers(1, 40))
def test_large_signed_rank_is_scipys(n: int, seed: int, grain: int) -> None:
    """With ties and zeros, scipy's normal approximation without correction gives the same p."""
    apart = np.round(np.random.default_rng(seed).normal(0.1, 1, n) * grain)
    if (apart != 0).sum() <= 50:
        return
    theirs = wilcoxon(apart, method="asymptotic", correction=False, zero_method="wilcox")
    plus, minus, p = signed_rank(apart)
    assert min(plus, minus) == theirs.statistic
    assert p == pytest.approx(theirs.pvalue, rel=1e-9)


def test_no_difference_at_all_is_p_one() -> None:
    """Zeros only (or nothing) give p = 1; a difference of the last bit is none."""
    assert signed_rank(np.zeros(20)) == (0, 0, 1)
    assert signed_rank(np.zeros(0)) == (0, 0, 1)
    assert signed_rank(np.full(20, 0.1 + 0.2) - 0.3)[2] == 1
    assert signed_rank(np.full(60, 1.0))[2] < 1e-9


@settings(max_examples=15)  # statsmodels takes its time
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
@pytest.mark.slow
def test_holm_is_statsmodels(values: list[float]) -> None:
    """multipletests(method="holm") gives the same adjusted p."""
    assert holm(values) == pytest.approx(multipletests(values, method="holm")[1].tolist())


def test_holm_of_nothing_and_of_nonsense() -> None:
    """No p gives none; a p that is none is refused."""
    assert holm([]) == []
    for value in (float("nan"), -0.1, 1.1):
        with pytest.raises(UsageError):
            holm([0.5, value])


@pytest.mark.parametrize("better", ["higher", "lower"])
def test_pairs_are_scipy_and_statsmodels(better: Better) -> None:
    """All pairs by scipy, adjusted by statsmodels, give the tests; who leads is told by direction."""
    scores = made(5, 70, step=0.08)
    found = significance(scores, better=better)
    pairs = list(itertools.combinations(scores, 2))
    plain = [
        wilcoxon(
            list(scores[a].values()), list(scores[b].values()), method="asymptotic", correction=False
        ).pvalue
        for a, b in pairs
    ]
    assert [(test.first, test.second) for test in found.tests] == pairs
    assert [test.p for test in found.tests] == pytest.approx(plain)
    adjusted = multipletests(plain, method="holm")[1]
    assert [test.adjusted for test in found.tests] == pytest.approx(adjusted.tolist())
    beaten = dict.fromkeys(scores, 0)
    for (a, b), p in zip(pairs, adjusted, strict=True):
        apart = np.array(list(scores[a].values())) - np.array(list(scores[b].values()))
        ranks = rankdata(np.abs(apart)) * np.sign(apart)
        ahead = a if (ranks.sum() > 0) == (better == "higher") else b
        if p <= 0.05:
            beaten[b if ahead == a else a] += 1
    assert 0 < sum(beaten.values()) < len(pairs)
    assert {name: low - 1 for name, (low, _) in found.ranges.items()} == beaten
    for group in found.groups:
        assert all(beaten[name] == group.rank - 1 for name in group.readers)
    assert sorted(name for group in found.groups for name in group.readers) == sorted(scores)


def test_ranges_by_significance_when_nobody_is_sure_of_the_middle() -> None:
    """The best beats only the last: the middle may be anywhere from first to last."""
    base = {f"{i:02d}": 0.0 for i in range(8)}
    best = {unit: 1.0 + i / 10 for i, unit in enumerate(base)}
    # Ahead of the last and behind the best in some cases only.
    middle = {unit: (3 + i / 100) * (-1) ** i + 0.6 for i, unit in enumerate(base)}
    found = significance({"last": base, "middle": middle, "best": best}, better="higher")
    sure = {(t.first, t.second) for t in found.tests if t.adjusted <= 0.05}
    assert sure == {("last", "best")}
    assert found.ranges == {"last": (2, 3), "middle": (1, 3), "best": (1, 2)}
    assert str(found) == "1. best, middle; 2. last"


def test_equal_readers_are_one_group() -> None:
    """Readers with the same scores do not beat each other, with p = 1 and no one ahead."""
    own = made(1, 30)["r0"]
    found = significance({"a": own, "b": dict(own)}, better="higher")
    (test,) = found.tests
    assert (test.p, test.adjusted, test.ahead, test.zeros, test.n) == (1, 1, "", 30, 30)
    assert [group.readers for group in found.groups] == [("a", "b")]
    assert "neither ahead" in str(test)


def test_clusters_are_averaged_first() -> None:
    """Scores of one patient count once, as their mean, and the result says so."""
    scores = made(2, 100)
    # Of one, three, five and more cases.
    clusters = {unit: f"p{math.isqrt(int(unit))}" for unit in scores["r0"]}
    means = {
        name: {
            patient: float(np.mean([own[unit] for unit in own if clusters[unit] == patient]))
            for patient in clusters.values()
        }
        for name, own in scores.items()
    }
    found = significance(scores, better="higher", clusters=clusters)
    plain = significance(means, better="higher")
    assert found.tests == plain.tests
    assert "100 scores averaged within 10 clusters" in str(found)
    assert not plain.notes


def test_one_reader_or_no_case() -> None:
    """Alone, a reader is first; without cases nobody beats anybody."""
    assert significance(made(1, 5), better="higher").groups[0].readers == ("r0",)
    empty = significance({"a": {}, "b": {}}, better="lower")
    assert (empty.tests[0].p, empty.n) == (1, 0)
    json.dumps(empty.as_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("change", "message"),
    [({"better": "bigger"}, "'bigger'"), ({"better": "higher", "ties": "max"}, "'max'")],
)
def test_unknown_choices_are_refused(change: dict[str, Any], message: str) -> None:
    """A direction or rule for ties that there is not is an error."""
    with pytest.raises(UsageError, match=message):
        rank_ranges(mean, rows(made(2, 5)), **change)


def test_scores_that_are_no_numbers_are_refused() -> None:
    """NaN scores and an empty field of readers are errors."""
    scores = made(2, 5)
    scores["r1"]["002"] = float("nan")
    with pytest.raises(UsageError, match="score of 'r1' is nan"):
        significance(scores, better="higher")
    with pytest.raises(UsageError, match="is nan"):
        rank_ranges(mean, rows(scores), better="higher")
    with pytest.raises(UsageError, match="no readers"):
        significance({}, better="higher")


# ---- sets of ranks that hold together --------------------------------------------------------


@pytest.mark.parametrize("better", ["higher", "lower"])
def test_sets_are_those_of_a_loop_over_pairs(better: Better) -> None:
    """Each pair studentised by itself, the largest deviation of each draw noted, then counted."""
    random = np.random.default_rng(2)
    values = np.array([0.5, 0.62, 0.6, 0.9])
    drawn = values + random.normal(0, 0.04, (500, 1)) + random.normal(0, 0.03, (500, 4))
    found = rank_sets(values, drawn, better=better, clusters=30, level=0.9)
    largest = np.zeros(500)
    spread = {}
    for i, j in itertools.permutations(range(4), 2):
        moved = drawn[:, i] - drawn[:, j]
        spread[i, j] = np.std(moved) * math.sqrt(30 / 29)
        largest = np.maximum(largest, np.abs(moved - (values[i] - values[j])) / spread[i, j])
    limit = np.quantile(largest, 0.9) * t_quantile(30, 0.9) / norm.ppf(0.95)
    sign = 1 if better == "higher" else -1
    ahead = {(i, j): sign * (values[i] - values[j]) > limit * spread[i, j] for i, j in spread}
    for i in range(4):
        above = sum(ahead[j, i] for j in range(4) if j != i)
        below = sum(ahead[i, j] for j in range(4) if j != i)
        assert found[i] == (1 + above, 4 - below)
    assert len(set(found)) > 1


def test_sets_of_readers_who_are_alike_or_few_cases() -> None:
    """The same reader twice is never ahead of itself; under five cases there are no sets."""
    scores = made(2, 30, step=2.0)
    scores["copy"] = dict(scores["r0"])
    found = {
        own.reader: (own.best, own.worst) for own in rank_ranges(mean, rows(scores), better="higher").ranks
    }
    assert found == {"r1": (1, 1), "r0": (2, 3), "copy": (2, 3)}
    few = rank_ranges(mean, rows(made(3, FEWEST - 1)), better="higher")
    assert all(own.best is None and own.low is not None for own in few.ranks)
    json.dumps(few.as_dict(), allow_nan=False)


@pytest.mark.parametrize("alike", [0.0, 0.9])
def test_sets_hold_where_readers_lie_close_together(alike: float) -> None:
    """Half a point apart on 100 cases: all five sets hold at once, where the ranges of draws do not."""
    shares = (0.70, 0.705, 0.71, 0.715, 0.72)
    found = rank_coverage(np.random.default_rng(1), 100, shares, 150, alike=alike)
    assert found.sets >= 0.95
    assert found.least_drawn < 0.92
