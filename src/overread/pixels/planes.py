"""Planes through a volume as a radiologist sees them.

The patient's right is on the left of axial and coronal pictures, the front is at the top of
axial ones and on the left of sagittal ones, the head is at the top of the other two. Pixels are
made square by the volume's spacing.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from overread.core import Geometry
from overread.pixels.geometry import Array, ras_geometry, to_ras

Plane = Literal["axial", "coronal", "sagittal"]

AXES: dict[Plane, int] = {"sagittal": 0, "coronal": 1, "axial": 2}


def slice_count(space: Geometry, plane: Plane) -> int:
    """How many slices the volume has in that plane, counted in RAS order."""
    return ras_geometry(space).shape[AXES[plane]]


def extract_slice(volume: Array, space: Geometry, plane: Plane, index: int) -> Array:
    """One slice as stored values, turned for the eye; `index` counts from left, back or feet."""
    ras = to_ras(volume, space)
    if plane == "axial":
        return ras[::-1, ::-1, index].T
    if plane == "coronal":
        return ras[::-1, index, ::-1].T
    return ras[index, ::-1, ::-1].T


def resample_square(
    picture: NDArray[Any], space: Geometry, plane: Plane, *, longest: int, smooth: bool
) -> NDArray[Any]:
    """The slice with square pixels, its longer side `longest` pixels; labels are not smoothed."""
    spacing = ras_geometry(space).spacing
    across = spacing[1] if plane == "sagittal" else spacing[0]
    down = spacing[1] if plane == "axial" else spacing[2]
    height, width = picture.shape[:2]
    scale = longest / max(width * across, height * down)
    size = (max(1, round(width * across * scale)), max(1, round(height * down * scale)))
    how = Pillow.Resampling.BILINEAR if smooth else Pillow.Resampling.NEAREST
    return np.asarray(Pillow.fromarray(np.ascontiguousarray(picture)).resize(size, how))
