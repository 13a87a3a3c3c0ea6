"""Print burned into pictures, and metadata of picture files."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont, PngImagePlugin
from pydicom import dcmread, uid

from overread.build.deid import DeidSecret, Options, clean_picture
from overread.build.deid.dicom.files import clean_dicom
from overread.build.deid.picture import clean_picture_file
from tests.pixels.dicom.dicom_files import grey, stored

SECRET = DeidSecret(b"a key for the tests, nothing else")
Pixels = NDArray[Any]


def body(rows: int = 500, columns: int = 480) -> Pixels:
    """A bright oval with soft structure on a dark ground, and a little noise."""
    y, x = np.mgrid[:rows, :columns]
    inside = ((x / columns - 0.5) / 0.4) ** 2 + ((y / rows - 0.5) / 0.42) ** 2 < 1
    soft = 100 + 40 * np.sin(x / 31) * np.cos(y / 23)
    noise = np.random.default_rng(3).normal(0, 3, (rows, columns))
    return np.clip(np.where(inside, soft, 10) + noise, 0, 220).astype(np.uint8)


def printed(
    pixels: Pixels, text: str, at: tuple[int, int], fill: Any = 255, size: int = 20
) -> tuple[Pixels, NDArray[np.bool_]]:
    """The picture with a line of print, and where its ink is."""
    picture = Image.fromarray(pixels)
    font = ImageFont.load_default(size=size)
    ImageDraw.Draw(picture).text(at, text, font=font, fill=fill)
    ink = Image.new("L", picture.size)
    ImageDraw.Draw(ink).text(at, text, font=font, fill=255)
    return np.asarray(picture), np.asarray(ink) > 128


@pytest.mark.parametrize(
    ("text", "at"),
    [("QUILLFEATHER, YARROW", (10, 8)), ("ID: 4471023", (330, 470)), ("03/20/2021 10:15", (150, 250))],
)
def test_print_is_covered(text: str, at: tuple[int, int]) -> None:
    """Bright print in corners and inside is covered whole, and next to nothing else."""
    pixels, ink = printed(body(), text, at)
    found = clean_picture(pixels)
    changed = found.pixels != pixels
    boxes = np.zeros(ink.shape, dtype=bool)
    for box in found.boxes:
        boxes[box.top : box.bottom, box.left : box.right] = True
    assert boxes[ink].all()
    assert boxes.mean() < 4 * ink.mean() + 0.02
    assert not changed[~boxes].any()
    assert np.ptp(found.pixels[boxes]) <= 40


def test_dark_and_coloured_print_is_covered() -> None:
    """Dark letters on a white bar and yellow letters on grey are found as well."""
    barred = body()
    barred[5:40, 5:260] = 255
    pixels, ink = printed(barred, "Quillfeather Yarrow", (12, 8), fill=0)
    assert (clean_picture(pixels).pixels[ink] > 128).all()
    colour = np.repeat(body()[..., None], 3, axis=2)
    pixels, ink = printed(colour, "Quillfeather 4471", (200, 470), fill=(255, 255, 0))
    made = clean_picture(pixels).pixels[ink]
    assert (made.max(axis=1) - made.min(axis=1) < 60).all()


def test_a_picture_without_print_stays_as_it_is() -> None:
    """Nothing is covered where nothing is printed."""
    found = clean_picture(body())
    assert found.boxes == ()
    assert np.array_equal(found.pixels, body())


def test_side_markers_are_covered_unless_kept() -> None:
    """A single R near the edge goes, and stays where that is asked for."""
    pixels, ink = printed(body(), "R", (30, 40), size=32)
    assert (clean_picture(pixels).pixels[ink] < 100).all()
    assert np.array_equal(clean_picture(pixels, Options(keep_side_markers=True)).pixels, pixels)


def test_metadata_of_png_goes() -> None:
    """Text chunks and EXIF are not in the new file, the pixels are the same."""
    info = PngImagePlugin.PngInfo()
    info.add_text("Comment", "Quillfeather")
    exif = Image.Exif()
    exif[0x010E] = "Quillfeather"
    out = io.BytesIO()
    Image.fromarray(body()).save(out, "PNG", pnginfo=info, exif=exif)
    assert b"Quillfeather" in out.getvalue()
    data, removals = clean_picture_file(out.getvalue() + b"Quillfeather", "x", Options())
    assert b"Quillfeather" not in data
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(data))), body())
    assert {one.where for one in removals} == {"chunk tEXt", "chunk eXIf", "bytes after the picture"}


def test_metadata_of_jpeg_goes_without_touching_the_pixels() -> None:
    """EXIF, comments and bytes behind go; the compressed pixels are the same bytes."""
    exif = Image.Exif()
    exif[0x010E] = "Quillfeather"
    out = io.BytesIO()
    Image.fromarray(body()).save(out, "JPEG", exif=exif, comment=b"Quillfeather", quality=90)
    given = out.getvalue()
    assert given.count(b"Quillfeather") == 2
    data, removals = clean_picture_file(given + b"Quillfeather", "x", Options())
    assert b"Quillfeather" not in data
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(data))), np.asarray(Image.open(io.BytesIO(given))))
    assert {one.where for one in removals} == {"segment APP1", "comment", "bytes after the picture"}


def test_jpeg_with_print_is_covered() -> None:
    """Print in a JPEG is found through its compression."""
    pixels, ink = printed(body(), "QUILLFEATHER 4471023", (10, 8), size=24)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "JPEG", quality=85)
    data, removals = clean_picture_file(out.getvalue(), "x", Options())
    assert (np.asarray(Image.open(io.BytesIO(data)))[ink] < 100).all()
    assert removals[0].kind == "burned-in"


def test_print_in_dicom_is_covered_in_every_frame() -> None:
    """A secondary capture of several frames is covered in all of them, also a compressed one."""
    first, ink = printed(body(), "QUILLFEATHER 4471023", (10, 8), size=24)
    second = np.clip(first.astype(int) + 5, 0, 255).astype(np.uint8)
    dataset = grey(first, NumberOfFrames=2, Modality="OT", BurnedInAnnotation="YES")
    dataset.SOPClassUID = dataset.file_meta.MediaStorageSOPClassUID = uid.SecondaryCaptureImageStorage
    dataset.PixelData = first.tobytes() + second.tobytes()
    dataset.compress(uid.RLELossless)
    made = clean_dicom(stored(dataset), SECRET, Options())
    assert made.unclean == []
    after = dcmread(io.BytesIO(made.data))
    assert after.BurnedInAnnotation == "NO"
    assert (after.pixel_array[:, ink] < 100).all()
    codes = [item.CodeValue for item in after.DeidentificationMethodCodeSequence]
    assert "113101" in codes


def test_flagged_pictures_without_a_find_are_unclean() -> None:
    """A header that tells of print where none is found is a reason to refuse; so is a face."""
    flagged = grey(body(), BurnedInAnnotation="YES", Modality="OT")
    (why,) = clean_dicom(stored(flagged), SECRET, Options()).unclean
    assert "print is burned in" in why
    face = grey(body(), RecognizableVisualFeatures="YES", Modality="OT")
    (why,) = clean_dicom(stored(face), SECRET, Options()).unclean
    assert "face" in why


def test_slices_of_measured_values_are_not_covered_for_bright_spots() -> None:
    """Rows of vessels and bone in a CT slice are no print; letters of one value are."""
    rng = np.random.default_rng(5)
    slice_ = np.full((256, 256), -900, dtype=np.int16) + rng.normal(0, 15, (256, 256)).astype(np.int16)
    for n in range(12):
        slice_[40:47, 30 + 12 * n : 35 + 12 * n] = rng.integers(100, 900)
    spots = grey(slice_, Modality="CT")
    assert not [
        one for one in clean_dicom(stored(spots), SECRET, Options()).removals if one.kind == "burned-in"
    ]
    picture = Image.fromarray(np.zeros((256, 256), dtype=np.uint8))
    ImageDraw.Draw(picture).text((10, 8), "QUILLFEATHER", font=ImageFont.load_default(size=20), fill=255)
    ink = np.asarray(picture) > 128
    lettered = slice_.copy()
    lettered[ink] = 3000
    made = clean_dicom(stored(grey(lettered, Modality="CT")), SECRET, Options())
    assert (dcmread(io.BytesIO(made.data)).pixel_array[ink] < 500).all()
