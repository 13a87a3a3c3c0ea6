"""The runs that an address names: `?runs=a,b,c`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import Depends, Query

from overread.errors import OverreadError, UsageError
from overread.site.dependencies import ShelfDep
from overread.site.shelf import Run

MAX_RUNS = 20
"""Runs that are compared at once."""


def _runs(shelf: ShelfDep, runs: Annotated[str, Query(max_length=4000)]) -> list[Run]:
    """The runs of the query, each once, in its order."""
    ids = dict.fromkeys(word for word in runs.split(",") if word)
    if len(ids) < 2:
        raise UsageError("a comparison needs at least two runs", remedy="choose another one")
    if len(ids) > MAX_RUNS:
        raise UsageError(f"{len(ids)} runs are too many", remedy=f"choose up to {MAX_RUNS}")
    found = [shelf.run(one) for one in ids]
    for run in found[1:]:
        one, other = found[0].spec, run.spec
        if (one.benchmark, one.split) != (other.benchmark, other.split):
            raise UsageError(
                f"{found[0].name} read {one.benchmark} {one.split}, {run.name} {other.benchmark} "
                f"{other.split}",
                remedy="choose runs of one split",
            )
    return found


ChosenRuns = Annotated[list[Run], Depends(_runs)]
"""Two or more runs of one split."""


def with_run_names(error: OverreadError, runs: Sequence[Run]) -> UsageError:
    """The error with the runs called by their names and not by their ids."""
    what, remedy = error.what, error.remedy
    for run in runs:
        what, remedy = what.replace(run.id, run.name), remedy.replace(run.id, run.name)
    return UsageError(what, remedy=remedy)
