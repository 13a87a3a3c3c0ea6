"""Collects many small shapes in one box as depths, and paints them together.

Painted one by one, neighbours would draw their walls into each other, and a group that turns out
too small to be an entity could not be undone.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, floor

import numpy as np
from numpy.typing import ArrayLike

from overread.phantom.body.canvas import Cut
from overread.phantom.body.shapes import Coordinates, Floats, capsule_distance
from overread.phantom.findings.scan import Axes, BoolArray, Scan, Target

_OUTSIDE_DEPTH = np.float32(-50)


class DepthField:
    """A box of the scan with each voxel's depth in its own shape and in the nearest other one."""

    def __init__(self, scan: Scan, points: ArrayLike, reach: float, *, walls: bool = False) -> None:
        """Over everything within `reach` of some points; `walls` where shapes must stay apart."""
        self.scan = scan
        cloud = np.asarray(points, np.float64).reshape(-1, 3)
        low, high = cloud.min(axis=0) - reach, cloud.max(axis=0) + reach
        cut = scan.canvas.grid.box_between(low, high)
        self.cut: Cut = cut or (slice(0, 0), slice(0, 0), slice(0, 0))
        shape = tuple(part.stop - part.start for part in self.cut)
        self.depth: Floats = np.full(shape, _OUTSIDE_DEPTH, np.float32)
        """Depth in the shape that a voxel belongs to."""
        self._lines = [(float(a[0]), float(a[1] - a[0])) for a in scan.canvas.grid.axes]
        self._blur = scan.canvas.grid.blur
        self._second_depth = np.full(shape, _OUTSIDE_DEPTH, np.float32) if walls else None

    def add_ball(self, centre: Coordinates, radius: float, *, edge: float = 0.0, squash: float = 1.0) -> None:
        """Add a ball, felt as far as `edge` beyond it; `squash` below 1 flattens it from above."""

        def depth(x: Floats, y: Floats, z: Floats) -> Floats:
            u, v, w = x - centre[0], y - centre[1], (z - centre[2]) / np.float32(squash)
            inside: Floats = np.float32(radius) - np.sqrt(u * u + v * v + w * w)
            return inside

        self._add_shape(centre, centre, radius + edge, depth)

    def add_tube(
        self,
        start: Coordinates,
        end: Coordinates,
        radius: float,
        *,
        last: float | None = None,
        beads: tuple[float, float, float] = (0.0, 8.0, 0.0),
    ) -> None:
        """Add a tube that ends with the radius `last`; `beads`: their depth, length and phase."""
        final = radius if last is None else last
        length = float(np.linalg.norm(np.subtract(end, start)))
        swell, pitch, phase = beads

        def depth(x: Floats, y: Floats, z: Floats) -> Floats:
            far, t = capsule_distance(x, y, z, start, end)
            wide = np.float32(radius) + t * np.float32(final - radius)
            if swell:
                turn = np.float32(2 * np.pi * length / pitch) * t + np.float32(phase)
                # Two waves that never meet again: no bead is like the one before.
                wave = np.sin(turn) + np.float32(0.45) * np.sin(turn * np.float32(0.43) + 1)
                wide = wide * (1 + np.float32(swell * 0.8) * wave)
            inside: Floats = wide - far
            return inside

        self._add_shape(start, end, max(radius, final) * (1 + 1.16 * swell), depth)

    def _add_shape(
        self,
        start: Coordinates,
        end: Coordinates,
        reach: float,
        depth: Callable[[Floats, Floats, Floats], Floats],
    ) -> None:
        """Take the depth in one shape into the box that holds it."""
        pad = reach + self._blur
        part, local = [], []
        # By hand: there are thousands of shapes, and asking the grid takes longer than the shape.
        for n in (2, 1, 0):
            first, step = self._lines[n]
            one = (min(start[n], end[n]) - pad - first) / step
            two = (max(start[n], end[n]) + pad - first) / step
            box = self.cut[2 - n]
            low = max(box.start, ceil(min(one, two)))
            high = min(box.stop, floor(max(one, two)) + 1)
            if low >= high:
                return
            part.append(slice(low, high))
            local.append(slice(low - box.start, high - box.start))
        new = depth(*self.scan.coordinates((part[0], part[1], part[2])))
        inner = (local[0], local[1], local[2])
        best = self.depth[inner]
        if self._second_depth is not None:
            second = self._second_depth[inner]
            np.maximum(second, np.minimum(best, new), out=second)
        np.maximum(best, new, out=best)

    def depth_within_walls(self, wall: float) -> Floats:
        """Depth in the shapes without a wall of this thickness, shared where two shapes touch."""
        assert self._second_depth is not None, "a field without walls has no rooms"
        half = np.float32(wall / 2)
        inside: Floats = np.minimum(self.depth - half, (self.depth - self._second_depth) / 2 - half)
        return inside

    def free_voxels(self, target: Target) -> BoolArray:
        """Voxels of the box that may be drawn on: the target's, less what runs through the lung."""
        return self.scan.free_voxels(self.cut, target)

    @property
    def axes(self) -> Axes:
        """x, y, z of the box's voxels."""
        return self.scan.coordinates(self.cut)

    @property
    def hu(self) -> Floats:
        """The HU of the box, as they are now."""
        return self.scan.canvas.hu[self.cut]

    def cover(self, depth: Floats, free: BoolArray) -> Floats:
        """How much of each voxel a depth fills, nothing where it must not be drawn."""
        return self.scan.soft_cover(depth) * free

    def blend(self, cover: Floats, hu: Floats | float) -> None:
        """Blend a value into the box."""
        self.scan.blend(self.cut, cover, hu)
