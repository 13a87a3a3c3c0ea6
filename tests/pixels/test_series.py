"""A folder of slices to a volume, against SimpleITK and against what the slices were made of."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import SimpleITK as sitk  # noqa: N813
from numpy.typing import NDArray
from pydicom import uid
from pydicom.data import get_testdata_file
from pydicom.dataset import Dataset, FileMetaDataset

from overread.errors import PictureError, Refused, UsageError
from overread.pixels import series as series_module
from overread.pixels.geometry import world
from overread.pixels.series import Series, read_series

Array = NDArray[Any]

sitk.ProcessObject.SetGlobalWarningDisplay(False)

AXIAL = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
CORONAL = (1.0, 0.0, 0.0, 0.0, 0.0, -1.0)
SAGITTAL = (0.0, 1.0, 0.0, 0.0, 0.0, -1.0)
HEAD_TILT = np.radians(17.5)
# The gantry leans, the table still moves along z.
TILTED = (1.0, 0.0, 0.0, 0.0, float(np.cos(HEAD_TILT)), float(-np.sin(HEAD_TILT)))
OBLIQUE = (0.9659258, 0.2588190, 0.0, -0.2241439, 0.8365163, 0.5)
SERIES, STUDY = "1.2.826.0.1.3680043.8.498.1", "1.2.826.0.1.3680043.8.498.2"
SHAPE = (12, 16)
"""(rows, columns) of the slices made here."""


def noise(seed: int, shape: tuple[int, ...] = SHAPE) -> NDArray[np.int16]:
    """Pixels that no other seed gives."""
    return np.random.default_rng(seed).integers(-1024, 3000, shape).astype(np.int16)


def slice_of(pixels: Array, place: Array, **elements: Any) -> Dataset:
    """One CT slice; keywords replace what it would hold, and None takes it out."""
    dataset = Dataset()
    dataset.file_meta = FileMetaDataset()
    dataset.file_meta.TransferSyntaxUID = uid.ExplicitVRLittleEndian
    dataset.SOPClassUID = dataset.file_meta.MediaStorageSOPClassUID = uid.CTImageStorage
    dataset.SOPInstanceUID = dataset.file_meta.MediaStorageSOPInstanceUID = uid.generate_uid()
    dataset.Modality, dataset.SeriesInstanceUID, dataset.StudyInstanceUID = "CT", SERIES, STUDY
    dataset.ImageType = ["ORIGINAL", "PRIMARY", "AXIAL"]
    dataset.Rows, dataset.Columns = pixels.shape[-2:]
    dataset.SamplesPerPixel, dataset.PhotometricInterpretation = 1, "MONOCHROME2"
    dataset.BitsAllocated = dataset.BitsStored = 16
    dataset.HighBit, dataset.PixelRepresentation = 15, 1
    dataset.RescaleSlope, dataset.RescaleIntercept = 1, 0
    dataset.PixelSpacing = [0.7, 0.6]
    dataset.ImageOrientationPatient = list(AXIAL)
    dataset.ImagePositionPatient = [round(float(number), 6) for number in place]
    dataset.PixelData = pixels.tobytes()
    dataset["PixelData"].VR = "OW"
    for keyword, value in elements.items():
        if value is None:
            del dataset[keyword]
        else:
            setattr(dataset, keyword, value)
    return dataset


def save(dataset: Dataset, path: Path) -> Path:
    """Write a dataset as a DICOM file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    dataset.save_as(path, enforce_file_format=True)
    return path


def normal_of(turn: tuple[float, ...]) -> Array:
    """Normal of a plane, LPS."""
    return np.cross(turn[:3], turn[3:])


def stack(
    folder: Path,
    *,
    turn: tuple[float, ...] = AXIAL,
    step: Array | None = None,
    count: int = 7,
    leave_out: tuple[int, ...] = (),
    file_name: Callable[[int], str] = "{:03d}.dcm".format,
) -> NDArray[np.int16]:
    """Write a series; the volume (column, row, slice) that it was made from."""
    step = normal_of(turn) * 2.5 if step is None else step
    for k in range(count):
        if k not in leave_out:
            place = np.array([-100.0, -80.0, -900.0]) + k * step
            dataset = slice_of(noise(k), place, ImageOrientationPatient=list(turn))
            dataset.InstanceNumber = count - k
            save(dataset, folder / file_name(k))
    kept = [noise(k).T for k in range(count) if k not in leave_out]
    return np.stack(kept, axis=-1)


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


def codes(found: Series) -> list[str]:
    """Names of the defects."""
    return [defect.code for defect in found.defects]


@pytest.mark.parametrize(
    ("turn", "axes"),
    [(AXIAL, "LPS"), (CORONAL, "LIP"), (SAGITTAL, "PIR"), (OBLIQUE, "LPS")],
)
def test_volume_and_affine_equal_simpleitk(
    turn: tuple[float, ...], axes: str, tmp_path: Path
) -> None:
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
            assert world(found.geometry, (i, j, k)) == pytest.approx((-left, -back, up), abs=1e-5)
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


