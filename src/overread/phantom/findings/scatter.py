"""Points scattered through a target: evenly on a grid of their own, or spaced along a surface.

Places are chosen in the patient, not in voxels, so that a patient looks alike at any voxel size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from overread.phantom.body.shapes import Floats, Points
from overread.phantom.findings.scan import Axes, Mask, Scan, Target


@dataclass(frozen=True)
class Cloud:
    """Points of a target, (n, 3) in the patient, and how far from the pleura each one lies."""

    points: Points
    depth: Floats

    def __len__(self) -> int:
        return len(self.points)

    def only(self, which: Mask | NDArray[np.intp]) -> Self:
        """Some of the points, in the order given."""
        return type(self)(self.points[which], self.depth[which])

    @property
    def xyz(self) -> Axes:
        """x, y and z of the points."""
        return xyz_of(self.points)


def xyz_of(points: Points) -> Axes:
    """x, y and z of points, as fields are asked for them."""
    x, y, z = points.T.astype(np.float32)
    return x, y, z


def cloud_of(scan: Scan, points: Points) -> Cloud:
    """Points with their depths, wherever they lie."""
    return Cloud(points, scan.body.depth(*xyz_of(points)))


def free_points(scan: Scan, target: Target, points: Points) -> Mask:
    """Which points belong to the target and to no other finding."""
    voxels, held = scan.canvas.grid.nearest(points)
    return held & scan.free(voxels, target)


def within(scan: Scan, target: Target, points: Points) -> Cloud:
    """Those of some points that belong to the target and to no other finding."""
    return cloud_of(scan, points[free_points(scan, target, points)])


def _reach_of(scan: Scan, target: Target) -> tuple[Points, Points] | None:
    """Two corners of a box that holds the target; None where nothing of it is free."""
    axes = scan.canvas.grid.axes
    low, high = (np.array([f(axis) for axis in axes]) for f in (np.min, np.max))
    rough = within(scan, target, _grid(low, high, 10.0))
    if not len(rough):
        return None
    return rough.points.min(axis=0) - 10, rough.points.max(axis=0) + 10


def lattice(
    scan: Scan,
    rng: np.random.Generator,
    target: Target,
    gap: float,
    *,
    around: tuple[Points, float] | None = None,
    jitter: float = 0.25,
) -> Cloud:
    """Points of the target about `gap` millimetres apart, all of them or those near a point."""
    corners = _reach_of(scan, target) if around is None else _about(*around)
    shift = rng.uniform(0, gap, 3)
    if corners is None:
        return within(scan, target, np.zeros((0, 3)))
    points = _grid(corners[0] + shift, corners[1], gap)
    # Every other plane is moved by half a step: plain rows would be seen as rows.
    layer = np.rint((points[:, 2] - corners[0][2] - shift[2]) / gap).astype(int) % 2
    points[:, :2] += (layer * gap / 2)[:, None]
    points += rng.normal(0, jitter * gap, points.shape).clip(-0.45 * gap, 0.45 * gap)
    if around is not None:
        points = points[np.linalg.norm(points - around[0], axis=1) < around[1]]
    return within(scan, target, points)


def spaced(cloud: Cloud, gaps: NDArray[np.float64]) -> NDArray[np.intp]:
    """Which points remain when each, in turn, drives away the later ones closer than its gap."""
    from scipy.spatial import cKDTree

    if not len(cloud):
        return np.zeros(0, np.intp)
    tree = cKDTree(cloud.points)
    alive = np.ones(len(cloud), bool)
    kept = []
    for n, point in enumerate(cloud.points):
        if alive[n]:
            kept.append(n)
            alive[tree.query_ball_point(point, gaps[n])] = False
    return np.array(kept, np.intp)


def centres(
    scan: Scan,
    rng: np.random.Generator,
    target: Target,
    number: int,
    apart: float,
    good: Callable[[Cloud], Mask],
) -> list[Points]:
    """Up to `number` good places of the target, at least `apart` millimetres apart."""
    cloud = lattice(scan, rng, target, 7.0, jitter=0.4)
    cloud = cloud.only(good(cloud))
    cloud = cloud.only(rng.permutation(len(cloud)))
    kept = spaced(cloud, np.full(len(cloud), apart))[:number]
    return [cloud.points[n] for n in kept]


def _grid(low: Points, high: Points, gap: float) -> Points:
    lines = [np.arange(a, b + gap / 2, gap) for a, b in zip(low, high, strict=True)]
    return np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, 3)


def _about(centre: Points, reach: float) -> tuple[Points, Points]:
    return centre - reach, centre + reach
