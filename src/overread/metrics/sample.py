"""Statistics of many cases, taken once as they are or drawn again many times."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from overread.metrics.contract import Statistics
from overread.metrics.rows import Numbers, as_rows

__all__ = ["Numbers", "Sample", "find_quotient", "safe_divide"]
T = TypeVar("T")


class Sample:
    """The statistics of a set of units, each counted as often as a draw drew it.

    Metrics whose statistics add up ask for totals, which come for all draws at once; the others
    go through the draws one by one.

    >>> once = Sample([{"right": 1, "asked": 1}, {"right": 0, "asked": 1}])
    >>> once.ratio("right", "asked")
    array([0.5])
    """

    def __init__(self, rows: Sequence[Statistics], weights: NDArray[Any] | None = None) -> None:
        """`weights` has one line a draw and one column a row; without it each row counts once."""
        self.rows = as_rows(rows)
        self.weights: Numbers = (
            np.ones((1, len(rows))) if weights is None else np.asarray(weights, dtype=np.float64)
        )
        if self.weights.ndim != 2 or self.weights.shape[1] != len(rows):
            raise ValueError(f"weights of shape {self.weights.shape} for {len(rows)} rows")
        self._columns: dict[str, Numbers] = {}
        self._totals: dict[str, Numbers] = {}
        self.last_quotient: tuple[tuple[str, str], Numbers] | None = None
        """The last quotient of totals that was asked for, and the answer: see `find_quotient`."""

    @property
    def draws(self) -> int:
        """How many draws there are."""
        return len(self.weights)

    @property
    def names(self) -> Collection[str]:
        """What the rows have statistics of; some of it perhaps only rows beyond this sample."""
        return self.rows.names

    def column(self, name: str) -> Numbers:
        """One statistic of every row; 0 where a row does not have it."""
        if name not in self._columns:
            self._columns[name] = self.rows.column(name)
        return self._columns[name]

    def compute(self, function: Callable[[Sequence[Statistics]], T]) -> T:
        """What a function makes of the rows alone: once, however often they are drawn.

        The function is the name under which it is kept: give one of a module, not one made each time.
        """
        return self.rows.compute(function)

    def row_values(self, function: Callable[[Statistics], float]) -> Numbers:
        """A number of each row by itself, computed once; the function as in `compute`."""
        return self.rows.row_values(function)

    def relative_values(self, function: Callable[[Sequence[Statistics]], Numbers]) -> Numbers:
        """A number of each row that depends on the other rows too; the function as in `compute`."""
        return self.rows.relative_values(function)

    def total(self, name: str) -> Numbers:
        """The sum of one statistic over the rows, one number a draw."""
        if name not in self._totals:
            # Most statistics of some rows are all 0, and that needs no product, nor to be looked at again.
            if name not in self.rows.zeros and not self.column(name).any():
                self.rows.zeros.add(name)
                del self._columns[name]
            zero = name in self.rows.zeros
            self._totals[name] = np.zeros(self.draws) if zero else self.weights @ self.column(name)
        return self._totals[name].copy()

    def ratio(self, top: str, bottom: str) -> Numbers:
        """One total over another, one number a draw; NaN where there is nothing below."""
        values = safe_divide(self.total(top), self.total(bottom))
        self.last_quotient = (top, bottom), values
        return values

    def each(self) -> Iterator[list[tuple[Statistics, float]]]:
        """For each draw, the rows in it with how often each is in it."""
        for weights in self.weights:
            yield [(self.rows[i], float(weights[i])) for i in np.flatnonzero(weights).tolist()]


def find_quotient(combine: Callable[[Sample], Numbers], sample: Sample) -> tuple[str, str] | None:
    """The two statistics whose totals a number is the quotient of; None where it is none.

    >>> once = Sample([{"right": 1, "asked": 1}, {"right": 0, "asked": 1}])
    >>> find_quotient(lambda sample: sample.ratio("right", "asked"), once)
    ('right', 'asked')
    >>> find_quotient(lambda sample: 1 - sample.ratio("right", "asked"), once)
    """
    sample.last_quotient = None
    found = combine(sample)
    if sample.last_quotient is None or sample.last_quotient[1] is not found:
        return None
    return sample.last_quotient[0]


def safe_divide(top: Numbers, bottom: Numbers) -> Numbers:
    """A quotient that is NaN where nothing can be divided."""
    out = np.full(np.broadcast(top, bottom).shape, np.nan)
    np.divide(top, bottom, out=out, where=np.asarray(bottom) != 0)
    return out
