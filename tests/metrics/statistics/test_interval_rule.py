"""Intervals of few patients: against statsmodels and scipy, by exact coverage, and by simulation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaincinv
from scipy.stats import binom, chi2, norm, t, ttest_1samp
from statsmodels.stats.proportion import proportion_confint

from overread import catalog
from overread.metrics.sample import Numbers, Sample, find_quotient
from overread.metrics.statistics.bootstrap import BootstrapDraws, Interval, breakdown, interval
from overread.metrics.statistics.interval_rule import (
    FEWEST,
    MANY,
    Bounds,
    jackknife_interval,
    metric_bounds,
    paired_share_interval,
    share_interval,
    t_quantile,
    wilson,
)
from overread.metrics.statistics.paired_tests import difference
from overread.metrics.statistics.quantiles import gamma_quantile, student_quantile
from tools.measure.coverage import KINDS, SHARES, SIZES, mean_coverage, pooled_f1_coverage, share_coverage

UNIT = Bounds(0.0, 1.0)


def ratio(sample: Sample) -> Numbers:
    return sample.ratio("top", "bottom")


def hidden_ratio(sample: Sample) -> Numbers:
    """The same number, of which nobody can see that it is a quotient."""
    return sample.ratio("top", "bottom") + 0.0


def rows(tops: Any, bottoms: Any = None) -> list[dict[str, float]]:
    below = np.ones(len(tops)) if bottoms is None else bottoms
    return [{"top": float(t), "bottom": float(b)} for t, b in zip(tops, below, strict=True)]


def names(n: int) -> list[str]:
    return [f"case {i:04d}" for i in range(n)]


def test_quotients_are_known_for_what_they_are() -> None:
    """Whichever way a metric asks for one; what is done with it afterwards makes it something else."""
    once = [{"right": 1, "asked": 1, "hit": 1, "judged": 1, "all_factual": 1, "cases": 1}]
    for name, asked in {
        "accuracy": ("right", "asked"),
        "hit_rate": ("hit", "judged"),
        "case_all_factual": ("all_factual", "cases"),
        "calibration_error": None,
        "overall_instance_f1": None,
    }.items():
        assert find_quotient(catalog.find("metrics", name).combine, Sample(once)) == asked
    assert find_quotient(hidden_ratio, Sample(rows([1, 2]))) is None


@given(st.integers(1, 3000), st.floats(0.5, 0.999), st.floats(0.001, 5), st.floats(0.001, 0.5))
def test_quantiles_are_scipys(freedom: int, level: float, shape: float, chance: float) -> None:
    """Student's t and the gamma distribution, without loading scipy."""
    assert student_quantile(freedom, level) == pytest.approx(t.ppf((1 + level) / 2, freedom), rel=1e-9)
    assert gamma_quantile(shape, chance) == pytest.approx(gammaincinv(shape, chance), rel=1e-8, abs=1e-20)


@given(st.integers(4, 300), st.data(), st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_wilson_is_statsmodels(n: int, data: st.DataObject, level: float) -> None:
    """With the normal quantile the ends are the textbook's, except next to 0 and 1 where they reach
    further out.
    """
    right = data.draw(st.integers(0, n))
    low, high = wilson(right / n, n, float(norm.ppf((1 + level) / 2)), 1 - level)
    theirs = proportion_confint(right, n, alpha=1 - level, method="wilson")
    if right == 0 or right > 3:
        assert low == pytest.approx(theirs[0], abs=1e-12)
    else:
        assert low == pytest.approx(min(theirs[0], chi2.ppf(1 - level, 2 * right) / 2 / n), abs=1e-12)
    if right == n or n - right > 3:
        assert high == pytest.approx(theirs[1], abs=1e-12)
    else:
        assert high >= theirs[1]


@pytest.mark.parametrize(("n", "least"), [(5, 0.94), (10, 0.93), (20, 0.93), (50, 0.93), (100, 0.93)])
def test_shares_are_covered_whatever_they_are(n: int, least: float) -> None:
    """Exactly, from the binomial, for every share from .001 to .999: never below what is promised."""
    counts = np.arange(n + 1)
    ends = [share_interval((np.arange(n) < k).astype(float), np.ones(n), level=0.95) for k in counts.tolist()]
    lows, highs = np.array([[e.low, e.high] for e in ends], dtype=float).T
    assert (highs > lows).all()
    for share in np.linspace(0.001, 0.999, 999):
        inside = (lows <= share) & (share <= highs)
        assert binom.pmf(counts[inside], n, share).sum() >= least, share


def test_clusters_are_worth_less() -> None:
    """Patients whose units are all right or all wrong count as one unit each, and no more."""
    one = share_interval(np.array([1.0] * 12 + [0.0] * 8), np.ones(20), level=0.95)
    ten = share_interval(np.array([10.0] * 12 + [0.0] * 8), np.full(20, 10.0), level=0.95)
    assert one.low is not None
    assert (one.low, one.high) == pytest.approx(wilson(0.6, 20, t_quantile(20, 0.95), 0.05))
    # 200 units with the variance of 20: by the 19 that say how much these vary.
    assert (ten.low, ten.high) == pytest.approx(wilson(0.6, 200 * 19 / 199, t_quantile(20, 0.95), 0.05))
    assert share_interval(np.full(9, 4.0), np.full(9, 4.0), level=0.95) == share_interval(
        np.ones(9), np.ones(9), level=0.95
    )


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_without_bounds_it_is_students(level: float) -> None:
    """scipy's one-sample t gives the same interval of a plain mean."""
    values = np.random.default_rng(1).normal(3, 2, 12)
    found = interval(ratio, rows(values), names(12), level=level)
    theirs = ttest_1samp(values, 0).confidence_interval(level)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high))
    assert found.method == "cluster-t"


