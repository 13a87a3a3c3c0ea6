"""Exports as DICOM-SEG: the voxels and places of the masks, on the series that is there or on one made."""

from __future__ import annotations

from itertools import permutations, product
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest
import SimpleITK as sitk  # noqa: N813

from overread.build.release.dicom.series import reorient_labels
from overread.build.release.export_formats import export_release
from overread.build.release.export_job import CannotExport
from overread.errors import UsageError
from overread.pixels.dicom.series import read_series
from overread.pixels.geometry import make_geometry, to_ras
from overread.storage.atomic import is_same
from tests.build.release.tilted_release import BIG, SHAPE, SMALL, release_of, tilted


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
    assert [seg.get_segment_description(n).segmented_property_type.value for n in (1, 2)] == ["2b", "2d"]
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
    back = reorient_labels(series.volume, series.geometry, make_geometry(SHAPE, nifti.affine, where="ct"))
    assert np.array_equal(back, wanted)
    reader = sitk.ImageSeriesReader()
    reader.SetFileNames(reader.GetGDCMSeriesFileNames(str(folder)))
    image = reader.Execute()
    for index in ((0, 0, 0), (8, 6, 5), (2, 5, 1)):
        place = image.TransformPhysicalPointToIndex([float(v) for v in lps(affine, index)])
        assert image.GetPixel(*place) == wanted[index]


def test_the_made_series_says_that_it_does_not_know_how_the_patient_lay(tmp_path: Path) -> None:
    """dciodvfy misses PatientPosition and Laterality: they are there, and empty, as NIfTI tells neither."""
    pytest.importorskip("highdicom")
    from pydicom import dcmread

    root = release_of(tmp_path / "release", tilted(), splits=("train",))
    export_release("dicom-seg", "rexgroundingct", root, tmp_path / "out")
    for path in (tmp_path / "out/train/train_1_a_1/ct").iterdir():
        told = dcmread(path)
        assert "PatientPosition" in told
        assert "Laterality" in told
        assert not told.PatientPosition
        assert not told.Laterality


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
    from tests.pixels.dicom.dicom_series import slice_of

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
    done = export_release("dicom-seg", "rexgroundingct", root, tmp_path / "out", dicom=tmp_path / "dicom")
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
    from tests.pixels.dicom.dicom_series import stack

    root = release_of(tmp_path / "release", tilted(), splits=("train", "val"))
    stack(tmp_path / "dicom/train_1_a_1")
    done = export_release("dicom-seg", "rexgroundingct", root, tmp_path / "out", dicom=tmp_path / "dicom")
    assert "does not have the voxels" in done.left_out["train train_1_a_1"]
    assert done.cases == {"train": 0, "val": 1}
    assert any("val_2_a_1 has no folder" in note for note in done.notes)


def test_masks_come_onto_any_order_of_the_same_voxels() -> None:
    """All 48 turns and flips of a grid give back the voxels at their places; a shift is refused."""
    space = make_geometry(SHAPE, tilted("LPS"), where="ct")
    for order, signs in product(permutations(range(3)), product((1, -1), repeat=3)):
        affine = np.eye(4)
        affine[:3, 3] = np.asarray(space.affine)[:3, 3]
        for new, (old, sign) in enumerate(zip(order, signs, strict=True)):
            step = np.asarray(space.affine)[:3, old]
            affine[:3, new] = step * sign
            affine[:3, 3] += step * (SHAPE[old] - 1) if sign < 0 else 0
        shape = (SHAPE[order[0]], SHAPE[order[1]], SHAPE[order[2]])
        other = make_geometry(shape, affine, where="series")
        found = reorient_labels(SMALL, space, other)
        assert np.array_equal(found, SMALL.transpose(order)[tuple(slice(None, None, s) for s in signs)])
        assert np.array_equal(to_ras(found, other), to_ras(SMALL, space))
    moved = np.array(space.affine)
    moved[:3, 3] += moved[:3, 0]
    with pytest.raises(CannotExport, match="begins at another voxel"):
        reorient_labels(SMALL, space, make_geometry(SHAPE, moved, where="series"))


def test_an_affine_without_right_angles_makes_no_dicom(tmp_path: Path) -> None:
    """Rows and columns that are askew cannot be told in DICOM: the case is left out, with why."""
    pytest.importorskip("highdicom")
    affine = tilted()
    affine[0, 1] += 0.3
    root = release_of(tmp_path / "release", affine, splits=("train",))
    with pytest.raises(UsageError, match="right angles"):
        export_release("dicom-seg", "rexgroundingct", root, tmp_path / "out")


def test_the_same_release_gives_the_same_bytes(tmp_path: Path) -> None:
    """Whenever it is exported, and however often: no time of day, and nothing by lot."""
    pytest.importorskip("highdicom")
    root = release_of(tmp_path / "release", tilted(), splits=("train",))
    for name in ("one", "two"):
        export_release("dicom-seg", "rexgroundingct", root, tmp_path / name)
    assert is_same(tmp_path / "one" / "train", tmp_path / "two" / "train")
