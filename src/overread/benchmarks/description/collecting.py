"""Collecting what a copy holds, row by row, in memory that does not grow with the rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from overread.core.description import (
    ALL,
    NOT_STATED,
    CountRow,
    CountTable,
    NumberRow,
    NumberTable,
    Spread,
)

MOST_VALUES = 5000
"""Different values of one table; what comes after them counts as 'other'."""
_OTHER = "other"
_LONGEST = 120
DIGITS = 4
"""Digits that numbers are kept with for quartiles and bins."""
_UNIT_BINS = 40
"""Whole numbers over so narrow a range have a bin each."""
_BINS = 20
_WIDE = 300
"""Where the largest is so many times the smallest, bins go 1, 2, 5, 10, 20, …"""


@dataclass(frozen=True)
class Part:
    """One table of a description, declared: what it is called, and what is said where it is empty."""

    kind: Literal["counts", "numbers"]
    key: str
    title: str
    unit: str
    about: str
    absent: str = ""
    """Why there may be nothing to count; empty where an empty table needs no word."""
    several: bool = False
    order: Callable[[], Iterable[str]] | None = None
    """The values in their own order; others follow, the most frequent first."""
    name: Callable[[str], str] = str
    """What people call a value."""


class NumberCount:
    """Numbers that were met: exact sums, and the numbers themselves to four digits."""

    def __init__(self) -> None:
        """None yet."""
        self.count = 0
        self.total = 0.0
        self.squares = 0.0
        self.least = math.inf
        self.most = -math.inf
        self.often: Counter[float] = Counter()

    def add(self, number: float) -> None:
        """Take one more into account."""
        self.count += 1
        self.total += number
        self.squares += number * number
        self.least = min(self.least, number)
        self.most = max(self.most, number)
        self.often[float(f"{number:.{DIGITS}g}")] += 1

    def merge(self, other: NumberCount) -> None:
        """Take all of another into account."""
        self.count += other.count
        self.total += other.total
        self.squares += other.squares
        self.least = min(self.least, other.least)
        self.most = max(self.most, other.most)
        self.often.update(other.often)

    def spread(self, edges: Sequence[float]) -> Spread:
        """The distribution, with the numbers between each two edges."""
        mean = self.total / self.count
        ordered = sorted(self.often.items())
        q1, median, q3 = (
            min(max(_quantile(ordered, self.count, share), self.least), self.most)
            for share in (0.25, 0.5, 0.75)
        )
        return Spread(
            count=self.count,
            total=self.total,
            mean=mean,
            sd=math.sqrt(max(0.0, self.squares / self.count - mean * mean)),
            least=self.least,
            q1=q1,
            median=median,
            q3=q3,
            most=self.most,
            bins=_count_bins(ordered, edges),
        )

    def edges(self) -> list[float]:
        """Borders of bins that suit these numbers."""
        least, most = math.floor(self.least), math.ceil(self.most)
        whole = all(float(number).is_integer() for number in self.often)
        if whole and most - least <= _UNIT_BINS:
            return [float(edge) for edge in range(least, most + 2)]
        if self.least > 0 and self.most >= _WIDE * self.least:
            return _rounded_edges(self.least, self.most)
        step = _nice_step((self.most - self.least) / _BINS or 1.0)
        first = math.floor(self.least / step)
        return [round(n * step, 9) for n in range(first, math.floor(self.most / step) + 2)]


def _quantile(ordered: list[tuple[float, int]], count: int, share: float) -> float:
    """As numpy's: between two numbers in a straight line."""
    place = share * (count - 1)
    low, part = math.floor(place), place - math.floor(place)
    found: list[float] = []
    seen = 0
    for number, times in ordered:
        seen += times
        while len(found) < 2 and seen > low + len(found):
            found.append(number)
        if len(found) == 2:
            break
    below, above = found[0], found[-1]
    return below + part * (above - below)


def _count_bins(ordered: list[tuple[float, int]], edges: Sequence[float]) -> list[int]:
    bins = [0] * (len(edges) - 1)
    at = 0
    for number, times in ordered:
        while at < len(bins) - 1 and number >= edges[at + 1]:
            at += 1
        bins[at] += times
    return bins


def _rounded_edges(least: float, most: float) -> list[float]:
    edges: list[float] = []
    power = math.floor(math.log10(least))
    while True:
        for digit in (1, 2, 5):
            edge = float(f"{digit}e{power}")
            if edge <= least:
                edges = [edge]
            else:
                edges.append(edge)
                if edge > most:
                    return edges
        power += 1


