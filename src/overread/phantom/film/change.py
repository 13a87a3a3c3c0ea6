"""What a film would lose with one finding: which pixels change, how far, and in which zones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from overread.phantom.body.shapes import Floats
from overread.phantom.film.region_rules import TOP, rib_end
from overread.phantom.film.regions import region_mask
from overread.phantom.film.room import FilmRoom
from overread.phantom.film.sign import Corners, View
from overread.phantom.findings.scan import Mask

SMOOTHED_MM = 2.0
"""Deviation of the blur under which films are compared: finer detail is lost among vessels."""
LEVEL = 6.0
"""Grey levels from which a pixel counts as changed."""
PATCH_MM2 = 50.0
"""The size of the patch on which a change must be strong: a disc of 8 mm."""
_CRUMB_MM2 = 12.0
"""Changed pixels that hang together in less than this are left out of a box."""
_SHARE = 0.2
"""The share of a sign that a zone must hold to be named."""
_APEX = 0.8
"""The share of a sign above the collar bone from which it is called apical."""


@dataclass(frozen=True)
class Change:
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
        return float((self.levels >= LEVEL).sum()) * self.spacing**2

    def shown(self, outline: Mask | None = None) -> Mask:
        """Where it shows: pixels that change, and by a fifth of the strength at least.

        Where an outline is given, only pixels that belong to it or lie next to it.
        """
        mask = self.levels >= max(LEVEL, self.strength / 5)
        if outline is not None:
            near = ndimage.binary_dilation(outline, iterations=max(1, round(2 / self.spacing)))
            mask &= near
        return without_crumbs(mask, _CRUMB_MM2 / self.spacing**2)


def change(with_it: NDArray[np.uint8], without: NDArray[np.uint8], spacing: float) -> Change:
    """Compare two films."""
    if np.array_equal(with_it, without):
        return Change(np.zeros(with_it.shape, np.float32), spacing)
    differs = with_it.astype(np.float32) - without
    blurred = ndimage.gaussian_filter(differs, SMOOTHED_MM / spacing, truncate=3)
    return Change(np.abs(blurred), spacing)


def without_crumbs(mask: Mask, pixels: float) -> Mask:
    """A mask less its islets, unless it consists of islets only."""
    numbers, _ = ndimage.label(mask)
    sizes = np.bincount(numbers.ravel())
    sizes[0] = 0
    kept: Mask = (sizes >= pixels)[numbers]
    return kept if kept.any() else mask


def box_of_pixels(mask: Mask) -> Corners | None:
    """The smallest box that holds every set pixel; None where there is none."""
    columns, rows = np.flatnonzero(mask.any(axis=0)), np.flatnonzero(mask.any(axis=1))
    if not len(rows):
        return None
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


class Halves:
    """The halves of a frontal film and the zones of the lungs on it, as rows and columns."""

    def __init__(self, room: FilmRoom, view: View) -> None:
        """Borders are where the planes of the template fall at the middle depth of the chest."""
        habitus, canvas = room.visit.body.habitus, room.canvas
        levels = (TOP, rib_end(2), rib_end(4), -250.0)
        points = habitus.patient(np.array([(0.0, 0.0, level) for level in levels]))
        columns, rows = room.place(points, view)
        self.middle = float(columns[1:3].mean())
        """Column of the midline."""
        self._rows = {
            "upper lung zone": (-np.inf, rows[1]),
            "mid lung zone": (rows[1], rows[2]),
            "lower lung zone": (rows[2], np.inf),
        }
        self._apex = {}
        for side in ("right", "left"):
            apex = region_mask(canvas, room.visit.body, f"{side} apical zone")
            low = canvas.grid.axes[2][apex.cut[0].start] if apex is not None else 999.0
            self._apex[side] = float(room.place(np.array((0.0, 0.0, low)), view)[1])

    def side(self, mask: Mask, side: str) -> Mask:
        """The part of a mask that lies in one half: the patient's right is on the left."""
        kept = mask.copy()
        middle = round(np.clip(self.middle + 0.5, 0, mask.shape[1]))
        kept[:, middle:] &= side == "left"
        kept[:, :middle] &= side == "right"
        return kept

    def zones(self, weights: Floats, side: str) -> dict[str, float]:
        """The zones of a lung that hold a part of what lies in its half, by their weight."""
        rows = weights.sum(axis=1)
        total = float(rows.sum())
        if total <= 0:
            return {}
        at = np.arange(len(rows))
        if rows[at < self._apex[side]].sum() >= _APEX * total:
            return {f"{side} apical zone": total}
        held = {
            f"{side} {name}": float(rows[(at >= low) & (at < high)].sum())
            for name, (low, high) in self._rows.items()
        }
        return {name: weight for name, weight in held.items() if weight >= _SHARE * total}