def test_leaving_out_in_closed_form_is_leaving_out() -> None:
    """A quotient is left out of by its totals; anything else is combined again: the same interval."""
    random = np.random.default_rng(2)
    clusters = [f"patient {i}" for i in random.integers(0, 15, 60)]
    data = rows(random.beta(4, 2, 60), random.integers(1, 4, 60))
    one, two = (interval(c, data, clusters, bounds=UNIT) for c in (ratio, hidden_ratio))
    assert one.method == two.method == "score-t"
    assert (one.low, one.high) == pytest.approx((two.low, two.high), rel=1e-9)
    plain = [
        sum(r["top"] for r, c in zip(data, clusters, strict=True) if c != name)
        / sum(r["bottom"] for r, c in zip(data, clusters, strict=True) if c != name)
        for name in sorted(set(clusters))
    ]
    by_hand = jackknife_interval(one.value or 0, np.array(plain), UNIT, level=0.95)
    assert (one.low, one.high) == pytest.approx((by_hand.low, by_hand.high))


@given(
    st.lists(st.sampled_from([0.0, 0.25, 0.75, 1.0]), min_size=1, max_size=30),
    st.sampled_from([UNIT, Bounds(), Bounds(0.0), Bounds(0.0, 10.0)]),
)
def test_no_interval_is_flat_or_out_of_bounds(values: list[float], bounds: Bounds) -> None:
    """Whatever the scores: an interval around the number, with a width, or none and why."""
    for combine in (ratio, hidden_ratio):
        found = interval(combine, rows(values), names(len(values)), bounds=bounds)
        if found.low is None:
            assert found.high is None
            assert found.method == "none"
            assert len(values) < FEWEST or (len(set(values)) == 1 and bounds != UNIT)
            assert ("only" if len(values) < FEWEST else "alike") in found.note
        else:
            assert found.high is not None
            assert found.value is not None
            assert found.low <= found.value <= found.high
            assert found.low < found.high
            assert found.low >= bounds.low
            assert found.high <= bounds.high


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_all_right_leaves_room_for_what_was_not_seen(value: float) -> None:
    """Ten of ten, also as a mean of scores, is no proof that the eleventh is right."""
    for combine in (ratio, hidden_ratio):
        found = interval(combine, rows([value] * 10), names(10), bounds=UNIT)
        inner = found.high if value == 0 else 1 - (found.low or 0)
        assert inner == pytest.approx(0.338, abs=0.001)


def test_few_patients_are_named_by_what_they_are() -> None:
    """Under five there is no interval, and the note says of what there are too few."""
    for word, clusters in (("cases", names(4)), ("patients", [f"patient {i}" for i in range(4)])):
        found = interval(ratio, rows([1, 0, 1, 1]), clusters)
        assert (found.low, found.high, found.method) == (None, None, "none")
        assert found.note == f"only 4 {word}: no interval under 5"
    # Rows are no patients.
    found = interval(ratio, rows([1, 0] * 20), names(4) * 10)
    assert found.low is None


