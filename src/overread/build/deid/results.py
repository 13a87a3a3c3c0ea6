"""Options and results of a de-identification; results never hold the removed values."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Literal

from pydantic import Field

from overread.core import Record

RemovalKind = Literal[
    "name",
    "id",
    "date",
    "age",
    "phone",
    "email",
    "address",
    "hospital",
    "tag",
    "private-tag",
    "uid",
    "burned-in",
    "metadata",
    "column",
    "path",
]
RemovalAction = Literal["removed", "emptied", "replaced", "shifted", "covered", "left-out"]


class Options(Record):
    """How to clean; the defaults keep least."""

    replace: Literal["surrogates", "tags"] = "surrogates"
    """In texts: made-up names, ids and moved dates, or tags such as [NAME]."""
    dates: Literal["shift", "remove"] = "shift"
    """Move all dates of a patient by the same secret number of weeks, or take them out."""
    day_first: bool | None = None
    """Whether 03/04/2021 is in April; None to go by the other dates of the text."""
    keep_side_markers: bool = False
    """Leave single letters R and L in pictures uncovered."""
    keep_descriptions: bool = False
    """Keep series descriptions and the like, cleaned as texts are; otherwise they are removed."""
    keep_characteristics: bool = False
    """Keep sex, size, weight, and age up to 89."""
    names: tuple[str, ...] = ()
    """More names to look for: staff, hospitals of the house."""
    patient_column: str | None = None
    """The column of a table that tells whose a row is; None to find it by its name."""
    text_columns: tuple[str, ...] = ()
    """Columns cleaned as running text whatever they are called."""
    keep_columns: tuple[str, ...] = ()
    """Columns left as they are."""
    accept_unclean: bool = False
    """Let files go on that could not be cleaned."""


class Removal(Record):
    """One thing that was taken out, moved or covered."""

    kind: RemovalKind
    """What it was."""
    action: RemovalAction
    """What was done."""
    where: str
    """The element, the column and characters, or the box; never the value."""
    rule: str = ""
    """Which rule found it."""
    before: str | None = Field(default=None, exclude=True, repr=False)
    """The value itself, for a map that is asked for; in no dump and no repr."""
    after: str | None = Field(default=None, exclude=True, repr=False)
    """What stands there now, for the same map."""


class UncleanFile(Record):
    """A file that could not be cleaned, and why."""

    source: str = Field(repr=False)
    """Its path in the source, which may itself name a patient: not for the record."""
    file: str
    """The name that it would have had."""
    why: str
    """In one sentence."""
    accepted: bool = False
    """Whether it went on all the same, because that was asked for."""


class CleanSummary(Record):
    """What became of a whole folder."""

    out: Path
    """Where the cleaned files are."""
    files: dict[str, int]
    """Kind of file → how many were written."""
    removals: dict[str, int]
    """Kind of removal → how many."""
    unclean: tuple[UncleanFile, ...] = ()
    """Files that could not be cleaned."""
    left_out: tuple[str, ...] = ()
    """Files that nobody needs any more, by cleaned name: indexes, thumbnails of the system."""

    @property
    def refused(self) -> tuple[UncleanFile, ...]:
        """Files that could not be cleaned and were not written."""
        return tuple(one for one in self.unclean if not one.accepted)


def count_removals(removals: list[Removal]) -> dict[str, int]:
    """How many of each kind, the most first."""
    return dict(Counter(one.kind for one in removals).most_common())
