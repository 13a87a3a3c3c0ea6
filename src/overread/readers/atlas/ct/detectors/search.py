"""What all detectors share: where to look, what was marked and why, and how parts are chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from overread.ontology import lung_anatomy as lung_names
from overread.readers.atlas.ct.chest import SIDES, ChestCt
from overread.readers.atlas.ct.lobes import LOBES, find_segments
from overread.readers.atlas.ct.morphology import Bools, dilate, label_parts
from overread.readers.atlas.ct.target import SearchTarget

TOLERANCE = 6.0
"""Millimetres by which a fissure may be somewhere else than it was put."""


@dataclass
class DetectorResult:
    """What a detector marked, in voxels of the working copy, and the measurements behind it."""

    mask: Bools
    measured: list[str] = field(default_factory=list)
    """What was looked at, one sentence a step."""
    why: str = ""
    """What was chosen, and why."""


@dataclass(eq=False)
class Search:
    """One sentence in one chest."""

    chest: ChestCt
    target: SearchTarget

    @cached_property
    def side_space(self) -> Bools:
        """The room of the side that is named, or of both."""
        side = self.target.side
        if side not in SIDES and self.target.lobes:
            own = {lung_names().by_code[code].side for code in self.target.lobes}
            side = own.pop() if len(own) == 1 else None
        return self.chest.lung_space[side] if side in SIDES else self.chest.lung_spaces

    @cached_property
    def place(self) -> Bools:
        """The lobes, zones or side that the sentence names; without any, both lungs."""
        wanted, chest = self.target, self.chest
        if wanted.lobes:
            return np.isin(chest.lobes, [LOBES.index(code) + 1 for code in wanted.lobes])
        if wanted.zones:
            return self.side_space & _zone_mask(chest, wanted.zones)
        return self.side_space

    @cached_property
    def nearby(self) -> Bools:
        """The place and a margin around it, since the fissures are only fitted."""
        if not (self.target.lobes or self.target.zones):
            return self.place
        return dilate(self.place, TOLERANCE, self.chest.mm) & self.chest.lung_spaces

    @cached_property
    def focus(self) -> Bools:
        """The segments that are named; without any, the place."""
        if not self.target.segments:
            return self.place
        parts = find_segments(self.chest, self.target.segments)
        whole = np.zeros(self.place.shape, bool)
        for part in parts.values():
            whole |= part
        return whole if whole.any() else self.place

    @property
    def depth(self) -> NDArray[np.float32]:
        """Millimetres from the nearest edge of the rooms."""
        return self.chest.depth

    @property
    def place_name(self) -> str:
        """The place in words."""
        names = lung_names()
        parts = [names.by_code[code].name for code in self.target.lobes]
        if not parts:
            parts = [f"{zone} zone" for zone in self.target.zones]
            side = self.target.side
            parts.append(f"the {side} lung" if side in SIDES else "both lungs")
        segments = [names.segments[code].name for code in self.target.segments]
        return ", ".join(parts) + (f" ({', '.join(segments)})" if segments else "")

    def empty_result(self, *measured: str) -> DetectorResult:
        """An empty mark."""
        empty = np.zeros(self.chest.hu.shape, bool)
        return DetectorResult(empty, list(measured), "Nothing there fits, and nothing is marked.")


Detector = Callable[[Search], DetectorResult]


def _zone_mask(chest: ChestCt, zones: tuple[str, ...]) -> Bools:
    """Thirds of each lung's height."""
    out = np.zeros(chest.hu.shape, bool)
    for side in SIDES:
        levels = np.flatnonzero(chest.lung_space[side].any(axis=(0, 1)))
        if not levels.size:
            continue
        third = (levels[-1] - levels[0] + 1) / 3
        for zone in zones:
            n = {"lower": 0, "mid": 1, "middle": 1, "upper": 2}.get(zone)
            if n is None:
                continue
            low, high = round(levels[0] + n * third), round(levels[0] + (n + 1) * third)
            out[:, :, low:high] |= chest.lung_space[side][:, :, low:high]
    return out


def select_parts(
    search: Search, region: Bools, *, least_ml: float, share: float = 0.0
) -> tuple[Bools, list[str]]:
    """The parts of a region that lie where the sentence says, cut at the fissures they cross.

    A part that lies there for the most is taken whole, since the fissure may be a little off; of
    one that only reaches there, what lies there. Where segments are named, parts that touch them
    are preferred. Parts with less than a `share` of the largest are left out.
    """
    chest = search.chest
    labels, sizes = label_parts(region)
    count = len(sizes)
    here = np.bincount(labels[search.place], minlength=count)
    core = np.bincount(labels[search.focus], minlength=count)
    least = least_ml / chest.voxel_ml
    kept = [n for n in range(1, count) if here[n] >= least and sizes[n] >= least]
    out = np.zeros(region.shape, bool)
    if not kept:
        return out, []
    if search.target.segments:
        best = max(core[n] for n in kept)
        kept = [n for n in kept if core[n] >= min(0.25 * best, 0.2 * sizes[n])]
    most = max((here[n] for n in kept), default=0)
    kept = sorted((n for n in kept if here[n] >= share * most), key=lambda n: -here[n])
    words: list[str] = []
    for n in kept:
        part = labels == n
        inside = here[n] / sizes[n]
        out |= part if inside > 0.8 else part & search.place
        if len(words) < 6:
            words.append(f"{sizes[n] * chest.voxel_ml:.1f} ml, {inside:.0%} of it there")
    return out, words
