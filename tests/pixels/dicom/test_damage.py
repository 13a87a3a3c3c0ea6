"""One DICOM file that cannot be shown: refused in one sentence, and no decoder takes us with it."""

from __future__ import annotations

import os
import random
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pydicom
import pytest
from pydicom import uid

from overread.errors import OverreadError, PictureError, Refused, Truncated, UsageError
from overread.pixels.dicom import file, frames
from overread.pixels.dicom.file import decodable_syntaxes, open_dicom, read_dicom, read_hu
from tests.pixels.dicom.dicom_files import RAMP, bundled, grey, stored
from tests.timing import cpu_seconds


@pytest.mark.parametrize("frame", [-1, 30])
def test_a_frame_that_is_not_there_is_a_usage_error(frame: int) -> None:
    with pytest.raises(UsageError, match="0 to 29"):
        read_dicom(bundled("examples_ybr_color.dcm"), frame=frame)


@pytest.mark.parametrize("width", [0, 0.5])
def test_a_stored_window_that_shows_nothing_is_named_and_can_be_replaced(width: float) -> None:
    source = stored(grey(RAMP, WindowCenter=40, WindowWidth=width))
    with pytest.raises(PictureError, match=r"WindowWidth.*window \(centre, width\)"):
        read_dicom(source)
    assert read_dicom(source, window=(40, 80)).max() == 255


def test_an_explicit_window_without_width_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="width above 0"):
        read_dicom(bundled("CT_small.dcm"), window=(40, 0))


def test_colour_has_no_hu() -> None:
    with pytest.raises(PictureError, match="no HU"):
        read_hu(bundled("SC_rgb_rle.dcm"))


@pytest.mark.parametrize(
    "content",
    [b"", b"\0", b"hello, this is no picture at all", b"\x89PNG\r\n\x1a\n" + bytes(200), bytes(999)],
)
def test_what_is_not_dicom_is_called_so(content: bytes) -> None:
    with pytest.raises(PictureError, match="not DICOM"):
        read_dicom(content)


@pytest.mark.parametrize("name", ["test-SR.dcm", "rtplan.dcm", "waveform_ecg.dcm"])
def test_dicom_without_pixels_is_called_so_and_still_opens_as_header(name: str) -> None:
    with pytest.raises(PictureError, match="no pixel data"):
        read_dicom(bundled(name))
    assert open_dicom(bundled(name), pixels=False).SOPClassUID


def test_missing_file_and_folder_are_called_so(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "gone.dcm"):
        with pytest.raises(PictureError, match="no such file"):
            read_dicom(path)


def test_truncated_files_say_how_much_is_there() -> None:
    with pytest.raises(PictureError, match="truncated: it holds 8130 of 8192 bytes"):
        read_hu(bundled("MR_truncated.dcm"))


def test_an_unknown_transfer_syntax_is_named_with_a_remedy() -> None:
    for syntax in (uid.MPEG2MPML, uid.UID("1.2.3.4")):
        dataset = grey(RAMP)
        dataset.file_meta.TransferSyntaxUID = uid.ExplicitVRLittleEndian
        source = stored(dataset).replace(b"UI\x14\x001.2.840.10008.1.2.1\x00", _element(syntax))
        with pytest.raises(PictureError, match=f"{syntax}.*gdcmconv"):
            read_hu(source)


def _element(syntax: uid.UID) -> bytes:
    value = str(syntax).encode() + b"\x00" * (len(syntax) % 2)
    return b"UI" + len(value).to_bytes(2, "little") + value


@pytest.mark.parametrize(
    "claim", [{"Rows": 65535, "Columns": 65535}, {"NumberOfFrames": 10**7}, {"Rows": 4000}]
)
@pytest.mark.parametrize("pixels", [True, False])
def test_claims_beyond_the_limit_or_the_file_are_refused(claim: dict[str, int], pixels: bool) -> None:
    """The header alone can only be measured by the limit, the whole file by its own size too."""
    source = stored(grey(RAMP, **claim))
    if not pixels and claim == {"Rows": 4000}:
        assert open_dicom(source, pixels=pixels).Rows == 4000
        return
    # Above the limit it is refused; above what the file has, the file is cut off.
    with pytest.raises(Truncated if claim == {"Rows": 4000} else Refused, match="claims"):
        open_dicom(source, pixels=pixels)


def test_a_deflated_file_that_swells_beyond_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = grey(np.zeros((2048, 2048), dtype=np.uint16))
    dataset.file_meta.TransferSyntaxUID = uid.DeflatedExplicitVRLittleEndian
    source = stored(dataset)
    assert len(source) < 20_000
    monkeypatch.setattr(file, "LIMIT", 1_000_000)
    with pytest.raises(Refused, match="inflates"):
        open_dicom(source, pixels=False)


