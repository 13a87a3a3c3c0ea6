"""Round lesions: where one fits, the shape of a lump, and the strands that leave it."""

from __future__ import annotations

import numpy as np

from overread.phantom.body.shapes import (
    Coordinates,
    Floats,
    Point,
    Points,
    capsule_distance,
    to_point,
    union_depth,
)
from overread.phantom.findings.scan import Axes, BoolArray, Scan, Target
from overread.phantom.findings.scatter import make_cloud


def sphere_directions(count: int) -> Points:
    """Directions spread evenly over the sphere: a spiral from pole to pole."""
    n = np.arange(count) + 0.5
    z, turn = 1 - 2 * n / count, np.pi * (1 + 5**0.5) * n
    across = np.sqrt(1 - z * z)
    return np.stack([across * np.cos(turn), across * np.sin(turn), z], axis=1)


class LesionSites:
    """Finds places in a target where a round lesion fits, by testing points: no distance map."""

    def __init__(self, scan: Scan, target: Target) -> None:
        """The target's box is found once, since that reads the whole volume."""
        self.scan, self.target = scan, target
        self._box = scan.target_box(target)
        self._shell = np.concatenate([0.55 * sphere_directions(20), sphere_directions(48)])

    def find(
        self,
        rng: np.random.Generator,
        radius: float,
        *,
        pleural: bool = False,
        share: float = 1.0,
        most: int = 6,
        tries: int = 2500,
    ) -> list[Point]:
        """Up to `most` places for a sphere of which at least `share` lies in the target.

        A pleural one leans on the ribs, and only the wall may cut a piece off it. Places among
        large vessels come last: there nobody could tell the lesion's edge.
        """
        if self._box is None:
            return []
        x, y, z = (axis.ravel() for axis in self.scan.coordinates(self._box))
        at = np.stack([rng.choice(axis, tries) for axis in (x, y, z)], axis=1).astype(np.float64)
        own, _, _ = self._classify_points(at)
        at = at[own]
        if not len(at):
            return []
        if pleural:
            at = self._points_at_ribs(at, radius)
        shell = at[:, None, :] + self._shell * (radius + self.scan.voxel_mm)
        inside, wall, air = (found.mean(axis=1) for found in self._classify_points(shell))
        good = (wall > 0.05) & (wall < 0.36) & (inside + wall > 0.99) if pleural else inside >= share - 1e-06
        # Among many large vessels, or partly outside, only where nothing better is found.
        worse = (air < 0.8 * inside).astype(float) + (1 - inside if share < 1 else 0)
        order = np.flatnonzero(good)
        order = order[np.argsort(worse[order], kind="stable")][:most]
        return [to_point(place) for place in at[order]]

    def _points_at_ribs(self, at: Points, radius: float) -> Points:
        """Those points whose nearest pleura is that of the ribs, about half a radius away."""
        cloud = make_cloud(self.scan, at)
        deep, ribs = cloud.depth, self.scan.body.rib_depth(*cloud.xyz)
        return at[(deep > 0.35 * radius) & (deep < 0.85 * radius) & (ribs < deep + 3)]

    def _classify_points(self, at: Points) -> tuple[BoolArray, BoolArray, BoolArray]:
        """Of each point: is it a free voxel of the target, outside the lungs, in air?"""
        canvas = self.scan.canvas
        voxels, held = canvas.grid.nearest_voxels(at)
        own = held & self.scan.free_voxels(voxels, self.target)
        beyond = held & ~self.scan.claimed[voxels] & (canvas.lobes[voxels] == 0)
        return own, beyond, own & (canvas.hu[voxels] < -550)


