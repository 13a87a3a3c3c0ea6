"""Files of pictures stripped to their pixels: no word that came with them goes out."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow
from PIL import ImageCms, ImageOps
from PIL.PngImagePlugin import PngInfo

from overread.pixels.encode import EncodedImage
from overread.pixels.image_metadata import exif_orientation, strip_metadata

CANARY = b"CANARY-adenocarcinoma"
WORDS = CANARY.decode()
GREY = np.add.outer(np.arange(48), np.arange(64)).astype(np.uint8) * 2
COLOUR = np.stack([GREY, GREY.T[:48, :1].repeat(64, 1), 255 - GREY], axis=-1)


def saved(pixels: Any, kind: str, **options: Any) -> bytes:
    """Pixels as a file of Pillow's."""
    image = pixels if isinstance(pixels, Pillow.Image) else Pillow.fromarray(pixels)
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def decoded(data: bytes) -> Any:
    """The pixels of a file."""
    with Pillow.open(io.BytesIO(data)) as image:
        return np.asarray(image.convert("RGB"))


def chunk(kind: bytes, body: bytes) -> bytes:
    """A chunk of a PNG."""
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def with_chunk(data: bytes, kind: bytes, body: bytes, *, before: bytes = b"IDAT") -> bytes:
    """The PNG with one more chunk in it."""
    at = data.index(before) - 4
    return data[:at] + chunk(kind, body) + data[at:]


def segment(mark: int, body: bytes) -> bytes:
    """A segment of a JPEG."""
    return struct.pack(">BBH", 0xFF, mark, len(body) + 2) + body


def with_segment(data: bytes, mark: int, body: bytes, *, at: int = 2) -> bytes:
    """The JPEG with one more segment in it."""
    return data[:at] + segment(mark, body) + data[at:]


def between_scans(data: bytes) -> int:
    """Where a later scan of a progressive JPEG is announced."""
    second = data.index(b"\xff\xda", data.index(b"\xff\xda") + 2)
    return max(data.rindex(b"\xff\xc4", 0, second), 0)


PNG = saved(COLOUR, "PNG")
JPEG = saved(COLOUR, "JPEG")
PROGRESSIVE = saved(COLOUR, "JPEG", progressive=True)
PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def noted() -> PngInfo:
    info = PngInfo()
    info.add_text("Title", WORDS)
    info.add_text("Comment", WORDS, zip=True)
    info.add_itxt("Diagnosis", WORDS, lang="en")
    info.add_itxt("Report", WORDS, zip=True)
    return info


PNGS: dict[str, bytes] = {
    "tEXt, zTXt, iTXt": saved(COLOUR, "PNG", pnginfo=noted()),
    "text after the pixels": with_chunk(PNG, b"tEXt", b"T\0" + CANARY, before=b"IEND"),
    "eXIf": saved(COLOUR, "PNG", exif=b"Exif\0\0" + CANARY),
    "tIME and private": with_chunk(with_chunk(PNG, b"prVt", CANARY), b"tIME", b"\7\xea\1\1\0\0\0"),
    "iCCP": with_chunk(PNG, b"iCCP", CANARY + b"\0\0" + zlib.compress(PROFILE)),
    "sPLT, hIST, pHYs": with_chunk(PNG, b"sPLT", CANARY + b"\0\x08"),
    "after the end": PNG + CANARY,
    "in the end": PNG[:-12] + chunk(b"IEND", CANARY),
    "in a gamma that is too long": with_chunk(PNG, b"gAMA", b"\0\0\xb1\x8f" + CANARY),
}


@pytest.mark.parametrize("where", PNGS)
def test_no_word_of_a_png_goes_out(where: str) -> None:
    """Whatever stands beside the pixels is gone, packed or not, and the pixels are the same."""
    data = PNGS[where]
    found = strip_metadata(data)
    assert found is not None
    assert found == EncodedImage(PNG, "image/png", (64, 48))
    assert CANARY not in found.data
    assert zlib.compress(CANARY) not in found.data
    assert (decoded(found.data) == COLOUR).all()


def exif(orientation: int, *, words: str = WORDS, thumbnail: bytes = b"") -> bytes:
    """Camera data that turn a picture, say something, and hold a small copy of it."""
    data = Pillow.Exif()
    data[0x0112] = orientation
    data[0x010E] = words
    data[0x9286] = words
    return data.tobytes() + thumbnail


