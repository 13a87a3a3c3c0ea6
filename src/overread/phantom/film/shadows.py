"""What each finding adds to the attenuation along the beam, from the front and from the side.

From the front a scan is a stack of slabs along y, from the side one along x; each slab is the sum
of HU through it. Drawing a finding changes these sums only where it lies: the difference, cropped
to its box, is its shadow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from overread.phantom.body.boxes import bounding_box
from overread.phantom.body.canvas import Canvas, Grid
from overread.phantom.body.shapes import Floats

BeamDirection = Literal["front", "side"]
"""Along which axis the beam runs: y, seen from the front, or x, seen from the side."""

SLAB_MM = 12.0
"""How deep a slab is, about: a lesion is magnified alike all through it."""
_MIN_CHANGE = 1.0
"""HU·mm below which a difference is rounding."""


@dataclass(frozen=True)
class Slabs:
    """A pile of slabs: sums of HU along each, in HU·mm, kept in the box where they are not zero."""

    direction: BeamDirection
    sums: Floats
    """(slab, z, x) from the front, (slab, z, y) from the side, in the grid's order of voxels."""
    corner: tuple[int, int, int]
    """Where the box begins in the whole pile."""
    middles: Floats
    """Millimetres of each slab's middle along the beam, in the patient."""


def slab_edges(grid: Grid, way: BeamDirection, thick: float = SLAB_MM) -> list[int]:
    """Where the slabs of a grid begin along the beam, and where the last one ends."""
    axis = 1 if way == "front" else 0
    count = max(1, round(grid.counts[axis] * grid.step[axis] / thick))
    return [round(n * grid.counts[axis] / count) for n in range(count + 1)]


def slab_middles(grid: Grid, way: BeamDirection, edges: list[int]) -> Floats:
    """Millimetres of the slabs' middles along the beam."""
    line = grid.axes[1 if way == "front" else 0]
    return np.array([line[a:b].mean() for a, b in pairwise(edges)], np.float32)


def sum_change(change: Floats, grid: Grid, way: BeamDirection) -> Slabs | None:
    """A change of the scan in HU as a pile of slabs; None where nothing changes."""
    edges, axis = slab_edges(grid, way), 1 if way == "front" else 2
    step = np.float32(grid.step[2 - axis])
    sums = np.stack(
        [np.take(change, range(a, b), axis=axis).sum(axis=axis) * step for a, b in pairwise(edges)]
    )
    cut = bounding_box(np.abs(sums) > _MIN_CHANGE)
    if cut is None:
        return None
    corner = (cut[0].start, cut[1].start, cut[2].start)
    return Slabs(way, sums[cut].copy(), corner, slab_middles(grid, way, edges)[cut[0]])


class Shadows:
    """Differences of a canvas' projections, recorded while finding by finding is drawn on it."""

    def __init__(self, canvas: Canvas) -> None:
        """Begin with the canvas as it is now."""
        self._canvas = canvas
        self.grid = canvas.grid
        ways: tuple[BeamDirection, ...] = ("front", "side")
        self._edges = {way: slab_edges(canvas.grid, way) for way in ways}
        self._middles = {way: slab_middles(canvas.grid, way, edges) for way, edges in self._edges.items()}
        self._front = self._sum_from_front(slice(None))
        self._side = self._sum_from_side(slice(None))
        self._recorded: dict[str, dict[BeamDirection, Slabs]] = {}

    @property
    def keys(self) -> tuple[str, ...]:
        """What was noted, in the order in which it was."""
        return tuple(self._recorded)

    def record(self, key: str) -> None:
        """What changed on the canvas since the last note belongs to `key`."""
        front = self._sum_from_front(slice(None))
        change = front - self._front
        self._front = front
        rows = np.flatnonzero((np.abs(change) > _MIN_CHANGE).any(axis=(0, 2)))
        if not len(rows):
            self._recorded[key] = {}
            return
        rise = slice(int(rows[0]), int(rows[-1]) + 1)
        side = self._sum_from_side(rise)
        beside = side - self._side[:, rise]
        self._side[:, rise] = side
        piles: dict[BeamDirection, Slabs | None] = {
            "front": self._crop_slabs("front", change, 0),
            "side": self._crop_slabs("side", beside, rise.start),
        }
        self._recorded[key] = {way: pile for way, pile in piles.items() if pile is not None}

    def rename_keys(self, names: Mapping[str, str]) -> None:
        """Give keys other names."""
        self._recorded = {names.get(key, key): noted for key, noted in self._recorded.items()}

    def find(self, key: str, way: BeamDirection) -> Slabs | None:
        """The shadow of one thing, seen from the front or from the side; None where it has none."""
        return self._recorded.get(key, {}).get(way)

    def _crop_slabs(self, way: BeamDirection, change: Floats, row: int) -> Slabs | None:
        cut = bounding_box(np.abs(change) > _MIN_CHANGE)
        if cut is None:
            return None
        corner = (cut[0].start, cut[1].start + row, cut[2].start)
        return Slabs(way, change[cut].copy(), corner, self._middles[way][cut[0]])

    def _sum_from_front(self, rows: slice) -> Floats:
        edges, step = self._edges["front"], np.float32(self.grid.step[1])
        part = self._canvas.hu[rows]
        out = np.empty((len(edges) - 1, part.shape[0], part.shape[2]), np.float32)
        for n, (a, b) in enumerate(pairwise(edges)):
            np.sum(np.maximum(part[:, a:b], np.float32(-1000)), axis=1, out=out[n])
        out *= step
        return out

    def _sum_from_side(self, rows: slice) -> Floats:
        edges, step = self._edges["side"], np.float32(self.grid.step[0])
        part = self._canvas.hu[rows]
        out = np.empty((len(edges) - 1, part.shape[0], part.shape[1]), np.float32)
        for n, (a, b) in enumerate(pairwise(edges)):
            np.sum(np.maximum(part[:, :, a:b], np.float32(-1000)), axis=2, out=out[n])
        out *= step
        return out
