"""Redraws a finding on a later day: the same one at the same place, with the size it has now.

On the earlier day a finding was drawn in the lung that earlier findings left free, and its shape
followed from the state of the random generator. So it is redrawn with that state and with the same
voxels free, even where the others are gone or larger by now; voxels that belong to another finding
are restored afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import replace
from math import exp, log

import numpy as np

from overread.phantom.body.boxes import to_outer
from overread.phantom.body.canvas import Cut
from overread.phantom.body.lungs import LOBES
from overread.phantom.findings.scan import (
    MIN_VOXELS,
    BoolArray,
    DrawnFinding,
    EarlierFinding,
    Entity,
    Scan,
    Target,
    bounding_box,
)

DrawFunction = Callable[[Scan, np.random.Generator, str, Target], DrawnFinding | None]
"""Draws a finding of a kind; returns None, with nothing drawn, where it does not fit."""

MIN_OVERLAP = 0.5
"""How much of the smaller of two must lie in the larger for them to be one finding on two days."""

_MAX_TRIES = 6
_PAD = 4


class Snapshot:
    """A copy of part of a scan, to restore it from."""

    def __init__(self, scan: Scan, cut: Cut) -> None:
        """Keep what can be drawn on there."""
        self.scan, self.cut = scan, cut
        canvas = scan.canvas
        arrays = (canvas.hu, canvas.organs, canvas.lobes, canvas.segments, scan.claimed)
        self._saved = [(array, array[cut].copy()) for array in arrays]

    def restore(self, where: BoolArray | None = None) -> None:
        """Put HU and labels back, everywhere in the part or in some of its voxels."""
        for array, before in self._saved:
            if where is None:
                array[self.cut] = before
            else:
                array[self.cut][where] = before[where]


def lungs_box(scan: Scan, target: Target) -> Cut:
    """The part of the arrays that a finding of the target may change: its lungs, and their rim."""
    codes = [code for code in LOBES if _side_letter(code) in {_side_letter(lobe) for lobe in target.lobes}]
    box = scan.target_box(Target(tuple(codes)))
    if box is None:
        return slice(0, 0), slice(0, 0), slice(0, 0)
    z, y, x = (
        slice(max(part.start - _PAD, 0), min(part.stop + _PAD, size))
        for part, size in zip(box, scan.canvas.grid.shape, strict=True)
    )
    return z, y, x


class Redrawer:
    """Draws the findings of an earlier day on the scan of a later one."""

    def __init__(self, scan: Scan, formers: Iterable[EarlierFinding]) -> None:
        """Those that are still there; nothing else may have been drawn on the scan's lungs."""
        self.scan = scan
        # Fluid and air take lung away: what they leave of it depends on the day.
        self._lobes, self._segments = scan.canvas.lobes.copy(), scan.canvas.segments.copy()
        self._reserved = np.zeros_like(scan.claimed)
        for former in formers:
            _add_entities(self._reserved, former.drawn.entities)

    def redraw(self, draw: DrawFunction, former: EarlierFinding, scale: float) -> DrawnFinding | None:
        """Draw one so that its volume changes as it should; None, and nothing drawn, if it cannot.

        `scale` is tried first. What the change then was says how strong the next one must be.
        """
        was = former.drawn.target
        assert was is not None
        wanted = (log(former.ratio[0]) + log(former.ratio[1])) / 2
        factor = log(scale / was.scale)
        for _ in range(_MAX_TRIES):
            undo = Snapshot(self.scan, self._lungs_box(was))
            found = self._draw_in_place(draw, former, replace(was, scale=was.scale * exp(factor)), undo)
            there = 0.0 if found is None else found.voxels / former.drawn.voxels
            if found is not None and former.ratio[0] <= there <= former.ratio[1]:
                return found
            undo.restore()
            if not factor:
                break
            # As if the volume were a power of the scale: near enough for the next try.
            power = log(there) / factor if there > 0 else 6.0
            step = wanted / float(np.clip(power, 0.6, 6.0))
            weak, strong = sorted((0.5 * factor, 2.0 * factor))
            factor = min(max(step, weak), strong)
        return None

    def _lungs_box(self, target: Target) -> Cut:
        whole = copy(self.scan)
        whole.canvas = copy(self.scan.canvas)
        whole.canvas.lobes = self._lobes
        return lungs_box(whole, target)

    def _draw_in_place(
        self, draw: DrawFunction, former: EarlierFinding, target: Target, undo: Snapshot
    ) -> DrawnFinding | None:
        """Redraw it with the voxels free that were free then, and cut off what is not free now."""
        old = former.drawn
        assert old.rng_state is not None
        rng = np.random.default_rng()
        rng.bit_generator.state = dict(old.rng_state)
        target = replace(target, earlier_places=old.middles or None)
        found = draw(self._earlier_scan(former), rng, old.kind, target)
        if found is None:
            return None
        own = np.zeros_like(self.scan.claimed)
        _add_entities(own, old.entities)
        blocked = self.scan.claimed | (self._reserved & ~own)
        undo.restore(blocked[undo.cut])
        found.entities = [e for e in (_trim_entity(one, blocked) for one in found.entities) if e]
        if not found.entities:
            return None
        shared = sum(int((own[e.cut] & e.mask).sum()) for e in found.entities)
        if shared < MIN_OVERLAP * min(found.voxels, old.voxels):
            return None
        _add_entities(self.scan.claimed, found.entities)
        for entity in found.entities if found.pleural else ():
            self.scan.canvas.lobes[entity.cut][entity.mask] = 0
            self.scan.canvas.segments[entity.cut][entity.mask] = 0
        found.target, found.rng_state = replace(target, earlier_places=None), old.rng_state
        return found

    def _earlier_scan(self, former: EarlierFinding) -> Scan:
        """A copy of the scan with the HU of this day, free where the earlier day was."""
        canvas = copy(self.scan.canvas)
        canvas.lobes, canvas.segments = self._lobes.copy(), self._segments.copy()
        room = Scan(self.scan.body, canvas, self.scan.difficulty)
        for drawn in former.drawn_before:
            _add_entities(room.claimed, drawn.entities)
            for entity in drawn.entities if drawn.pleural else ():
                canvas.lobes[entity.cut][entity.mask] = 0
                canvas.segments[entity.cut][entity.mask] = 0
        return room


def _side_letter(lobe: str) -> str:
    """R or L: how the codes of lobes begin."""
    return lobe[0]


def _add_entities(mask: BoolArray, entities: Iterable[Entity]) -> None:
    for entity in entities:
        mask[entity.cut] |= entity.mask


def _trim_entity(entity: Entity, blocked: BoolArray) -> Entity | None:
    """An entity less some voxels; None where too little is left of it."""
    left = entity.mask & ~blocked[entity.cut]
    inner = bounding_box(left)
    if inner is None or int(left.sum()) < MIN_VOXELS:
        return None
    return Entity(to_outer(entity.cut, inner), left[inner].copy())
