"""Many small shapes in one box: their depths gathered first, painted together afterwards.

Painted one by one, neighbours would draw their walls into each other; and what turns out too small
to be an entity could not be taken back.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, floor

import numpy as np
from numpy.typing import ArrayLike

from overread.phantom.body.canvas import Cut
from overread.phantom.body.shapes import Floats, Place, capsule
from overread.phantom.findings.scan import Axes, Mask, Scan, Target

_OUTSIDE = np.float32(-50)


class DepthField:
    """A box of the scan that collects shapes: how deep each voxel lies in any, and in the next."""

    def __init__(self, scan: Scan, points: ArrayLike, reach: float, *, walls: bool = False) -> None:
        """Over everything within `reach` of some points; `walls` where shapes must stay apart."""
        self.scan = scan
        cloud = np.asarray(points, np.float64).reshape(-1, 3)
        low, high = cloud.min(axis=0) - reach, cloud.max(axis=0) + reach
        cut = scan.canvas.grid.cut(low, high)
        self.cut: Cut = cut or (slice(0, 0), slice(0, 0), slice(0, 0))
        shape = tuple(part.stop - part.start for part in self.cut)
        self.best: Floats = np.full(shape, _OUTSIDE, np.float32)
        """Depth in the shape that a voxel belongs to."""
        self._lines = [(float(a[0]), float(a[1] - a[0])) for a in scan.canvas.grid.axes]
        self._blur = scan.canvas.grid.blur
        self._next = np.full(shape, _OUTSIDE, np.float32) if walls else None

    def ball(self, centre: Place, radius: float, *, edge: float = 0.0, squash: float = 1.0) -> None:
        """Add a ball, felt as far as `edge` beyond it; `squash` below 1 flattens it from above."""

        def depth(x: Floats, y: Floats, z: Floats) -> Floats:
            u, v, w = x - centre[0], y - centre[1], (z - centre[2]) / np.float32(squash)
            inside: Floats = np.float32(radius) - np.sqrt(u * u + v * v + w * w)
            return inside

        self._add(centre, centre, radius + edge, depth)

    def tube(
        self,
        start: Place,
        end: Place,
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
            far, t = capsule(x, y, z, start, end)
            wide = np.float32(radius) + t * np.float32(final - radius)
            if swell:
                turn = np.float32(2 * np.pi * length / pitch) * t + np.float32(phase)
                # Two waves that never meet again: no bead is like the one before.
                wave = np.sin(turn) + np.float32(0.45) * np.sin(turn * np.float32(0.43) + 1)
                wide = wide * (1 + np.float32(swell * 0.8) * wave)
            inside: Floats = wide - far
            return inside

        self._add(start, end, max(radius, final) * (1 + 1.16 * swell), depth)

    def _add(
        self,
        start: Place,
        end: Place,
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
        new = depth(*self.scan.at((part[0], part[1], part[2])))
        inner = (local[0], local[1], local[2])
        best = self.best[inner]
        if self._next is not None:
            second = self._next[inner]
            np.maximum(second, np.minimum(best, new), out=second)
        np.maximum(best, new, out=best)

    def rooms(self, wall: float) -> Floats:
        """Depth in the shapes once each has a wall, shared with the neighbour it touches."""
        assert self._next is not None, "a field without walls has no rooms"
        half = np.float32(wall / 2)
        inside: Floats = np.minimum(self.best - half, (self.best - self._next) / 2 - half)
        return inside

    def free(self, target: Target) -> Mask:
        """Voxels of the box that may be drawn on: the target's, less what runs through the lung."""
        return self.scan.free(self.cut, target)

    @property
    def axes(self) -> Axes:
        """x, y, z of the box's voxels."""
        return self.scan.at(self.cut)

    @property
    def hu(self) -> Floats:
        """The HU of the box, as they are now."""
        return self.scan.canvas.hu[self.cut]

    def cover(self, depth: Floats, free: Mask) -> Floats:
        """How much of each voxel a depth fills, nothing where it must not be drawn."""
        return self.scan.soft(depth) * free

    def fill(self, cover: Floats, hu: Floats | float) -> None:
        """Blend a value into the box."""
        self.scan.mix(self.cut, cover, hu)
