"""A coarse grid of points in a lobe, on which widespread findings are laid out first."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from overread.ontology import lung_anatomy as lung_names
from overread.phantom.body.boxes import bounding_box
from overread.phantom.body.canvas import Cut
from overread.phantom.body.lungs import LOBES, SEGMENTS
from overread.phantom.body.noise import smooth_field
from overread.phantom.body.shapes import Floats, Point
from overread.phantom.body.tubes import place_branch
from overread.phantom.findings.scan import Axes, BoolArray, Entity, Scan, Target, grade_severity
from overread.phantom.statement import Severity

_STEP_MM = 4.0
"""Millimetres between the points of a map: what is planned on it is wider than that."""


@dataclass(frozen=True)
class LobeMap:
    """One lobe as a grid of points some millimetres apart, on which widespread findings are laid
    out.

    A field on every voxel of the lobe would take seconds at full size; on these points it is cheap,
    and it is interpolated linearly in between.
    """

    scan: Scan
    target: Target
    cut: Cut
    """The part of the scan's arrays that holds the lobe."""
    stride: tuple[int, int, int]
    """Voxels from one point of the map to the next, along z, y and x."""

    @classmethod
    def from_target(cls, scan: Scan, target: Target) -> LobeMap | None:
        """The map of a target; None where the scan holds none of it."""
        cut = scan.target_box(target)
        if cut is None:
            return None
        x, y, z = (max(1, round(_STEP_MM / step)) for step in scan.canvas.grid.step)
        return cls(scan, target, cut, (z, y, x))

    @cached_property
    def axes(self) -> Axes:
        """x, y and z of the points, shaped so that they combine; the last lie beyond the lobe."""
        axes = []
        for axis in range(3):
            line, part = self.scan.canvas.grid.axes[axis], self.cut[2 - axis]
            stride = self.stride[2 - axis]
            count = (part.stop - part.start - 1) // stride + 2
            step = float(line[1] - line[0])
            shape = [1, 1, 1]
            shape[2 - axis] = count
            places = line[part.start] + step * stride * np.arange(count)
            axes.append(places.astype(np.float32).reshape(shape))
        return axes[0], axes[1], axes[2]

    @cached_property
    def free_points(self) -> BoolArray:
        """Points of the target that no other finding holds."""
        inner = self.scan.free_voxels(self.cut, self.target)
        inner = inner[tuple(slice(None, None, s) for s in self.stride)]
        points = np.zeros(np.broadcast_shapes(*(a.shape for a in self.axes)), bool)
        points[tuple(slice(0, n) for n in inner.shape)] = inner
        return points

    @cached_property
    def rib_distance(self) -> Floats:
        """About how many millimetres the ribs are away; the rim over the diaphragm is thinner."""
        return rib_or_diaphragm_distance(self.scan, *self.axes)

    @cached_property
    def exact_rib_distance(self) -> Floats:
        """Millimetres from the ribs alone."""
        return self.scan.body.rib_depth(*self.axes) - 1

    @cached_property
    def interior_weight(self) -> Floats:
        """1 well inside the free lung, falling to 0 at its borders."""
        near = ndimage.gaussian_filter(self.free_points.astype(np.float32), 1.5)
        inner: Floats = np.clip(2.5 * near - np.float32(1.5), 0, 1)
        return inner

    def relative_position(self, axis: int) -> Floats:
        """How far along x, y or z a point lies within the lobe: 0 at its least, 1 at its most."""
        line = np.broadcast_to(self.axes[axis], self.free_points.shape)
        held = line[self.free_points] if self.free_points.any() else line.ravel()
        low, high = float(held.min()), float(held.max())
        return (self.axes[axis] - np.float32(low)) / np.float32(max(high - low, 1.0))

    @cached_property
    def hilum(self) -> Point:
        """Where the airway of the lobe begins to branch."""
        body = self.scan.body
        codes = [n for n, code in enumerate(SEGMENTS, 1)
                 if lung_names().by_code[code].code in self.target.lobes]  # fmt: skip
        first = min((b for b in body.trees.airways if b.segment in codes), key=lambda branch: branch.order)
        return place_branch(body.habitus, first).start

    def distance_from(self, point: Point) -> Floats:
        """Millimetres from a point."""
        x, y, z = (axis - np.float32(c) for axis, c in zip(self.axes, point, strict=True))
        far: Floats = np.sqrt(x * x + y * y + z * z)
        return far

    def smooth_noise(self, rng: np.random.Generator, scale: float) -> Floats:
        """A smooth random field: deviation 1, structures about `scale` millimetres wide."""
        return smooth_field(rng, *self.axes, scale, waves=14)

    def draw_point(self, rng: np.random.Generator, where: BoolArray) -> Point | None:
        """A free point of the map that is also in a mask; None where there is none."""
        found = np.flatnonzero(self.free_points & where)
        if not len(found):
            return None
        index = np.unravel_index(int(rng.choice(found)), self.free_points.shape)
        x, y, z = (axis.ravel() for axis in self.axes)
        return float(x[index[2]]), float(y[index[1]]), float(z[index[0]])

    def box_around(self, where: BoolArray) -> Cut | None:
        """The part of the arrays that holds the points of a mask, and one more on each side."""
        box = bounding_box(where)
        if box is None:
            return None
        z, y, x = (
            slice(
                max(whole.start, whole.start + (part.start - 1) * stride),
                min(whole.stop, whole.start + part.stop * stride + 1),
            )
            for whole, part, stride in zip(self.cut, box, self.stride, strict=True)
        )
        return z, y, x

    def to_voxels(self, field: Floats, cut: Cut) -> Floats:
        """A field of the map on the voxels of a part, straight between the map's points."""
        for axis in range(3):
            at = (np.arange(cut[axis].start, cut[axis].stop) - self.cut[axis].start) / np.float32(
                self.stride[axis]
            )
            low = np.clip(at.astype(int), 0, field.shape[axis] - 2)
            shape = [1, 1, 1]
            shape[axis] = -1
            weight = (at - low).astype(np.float32).reshape(shape)
            field = field.take(low, axis) * (1 - weight) + field.take(low + 1, axis) * weight
        return field


