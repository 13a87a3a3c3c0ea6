"""One DICOM file to pixels, against SimpleITK and against what the files were made from."""

from __future__ import annotations

import os
import random
from io import BytesIO
from pathlib import Path
from typing import Any

import gdcm
import numpy as np
import pydicom
import pytest
import SimpleITK as sitk  # noqa: N813
from numpy.typing import NDArray
from pydicom import uid
from pydicom.data import get_testdata_file
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.pixels.processing import apply_voi_lut

from overread.errors import OverreadError, PictureError, Refused, UsageError
from overread.pixels import dicom, dicom_frames
from overread.pixels.dicom import decodable, open_dicom, read_dicom, read_hu

Array = NDArray[Any]

sitk.ProcessObject.SetGlobalWarningDisplay(False)

GREY = [
    "CT_small.dcm",
    "MR_small_bigendian.dcm",
    "MR_small_implicit.dcm",
    "693_J2KI.dcm",
    "J2K_pixelrep_mismatch.dcm",
    "JPEG2000.dcm",
    "JPEG-lossy.dcm",
    "JPGExtended.dcm",
    "JPEGLSNearLossless_08.dcm",
    "JPEGLSNearLossless_16.dcm",
    "MR_small_padded.dcm",
    "examples_overlay.dcm",
    "image_dfl.dcm",
    "rtdose_rle.dcm",
]
COLOUR = [
    "ExplVR_BigEnd.dcm",
    "GDCMJ2K_TextGBR.dcm",
    "SC_jpeg_no_color_transform.dcm",
    "SC_rgb_dcmtk_+eb+cr.dcm",
    "SC_rgb_dcmtk_+eb+cy+n1.dcm",
    "SC_rgb_dcmtk_+eb+cy+np.dcm",
    "SC_rgb_dcmtk_+eb+cy+s4.dcm",
    "SC_rgb_gdcm_KY.dcm",
    "SC_rgb_jls_lossy_line.dcm",
    "SC_rgb_jls_lossy_sample.dcm",
    "SC_rgb_jpeg_app14_dcmd.dcm",
    "SC_rgb_jpeg_gdcm.dcm",
    "SC_rgb_rle.dcm",
    "SC_rgb_small_odd_big_endian.dcm",
    "SC_ybr_full_422_uncompressed.dcm",
    "examples_jpeg2k.dcm",
    "examples_palette.dcm",
    "examples_ybr_color.dcm",
]
MADE_FROM_MR_SMALL = [
    "MR_small_RLE.dcm",
    "MR_small_jp2klossless.dcm",
    "MR_small_jpeg_ls_lossless.dcm",
    "MR_small_expb.dcm",
]
LOSSLESS = [
    gdcm.TransferSyntax.JPEGLosslessProcess14_1,
    gdcm.TransferSyntax.JPEGLosslessProcess14,
    gdcm.TransferSyntax.JPEGLSLossless,
    gdcm.TransferSyntax.JPEG2000Lossless,
    gdcm.TransferSyntax.RLELossless,
]


def bundled(name: str) -> Path:
    """A test file that lies in pydicom's wheel; nothing is downloaded."""
    path = get_testdata_file(name, download=False)
    assert isinstance(path, str), f"{name} is not in the wheel"
    return Path(path)


def by_sitk(path: Path, frame: int = 0) -> Array:
    """One frame as SimpleITK reads it."""
    return np.asarray(sitk.GetArrayFromImage(sitk.ReadImage(str(path)))[frame])


def grey(pixels: Array, **elements: Any) -> Dataset:
    """A single-frame grey dataset in memory."""
    dataset = Dataset()
    dataset.file_meta = FileMetaDataset()
    dataset.file_meta.TransferSyntaxUID = uid.ExplicitVRLittleEndian
    dataset.SOPClassUID = dataset.file_meta.MediaStorageSOPClassUID = uid.CTImageStorage
    dataset.SOPInstanceUID = dataset.file_meta.MediaStorageSOPInstanceUID = uid.generate_uid()
    dataset.Modality = "CT"
    dataset.Rows, dataset.Columns = pixels.shape
    dataset.SamplesPerPixel = 1
    dataset.PhotometricInterpretation = "MONOCHROME2"
    dataset.BitsAllocated = dataset.BitsStored = pixels.dtype.itemsize * 8
    dataset.HighBit = dataset.BitsStored - 1
    dataset.PixelRepresentation = int(np.issubdtype(pixels.dtype, np.signedinteger))
    dataset.PixelData = pixels.tobytes()
    dataset["PixelData"].VR = "OW" if pixels.dtype.itemsize > 1 else "OB"
    for keyword, value in elements.items():
        setattr(dataset, keyword, value)
    return dataset


