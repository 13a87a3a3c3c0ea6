"""Exports of CTs and masks: nnU-Net, one NIfTI a finding, blocks of a chat; geometry above all."""

from __future__ import annotations

import json
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
import SimpleITK as sitk  # noqa: N813

from overread.build.release.export_formats import export_release
from overread.errors import OverreadError, UsageError
from overread.pixels.geometry import from_ras, make_geometry, to_ras
from tests.build.release.tilted_release import BIG, SHAPE, SMALL, release_of, tilted


def test_nnunet_folders_follow_the_documented_rules(tmp_path: Path) -> None:
    """Names, folders, consecutive labels from 0, counts; test has images and no labels."""
    root = release_of(tmp_path / "release", tilted())
    done = export_release("nnunet", "rexgroundingct", root, tmp_path / "out")
    folder = tmp_path / "out" / "Dataset501_ReXGroundingCT"
    told = json.loads((folder / "dataset.json").read_text())
    assert told["channel_names"] == {"0": "CT"}
    assert told["file_ending"] == ".nii.gz"
    assert told["numTraining"] == 2
    assert sorted(told["labels"].values()) == [0, 1, 2]
    assert told["labels"]["background"] == 0
    names = {p.relative_to(folder).as_posix() for p in folder.rglob("*.nii.gz")}
    assert names == {
        "imagesTr/train_1_a_1_0000.nii.gz",
        "imagesTr/val_2_a_1_0000.nii.gz",
        "imagesTs/test_3_a_1_0000.nii.gz",
        "labelsTr/train_1_a_1.nii.gz",
        "labelsTr/val_2_a_1.nii.gz",
    }
    fold = json.loads((folder / "splits_final.json").read_text())
    assert fold == [{"train": ["train_1_a_1"], "val": ["val_2_a_1"]}]
    assert done.cases == {"train": 1, "val": 1, "test": 1}


def test_a_folder_that_is_called_as_nnunet_wants_it_is_the_data_set(tmp_path: Path) -> None:
    """--out nnUNet_raw/Dataset777_Chest writes right into it."""
    root = release_of(tmp_path / "release", tilted(), splits=("train",))
    export_release("nnunet", "rexgroundingct", root, tmp_path / "Dataset777_Chest")
    assert (tmp_path / "Dataset777_Chest" / "dataset.json").is_file()


@pytest.mark.parametrize("axes", ["LPS", "RAS", "PIR"])
def test_nnunet_image_and_label_map_have_one_geometry(tmp_path: Path, axes: str) -> None:
    """SimpleITK, nnU-Net's reader, finds size, spacing, origin and direction equal."""
    root = release_of(tmp_path / "release", tilted(axes), splits=("train",))
    out = tmp_path / "Dataset502_Odd"
    export_release("nnunet", "rexgroundingct", root, out)
    image = sitk.ReadImage(str(out / "imagesTr/train_1_a_1_0000.nii.gz"))
    label = sitk.ReadImage(str(out / "labelsTr/train_1_a_1.nii.gz"))
    for what in ("GetSize", "GetSpacing", "GetOrigin", "GetDirection"):
        assert getattr(image, what)() == getattr(label, what)(), what
    original = sitk.ReadImage(str(root / "images/train_1_a_1.nii.gz"))
    assert np.array_equal(sitk.GetArrayFromImage(image), sitk.GetArrayFromImage(original))
    assert np.allclose(image.GetOrigin(), original.GetOrigin())


def test_nnunet_tells_overlaps_and_the_smaller_finding_keeps_the_voxels(tmp_path: Path) -> None:
    """Where nodule and consolidation overlap the nodule stays, and the loss is counted."""
    root = release_of(tmp_path / "release", tilted(), splits=("train",))
    out = tmp_path / "Dataset503_Overlap"
    done = export_release("nnunet", "rexgroundingct", root, out)
    numbers = json.loads((out / "dataset.json").read_text())["labels"]
    of = {name[:2]: number for name, number in numbers.items()}
    labels = np.asarray(nib.load(out / "labelsTr/train_1_a_1.nii.gz").dataobj)
    assert np.array_equal(labels == of["2d"], SMALL > 0)
    assert np.array_equal(labels == of["2b"], (BIG > 0) & (SMALL == 0))
    told = json.loads((out / "overlaps.json").read_text())["train_1_a_1"]
    shared = int(((BIG > 0) & (SMALL > 0)).sum())
    assert shared > 0
    assert [(one["kept_by"]["category"], one["voxels"]) for one in told] == [("2d", shared)]
    assert any("overlap in 1 case" in note for note in done.notes)


