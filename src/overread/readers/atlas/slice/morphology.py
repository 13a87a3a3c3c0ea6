"""Masks of a slice in pixels: wider, narrower, opened, closed, and the box around them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]
BoxXY = tuple[float, float, float, float]
"""Left, top, right, bottom."""

SMALL_BRUSH = 4.0
"""Pixels up to which painting with a brush is quicker than measuring distances."""


def disk(radius: float) -> Bools:
    """A round brush of so many pixels."""
    reach = max(1, int(np.ceil(radius)))
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    return np.asarray(x * x + y * y <= max(radius, 1.0) ** 2 + 0.3)


def erode(mask: Bools, radius: float) -> Bools:
    """What of a mask is farther than so many pixels from its border; quick for large brushes."""
    if radius <= SMALL_BRUSH:
        return np.asarray(ndimage.binary_erosion(mask, disk(radius), border_value=1))
    padded = np.pad(mask, 1, constant_values=True)
    return np.asarray(ndimage.distance_transform_edt(padded)[1:-1, 1:-1] > radius)


def dilate(mask: Bools, radius: float) -> Bools:
    """A mask and all within so many pixels of it."""
    if not mask.any():
        return mask.copy()
    if radius <= SMALL_BRUSH:
        return np.asarray(ndimage.binary_dilation(mask, disk(radius)))
    return np.asarray(ndimage.distance_transform_edt(~mask) <= radius)


def open_mask(mask: Bools, radius: float) -> Bools:
    """What of a mask a round brush of that radius can paint without leaving it."""
    return dilate(erode(mask, radius), radius) & mask


def close_mask(mask: Bools, radius: float) -> Bools:
    """A mask and its gaps into which a round brush of that radius does not go."""
    return erode(dilate(mask, radius), radius) | mask


def bounding_box(mask: Bools) -> BoxXY:
    """The smallest box around what is marked; all of the picture where nothing is."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not rows.size:
        return (0.0, 0.0, float(mask.shape[1]), float(mask.shape[0]))
    return (float(columns[0]), float(rows[0]), float(columns[-1] + 1), float(rows[-1] + 1))
