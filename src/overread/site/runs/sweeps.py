"""Sweeps: one metric over an axis, with the run behind each point."""

from __future__ import annotations

import math
from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, JsonValue

from overread.core import Record
from overread.runs.scoring.card import DescribedScore
from overread.runs.sweep.axes import Axis
from overread.runs.sweep.runner import MARK
from overread.site.dependencies import PathId, ShelfDep
from overread.site.runs.audits import IntervalValue, PairedDifference
from overread.site.runs.stored_json import read_marked_json
from overread.site.shelf import Shelf, SweepFolder
from overread.site.strip_paths import strip_paths_in_json

router = APIRouter()


class _StoredPoint(BaseModel):
    """A point of `sweep.json`; there is more in it."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)

    name: str
    run: str
    values: dict[str, str]
    cases: int
    readings: int
    failed: int
    scores: dict[str, DescribedScore]
    not_scored: dict[str, str] = {}
    agreement: IntervalValue | None = None
    differences: dict[str, PairedDifference] = {}
    settings: dict[str, JsonValue] = {}


class _SweepFile(BaseModel):
    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)

    benchmark: str | None
    split: str | None
    reader: str | None
    axes: dict[str, list[str]]
    metrics: list[str]
    complete: bool
    total: int
    first: str | None = None
    points: list[_StoredPoint]
    not_compared: dict[str, str] = {}
    intervals: dict[str, JsonValue] = {}


class SweepAxis(Record):
    """What is varied."""

    name: str
    values: list[str]
    numbers: list[float] | None
    """The values as numbers, where they are."""


class SweepPoint(Record):
    """One run of a sweep."""

    name: str
    run: str | None
    """Id of the run on the shelf."""
    values: dict[str, str]
    """Axis → value."""
    cases: int
    readings: int
    failed: int
    scores: dict[str, DescribedScore]
    not_scored: dict[str, str]
    agreement: IntervalValue | None
    """How often two readings of one case choose the same, where cases are read twice."""
    differences: dict[str, PairedDifference]
    """Metric → this point's number minus the first point's, paired."""


class SweepResult(Record):
    """What a sweep found."""

    id: str
    name: str
    benchmark: str | None
    split: str | None
    reader: str | None
    axes: list[SweepAxis]
    metrics: list[str]
    """The headline first."""
    complete: bool
    total: int
    """How many points there are to be."""
    first: str | None
    """The point that the others are set against."""
    points: list[SweepPoint]
    not_compared: dict[str, str]
    intervals: dict[str, JsonValue]


def _sweep(sweep: PathId, shelf: ShelfDep) -> SweepFolder:
    return shelf.sweep(sweep)


@router.get("/sweeps/{sweep}")
def get_sweep(sweep: Annotated[SweepFolder, Depends(_sweep)], shelf: ShelfDep) -> SweepResult:
    """A sweep, as `overread sweep` wrote it."""
    found = read_marked_json(
        sweep.folder / "sweep.json", MARK, _SweepFile, what="table of this sweep"
    )
    return SweepResult(
        id=sweep.id,
        name=sweep.name,
        benchmark=found.benchmark,
        split=found.split,
        reader=found.reader,
        axes=[
            SweepAxis(name=name, values=values, numbers=_numbers(name, values))
            for name, values in found.axes.items()
        ],
        metrics=found.metrics,
        complete=found.complete,
        total=found.total,
        first=found.first,
        points=[_point(one, sweep, shelf) for one in found.points],
        not_compared=found.not_compared,
        intervals=strip_paths_in_json(found.intervals),
    )


def _point(one: _StoredPoint, sweep: SweepFolder, shelf: Shelf) -> SweepPoint:
    folder = (sweep.folder / one.run).resolve()
    run = next((run.id for run in shelf.runs.values() if run.folder == folder), None)
    return SweepPoint(
        name=one.name,
        run=run,
        values=one.values,
        cases=one.cases,
        readings=one.readings,
        failed=one.failed,
        scores=one.scores,
        not_scored=one.not_scored,
        agreement=one.agreement,
        differences=one.differences,
    )


def _numbers(name: str, values: list[str]) -> list[float] | None:
    numbers = Axis(name, tuple(values)).numbers
    return list(numbers) if numbers and all(map(math.isfinite, numbers)) else None
