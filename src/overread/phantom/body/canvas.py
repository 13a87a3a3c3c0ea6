"""The scan being drawn: a grid in the patient, HU and labels on it, painted box by box.

Arrays are kept as (z, y, x) with x running to the left and y to the back: in memory exactly the
LPS order that scanners store, so that nothing is ever copied to be written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from overread.core import Geometry
from overread.phantom.body.shapes import Coordinates, Floats, Point, soft_cover
from overread.pixels.geometry import make_geometry

Cut = tuple[slice, slice, slice]
"""A part of the arrays: slices along z, y and x, both ends given."""
Voxels = tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]
"""Indices along z, y and x."""

_SLAB_VOXELS = 400_000
"""Voxels that are worked on at a time: small enough to stay near the processor."""


@dataclass(frozen=True)
class Grid:
    """Where the voxels lie: centre of the volume in RAS+ millimetres, voxels, steps."""

    centre: Point
    counts: tuple[int, int, int]
    """Voxels along x, y, z."""
    step: tuple[float, float, float]
    """Millimetres along x, y, z."""

    @cached_property
    def axes(self) -> tuple[Floats, Floats, Floats]:
        """Coordinates of the voxel centres along x (falling), y (falling) and z (rising)."""
        rising = [(np.arange(n) - (n - 1) / 2) * step for n, step in zip(self.counts, self.step, strict=True)]
        signs = (-1, -1, 1)
        x, y, z = (
            (middle + sign * line).astype(np.float32)
            for middle, sign, line in zip(self.centre, signs, rising, strict=True)
        )
        return x, y, z

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of the arrays: (z, y, x)."""
        return self.counts[2], self.counts[1], self.counts[0]

    @property
    def blur(self) -> float:
        """Width of a soft edge: a voxel, and never less than a scanner resolves."""
        return max(0.9, sum(self.step) / 3)

    @cached_property
    def geometry(self) -> Geometry:
        """Geometry of the arrays as they are stored: LPS."""
        affine = np.diag([-self.step[0], -self.step[1], self.step[2], 1.0])
        affine[:3, 3] = [axis[0] for axis in self.axes]
        return make_geometry(self.counts, affine, where="the phantom")

    def box_between(self, low: Coordinates, high: Coordinates) -> Cut | None:
        """The part of the arrays that holds a box of the patient; None where it holds none."""
        slices = []
        for axis, lo, hi in zip(self.axes, low, high, strict=True):
            falls = len(axis) > 1 and axis[0] > axis[-1]
            line = -axis if falls else axis
            lo, hi = (-hi, -lo) if falls else (lo, hi)
            first = int(np.searchsorted(line, lo, "left"))
            last = int(np.searchsorted(line, hi, "right"))
            if first >= last:
                return None
            slices.append(slice(first, last))
        return slices[2], slices[1], slices[0]

    def coordinates(self, cut: Cut) -> tuple[Floats, Floats, Floats]:
        """x, y and z of the voxels of a part, shaped so that they combine to its shape."""
        x, y, z = self.axes
        return x[None, None, cut[2]], y[None, cut[1], None], z[cut[0], None, None]

    def nearest_voxels(self, points: Floats) -> tuple[Voxels, NDArray[np.bool_]]:
        """The voxels next to points of the patient, (…, 3), and which points the grid holds."""
        index, held = [], np.ones(points.shape[:-1], bool)
        for n, (axis, step) in enumerate(zip(self.axes, self.step, strict=True)):
            way = 1 if n == 2 else -1
            at = np.rint(way * (points[..., n] - axis[0]) / step).astype(np.intp)
            held &= (at >= 0) & (at < len(axis))
            index.append(at.clip(0, len(axis) - 1))
        return (index[2], index[1], index[0]), held

    def iterate_slabs(self, cut: Cut | None = None) -> Iterator[Cut]:
        """The whole or a part of it, a few slices at a time."""
        z, y, x = cut or (slice(0, n) for n in self.shape)
        deep = max(1, _SLAB_VOXELS // max((y.stop - y.start) * (x.stop - x.start), 1))
        for first in range(z.start, z.stop, deep):
            yield slice(first, min(first + deep, z.stop)), y, x


@dataclass
class Canvas:
    """The arrays that are painted on."""

    grid: Grid
    hu: Floats = field(init=False)
    organs: NDArray[np.uint8] = field(init=False)
    """Number of the organ in `ORGANS`, 0 for what has no name."""
    lobes: NDArray[np.uint8] = field(init=False)
    """Number of the lobe, 0 outside the lungs."""
    segments: NDArray[np.uint8] = field(init=False)
    """Number of the segment, 0 outside the lungs."""

    def __post_init__(self) -> None:
        self.hu = np.full(self.grid.shape, -1000, np.float32)
        self.organs = np.zeros(self.grid.shape, np.uint8)
        self.lobes = np.zeros(self.grid.shape, np.uint8)
        self.segments = np.zeros(self.grid.shape, np.uint8)

    def copy(self) -> Canvas:
        """The same again, to be painted on apart."""
        other = object.__new__(Canvas)
        other.grid = self.grid
        for name in ("hu", "organs", "lobes", "segments"):
            setattr(other, name, getattr(self, name).copy())
        return other

    def paint(
        self, cut: Cut, depth: Floats, hu: Floats | float, *, label: int | None = None, strength: float = 1.0
    ) -> None:
        """Fill a shape, given by its depth in a part of the volume, with a value."""
        cover = soft_cover(depth, self.grid.blur)
        if strength != 1:
            cover *= np.float32(strength)
        view = self.hu[cut]
        view += (np.asarray(hu, np.float32) - view) * cover
        if label is not None:
            self.organs[cut][depth > 0] = label


ORGANS: tuple[str, ...] = (
    "right lung",
    "left lung",
    "trachea and bronchi",
    "heart",
    "aorta",
    "pulmonary artery",
    "superior vena cava",
    "oesophagus",
    "vertebrae",
    "ribs",
    "sternum",
    "clavicles",
    "scapulae",
    "liver",
    "spleen",
    "stomach",
    "muscle",
    "fat",
    "skin",
    "thyroid",
    "costal cartilage",
    "humeri",
    "inferior vena cava",
    "mediastinum",
    "right pleural space",
    "left pleural space",
)
"""Organs in the order of their numbers, 1 the first."""

ORGAN_NUMBERS = {name: number for number, name in enumerate(ORGANS, 1)}