def lump_depth(
    rng: np.random.Generator,
    axes: Axes,
    centre: Point,
    radius: float,
    *,
    slim: float = 0.12,
    rough: float = 0.02,
    lobules: int = 0,
) -> Floats:
    """Depth in a lump that reaches `radius` from its centre and is up to `slim` narrower across.

    With lobules it is a cluster of bulges with notches between them.
    """
    p = [(axis - np.float32(c)) for axis, c in zip(axes, centre, strict=True)]
    far = np.sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]) + np.float32(1e-3)
    wave = np.zeros_like(far)
    for way, phase in zip(rng.normal(0, 2.6, (6, 3)), rng.uniform(0, 6.28, 6), strict=True):
        along = way[0] * p[0] + way[1] * p[1] + way[2] * p[2]
        wave += np.sin(along.astype(np.float32) / far + np.float32(phase))
    wave *= np.float32(rough * radius / 2.5)
    if lobules:
        depth = np.float32(0.74 * radius) - far
        for way in sphere_directions(lobules) + rng.normal(0, 0.22, (lobules, 3)):
            way = way / np.linalg.norm(way)
            wide = radius * rng.uniform(0.36, 0.55)
            b = [q - np.float32(v * (radius - wide)) for q, v in zip(p, way, strict=True)]
            bulge = np.float32(wide) - np.sqrt(b[0] * b[0] + b[1] * b[1] + b[2] * b[2])
            depth = union_depth(depth, bulge, blend=0.12 * radius)
        cluster: Floats = (depth + wave).astype(np.float32)
        return cluster
    turn, _ = np.linalg.qr(rng.normal(0, 1, (3, 3)))
    squared = np.zeros_like(far)
    for way, narrow in zip(turn, (1.0, *(1 - rng.uniform(0, slim, 2))), strict=True):
        along = (way[0] * p[0] + way[1] * p[1] + way[2] * p[2]) / narrow
        squared += (along * along).astype(np.float32)
    egg: Floats = (np.float32(radius) - np.sqrt(squared) + wave).astype(np.float32)
    return egg


def draw_strand(
    scan: Scan, target: Target, start: Coordinates, end: Coordinates, wide: tuple[float, float], hu: float
) -> None:
    """Draw a thread that goes from one radius to another, in free voxels of the target only.

    Finer than a voxel it fades rather than vanishes.
    """
    blur = scan.canvas.grid.blur
    pad = max(*wide, blur / 2) + blur
    low = tuple(min(a, b) - pad for a, b in zip(start, end, strict=True))
    high = tuple(max(a, b) + pad for a, b in zip(start, end, strict=True))
    cut = scan.canvas.grid.box_between(low, high)
    if cut is None:
        return
    far, t = capsule_distance(*scan.coordinates(cut), start, end)
    radius = np.float32(wide[0]) + t * np.float32(wide[1] - wide[0])
    drawn = np.maximum(radius, np.float32(0.5 * blur))
    cover = scan.soft_cover(drawn - far) * np.minimum(radius / drawn, 1) ** 1.4
    cover = np.where(scan.free_voxels(cut, target), cover, 0)
    # A thread never makes anything darker than it was.
    cover = np.where(scan.canvas.hu[cut] < hu, cover, 0)
    scan.blend(cut, cover, hu)


def draw_feeding_vessels(
    scan: Scan, rng: np.random.Generator, target: Target, centre: Point, radius: float, *, most: int = 2
) -> None:
    """Let the nearest vessels run to a lesion, as they do to real ones; no part of its mask."""
    trees = scan.body.trees
    branches = [b for b in (*trees.arteries, *trees.veins) if 0.45 < b.radius < 2.2]
    ends = scan.body.habitus.to_patient(np.array([b.end for b in branches]))
    far = np.linalg.norm(ends - centre, axis=1)
    near = np.flatnonzero((far > 1.15 * radius) & (far < radius + 16))
    for n in near[np.argsort(far[near])][:most]:
        wide = float(np.clip(branches[n].radius, 0.6, 0.3 * radius + 0.3))
        middle = (np.asarray(centre) + ends[n]) / 2 + rng.normal(0, 0.08 * far[n], 3)
        draw_strand(scan, target, centre, middle, (wide, wide), 30.0)
        draw_strand(scan, target, middle, ends[n], (wide, wide), 30.0)
