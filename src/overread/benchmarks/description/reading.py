"""Reading some splits of a copy once, and putting together what was collected."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from overread.benchmarks.description.collecting import Collected, Part, count_table, number_table
from overread.core import Entry, Geometry, Picture, Progress, Release
from overread.core.description import (
    ALL,
    CountTable,
    Description,
    Missing,
    NumberTable,
    PublishedNumber,
    Total,
)
from overread.errors import PictureError

T = TypeVar("T")

UNREAD = "rows that are no case"
UNOPENED = "pictures that could not be opened"
_EVERY = 50
"""Rows between two words on the progress."""


@dataclass(frozen=True)
class Published:
    """A number of the publication, and how it is found in a description."""

    what: str
    split: str
    number: float
    source: str
    find: Callable[[Description, str], float | None]


@dataclass(frozen=True)
class RowReader:
    """What is handed to the function that collects from one row."""

    release: Release
    found: Collected
    headers: bool
    column: str | None

    def size(self, picture: Picture) -> tuple[int, int] | None:
        """(width, height) of a flat picture from its header; None where that was not asked for."""
        from overread.pixels.image_files import image_size

        return self._open(lambda: image_size(self.release.pictures.data(picture), name=picture.name))

    def geometry(self, picture: Picture) -> Geometry | None:
        """The geometry of a volume from its header; None where that was not asked for."""
        return self._open(lambda: self.release.pictures.geometry(picture))

    def _open(self, read: Callable[[], T]) -> T | None:
        if not self.headers:
            return None
        try:
            return read()
        except PictureError:
            self.found.total(UNOPENED)
            return None


def describe_releases(
    releases: Sequence[Release],
    collect: Callable[[Entry, RowReader], None],
    parts: Sequence[Part],
    *,
    totals: Sequence[str],
    headers: bool = False,
    column: str | None = None,
    progress: Progress | None = None,
    published: Sequence[Published] = (),
) -> Description:
    """Read every row of every split once; `collect` says what a row tells."""
    found = {release.split: Collected() for release in releases}
    counts = [release.count() for release in releases]
    whole = None if None in counts else sum(filter(None, counts))
    done = 0
    for release in releases:
        own = found[release.split]
        row = RowReader(release, own, headers, column)
        for name in totals:
            own.total(name, 0)
        for scanned in release.scan():
            done += 1
            if scanned.entry is None:
                own.total(UNREAD)
            else:
                collect(scanned.entry, row)
            if progress is not None and done % _EVERY == 0:
                progress(done, whole)
    return _settle(releases[0].benchmark, found, parts, published)


def _settle(
    benchmark: str, found: dict[str, Collected], parts: Sequence[Part], published: Sequence[Published]
) -> Description:
    tables: list[CountTable | NumberTable] = []
    missing: list[Missing] = []
    for part in parts:
        table = count_table(part, found) if part.kind == "counts" else number_table(part, found)
        if table is not None:
            tables.append(table)
        elif part.absent:
            missing.append(Missing(what=part.title, why=part.absent))
    splits = [*found, ALL] if len(found) > 1 else list(found)
    first, *others = _plain_totals(found, splits)
    totals = [first, *_distinct_totals(found, splits), *others]
    description = Description(
        benchmark=benchmark, splits=splits, totals=totals, tables=tables, missing=missing
    )
    beside = [
        PublishedNumber(
            what=one.what,
            split=one.split,
            published=one.number,
            here=one.find(description, one.split),
            source=one.source,
        )
        for one in published
        if one.split in splits
    ]
    return description.model_copy(update={"published": beside})


def _plain_totals(found: dict[str, Collected], splits: list[str]) -> Iterator[Total]:
    for name in dict.fromkeys(name for one in found.values() for name in one.totals):
        values = {split: one.totals[name] for split, one in found.items()}
        if ALL in splits:
            values[ALL] = sum(values.values())
        yield Total(name=name, values=values)


def _distinct_totals(found: dict[str, Collected], splits: list[str]) -> Iterator[Total]:
    for name in dict.fromkeys(name for one in found.values() for name in one.different):
        each = {split: one.different.get(name, set()) for split, one in found.items()}
        values = {split: len(marks) for split, marks in each.items()}
        if ALL in splits:  # what is in two splits is one
            values[ALL] = len(set().union(*each.values()))
        yield Total(name=name, values=values)


# ---- where a published number stands in a description ----------------------------------------


def total_of(name: str) -> Callable[[Description, str], float | None]:
    """Finds a total."""

    def find(description: Description, split: str) -> float | None:
        return next((one.values.get(split) for one in description.totals if one.name == name), None)

    return find


def count_of(key: str, value: str, *, share: bool = False) -> Callable[[Description, str], float | None]:
    """Finds how many have a value, or which share of the whole; 0 where the table lacks it."""

    def find(description: Description, split: str) -> float | None:
        for table in description.tables:
            if isinstance(table, CountTable) and table.key == key and table.whole.get(split):
                count = next((row.values[split] for row in table.rows if row.name == value), 0)
                return count / table.whole[split] if share else count
        return None

    return find


def mean_of(key: str) -> Callable[[Description, str], float | None]:
    """Finds the mean of a number over all groups."""

    def find(description: Description, split: str) -> float | None:
        for table in description.tables:
            if isinstance(table, NumberTable) and table.key == key and split in table.rows[0].values:
                return table.rows[0].values[split].mean
        return None

    return find