def test_many_patients_are_drawn_where_nothing_is_known_of_the_number() -> None:
    """From MANY clusters on a number that is no quotient gets percentiles; quotients never do."""
    random = np.random.default_rng(3)
    data = rows(random.beta(4, 2, MANY))
    draws = BootstrapDraws(names(MANY), draws=200)
    groups = {"all": range(MANY), "some": range(MANY - 1), "few": range(4)}
    found = breakdown({"seen": ratio, "hidden": hidden_ratio}, data, draws, groups, bounds={"hidden": UNIT})
    assert [found["all"][name].method for name in ("seen", "hidden")] == ["cluster-t", "percentile"]
    assert found["some"]["hidden"].method == "score-t"
    assert found["few"]["hidden"].note == "only 4 cases: no interval under 5"
    assert list(found["all"]) == ["seen", "hidden"]
    # Draws that are all alike give no interval without width either.
    alike = breakdown(
        {"hidden": hidden_ratio}, rows([1.0] * MANY), draws, {"": range(MANY)}, bounds={"hidden": UNIT}
    )
    own: Interval = alike[""]["hidden"]
    assert own.low is not None
    assert 0.97 < own.low < own.high == 1  # type: ignore[operator]


def test_without_draws_there_are_no_intervals() -> None:
    """0 draws: that is how people ask for none."""
    found = interval(ratio, rows([1, 0] * 20), names(40), draws=0)
    assert (found.low, found.note) == (None, "nothing was drawn")


def test_bounds_come_from_the_metric() -> None:
    """Best and worst of every metric, whichever way is better."""
    assert metric_bounds(catalog.find("metrics", "brier")) == Bounds(0.0, 2.0)
    assert metric_bounds(catalog.find("metrics", "hd95")) == Bounds(0.0, math.inf)
    for name in catalog.names("metrics"):
        own = metric_bounds(catalog.find("metrics", name))
        assert own.low < own.high, name


def test_paired_shares_are_bonett_and_prices() -> None:
    """Their formula by hand, and readers who agree everywhere still get an interval."""
    apart = np.array([1.0] * 8 + [-1.0] * 3 + [0.0] * 39)
    found = paired_share_interval(apart, np.arange(50), level=0.95)
    more, less = (8 + 1) / 52, (3 + 1) / 52
    half = t_quantile(50, 0.95) * math.sqrt((more + less - (more - less) ** 2) / 52)
    assert (found.low, found.high) == pytest.approx((more - less - half, more - less + half))
    same = paired_share_interval(np.zeros(50), np.arange(50), level=0.95)
    assert same.low == -(same.high or 0) < 0
    doubled = paired_share_interval(np.repeat(apart, 4), np.repeat(np.arange(50), 4), level=0.95)
    assert doubled.low == pytest.approx(found.low, abs=0.005)


def test_a_difference_of_5_to_0_of_720_is_not_sure() -> None:
    """Interval and p agree with the exact test: .0625, and zero is not ruled out."""
    first = {i: {"top": int(i < 605), "bottom": 1} for i in range(720)}
    second = {i: {"top": int(i < 600), "bottom": 1} for i in range(720)}
    found = difference(ratio, first, second, bounds=UNIT)
    assert found.p == pytest.approx(0.0625)
    assert found.p_method == "all swaps within clusters"
    assert found.difference.method == "paired-t"
    assert found.difference.low is not None
    assert found.difference.low < 0 < found.difference.high  # type: ignore[operator]
    assert (difference(ratio, first, second, method="percentile").p or 1) < 0.05  # what it used to be


# ---- by simulation ---------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "least"), [(5, 0.90), (10, 0.93)])
def test_a_few_patients_are_covered(n: int, least: float) -> None:
    """400 samples each of shares and of Dice with misses, with one and with several units a patient."""
    random = np.random.default_rng(7)
    for clustered in (False, True):
        found = share_coverage(random, n, 0.9, 400, clustered=clustered)
        assert found.rule >= least
        assert found.rule_flat == 0
        assert found.drawn < 0.92  # the simulation does see an interval that fails
    assert mean_coverage(random, n, KINDS[1], 400, clustered=True).rule >= least


@pytest.mark.slow
@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("n", [n for n in SIZES if n >= FEWEST])
def test_all_sizes_are_covered(n: int, *, clustered: bool) -> None:
    """1,000 samples of every share and every mean of the table; 1 % is left to luck."""
    random = np.random.default_rng(n)
    least = (0.90 if n == FEWEST else 0.93) - 0.01
    for share in SHARES:
        found = share_coverage(random, n, share, 1000, clustered=clustered)
        assert found.rule >= least, share
        assert found.rule_flat == 0
    for kind in KINDS:
        assert mean_coverage(random, n, kind, 1000, clustered=clustered).rule >= least, kind.name
    assert pooled_f1_coverage(random, n, 1000).rule >= least
