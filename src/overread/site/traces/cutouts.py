"""What a step looked at, drawn: the whole picture with the place marked, or the place cut out."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from overread.core import Box, Case, Geometry, Image, Mask, Pictures, Region, Slices, Volume, VoxelBox
from overread.core.submission import FindFile
from overread.errors import PictureError
from overread.pixels.case_overlays import draw_planes
from overread.pixels.draw import (
    COLOURS,
    Colour,
    crop,
    draw_boxes,
    draw_outline,
    draw_side_letters,
    draw_title,
    make_montage,
    to_rgb,
)
from overread.pixels.geometry import to_ras
from overread.pixels.masks import read_channel
from overread.pixels.montages import spread_evenly
from overread.pixels.planes import Plane, extract_slice, resample_square, slice_count
from overread.pixels.sparse_masks import SparseMask, to_sparse_mask
from overread.pixels.voxel_boxes import to_shown
from overread.pixels.windows import apply_window
from overread.site.lru_cache import LruCache

Part = Literal["whole", "cut"]
Pixels = NDArray[np.uint8]
READER, TRUTH = COLOURS[1], COLOURS[3]
"""Sky blue and yellow, as the page has them."""
_WHOLE_SIDE, _CUT_SIDE = 768, 320
"""Pixels of the longer side of a slice that is shown whole, and of a cut-out."""
_MIN_CUT_SIDE = 48
"""Pixels of a slice that a cut-out shows at least: less has no surroundings."""

EDGE_LETTERS: dict[Plane, tuple[str, str]] = {
    "axial": ("R", "L"),
    "coronal": ("R", "L"),
    "sagittal": ("A", "P"),
}
"""What lies at the left and the right edge of a slice as it is shown."""


_volumes: LruCache[NDArray[Any]] = LruCache(2)  # a CT is 150 MB and more
_masks: LruCache[SparseMask] = LruCache(16)


@dataclass(frozen=True)
class CasePixels:
    """Loads the voxels of a case's pictures and of the masks drawn on them."""

    case: Case
    pictures: Pictures
    find: FindFile
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

    def mask_voxels(self, mask: Mask, space: Geometry) -> NDArray[np.bool_]:
        """The voxels of a mask, in the volume's own axes."""

        def read() -> SparseMask:
            labels = read_channel(
                self.find(mask.file), mask.channel, space.shape, mask.channels, name="the mask"
            )
            return to_sparse_mask(labels if mask.entity is None else labels == mask.entity)

        found = read() if self.masks is None else _masks.get((self.masks, mask), read)
        shown: NDArray[np.bool_] = np.asarray(found) != 0
        return shown


def draw_region(
    sight: CasePixels,
    region: Region,
    *,
    part: Part,
    window: str = "lung",
    colour: Colour = READER,
    other_mask: tuple[CasePixels, Mask] | None = None,
) -> Pixels:
    """A place as a picture; raises `PictureError` where it cannot be drawn.

    `other_mask` is the reader's mask in the same volume, drawn on the slice of this one.
    """
    picture = sight.case.picture(region.picture)
    if not isinstance(picture, Volume):
        return _draw_in_flat(sight, picture, region, part=part)
    if isinstance(region, Mask):
        space = sight.pictures.geometry(picture)
        return draw_mask_slice(
            sight.volume(picture),
            space,
            sight.mask_voxels(region, space),
            part=part,
            window=window,
            colour=colour,
            other_mask=other_mask[0].mask_voxels(other_mask[1], space) if other_mask else None,
        )
    if isinstance(region, VoxelBox):
        space = sight.pictures.geometry(picture)
        return draw_voxel_box(sight.volume(picture), space, region, part=part, window=window, colour=colour)
    return _draw_in_volume(sight, picture, region, part=part, window=window)


def _draw_in_flat(sight: CasePixels, picture: Image, region: Region, *, part: Part) -> Pixels:
    if isinstance(region, Mask | Slices | VoxelBox):
        raise PictureError("a flat picture has no slices and no masks")
    pixels = sight.pictures.pixels(picture)
    if not isinstance(region, Box):
        return to_rgb(pixels)
    if not region.is_proper:
        raise PictureError("invalid box: its edges are in the wrong order")
    if part == "cut":
        side = min(region.x2 - region.x1, region.y2 - region.y1, 4096)
        return to_rgb(crop(pixels, region, margin=round(0.06 * side)))
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
    return draw_boxes(pixels, [inside])