def stored(dataset: Dataset) -> bytes:
    """The bytes of a dataset as a DICOM file."""
    buffer = BytesIO()
    dataset.save_as(buffer, enforce_file_format=True)
    return buffer.getvalue()


def table(entries: list[int], first: int, bits: int) -> Dataset:
    """One item of a LUT sequence."""
    item = Dataset()
    item.add_new("LUTDescriptor", "US" if first >= 0 else "SS", [len(entries), first, bits])
    item.add_new("LUTData", "US", entries)
    return item


RAMP = np.arange(4096, dtype=np.uint16).reshape(64, 64)


@pytest.mark.parametrize("name", GREY)
def test_values_equal_simpleitk_to_the_last_bit(name: str) -> None:
    found = read_hu(bundled(name))
    np.testing.assert_array_equal(found, by_sitk(bundled(name)))


@pytest.mark.parametrize("name", COLOUR)
def test_colour_pictures_equal_simpleitk_to_the_last_bit(name: str) -> None:
    found = read_dicom(bundled(name))
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, by_sitk(bundled(name)))


@pytest.mark.parametrize("name", MADE_FROM_MR_SMALL)
def test_lossless_copies_equal_the_uncompressed_original(name: str) -> None:
    np.testing.assert_array_equal(read_hu(bundled(name)), read_hu(bundled("MR_small.dcm")))


@pytest.mark.parametrize("name", ["SC_rgb_rle_16bit.dcm", "SC_rgb_rle_32bit.dcm"])
def test_deep_colour_comes_out_as_its_8_bit_twin(name: str) -> None:
    np.testing.assert_array_equal(read_dicom(bundled(name)), read_dicom(bundled("SC_rgb_rle.dcm")))


def test_12_bit_jpeg_shows_what_its_jpeg_2000_twin_shows() -> None:
    """Two lossy copies of one scintigram through two decoders (GDCM's libjpeg, Pillow)."""
    jpeg = read_hu(bundled("JPEG-lossy.dcm")).astype(float)
    twin = read_hu(bundled("JPEG2000.dcm")).astype(float)
    assert np.corrcoef(jpeg.ravel(), twin.ravel())[0, 1] > 0.95


@pytest.mark.parametrize("syntax", LOSSLESS)
@pytest.mark.parametrize("kind", ["CT_small", "unsigned 12 bit", "8 bit"])
def test_what_gdcm_packs_without_loss_is_read_bit_exactly(
    syntax: int, kind: str, tmp_path: Path
) -> None:
    """JPEG lossless (process 14, and SV1), JPEG-LS, JPEG 2000 and RLE as GDCM writes them."""
    rng = np.random.default_rng(7)
    plain, packed = tmp_path / "plain.dcm", tmp_path / "packed.dcm"
    if kind == "CT_small":
        plain.write_bytes(bundled("CT_small.dcm").read_bytes())
        original = by_sitk(plain)
    elif kind == "8 bit":
        original = rng.integers(0, 256, (40, 50)).astype(np.uint8)
        plain.write_bytes(stored(grey(original)))
    else:
        original = rng.integers(0, 4096, (40, 50)).astype(np.uint16)
        plain.write_bytes(stored(grey(original, BitsStored=12, HighBit=11)))
    reader = gdcm.ImageReader()
    reader.SetFileName(str(plain))
    assert reader.Read()
    change = gdcm.ImageChangeTransferSyntax()
    change.SetTransferSyntax(gdcm.TransferSyntax(syntax))
    change.SetInput(reader.GetImage())
    assert change.Change()
    writer = gdcm.ImageWriter()
    writer.SetFileName(str(packed))
    writer.SetFile(reader.GetFile())
    writer.SetImage(change.GetOutput())
    assert writer.Write()
    name = pydicom.dcmread(packed, stop_before_pixels=True).file_meta.TransferSyntaxUID
    assert str(name) == gdcm.TransferSyntax.GetTSString(syntax)
    np.testing.assert_array_equal(read_hu(packed), original)


def test_deflated_files_are_read() -> None:
    dataset = grey(RAMP)
    dataset.file_meta.TransferSyntaxUID = uid.DeflatedExplicitVRLittleEndian
    np.testing.assert_array_equal(read_hu(stored(dataset)), RAMP)


