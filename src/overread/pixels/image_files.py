"""Flat pictures: PNG and JPEG, sized before they are decoded.

Only these two decoders are ever tried, whatever the name says. Pixels are given as stored: an
orientation tag in a JPEG is not applied, since the official pipelines do not apply it either.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile

from overread.errors import NotThere, PictureError, Refused, Truncated
from overread.pixels.bytestream import REFETCH
from overread.pixels.image_metadata import exif_orientation
from overread.pixels.jpeg_damage import refuse_damaged_jpeg
from overread.storage.atomic import open_atomic

MAX_PIXELS = 64_000_000
"""The largest flat picture that is decoded; a 16-bit mammogram has about 20 million pixels."""

MAX_FILE = 256 << 20
"""The largest file of a flat picture that is read; a raw 16-bit mammogram has 40 million bytes."""

MAX_SCANS = 200
"""Progressive JPEGs have about ten scans; thousands of them are made to hold up a decoder."""

Pixels = NDArray[np.uint8] | NDArray[np.uint16]

_DAMAGE = (OSError, ValueError, SyntaxError, EOFError, zlib.error, struct.error, IndexError)
_DAMAGE_MORE = (KeyError, TypeError, MemoryError, OverflowError, AttributeError, Warning)


def read_image(source: Path | bytes, *, name: str = "") -> Pixels:
    """Pixels as (H, W) grey, 8 or 16 bits, or (H, W, 3) colour."""
    data = _read_bytes(source, name)
    with _open_image(data, name) as picture:
        pixels = _to_array(picture)
    _refuse_damage(data, name)
    return pixels


def read_thumbnail(source: Path | bytes, *, longest: int, name: str = "") -> Pixels:
    """The same for a thumbnail: a JPEG is decoded smaller, yet no side shorter than `longest`."""
    with _open_image(_read_bytes(source, name), name) as picture:
        picture.draft(None, (longest, longest))
        return _to_array(picture)


def stored_bytes(source: Path | bytes) -> bytes:
    """The bytes of a picture's file; none where it is too large or unreadable: decoding tells."""
    if isinstance(source, Path):
        try:
            return source.read_bytes() if source.stat().st_size <= MAX_FILE else b""
        except OSError:
            return b""
    return source


def stored_orientation(source: Path | bytes) -> int:
    """The Exif orientation of a picture's file, 1 to 8; 1 is upright, and the default."""
    return exif_orientation(stored_bytes(source))


def _to_array(picture: Pillow.Image) -> Pixels:
    _decode(picture)
    if picture.mode.startswith("I;16") or picture.mode == "I":
        grey = np.asarray(picture).astype(np.int64).clip(0, 65535)
        return grey.astype(np.uint16)
    if picture.mode in ("1", "L", "LA", "La"):
        return np.asarray(picture.convert("L"))
    if picture.mode == "P" and _is_grey_palette(picture):
        return np.asarray(picture.convert("L"))
    if picture.mode in ("P", "PA"):
        picture = picture.convert("RGBA")
    return np.asarray(picture.convert("RGB"))


def image_size(source: Path | bytes, *, name: str = "") -> tuple[int, int]:
    """(width, height) from the header alone."""
    with _open_image(source, name) as picture:
        return picture.size


def verify_image(source: Path | bytes, *, name: str = "") -> tuple[int, int]:
    """Decode the whole picture and forget it; (width, height) where all of it is there."""
    data = _read_bytes(source, name)
    # Decoders stop before the last mark of their format and do not miss it. Other bytes may
    # follow it, as cameras do; a thumbnail near the beginning has a mark of its own.
    mark = {b"\x89P": b"IEND\xaeB`\x82", b"\xff\xd8": b"\xff\xd9"}.get(data[:2])
    if mark is not None and data.rfind(mark) < len(data) // 2:
        raise Truncated("the picture is cut off", where=name, remedy=REFETCH)
    with _open_image(data, name) as picture:
        size = picture.size
        # A JPEG decoded at an eighth of its size still reads every byte of its stream.
        picture.draft(None, (max(1, size[0] // 8), max(1, size[1] // 8)))
        _decode(picture)
    _refuse_damage(data, name)
    return size


def write_image(path: Path, pixels: NDArray[Any]) -> None:
    """Write pixels as PNG, or as JPEG where the name says so."""
    kind = "JPEG" if path.suffix.lower() in (".jpg", ".jpeg") else "PNG"
    with open_atomic(path) as out:
        # 4:4:4 chroma: half-resolution colour smears the thin lines of overlays.
        options: dict[str, Any] = {"quality": 92, "subsampling": 0} if kind == "JPEG" else {}
        Pillow.fromarray(np.ascontiguousarray(pixels)).save(out, kind, **options)


def _read_bytes(source: Path | bytes, name: str) -> bytes:
    """All bytes of a picture that is to be decoded, where they are not made to hold us up."""
    where = name or ("a buffer" if isinstance(source, bytes) else str(source))
    try:
        if isinstance(source, Path) and source.stat().st_size > MAX_FILE:
            raise Refused(f"a picture of over {MAX_FILE:,} bytes is not decoded", where=where)
        data = source if isinstance(source, bytes) else source.read_bytes()
    except FileNotFoundError:
        raise NotThere("there is no such file", where=where) from None
    except OSError as error:
        raise PictureError(f"the file cannot be read ({error.strerror})", where=where) from None
    if data[:2] == b"\xff\xd8" and data.count(b"\xff\xda") > MAX_SCANS:
        raise Refused(f"a JPEG of over {MAX_SCANS} scans would take minutes to decode", where=where)
    return data


@contextmanager
def _open_image(source: Path | bytes, name: str) -> Iterator[Pillow.Image]:
    where = name or ("a buffer" if isinstance(source, bytes) else str(source))
    try:
        with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as stream:
            mark = stream.read(3)
            stream.seek(0)
            # The two decoders by name, not through `Image.open`: no other one can be tricked into
            # opening the file, and the size is judged by us before anything is decoded.
            if mark == b"\x89PN":
                picture: Pillow.Image = PngImageFile(stream)
            elif mark == b"\xff\xd8\xff":
                picture = JpegImageFile(stream)
            else:
                raise PictureError("this is neither PNG nor JPEG", where=where, remedy=REFETCH)
            width, height = picture.size
            if width * height > MAX_PIXELS:
                raise Refused(
                    f"a picture of {width}×{height} pixels is more than overread decodes",
                    where=where,
                    remedy="scale it down first",
                )
            yield picture
    except PictureError as error:
        error.where = error.where or where
        raise
    except FileNotFoundError:
        raise NotThere("there is no such file", where=where) from None
    except (*_DAMAGE, *_DAMAGE_MORE) as error:
        raise PictureError(f"the picture cannot be decoded ({error})", where=where, remedy=REFETCH) from None


def _decode(picture: Pillow.Image) -> None:
    try:
        picture.load()
    except OSError as error:
        if "truncated" in str(error).lower():
            raise Truncated("the picture is cut off", remedy=REFETCH) from None
        raise


def _refuse_damage(data: bytes, name: str) -> None:
    """Raise where the decoder had to make up a part of a JPEG."""
    if data[:2] == b"\xff\xd8":
        refuse_damaged_jpeg(data, name or "a buffer")


def _is_grey_palette(picture: Pillow.Image) -> bool:
    palette = picture.getpalette("RGB") or []
    return palette[0::3] == palette[1::3] == palette[2::3]
