"""Folders of slices with something wrong: named as a defect or refused in one sentence."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydicom.data import get_testdata_file

from overread.errors import PictureError, Refused
from overread.pixels.dicom import series as series_module
from overread.pixels.dicom.series import read_series
from tests.pixels.dicom.dicom_series import CORONAL, SERIES, TILTED, codes, noise, save, slice_of, stack


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
    for k, place in enumerate([(0, 0, 0), (0, 0, 2), (0, 0, 4.6), (0, 0, 6), (3, 0, 8), (0, 0, 10)]):
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
    assert [(defect.code, defect.file) for defect in found.defects] == [("foreign-file", "000 scout.dcm")]


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


def test_a_volume_beyond_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stack(tmp_path)
    monkeypatch.setattr(series_module, "LIMIT", 2000)
    with pytest.raises(Refused, match="2688 bytes"):
        read_series(tmp_path)


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
