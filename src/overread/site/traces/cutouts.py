"""What a step looked at, drawn: the whole picture with the place marked, or the place cut out."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from overread.core import (
    Box,
    Case,
    Geometry,
    Image,
    Mask,
    Pictures,
    Region,
    Slices,
    Volume,
)
from overread.errors import PictureError
from overread.pixels.casework import sheet
from overread.pixels.draw import (
    COLOURS,
    Colour,
    boxes,
    colour,
    crop,
    montage,
    outline,
    sided,
    titled,
)
from overread.pixels.geometry import to_ras
from overread.pixels.masks import read_channel
from overread.pixels.montages import spread
from overread.pixels.planes import Plane, cut, slices, square
from overread.pixels.spots import Spot, spot
from overread.pixels.windows import window as windowed
from overread.site.traces.steps import Find

Part = Literal["whole", "cut"]
Pixels = NDArray[np.uint8]
READER, TRUTH = COLOURS[1], COLOURS[3]
"""Sky blue and yellow, as the page has them."""
_WHOLE, _CUT = 768, 320
"""Pixels of the longer side of a slice that is shown whole, and of a cut-out."""
_SMALLEST = 48
"""Pixels of a slice that a cut-out shows at least: less has no surroundings."""

T = TypeVar("T")

SIDES: dict[Plane, tuple[str, str]] = {
    "axial": ("R", "L"),
    "coronal": ("R", "L"),
    "sagittal": ("A", "P"),
}
"""What lies at the left and the right edge of a slice as it is shown."""


class Kept(Generic[T]):
    """The few things that were made last; each is made once, however many ask at once."""

    def __init__(self, most: int) -> None:
        """Keep so many."""
        self._most = most
        self._lock = threading.Lock()
        self._making: dict[Hashable, threading.Lock] = {}
        self._kept: OrderedDict[Hashable, T] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """What is kept under a key, or made now."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            own = self._making.setdefault(key, threading.Lock())
        with own:
            with self._lock:
                if key in self._kept:
                    return self._kept[key]
            try:
                made = make()
            finally:
                with self._lock:
                    self._making.pop(key, None)
            with self._lock:
                self._kept[key] = made
                while len(self._kept) > self._most:
                    self._kept.popitem(last=False)
            return made


_volumes: Kept[NDArray[Any]] = Kept(2)  # a CT is 150 MB and more
_spots: Kept[Spot] = Kept(16)


@dataclass(frozen=True)
class Sight:
    """The pictures of one case, and where the masks that somebody drew on them lie."""

    case: Case
    pictures: Pictures
    find: Find
    volumes: Hashable = None
    """Tells the volumes of this case from all others; None keeps none in memory."""
    masks: Hashable = None
    """Tells the masks of this reading, or of the truth, from all others."""

    def volume(self, picture: Volume) -> NDArray[Any]:
        """The voxels of a volume."""

        def read() -> NDArray[Any]:
            return np.asarray(self.pictures.pixels(picture))

        key = (self.volumes, picture.name)
        return read() if self.volumes is None else _volumes.get(key, read)

    def marked(self, mask: Mask, space: Geometry) -> NDArray[np.bool_]:
        """The voxels of a mask, in the volume's own axes."""

        def read() -> Spot:
            labels = read_channel(
                self.find(mask.file), mask.channel, space.shape, mask.channels, name="the mask"
            )
            return spot(labels if mask.entity is None else labels == mask.entity)

        found = read() if self.masks is None else _spots.get((self.masks, mask), read)
        shown: NDArray[np.bool_] = np.asarray(found) != 0
        return shown


def drawn(
    sight: Sight,
    region: Region,
    *,
    part: Part,
    window: str = "lung",
    tint: Colour = READER,
    also: tuple[Sight, Mask] | None = None,
) -> Pixels:
    """A place as a picture; raises `PictureError` where it cannot be drawn.

    `also` is the reader's mask in the same volume, drawn on the slice of this one.
    """
    picture = sight.case.picture(region.picture)
    if not isinstance(picture, Volume):
        return _in_flat(sight, picture, region, part=part)
    if isinstance(region, Mask):
        space = sight.pictures.geometry(picture)
        return mask_slice(
            sight.volume(picture),
            space,
            sight.marked(region, space),
            part=part,
            window=window,
            tint=tint,
            also=also[0].marked(also[1], space) if also else None,
        )
    return _in_volume(sight, picture, region, part=part, window=window)


