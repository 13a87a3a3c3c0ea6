"""A folder of slices to a volume, against SimpleITK and against what the slices were made of."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import SimpleITK as sitk  # noqa: N813
from pydicom import uid
from pydicom.dataset import Dataset

from overread.errors import PictureError, UsageError
from overread.pixels.dicom.series import read_series
from overread.pixels.geometry import voxel_to_world
from tests.pixels.dicom.dicom_files import Array
from tests.pixels.dicom.dicom_series import (
    AXIAL,
    CORONAL,
    HEAD_TILT,
    SERIES,
    TILTED,
    codes,
    noise,
    save,
    slice_of,
    stack,
)

sitk.ProcessObject.SetGlobalWarningDisplay(False)

SAGITTAL = (0.0, 1.0, 0.0, 0.0, 0.0, -1.0)
OBLIQUE = (0.9659258, 0.2588190, 0.0, -0.2241439, 0.8365163, 0.5)


def by_sitk(folder: Path) -> tuple[Array, Array]:
    """Volume (column, row, slice) and RAS affine as SimpleITK sorts and reads the folder."""
    reader = sitk.ImageSeriesReader()
    reader.SetFileNames(reader.GetGDCMSeriesFileNames(str(folder)))
    image = reader.Execute()
    turn = np.array(image.GetDirection()).reshape(3, 3)
    affine = np.eye(4)
    affine[:3, :3] = turn * np.array(image.GetSpacing())
    affine[:3, 3] = image.GetOrigin()
    return sitk.GetArrayFromImage(image).transpose(2, 1, 0), np.diag([-1, -1, 1, 1]) @ affine


@pytest.mark.parametrize(
    ("turn", "axes"), [(AXIAL, "LPS"), (CORONAL, "LIP"), (SAGITTAL, "PIR"), (OBLIQUE, "LPS")]
)
def test_volume_and_affine_equal_simpleitk(turn: tuple[float, ...], axes: str, tmp_path: Path) -> None:
    made = stack(tmp_path, turn=turn)
    found = read_series(tmp_path)
    volume, affine = by_sitk(tmp_path)
    assert found.defects == ()
    assert found.volume.dtype == np.int16
    assert found.geometry.axes == axes
    assert found.geometry.shape == found.volume.shape == (16, 12, 7)
    np.testing.assert_array_equal(found.volume, made)
    np.testing.assert_array_equal(found.volume, volume)
    np.testing.assert_allclose(found.geometry.affine, affine, atol=1e-5)


def test_a_tilted_gantry_shears_the_affine_and_is_named_in_degrees(tmp_path: Path) -> None:
    """Every slice lands where SimpleITK puts it when it reads that slice alone.

    SimpleITK's own series reader is no measure here: it drops the shear.
    """
    made = stack(tmp_path, turn=TILTED, step=np.array([0.0, 0.0, 5.0]))
    found = read_series(tmp_path)
    assert codes(found) == ["gantry-tilt"]
    assert "17.5 degrees" in found.defects[0].found
    assert found.defects[0].severity == "warning"
    np.testing.assert_array_equal(found.volume, made)
    for k, path in enumerate(found.files):
        alone = sitk.ReadImage(str(path))
        for i, j in ((0, 0), (15, 11)):
            left, back, up = alone.TransformIndexToPhysicalPoint((i, j, 0))
            assert voxel_to_world(found.geometry, (i, j, k)) == pytest.approx((-left, -back, up), abs=1e-5)
    shear = np.asarray(found.geometry.affine)[:3, :3]
    assert shear[:, 1] @ shear[:, 2] / (0.7 * 5) == pytest.approx(-np.sin(HEAD_TILT))
    np.testing.assert_array_equal(found.volume, by_sitk(tmp_path)[0])


def test_files_are_ordered_by_place_whatever_their_names(tmp_path: Path) -> None:
    """Shuffled, reversed, without ending, in subfolders: always one volume, in slice order."""
    names = [f"{n}" for n in range(7)]
    random.Random(3).shuffle(names)
    schemes: dict[str, Callable[[int], str]] = {
        "shuffled": lambda k: names[k],
        "reversed": lambda k: f"{99 - k}.dcm",
        "deep": lambda k: f"{k % 3}/{k}.ima",
    }
    for name, scheme in schemes.items():
        made = stack(tmp_path / name, file_name=scheme)
        found = read_series(tmp_path / name)
        np.testing.assert_array_equal(found.volume, made)
        assert found.files == tuple(tmp_path / name / scheme(k) for k in range(7))
        assert found.defects == ()


def test_a_list_of_files_is_a_series_too(tmp_path: Path) -> None:
    made = stack(tmp_path)
    found = read_series(sorted(tmp_path.iterdir(), reverse=True))
    np.testing.assert_array_equal(found.volume, made)


def test_slices_behind_a_link_are_found_once(tmp_path: Path) -> None:
    """A linked folder is looked into, and one that leads back is not walked for ever."""
    (tmp_path / "other-disk").mkdir()
    made = stack(tmp_path / "other-disk")
    (tmp_path / "series").mkdir()
    (tmp_path / "series" / "slices").symlink_to(tmp_path / "other-disk")
    (tmp_path / "other-disk" / "back").symlink_to(tmp_path / "series")
    found = read_series(tmp_path / "series")
    np.testing.assert_array_equal(found.volume, made)
    assert found.defects == ()


def test_slices_that_go_down_are_turned_up_and_keep_their_places(tmp_path: Path) -> None:
    made = stack(tmp_path, step=np.array([0.0, 0.0, -2.5]))
    found = read_series(tmp_path)
    np.testing.assert_array_equal(found.volume, made[:, :, ::-1])
    np.testing.assert_allclose(voxel_to_world(found.geometry, (0, 0, 6)), [100, 80, -900])


def test_each_slice_has_its_own_rescale(tmp_path: Path) -> None:
    """Slopes and intercepts differ from slice to slice, as SimpleITK reads them one by one."""
    for k in range(5):
        pixels = noise(k) // 10
        save(
            slice_of(pixels, np.array([0, 0, k]), RescaleSlope=k + 1, RescaleIntercept=-100 * k),
            tmp_path / f"{k}.dcm",
        )
    found = read_series(tmp_path)
    for k in range(5):
        alone = sitk.GetArrayFromImage(sitk.ReadImage(str(tmp_path / f"{k}.dcm")))[0]
        np.testing.assert_array_equal(found.volume[:, :, k], alone.T)


def test_several_series_are_listed_until_one_is_picked(tmp_path: Path) -> None:
    made = stack(tmp_path / "a")
    for k in range(3):
        other = slice_of(noise(70 + k), np.array([0, 0, k]), SeriesInstanceUID="1.2.3")
        save(other, tmp_path / "b" / f"{k}.dcm")
    with pytest.raises(PictureError, match=rf"{SERIES} \(CT, 7 slices\), 1.2.3 \(CT, 3 slices\)"):
        read_series(tmp_path)
    np.testing.assert_array_equal(read_series(tmp_path, series=SERIES).volume, made)
    assert read_series(tmp_path, series="1.2.3").geometry.shape == (16, 12, 3)
    with pytest.raises(UsageError, match=r"no series 9.9.*1.2.3 \(CT"):
        read_series(tmp_path, series="9.9")


def test_a_lone_slice_needs_its_thickness(tmp_path: Path) -> None:
    path = save(slice_of(noise(1), np.zeros(3), SliceThickness=4), tmp_path / "one.dcm")
    assert read_series([path]).geometry.spacing == pytest.approx((0.6, 0.7, 4))
    save(slice_of(noise(1), np.zeros(3)), path)
    with pytest.raises(PictureError, match="without a thickness"):
        read_series([path])


def test_one_enhanced_multi_frame_file_is_a_series(tmp_path: Path) -> None:
    """Frames stored out of order, each with a place and a rescale of its own.

    Measured by what it was made of: SimpleITK reads such a file without the frames' rescale.
    """
    order = [2, 0, 1, 4, 3]
    dataset = slice_of(
        np.stack([noise(k) // 10 for k in order]),
        np.zeros(3),
        SOPClassUID=uid.EnhancedCTImageStorage,
        NumberOfFrames=5,
        ImageOrientationPatient=None,
        ImagePositionPatient=None,
        PixelSpacing=None,
        RescaleSlope=None,
        RescaleIntercept=None,
    )
    dataset.file_meta.MediaStorageSOPClassUID = uid.EnhancedCTImageStorage
    shared, turn, measures = Dataset(), Dataset(), Dataset()
    turn.ImageOrientationPatient = list(AXIAL)
    measures.PixelSpacing, measures.SliceThickness = [0.7, 0.6], 3
    shared.PlaneOrientationSequence, shared.PixelMeasuresSequence = [turn], [measures]
    dataset.SharedFunctionalGroupsSequence = [shared]
    dataset.PerFrameFunctionalGroupsSequence = []
    for k in order:
        group, place, values = Dataset(), Dataset(), Dataset()
        place.ImagePositionPatient = [10, 20, 3 * k]
        values.RescaleSlope, values.RescaleIntercept, values.RescaleType = 2, -10 * k, "HU"
        group.PlanePositionSequence, group.PixelValueTransformationSequence = [place], [values]
        dataset.PerFrameFunctionalGroupsSequence.append(group)
    path = save(dataset, tmp_path / "enhanced.dcm")
    found = read_series(tmp_path)
    assert found.defects == ()
    assert found.files == (path,) * 5
    assert found.geometry.spacing == pytest.approx((0.6, 0.7, 3))
    assert voxel_to_world(found.geometry, (0, 0, 4)) == pytest.approx((-10, -20, 12))
    for k in range(5):
        np.testing.assert_array_equal(found.volume[:, :, k], (noise(k) // 10).T * 2 - 10 * k)


@pytest.mark.parametrize("seed", range(20))
def test_any_turn_step_and_spacing_puts_every_slice_where_its_header_says(seed: int, tmp_path: Path) -> None:
    """Random rotations and shears: the four corners of every slice, by the DICOM formula."""
    rng = np.random.default_rng(seed)
    across = rng.normal(size=3)
    across /= np.linalg.norm(across)
    down = np.cross(across, rng.normal(size=3))
    down /= np.linalg.norm(down)
    step = np.cross(across, down) * rng.uniform(0.5, 6) + across * rng.uniform(-0.5, 0.5)
    between = rng.uniform(0.3, 2, size=2)
    for k in range(5):
        dataset = slice_of(noise(k), k * step)
        dataset.ImageOrientationPatient = [f"{number:.10f}" for number in (*across, *down)]
        dataset.PixelSpacing = [f"{number:.10f}" for number in between]
        save(dataset, tmp_path / f"{rng.integers(10**9)}.dcm")
    found = read_series(tmp_path)
    assert set(codes(found)) <= {"gantry-tilt"}
    for k in range(5):
        np.testing.assert_array_equal(found.volume[:, :, k], noise(k).T)
        for i, j in ((0, 0), (15, 0), (0, 11), (15, 11)):
            lps = k * step + across * between[1] * i + down * between[0] * j
            ras = lps * np.array([-1, -1, 1])
            np.testing.assert_allclose(voxel_to_world(found.geometry, (i, j, k)), ras, atol=1e-4)
    assert all(a != b for a, b in pairwise(found.files))