def test_findings_of_one_category_are_no_overlap(tmp_path: Path) -> None:
    """Two findings with the same label merge without a word, and an unsorted one has a label."""
    root = release_of(tmp_path / "a" / "r", tilted(), splits=("train",), categories=("2d", "2d"))
    done = export_release("nnunet", "rexgroundingct", root, tmp_path / "a" / "out")
    assert not done.notes
    root = release_of(tmp_path / "b" / "r", tilted(), splits=("train",), categories=("2d", None))
    export_release("nnunet", "rexgroundingct", root, tmp_path / "Dataset504_X")
    labels = json.loads((tmp_path / "Dataset504_X" / "dataset.json").read_text())["labels"]
    assert labels["uncategorised"] == 2


def test_labels_of_the_test_split_only_when_asked(tmp_path: Path) -> None:
    """--with-test-truth brings labelsTs; a category that no training case has is background."""
    root = release_of(tmp_path / "release", tilted(), splits=("train", "test"))
    out = tmp_path / "Dataset505_All"
    export_release("nnunet", "rexgroundingct", root, out, with_test_truth=True)
    assert (out / "labelsTs/test_2_a_1.nii.gz").is_file()
    told = json.loads((out / "dataset.json").read_text())
    assert told["numTraining"] == 1


def test_one_nifti_a_finding_has_the_affine_of_the_ct(tmp_path: Path) -> None:
    """The mask file's own header is wrong on purpose; the exports lie where the CT lies."""
    affine = tilted("LAS")
    root = release_of(tmp_path / "release", affine, mask_affine=np.diag([3.0, 3, 3, 1]))
    done = export_release("nifti", "rexgroundingct", root, tmp_path / "out")
    assert done.cases == {"train": 1, "val": 1}  # nothing of test
    rows = [json.loads(line) for line in (tmp_path / "out/findings.jsonl").read_text().splitlines()]
    assert [row["split"] for row in rows] == ["train", "train", "val", "val"]
    for row, mask in zip(rows[:2], (BIG, SMALL), strict=True):
        found = nib.load(tmp_path / "out" / row["file"])
        assert found.shape == SHAPE
        assert np.allclose(found.affine, affine, atol=1e-5)
        assert np.array_equal(np.asarray(found.dataobj), mask)
        assert row["voxels"] == int((mask > 0).sum())
        assert row["entities"] == int(mask.max())
        assert row["millilitres"] == pytest.approx(row["voxels"] * 0.7 * 0.9 * 2.5 / 1000, abs=1e-3)


def test_formats_that_are_all_truth_refuse_the_test_split(tmp_path: Path) -> None:
    """`--split test` alone has nothing to show and says what to add."""
    root = release_of(tmp_path / "release", tilted())
    with pytest.raises(UsageError, match="--with-test-truth"):
        export_release("nifti", "rexgroundingct", root, tmp_path / "out", split="test")
    done = export_release(
        "nifti", "rexgroundingct", root, tmp_path / "out", split="test", with_test_truth=True
    )
    assert done.cases == {"test": 1}


def test_a_scan_that_is_not_there_is_left_out_and_named(tmp_path: Path) -> None:
    """One CT gone: the other case is exported; all gone: one sentence and no folder."""
    root = release_of(tmp_path / "release", tilted(), splits=("train", "val"))
    (root / "images/val_2_a_1.nii.gz").unlink()
    done = export_release("nifti", "rexgroundingct", root, tmp_path / "out")
    assert done.cases == {"train": 1, "val": 0}
    assert list(done.left_out) == ["val val_2_a_1"]
    (root / "images/train_1_a_1.nii.gz").unlink()
    with pytest.raises(OverreadError, match="none of the 2"):
        export_release("nifti", "rexgroundingct", root, tmp_path / "more")
    assert not (tmp_path / "more").exists()


def test_blocks_of_a_chat_answer_hold_the_mask(tmp_path: Path) -> None:
    """The boxes that a model is taught fill, as the house reads them, just the entities' boxes."""
    from overread.build.release.ct_volumes import mask_blocks
    from overread.workflows.blocks import Block, fill_blocks

    for axes in ("LPS", "RAS", "PIR"):
        space = make_geometry(SHAPE, tilted(axes), where="ct")
        blocks = [Block(**one) for one in mask_blocks(SMALL, space)]
        assert len(blocks) == 2
        ras = to_ras(SMALL, space)
        wanted = np.zeros(ras.shape, bool)
        for entity in (1, 2):
            where = np.argwhere(ras == entity)
            wanted[tuple(slice(a, b + 1) for a, b in zip(where.min(0), where.max(0), strict=True))] = True
        assert np.array_equal(fill_blocks(blocks, space), from_ras(wanted, space))
