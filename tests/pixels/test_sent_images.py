"""Pictures as a reader is shown them: upright, small enough, 8 bits, and nothing but pixels."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow
from PIL import ImageOps

from overread.benchmarks.release import ReleasePictures
from overread.core import Box, Image, Mask, Picture, Region, Slices, Volume, Whole
from overread.errors import PictureError
from overread.pixels.nifti import write_volume
from overread.pixels.sent_images import apply_orientation, encode_region

CANARY = b"CANARY-adenocarcinoma"
GREY = np.add.outer(np.arange(48), np.arange(64)).astype(np.uint8) * 2
COLOUR = np.stack([GREY, GREY.T[:48, :1].repeat(64, 1), 255 - GREY], axis=-1)
FLAT = Image(name="image-1", file="CANARY-adenocarcinoma.png")
CT = Volume(name="ct", file="ct.nii.gz")


def saved(pixels: Any, kind: str, **options: Any) -> bytes:
    """Pixels as a file of Pillow's."""
    image = pixels if isinstance(pixels, Pillow.Image) else Pillow.fromarray(pixels)
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def exif(orientation: int) -> bytes:
    data = Pillow.Exif()
    data[0x0112] = orientation
    data[0x010E] = CANARY.decode()
    return data.tobytes()


def shown(
    source: Path | bytes,
    region: Region | None = None,
    picture: Picture = FLAT,
    *,
    longest: int = 1024,
    **more: Any,
) -> tuple[Any, bytes, str]:
    """What a reader sees of a file: pixels, bytes, media type; sizes are told as they are."""
    pictures = ReleasePictures(lambda _: source)
    region = region or Whole(picture=picture.name)
    data, media, size = encode_region(pictures, picture, region, longest=longest, **more)
    assert (data, media, size) == encode_region(pictures, picture, region, longest=longest, **more)
    assert CANARY not in data
    with Pillow.open(io.BytesIO(data)) as image:
        assert image.size == size
        assert image.format == media.removeprefix("image/").upper()
        assert not image.info.keys() & {"exif", "comment", "icc_profile", "Title"}
        return np.asarray(image), data, media


def test_a_small_picture_goes_out_as_it_is(tmp_path: Path) -> None:
    """The file's own bytes, from a path or a buffer, and not one that tells anything else."""
    data = saved(COLOUR, "PNG")
    file = tmp_path / FLAT.file
    file.write_bytes(data + CANARY)
    assert shown(file)[1] == shown(data)[1] == data
    jpeg = saved(COLOUR, "JPEG", quality=80)
    assert shown(jpeg + CANARY)[1:] == (jpeg, "image/jpeg")


def test_a_large_one_is_scaled_down() -> None:
    """The longer side is what was asked for, in either format; the small one is not scaled up."""
    large = np.tile(COLOUR, (4, 5, 1))
    for media in ("png", "jpeg"):
        pixels, _, told = shown(saved(large, "PNG"), longest=160, media=media)
        assert pixels.shape == (96, 160, 3)
        assert told == f"image/{media}"
    assert shown(saved(COLOUR, "PNG"), longest=64)[0].shape == (48, 64, 3)
    assert shown(saved(COLOUR, "PNG"), longest=63)[0].shape == (47, 63, 3)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_turned_pictures_are_shown_upright(orientation: int) -> None:
    """As Pillow turns them, whole or in part; boxes are of the picture as it is stored."""
    data = saved(COLOUR, "JPEG", quality=95, exif=exif(orientation))
    with Pillow.open(io.BytesIO(data)) as image:
        stored = image.convert("RGB")
        tag = image.getexif()[0x0112]
    peer = Pillow.fromarray(np.asarray(stored))
    peer.getexif()[0x0112] = tag
    expected = np.asarray(ImageOps.exif_transpose(peer))
    assert (shown(data)[0] == expected).all()
    box = Box(picture="image-1", x1=3, y1=5, x2=30, y2=21)
    part = apply_orientation(np.asarray(stored)[5:21, 3:30], orientation)
    assert (shown(data, box)[0] == part).all()
    assert part.shape[:2] == ((16, 27) if orientation < 5 else (27, 16))


def test_deep_greys_become_eight_bits() -> None:
    """A 16-bit PNG is stretched from its darkest to its brightest."""
    deep = GREY.astype(np.uint16) * 200 + 1000
    pixels, _, media = shown(saved(deep, "PNG"))
    assert media == "image/png"
    assert pixels.dtype == np.uint8
    assert (pixels.min(), pixels.max()) == (0, 255)
    assert np.abs(pixels.astype(int) - np.rint(GREY * (255 / GREY.max()))).max() <= 1