def _in_flat(sight: Sight, picture: Image, region: Region, *, part: Part) -> Pixels:
    if isinstance(region, Mask | Slices):
        raise PictureError("a flat picture has no slices and no masks")
    pixels = sight.pictures.pixels(picture)
    if not isinstance(region, Box):
        return colour(pixels)
    if not region.is_proper:
        raise PictureError("this is no box: its edges stand the wrong way round")
    if part == "cut":
        side = min(region.x2 - region.x1, region.y2 - region.y1, 4096)
        return colour(crop(pixels, region, margin=round(0.06 * side)))
    height, width = pixels.shape[:2]
    crop(pixels, region)  # says what is wrong with a box outside
    inside = region.model_copy(
        update={
            "x1": max(region.x1, 0.0),
            "y1": max(region.y1, 0.0),
            "x2": min(region.x2, width - 1.0),
            "y2": min(region.y2, height - 1.0),
            "label": None,
        }
    )
    return boxes(pixels, [inside])


def _in_volume(sight: Sight, picture: Volume, region: Region, *, part: Part, window: str) -> Pixels:
    if isinstance(region, Box):
        raise PictureError("a box in a volume cannot be drawn")
    space = sight.pictures.geometry(picture)
    volume = sight.volume(picture)
    if isinstance(region, Slices):
        count = slices(space, region.axis)
        if not 0 <= region.first <= region.last < count:
            raise PictureError(f"there are only {count} {region.axis} slices")
        return _range(volume, space, region, part=part, window=window)
    if part == "whole":
        return colour(sheet(volume, space, settings=(window,)))
    return _slice(volume, space, "axial", slices(space, "axial") // 2, window, longest=_CUT)


def _range(
    volume: NDArray[Any], space: Geometry, region: Slices, *, part: Part, window: str
) -> Pixels:
    """The middle of a range of slices, or four of them side by side."""
    if part == "whole":
        middle = (region.first + region.last) // 2
        return _slice(volume, space, region.axis, middle, window, longest=_WHOLE)
    few = spread(region.first, region.last, 4)
    side = _CUT // 2
    tiles = [_slice(volume, space, region.axis, n, window, longest=side) for n in few]
    return montage(tiles, columns=2)


def _slice(
    volume: NDArray[Any], space: Geometry, plane: Plane, index: int, window: str, *, longest: int
) -> Pixels:
    grey = windowed(cut(volume, space, plane, index), window)
    shown = square(grey, space, plane, longest=longest, smooth=True)
    return colour(titled(sided(shown, *SIDES[plane]), f"{plane} {index}"))


def mask_slice(
    volume: NDArray[Any],
    space: Geometry,
    marked: NDArray[np.bool_],
    *,
    part: Part,
    window: str,
    tint: Colour,
    also: NDArray[np.bool_] | None = None,
    also_tint: Colour = READER,
) -> Pixels:
    """The axial slice in which most is marked, with the outline; or closely around it.

    `also` is another mask whose outline is drawn on the same slice.
    """
    shown = marked if marked.any() or also is None else also
    if not shown.any():
        middle = slices(space, "axial") // 2
        return titled(
            _slice(
                volume, space, "axial", middle, window, longest=_WHOLE if part == "whole" else _CUT
            ),
            f"axial {middle}: nothing is marked",
        )
    across: NDArray[Any] = to_ras(shown, space)
    index = int(np.argmax(across.sum(axis=(0, 1))))
    grey = windowed(cut(volume, space, "axial", index), window)
    tile = colour(square(grey, space, "axial", longest=_WHOLE, smooth=True))
    own = _flat(shown, space, index)
    for mask, paint in ((also, also_tint), (marked, tint)):
        if mask is not None and mask.any():
            tile = outline(tile, _flat(mask, space, index), paint, fill=0.3)
    if part == "whole":
        return colour(titled(sided(tile, *SIDES["axial"]), f"axial {index}"))
    top, bottom, left, right = _around(own)
    return np.ascontiguousarray(tile[top:bottom, left:right])


def _flat(mask: NDArray[np.bool_], space: Geometry, index: int) -> NDArray[np.bool_]:
    flat = cut(mask.astype(np.uint8), space, "axial", index)
    shown: NDArray[np.bool_] = square(flat, space, "axial", longest=_WHOLE, smooth=False) != 0
    return shown


def _around(shown: NDArray[np.bool_]) -> tuple[int, int, int, int]:
    """The edges of what is marked in a slice, with some surroundings: top, bottom, left, right."""
    rows, columns = np.flatnonzero(shown.any(axis=1)), np.flatnonzero(shown.any(axis=0))
    if not rows.size:
        return 0, shown.shape[0], 0, shown.shape[1]
    side = max(rows[-1] - rows[0], columns[-1] - columns[0], _SMALLEST)
    half = round(side * 0.75)
    middle = (rows[0] + rows[-1]) // 2, (columns[0] + columns[-1]) // 2
    height, width = shown.shape
    return (
        max(0, int(middle[0]) - half),
        min(height, int(middle[0]) + half),
        max(0, int(middle[1]) - half),
        min(width, int(middle[1]) + half),
    )
