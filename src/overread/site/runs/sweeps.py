"""Sweeps: one metric over an axis, with the run behind each point."""

from __future__ import annotations

import math
from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import Field, JsonValue

from overread.core import Record
from overread.runs.scoring.card import DescribedScore
from overread.runs.sweep.axes import Axis
from overread.runs.sweep.runner import MARK
from overread.site.dependencies import PathId, ShelfDep
from overread.site.runs.intervals import IntervalValue, PairedDifference, StoredModel
from overread.site.runs.stored_json import read_marked_json
from overread.site.shelf import Shelf, SweepFolder
from overread.site.strip_paths import strip_paths_in_json

router = APIRouter()


class SweepAxis(Record):
    """What is varied."""

    name: str
    values: list[str]
    numbers: list[float] | None
    """The values as numbers, where they are."""


class PointOfSweep(StoredModel):
    """One run of a sweep."""

    name: str
    run: str | None
    """Id of the run on the shelf; in the file, its folder."""
    values: dict[str, str]
    """Axis → value."""
    cases: int
    readings: int
    failed: int
    """Readings that failed."""
    scores: dict[str, DescribedScore]
    not_scored: dict[str, str] = Field(default={})
    agreement: IntervalValue | None = None
    """How often two readings of one case choose the same, where cases are read twice."""
    differences: dict[str, PairedDifference] = Field(default={})
    """Metric → this point's number minus the first point's, paired."""


class _SweepNumbers(StoredModel):
    benchmark: str | None
    split: str | None
    reader: str | None
    metrics: list[str]
    """The headline first."""
    complete: bool
    total: int
    """How many points there are to be."""
    first: str | None = None
    """The point that the others are set against."""
    points: list[PointOfSweep]
    not_compared: dict[str, str] = Field(default={})
    intervals: dict[str, JsonValue] = Field(default={})


class _SweepFile(_SweepNumbers):
    axes: dict[str, list[str]]


class SweepTable(_SweepNumbers):
    """What a sweep found."""

    id: str
    name: str
    axes: list[SweepAxis]


def _sweep(sweep: PathId, shelf: ShelfDep) -> SweepFolder:
    return shelf.sweep(sweep)


@router.get("/sweeps/{sweep}")
def get_sweep(sweep: Annotated[SweepFolder, Depends(_sweep)], shelf: ShelfDep) -> SweepTable:
    """A sweep, as `overread sweep` wrote it."""
    found = read_marked_json(sweep.folder / "sweep.json", MARK, _SweepFile, what="table of this sweep")
    own = dict(found)
    own["axes"] = [
        SweepAxis(name=name, values=values, numbers=_numbers(name, values))
        for name, values in found.axes.items()
    ]
    own["points"] = [one.model_copy(update={"run": _run_id(one, sweep, shelf)}) for one in found.points]
    own["intervals"] = strip_paths_in_json(found.intervals)
    return SweepTable(id=sweep.id, name=sweep.name, **own)


def _run_id(one: PointOfSweep, sweep: SweepFolder, shelf: Shelf) -> str | None:
    folder = (sweep.folder / (one.run or "")).resolve()
    return next((run.id for run in shelf.runs.values() if run.folder == folder), None)


def _numbers(name: str, values: list[str]) -> list[float] | None:
    numbers = Axis(name, tuple(values)).numbers
    return list(numbers) if numbers and all(map(math.isfinite, numbers)) else None