@pytest.mark.parametrize("frame", [0, 1, 14])
def test_each_frame_of_a_multi_frame_file_equals_simpleitk(frame: int) -> None:
    path = bundled("rtdose.dcm")
    np.testing.assert_array_equal(read_hu(path, frame=frame), by_sitk(path, frame))


def test_each_frame_of_a_compressed_cine_equals_simpleitk() -> None:
    path = bundled("examples_ybr_color.dcm")
    cine = sitk.GetArrayFromImage(sitk.ReadImage(str(path)))
    for frame in (0, 7, 29):
        np.testing.assert_array_equal(read_dicom(path, frame=frame), cine[frame])


@pytest.mark.parametrize("frame", [-1, 30])
def test_a_frame_that_is_not_there_is_a_usage_error(frame: int) -> None:
    with pytest.raises(UsageError, match="0 to 29"):
        read_dicom(bundled("examples_ybr_color.dcm"), frame=frame)


def test_rescale_that_int16_cannot_hold_comes_as_float32(tmp_path: Path) -> None:
    path = tmp_path / "half.dcm"
    path.write_bytes(stored(grey(RAMP, RescaleSlope=0.5, RescaleIntercept=-1000.25)))
    found = read_hu(path)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, by_sitk(path), atol=1e-3)
    assert read_hu(bundled("CT_small.dcm")).dtype == np.int16


@pytest.mark.parametrize("window", [(40.0, 400.0), (-600.0, 1500.0), (50.5, 1.0)])
def test_an_explicit_window_equals_simpleitk_windowing(window: tuple[float, float]) -> None:
    path, (centre, width) = bundled("CT_small.dcm"), window
    image = sitk.Cast(sitk.ReadImage(str(path)), sitk.sitkFloat64)
    shown = sitk.IntensityWindowing(image, centre - width / 2, centre + width / 2, 0, 255)
    # Half a grey value and no more: the nearest whole one, however a tie falls.
    exact = sitk.GetArrayFromImage(shown)[0]
    np.testing.assert_allclose(read_dicom(path, window=window), exact, rtol=0, atol=0.5 + 1e-9)


def test_the_files_own_window_follows_the_standard() -> None:
    """PS3.3 C.11.2.1.2.1, LINEAR: centre and width lose a half and a one; by SimpleITK."""
    dataset = grey(RAMP, RescaleIntercept=-1024, RescaleSlope=1, WindowCenter=[40, 0])
    dataset.WindowWidth = [400, 1]
    image = sitk.GetImageFromArray(RAMP.astype(np.float64) - 1024)
    shown = sitk.IntensityWindowing(image, 39.5 - 199.5, 39.5 + 199.5, 0, 255)
    exact = sitk.GetArrayFromImage(shown)
    np.testing.assert_allclose(read_dicom(stored(dataset)), exact, rtol=0, atol=0.5 + 1e-9)


def test_a_sigmoid_window_follows_the_standard() -> None:
    dataset = grey(RAMP, WindowCenter=2000, WindowWidth=1000, VOILUTFunction="SIGMOID")
    expected = np.rint(255 / (1 + np.exp(-4 * (RAMP.astype(float) - 2000) / 1000)))
    np.testing.assert_array_equal(read_dicom(stored(dataset)), expected)


@pytest.mark.parametrize("bits", [8, 12, 16])
def test_monochrome1_with_a_voi_lut_is_looked_up_then_inverted(bits: int) -> None:
    """First through the table, outside of it at its ends, and only then turned round."""
    top = 2**bits - 1
    entries = [round(top * (i / 1999) ** 2) for i in range(2000)]
    dataset = grey(RAMP, PhotometricInterpretation="MONOCHROME1", BitsStored=12, HighBit=11)
    dataset.VOILUTSequence = [table(entries, 1000, bits)]
    # A window beside the table is an alternative view; the table comes first.
    dataset.WindowCenter, dataset.WindowWidth = 5, 10
    index = np.clip(RAMP.astype(int) - 1000, 0, 1999)
    expected = np.rint(255 - np.array(entries)[index] * (255 / top))
    found = read_dicom(stored(dataset))
    np.testing.assert_array_equal(found, expected)
    assert found[0, 0] == 255
    assert found[-1, -1] == 0
    if bits > 8:
        # pydicom's own lookup agrees where it does not wrap round.
        pydicoms = 255 - apply_voi_lut(RAMP, dataset) * (255 / top)
        np.testing.assert_array_equal(found, np.rint(pydicoms))


