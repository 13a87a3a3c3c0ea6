"""One CT slice measured, and the signs noted so far, each with the place of its mask."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy import ndimage

from overread.readers.atlas.slice.body import CtSlice
from overread.readers.atlas.slice.dense import DenseMeasures, measure_dense
from overread.readers.atlas.slice.lung import LungMeasures, measure_lung
from overread.readers.atlas.slice.morphology import Bools, BoxXY, Floats, bounding_box
from overread.readers.atlas.slice.signs import PictureSign, Plane
from overread.readers.atlas.slice.wall import ChestWall, find_wall


class SignCollector:
    """Measures one slice and collects its signs."""

    def __init__(self, cut: CtSlice, plane: Plane, *, lung_window: bool = True) -> None:
        """Measures the slice; the signs are made when they are asked for."""
        self.cut = cut
        self.plane = plane
        self.wall: ChestWall | None = find_wall(cut) if plane == "axial" else None
        self.dense: DenseMeasures = measure_dense(cut, self.wall, lung_window=lung_window)
        self.lung: LungMeasures = measure_lung(cut) if lung_window else LungMeasures()
        self.level = slice_level(cut) if plane == "axial" else None
        self.signs: list[PictureSign] = []

    def number(self, name: str) -> float:
        """One measurement; 0 where there is none."""
        return self.lung.numbers.get(name, self.dense.numbers.get(name, 0.0))

    def mask(self, name: str) -> Bools:
        """One mask; empty where there is none."""
        empty = np.zeros_like(self.cut.body)
        return self.lung.masks.get(name, self.dense.masks.get(name, empty))

    def add_sign(
        self, name: str, sure: float, measured: str, mask: Bools, *, amount: float, number: int = 1
    ) -> None:
        """One sign, with the place of its mask."""
        box: BoxXY | None = bounding_box(mask) if mask.any() else None
        side = self.cut.side_of(mask) if mask.any() and self.plane != "sagittal" else None
        self.signs.append(
            PictureSign(
                name, sure, measured, box, side, self.level_of(mask), self.depth_of(mask), amount, number
            )
        )

    @cached_property
    def _rib_distance(self) -> Floats:
        """Millimetres from each pixel to the ribs."""
        cavity = self.wall.cavity if self.wall is not None else self.cut.lungs
        return np.asarray(ndimage.distance_transform_edt(cavity) * self.cut.mm, np.float32)

    def level_of(self, mask: Bools) -> str | None:
        """Upper or lower: of an axial slice as a whole, else of the mask within the lungs."""
        if self.plane == "axial" or not mask.any():
            return self.level
        rows = np.flatnonzero(self.cut.lungs.any(axis=1))
        place = (float(np.nonzero(mask)[0].mean()) - rows[0]) / max(rows[-1] - rows[0], 1)
        return "upper" if place < 0.42 else "lower" if place > 0.58 else None

    def depth_of(self, mask: Bools) -> str | None:
        """Peripheral where most lies in the outer third of the lung."""
        if not mask.any() or self.wall is None:
            return None
        depth = float(np.median(self._rib_distance[mask]))
        return "peripheral" if depth < 24 else "central" if depth > 42 else None


def slice_level(cut: CtSlice) -> str | None:
    """Upper where the mediastinum is narrow, lower where heart or liver fill the middle."""
    lungs = cut.lungs
    columns = np.flatnonzero(lungs.any(axis=0))
    if columns.size < 10:
        return None
    width = columns[-1] - columns[0] + 1
    rows = np.flatnonzero(lungs.sum(axis=1) > 0.15 * width)
    if rows.size < 10:
        return None
    core = lungs[rows[len(rows) // 4] : rows[3 * len(rows) // 4], columns[0] : columns[-1]]
    dense = 1 - float(core.mean())
    return "upper" if dense < 0.30 else "lower" if dense > 0.36 else None
