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
from overread.phantom.findings.scan import Axes, BoolArray, Scan, Target


@dataclass(frozen=True)
class PointCloud:
    """Points of a target, (n, 3) in the patient, and how far from the pleura each one lies."""

    points: Points
    depth: Floats

    def __len__(self) -> int:
        return len(self.points)

    def subset(self, which: BoolArray | NDArray[np.intp]) -> Self:
        """Some of the points, in the order given."""
        return type(self)(self.points[which], self.depth[which])

    @property
    def xyz(self) -> Axes:
        """x, y and z of the points."""
        return split_axes(self.points)


def split_axes(points: Points) -> Axes:
    """x, y and z of points, as fields are asked for them."""
    x, y, z = points.T.astype(np.float32)
    return x, y, z


def make_cloud(scan: Scan, points: Points) -> PointCloud:
    """Points with their depths, wherever they lie."""
    return PointCloud(points, scan.body.lung_depth(*split_axes(points)))


def find_free_points(scan: Scan, target: Target, points: Points) -> BoolArray:
    """Which points belong to the target and to no other finding."""
    voxels, held = scan.canvas.grid.nearest_voxels(points)
    return held & scan.free_voxels(voxels, target)


def make_free_cloud(scan: Scan, target: Target, points: Points) -> PointCloud:
    """Those of some points that belong to the target and to no other finding."""
    return make_cloud(scan, points[find_free_points(scan, target, points)])


def _target_corners(scan: Scan, target: Target) -> tuple[Points, Points] | None:
    """Two corners of a box that holds the target; None where nothing of it is free."""
    axes = scan.canvas.grid.axes
    low, high = (np.array([f(axis) for axis in axes]) for f in (np.min, np.max))
    rough = make_free_cloud(scan, target, _grid_points(low, high, 10.0))
    if not len(rough):
        return None
    return rough.points.min(axis=0) - 10, rough.points.max(axis=0) + 10


def scatter_lattice(
    scan: Scan,
    rng: np.random.Generator,
    target: Target,
    gap: float,
    *,
    around: tuple[Points, float] | None = None,
    jitter: float = 0.25,
) -> PointCloud:
    """Points of the target about `gap` millimetres apart, all of them or those near a point."""
    corners = _target_corners(scan, target) if around is None else _corners_around(*around)
    shift = rng.uniform(0, gap, 3)
    if corners is None:
        return make_free_cloud(scan, target, np.zeros((0, 3)))
    points = _grid_points(corners[0] + shift, corners[1], gap)
    # Every other plane is moved by half a step: plain rows would be seen as rows.
    layer = np.rint((points[:, 2] - corners[0][2] - shift[2]) / gap).astype(int) % 2
    points[:, :2] += (layer * gap / 2)[:, None]
    points += rng.normal(0, jitter * gap, points.shape).clip(-0.45 * gap, 0.45 * gap)
    if around is not None:
        points = points[np.linalg.norm(points - around[0], axis=1) < around[1]]
    return make_free_cloud(scan, target, points)


def thin_out(cloud: PointCloud, gaps: NDArray[np.float64]) -> NDArray[np.intp]:
    """Points that remain when each in turn removes the later ones closer than its gap."""
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


def choose_centres(
    scan: Scan,
    rng: np.random.Generator,
    target: Target,
    number: int,
    apart: float,
    good: Callable[[PointCloud], BoolArray],
) -> list[Points]:
    """Up to `number` good places of the target, at least `apart` millimetres apart."""
    cloud = scatter_lattice(scan, rng, target, 7.0, jitter=0.4)
    cloud = cloud.subset(good(cloud))
    cloud = cloud.subset(rng.permutation(len(cloud)))
    kept = thin_out(cloud, np.full(len(cloud), apart))[:number]
    return [cloud.points[n] for n in kept]


def _grid_points(low: Points, high: Points, gap: float) -> Points:
    lines = [np.arange(a, b + gap / 2, gap) for a, b in zip(low, high, strict=True)]
    return np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, 3)


def _corners_around(centre: Points, reach: float) -> tuple[Points, Points]:
    return centre - reach, centre + reach