def test_monochrome1_is_the_negative_of_monochrome2() -> None:
    shared = {"WindowCenter": 2000, "WindowWidth": 3000}
    white = read_dicom(stored(grey(RAMP, PhotometricInterpretation="MONOCHROME1", **shared)))
    black = read_dicom(stored(grey(RAMP, **shared)))
    np.testing.assert_allclose(white.astype(int) + black, 255, atol=1)
    assert black[0, 0] == 0
    np.testing.assert_array_equal(read_hu(stored(grey(RAMP))), RAMP)


def test_a_modality_lut_with_a_negative_first_value_is_applied() -> None:
    pixels = np.arange(-50, 50, dtype=np.int16).reshape(10, 10)
    entries = [2 * i + 3 for i in range(60)]
    dataset = grey(pixels, ModalityLUTSequence=[table(entries, -30, 16)])
    expected = np.array(entries)[np.clip(pixels.astype(int) + 30, 0, 59)]
    np.testing.assert_array_equal(read_hu(stored(dataset)), expected)


def test_without_a_window_deep_grey_is_stretched_and_8_bit_is_left_alone() -> None:
    deep = read_dicom(stored(grey(RAMP, BitsStored=12, HighBit=11)))
    np.testing.assert_array_equal(deep, np.rint(RAMP * (255 / 4095)))
    plain = np.arange(50, 150, dtype=np.uint8).reshape(10, 10)
    np.testing.assert_array_equal(read_dicom(stored(grey(plain))), plain)


def test_padding_does_not_squeeze_the_grey_scale() -> None:
    pixels = RAMP.astype(np.int16)
    pixels[0, :8] = -32000
    found = read_dicom(stored(grey(pixels, PixelPaddingValue=-32000)))
    assert found[0, 0] == 0
    assert 120 < found[32, 0] < 135


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


def test_files_without_preamble_are_read() -> None:
    """With and without meta information, explicit and implicit, from CT_small itself."""
    whole = bundled("CT_small.dcm").read_bytes()
    original = read_hu(whole)
    np.testing.assert_array_equal(read_hu(whole[132:]), original)
    group_length = int.from_bytes(whole[140:144], "little")
    np.testing.assert_array_equal(read_hu(whole[144 + group_length :]), original)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0",
        b"hello, this is no picture at all",
        b"\x89PNG\r\n\x1a\n" + bytes(200),
        bytes(999),
    ],
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
    for syntax in (uid.HTJ2KLossless, uid.MPEG2MPML, uid.UID("1.2.3.4")):
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
def test_claims_beyond_the_limit_or_the_file_are_refused(
    claim: dict[str, int], pixels: bool
) -> None:
    """The header alone can only be measured by the limit, the whole file by its own size too."""
    source = stored(grey(RAMP, **claim))
    if not pixels and claim == {"Rows": 4000}:
        assert open_dicom(source, pixels=pixels).Rows == 4000
        return
    with pytest.raises(Refused, match="claims"):
        open_dicom(source, pixels=pixels)


def test_a_deflated_file_that_swells_beyond_the_limit_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dataset = grey(np.zeros((2048, 2048), dtype=np.uint16))
    dataset.file_meta.TransferSyntaxUID = uid.DeflatedExplicitVRLittleEndian
    source = stored(dataset)
    assert len(source) < 20_000
    monkeypatch.setattr(dicom, "LIMIT", 1_000_000)
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
    with pytest.raises(PictureError, match="did not survive"):
        read_dicom(whole[:marker] + b"\x00" + whole[marker + 1 :])
    np.testing.assert_array_equal(read_dicom(whole), read_dicom(bundled("SC_rgb_rle.dcm")))


def test_a_gdcm_that_was_killed_from_outside_is_started_again() -> None:
    path = bundled("MR_small_jpeg_ls_lossless.dcm")
    original = read_hu(path)
    process = dicom_frames._gdcm._started[os.getpid()]
    process.kill()
    process.wait()
    np.testing.assert_array_equal(read_hu(path), original)


def test_every_usual_syntax_is_decodable_here_and_the_names_are_dicoms() -> None:
    found = decodable()
    assert found[uid.JPEGLosslessSV1.name]
    assert found[uid.JPEGLSLossless.name]
    assert {name for name, here in found.items() if not here} == {
        uid.HTJ2KLossless.name,
        uid.HTJ2KLosslessRPCL.name,
        uid.HTJ2K.name,
    }


def test_without_gdcm_the_syntaxes_that_need_it_are_not_decodable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert not decodable()[uid.JPEGLosslessSV1.name]
    assert decodable()[uid.JPEG2000Lossless.name]
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
