"""A description of a copy: totals, counts of words, spreads of numbers, and what is not known."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from overread.core.record import Record

ALL = "all"
"""Stands for all splits together, beside the names of the splits."""
NOT_STATED = "not stated"
"""The row of those that do not tell."""


class Total(Record):
    """One number a split: cases, pictures, findings."""

    name: str
    """What is counted."""
    values: dict[str, int]
    """Split → how many."""


class CountRow(Record):
    """One value, and how often it is there."""

    name: str
    """The value."""
    values: dict[str, int]
    """Split → how many."""


class CountTable(Record):
    """How many of something have each value: pictures by modality, findings by category."""

    kind: Literal["counts"] = "counts"
    """Says which table this is when it is stored as JSON."""
    key: str
    """Short and stable."""
    title: str
    """For people."""
    unit: str
    """What is counted, in the plural: 'pictures'."""
    about: str
    """What the rows are and where they come from."""
    several: bool = False
    """Whether one of the unit may be in several rows, so that they do not add up to the whole."""
    whole: dict[str, int]
    """Split → how many of the unit there are; a share is of these."""
    rows: list[CountRow]
    """The values: in their own order where they have one, else the most frequent first."""


class Spread(Record):
    """How a number is distributed.

    Count, mean, least and most are exact; quartiles are of the numbers rounded to four digits, so
    that a million of them need no more memory than a thousand.
    """

    count: int
    """How many numbers."""
    total: float
    """Their sum."""
    mean: float
    """Their mean."""
    sd: float
    """Their standard deviation, over all of them (n, not n − 1)."""
    least: float
    """The smallest."""
    q1: float
    """A quarter lies below it."""
    median: float
    """Half lies below it."""
    q3: float
    """Three quarters lie below it."""
    most: float
    """The largest."""
    bins: list[int]
    """How many lie between one of the row's `edges` and the next."""


class NumberRow(Record):
    """One number, or the number in one group."""

    name: str
    """The group; 'all' where there are no groups."""
    edges: list[float]
    """Borders of the bins, the last one included in the last bin; the same for all splits."""
    values: dict[str, Spread]
    """Split → the spread; a split without such a number is absent."""


class NumberTable(Record):
    """How a number is distributed: pictures a case, voxels a finding by category."""

    kind: Literal["numbers"] = "numbers"
    """Says which table this is when it is stored as JSON."""
    key: str
    """Short and stable."""
    title: str
    """For people."""
    unit: str
    """What the number is of, in the plural: 'cases'."""
    about: str
    """What the number is and where it comes from."""
    rows: list[NumberRow]
    """All of them first, then the groups."""


class Missing(Record):
    """What the papers show and this copy does not tell."""

    what: str
    """Title of the table that is not there."""
    why: str
    """What would have to be in the rows."""


class PublishedNumber(Record):
    """A number that the publication gives, beside this copy's."""

    what: str
    """What it is."""
    split: str
    """Of which split."""
    published: float
    """What was published."""
    here: float | None
    """What this copy has; None where it cannot be told."""
    source: str
    """Where it was published."""


class Description(Record):
    """What a copy of a benchmark holds, by split."""

    benchmark: str
    """Catalog name of the benchmark."""
    splits: list[str]
    """The splits that were read, then 'all' where there are several."""
    totals: list[Total]
    """How many there are of the plain things."""
    tables: list[CountTable | NumberTable] = Field(default_factory=list)
    """Everything else, in the order of the papers."""
    missing: list[Missing] = Field(default_factory=list)
    """What this copy does not tell: said, not guessed."""
    published: list[PublishedNumber] = Field(default_factory=list)
    """The publication's numbers, for a copy that should be the official one."""
