"""The two quantiles that every score needs, without the time that scipy.special takes to load."""

from __future__ import annotations

import math
from functools import cache

_HALVINGS = 80


@cache
def student_quantile(freedom: int, level: float) -> float:
    """Between minus and plus this lies Student's t with the given chance.

    >>> round(student_quantile(9, 0.95), 6)
    2.262157
    """
    low, high = 0.0, 1.0
    while _student_inside(high, freedom) < level:
        high *= 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _student_inside(middle, freedom) < level else (low, middle)
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
    low, high = 0.0, 1.0
    while _gamma_below(high, shape) < chance:
        high *= 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _gamma_below(middle, shape) < chance else (low, middle)
    return (low + high) / 2


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
