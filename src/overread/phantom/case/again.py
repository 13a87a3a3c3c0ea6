"""A finding drawn once more on a later day: the same one at the same place, as large as it is now.

On the earlier day a finding went where those drawn before it left room, and its shape followed from
the state that the random generator had then. So it is drawn again with that state and in that room,
even where the others are gone or larger by now; afterwards whatever it has on the voxels of another
finding is taken back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import replace
from math import exp, log

import numpy as np

from overread.phantom.body.boxes import nested
from overread.phantom.body.canvas import Cut
from overread.phantom.body.lungs import LOBES
from overread.phantom.findings.scan import (
    LEAST_VOXELS,
    Drawn,
    Entity,
    Former,
    Mask,
    Scan,
    Target,
    box_of,
)

Draw = Callable[[Scan, np.random.Generator, str, Target], Drawn | None]
"""Draws a finding of a kind; answers None, and has drawn nothing, where it does not fit."""

SAME_PLACE = 0.5
"""How much of the smaller of two must lie in the larger for them to be one finding on two days."""

_TRIES = 6
_PAD = 4


class Snapshot:
    """Part of a scan as it was at a moment, to return to."""

    def __init__(self, scan: Scan, cut: Cut) -> None:
        """Keep what can be drawn on there."""
        self.scan, self.cut = scan, cut
        canvas = scan.canvas
        arrays = (canvas.hu, canvas.organs, canvas.lobes, canvas.segments, scan.taken)
        self._kept = [(array, array[cut].copy()) for array in arrays]

    def restore(self, where: Mask | None = None) -> None:
        """Put HU and labels back, everywhere in the part or in some of its voxels."""
        for array, before in self._kept:
            if where is None:
                array[self.cut] = before
            else:
                array[self.cut][where] = before[where]


def lungs_around(scan: Scan, target: Target) -> Cut:
    """The part of the arrays that a finding of the target may change: its lungs, and their rim."""
    codes = [code for code in LOBES if _side(code) in {_side(lobe) for lobe in target.lobes}]
    box = scan.whole(Target(tuple(codes)))
    if box is None:
        return slice(0, 0), slice(0, 0), slice(0, 0)
    z, y, x = (
        slice(max(part.start - _PAD, 0), min(part.stop + _PAD, size))
        for part, size in zip(box, scan.canvas.grid.shape, strict=True)
    )
    return z, y, x


class Again:
    """Draws the findings of an earlier day on the scan of a later one."""

    def __init__(self, scan: Scan, formers: Iterable[Former]) -> None:
        """Those that are still there; nothing else may have been drawn on the scan's lungs."""
        self.scan = scan
        # Fluid and air take lung away: what they leave of it depends on the day.
        self._lobes, self._segments = scan.canvas.lobes.copy(), scan.canvas.segments.copy()
        self._reserved = np.zeros_like(scan.taken)
        for former in formers:
            _add(self._reserved, former.drawn.entities)

    def draw(self, draw: Draw, former: Former, scale: float) -> Drawn | None:
        """Draw one so that its volume changes as it should; None, and nothing drawn, if it cannot.

        `scale` is tried first. What the change then was says how strong the next one must be.
        """
        was = former.drawn.target
        assert was is not None
        wanted = (log(former.ratio[0]) + log(former.ratio[1])) / 2
        factor = log(scale / was.scale)
        for _ in range(_TRIES):
            undo = Snapshot(self.scan, self._around(was))
            found = self._drawn(draw, former, replace(was, scale=was.scale * exp(factor)), undo)
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

    def _around(self, target: Target) -> Cut:
        whole = copy(self.scan)
        whole.canvas = copy(self.scan.canvas)
        whole.canvas.lobes = self._lobes
        return lungs_around(whole, target)

    def _drawn(self, draw: Draw, former: Former, target: Target, undo: Snapshot) -> Drawn | None:
        """Draw it in the room it had, and keep it to what is free now."""
        old = former.drawn
        assert old.state is not None
        rng = np.random.default_rng()
        rng.bit_generator.state = dict(old.state)
        target = replace(target, at=old.middles or None)
        found = draw(self._room(former), rng, old.kind, target)
        if found is None:
            return None
        own = np.zeros_like(self.scan.taken)
        _add(own, old.entities)
        blocked = self.scan.taken | (self._reserved & ~own)
        undo.restore(blocked[undo.cut])
        found.entities = [e for e in (_without(one, blocked) for one in found.entities) if e]
        if not found.entities:
            return None
        shared = sum(int((own[e.cut] & e.mask).sum()) for e in found.entities)
        if shared < SAME_PLACE * min(found.voxels, old.voxels):
            return None
        _add(self.scan.taken, found.entities)
        for entity in found.entities if found.pleural else ():
            self.scan.canvas.lobes[entity.cut][entity.mask] = 0
            self.scan.canvas.segments[entity.cut][entity.mask] = 0
        found.target, found.state = replace(target, at=None), old.state
        return found

    def _room(self, former: Former) -> Scan:
        """The scan with the room that there was on the earlier day; HU are those of this one."""
        canvas = copy(self.scan.canvas)
        canvas.lobes, canvas.segments = self._lobes.copy(), self._segments.copy()
        room = Scan(self.scan.body, canvas, self.scan.difficulty)
        for drawn in former.earlier:
            _add(room.taken, drawn.entities)
            for entity in drawn.entities if drawn.pleural else ():
                canvas.lobes[entity.cut][entity.mask] = 0
                canvas.segments[entity.cut][entity.mask] = 0
        return room


def _side(lobe: str) -> str:
    """R or L: how the codes of lobes begin."""
    return lobe[0]


def _add(mask: Mask, entities: Iterable[Entity]) -> None:
    for entity in entities:
        mask[entity.cut] |= entity.mask


def _without(entity: Entity, blocked: Mask) -> Entity | None:
    """An entity less some voxels; None where too little is left of it."""
    left = entity.mask & ~blocked[entity.cut]
    inner = box_of(left)
    if inner is None or int(left.sum()) < LEAST_VOXELS:
        return None
    return Entity(nested(entity.cut, inner), left[inner].copy())
