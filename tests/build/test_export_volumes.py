"""Exports of CTs and masks: nnU-Net, one NIfTI a finding, DICOM-SEG; geometry above all."""

from __future__ import annotations

import json
from itertools import permutations, product
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest
import SimpleITK as sitk  # noqa: N813
from numpy.typing import NDArray

import overread
from overread.benchmarks.made import MadeRelease
from overread.build.release.dicom_series import onto
from overread.build.release.exporting import export_release
from overread.build.release.job import CannotExport
from overread.core import Case, Entry, Finding, Mask, Query, Truth, Volume
from overread.errors import OverreadError, UsageError
from overread.pixels.geometry import from_ras, geometry, to_ras
from overread.pixels.masks import write_mask
from overread.pixels.nifti import write_volume
from overread.pixels.series import read_series

SHAPE = (9, 7, 6)


def tilted(axes: str = "LPS", spacing: tuple[float, float, float] = (0.7, 0.9, 2.5)) -> Any:
    """An affine with odd spacing and origin, turned by a few degrees, its axes as told."""
    angle = np.radians(4)
    turn = np.array(
        [[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]]
    )
    affine = np.eye(4)
    for column, letter in enumerate(axes):
        world = {"L": 0, "R": 0, "P": 1, "A": 1, "I": 2, "S": 2}[letter]
        sign = 1 if letter in "RAS" else -1
        affine[:3, column] = turn[:, world] * sign * spacing[column]
    affine[:3, 3] = (31.5, -12.25, 140.125)
    return affine


def block(*corners: tuple[int, int]) -> NDArray[np.uint8]:
    """A mask of one block, given as (first, end) along each axis."""
    mask = np.zeros(SHAPE, np.uint8)
    mask[tuple(slice(*pair) for pair in corners)] = 1
    return mask


BIG = block((1, 6), (1, 5), (1, 5))
SMALL = block((4, 8), (3, 6), (3, 4))
SMALL[0, 0, 0] = 2  # a second entity, at a corner of the scan, so that a flip is seen


def release_of(
    out: Path,
    affine: Any,
    *,
    splits: tuple[str, ...] = ("train", "val", "test"),
    categories: tuple[str | None, ...] = ("2b", "2d"),
    scan: Any = None,
    mask_affine: Any = None,
) -> Path:
    """A release with one scan a split: a consolidation and a nodule that overlap."""
    made = np.random.default_rng(5).integers(-1000, 400, SHAPE).astype(np.int16)
    volume = made if scan is None else scan
    for number, split in enumerate(splits, 1):
        name = f"{split}_{number}_a_1.nii.gz"
        scratch = out.parent / f"made-{split}"
        write_volume(scratch / name, volume, affine)
        write_mask(
            scratch / "mask.nii.gz", [BIG, SMALL], np.eye(4) if mask_affine is None else mask_affine
        )
        file = f"segmentations/{name}"
        texts = ("Consolidation of the right lower lobe", "Nodules")
        findings = tuple(
            Finding(
                text=text,
                query=str(n),
                category=category,
                entities=n + 1,
                voxels=int((mask > 0).sum()),
                regions=(Mask(picture="ct", file=file, channel=n, channels=2),),
            )
            for n, (text, category, mask) in enumerate(
                zip(texts, categories, (BIG, SMALL), strict=True)
            )
        )
        case = Case(
            id=name.removesuffix(".nii.gz"),
            benchmark="rexgroundingct",
            split=split,
            patient=f"{split}_{number}",
            pictures=(Volume(name="ct", file=name, shape=SHAPE),),
            queries=tuple(Query(id=str(n), text=text) for n, text in enumerate(texts)),
        )
        files = {name: scratch / name, file: scratch / "mask.nii.gz"}
        entry = Entry(case=case, truth=Truth(findings=findings, protocol="protocol1"))
        overread.write(MadeRelease("rexgroundingct", split, [entry], files.__getitem__), out)
    return out


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


def lps(affine: Any, index: Any) -> Any:
    """Millimetres to the left, the back and the head of a voxel of the NIfTI."""
    return np.array([-1, -1, 1]) * (np.asarray(affine) @ np.array([*index, 1.0]))[:3]