def _draw_in_volume(sight: CasePixels, picture: Volume, region: Region, *, part: Part, window: str) -> Pixels:
    if isinstance(region, Box):
        raise PictureError("a box in a volume cannot be drawn")
    space = sight.pictures.geometry(picture)
    volume = sight.volume(picture)
    if isinstance(region, Slices):
        count = slice_count(space, region.axis)
        if not 0 <= region.first <= region.last < count:
            raise PictureError(f"there are only {count} {region.axis} slices")
        return _draw_range(volume, space, region, part=part, window=window)
    if part == "whole":
        return to_rgb(draw_planes(volume, space, settings=(window,)))
    return _draw_slice(volume, space, "axial", slice_count(space, "axial") // 2, window, longest=_CUT_SIDE)


def draw_voxel_box(
    volume: NDArray[Any], space: Geometry, box: VoxelBox, *, part: Part, window: str, colour: Colour
) -> Pixels:
    """The middle axial slice of a box of voxels with its edges; or closely around it."""
    if any(not 0 <= a < b <= size for a, b, size in zip(box.low, box.high, space.shape, strict=True)):
        raise PictureError("the box does not lie within the CT")
    shown = to_shown(box, space)
    index = (shown.first + shown.last) // 2
    grey = apply_window(extract_slice(volume, space, "axial", index), window)
    tile = to_rgb(resample_square(grey, space, "axial", longest=_WHOLE_SIDE, smooth=True))
    inside = np.zeros(grey.shape, np.uint8)
    inside[shown.top : shown.bottom, shown.left : shown.right] = 1
    marked = resample_square(inside, space, "axial", longest=_WHOLE_SIDE, smooth=False) != 0
    tile = draw_outline(tile, marked, colour, fill=0.0)  # what a structure holds is what one looks for
    if part == "whole":
        told = f"axial {index} of {shown.first}–{shown.last}"
        return to_rgb(draw_title(draw_side_letters(tile, *EDGE_LETTERS["axial"]), told))
    top, bottom, left, right = _bounds_around(marked)
    return np.ascontiguousarray(tile[top:bottom, left:right])


def _draw_range(volume: NDArray[Any], space: Geometry, region: Slices, *, part: Part, window: str) -> Pixels:
    """The middle of a range of slices, or four of them side by side."""
    if part == "whole":
        middle = (region.first + region.last) // 2
        return _draw_slice(volume, space, region.axis, middle, window, longest=_WHOLE_SIDE)
    few = spread_evenly(region.first, region.last, 4)
    side = _CUT_SIDE // 2
    tiles = [_draw_slice(volume, space, region.axis, n, window, longest=side) for n in few]
    return make_montage(tiles, columns=2)


def _draw_slice(
    volume: NDArray[Any], space: Geometry, plane: Plane, index: int, window: str, *, longest: int
) -> Pixels:
    grey = apply_window(extract_slice(volume, space, plane, index), window)
    shown = resample_square(grey, space, plane, longest=longest, smooth=True)
    return to_rgb(draw_title(draw_side_letters(shown, *EDGE_LETTERS[plane]), f"{plane} {index}"))


def draw_mask_slice(
    volume: NDArray[Any],
    space: Geometry,
    marked: NDArray[np.bool_],
    *,
    part: Part,
    window: str,
    colour: Colour,
    other_mask: NDArray[np.bool_] | None = None,
    other_colour: Colour = READER,
) -> Pixels:
    """The axial slice in which most is marked, with the outline; or closely around it.

    `other_mask` is another mask whose outline is drawn on the same slice.
    """
    shown = marked if marked.any() or other_mask is None else other_mask
    if not shown.any():
        middle = slice_count(space, "axial") // 2
        return draw_title(
            _draw_slice(
                volume, space, "axial", middle, window, longest=_WHOLE_SIDE if part == "whole" else _CUT_SIDE
            ),
            f"axial {middle}: nothing is marked",
        )
    across: NDArray[Any] = to_ras(shown, space)
    index = int(np.argmax(across.sum(axis=(0, 1))))
    grey = apply_window(extract_slice(volume, space, "axial", index), window)
    tile = to_rgb(resample_square(grey, space, "axial", longest=_WHOLE_SIDE, smooth=True))
    own = _flat_mask(shown, space, index)
    for mask, paint in ((other_mask, other_colour), (marked, colour)):
        if mask is not None and mask.any():
            tile = draw_outline(tile, _flat_mask(mask, space, index), paint, fill=0.3)
    if part == "whole":
        return to_rgb(draw_title(draw_side_letters(tile, *EDGE_LETTERS["axial"]), f"axial {index}"))
    top, bottom, left, right = _bounds_around(own)
    return np.ascontiguousarray(tile[top:bottom, left:right])


def _flat_mask(mask: NDArray[np.bool_], space: Geometry, index: int) -> NDArray[np.bool_]:
    flat = extract_slice(mask.astype(np.uint8), space, "axial", index)
    shown: NDArray[np.bool_] = resample_square(flat, space, "axial", longest=_WHOLE_SIDE, smooth=False) != 0
    return shown


def _bounds_around(shown: NDArray[np.bool_]) -> tuple[int, int, int, int]:
    """The edges of what is marked in a slice, with some surroundings: top, bottom, left, right."""
    rows, columns = np.flatnonzero(shown.any(axis=1)), np.flatnonzero(shown.any(axis=0))
    if not rows.size:
        return 0, shown.shape[0], 0, shown.shape[1]
    side = max(rows[-1] - rows[0], columns[-1] - columns[0], _MIN_CUT_SIDE)
    half = round(side * 0.75)
    middle = (rows[0] + rows[-1]) // 2, (columns[0] + columns[-1]) // 2
    height, width = shown.shape
    return (
        max(0, int(middle[0]) - half),
        min(height, int(middle[0]) + half),
        max(0, int(middle[1]) - half),
        min(width, int(middle[1]) + half),
    )