def test_a_compressed_frame_of_another_size_than_the_header_is_named() -> None:
    dataset = pydicom.dcmread(bundled("MR_small_jpeg_ls_lossless.dcm"))
    dataset.Rows = 32
    with pytest.raises(PictureError, match=r"\(64, 64, 1\).*\(32, 64, 1\)"):
        read_hu(stored(dataset))


def test_a_frame_that_kills_gdcm_is_a_picture_error_and_the_next_file_is_read() -> None:
    """One byte of an APP14 marker flipped makes GDCM call std::terminate; we must survive it."""
    whole = bundled("SC_rgb_jpeg_gdcm.dcm").read_bytes()
    marker = whole.rindex(b"\xff\xd8\xff\xee") + 3
    with pytest.raises(PictureError, match="crashed or timed out"):
        read_dicom(whole[:marker] + b"\x00" + whole[marker + 1 :])
    np.testing.assert_array_equal(read_dicom(whole), read_dicom(bundled("SC_rgb_rle.dcm")))


def test_a_gdcm_that_was_killed_from_outside_is_started_again() -> None:
    path = bundled("MR_small_jpeg_ls_lossless.dcm")
    original = read_hu(path)
    process = frames._gdcm._started[os.getpid()]
    process.kill()
    process.wait()
    np.testing.assert_array_equal(read_hu(path), original)


def test_every_usual_syntax_is_decodable_here_and_the_names_are_dicoms() -> None:
    found = decodable_syntaxes()
    assert found[uid.JPEGLosslessSV1.name]
    assert found[uid.JPEGLSLossless.name]
    assert all(found.values())


def test_without_gdcm_the_syntaxes_that_need_it_are_not_decodable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert not decodable_syntaxes()[uid.JPEGLosslessSV1.name]
    assert decodable_syntaxes()[uid.JPEG2000Lossless.name]
    with pytest.raises(PictureError, match="overread doctor"):
        read_hu(bundled("MR_small_jpeg_ls_lossless.dcm"))


@pytest.mark.parametrize(
    "name",
    [
        "CT_small.dcm",
        "MR_small_implicit.dcm",
        "MR_small_bigendian.dcm",
        "MR_small_RLE.dcm",
        "MR_small_jp2klossless.dcm",
        "MR_small_jpeg_ls_lossless.dcm",
        "SC_rgb_jpeg_gdcm.dcm",
        "SC_rgb_jpeg_lossy_gdcm.dcm",
        "SC_ybr_full_422_uncompressed.dcm",
        "examples_palette.dcm",
        "image_dfl.dcm",
    ],
)
def test_damaged_files_give_an_array_or_one_sentence(name: str) -> None:
    """Cut and flipped at seeded places: no other exception, no warning, no death."""
    whole = bundled(name).read_bytes()
    for seed in range(250):
        dice = random.Random(seed)
        damaged = bytearray(whole)
        if seed % 3 == 0:
            del damaged[dice.randrange(len(whole)) :]
        else:
            reach = dice.choice([400, 2000, len(whole)])
            for _ in range(dice.randrange(1, 8)):
                damaged[dice.randrange(min(reach, len(whole)))] = dice.randrange(256)
        _is_picture_or_sentence(bytes(damaged))


def _is_picture_or_sentence(source: bytes) -> None:
    try:
        found = read_dicom(source)
    except OverreadError as error:
        said = error
    else:
        assert found.dtype == np.uint8
        assert found.ndim in (2, 3)
        return
    assert said.remedy
    assert "\n" not in str(said)
    assert len(str(said)) < 600


def test_threads_leave_pythons_warnings_alone() -> None:
    """Filters belong to the whole process; reading in threads puts them back as they were."""
    before = list(warnings.filters)
    source = stored(grey(RAMP))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: read_dicom(source), range(64)))
    assert list(warnings.filters) == before


def test_a_file_of_many_frames_that_lie_nowhere_is_told_at_once(tmp_path: Path) -> None:
    """The number of frames is held against the places that the file gives, before any loop."""
    from overread.pixels.dicom.series import read_series

    def read_frames(count: int) -> None:
        (tmp_path / "many.dcm").write_bytes(stored(grey(RAMP[:1, :1], NumberOfFrames=count)))
        with pytest.raises(PictureError):
            read_series(tmp_path)

    few, many = (cpu_seconds(partial(read_frames, n)) for n in (20, 20_000))
    assert many < 20 * few + 0.1
