"""One DICOM file to pixels, against SimpleITK and against what the files were made from."""

from __future__ import annotations

from pathlib import Path

import gdcm
import numpy as np
import pydicom
import pytest
import SimpleITK as sitk  # noqa: N813
from pydicom import uid
from pydicom.dataset import Dataset
from pydicom.pixels.processing import apply_voi_lut

from overread.pixels.dicom.file import read_dicom, read_hu
from tests.pixels.dicom.dicom_files import RAMP, Array, bundled, grey, stored

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


def by_sitk(path: Path, frame: int = 0) -> Array:
    """One frame as SimpleITK reads it."""
    return np.asarray(sitk.GetArrayFromImage(sitk.ReadImage(str(path)))[frame])


def table(entries: list[int], first: int, bits: int) -> Dataset:
    """One item of a LUT sequence."""
    item = Dataset()
    item.add_new("LUTDescriptor", "US" if first >= 0 else "SS", [len(entries), first, bits])
    item.add_new("LUTData", "US", entries)
    return item


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
def test_what_gdcm_packs_without_loss_is_read_bit_exactly(syntax: int, kind: str, tmp_path: Path) -> None:
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


def test_files_without_preamble_are_read() -> None:
    """With and without meta information, explicit and implicit, from CT_small itself."""
    whole = bundled("CT_small.dcm").read_bytes()
    original = read_hu(whole)
    np.testing.assert_array_equal(read_hu(whole[132:]), original)
    group_length = int.from_bytes(whole[140:144], "little")
    np.testing.assert_array_equal(read_hu(whole[144 + group_length :]), original)
