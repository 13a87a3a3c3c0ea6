"""Predictions of nnU-Net: label maps by category, graded as they lie in its folder."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest

import overread
from overread.benchmarks.rexgroundingct.label_maps import read_category
from overread.benchmarks.rexgroundingct.submission import read_submission
from overread.build.release.export_formats import export_release
from overread.core import Mask, Release
from overread.errors import SubmissionError
from overread.pixels.nifti import write_volume
from overread.runs.scoring.from_submission import grade


@pytest.fixture
def root(sketch: Path) -> Path:
    """Two scans a split, with one and two findings."""
    return sketch / "rexgroundingct"


@pytest.fixture
def release(root: Path) -> Release:
    return overread.load("rexgroundingct", root, "train")


@pytest.fixture
def predicted(root: Path, tmp_path: Path) -> Path:
    """What nnU-Net leaves behind when it was right about everything."""
    export_release("nnunet", "rexgroundingct", root, tmp_path / "Dataset501_Sketch")
    folder = tmp_path / "predictions"
    shutil.copytree(tmp_path / "Dataset501_Sketch/labelsTr", folder)
    shutil.copy(tmp_path / "Dataset501_Sketch/dataset.json", folder)
    (folder / "plans.json").write_text("{}")
    (folder / "predict_from_raw_data_args.json").write_text("{}")
    return folder


def test_the_truth_as_label_maps_is_graded_as_the_truth(
    root: Path, release: Release, predicted: Path
) -> None:
    """Export, label maps and back: every voxel is where it was, but for those that findings share."""
    card = grade("rexgroundingct", root, predicted, split="train")
    overlaps = json.loads((predicted.parent / "Dataset501_Sketch/overlaps.json").read_text())
    expected = []
    for entry in release.entries():
        assert entry.truth is not None
        shared = {one["lost_by"]["finding"]: one["voxels"] for one in overlaps.get(entry.case.id, [])}
        mask = np.asarray(nib.load(root / f"segmentations/{entry.case.id}.nii.gz").dataobj)
        for channel, finding in enumerate(entry.truth.findings):
            drawn, lost = int((mask[channel] > 0).sum()), shared.get(finding.query, 0)
            expected.append(2 * (drawn - lost) / (2 * drawn - lost))
    assert max(expected) == 1
    mean = sum(expected) / len(expected)
    assert card.scores["mean_global_dice_per_finding"].value == pytest.approx(mean, abs=1e-6)
    assert card.scores["honest_mean_global_dice_per_finding"].value == pytest.approx(mean, abs=1e-6)
    assert any("label maps of nnU-Net" in told for told in card.problems)
    assert not any("no NIfTI" in told for told in card.problems)  # its own files are expected there


def test_the_truth_in_a_zip_is_read_the_same(release: Release, predicted: Path) -> None:
    """Packed with its page, a folder around it or not."""
    plain = read_submission(release, predicted)
    for top in ("", "mine/"):
        path = predicted.with_suffix(".zip")
        with zipfile.ZipFile(path, "w") as out:
            for file in predicted.iterdir():
                out.writestr(top + file.name, file.read_bytes())
        packed = read_submission(release, path)
        assert packed.readings.keys() == plain.readings.keys()
        for name, reading in packed.readings.items():
            (ours,) = {
                r.entity for f in (reading.findings or ())[:1] for r in f.regions if isinstance(r, Mask)
            }
            (same,) = {
                r.entity
                for f in (plain.readings[name].findings or ())[:1]
                for r in f.regions
                if isinstance(r, Mask)
            }
            assert ours == same


def test_a_category_without_a_label_is_marked_with_nothing(root: Path, predicted: Path) -> None:
    """Nothing is marked for its findings: they score 0, are named, and others go on."""
    page = json.loads((predicted / "dataset.json").read_text())
    labels = page["labels"]
    gone = next(name for name, number in labels.items() if number)
    labels["something else"] = labels.pop(gone)
    (predicted / "dataset.json").write_text(json.dumps(page))
    card = grade("rexgroundingct", root, predicted, split="train")
    value = card.scores["honest_mean_global_dice_per_finding"].value
    assert value is not None
    assert 0 < value < 1
    code = gone.partition(" ")[0]
    assert any(f"no label is for category {code}" in told for told in card.problems)


def test_the_category_is_read_in_the_sentence_alone(release: Release) -> None:
    """The sentence says it; nothing of the truth is asked."""
    for entry in release.entries():
        assert entry.truth is not None
        found = {finding.query: finding.category for finding in entry.truth.findings}
        assert {query.id: read_category(query) for query in entry.case.queries} == found


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ("{", "this is no JSON"),
        ('{"labels": {"background": 0, "whole": [1, 2]}}', "no number of its own"),
        ('{"labels": {"background": 0, "liver": 1}}', "begins with a category"),
        ('{"labels": {"background": 0, "1a x": true}}', "no number of its own"),
        ('{"labels": {"background": 0, "1a x": -1}}', "no number of its own"),
        ("[" * 100_000, "this is no JSON"),
    ],
)
def test_a_page_that_tells_nothing_is_one_sentence(
    release: Release, predicted: Path, page: str, sentence: str
) -> None:
    """What is wrong with `dataset.json`, and what to do."""
    (predicted / "dataset.json").write_text(page)
    with pytest.raises(SubmissionError, match=sentence) as caught:
        read_submission(release, predicted)
    assert "dataset.json" in str(caught.value)
    assert caught.value.remedy


def test_a_page_of_something_else_changes_nothing(root: Path, release: Release, tmp_path: Path) -> None:
    """Masks by finding with the list of cases beside them are masks by finding."""
    shutil.copytree(root / "segmentations", tmp_path / "mine")
    shutil.copy(root / "dataset.json", tmp_path / "mine")
    found = read_submission(release, tmp_path / "mine")
    assert not any("label maps" in problem.what for problem in found.problems)
    assert all(reading.error is None for reading in found.readings.values())


def test_a_label_map_of_another_shape_costs_its_scan(release: Release, predicted: Path) -> None:
    """The sentence names both shapes; the other scan is read."""
    first, second = (f"{case.id}.nii.gz" for case in release)
    labels = np.asarray(nib.load(predicted / first).dataobj)
    write_volume(predicted / first, labels.transpose(2, 1, 0), np.eye(4))
    found = read_submission(release, predicted)
    failed = {name: reading.error for name, reading in found.readings.items() if reading.error}
    assert list(failed) == [first.removesuffix(".nii.gz")]
    assert "the label map has the shape (64, 72, 96)" in str(*failed.values())
    assert second.removesuffix(".nii.gz") in found.readings