@pytest.mark.parametrize("axes", ["LPS", "RAS", "RPI", "PIR"])
def test_dicom_segments_have_the_voxels_and_places_of_the_masks(tmp_path: Path, axes: str) -> None:
    """Read back by highdicom: every marked voxel lies where the NIfTI has it, and no other."""
    hd = pytest.importorskip("highdicom")
    affine = tilted(axes)
    root = release_of(tmp_path / "release", affine, splits=("train",))
    export_release("dicom-seg", "rexgroundingct", root, tmp_path / "out")
    folder = tmp_path / "out/train/train_1_a_1"
    seg = hd.seg.segread(folder / "seg.dcm")
    assert seg.number_of_segments == 2
    assert [seg.get_segment_description(n).segmented_property_type.value for n in (1, 2)] == [
        "2b",
        "2d",
    ]
    assert seg.get_segment_description(2).SegmentDescription == "Nodules"
    volume = seg.get_volume(combine_segments=False)
    array = np.asarray(volume.array)
    for number, mask in enumerate((BIG, SMALL)):
        voxels = np.argwhere(array[..., number] > 0)
        found = (np.asarray(volume.affine) @ np.c_[voxels, np.ones(len(voxels))].T)[:3].T
        wanted = np.array([lps(affine, index) for index in np.argwhere(mask > 0)])
        assert found.shape == wanted.shape
        order = [np.lexsort(np.round(places, 2).T) for places in (found, wanted)]
        assert np.allclose(found[order[0]], wanted[order[1]], atol=1e-3)


@pytest.mark.parametrize("axes", ["LPS", "RAS", "PIR"])
def test_the_made_series_is_the_ct(tmp_path: Path, axes: str) -> None:
    """Read by the house and by SimpleITK, each HU lies at the millimetres the NIfTI gives it."""
    pytest.importorskip("highdicom")
    affine = tilted(axes)
    root = release_of(tmp_path / "release", affine, splits=("train",))
    export_release("dicom-seg", "rexgroundingct", root, tmp_path / "out")
    folder = tmp_path / "out/train/train_1_a_1/ct"
    nifti = nib.load(root / "images/train_1_a_1.nii.gz")
    wanted = np.asarray(nifti.dataobj)
    series = read_series(folder)
    assert not series.defects
    back = onto(series.volume, series.geometry, geometry(SHAPE, nifti.affine, where="ct"))
    assert np.array_equal(back, wanted)
    reader = sitk.ImageSeriesReader()
    reader.SetFileNames(reader.GetGDCMSeriesFileNames(str(folder)))
    image = reader.Execute()
    for index in ((0, 0, 0), (8, 6, 5), (2, 5, 1)):
        place = image.TransformPhysicalPointToIndex([float(v) for v in lps(affine, index)])
        assert image.GetPixel(*place) == wanted[index]


def test_segments_refer_to_the_slices_they_were_drawn_on(tmp_path: Path) -> None:
    """Patient, study and frame of reference are the series'; every reference is one of its files."""
    pytest.importorskip("highdicom")
    from pydicom import dcmread

    root = release_of(tmp_path / "release", tilted(), splits=("train",))
    export_release("dicom-seg", "rexgroundingct", root, tmp_path / "out")
    folder = tmp_path / "out/train/train_1_a_1"
    seg = dcmread(folder / "seg.dcm")
    slices = [dcmread(path) for path in sorted((folder / "ct").iterdir())]
    for keyword in ("PatientID", "StudyInstanceUID", "FrameOfReferenceUID"):
        assert seg[keyword].value == slices[0][keyword].value
    assert seg.SeriesInstanceUID != slices[0].SeriesInstanceUID
    named = {
        item.ReferencedSOPInstanceUID
        for series in seg.ReferencedSeriesSequence
        for item in series.ReferencedInstanceSequence
    }
    assert named <= {one.SOPInstanceUID for one in slices}
    assert seg.Modality == "SEG"


def test_a_dicom_series_that_is_there_is_used(tmp_path: Path) -> None:
    """--dicom: no series is made, and the segment lies on the hospital's own slices."""
    hd = pytest.importorskip("highdicom")
    from series_making import slice_of

    root = release_of(tmp_path / "release", tilted("RAS"), splits=("train",))
    export_release("dicom-seg", "rexgroundingct", root, tmp_path / "made")
    # The hospital's slices run the other way through the patient than the NIfTI.
    affine = tilted("RAS")
    volume = np.asarray(nib.load(root / "images/train_1_a_1.nii.gz").dataobj)
    own = tmp_path / "dicom/train_1_a_1"
    own.mkdir(parents=True)
    across, down = (np.diag([-1, -1, 1]) @ affine[:3, axis] for axis in (0, 1))
    for k in range(SHAPE[2]):
        pixels = np.ascontiguousarray(volume[::-1, :, k].T)  # columns from the other side
        one = slice_of(pixels, lps(affine, (SHAPE[0] - 1, 0, k)))
        turn = (*(-across / 0.7), *(down / 0.9))
        one.ImageOrientationPatient = [f"{value:.12g}" for value in turn]
        one.ImagePositionPatient = [f"{value:.10g}" for value in lps(affine, (SHAPE[0] - 1, 0, k))]
        one.PixelSpacing, one.SliceThickness = [0.9, 0.7], 2.5
        one.FrameOfReferenceUID = "1.2.826.0.1.3680043.8.498.9"
        one.PatientID, one.PatientName = "hospital-7", "Doe^Jo"
        for keyword in (
            "PatientBirthDate",
            "PatientSex",
            "StudyDate",
            "StudyTime",
            "StudyID",
            "AccessionNumber",
            "ReferringPhysicianName",
        ):
            setattr(one, keyword, None)
        one.save_as(own / f"{k}.dcm", enforce_file_format=True)
    done = export_release(
        "dicom-seg", "rexgroundingct", root, tmp_path / "out", dicom=tmp_path / "dicom"
    )
    assert not done.left_out
    folder = tmp_path / "out/train/train_1_a_1"
    assert not (folder / "ct").exists()
    seg = hd.seg.segread(folder / "seg.dcm")
    assert seg.PatientID == "hospital-7"
    volume_found = seg.get_volume(combine_segments=False)
    voxels = np.argwhere(np.asarray(volume_found.array)[..., 1] > 0)
    found = (np.asarray(volume_found.affine) @ np.c_[voxels, np.ones(len(voxels))].T)[:3].T
    wanted = np.array([lps(affine, index) for index in np.argwhere(SMALL > 0)])
    order = [np.lexsort(np.round(places, 2).T) for places in (found, wanted)]
    assert np.allclose(found[order[0]], wanted[order[1]], atol=1e-3)