def rib_or_diaphragm_distance(scan: Scan, x: Floats, y: Floats, z: Floats) -> Floats:
    """Millimetres from the ribs, or twice those from the diaphragm where they are fewer.

    What is called subpleural or peripheral follows the ribs, and the mediastinum not at all.
    """
    lungs = scan.body.lungs
    u, v, w = scan.body.habitus.to_template(x, y, z)
    height, cosine = lungs.diaphragm_height(u, v)
    outer: Floats = np.minimum(lungs.cavity_depth(u, v, w)[0] - 1, 2 * (w - height) * cosine)
    return outer


def extent_severity(scan: Scan, target: Target, entities: list[Entity]) -> Severity:
    """How much of the target's lobes the entities take: to a tenth mild, from a third severe."""
    lobes = [scan.canvas.lobes == LOBES.index(code) + 1 for code in target.lobes]
    whole = sum(int(np.count_nonzero(lobe)) for lobe in lobes)
    return grade_severity(sum(e.voxels for e in entities) / max(whole, 1), 0.1, 0.33)


def largest_areas(mask: BoolArray, least: float, most: int = 8) -> tuple[NDArray[np.int32], list[int]]:
    """The connected areas of a mask, as numbers on its voxels, and the numbers of those to keep.

    Kept are the largest, those that have at least `least` voxels.
    """
    numbers, count = ndimage.label(mask, ndimage.generate_binary_structure(3, 2))
    sizes = np.bincount(numbers.ravel(), minlength=count + 1)
    order = [int(n) for n in np.argsort(-sizes[1:], kind="stable") + 1]
    return numbers, [n for n in order[:most] if sizes[n] >= least]


def shift_lung(here: LobeMap, cut: Cut, free: BoolArray, moves: tuple[Floats, Floats, Floats]) -> None:
    """Shift what is in the lung by millimetres along z, y and x, less so near its borders."""
    view = here.scan.canvas.hu[cut]
    x, y, z = here.scan.canvas.grid.step
    ease = here.to_voxels(here.interior_weight, cut)
    where = [
        np.arange(n, dtype=np.float32).reshape([-1 if a == axis else 1 for a in range(3)])
        + ease * move / np.float32(step)
        for axis, (n, move, step) in enumerate(zip(view.shape, moves, (z, -y, -x), strict=True))
    ]
    moved = ndimage.map_coordinates(view, where, order=1, mode="nearest")
    np.copyto(view, moved, where=free & (ease > 0))
