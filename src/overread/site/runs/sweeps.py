"""Sweeps: one metric over an axis, with the run behind each point."""

from __future__ import annotations

import math
from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, JsonValue

from overread.core import Record
from overread.runs.card import Described
from overread.runs.sweep import MARK
from overread.runs.sweep_axes import Axis
from overread.site.parts import OnShelf, Word
from overread.site.runs.audits import Apart, Span
from overread.site.runs.stored import read_stored
from overread.site.shelf import Shelf, Sweep
from overread.site.unplaced import unplaced_in

router = APIRouter()


class _Point(BaseModel):
    """A point of `sweep.json`; there is more in it."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)

    name: str
    run: str
    values: dict[str, str]
    cases: int
    readings: int
    failed: int
    scores: dict[str, Described]
    not_scored: dict[str, str] = {}
    agreement: Span | None = None
    differences: dict[str, Apart] = {}
    settings: dict[str, JsonValue] = {}


class _Found(BaseModel):
    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)

    benchmark: str | None
    split: str | None
    reader: str | None
    axes: dict[str, list[str]]
    metrics: list[str]
    complete: bool
    total: int
    first: str | None = None
    points: list[_Point]
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
    scores: dict[str, Described]
    not_scored: dict[str, str]
    agreement: Span | None
    """How often two readings of one case choose the same, where cases are read twice."""
    differences: dict[str, Apart]
    """Metric → this point's number minus the first point's, paired."""


class SweepShown(Record):
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


def _sweep(sweep: Word, shelf: OnShelf) -> Sweep:
    return shelf.sweep(sweep)


@router.get("/sweeps/{sweep}")
def get_sweep(sweep: Annotated[Sweep, Depends(_sweep)], shelf: OnShelf) -> SweepShown:
    """A sweep, as `overread sweep` wrote it."""
    found = read_stored(sweep.folder / "sweep.json", MARK, _Found, what="table of this sweep")
    return SweepShown(
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
        intervals=unplaced_in(found.intervals),
    )


def _point(one: _Point, sweep: Sweep, shelf: Shelf) -> SweepPoint:
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
