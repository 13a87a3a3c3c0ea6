"""The chest that a CT shows, found without a model: lungs, rib cage, lobes, airways.

All work is done on a copy in the patient's axes (x to the right, y to the front, z to the head)
with voxels of about 2 mm, whatever the scanner stored. `find_lungs` gives what holds air. What is
dense in a lung or beside it (consolidation, a mass, fluid) still belongs to the space of that lung
(`lung_space`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.core import Geometry
from overread.pixels.geometry import from_ras, ras_geometry, to_ras
from overread.pixels.lungs import LungMasks, find_lungs
from overread.readers.atlas.ct.morphology import Bools, Floats, Spacing, blur

VOXEL_MM = 2.0
"""Millimetres of a voxel of the working copy, about."""
MIN_LUNG_ML = 30.0
"""Millilitres of air-holding lung under which there is nothing to be read."""
MARGIN, BELOW = 24.0, 45.0
"""Millimetres around the lungs, and below them, that are looked at with them."""
SIDES = ("right", "left")


@dataclass(eq=False)
class ChestCt:
    """One CT as it is worked on, and what was found in it; `lungs` has the two sides."""

    space: Geometry
    """Of the CT as it is stored."""
    steps: tuple[int, int, int]
    """Stored voxels to one of the working copy, along x, y and z."""
    mm: Spacing
    """Millimetres of a voxel of the working copy."""
    corner: tuple[int, int, int]
    """Where the working copy begins, in its own voxels: it is cut out around the lungs."""
    hu: Floats
    """The working copy."""
    aerated: dict[str, Bools]
    """Side → the lung that holds air, with its vessels."""
    lungs: LungMasks | None = None
    """The same in the CT's own voxels and order."""

    @cached_property
    def air(self) -> Bools:
        """Both lungs as far as they hold air, with their vessels."""
        both: Bools = self.aerated["right"] | self.aerated["left"]
        return both

    @cached_property
    def lung_space(self) -> dict[str, Bools]:
        """Side → the space of a lung, with consolidation, masses and fluid in it or beside it."""
        from overread.readers.atlas.ct.lung_spaces import find_lung_spaces

        return find_lung_spaces(self)

    @cached_property
    def lung_spaces(self) -> Bools:
        """The space of both lungs."""
        both: Bools = self.lung_space["right"] | self.lung_space["left"]
        return both

    @cached_property
    def cage(self) -> Bools:
        """The space inside the ribs, from the lungs' tops to a little below them."""
        from overread.readers.atlas.ct.lung_spaces import find_cage

        return find_cage(self)

    @cached_property
    def tissue(self) -> Floats:
        """HU of soft tissue, smoothed without the air and bone beside it; -1000 where is none."""
        tissue = (self.hu > -150) & (self.hu < 150)
        weight = blur(tissue, 4.0, self.mm)
        mean = blur(np.where(tissue, self.hu, 0), 4.0, self.mm) / np.maximum(weight, 1e-3)
        density: Floats = np.where(weight > 0.1, mean, -1000).astype(np.float32)
        return density

    @cached_property
    def tissue_of_heart(self) -> float:
        """HU of soft tissue inside the ribs that is no lung: heart and liver."""
        return self._typical_hu(self.cage & ~self.air)

    @cached_property
    def tissue_of_muscle(self) -> float:
        """HU of soft tissue outside the ribs."""
        return self._typical_hu(~self.cage)

    def _typical_hu(self, where: Bools) -> float:
        inside = self.tissue[where & (self.tissue > 0) & (self.tissue < 300)]
        # Disease is less dense than these, and may be a good part of what is there.
        return float(np.percentile(inside, 65)) if inside.size > 500 else 40.0

    @cached_property
    def smoothed(self) -> Floats:
        """The working copy with its grain smoothed away (2 mm)."""
        return blur(self.hu, 2.0, self.mm)

    @cached_property
    def vessel_free_density(self) -> tuple[Floats, Floats, Floats]:
        """Density of lung tissue without its vessels: mean, spread and share of tissue near by."""
        from overread.readers.atlas.ct.density import tissue_density

        return tissue_density(self)

    @cached_property
    def depth(self) -> Floats:
        """Millimetres from the nearest edge of the rooms, inwards."""
        from scipy import ndimage

        deep: Floats = ndimage.distance_transform_edt(self.lung_spaces, sampling=self.mm)
        return deep

    @cached_property
    def normal_hu(self) -> float:
        """HU of this patient's healthy lung."""
        from overread.readers.atlas.ct.density import normal_density

        return normal_density(self)

    @cached_property
    def lobes(self) -> NDArray[np.uint8]:
        """Number of the lobe at each voxel of the rooms, from 1 in the ontology's order."""
        from overread.readers.atlas.ct.lobes import find_lobes

        return find_lobes(self)

    @cached_property
    def airways(self) -> Bools:
        """Trachea and bronchi as far as they can be followed: the air in them."""
        from overread.readers.atlas.ct.airways import find_airways

        return find_airways(self)

    @property
    def voxel_ml(self) -> float:
        """Millilitres of a voxel of the working copy."""
        return float(np.prod(self.mm)) / 1000

    def volume(self, mask: Bools) -> float:
        """Millilitres of a mask of the working copy."""
        return float(np.count_nonzero(mask)) * self.voxel_ml

    def to_stored(self, mask: Bools) -> Bools:
        """A mask of the working copy in the CT's own voxels and order."""
        placed = ras_geometry(self.space).shape
        sizes = [-(-n // step) for n, step in zip(placed, self.steps, strict=True)]
        fine: NDArray[Any] = np.zeros(sizes, bool)
        ends = zip(self.corner, mask.shape, strict=True)
        fine[tuple(slice(begin, begin + size) for begin, size in ends)] = mask
        for axis, step in enumerate(self.steps):
            fine = np.repeat(fine, step, axis=axis) if step > 1 else fine
        return np.ascontiguousarray(from_ras(fine[: placed[0], : placed[1], : placed[2]], self.space))


def find_chest(hu: NDArray[Any], space: Geometry) -> ChestCt | None:
    """What a CT shows of the chest; None where it shows no lungs worth the name."""
    if hu.ndim != 3 or min(hu.shape) < 4:
        return None
    lungs = find_lungs(hu, space)
    placed = ras_geometry(space)
    sizes = [max(1, round(VOXEL_MM / mm)) for mm in placed.spacing]
    steps = (sizes[0], sizes[1], sizes[2])
    mm = (placed.spacing[0] * steps[0], placed.spacing[1] * steps[1], placed.spacing[2] * steps[2])
    coarse = {
        side: _block_means(to_ras(lung, space), steps) >= 0.5
        for side, lung in (("right", lungs.right), ("left", lungs.left))
    }
    air = coarse["right"] | coarse["left"]
    if np.count_nonzero(air) * float(np.prod(mm)) / 1000 < MIN_LUNG_ML:
        return None
    cut = _lung_box(air, mm)
    return ChestCt(
        space=space,
        steps=steps,
        mm=mm,
        corner=(cut[0].start, cut[1].start, cut[2].start),
        hu=np.ascontiguousarray(_block_means(to_ras(hu, space), steps)[cut]),
        aerated={side: np.ascontiguousarray(lung[cut]) for side, lung in coarse.items()},
        lungs=lungs,
    )


def _lung_box(air: Bools, mm: Spacing) -> tuple[slice, slice, slice]:
    """The box of the lungs with the chest wall around them, and what lies below them."""
    edges = []
    for axis in range(3):
        there = np.flatnonzero(air.any(axis=tuple(n for n in range(3) if n != axis)))
        below = BELOW if axis == 2 else MARGIN
        low = max(0, int(there[0]) - int(below / mm[axis]))
        edges.append(slice(low, min(air.shape[axis], int(there[-1]) + 1 + int(MARGIN / mm[axis]))))
    return edges[0], edges[1], edges[2]


def _block_means(volume: NDArray[Any], steps: tuple[int, int, int]) -> Floats:
    """Block means, less at the far edges where blocks run out."""
    if max(steps) == 1:
        return _clip_hu(volume)
    shape = [-(-size // step) for size, step in zip(volume.shape, steps, strict=True)]
    total = np.zeros(shape, np.float32)
    count = np.zeros(shape, np.float32)
    for offset in np.ndindex(*steps):
        part = volume[tuple(slice(at, None, step) for at, step in zip(offset, steps, strict=True))]
        where = tuple(slice(0, size) for size in part.shape)
        total[where] += _clip_hu(part)
        count[where] += 1
    mean: Floats = total / count
    return mean


def _clip_hu(volume: NDArray[Any]) -> Floats:
    """Within what tissue and metal can have: padding may be -3024, and floats may be NaN."""
    if volume.dtype == np.bool_:
        return np.ascontiguousarray(volume, np.float32)
    kept = np.clip(np.nan_to_num(np.asarray(volume, np.float32), nan=-1024), -1024, 3071)
    return np.ascontiguousarray(kept, np.float32)
