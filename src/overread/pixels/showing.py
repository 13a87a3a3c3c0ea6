"""A picture of a case, or a part of it, as the bytes that a model is sent.

A flat picture that is small enough goes out as it lies on disk, less everything that is no pixel:
a comment or a name in its header may tell the diagnosis. Everything else is drawn anew. The same
part of the same picture always gives the same bytes.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from overread.core import Box, Image, Mask, Picture, Pictures, Region, Slices, Volume, Whole
from overread.errors import PictureError
from overread.pixels.draw import crop, montage, titled
from overread.pixels.encode import Format, encode
from overread.pixels.planes import Plane, cut, slices, square
from overread.pixels.windows import window

Sent = tuple[bytes, str, tuple[int, int]]
"""Bytes, media type, (width, height)."""

_TILE = 320
# Chunks that make the pixels; all others (texts, times, camera data) stay here.
_PNG_KEPT = frozenset(
    (b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"gAMA", b"cHRM", b"sRGB", b"sBIT")
)


def shown_bytes(
    pictures: Pictures,
    picture: Picture,
    region: Region,
    *,
    longest: int,
    media: Format = "png",
    windows: tuple[str, ...] = ("lung",),
    count: int = 16,
) -> Sent:
    """The region of a picture as bytes; a volume becomes a montage of `count` slices."""
    if isinstance(region, Mask):
        raise PictureError("a mask is never shown to a reader", where=picture.name)
    if isinstance(picture, Image) and isinstance(region, Whole):
        as_it_is = _plain(pictures.data(picture), longest)
        if as_it_is is not None:
            return as_it_is
    pixels = pictures.pixels(picture)
    if isinstance(picture, Volume):
        pixels = _slices(pixels, pictures, picture, region, windows=windows, count=count)
    elif isinstance(region, Box):
        pixels = crop(pixels, region)
    elif isinstance(region, Slices):
        raise PictureError("a flat picture has no slices", where=picture.name)
    data = encode(pixels, kind=media, longest=longest)
    return data, f"image/{media}", _size(data)


def _slices(
    volume: NDArray[np.generic],
    pictures: Pictures,
    picture: Volume,
    region: Region,
    *,
    windows: tuple[str, ...],
    count: int,
) -> NDArray[np.uint8]:
    """Slices of a volume side by side, titled with their numbers, in each window."""
    space = pictures.geometry(picture)
    plane: Plane = region.axis if isinstance(region, Slices) else "axial"
    last = slices(space, plane) - 1
    first, end = (region.first, region.last) if isinstance(region, Slices) else (0, last)
    if not 0 <= first <= end <= last:
        raise PictureError(f"slices {first} to {end} were asked of {last + 1}", where=picture.name)
    chosen = np.unique(np.linspace(first, end, min(count, end - first + 1)).round().astype(int))
    tiles = []
    for setting in windows:
        for index in chosen.tolist():
            grey = window(cut(volume, space, plane, index), setting)
            tile = square(grey, space, plane, longest=_TILE, smooth=True)
            tiles.append(titled(tile, f"{plane} {index}, {setting}"))
    return montage(tiles, columns=max(1, round(len(tiles) ** 0.5)))


def _plain(source: Path | bytes, longest: int) -> Sent | None:
    """A small enough 8-bit PNG or JPEG without its words; None where it must be drawn anew."""
    data = source if isinstance(source, bytes) else source.read_bytes()
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        bare = _bare_png(data)
    elif data.startswith(b"\xff\xd8\xff"):
        bare = _bare_jpeg(data)
    else:
        return None
    if bare is None:
        return None
    try:
        size = _size(bare)
    except (OSError, ValueError, SyntaxError):
        return None  # drawing it anew will say what is wrong with it
    if max(size) > longest:
        return None
    return bare, "image/png" if bare.startswith(b"\x89") else "image/jpeg", size


def _bare_png(data: bytes) -> bytes | None:
    """The PNG with only the chunks that make its pixels; None for what models may not take."""
    kept, at = [data[:8]], 8
    while at + 12 <= len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        kind = data[at + 4 : at + 8]
        if at + 12 + size > len(data):
            return None
        if kind == b"IHDR" and data[at + 16] != 8:
            return None  # 16 bits, or a bitmap: models are given 8
        if kind in _PNG_KEPT:
            kept.append(data[at : at + 12 + size])
        at += 12 + size
        if kind == b"IEND":
            return b"".join(kept)
    return None


def _bare_jpeg(data: bytes) -> bytes | None:
    """The JPEG without comments and camera data; None where these turn the picture."""
    kept, at = [data[:2]], 2
    while at + 4 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xDA:  # the pixels begin: the rest is theirs
            return b"".join((*kept, data[at:]))
        size = int.from_bytes(data[at + 2 : at + 4], "big")
        block = data[at : at + 2 + size]
        if marker == 0xE1 and b"Exif" in block[:10]:
            return None  # it may turn the picture: the decoder knows how
        if not (marker == 0xFE or 0xE1 <= marker <= 0xED or marker == 0xEF):
            kept.append(block)
        at += 2 + size
    return None


def _size(data: bytes) -> tuple[int, int]:
    from PIL import Image as Pillow

    with Pillow.open(io.BytesIO(data)) as image:
        return image.size
