"""The two quantiles that every score needs, without the time that scipy.special takes to load."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from statistics import NormalDist

_HALVINGS = 80
_NEARLY_NORMAL = 200
"""Degrees of freedom from which on an expansion about the normal quantile is exact to eleven digits; adding
up the chance takes as many steps as there are degrees."""


@cache
def student_quantile(freedom: int, level: float) -> float:
    """Between minus and plus this lies Student's t with the given chance.

    >>> round(student_quantile(9, 0.95), 6)
    2.262157
    """
    if freedom < _NEARLY_NORMAL:
        return _invert(lambda t: _student_inside(t, freedom), level)
    # Abramowitz and Stegun 26.7.5
    z = NormalDist().inv_cdf((1 + level) / 2)
    steps = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + math.fsum(step / freedom**power for power, step in enumerate(steps, 1))


def _invert(chance_below: Callable[[float], float], chance: float) -> float:
    """Where a chance that grows from 0 on reaches the given one."""
    low, high = 0.0, 1.0
    while chance_below(high) < chance:
        high *= 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if chance_below(middle) < chance else (low, middle)
    return (low + high) / 2


def _student_inside(t: float, freedom: int) -> float:
    """The chance that |t| is smaller (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
    angle = math.atan2(t, math.sqrt(freedom))
    square, sine = math.cos(angle) ** 2, math.sin(angle)
    if freedom % 2:
        term, total = math.cos(angle), 0.0
        for k in range(1, freedom - 1, 2):
            total += term
            term *= square * (k + 1) / (k + 2)
        return 2 / math.pi * (angle + sine * total)
    term, total = 1.0, 0.0
    for k in range(0, freedom - 1, 2):
        total += term
        term *= square * (k + 1) / (k + 2)
    return sine * total


@cache
def gamma_quantile(shape: float, chance: float) -> float:
    """Below this a gamma variable of the given shape lies with the given chance; half a chi-square's.

    >>> round(gamma_quantile(1.0, 0.05), 6)
    0.051293
    """
    return _invert(lambda x: _gamma_below(x, shape), chance)


def _gamma_below(x: float, shape: float) -> float:
    """The regularised incomplete gamma function, by its series: fit for small x."""
    if x <= 0:
        return 0.0
    term = total = 1.0
    k = 0
    while term > 1e-17 * total:
        k += 1
        term *= x / (shape + k)
        total += term
    return total * math.exp(shape * math.log(x) - x - math.lgamma(shape + 1))
