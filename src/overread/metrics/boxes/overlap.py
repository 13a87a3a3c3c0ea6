"""How far boxes cover each other, and whether a point lies in one.

A box is left, top, right, bottom. One whose right edge is not right of its left one, or whose
bottom is not below its top (a line, a point, corners the wrong way round), has no area: it overlaps
nothing, not even itself, and holds no point. Boxes that only touch do not overlap.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.core import Box
from overread.errors import UsageError

Corners = NDArray[np.float64]
"""One box a row: left, top, right, bottom."""
_FAR = 1e12


def corners(boxes: Sequence[Box]) -> Corners:
    """The corners of boxes, one row each."""
    rows = [(box.x1, box.y1, box.x2, box.y2) for box in boxes]
    return np.array(rows, np.float64).reshape(-1, 4)


def has_area(boxes: ArrayLike) -> NDArray[np.bool_]:
    """Which boxes have an area at all."""
    rows = _rows(boxes)
    return np.asarray((rows[:, 0] < rows[:, 2]) & (rows[:, 1] < rows[:, 3]))


def iou(found: ArrayLike, truth: ArrayLike) -> NDArray[np.float64]:
    """Intersection over union of every box with every other: one row a found box.

    >>> iou([[0, 0, 10, 10]], [[0, 0, 10, 5], [10, 0, 20, 10], [9, 9, 1, 1]])
    array([[0.5, 0. , 0. ]])
    """
    a, b = _rows(found), _rows(truth)
    shared, union = _areas(a, b)
    out = np.zeros(shared.shape)
    np.divide(shared, union, out=out, where=shared > 0)
    return out


def giou(found: ArrayLike, truth: ArrayLike) -> NDArray[np.float64]:
    """Generalised IoU, -1 to 1: IoU less the share of the common hull that neither box fills.

    A box without area has -1 with everything.

    >>> giou([[0, 0, 1, 1]], [[0, 0, 1, 1], [2, 0, 3, 1]]).round(3)
    array([[ 1.   , -0.333]])
    """
    a, b = _rows(found), _rows(truth)
    shared, union = _areas(a, b)
    low = np.minimum(a[:, None, :2], b[None, :, :2])
    high = np.maximum(a[:, None, 2:], b[None, :, 2:])
    hull = np.prod(high - low, axis=2)
    real = has_area(a)[:, None] & has_area(b)[None]
    out = np.full(shared.shape, -1.0)
    out[real] = shared[real] / union[real] - (hull[real] - union[real]) / hull[real]
    return out


def centres(boxes: ArrayLike) -> NDArray[np.float64]:
    """The middle of each box: x, y."""
    rows = _rows(boxes)
    return np.asarray((rows[:, :2] + rows[:, 2:]) / 2)


def contains_points(boxes: ArrayLike, points: ArrayLike, *, margin: float = 0.0) -> NDArray[np.bool_]:
    """Whether each box (a row) holds each point (a column); the edges belong to the box.

    >>> contains_points([[0, 0, 4, 4]], [[4, 2], [5, 2]])
    array([[ True, False]])
    """
    rows = _rows(boxes)
    spots = np.asarray(points, np.float64).reshape(-1, 2)
    low, high = rows[:, None, :2] - margin, rows[:, None, 2:] + margin
    inside = ((low <= spots) & (spots <= high)).all(axis=2)
    return np.asarray(inside & has_area(rows)[:, None])


def _rows(boxes: ArrayLike) -> Corners:
    rows = np.asarray(boxes, np.float64)
    if rows.size and (rows.ndim != 2 or rows.shape[1] != 4):
        raise UsageError(
            f"an array of shape {rows.shape} is not a list of boxes",
            remedy="give one row of left, top, right, bottom for each box",
        )
    # Numbers that no picture has would overflow when they are multiplied.
    return np.asarray(rows.reshape(-1, 4).clip(-_FAR, _FAR))


def _areas(a: Corners, b: Corners) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The area that two boxes share, and the one that they fill together."""
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    shared = np.prod(np.clip(high - low, 0, None), axis=2)
    own, other = np.prod(a[:, 2:] - a[:, :2], axis=1), np.prod(b[:, 2:] - b[:, :2], axis=1)
    return shared, own[:, None] + other[None] - shared
