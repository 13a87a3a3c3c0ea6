"""Rows of statistics that many draws look at: their numbers are looked up once, not once a draw."""

from __future__ import annotations

import math
from abc import abstractmethod
from array import array
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from overread.metrics.contract import Statistics

Numbers = NDArray[np.float64]
T = TypeVar("T")

_MOST_BYTES = 32_000_000
"""Bytes of columns that are kept once they were asked for; others are made again."""


class StatisticRows(Sequence[Statistics]):
    """The statistics of many units, and what was computed of them."""

    def __init__(self) -> None:
        """Nothing has been asked for yet."""
        self._computed: dict[Hashable, Any] = {}
        self.zeros: set[str] = set()
        """Statistics that were found to be 0 in all of these rows."""

    @property
    @abstractmethod
    def names(self) -> Collection[str]:
        """What at least one row has a statistic of; it may be a row that is not among these."""

    @abstractmethod
    def column(self, name: str) -> Numbers:
        """One statistic of every row; 0 where a row does not have it."""

    def column_at(self, name: str, places: NDArray[np.int64]) -> Numbers:
        """The same of some rows."""
        found: Numbers = self.column(name)[places]
        return found

    def compute(self, function: Callable[[Sequence[Statistics]], T]) -> T:
        """What a function makes of the rows: computed once, the function being its name."""
        if function not in self._computed:
            self._computed[function] = function(self)
        found: T = self._computed[function]
        return found

    def row_values(self, function: Callable[[Statistics], float]) -> Numbers:
        """A number of each row by itself."""
        if function not in self._computed:
            self._computed[function] = np.array([function(row) for row in self], np.float64)
        found: Numbers = self._computed[function]
        return found

    def relative_values(self, function: Callable[[Sequence[Statistics]], Numbers]) -> Numbers:
        """A number of each row that depends on the others too, as how rare its words are."""
        return self.compute(function)

    def lists(self, name: str) -> tuple[NDArray[np.int64], Numbers]:
        """How many numbers each row has in a list of its statistics, and all of them, one row after
        the other; every row must have the list.
        """
        each = [row[name] for row in self]
        counts = np.array([len(own) for own in each], np.int64)
        return counts, np.array([number for own in each for number in own], np.float64)

    def part(self, places: NDArray[np.int64], *, among_all: bool = False) -> StatisticRows:
        """Some of the rows; with `among_all` relative values stay those among all rows."""
        if not among_all and len(places) == len(self) and (places == np.arange(len(self))).all():
            return self
        return _Part(self, places, among_all=among_all)

    @overload
    def __getitem__(self, place: int) -> Statistics: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Statistics]: ...
    def __getitem__(self, place: int | slice) -> Statistics | Sequence[Statistics]:
        if isinstance(place, slice):
            return [self._row(at) for at in range(*place.indices(len(self)))]
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        return self._row(place % len(self))

    @abstractmethod
    def _row(self, place: int) -> Statistics:
        """One row, by a place that is there."""


def as_rows(rows: Sequence[Statistics]) -> StatisticRows:
    """The rows themselves, or with their numbers looked up once."""
    return rows if isinstance(rows, StatisticRows) else ListedRows(rows)


class ListedRows(StatisticRows):
    """Rows that are in memory.

    >>> ListedRows([{"right": 1}, {"right": None, "asked": 1}]).column("right")
    array([1., 0.])
    """

    def __init__(self, rows: Sequence[Statistics]) -> None:
        """The rows as they are; nothing is copied."""
        super().__init__()
        self._rows = rows
        self._columns: dict[str, Numbers] = {}
        self._lists: dict[str, tuple[NDArray[np.int64], Numbers]] = {}
        self._names: frozenset[str] | None = None

    @property
    def names(self) -> Collection[str]:
        """What any row has a statistic of."""
        if self._names is None:
            self._names = frozenset(name for row in self._rows for name in row)
        return self._names

    def column(self, name: str) -> Numbers:
        """One statistic of every row; 0 where a row does not have it."""
        if name not in self._columns:
            values = [row.get(name) for row in self._rows]
            self._columns[name] = np.array([0.0 if v is None else v for v in values], np.float64)
        return self._columns[name]

    def lists(self, name: str) -> tuple[NDArray[np.int64], Numbers]:
        """How many numbers each row has in a list, and all of them."""
        if name not in self._lists:
            self._lists[name] = super().lists(name)
        return self._lists[name]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Statistics]:
        return iter(self._rows)

    def _row(self, place: int) -> Statistics:
        return self._rows[place]


