"""Shapes as depth functions: millimetres inside (positive) or outside (negative) of a surface.

Exact distances only where they are cheap; everywhere else close to the surface, which is all that
a soft edge needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
"""Millimetres or HU; whole volumes are float32, which numpy keeps as long as we do."""
Points = NDArray[np.float64]
"""(n, 3), or one of them: places that are reckoned with before any voxel is."""
Point = tuple[float, float, float]
Coordinates = Sequence[float] | Floats


def to_point(values: Coordinates) -> Point:
    """Three numbers as a point."""
    x, y, z = values
    return float(x), float(y), float(z)


def interpolate_profile(z: Floats, knots: Sequence[Sequence[float]], column: int) -> Floats:
    """A number that changes with height: one column of rows (z, …), given from top to bottom."""
    rows = np.asarray(knots, np.float64)[::-1]
    at: Floats = np.interp(z, rows[:, 0], rows[:, column]).astype(np.float32)
    return at


def ellipsoid_depth(x: Floats, y: Floats, z: Floats, centre: Point, radii: Point) -> Floats:
    """Depth in an ellipsoid along the axes."""
    a, b, c = (np.float32(r) for r in radii)
    u, v, w = (x - centre[0]) / a, (y - centre[1]) / b, (z - centre[2]) / c
    r = np.sqrt(u * u + v * v + w * w)
    # Close to the surface the gradient of r is about the length of (u/a, v/b, w/c) over r.
    slope = np.sqrt((u / a) ** 2 + (v / b) ** 2 + (w / c) ** 2) + np.float32(1e-6)
    depth: Floats = (1 - r) * r / slope
    near_middle = np.float32(min(radii)) * (1 - r)
    return np.where(r < 0.3, near_middle, depth).astype(np.float32, copy=False)


def oval_depth(x: Floats, y: Floats, a: Floats | float, b: Floats | float, square: Floats | float) -> Floats:
    """Depth in an ellipse whose four corners are pushed out by the share `square`."""
    u, v = x / a, y / b
    uu, vv = u * u, v * v
    rr = uu + vv + np.float32(1e-9)
    r = np.sqrt(rr) * (1 - np.float32(4) * square * (uu / rr) * (vv / rr))
    depth: Floats = np.sqrt(x * x + y * y) * (1 / r - 1)
    return depth


def capsule_distance(
    x: Floats, y: Floats, z: Floats, start: Coordinates, end: Coordinates
) -> tuple[Floats, Floats]:
    """Distance from a straight line's piece, and how far along it, 0 to 1, the nearest point is."""
    s, e = np.asarray(start, np.float32), np.asarray(end, np.float32)
    along = e - s
    length = np.float32(max(float(along @ along), 1e-6))
    u, v, w = x - s[0], y - s[1], z - s[2]
    t = (u * along[0] + v * along[1] + w * along[2]) / length
    # Not np.clip, which takes longer than the rest of a short tube.
    t = np.minimum(np.maximum(t, 0), 1)
    u, v, w = u - t * along[0], v - t * along[1], w - t * along[2]
    return np.sqrt(u * u + v * v + w * w), t


def union_depth(a: Floats, b: Floats, *, blend: float = 0.0) -> Floats:
    """Depth in either of two shapes, with their seam filled over `blend` millimetres."""
    larger = np.maximum(a, b)
    if blend <= 0:
        return larger
    h = np.maximum(np.float32(blend) - np.abs(a - b), 0)
    joined: Floats = larger + h * h / np.float32(4 * blend)
    return joined


def soft_cover(depth: Floats, width: float) -> Floats:
    """How much of each voxel is inside, 0 to 1: an edge as wide as a voxel."""
    cover: Floats = depth / np.float32(width)
    cover += np.float32(0.5)
    np.maximum(cover, 0, out=cover)
    np.minimum(cover, 1, out=cover)
    return cover