def test_slices_that_go_down_are_turned_up_and_keep_their_places(tmp_path: Path) -> None:
    made = stack(tmp_path, step=np.array([0.0, 0.0, -2.5]))
    found = read_series(tmp_path)
    np.testing.assert_array_equal(found.volume, made[:, :, ::-1])
    np.testing.assert_allclose(world(found.geometry, (0, 0, 6)), [100, 80, -900])


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


def test_values_that_int16_cannot_hold_are_rounded_and_named(tmp_path: Path) -> None:
    for k in range(3):
        slope = 0.3 if k else 1
        save(slice_of(noise(k), np.array([0, 0, k]), RescaleSlope=slope), tmp_path / f"{k}.dcm")
    found = read_series(tmp_path)
    assert codes(found) == ["rounded-values"]
    assert "2 slices" in found.defects[0].found
    exact = noise(2).T * 0.3
    np.testing.assert_allclose(found.volume[:, :, 2], exact, rtol=0, atol=0.5 + 1e-4)


def test_missing_slices_are_named_with_place_and_size_and_not_filled(tmp_path: Path) -> None:
    made = stack(tmp_path, count=12, leave_out=(4, 8, 9))
    found = read_series(tmp_path)
    assert codes(found) == ["missing-slice", "missing-slice"]
    assert [defect.file for defect in found.defects] == ["005.dcm", "010.dcm"]
    assert found.defects[0].expected == "2.50 mm between slices"
    assert found.defects[0].found == "5.00 mm after 003.dcm, so 1 missing"
    assert found.defects[1].found == "7.50 mm after 007.dcm, so 2 missing"
    assert found.defects[0].severity == "error"
    np.testing.assert_array_equal(found.volume, made)
    assert found.geometry.spacing[2] == pytest.approx(2.5)


def test_a_gap_in_a_tilted_series_is_a_gap_and_the_same_tilt(tmp_path: Path) -> None:
    stack(tmp_path, turn=TILTED, step=np.array([0.0, 0.0, 5.0]), count=9, leave_out=(3,))
    found = read_series(tmp_path)
    assert codes(found) == ["missing-slice", "gantry-tilt"]
    assert "17.5 degrees" in found.defects[1].found


def test_a_slice_between_two_places_and_one_beside_the_line_are_uneven(tmp_path: Path) -> None:
    for k, place in enumerate(
        [(0, 0, 0), (0, 0, 2), (0, 0, 4.6), (0, 0, 6), (3, 0, 8), (0, 0, 10)]
    ):
        save(slice_of(noise(k), np.array(place)), tmp_path / f"{k}.dcm")
    found = read_series(tmp_path)
    assert set(codes(found)) == {"uneven-slices"}
    said = {(defect.file, defect.found) for defect in found.defects}
    assert ("2.dcm", "2.60 mm after 1.dcm") in said
    assert ("4.dcm", "3.00 mm beside it") in said


def test_identical_doubles_are_dropped_and_named(tmp_path: Path) -> None:
    made = stack(tmp_path)
    shutil.copy(tmp_path / "003.dcm", tmp_path / "copy of 003.dcm")
    found = read_series(tmp_path)
    np.testing.assert_array_equal(found.volume, made)
    assert codes(found) == ["doubled-slice"]
    assert found.defects[0].file == "copy of 003.dcm"
    assert found.defects[0].found == "the same pixels where 003.dcm lies"


def test_two_different_slices_at_one_place_are_named_as_a_conflict(tmp_path: Path) -> None:
    """The one of the lower acquisition and instance number is kept."""
    made = stack(tmp_path)
    other = slice_of(noise(99), np.array([-100, -80, -900 + 7.5]), InstanceNumber=50)
    save(other, tmp_path / "000 other.dcm")
    found = read_series(tmp_path)
    np.testing.assert_array_equal(found.volume, made)
    assert codes(found) == ["conflicting-slice"]
    assert found.defects[0].severity == "error"
    assert found.defects[0].file == "000 other.dcm"


def test_files_that_are_no_slices_are_named_and_left_out(tmp_path: Path) -> None:
    made = stack(tmp_path)
    (tmp_path / "readme.txt").write_text("not a slice")
    (tmp_path / "empty.dcm").touch()
    (tmp_path / "cut.dcm").write_bytes((tmp_path / "003.dcm").read_bytes()[:500])
    report = get_testdata_file("test-SR.dcm", download=False)
    capture = get_testdata_file("SC_rgb_rle.dcm", download=False)
    assert isinstance(report, str)
    assert isinstance(capture, str)
    shutil.copy(report, tmp_path / "report.dcm")
    shutil.copy(capture, tmp_path / "capture.dcm")
    found = read_series(tmp_path)
    np.testing.assert_array_equal(found.volume, made)
    assert set(codes(found)) == {"foreign-file"}
    said = {defect.file: defect.found for defect in found.defects}
    assert set(said) == {"readme.txt", "empty.dcm", "cut.dcm", "report.dcm", "capture.dcm"}
    assert "not DICOM" in said["readme.txt"]
    assert "Structured Report" in said["report.dcm"] or "SR" in said["report.dcm"]
    assert "ImageOrientationPatient" in said["capture.dcm"]


