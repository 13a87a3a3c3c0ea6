"""Boxes in the stored array of a volume, and where they lie on its axial slices as they are shown.

Slices are counted from the feet; on them the patient's right is on the left and the front at the top.
"""

from __future__ import annotations

from typing import NamedTuple

from overread.core import Geometry, VoxelBox
from overread.pixels.geometry import ras_geometry, ras_order
from overread.pixels.relative_boxes import RelativeBox

Corner = tuple[int, int, int]


class ShownBox(NamedTuple):
    """A box through axial slices as they are shown, in voxels; the last slice is included."""

    first: int
    last: int
    left: int
    top: int
    right: int
    bottom: int


def to_shown(box: VoxelBox, space: Geometry) -> ShownBox:
    """Where a box of the stored array lies on the slices; it must lie within the volume."""
    order, flips = ras_order(space.axes)
    low, high = [0, 0, 0], [0, 0, 0]
    for axis, (stored, step) in enumerate(zip(order, flips, strict=True)):
        a, b = box.low[stored], box.high[stored]
        low[axis], high[axis] = (a, b) if step > 0 else (space.shape[stored] - b, space.shape[stored] - a)
    across, down, _ = ras_geometry(space).shape
    return ShownBox(low[2], high[2] - 1, across - high[0], down - high[1], across - low[0], down - low[1])


def from_shown(shown: ShownBox, space: Geometry) -> tuple[Corner, Corner]:
    """First voxel and last voxel plus one in the stored array: the inverse of `to_shown`.

    >>> from overread.pixels.geometry import make_geometry
    >>> import numpy as np
    >>> space = make_geometry((10, 8, 4), np.diag([-1.0, -1.0, 1.0, 1.0]), where="here")
    >>> from_shown(ShownBox(1, 2, left=3, top=0, right=5, bottom=8), space)
    ((3, 0, 1), (5, 8, 3))
    """
    order, flips = ras_order(space.axes)
    across, down, _ = ras_geometry(space).shape
    ras = (
        (across - shown.right, across - shown.left),
        (down - shown.bottom, down - shown.top),
        (shown.first, shown.last + 1),
    )
    low, high = [0, 0, 0], [0, 0, 0]
    for (a, b), stored, step in zip(ras, order, flips, strict=True):
        size = space.shape[stored]
        low[stored], high[stored] = (a, b) if step > 0 else (size - b, size - a)
    return (low[0], low[1], low[2]), (high[0], high[1], high[2])


def to_share(shown: ShownBox, space: Geometry) -> RelativeBox:
    """Its edges as shares of the width and height of a slice."""
    across, down, _ = ras_geometry(space).shape
    return RelativeBox(shown.left / across, shown.top / down, shown.right / across, shown.bottom / down)