def test_palettes_transparency_and_inks() -> None:
    """A palette keeps its colours, transparency goes, and four inks become three colours."""
    palette = Pillow.fromarray(COLOUR).quantize(200)
    with Pillow.open(io.BytesIO(shown(saved(palette, "PNG"))[1])) as image:
        assert (np.asarray(image.convert("RGB")) == np.asarray(palette.convert("RGB"))).all()
    veiled = np.dstack([COLOUR, np.zeros_like(GREY)])
    assert (shown(saved(veiled, "PNG"))[0] == COLOUR).all()
    inks = Pillow.fromarray(COLOUR).convert("CMYK")
    pixels = shown(saved(inks, "JPEG", quality=98))[0]
    assert pixels.shape == (48, 64, 3)
    assert np.abs(pixels.astype(int) - COLOUR).mean() < 6


def test_a_box_is_cut_out() -> None:
    """The pixels inside of it, clipped at the edges; one that holds no pixel is refused."""
    data = saved(COLOUR, "PNG")
    assert (shown(data, Box(picture="i", x1=10, y1=4, x2=99, y2=20))[0] == COLOUR[4:20, 10:]).all()
    with pytest.raises(PictureError, match="holds no pixel"):
        shown(data, Box(picture="i", x1=70, y1=4, x2=99, y2=20))


def test_a_mask_is_never_shown() -> None:
    """Neither of a flat picture nor of a volume; and each kind has its own parts."""
    data = saved(COLOUR, "PNG")
    for picture in (FLAT, CT):
        with pytest.raises(PictureError, match="a mask is never shown"):
            shown(data, Mask(picture=picture.name, file="m.nii.gz"), picture)
    with pytest.raises(PictureError, match="no slices"):
        shown(data, Slices(picture="i", first=0, last=1))
    with pytest.raises(PictureError, match="by its slices"):
        shown(data, Box(picture="ct", x1=0, y1=0, x2=4, y2=4), CT)


def test_what_is_damaged_is_told_without_its_name(tmp_path: Path) -> None:
    """A cut-off, missing, forbidden or foreign file is an error that names the picture only."""
    whole = saved(np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8), "PNG")
    file = tmp_path / FLAT.file
    for content in (whole[:-400], b"no picture at all", b"", None):
        file.unlink(missing_ok=True)
        if content is not None:
            file.write_bytes(content)
        with pytest.raises(PictureError, match="image-1") as caught:
            shown(file)
        assert CANARY.decode() not in str(caught.value)


@pytest.fixture
def scan(tmp_path: Path) -> Path:
    """A volume whose slice n is -1000 + 10 n HU, with the head first and left to right as LPS."""
    volume = np.broadcast_to(-1000 + 10 * np.arange(40)[::-1], (30, 20, 40)).astype(np.int16)
    path = tmp_path / "ct.nii.gz"
    write_volume(path, volume, np.diag([-2.0, -2.0, -3.0, 1.0]))
    return path


def greys(sheet: Any, columns: int, count: int) -> list[int]:
    """The grey in the middle of each tile of a montage."""
    rows = -(-count // columns)
    height, width = (sheet.shape[0] + 4) // rows, (sheet.shape[1] + 4) // columns
    return [
        int(sheet[r * height + height // 2, c * width + width // 2].mean())
        for r, c in (divmod(n, columns) for n in range(count))
    ]


def test_a_volume_is_a_montage_from_the_feet_up(scan: Path) -> None:
    """Evenly spread slices, first to last, in each window; the same sheet every time."""
    sheet, _, media = shown(scan, picture=CT, windows=("lung",), count=4, longest=4000)
    assert media == "image/png"
    # HU -1000, -870, -740, -610 in the lung window: (hu + 1350) * 255 / 1500.
    assert greys(sheet, 2, 4) == [round((hu + 1350) * 255 / 1500) for hu in (-1000, -870, -740, -610)]
    both = shown(scan, picture=CT, windows=("lung", "mediastinum"), count=2, longest=4000)[0]
    assert greys(both, 2, 4)[2:] == [0, 0]  # air is black in the mediastinal window
    for longest in (500, 1024):
        small = shown(scan, picture=CT, windows=("lung", "bone"), count=16, longest=longest)[0]
        # As large as may be, and not scaled: titles are drawn to be read.
        assert longest - 30 < max(small.shape) <= longest


def test_a_range_of_slices(scan: Path) -> None:
    """Only the slices that were asked for, in any plane; none beyond the volume."""
    some = Slices(picture="ct", first=10, last=12)
    sheet = shown(scan, some, CT, windows=("lung",), count=16, longest=4000)[0]
    assert greys(sheet, 2, 3) == [round((hu + 1350) * 255 / 1500) for hu in (-900, -890, -880)]
    one = Slices(picture="ct", axis="coronal", first=19, last=19)
    assert shown(scan, one, CT, windows=("lung",), longest=4000)[0].shape[:2] == (320, 160)
    for first, last in ((0, 40), (-1, 3), (5, 4)):
        with pytest.raises(PictureError, match="were asked of 40"):
            shown(scan, Slices(picture="ct", first=first, last=last), CT)


def test_a_volume_that_is_none(scan: Path) -> None:
    """A flat picture in the place of a CT, or the other way round, is an error, not a bug."""
    with pytest.raises(PictureError):
        shown(saved(COLOUR, "PNG"), picture=CT)
    with pytest.raises(PictureError, match="no flat picture"):
        shown(scan)