@pytest.mark.parametrize("own_series", [True, False])
def test_a_scout_does_not_break_the_series_and_is_named(tmp_path: Path, own_series: bool) -> None:
    made = stack(tmp_path)
    scout = slice_of(
        noise(50, (30, 20)),
        np.array([0, -200, -900]),
        ImageType=["ORIGINAL", "PRIMARY", "LOCALIZER"],
        ImageOrientationPatient=list(CORONAL),
        SeriesInstanceUID=SERIES + (".1" if own_series else ""),
    )
    save(scout, tmp_path / "000 scout.dcm")
    found = read_series(tmp_path)
    np.testing.assert_array_equal(found.volume, made)
    assert [(defect.code, defect.file) for defect in found.defects] == [
        ("foreign-file", "000 scout.dcm")
    ]


def test_slices_unlike_the_others_are_named_and_left_out(tmp_path: Path) -> None:
    made = stack(tmp_path)
    odd: dict[str, dict[str, Any]] = {
        "turned": {"ImageOrientationPatient": list(CORONAL)},
        "fine": {"PixelSpacing": [0.35, 0.3]},
    }
    for name, elements in odd.items():
        save(slice_of(noise(60), np.array([0, 0, -899]), **elements), tmp_path / f"{name}.dcm")
    save(slice_of(noise(61, (6, 8)), np.array([0, 0, -899])), tmp_path / "small.dcm")
    found = read_series(tmp_path)
    np.testing.assert_array_equal(found.volume, made)
    assert codes(found) == ["mixed-slices"] * 3
    said = {defect.file: defect.found for defect in found.defects}
    assert "0.3 × 0.35 mm" in said["fine.dcm"]
    assert "8 × 6 pixels" in said["small.dcm"]


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
    with pytest.raises(PictureError, match="no thickness"):
        read_series([path])


def test_folders_without_slices_say_why(tmp_path: Path) -> None:
    with pytest.raises(PictureError, match="no such folder"):
        read_series(tmp_path / "gone")
    with pytest.raises(PictureError, match="no DICOM slice"):
        read_series(tmp_path)
    cine = get_testdata_file("examples_ybr_color.dcm", download=False)
    assert isinstance(cine, str)
    with pytest.raises(PictureError, match="multi-frame file that does not say where"):
        read_series([Path(cine)])


def test_a_slice_with_damaged_pixels_stops_the_reading_with_its_name(tmp_path: Path) -> None:
    stack(tmp_path)
    path = tmp_path / "004.dcm"
    path.write_bytes(path.read_bytes()[:-60])
    with pytest.raises(PictureError, match=r"004\.dcm"):
        read_series(tmp_path)


def test_a_volume_beyond_the_limit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack(tmp_path)
    monkeypatch.setattr(series_module, "LIMIT", 2000)
    with pytest.raises(Refused, match="2688 bytes"):
        read_series(tmp_path)


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
    assert world(found.geometry, (0, 0, 4)) == pytest.approx((-10, -20, 12))
    for k in range(5):
        np.testing.assert_array_equal(found.volume[:, :, k], (noise(k) // 10).T * 2 - 10 * k)


@pytest.mark.parametrize("seed", range(20))
def test_any_turn_step_and_spacing_puts_every_slice_where_its_header_says(
    seed: int, tmp_path: Path
) -> None:
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
            np.testing.assert_allclose(world(found.geometry, (i, j, k)), ras, atol=1e-4)
    assert all(a != b for a, b in pairwise(found.files))


def test_a_damaged_folder_gives_a_series_or_one_sentence(tmp_path: Path) -> None:
    """Bytes flipped in the headers of the slices: no other exception and no warning."""
    stack(tmp_path, count=4)
    whole = {path: path.read_bytes() for path in tmp_path.iterdir()}
    outcomes = set()
    for seed in range(60):
        dice = random.Random(seed)
        for path, content in whole.items():
            damaged = bytearray(content)
            for _ in range(dice.randrange(3)):
                damaged[dice.randrange(128, len(content) - 384)] = dice.randrange(256)
            path.write_bytes(damaged)
        try:
            found = read_series(tmp_path)
        except PictureError as error:
            outcomes.add("refused")
            said = str(error)
        else:
            outcomes.add("read")
            said = " ".join(str(defect) for defect in found.defects)
            assert found.volume.shape == found.geometry.shape
        assert "\n" not in said
    assert outcomes == {"read", "refused"}
