"""Numbers of cases and power, against statsmodels and against simulated studies."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from statsmodels.stats.power import TTestPower, normal_power_het, normal_sample_size_one_tail
from statsmodels.stats.proportion import samplesize_confint_proportion

from overread.errors import UsageError
from overread.metrics.statistics.power import (
    design_effect,
    minimal_difference,
    paired_means_cases,
    paired_means_power,
    paired_proportions_cases,
    paired_proportions_power,
    proportion_cases,
    proportion_width,
)

SHARES = st.floats(0.005, 0.49)


@given(st.floats(0.01, 0.3), st.floats(0.02, 0.98), st.sampled_from([0.8, 0.95, 0.99]))
def test_cases_for_a_width_are_statsmodels(half: float, proportion: float, level: float) -> None:
    """The number of cases is statsmodels' rounded up, and one case fewer is too wide."""
    found = proportion_cases(half, proportion=proportion, level=level)
    theirs = samplesize_confint_proportion(proportion, half, alpha=1 - level)
    assert found.n == max(1, math.ceil(round(theirs, 8)))
    assert found.half_width <= half * (1 + 1e-9)
    if found.n > 1:
        assert proportion_width(found.n - 1, proportion=proportion, level=level).half_width > half


def test_the_width_of_n_cases_needs_n_cases() -> None:
    """Asked for the width that n cases give, n cases it is: rounding adds none."""
    for n in range(1, 400):
        assert proportion_cases(proportion_width(n, proportion=0.3).half_width, proportion=0.3).n == n


def test_simulated_proportions_lie_within_the_width() -> None:
    """Of 20,000 simulated samples of 400, 95 % are within the half width of the truth."""
    half = proportion_width(400, proportion=0.3).half_width
    shares = np.random.default_rng(0).binomial(400, 0.3, 20_000) / 400
    assert np.mean(np.abs(shares - 0.3) <= half) == pytest.approx(0.95, abs=0.01)


@given(st.integers(1, 3000), SHARES, SHARES, st.sampled_from([0.9, 0.95]))
def test_power_of_paired_proportions_is_statsmodels(
    n: int, first: float, second: float, level: float
) -> None:
    """normal_power_het with McNemar's two standard deviations gives the same power."""
    share, apart = first + second, first - second
    theirs = normal_power_het(
        apart, n, 1 - level, std_null=math.sqrt(share), std_alternative=math.sqrt(share - apart**2)
    )
    assert paired_proportions_power(n, first, second, level=level).power == pytest.approx(theirs)


@given(st.integers(1, 3000), st.floats(-1, 1), st.floats(0.05, 3))
def test_power_of_paired_means_is_statsmodels(n: int, apart: float, sd: float) -> None:
    """normal_power_het with one standard deviation gives the same power."""
    theirs = normal_power_het(apart, n, 0.05, std_null=sd)
    assert paired_means_power(n, apart, sd).power == pytest.approx(theirs)


def test_numbers_of_cases_are_statsmodels() -> None:
    """normal_sample_size_one_tail at half the error gives the same numbers, rounded up."""
    for first, second in [(0.1, 0.06), (0.2, 0.1), (0.02, 0.09), (0.3, 0.25)]:
        share, apart = first + second, first - second
        theirs = normal_sample_size_one_tail(
            abs(apart), 0.8, 0.025, std_null=math.sqrt(share), std_alternative=math.sqrt(share - apart**2)
        )
        assert paired_proportions_cases(first, second).n == math.ceil(theirs)
    for apart, sd in [(0.03, 0.1), (-0.5, 2.0), (0.01, 0.2)]:
        theirs = normal_sample_size_one_tail(abs(apart), 0.9, 0.025, std_null=sd)
        assert paired_means_cases(apart, sd, power=0.9).n == math.ceil(theirs)
        # The t test needs two cases more, whatever the size.
        exact = TTestPower().solve_power(abs(apart) / sd, power=0.9, alpha=0.05)
        assert 0 < exact - theirs < 3


@pytest.mark.parametrize(
    ("first", "second", "n", "within"),
    [(0.10, 0.06, 720, 0.01), (0.2, 0.1, 300, 0.01), (0.05, 0.05, 300, 0.01), (0.2, 0.05, 90, 0.04)],
)
def test_simulated_mcnemar_studies_have_the_power(first: float, second: float, n: int, within: float) -> None:
    """Of 40,000 simulated studies, as many find the difference as the formula says, nearly."""
    counts = np.random.default_rng(1).multinomial(n, [first, second, 1 - first - second], 40_000)
    alone, other = counts[:, 0], counts[:, 1]
    statistic = (alone - other) ** 2 / np.maximum(1, alone + other)
    found = np.mean(statistic > norm.ppf(0.975) ** 2)
    assert found == pytest.approx(paired_proportions_power(n, first, second).power, abs=within)


def test_simulated_paired_means_have_the_power() -> None:
    """Of 20,000 simulated studies of 60 cases, as many are significant as the formula says."""
    draws = np.random.default_rng(2).normal(0.3, 1.0, (20_000, 60))
    found = np.mean(np.abs(draws.mean(axis=1)) * math.sqrt(60) > norm.ppf(0.975))
    assert found == pytest.approx(paired_means_power(60, 0.3, 1.0).power, abs=0.01)