class ColumnRows(StatisticRows):
    """Rows of which only the numbers are in memory; whole rows are fetched where one is asked for.

    >>> rows = [{"right": 1, "asked": 1, "said": ["a"]}, {"asked": 1, "sure": 0.5}]
    >>> found = ColumnRows(lambda: iter(rows), rows.__getitem__)
    >>> for row in rows:
    ...     found.add(row)
    >>> found.column("right"), found.column("sure"), found[0]["said"]
    (array([1., 0.]), array([0. , 0.5]), ['a'])
    """

    def __init__(self, fetch_all: Callable[[], Iterator[Statistics]], fetch: Callable[[int], Statistics]):
        """`fetch_all` gives every row in order, `fetch` one by its place, both as they were added."""
        super().__init__()
        self._fetch_all, self._fetch = fetch_all, fetch
        self._count = 0
        self._stored: dict[str, _Column] = {}
        self._listed: dict[str, tuple[array[int], _Column]] = {}
        self._others: set[str] = set()
        self.is_finite = True
        """Whether no number is infinite or NaN."""
        self._dense: dict[str, NDArray[Any]] = {}
        self._dense_bytes = 0

    def add(self, row: Statistics) -> None:
        """Take one more row into account."""
        for name, value in row.items():
            if isinstance(value, float | int):
                stored = self._stored.get(name)
                if stored is None:
                    stored = self._stored[name] = _Column()
                stored.add(self._count, value)
                self.is_finite = self.is_finite and math.isfinite(value)
            elif value is not None:
                self._others.add(name)
                if isinstance(value, list):
                    self._add_list(name, value)
        self._count += 1

    def _add_list(self, name: str, numbers: list[Any]) -> None:
        """Keep a list too, as long as every row has one and it is of numbers."""
        counts, column = self._listed.setdefault(name, (array("i"), _Column()))
        if len(counts) == self._count and all(isinstance(number, float | int) for number in numbers):
            counts.append(len(numbers))
            for number in numbers:
                column.add(len(column.values), number)

    def lists(self, name: str) -> tuple[NDArray[np.int64], Numbers]:
        """How many numbers each row has in a list, and all of them."""
        counts, column = self._listed.get(name, (array("i"), _Column()))
        if len(counts) != self._count:
            return super().lists(name)
        return np.array(counts, np.int64), column.dense(len(column.values)).astype(np.float64)

    @property
    def names(self) -> Collection[str]:
        """What any row has a statistic of."""
        return self._stored.keys() | self._others

    def column(self, name: str) -> Numbers:
        """One statistic of every row; 0 where a row does not have it."""
        return self._small_column(name).astype(np.float64, copy=False)

    def column_at(self, name: str, places: NDArray[np.int64]) -> Numbers:
        """The same of some rows, picked before they are made large."""
        return self._small_column(name)[places].astype(np.float64, copy=False)

    def _small_column(self, name: str) -> NDArray[Any]:
        """A column in the smallest type that holds it, so that many of them can be kept."""
        if name in self._others:
            values = [row.get(name) for row in self]
            return np.array([0.0 if v is None else v for v in values], np.float64)
        found = self._dense.get(name)
        if found is None:
            stored = self._stored.get(name)
            found = np.zeros(self._count, np.int8) if stored is None else stored.dense(self._count)
            if self._dense_bytes + found.nbytes <= _MOST_BYTES:
                self._dense[name] = found
                self._dense_bytes += found.nbytes
        return found

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Statistics]:
        return self._fetch_all()

    def _row(self, place: int) -> Statistics:
        return self._fetch(place)


class _Column:
    """The numbers of one name: as small as they allow, with their places unless all rows have one."""

    def __init__(self) -> None:
        self.values: array[Any] = array("b")
        self.places: array[int] | None = None

    def add(self, place: int, value: float) -> None:
        if self.places is None and place != len(self.values):
            self.places = array("i", range(len(self.values)))
        if self.places is not None:
            self.places.append(place)
        code = self.values.typecode
        if code != "d" and not (
            isinstance(value, int) and (-128 <= value < 128 if code == "b" else abs(value) < 1 << 31)
        ):
            fits = isinstance(value, int) and abs(value) < 1 << 31
            self.values = array("i" if fits else "d", self.values)
        self.values.append(value)

    def dense(self, count: int) -> NDArray[Any]:
        """The numbers of so many rows in their own type; 0 where a row has none."""
        values = np.array(self.values)
        if self.places is None and len(values) == count:
            return values
        found = np.zeros(count, values.dtype)
        found[slice(len(values)) if self.places is None else np.array(self.places)] = values
        return found


class _Part(StatisticRows):
    """Some of the rows of others."""

    def __init__(self, whole: StatisticRows, places: NDArray[np.int64], *, among_all: bool) -> None:
        super().__init__()
        self._whole, self._places, self._among_all = whole, places, among_all

    @property
    def names(self) -> Collection[str]:
        return self._whole.names

    def column(self, name: str) -> Numbers:
        return self._whole.column_at(name, self._places)

    def row_values(self, function: Callable[[Statistics], float]) -> Numbers:
        found: Numbers = self._whole.row_values(function)[self._places]
        return found

    def relative_values(self, function: Callable[[Sequence[Statistics]], Numbers]) -> Numbers:
        if not self._among_all:
            return self.compute(function)
        found: Numbers = self._whole.relative_values(function)[self._places]
        return found

    def lists(self, name: str) -> tuple[NDArray[np.int64], Numbers]:
        counts, numbers = self._whole.lists(name)
        begins = (np.cumsum(counts) - counts)[self._places]
        own = counts[self._places]
        inside = np.arange(own.sum()) - np.repeat(np.cumsum(own) - own, own)
        return own, numbers[np.repeat(begins, own) + inside]

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[Statistics]:
        # One after the other from those that hold them, which may have to read them.
        if len(self._places) * 4 < len(self._whole) or (np.diff(self._places) <= 0).any():
            yield from (self._whole[place] for place in self._places.tolist())
            return
        wanted = iter(self._places.tolist())
        next_place = next(wanted, None)
        for place, row in enumerate(self._whole):
            if place == next_place:
                yield row
                next_place = next(wanted, None)
                if next_place is None:
                    return

    def _row(self, place: int) -> Statistics:
        return self._whole[int(self._places[place])]
