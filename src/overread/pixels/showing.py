"""A picture of a case, or a part of it, as the bytes that a model is sent.

A flat picture that is small enough goes out as it lies on disk, less everything that is no pixel:
a comment or a name in its header may tell the diagnosis. Everything else is drawn anew, upright
where its camera data say how it is to be turned. The same part of the same picture always gives
the same bytes.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.core import Box, Image, Mask, Picture, Pictures, Region, Slices, Volume, Whole
from overread.errors import PictureError
from overread.pixels.bare import bare, turned
from overread.pixels.draw import crop, montage, titled
from overread.pixels.encode import Format, encode
from overread.pixels.flat import MAX_FILE
from overread.pixels.planes import Plane, cut, slices, square
from overread.pixels.windows import window

Sent = tuple[bytes, str, tuple[int, int]]
"""Bytes, media type, (width, height)."""

_SMALLEST, _LARGEST, _GAP = 64, 320, 4
"""Pixels of the longer side of a slice in a montage, and between two of them."""


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
    """The region of a picture as bytes; a volume becomes a montage of `count` slices.

    A box is one of the picture as it is stored: it is cut out first and turned upright then.
    """
    if isinstance(region, Mask):
        raise PictureError("a mask is never shown to a reader", where=picture.name)
    if isinstance(picture, Volume):
        if isinstance(region, Box):
            raise PictureError("a volume is shown by its slices", where=picture.name)
        volume = pictures.pixels(picture)
        pixels: NDArray[Any] = _slices(
            volume, pictures, picture, region, windows=windows, count=count, longest=longest
        )
    else:
        if isinstance(region, Slices):
            raise PictureError("a flat picture has no slices", where=picture.name)
        data = _file(pictures, picture)
        found = bare(data) if isinstance(region, Whole) else None
        if found is not None and max(found.size) <= longest:
            return found
        pixels = pictures.pixels(picture)
        if pixels.ndim != 2 and pixels.shape[2:] != (3,):
            raise PictureError(f"the file of {picture.name} holds no flat picture")
        pixels = crop(pixels, region) if isinstance(region, Box) else pixels
        pixels = upright(pixels, turned(data) if data.startswith(b"\xff\xd8") else 1)
    encoded = encode(pixels, kind=media, longest=longest)
    return encoded, f"image/{media}", _size(encoded)


def _file(pictures: Pictures, picture: Image) -> bytes:
    """The bytes of a flat picture's file; none where it cannot be read, as decoding will tell."""
    source = pictures.data(picture)
    if isinstance(source, Path):
        try:
            source = source.read_bytes() if source.stat().st_size <= MAX_FILE else b""
        except OSError:
            return b""
    return source


def upright(pixels: NDArray[np.generic], orientation: int) -> NDArray[np.generic]:
    """Pixels as they are meant to be seen; `orientation` is 1 to 8 as Exif counts them.

    >>> upright(np.array([[1, 2], [3, 4]]), 6).tolist()  # a quarter to the right
    [[3, 1], [4, 2]]
    """
    if orientation in (5, 6, 7, 8):
        pixels = np.swapaxes(pixels, 0, 1)
    if orientation in (3, 4, 7, 8):
        pixels = pixels[::-1]
    if orientation in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    return pixels


def _slices(
    volume: NDArray[np.generic],
    pictures: Pictures,
    picture: Volume,
    region: Region,
    *,
    windows: tuple[str, ...],
    count: int,
    longest: int,
) -> NDArray[np.uint8]:
    """Slices of a volume side by side, titled with their numbers, in each window."""
    space = pictures.geometry(picture)
    plane: Plane = region.axis if isinstance(region, Slices) else "axial"
    last = slices(space, plane) - 1
    first, end = (region.first, region.last) if isinstance(region, Slices) else (0, last)
    if not 0 <= first <= end <= last:
        raise PictureError(f"slices {first} to {end} were asked of {last + 1}", where=picture.name)
    chosen = np.unique(np.linspace(first, end, min(count, end - first + 1)).round().astype(int))
    total = len(windows) * len(chosen)
    columns = max(1, round(total**0.5))
    # As large as the sheet allows, so that it is not scaled down, and its titles with it.
    side = max(_SMALLEST, min(_LARGEST, longest // max(columns, -(-total // columns)) - _GAP))
    named = "" if plane == "axial" else f"{plane} "
    tiles = []
    for setting in windows:
        for index in chosen.tolist():
            grey = window(cut(volume, space, plane, index), setting)
            tile = square(grey, space, plane, longest=side, smooth=True)
            tiles.append(titled(tile, f"{named}{index} {setting}"))
    return montage(tiles, columns=columns, gap=_GAP)


def _size(data: bytes) -> tuple[int, int]:
    from PIL import Image as Pillow

    with Pillow.open(io.BytesIO(data)) as image:
        return image.size
