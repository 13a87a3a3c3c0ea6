"""Slices of a volume side by side, as flat pictures show a CT: all of it, or some of it closer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.core import Geometry, Picture, Pictures, Region, Slices, Volume
from overread.errors import PictureError
from overread.pixels.draw import draw_title, make_montage
from overread.pixels.encode import EncodedImage, ImageFormat, encode_with_size
from overread.pixels.planes import Plane, extract_slice, resample_square, slice_count
from overread.pixels.relative_boxes import RelativeBox
from overread.pixels.windows import apply_window

_SMALLEST, _LARGEST, _CLOSEST, _GAP = 64, 320, 512, 4
"""Pixels of the longer side of a slice in a montage, also of one that is closer, and between."""


def slice_montage(
    volume: NDArray[np.generic],
    space: Geometry,
    region: Region,
    *,
    windows: tuple[str, ...],
    count: int,
    longest: int,
    part: RelativeBox | None = None,
    largest: int = _LARGEST,
) -> NDArray[np.uint8]:
    """Evenly spread slices of a region, titled with their numbers, in each window.

    Of each slice all is shown, or the `part` of it.
    """
    plane: Plane = region.axis if isinstance(region, Slices) else "axial"
    last = slice_count(space, plane) - 1
    first, end = (region.first, region.last) if isinstance(region, Slices) else (0, last)
    if not 0 <= first <= end <= last:
        told = f"slices {first} to {end} were asked of {last + 1}"
        raise PictureError(told, where=region.picture)
    chosen = spread_evenly(first, end, count)
    total = len(windows) * len(chosen)
    columns = max(1, round(total**0.5))
    # As large as the sheet allows, so that it is not scaled down, and its titles with it.
    side = max(_SMALLEST, min(largest, longest // max(columns, -(-total // columns)) - _GAP))
    named = "" if plane == "axial" else f"{plane} "
    tiles = []
    for setting in windows:
        for index in chosen:
            grey: NDArray[Any] = apply_window(extract_slice(volume, space, plane, index), setting)
            grey = grey if part is None else part.crop(grey)
            tile = resample_square(grey, space, plane, longest=side, smooth=True)
            tiles.append(draw_title(tile, f"{named}{index} {setting}"))
    return make_montage(tiles, columns=columns, gap=_GAP)


def tile_edges(
    width: int, height: int, region: Region, last: int, *, windows: int, count: int
) -> tuple[tuple[float, float, float, float], ...]:
    """Where the tiles of a montage lie: left, top, right and bottom in shares of the picture sent.

    `width` and `height` are those of the picture, `last` is the uppermost slice of the volume; `windows`
    and `count` those of `slice_montage`.

    >>> tiles = tile_edges(320, 644, Slices(picture="ct", first=5, last=9), 99, windows=1, count=2)
    >>> [tuple(round(edge * 644) for edge in (top, bottom)) for _, top, _, bottom in tiles]
    [(0, 320), (324, 644)]
    """
    first, end = (region.first, region.last) if isinstance(region, Slices) else (0, last)
    total = windows * len(spread_evenly(first, end, count))
    columns = min(max(1, round(total**0.5)), total)
    rows = -(-total // columns)
    across, down = (width + _GAP) / columns, (height + _GAP) / rows
    found = []
    for number in range(total):
        row, column = divmod(number, columns)
        left, top = column * across / width, row * down / height
        found.append((left, top, left + (across - _GAP) / width, top + (down - _GAP) / height))
    return tuple(found)


def closeup_slices(slices: int) -> int:
    """How many slices a close-up shows: half as many as the overview."""
    return max(1, slices // 2)


def spread_evenly(first: int, last: int, count: int) -> list[int]:
    """So many numbers from the first to the last, both of them among these, evenly spread.

    >>> spread_evenly(0, 63, 4), spread_evenly(7, 8, 4)
    ([0, 21, 42, 63], [7, 8])
    """
    even = np.linspace(first, last, min(count, last - first + 1)).round().astype(int)
    found: list[int] = np.unique(even).tolist()
    return found


def encode_closeup(
    pictures: Pictures,
    picture: Picture,
    region: Slices,
    *,
    part: RelativeBox | None,
    longest: int,
    media: ImageFormat,
    windows: tuple[str, ...],
    count: int,
) -> EncodedImage:
    """A montage of some slices of a volume, or of the same part of each, enlarged, as bytes."""
    if not isinstance(picture, Volume):
        raise PictureError("a flat picture has no slices", where=picture.name)
    sheet = slice_montage(
        pictures.pixels(picture),
        pictures.geometry(picture),
        region,
        windows=windows,
        count=count,
        longest=longest,
        part=part,
        largest=_CLOSEST,
    )
    return encode_with_size(sheet, kind=media, longest=longest)
