"""`/api/shelf`: the datasets, runs, sweeps and builds of the page, and the rights of the user."""

from __future__ import annotations

from typing import cast

from fastapi import APIRouter

from overread import __version__, catalog
from overread.core import Benchmark, Record
from overread.site.data_terms import find_terms
from overread.site.dependencies import AccessDep, CurrentUser, ShelfDep
from overread.site.shelf import BuildFolder, Dataset, Run, SweepFolder

router = APIRouter(tags=["shelf"])


# What is on the shelf, less its folders.
class ShelfDataset(Record):
    """A dataset on the shelf."""

    id: str
    name: str
    benchmark: str
    title: str
    """What people call the benchmark."""
    splits: list[str]
    synthetic: bool
    """Whether its patients are made up, by `overread phantom`."""
    licence: str
    terms: str
    """What one agrees to by using it."""


class ShelfRun(Record):
    """A run on the shelf."""

    id: str
    name: str
    benchmark: str
    split: str
    dataset: str | None
    """Id of the dataset that was read, where it is there."""
    reader: str
    workflow: str | None


class ShelfFolder(Record):
    """A sweep or a build on the shelf."""

    id: str
    name: str


class Rights(Record):
    """What may be done here."""

    read_only: bool
    truth: bool
    """Whether the truth may be shown at all."""
    user: str | None
    """Who is logged in; absent where the token let in."""


class ShelfContents(Record):
    """Everything on the shelf."""

    version: str
    datasets: list[ShelfDataset]
    runs: list[ShelfRun]
    sweeps: list[ShelfFolder]
    builds: list[ShelfFolder]
    problems: list[str]
    """What could not be looked into, one sentence each."""
    rights: Rights


@router.get("/shelf")
def get_shelf(shelf: ShelfDep, access: AccessDep, user: CurrentUser, *, again: bool = False) -> ShelfContents:
    """What there is to look at; `again` looks at the disk once more."""
    if again:
        shelf.rescan()
    return ShelfContents(
        version=__version__,
        datasets=[_dataset(one) for one in shelf.datasets.values()],
        runs=[_run(one) for one in shelf.runs.values()],
        sweeps=[_folder(one) for one in shelf.sweeps.values()],
        builds=[_folder(one) for one in shelf.builds.values()],
        problems=[shelf.strip_paths(problem) for problem in shelf.problems],
        rights=Rights(read_only=access.read_only, truth=access.truth, user=user),
    )


def _dataset(one: Dataset) -> ShelfDataset:
    exam = cast(Benchmark, catalog.find("benchmarks", one.benchmark))
    licence, terms, synthetic = find_terms(exam, one.root)
    return ShelfDataset(
        id=one.id,
        name=one.name,
        benchmark=one.benchmark,
        title=exam.title,
        splits=list(one.splits),
        synthetic=synthetic,
        licence=licence,
        terms=terms,
    )


def _run(one: Run) -> ShelfRun:
    spec = one.spec
    return ShelfRun(
        id=one.id,
        name=one.name,
        benchmark=spec.benchmark,
        split=spec.split,
        dataset=one.dataset,
        reader=spec.reader.name,
        workflow=spec.workflow.name,
    )


def _folder(one: BuildFolder | SweepFolder) -> ShelfFolder:
    return ShelfFolder(id=one.id, name=one.name)