def test_simulated_clusters_need_the_design_effect() -> None:
    """Three correlated cases a patient find as much as the design effect says."""
    random = np.random.default_rng(3)
    patients = random.normal(0, math.sqrt(0.4), (20_000, 40, 1))
    means = (0.35 + patients + random.normal(0, math.sqrt(0.6), (20_000, 40, 3))).mean(axis=(1, 2))
    effect = design_effect(3, 0.4)
    found = np.mean(np.abs(means) / math.sqrt(effect / 120) > norm.ppf(0.975))
    plan = paired_means_power(120, 0.35, 1.0, design_effect=effect)
    assert found == pytest.approx(plan.power, abs=0.01)
    assert plan.power < paired_means_power(120, 0.35, 1.0).power - 0.1


@given(SHARES, SHARES, st.floats(0.2, 0.99), st.floats(1, 4))
def test_fewest_cases_are_the_fewest(first: float, second: float, power: float, effect: float) -> None:
    """With that many cases the power is reached, with one fewer it is not."""
    if abs(first - second) < 0.01:
        second = first / 2
    plan = paired_proportions_cases(first, second, power=power, design_effect=effect)
    assert plan.power >= power
    means = paired_means_cases(first, 1 + second, power=power, design_effect=effect)
    assert means.power >= power
    if plan.n > 1:
        less = paired_proportions_power(plan.n - 1, first, second, design_effect=effect)
        assert less.power < power
    if means.n > 1:
        assert paired_means_power(means.n - 1, first, 1 + second, design_effect=effect).power < power


@given(st.integers(50, 5000), st.floats(0.06, 1.0), st.floats(0.1, 0.95))
def test_minimal_difference_has_the_power(n: int, spread: float, power: float) -> None:
    """The power of the smallest difference is the one asked for, for means and proportions."""
    means = minimal_difference(n, sd=spread, power=power)
    assert paired_means_power(n, means.difference, spread).power == pytest.approx(power, abs=1e-6)
    try:
        shares = minimal_difference(n, discordant=spread, power=power)
    except UsageError:
        assert paired_proportions_power(n, spread, 0).power < power
        return
    first, second = (spread + shares.difference) / 2, (spread - shares.difference) / 2
    assert shares.difference <= spread
    again = paired_proportions_power(n, first, max(0.0, second))
    assert again.power == pytest.approx(power, abs=1e-6)


def test_known_answers() -> None:
    """Numbers of the textbooks: 385 cases for ± 5 %, (1.96 + 0.84)² for one standard deviation."""
    assert proportion_cases(0.05).n == 385
    assert proportion_cases(0.03).n == 1068
    assert paired_means_cases(1.0, 1.0).n == 8
    assert minimal_difference(100, sd=1.0).difference == pytest.approx(0.28016, abs=1e-5)
    assert paired_means_power(10, 0.0, 1.0).power == pytest.approx(0.05)


def test_one_sided_disagreement_is_certain_or_hopeless() -> None:
    """Where every case is discordant the same way, power is 0 or 1."""
    assert paired_proportions_power(3, 1.0, 0.0).power == 0
    assert paired_proportions_power(4, 1.0, 0.0).power == 1
    assert paired_proportions_cases(1.0, 0.0).n == 4


def test_two_times_as_correlated_needs_twice_the_cases() -> None:
    """A design effect of 2 doubles the cases, up to rounding."""
    questions: list[Callable[[float], int]] = [
        lambda effect: proportion_cases(0.04, design_effect=effect).n,
        lambda effect: paired_means_cases(0.05, 0.3, design_effect=effect).n,
        lambda effect: paired_proportions_cases(0.12, 0.07, design_effect=effect).n,
    ]
    for cases in questions:
        assert abs(cases(2.0) - 2 * cases(1.0)) <= 1


NAN = float("nan")


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: proportion_width(0), "n is 0"),
        (lambda: proportion_width(10, proportion=1.0), "proportion is 1"),
        (lambda: proportion_width(10, level=95), "level is 95"),
        (lambda: proportion_cases(0.0), "half width is 0"),
        (lambda: proportion_cases(NAN), "half width is nan"),
        (lambda: paired_proportions_power(10, 0.0, 0.0), "no shares"),
        (lambda: paired_proportions_power(10, 0.7, 0.6), "no shares"),
        (lambda: paired_proportions_power(10, NAN, 0.6), "no shares"),
        (lambda: paired_proportions_cases(0.1, 0.1), "difference is 0"),
        (lambda: paired_proportions_cases(0.1, 0.2, power=1.0), "power is 1"),
        (lambda: paired_proportions_cases(0.1, 0.2, power=0.04), "chance"),
        (lambda: paired_means_power(10, 1.0, 0.0), "sd is 0"),
        (lambda: paired_means_power(10, NAN, 1.0), "nan"),
        (lambda: paired_means_power(10, 1.0, 1.0, design_effect=0.5), "design effect is 0.5"),
        (lambda: paired_means_cases(1e-300, 1.0), "larger difference"),
        (lambda: minimal_difference(10), "either"),
        (lambda: minimal_difference(10, sd=1.0, discordant=0.1), "either"),
        (lambda: minimal_difference(10, discordant=0.1), "never reach"),
        (lambda: design_effect(0.5, 0.1), "at least one case"),
        (lambda: design_effect(2, 1.5), "correlation"),
    ],
)
def test_what_cannot_be_planned_is_refused(ask: Callable[[], Any], message: str) -> None:
    """Impossible settings are errors that name the setting."""
    with pytest.raises(UsageError, match=message):
        ask()


def test_plans_read_as_sentences_and_store() -> None:
    """One line for people, plain JSON for files."""
    plan = paired_proportions_cases(0.10, 0.06)
    assert str(plan).startswith("783 cases find a difference of 0.040 with a power of 0.80")
    assert json.loads(json.dumps(plan.as_dict(), allow_nan=False))["n"] == 783
    assert "within 0.032" in str(proportion_width(720, proportion=0.75))
