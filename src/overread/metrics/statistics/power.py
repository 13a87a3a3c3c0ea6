"""How many cases are needed, and what a given number of cases can show.

All by the normal approximation, two-sided: good from some 30 cases (and some 10 on which two
readers differ) upwards, too hopeful below. A design effect above 1 says by how much cases of the
same patients are worth less than as many cases of different patients.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from overread.errors import UsageError
from overread.metrics.statistics.result import Result, format_number

Question: TypeAlias = Literal["proportion", "paired proportions", "paired means"]


@dataclass(frozen=True)
class IntervalWidth(Result):
    """The half width that the interval of one proportion has with n cases."""

    n: int
    half_width: float
    proportion: float
    level: float
    design_effect: float

    def __str__(self) -> str:
        return (
            f"{self.n} cases give a proportion of {self.proportion:g} "
            f"to within {format_number(self.half_width)} ({100 * self.level:g} %)"
        )


@dataclass(frozen=True)
class PowerPlan(Result):
    """With n cases, a true difference is found with this power."""

    question: Question
    n: int
    difference: float
    power: float
    spread: float
    """Standard deviation of the case-wise differences; for proportions the discordant share."""
    level: float
    """1 − level is the chance to find a difference where there is none."""
    design_effect: float

    def __str__(self) -> str:
        word = "sd" if self.question == "paired means" else "discordant share"
        return (
            f"{self.n} cases find a difference of {format_number(self.difference)} "
            f"with a power of {format_number(self.power)} "
            f"({self.question}, {word} {self.spread:g}, level {self.level:g})"
        )


def proportion_width(
    n: int, *, proportion: float = 0.5, level: float = 0.95, design_effect: float = 1.0
) -> IntervalWidth:
    """The half width of a proportion's interval with n cases: z·√(p(1 − p)/n).

    >>> print(proportion_width(720, proportion=0.75))
    720 cases give a proportion of 0.75 to within 0.032 (95 %)
    """
    _check(n=n, level=level, design_effect=design_effect, proportion=proportion)
    half = _z(level) * math.sqrt(proportion * (1 - proportion) * design_effect / n)
    return IntervalWidth(n, half, proportion, level, design_effect)


def proportion_cases(
    half_width: float, *, proportion: float = 0.5, level: float = 0.95, design_effect: float = 1.0
) -> IntervalWidth:
    """The fewest cases with which a proportion's interval is no wider than asked to either side.

    >>> proportion_cases(0.05).n
    385
    """
    _check(level=level, design_effect=design_effect, proportion=proportion, half_width=half_width)
    wanted = (_z(level) / half_width) ** 2 * proportion * (1 - proportion) * design_effect
    # A last bit above a whole number is no further case.
    n = max(1, math.ceil(wanted * (1 - 1e-12)))
    return proportion_width(n, proportion=proportion, level=level, design_effect=design_effect)


def paired_proportions_power(
    n: int, first_only: float, second_only: float, *, level: float = 0.95, design_effect: float = 1.0
) -> PowerPlan:
    """The power to tell two readers apart on the same cases (McNemar's test, uncorrected).

    `first_only` and `second_only` are the shares of cases on which that reader alone is right,
    say of a pilot. The exact and the corrected test need a few cases more.

    >>> round(paired_proportions_power(720, 0.10, 0.06).power, 3)
    0.766
    """
    spread = _discordant(first_only, second_only)
    _check(n=n, level=level, design_effect=design_effect)
    apart = first_only - second_only
    power = _proportions_power(apart, spread, level)(n / design_effect)
    return PowerPlan("paired proportions", n, apart, power, spread, level, design_effect)


def paired_proportions_cases(
    first_only: float,
    second_only: float,
    *,
    power: float = 0.8,
    level: float = 0.95,
    design_effect: float = 1.0,
) -> PowerPlan:
    """The fewest cases that tell two readers apart with the power asked for (McNemar's test).

    >>> paired_proportions_cases(0.10, 0.06).n
    783
    """
    spread = _discordant(first_only, second_only)
    apart = first_only - second_only
    _check(level=level, power=power, design_effect=design_effect, difference=apart)
    n = _fewest_cases(_proportions_power(apart, spread, level), power, design_effect)
    return paired_proportions_power(n, first_only, second_only, level=level, design_effect=design_effect)


def paired_means_power(
    n: int, difference: float, sd: float, *, level: float = 0.95, design_effect: float = 1.0
) -> PowerPlan:
    """The power to find a mean difference of two readers; sd is that of case-wise differences.

    >>> round(paired_means_power(100, 0.03, 0.1).power, 3)
    0.851
    """
    _check(n=n, level=level, design_effect=design_effect, sd=sd)
    if not math.isfinite(difference):
        raise UsageError(f"the difference is {difference}", remedy="it must be a number")
    power = _means_power(difference, sd, level)(n / design_effect)
    return PowerPlan("paired means", n, difference, power, sd, level, design_effect)


def paired_means_cases(
    difference: float, sd: float, *, power: float = 0.8, level: float = 0.95, design_effect: float = 1.0
) -> PowerPlan:
    """The fewest cases that show a mean difference of two readers with the power asked for.

    >>> paired_means_cases(0.03, 0.1).n
    88
    """
    _check(level=level, power=power, design_effect=design_effect, sd=sd, difference=difference)
    n = _fewest_cases(_means_power(difference, sd, level), power, design_effect)
    return paired_means_power(n, difference, sd, level=level, design_effect=design_effect)


def minimal_difference(
    n: int,
    *,
    sd: float | None = None,
    discordant: float | None = None,
    power: float = 0.8,
    level: float = 0.95,
    design_effect: float = 1.0,
) -> PowerPlan:
    """The smallest difference of two readers that n cases show with the power asked for.

    Give the `sd` of case-wise differences for means, or the `discordant` share (cases on which
    only one reader is right) for proportions; these cannot differ by more than that share.

    >>> round(minimal_difference(720, discordant=0.16).difference, 4)
    0.0417
    """
    from scipy.optimize import brentq

    _check(n=n, level=level, power=power, design_effect=design_effect)
    if (sd is None) == (discordant is None):
        raise UsageError("give either the sd of differences or the discordant share")
    worth = n / design_effect
    question: Question
    if sd is not None:
        _check(sd=sd)
        # Far beyond what either tail leaves open.
        question, spread, most = "paired means", sd, 60 * sd / math.sqrt(worth)

        def excess_power(apart: float) -> float:
            return _means_power(apart, spread, level)(worth) - power

    else:
        assert discordant is not None
        question, spread, most = "paired proportions", _discordant(discordant, 0), discordant

        def excess_power(apart: float) -> float:
            return _proportions_power(apart, spread, level)(worth) - power

    if excess_power(most) < 0:
        raise UsageError(
            f"{n} cases with a discordant share of {spread:g} never reach a power of {power:g}",
            remedy="more cases, or a lower power",
        )
    apart = float(brentq(excess_power, 0.0, most, xtol=1e-12))
    return PowerPlan(question, n, apart, excess_power(apart) + power, spread, level, design_effect)


def plan_comparison(
    *,
    cases: int | None = None,
    difference: float | None = None,
    sd: float | None = None,
    discordant: float | None = None,
    power: float = 0.8,
    level: float = 0.95,
    design_effect: float = 1.0,
) -> PowerPlan:
    """The cases that a difference of two readers needs, or the difference that they can show.

    Where both are given the power is found, and the one asked for does not count. `sd` and
    `discordant` are as in `minimal_difference`.

    >>> plan_comparison(difference=0.04, discordant=0.16).n
    783
    """
    how = {"level": level, "design_effect": design_effect}
    if difference is None:
        if cases is None:
            raise UsageError("give a difference, or a number of cases")
        return minimal_difference(cases, sd=sd, discordant=discordant, power=power, **how)
    if (sd is None) == (discordant is None):
        raise UsageError("give either the sd of differences or the discordant share")
    if sd is not None:
        if cases is None:
            return paired_means_cases(difference, sd, power=power, **how)
        return paired_means_power(cases, difference, sd, **how)
    assert discordant is not None
    if abs(difference) > discordant:
        raise UsageError(
            f"a difference of {difference:g} is more than the discordant share of {discordant:g}",
            remedy="readers differ by no more than the cases on which one alone is right",
        )
    alone = (discordant + difference) / 2, (discordant - difference) / 2
    if cases is None:
        return paired_proportions_cases(*alone, power=power, **how)
    return paired_proportions_power(cases, *alone, **how)


def design_effect(cases_per_patient: float, correlation: float) -> float:
    """By how much cases of the same patients are worth less: 1 + (m − 1)·ρ (Kish).

    >>> round(design_effect(3, 0.2), 6)
    1.4
    """
    if cases_per_patient < 1 or not 0 <= correlation <= 1:
        raise UsageError(
            f"{cases_per_patient:g} cases a patient with a correlation of {correlation:g}",
            remedy="at least one case, and a correlation from 0 to 1",
        )
    return 1 + (cases_per_patient - 1) * correlation


def _z(level: float) -> float:
    """What a two-sided test of this level must exceed."""
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2))


def _tail_probability(shift: float, spread: float, null_spread: float, level: float) -> float:
    """The chance that a normal variable is beyond the critical value on either side."""
    from scipy.special import ndtr

    critical = _z(level) * null_spread
    if spread == 0:
        return float(abs(shift) > critical)
    return float(ndtr((shift - critical) / spread) + ndtr((-shift - critical) / spread))


def _means_power(apart: float, sd: float, level: float) -> Callable[[float], float]:
    """The power as a function of what the cases are worth."""
    return lambda worth: _tail_probability(apart * math.sqrt(worth), sd, sd, level)


def _proportions_power(apart: float, share: float, level: float) -> Callable[[float], float]:
    """The same for McNemar: under the null the variance is the discordant share alone."""
    null, own = math.sqrt(share), math.sqrt(max(0.0, share - apart**2))
    return lambda worth: _tail_probability(apart * math.sqrt(worth), own, null, level)


def _fewest_cases(reaches: Callable[[float], float], power: float, design_effect: float) -> int:
    """The smallest n with the power: doubled until enough, then halved in between."""

    def enough(n: int) -> bool:
        return reaches(n / design_effect) >= power

    most = 1
    while not enough(most):
        most *= 2
        if most > 2**60:
            raise UsageError("no number of cases would do", remedy="ask for a larger difference")
    return 1 + bisect.bisect_left(range(1, most + 1), x=True, key=enough)


def _discordant(first_only: float, second_only: float) -> float:
    """The share of cases on which one reader alone is right."""
    total = first_only + second_only
    if not (first_only >= 0 and second_only >= 0 and 0 < total <= 1):
        raise UsageError(
            f"{first_only:g} and {second_only:g} are no shares of discordant cases",
            remedy="neither below 0, and together above 0 and at most 1",
        )
    return total


def _check(**settings: float) -> None:
    """Refuse what cannot be planned with, by name."""
    for name, value in settings.items():
        if name in ("level", "proportion", "power", "half_width"):
            fine, rule = 0 < value < 1, "between 0 and 1"
        elif name == "difference":
            fine, rule = math.isfinite(value) and value != 0, "other than 0"
        elif name == "sd":
            fine, rule = math.isfinite(value) and value > 0, "above 0"
        else:
            fine, rule = math.isfinite(value) and value >= 1, "at least 1"
        if not fine:
            raise UsageError(f"{name.replace('_', ' ')} is {value:g}", remedy=f"it must be {rule}")
    if "power" in settings and settings["power"] <= 1 - settings["level"]:
        raise UsageError(
            f"a power of {settings['power']:g} is no more than chance finds",
            remedy=f"ask for more than {1 - settings['level']:g}",
        )