def _nice_step(least: float) -> float:
    """1, 2 or 5 times a power of ten, not under `least`."""
    power = math.floor(math.log10(least))
    return next(
        step for step in (float(f"{digit}e{power}") for digit in (1, 2, 5, 10)) if step >= least * (1 - 1e-9)
    )


@dataclass
class Collected:
    """What one split holds, as far as it was read."""

    totals: Counter[str] = field(default_factory=Counter)
    wholes: Counter[str] = field(default_factory=Counter)
    words: dict[str, Counter[str]] = field(default_factory=dict)
    numbers: dict[tuple[str, str], NumberCount] = field(default_factory=dict)
    different: dict[str, set[int]] = field(default_factory=dict)

    def total(self, name: str, times: int = 1) -> None:
        """So many more of a plain thing; 0 makes sure that it is listed."""
        self.totals[name] += times

    def distinct(self, name: str, value: str | None) -> None:
        """One of a thing that rows may share, as a patient; counted once, and only a mark is kept."""
        marks = self.different.setdefault(name, set())
        if value is not None:
            marks.add(hash(value))

    def word(self, key: str, *values: str | None, times: int = 1) -> None:
        """One more of the unit, with these values; with none of them it does not tell."""
        self.wholes[key] += times
        known = self.words.setdefault(key, Counter())
        told = dict.fromkeys(
            " ".join(value.split())[:_LONGEST] for value in values if value and value.strip()
        )
        for value in told or (NOT_STATED,):
            known[value if value in known or len(known) < MOST_VALUES else _OTHER] += times

    def number(self, key: str, number: float | None, *groups: str) -> None:
        """One more number, of all and of its groups; None is not counted."""
        if number is None:
            return
        for group in dict.fromkeys(("", *groups)):
            self.numbers.setdefault((key, group), NumberCount()).add(number)


def count_table(part: Part, found: dict[str, Collected]) -> CountTable | None:
    """The table of a part, by split and over all; None where no split tells a single value."""
    by_split = {split: one.words.get(part.key, Counter()) for split, one in found.items()}
    together = sum(by_split.values(), Counter[str]())
    if not set(together) - {NOT_STATED}:
        return None
    own = list(part.order()) if part.order is not None else []
    known = {value: at for at, value in enumerate(own)}
    last = len(own)

    def rank(value: str) -> tuple[int, int, int, str]:
        return (value == NOT_STATED, known.get(value, last), -together[value], value)

    whole = {split: one.wholes[part.key] for split, one in found.items()}
    return CountTable(
        key=part.key,
        title=part.title,
        unit=part.unit,
        about=part.about,
        several=part.several,
        whole=_with_all(whole),
        rows=[
            CountRow(
                name=value if value == NOT_STATED else part.name(value),
                values=_with_all({split: words[value] for split, words in by_split.items()}),
            )
            for value in sorted(together, key=rank)
        ],
    )


def number_table(part: Part, found: dict[str, Collected]) -> NumberTable | None:
    """The table of a part, by split and over all; None where no split has such a number."""
    groups = dict.fromkeys(
        group for one in found.values() for key, group in one.numbers if key == part.key and group
    )
    own = {value: at for at, value in enumerate(part.order() if part.order is not None else ())}
    ordered = ["", *sorted(groups, key=lambda group: (own.get(group, len(own)), group))]
    rows = [row for group in ordered if (row := _number_row(part, group, found)) is not None]
    if not rows:
        return None
    return NumberTable(key=part.key, title=part.title, unit=part.unit, about=part.about, rows=rows)


def _number_row(part: Part, group: str, found: dict[str, Collected]) -> NumberRow | None:
    by_split = {
        split: one.numbers[part.key, group]
        for split, one in found.items()
        if (part.key, group) in one.numbers
    }
    if not by_split:
        return None
    together = NumberCount()
    for one in by_split.values():
        together.merge(one)
    edges = together.edges()
    values = {split: one.spread(edges) for split, one in by_split.items()}
    if len(found) > 1:
        values[ALL] = together.spread(edges)
    return NumberRow(name=part.name(group) if group else ALL, edges=edges, values=values)


def _with_all(values: dict[str, int]) -> dict[str, int]:
    """With all splits together, where there are several."""
    return values | {ALL: sum(values.values())} if len(values) > 1 else values
