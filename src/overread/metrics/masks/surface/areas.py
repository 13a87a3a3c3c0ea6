"""How much surface passes through each corner where eight voxels meet.

A surface element sits on a grid point and is told by which of the eight voxels around it belong to
the mask: 256 neighbourhoods. Its area follows from the geometry alone. The voxels that are fewer
(inside or outside) fall into groups that touch by faces; around each group the surface is a polygon
whose vertices lie halfway along the edges between a voxel of the group and one that is not. Where
such a polygon is not flat its area depends on how it is cut into triangles: here the cut with the
largest area on a cubic grid, which is the one of the classic marching cubes and gives the areas of
the package surface-distance.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

Corner = tuple[int, int, int]
Points = list[NDArray[np.float64]]

CORNERS: tuple[Corner, ...] = tuple((i, j, k) for i, j, k in product((0, 1), repeat=3))
"""The eight voxels around a grid point; the voxel at (i, j, k) is bit 4i + 2j + k of the code."""


@lru_cache(maxsize=16)
def surface_areas(spacing: tuple[float, float, float]) -> NDArray[np.float64]:
    """The area in mm² of the surface element of each of the 256 neighbourhoods.

    >>> areas = surface_areas((1.0, 1.0, 1.0))
    >>> [round(float(areas[code]), 4) for code in (0, 0b1, 0b11, 0b1111, 255)]
    [0.0, 0.2165, 0.7071, 1.0, 0.0]
    """
    codes, normals = _triangles()
    x, y, z = spacing
    scaled = np.linalg.norm(normals * np.array([y * z, x * z, x * y]), axis=1)
    areas: NDArray[np.float64] = np.bincount(codes, scaled, minlength=256).astype(np.float64)
    areas.flags.writeable = False
    return areas


@lru_cache(maxsize=1)
def _triangles() -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Every triangle of every neighbourhood: the code, and half the cross product of two sides."""
    codes: list[int] = []
    normals: Points = []
    for code in range(1, 255):
        inside = frozenset(corner for bit, corner in enumerate(CORNERS) if code >> bit & 1)
        fewer = inside if len(inside) <= 4 else frozenset(CORNERS) - inside
        for group in _face_groups(fewer):
            found = _normals_around(group)
            codes += [code] * len(found)
            normals += found
    return np.array(codes), np.array(normals)


def _face_groups(corners: frozenset[Corner]) -> Iterator[frozenset[Corner]]:
    """The corners in groups that hang together by faces."""
    left = set(corners)
    while left:
        group = {left.pop()}
        while near := {corner for corner in left if any(_steps(corner, c) == 1 for c in group)}:
            group |= near
            left -= near
        yield frozenset(group)


def _steps(one: Corner, other: Corner) -> int:
    return sum(a != b for a, b in zip(one, other, strict=True))


@lru_cache(maxsize=256)
def _normals_around(group: frozenset[Corner]) -> Points:
    """The triangles of the polygon around a group of at most four corners."""

    def area(normals: Points) -> float:
        # Rounded so that cuts of equal area stay equal; between those it does not matter.
        return round(sum(float(np.linalg.norm(normal)) for normal in normals), 9)

    return max(_cuts(_polygon(group)), key=area)


def _polygon(group: frozenset[Corner]) -> Points:
    """The midpoints of the edges that leave the group, in order around it."""
    middles = [
        (np.array(corner) + np.array(other)) / 2
        for corner in sorted(group)
        for other in CORNERS
        if other not in group and _steps(corner, other) == 1
    ]
    ring = [middles.pop()]
    while middles:
        # Two such edges follow each other where they lie on the same side of the cube.
        following = next(
            i
            for i, middle in enumerate(middles)
            if np.any((middle == ring[-1]) & (middle != 0.5))  # 0 and 1 are sides, 0.5 is not
        )
        ring.append(middles.pop(following))
    return ring


def _cuts(ring: Points) -> Iterator[Points]:
    """Every way to cut a polygon into triangles, as their normals."""
    if len(ring) < 3:
        yield []
        return
    for tip in range(1, len(ring) - 1):
        base = np.cross(ring[tip] - ring[0], ring[-1] - ring[0]) / 2
        for before in _cuts(ring[: tip + 1]):
            for after in _cuts(ring[tip:]):
                yield [*before, base, *after]
