"""Grand-challenge's folders, in and out: a container's inputs, its outputs graded, predictions written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest
import SimpleITK as sitk  # noqa: N813

import overread
from overread import catalog
from overread.benchmarks.rexgroundingct.grand_challenge import submit_grand_challenge
from overread.build.release.export_formats import export_release
from overread.core import Mask, Release, Submission
from overread.errors import SubmissionError
from overread.pixels.masks import read_channel
from overread.pixels.metaimage import write_metaimage
from tests.build.release.tilted_release import BIG, SHAPE, SMALL, release_of, tilted

CASE = "train_1_a_1"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A release of one scan with two findings."""
    return release_of(tmp_path / "release", tilted("PIR"), splits=("train",))


def handed(root: Path, path: Path) -> tuple[Release, Submission]:
    """A submission as it is graded."""
    release = overread.load("rexgroundingct", root, "train")
    return release, catalog.find("benchmarks", "rexgroundingct").read_submission(release, path)


def same_masks(submission: Submission) -> bool:
    """Whether both findings have the voxels of the truth."""
    found = submission.readings[CASE].findings or ()
    masks = [one for finding in found for one in finding.regions if isinstance(one, Mask)]
    return all(
        np.array_equal(read_channel(submission.source(mask.file), mask.channel, SHAPE, 2) > 0, truth > 0)
        for mask, truth in zip(masks, (BIG, SMALL), strict=True)
    )


def test_a_container_is_given_the_ct_where_it_lies(root: Path, tmp_path: Path) -> None:
    """SimpleITK sees the .mha as it sees the NIfTI: voxels, spacing, origin, direction."""
    export_release("grand-challenge", "rexgroundingct", root, tmp_path / "out")
    folder = tmp_path / "out/train" / CASE / "input"
    image = sitk.ReadImage(str(folder / "images/ct" / f"{CASE}.mha"))
    wanted = sitk.ReadImage(str(root / "images" / f"{CASE}.nii.gz"))
    assert np.array_equal(sitk.GetArrayFromImage(image), sitk.GetArrayFromImage(wanted))
    for told in ("GetSpacing", "GetOrigin", "GetDirection"):
        assert np.allclose(getattr(image, told)(), getattr(wanted, told)(), atol=1e-5)
    findings = json.loads((folder / "findings.json").read_text())
    assert [one["id"] for one in findings] == ["0", "1"]
    sockets = [one["socket"]["relative_path"] for one in json.loads((folder / "inputs.json").read_text())]
    assert sockets == ["images/ct", "findings.json"]
    assert all((folder / place).exists() for place in sockets)
    truth = sitk.ReadImage(str(tmp_path / "out/ground_truth/train" / f"{CASE}.mha"))
    assert truth.GetNumberOfComponentsPerPixel() == 2


def test_the_truth_of_test_is_not_given_away(tmp_path: Path) -> None:
    """Inputs of test yes, its masks no."""
    root = release_of(tmp_path / "release", tilted(), splits=("test",))
    export_release("grand-challenge", "rexgroundingct", root, tmp_path / "out")
    assert sorted(p.name for p in (tmp_path / "out").rglob("*.mha")) == ["test_1_a_1.mha"]


def test_what_a_container_wrote_is_graded(root: Path, tmp_path: Path) -> None:
    """SimpleITK writes the output beside the input, under a slug of its own."""
    out = tmp_path / "out"
    export_release("grand-challenge", "rexgroundingct", root, out)
    ct = sitk.ReadImage(str(out / "train" / CASE / f"input/images/ct/{CASE}.mha"))
    parts = []
    for mask in (BIG, SMALL):
        part = sitk.GetImageFromArray(mask.transpose(2, 1, 0))
        part.CopyInformation(ct)
        parts.append(part)
    target = out / "train" / CASE / "output/images/my-masks/output.mha"
    target.parent.mkdir(parents=True)
    sitk.WriteImage(sitk.Compose(parts), str(target), useCompression=True)
    _, found = handed(root, out)
    assert same_masks(found)
    assert not found.problems


def test_predictions_are_written_as_an_evaluation_reads_them(root: Path, tmp_path: Path) -> None:
    """predictions.json and an .mha a job; SimpleITK reads it at the CT's place, and grading too."""
    release, truth = handed(root, root / "segmentations")
    out = tmp_path / "predictions"
    done = submit_grand_challenge(release, truth.readings.get, truth.source, out)
    assert done.written == 1
    (job,) = json.loads((out / "predictions.json").read_text())
    output = job["outputs"][0]
    file = out / job["pk"] / "output" / output["socket"]["relative_path"] / f"{output['image']['pk']}.mha"
    image = sitk.ReadImage(str(file))
    ct = sitk.ReadImage(str(root / "images" / f"{CASE}.nii.gz"))
    for told in ("GetSize", "GetSpacing", "GetOrigin", "GetDirection"):
        assert np.allclose(getattr(image, told)(), getattr(ct, told)(), atol=1e-4)
    own = sitk.GetArrayFromImage(image).transpose(3, 2, 1, 0)
    assert np.array_equal(own > 0, np.stack([BIG, SMALL]) > 0)
    assert job["inputs"][0]["image"]["name"] == f"{CASE}.mha"
    _, back = handed(root, out)
    assert same_masks(back)
    assert not back.problems


