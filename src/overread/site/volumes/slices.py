"""One slice of a volume as a picture, for views that need no more than that."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from overread.errors import UsageError
from overread.pixels.geometry import ras_geometry, to_ras
from overread.pixels.planes import AXES, Plane, extract_slice, resample_square
from overread.pixels.windows import WINDOWS, Window, apply_window
from overread.site.volumes.cache import OpenVolume


def slice_png(
    held: OpenVolume, *, plane: Plane, index: int | None, setting: str, slab: float, box: str, longest: int
) -> bytes:
    """A slice turned for the eye, with square pixels, as PNG bytes."""
    grey = apply_window(slab_slice(held, plane, index, slab), _window(setting))
    if box:
        left, top, right, bottom = _box(box)
        grey = grey[max(0, top) : bottom, max(0, left) : right]
        if not grey.size:
            raise UsageError("the box holds no pixel of the slice")
    out = io.BytesIO()
    picture = Pillow.fromarray(resample_square(grey, held.space, plane, longest=longest, smooth=True))
    picture.save(out, "PNG", compress_level=1)  # somebody waits; a little larger does not matter
    return out.getvalue()


def slab_slice(held: OpenVolume, plane: Plane, index: int | None, slab: float) -> NDArray[Any]:
    """A slice in HU, or the brightest voxels of a slab of so many millimetres around it."""
    axis = AXES[plane]
    own = ras_geometry(held.space)
    count = own.shape[axis]
    place = count // 2 if index is None else index
    if not 0 <= place < count:
        raise UsageError(f"there is no {plane} slice {place}", remedy=f"there are {count}, from 0")
    first, last = slab_ends(place, slab, own.spacing[axis], count)
    if first == last:
        return extract_slice(held.voxels, held.space, plane, place)
    ras = to_ras(held.voxels, held.space)
    part = [slice(None)] * 3
    part[axis] = slice(first, last + 1)
    flat: NDArray[Any] = np.asarray(ras[tuple(part)]).max(axis=axis)
    # As `cut` turns its slices: the same axes, less the one along the slab.
    return flat[::-1, ::-1].T


def slab_ends(place: int, slab: float, spacing: float, count: int) -> tuple[int, int]:
    """First and last slice whose centres lie within half a slab of one slice's.

    >>> slab_ends(10, 10.0, 2.5, 40), slab_ends(0, 10.0, 2.5, 40), slab_ends(5, 0, 1.0, 40)
    ((8, 12), (0, 2), (5, 5))
    """
    reach = math.floor(slab / 2 / spacing + 1e-6)
    return max(0, place - reach), min(count - 1, place + reach)


def _window(text: str) -> Window | str:
    if text in WINDOWS:
        return text
    try:
        centre, width = (float(part) for part in text.split(","))
    except ValueError:
        centre, width = math.nan, math.nan
    if not (abs(centre) <= 40_000 and 1 <= width <= 80_000):
        raise UsageError(
            "that is no window", remedy=f"name one of {', '.join(WINDOWS)}, or centre,width in HU"
        )
    return Window(centre, width)


def _box(text: str) -> tuple[int, int, int, int]:
    try:
        left, top, right, bottom = (int(part) for part in text.split(","))
    except ValueError:
        raise UsageError("box is not four whole numbers: left,top,right,bottom") from None
    if max(map(abs, (left, top, right, bottom))) > 100_000:
        raise UsageError("box is far outside of any slice")
    return left, top, right, bottom
