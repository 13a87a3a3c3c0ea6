"""How a film differs without one finding: which pixels change, how far, and in which zones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from overread.phantom.body.shapes import Floats
from overread.phantom.film.region_rules import CHEST_TOP, rib_end
from overread.phantom.film.regions import find_region
from overread.phantom.film.renderer import FilmRenderer
from overread.phantom.film.sign import FilmBox, View
from overread.phantom.findings.scan import BoolArray

SMOOTHED_MM = 2.0
"""Deviation of the blur under which films are compared: finer detail is lost among vessels."""
CHANGED_LEVEL = 6.0
"""Grey levels from which a pixel counts as changed."""
PATCH_MM2 = 50.0
"""The size of the patch on which a change must be strong: a disc of 8 mm."""
_MIN_ISLAND_MM2 = 12.0
"""Changed pixels that hang together in less than this are left out of a box."""
_ZONE_SHARE = 0.2
"""The share of a sign that a zone must hold to be named."""
_APEX_SHARE = 0.8
"""The share of a sign above the collar bone from which it is called apical."""


@dataclass(frozen=True)
class FilmDifference:
    """How far each pixel of a film would change without one finding."""

    levels: Floats
    """Grey levels, without sign, after the blur."""
    spacing: float

    @cached_property
    def strength(self) -> float:
        """The mean change of the patch of pixels that change most."""
        count = max(1, round(PATCH_MM2 / self.spacing**2))
        return float(np.partition(self.levels, -count, axis=None)[-count:].mean())

    @property
    def area_mm2(self) -> float:
        """Area of the pixels that change."""
        return float((self.levels >= CHANGED_LEVEL).sum()) * self.spacing**2

    def visible_mask(self, outline: BoolArray | None = None) -> BoolArray:
        """Where it shows: pixels that change, and by a fifth of the strength at least.

        Where an outline is given, only pixels that belong to it or lie next to it.
        """
        mask = self.levels >= max(CHANGED_LEVEL, self.strength / 5)
        if outline is not None:
            near = ndimage.binary_dilation(outline, iterations=max(1, round(2 / self.spacing)))
            mask &= near
        return drop_small_islands(mask, _MIN_ISLAND_MM2 / self.spacing**2)


def compare_films(with_it: NDArray[np.uint8], without: NDArray[np.uint8], spacing: float) -> FilmDifference:
    """Compare two films."""
    if np.array_equal(with_it, without):
        return FilmDifference(np.zeros(with_it.shape, np.float32), spacing)
    differs = with_it.astype(np.float32) - without
    blurred = ndimage.gaussian_filter(differs, SMOOTHED_MM / spacing, truncate=3)
    return FilmDifference(np.abs(blurred), spacing)


def drop_small_islands(mask: BoolArray, pixels: float) -> BoolArray:
    """A mask less its islets, unless it consists of islets only."""
    numbers, _ = ndimage.label(mask)
    sizes = np.bincount(numbers.ravel())
    sizes[0] = 0
    kept: BoolArray = (sizes >= pixels)[numbers]
    return kept if kept.any() else mask


def box_of_pixels(mask: BoolArray) -> FilmBox | None:
    """The smallest box that holds every set pixel; None where there is none."""
    columns, rows = np.flatnonzero(mask.any(axis=0)), np.flatnonzero(mask.any(axis=1))
    if not len(rows):
        return None
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


class FilmHalves:
    """The two halves of a frontal film and the lung zones on it, as columns and rows."""

    def __init__(self, room: FilmRenderer, view: View) -> None:
        """Borders are where the planes of the template fall at the middle depth of the chest."""
        habitus, canvas = room.visit.body.habitus, room.canvas
        levels = (CHEST_TOP, rib_end(2), rib_end(4), -250.0)
        points = habitus.to_patient(np.array([(0.0, 0.0, level) for level in levels]))
        columns, rows = room.project_points(points, view)
        self.middle = float(columns[1:3].mean())
        """Column of the midline."""
        self._rows = {
            "upper lung zone": (-np.inf, rows[1]),
            "mid lung zone": (rows[1], rows[2]),
            "lower lung zone": (rows[2], np.inf),
        }
        self._apex = {}
        for side in ("right", "left"):
            apex = find_region(canvas, room.visit.body, f"{side} apical zone")
            low = canvas.grid.axes[2][apex.cut[0].start] if apex is not None else 999.0
            self._apex[side] = float(room.project_points(np.array((0.0, 0.0, low)), view)[1])

    def mask_of_side(self, mask: BoolArray, side: str) -> BoolArray:
        """The part of a mask that lies in one half: the patient's right is on the left."""
        kept = mask.copy()
        middle = round(np.clip(self.middle + 0.5, 0, mask.shape[1]))
        kept[:, middle:] &= side == "left"
        kept[:, :middle] &= side == "right"
        return kept

    def zone_weights(self, weights: Floats, side: str) -> dict[str, float]:
        """The zones of a lung that hold a part of what lies in its half, by their weight."""
        rows = weights.sum(axis=1)
        total = float(rows.sum())
        if total <= 0:
            return {}
        at = np.arange(len(rows))
        if rows[at < self._apex[side]].sum() >= _APEX_SHARE * total:
            return {f"{side} apical zone": total}
        held = {
            f"{side} {name}": float(rows[(at >= low) & (at < high)].sum())
            for name, (low, high) in self._rows.items()
        }
        return {name: weight for name, weight in held.items() if weight >= _ZONE_SHARE * total}
