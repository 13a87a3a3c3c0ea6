"""Masks of a run: drawn in workers that may die, written before their line, adopted from others."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

import overread
from overread.core import DrawnMask, Mask, Reading
from overread.pixels.masks import read_channel
from overread.pixels.nifti import read_header
from overread.runs.engine import RunPlan, run
from overread.runs.store import last_readings
from tests.runs.fake_readers import Drawer, WithFiles, draw_all
from tests.runs.processes import commanded


def ran(sketch: Path, out: Path, **arguments: str) -> dict[str, Any]:
    """A run of the drawing reader by the real command, since workers start from it."""
    words = [f"--reader-arg={name}={value}" for name, value in arguments.items()]
    done = commanded(
        "run", "rexgroundingct", sketch / "rexgroundingct", "--reader", "test-drawer",
        "--workflow", "test-draw", "--concurrency", "2", "--json", "--out", out, *words,
    )  # fmt: skip
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def masks(folder: Path, reading: Reading) -> list[Any]:
    """The masks that a reading names, read from the run."""
    found = []
    for finding in reading.findings or ():
        [region] = finding.regions
        assert isinstance(region, Mask)
        file = folder / region.file
        shape = read_header(file).shape[1:]
        found.append(read_channel(file, region.channel, shape, region.channels))  # type: ignore[arg-type]
    return found


def test_masks_are_drawn_in_workers_and_written(sketch: Path, tmp_path: Path) -> None:
    """Each sentence has its channel, and none was drawn in this process."""
    assert ran(sketch, tmp_path / "run")["failed"] == 0
    release = overread.load("rexgroundingct", sketch / "rexgroundingct")
    readings = last_readings(tmp_path / "run")
    for case in release:
        reading = readings[case.id, 0]
        assert [finding.query for finding in reading.findings or ()] == [q.id for q in case.queries]
        for mask in masks(tmp_path / "run", reading):
            assert mask.shape == release.pictures.geometry(case.pictures[0]).shape
            assert np.count_nonzero(mask) == 8
            assert mask[1, 1, 1] == 1
        assert reading.trace is not None
        assert {step.text for step in reading.trace.steps} == {"in a worker"}


def test_a_case_that_kills_its_workers_fails_alone(sketch: Path, tmp_path: Path) -> None:
    """Two workers die on one case: it becomes a failed reading, and the others are read."""
    ids = [case.id for case in overread.load("rexgroundingct", sketch / "rexgroundingct")]
    outcome = ran(sketch, tmp_path / "run", dies=ids[0])
    assert [row["case"] for row in outcome["reasons"]] == [ids[0]]
    assert "the worker process crashed twice" in outcome["reasons"][0]["why"]
    assert outcome["readings"] == len(ids)
    assert len(list((tmp_path / "run" / "arrays").iterdir())) == len(ids) - 1


def test_a_worker_that_dies_once_is_replaced(sketch: Path, tmp_path: Path) -> None:
    """A single death costs nothing but time."""
    ids = [case.id for case in overread.load("rexgroundingct", sketch / "rexgroundingct")]
    outcome = ran(sketch, tmp_path / "run", dies=ids[0], once=str(tmp_path / "died"))
    assert (tmp_path / "died").exists()
    assert outcome["failed"] == 0


def test_a_mask_of_another_shape_fails_its_case(sketch: Path, tmp_path: Path) -> None:
    """What does not fit the CT is a failed reading that says so."""
    root = sketch / "rexgroundingct"

    class Careless(Drawer):
        computes = False

        async def read(self, request: Any) -> Any:
            return DrawnMask(np.ones((3, 3, 3), bool))

    outcome = run(RunPlan("rexgroundingct", root, Careless({}), workflow=draw_all), tmp_path / "run")
    assert outcome.tally.failed == outcome.tally.done > 0
    assert "a mask of shape (3, 3, 3)" in outcome.tally.reasons[0][1]


def test_files_of_whole_readers_are_copied_into_the_run(sketch: Path, tmp_path: Path) -> None:
    """A replayed mask lies in arrays/ afterwards, under the name of its case."""
    root = sketch / "rexgroundingct"
    cases = list(overread.load("rexgroundingct", root))
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    ran(sketch, tmp_path / "drawn")
    for case in cases:
        shutil.copy(tmp_path / "drawn" / "arrays" / f"{case.id}.nii.gz", theirs / "mine.nii.gz")
    plan = RunPlan("rexgroundingct", root, WithFiles(where=theirs), cases=(cases[-1].id,))
    run(plan, tmp_path / "run")
    [reading] = last_readings(tmp_path / "run").values()
    assert {mask.sum() for mask in masks(tmp_path / "run", reading)} == {8}
    assert [path.name for path in (tmp_path / "run" / "arrays").iterdir()] == [f"{cases[-1].id}.nii.gz"]
