"""The shelf: what is found below the paths that somebody gave."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from overread.errors import OverreadError, UnknownName
from overread.site.discovery import find_folders
from overread.site.shelf import Shelf


def test_everything_below_a_folder_is_found(shelf_folder: Path) -> None:
    """Each dataset as what it is, each run with its dataset; arms of an audit are no runs."""
    shelf = Shelf([shelf_folder])
    assert {d.name: d.benchmark for d in shelf.datasets.values()} == {
        name: name for name in ("medthinkvqa", "mmrad", "rexgroundingct")
    }
    assert len(shelf.runs) == 9
    for run in shelf.runs.values():
        assert run.dataset is not None
        assert shelf.dataset(run.dataset).benchmark == run.spec.benchmark
        assert len(shelf.split_of(run).entries) > 0
    assert not shelf.problems


def test_ids_stay_the_same_and_are_fit_for_an_address(shelf_folder: Path) -> None:
    """Two looks give the same ids, of plain letters."""
    first, second = Shelf([shelf_folder]), Shelf([shelf_folder])
    assert list(first.runs) == list(second.runs)
    for one in (*first.runs, *first.datasets):
        assert one.replace("-", "").isalnum()


def test_a_run_alone_brings_its_dataset(shelf_folder: Path) -> None:
    """The folder that the run read is put on the shelf beside it."""
    shelf = Shelf([shelf_folder / "runs" / "mmrad" / "atlas"])
    (run,) = shelf.runs.values()
    assert run.dataset is not None
    assert shelf.dataset(run.dataset).root == shelf_folder / "mmrad"


def test_a_dataset_that_moved_is_asked_for(own_shelf: Path, shelf_folder: Path) -> None:
    """Without it the run is there and its cases are not; `datasets_root` says where they are."""
    run = own_shelf / "runs" / "mmrad" / "atlas"
    spec = json.loads((run / "spec.json").read_text())
    spec["root"] = str(own_shelf / "gone")
    (run / "spec.json").write_text(json.dumps(spec))
    shelf = Shelf([run])
    (found,) = shelf.runs.values()
    assert found.dataset is None
    with pytest.raises(OverreadError, match="--root"):
        shelf.split_of(found)
    again = Shelf([run], datasets_root=shelf_folder / "mmrad")
    assert next(iter(again.runs.values())).dataset is not None


def test_what_is_damaged_is_told_and_costs_only_itself(own_shelf: Path) -> None:
    """A run whose spec is no spec is a sentence; the others are there."""
    (own_shelf / "runs" / "mmrad" / "atlas" / "spec.json").write_text("{")
    shelf = Shelf([own_shelf])
    assert len(shelf.runs) == 8
    assert len(shelf.problems) == 1
    assert "spec" in shelf.problems[0]


def test_a_link_to_elsewhere_is_not_followed(shelf_folder: Path, tmp_path: Path) -> None:
    """Folders are walked as they lie, so that a link leads neither out nor round in circles."""
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "out").symlink_to(shelf_folder)
    assert list(find_folders(tmp_path)) == []


def test_what_was_begun_later_is_found(own_shelf: Path) -> None:
    """A run that appears while the page is open is there on the next look."""
    shelf = Shelf([own_shelf])
    before = set(shelf.runs)
    new = own_shelf / "runs" / "mmrad" / "another"
    shutil.copytree(own_shelf / "runs" / "mmrad" / "random", new)
    shelf.rescan()
    (added,) = set(shelf.runs) - before
    assert shelf.run(added).name == "runs/mmrad/another"
    with pytest.raises(UnknownName, match="run"):
        shelf.run("nothing-like-it")


def test_rows_that_change_are_read_again(own_shelf: Path) -> None:
    """A split is kept, until its file of rows is another."""
    shelf = Shelf([own_shelf / "medthinkvqa"])
    (dataset,) = shelf.datasets.values()
    first = dataset.split("test")
    assert dataset.split("test") is first
    rows = own_shelf / "medthinkvqa" / "test.jsonl"
    lines = rows.read_text().splitlines(keepends=True)
    rows.write_text("".join(lines[:1]) + "{}\n")
    second = dataset.split("test")
    assert len(second.entries) == 1
    assert second.unread == 1


def test_no_place_of_a_run_is_told(shelf_folder: Path, tmp_path: Path) -> None:
    """Neither its folder nor its dataset's, whatever blanks stand in their names."""
    home = tmp_path / "my data"
    shutil.copytree(shelf_folder / "runs" / "mmrad" / "atlas", home / "first run")
    (run,) = (shelf := Shelf([home])).runs.values()
    told = shelf.strip_paths(f"{run.folder}/masks/a b.nii: not {run.spec.root}/x, {run.spec.root}")
    assert told == "masks/a b.nii: not x, mmrad"