def jobs(out: Path, *, change: Any) -> None:
    """Alter the list of jobs."""
    told = json.loads((out / "predictions.json").read_text())
    (out / "predictions.json").write_text(json.dumps(change(told)))


def test_what_is_wrong_with_a_job_costs_that_one_and_is_named(root: Path, tmp_path: Path) -> None:
    """A failed job, one without a mask, one with two, one of another scan, a list that is none."""
    release, truth = handed(root, root / "segmentations")
    out = tmp_path / "predictions"
    submit_grand_challenge(release, truth.readings.get, truth.source, out)
    whole = json.loads((out / "predictions.json").read_text())
    jobs(out, change=lambda told: [{**told[0], "status": "Failed"}])
    assert handed(root, out)[1].readings[CASE].error == "the job ended as 'Failed'"
    jobs(out, change=lambda told: [{**whole[0], "pk": "elsewhere"}])
    assert "there are 0 .mha files" in str(handed(root, out)[1].readings[CASE].error)
    jobs(out, change=lambda told: whole)
    write_metaimage(next(out.rglob("*.mha")).with_name("second.mha"), BIG, tilted())
    assert "there are 2 .mha files" in str(handed(root, out)[1].readings[CASE].error)
    jobs(out, change=lambda told: [{"pk": "x", "inputs": [{"image": {"name": "other.mha"}}]}])
    with pytest.raises(SubmissionError):
        handed(root, out)
    for text in ("{", '{"a": 1}', "[1]"):
        (out / "predictions.json").write_text(text)
        with pytest.raises(SubmissionError, match=r"predictions\.json"):
            handed(root, out)


def test_masks_named_like_their_scans_may_be_mha(root: Path, tmp_path: Path) -> None:
    """A flat folder of .mha, as people write them with SimpleITK."""
    write_metaimage(tmp_path / f"mine/{CASE}.mha", np.stack([BIG, SMALL]), tilted("PIR"))
    _, found = handed(root, tmp_path / "mine")
    assert same_masks(found)
    assert not found.problems


def test_a_release_of_mha_files_is_the_same_release(root: Path, tmp_path: Path) -> None:
    """CTs and masks as .mha, named so in the list: loaded, checked and read as the NIfTI ones."""
    other = tmp_path / "mha"
    told = json.loads((root / "dataset.json").read_text().replace(".nii.gz", ".mha"))
    ct = np.asarray(nib.load(root / "images" / f"{CASE}.nii.gz").dataobj)
    write_metaimage(other / "images" / f"{CASE}.mha", ct, tilted("PIR"))
    write_metaimage(other / "segmentations" / f"{CASE}.mha", np.stack([BIG, SMALL]), tilted("PIR"))
    (other / "dataset.json").write_text(json.dumps(told))
    one, two = (overread.load("rexgroundingct", place, "train") for place in (root, other))
    mine, same = next(iter(one)), next(iter(two))
    assert mine.id == same.id
    assert np.array_equal(one.pictures.pixels(mine.pictures[0]), two.pictures.pixels(same.pictures[0]))
    spaces = [r.pictures.geometry(c.pictures[0]) for r, c in ((one, mine), (two, same))]
    assert np.allclose(spaces[0].affine, spaces[1].affine, atol=1e-4)
    assert [d for d in overread.check("rexgroundingct", other, "train") if d.severity == "error"] == []
    submission = catalog.find("benchmarks", "rexgroundingct").read_submission(two, other / "segmentations")
    assert same_masks(submission)


def test_one_finding_in_mha_has_the_official_number(tmp_path: Path, sketch: Path) -> None:
    """A plain .mha is what one channel is there: graded as its NIfTI is, without a warning."""
    from overread.runs.scoring.from_submission import grade

    root = sketch / "rexgroundingct"
    release = overread.load("rexgroundingct", root, "test")
    entries = [entry for entry in release.entries() if len(entry.case.queries) == 1]
    assert entries, "the sketch has a scan with one finding"
    truth = catalog.find("benchmarks", "rexgroundingct").read_submission(release, root / "segmentations")
    submit_grand_challenge(release, truth.readings.get, truth.source, tmp_path / "mine")
    one = grade("rexgroundingct", root, tmp_path / "mine")
    other = grade("rexgroundingct", root, root / "segmentations")
    assert not any(".mha" in problem for problem in one.problems)
    assert one.scores["mean_global_dice_per_finding"].value == 1.0
    assert one.scores["mean_global_dice_per_finding"].n == other.scores["mean_global_dice_per_finding"].n