def jfif_with_thumbnail() -> bytes:
    """JFIF with a picture of 4 × 1 pixels in its header that spell a word."""
    body = b"JFIF\0\1\1\0\0\1\0\1" + bytes([len(CANARY) // 3, 1]) + CANARY
    end = 2 + 2 + struct.unpack(">H", JPEG[4:6])[0]
    return JPEG[:2] + segment(0xE0, body) + JPEG[end:]


JPEGS: dict[str, Callable[[], bytes]] = {
    "COM": lambda: saved(COLOUR, "JPEG", comment=WORDS),
    "Exif, upright, with a thumbnail": lambda: saved(
        COLOUR, "JPEG", exif=exif(1, thumbnail=saved(GREY, "JPEG", comment=WORDS))
    ),
    "XMP": lambda: with_segment(JPEG, 0xE1, b"http://ns.adobe.com/xap/1.0/\0" + CANARY),
    "ICC": lambda: saved(COLOUR, "JPEG", icc_profile=PROFILE + CANARY),
    "IPTC": lambda: with_segment(JPEG, 0xED, b"Photoshop 3.0\0" + CANARY),
    "any APP": lambda: with_segment(with_segment(JPEG, 0xEF, CANARY), 0xE5, CANARY),
    "a JFIF thumbnail": jfif_with_thumbnail,
    "a JFXX thumbnail": lambda: with_segment(JPEG, 0xE0, b"JFXX\0\x10" + CANARY, at=20),
    "an APP14 of nobody's": lambda: with_segment(JPEG, 0xEE, CANARY),
    "after the end": lambda: JPEG + CANARY,
    "a second picture after the end": lambda: JPEG + saved(GREY, "JPEG", comment=WORDS),
    "filling and a comment before the end": lambda: (
        JPEG[:-2] + b"\xff\xff" + segment(0xFE, CANARY) + b"\xff\xff\xff\xd9" + CANARY
    ),
}


@pytest.mark.parametrize("where", JPEGS)
def test_no_word_of_a_jpeg_goes_out(where: str) -> None:
    """Comments, camera data, thumbnails and what follows the end are gone; the pixels are not."""
    data = JPEGS[where]()
    assert CANARY in data or WORDS in data.decode("latin-1")
    found = strip_metadata(data)
    assert found is not None
    assert (found.media, found.size) == ("image/jpeg", (64, 48))
    assert CANARY not in found.data
    assert found.data.count(b"\xff\xd8\xff") == 1  # no picture inside of the picture
    assert found.data.endswith(b"\xff\xd9")
    assert (decoded(found.data) == decoded(JPEG)).all()


def test_a_comment_between_the_scans_of_a_progressive_jpeg() -> None:
    """All scans stay, and nothing that was said between them."""
    at = between_scans(PROGRESSIVE)
    found = strip_metadata(with_segment(PROGRESSIVE, 0xFE, CANARY, at=at))
    assert found is not None
    assert CANARY not in found.data
    assert found.data.count(b"\xff\xda") == PROGRESSIVE.count(b"\xff\xda") > 2
    assert (decoded(found.data) == decoded(PROGRESSIVE)).all()


def test_an_adobe_mark_keeps_its_colours_and_loses_its_words() -> None:
    """A JPEG of plain red, green and blue is told by its Adobe mark, which is kept bare."""
    data = saved(COLOUR, "JPEG", keep_rgb=True, quality=95)
    assert b"Adobe" in data
    at = data.index(b"Adobe")
    tail = data[at + 12 :]
    longer = data[: at - 2] + struct.pack(">H", 14 + len(CANARY)) + data[at : at + 12]
    found = strip_metadata(longer + CANARY + tail)
    assert found is not None
    assert CANARY not in found.data
    assert (decoded(found.data) == decoded(data)).all()


def test_small_kinds_go_out_as_they_are() -> None:
    """Grey, palette and interlaced 8-bit PNGs, grey and sub-sampled JPEGs keep their pixels."""
    palette = Pillow.fromarray(COLOUR).quantize(200)
    for data in (
        saved(GREY, "PNG"),
        saved(palette, "PNG", bits=8),
        saved(GREY, "JPEG"),
        saved(COLOUR, "JPEG", subsampling="4:2:0", restart_marker_rows=1),
        saved(COLOUR, "JPEG", optimize=True, quality=30),
    ):
        found = strip_metadata(data)
        assert found is not None
        assert (decoded(found.data) == decoded(data)).all()


def four_inks() -> bytes:
    return saved(Pillow.fromarray(COLOUR).convert("CMYK"), "JPEG")


DRAWN_ANEW: dict[str, Callable[[], bytes]] = {
    "16 bits": lambda: saved(GREY.astype(np.uint16) * 200, "PNG"),
    "1 bit": lambda: saved(Pillow.fromarray(GREY).convert("1"), "PNG"),
    "4 bits": lambda: saved(Pillow.fromarray(COLOUR).quantize(12), "PNG", bits=4),
    "alpha": lambda: saved(np.dstack([COLOUR, GREY]), "PNG"),
    "grey with alpha": lambda: saved(Pillow.fromarray(np.dstack([GREY, GREY]), "LA"), "PNG"),
    "a transparent colour": lambda: saved(COLOUR, "PNG", transparency=(0, 0, 0)),
    "several frames": lambda: saved(
        Pillow.fromarray(GREY),
        "PNG",
        save_all=True,
        append_images=[Pillow.fromarray(GREY.T.copy()).resize((64, 48))],
    ),
    "four inks": four_inks,
    "to be turned": lambda: saved(COLOUR, "JPEG", exif=exif(6)),
    "a PNG that is cut off": lambda: PNG[:-20],
    "a PNG with a wrong checksum": lambda: PNG[:-30] + bytes([PNG[-30] ^ 1]) + PNG[-29:],
    "a PNG without pixels": lambda: PNG[: PNG.index(b"IDAT") - 4] + PNG[-12:],
    "a JPEG that is cut off": lambda: JPEG[:-2],
    "a JPEG that ends in its header": lambda: JPEG[:100],
    "a JPEG of no height": lambda: JPEG.replace(
        b"\xff\xc0\x00\x11\x08\x00\x30", b"\xff\xc0\x00\x11\x08\x00\x00"
    ),
    "rubbish in a JPEG": lambda: JPEG[:20] + CANARY + JPEG[20:],
    "two frames in a JPEG": lambda: with_segment(JPEG, 0xC0, b"\x08\x00\x30\x00\x40\x01\x01\x11\x00", at=20),
    "DICOM": lambda: bytes(128) + b"DICM",
    "nothing": lambda: b"",
}


@pytest.mark.parametrize("what", DRAWN_ANEW)
def test_what_is_drawn_anew(what: str) -> None:
    """What models take differently, or not at all, and what is damaged, is left to the decoder."""
    assert strip_metadata(DRAWN_ANEW[what]()) is None


@pytest.mark.parametrize("orientation", range(1, 9))
def test_how_a_picture_is_to_be_turned(orientation: int) -> None:
    """The tag is found and believed; upright ones go out as they are."""
    data = saved(COLOUR, "JPEG", exif=exif(orientation))
    assert exif_orientation(data) == orientation
    assert (strip_metadata(data) is None) == (orientation != 1)
    with Pillow.open(io.BytesIO(data)) as image:
        assert ImageOps.exif_transpose(image).size == ((64, 48) if orientation < 5 else (48, 64))


def test_wild_camera_data_turn_nothing() -> None:
    """Camera data that are none, or a tag out of range, leave the picture as it is."""
    for body in (b"Exif\0\0" + CANARY * 3, b"Exif\0\0MM\0*\xff\xff\xff\xff", exif(77)):
        data = with_segment(JPEG, 0xE1, body)
        assert exif_orientation(data) == 1
        found = strip_metadata(data)
        assert found is not None
        assert CANARY not in found.data
    assert exif_orientation(b"") == exif_orientation(PNG) == 1


def test_every_cut_and_every_flipped_byte_is_survived() -> None:
    """Damage anywhere gives a picture or None, never an exception."""
    for whole in (PNG, JPEG, PROGRESSIVE):
        for end in range(0, len(whole), 7):
            strip_metadata(whole[:end])
        for at in range(2, len(whole), 11):
            strip_metadata(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