def test_a_series_of_other_voxels_is_refused(tmp_path: Path) -> None:
    """A series that lies elsewhere than the CT makes no segmentation; the case is left out."""
    pytest.importorskip("highdicom")
    from series_making import stack

    root = release_of(tmp_path / "release", tilted(), splits=("train", "val"))
    stack(tmp_path / "dicom/train_1_a_1")
    done = export_release(
        "dicom-seg", "rexgroundingct", root, tmp_path / "out", dicom=tmp_path / "dicom"
    )
    assert "does not have the voxels" in done.left_out["train train_1_a_1"]
    assert done.cases == {"train": 0, "val": 1}
    assert any("val_2_a_1 has no folder" in note for note in done.notes)


def test_masks_come_onto_any_order_of_the_same_voxels() -> None:
    """All 48 turns and flips of a grid give back the voxels at their places; a shift is refused."""
    space = geometry(SHAPE, tilted("LPS"), where="ct")
    for order, signs in product(permutations(range(3)), product((1, -1), repeat=3)):
        affine = np.eye(4)
        affine[:3, 3] = np.asarray(space.affine)[:3, 3]
        for new, (old, sign) in enumerate(zip(order, signs, strict=True)):
            step = np.asarray(space.affine)[:3, old]
            affine[:3, new] = step * sign
            affine[:3, 3] += step * (SHAPE[old] - 1) if sign < 0 else 0
        shape = (SHAPE[order[0]], SHAPE[order[1]], SHAPE[order[2]])
        other = geometry(shape, affine, where="series")
        found = onto(SMALL, space, other)
        assert np.array_equal(
            found, SMALL.transpose(order)[tuple(slice(None, None, s) for s in signs)]
        )
        assert np.array_equal(to_ras(found, other), to_ras(SMALL, space))
    moved = np.array(space.affine)
    moved[:3, 3] += moved[:3, 0]
    with pytest.raises(CannotExport, match="begins at another voxel"):
        onto(SMALL, space, geometry(SHAPE, moved, where="series"))


def test_blocks_of_a_chat_answer_hold_the_mask(tmp_path: Path) -> None:
    """The boxes that a model is taught fill, as the house reads them, just the entities' boxes."""
    from overread.build.release.scans import mask_blocks
    from overread.workflows.blocks import Block, filled

    for axes in ("LPS", "RAS", "PIR"):
        space = geometry(SHAPE, tilted(axes), where="ct")
        blocks = [Block(**one) for one in mask_blocks(SMALL, space)]
        assert len(blocks) == 2
        ras = to_ras(SMALL, space)
        wanted = np.zeros(ras.shape, bool)
        for entity in (1, 2):
            where = np.argwhere(ras == entity)
            wanted[
                tuple(slice(a, b + 1) for a, b in zip(where.min(0), where.max(0), strict=True))
            ] = True
        assert np.array_equal(filled(blocks, space), from_ras(wanted, space))


def test_an_affine_without_right_angles_makes_no_dicom(tmp_path: Path) -> None:
    """Rows and columns that are askew cannot be told in DICOM: the case is left out, with why."""
    pytest.importorskip("highdicom")
    affine = tilted()
    affine[0, 1] += 0.3
    root = release_of(tmp_path / "release", affine, splits=("train",))
    with pytest.raises(UsageError, match="right angles"):
        export_release("dicom-seg", "rexgroundingct", root, tmp_path / "out")
