"""Readers swapped within patients: against McNemar, scipy's permutation test, and all swaps by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import permutation_test
from statsmodels.stats.contingency_tables import mcnemar

from overread.metrics.sample import Numbers, Sample
from overread.metrics.statistics import swap_test
from overread.metrics.statistics.paired_tests import difference
from overread.metrics.statistics.swap_test import swap_rows, swap_totals
from tools.measure.coverage import KINDS, paired_size


def f1(sample: Sample) -> Numbers:
    found = 2 * sample.total("hit")
    return found / (found + sample.total("wrong") + 1)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 400))
def test_units_of_their_own_give_mcnemars_exact_test(alone: int, other: int, same: int) -> None:
    """statsmodels' binomial p, however few or many units differ."""
    first = np.array([1.0] * alone + [0.0] * other + [1.0] * (same + 1))
    second = np.array([0.0] * alone + [1.0] * other + [1.0] * (same + 1))
    ones = np.ones(len(first))
    found = swap_totals((first, ones), (second, ones), draws=100, seed=0)
    theirs = mcnemar([[same, alone], [other, 0]], exact=True).pvalue if alone + other else 1.0
    assert found.p == pytest.approx(theirs)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 2)), min_size=2, max_size=7))
def test_whole_patients_are_swapped(cells: list[tuple[int, int, int]]) -> None:
    """Of all swaps of whole patients, gone through by hand, p is the share as far from zero."""
    one, two, more = np.array(cells, dtype=float).T
    # With another denominator for the second reader, as precision has.
    for bottoms in ((one + two + 1, one + two + 1), (one + two + 1, one + two + 1 + more)):
        values = []
        for swap in itertools.product((False, True), repeat=len(cells)):
            own = [np.where(swap, b, a).sum() for a, b in ((one, two), bottoms)]
            else_ = [np.where(swap, a, b).sum() for a, b in ((one, two), bottoms)]
            values.append(own[0] / own[1] - else_[0] / else_[1])
        plain = np.mean(np.abs(values) >= abs(values[0]) - 1e-12)
        found = swap_totals((one, bottoms[0]), (two, bottoms[1]), draws=10, seed=0)
        assert found.p == pytest.approx(plain)
        assert found.method == "all swaps within clusters"


def test_means_are_scipys_permutation_test() -> None:
    """scipy goes through all swaps of paired samples, too."""
    random = np.random.default_rng(4)
    first = random.beta(4, 2, 9)
    second = np.clip(first - random.normal(0.05, 0.08, 9), 0, 1)
    found = swap_totals((first, np.ones(9)), (second, np.ones(9)), draws=10, seed=0)
    theirs = permutation_test(
        (first, second),
        lambda one, two, axis: one.mean(axis=axis) - two.mean(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
    )
    assert found.p == pytest.approx(theirs.pvalue)


def test_numbers_that_are_no_quotients_are_combined_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """All swaps where patients are few, by lot where they are many; both are near each other."""
    random = np.random.default_rng(5)
    codes = np.repeat(np.arange(9), 3)
    pair = [
        [
            {"hit": int(h), "wrong": int(w)}
            for h, w in zip(random.poisson(m, 27), random.poisson(2, 27), strict=True)
        ]
        for m in (3, 2)
    ]
    exact = swap_rows(f1, pair[0], pair[1], codes, draws=10, seed=0)
    values = []
    for swap in itertools.product((False, True), repeat=9):
        sides = [[rows[(i + swap[codes[k]]) % 2][k] for k in range(27)] for i, rows in ((0, pair), (1, pair))]
        values.append(float(f1(Sample(sides[0]))[0] - f1(Sample(sides[1]))[0]))
    assert exact.p == pytest.approx(np.mean(np.abs(values) >= abs(values[0]) - 1e-12))
    monkeypatch.setattr(swap_test, "ALL_RECOMBINED", 2)
    drawn = swap_rows(f1, pair[0], pair[1], codes, draws=4000, seed=0)
    assert drawn.method == "4000 drawn swaps within clusters"
    assert drawn.p == pytest.approx(exact.p, abs=0.03)
    assert drawn == swap_rows(f1, pair[0], pair[1], codes, draws=4000, seed=0)
    assert drawn != swap_rows(f1, pair[0], pair[1], codes, draws=4000, seed=1)


def test_patients_on_whom_readers_are_alike_do_not_matter() -> None:
    """A thousand cases that both read the same way leave an exact p of the few that differ."""
    first = {i: {"hit": 3 if i < 6 else 1, "wrong": 1} for i in range(1000)}
    second = {i: {"hit": 1, "wrong": 1} for i in range(1000)}
    found = difference(f1, first, second)
    assert found.p == pytest.approx(2 / 2**6)


def test_equal_readers_rarely_differ() -> None:
    """At 5 %, equal readers come out different in about 5 % or less; draws do so more often."""
    random = np.random.default_rng(6)
    for kind in (None, KINDS[1]):
        found = paired_size(random, 10, kind, 400, clustered=True)
        assert found.swaps <= 0.07
        assert found.held >= 0.92
    assert found.drawn > found.swaps
