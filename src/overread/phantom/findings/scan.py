"""The scan that findings are drawn on, and what a drawn finding is."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from overread.ontology import lungs as lung_names
from overread.phantom.body.anatomy import Body
from overread.phantom.body.boxes import box_of, nested
from overread.phantom.body.canvas import Canvas, Cut, Voxels
from overread.phantom.body.grain import smooth_field
from overread.phantom.body.lungs import LOBES, SEGMENTS
from overread.phantom.body.shapes import Floats, Place, soft
from overread.phantom.difficulty import Difficulty
from overread.phantom.statement import Severity

Mask = NDArray[np.bool_]
Axes = tuple[Floats, Floats, Floats]

LEAST_VOXELS = 10
"""An entity with fewer voxels is no entity."""
LEVELS: tuple[Severity, ...] = ("mild", "moderate", "severe")


def graded(share: float, moderate: float, severe: float) -> Severity:
    """How bad something is, by the share of the lung that it takes."""
    return LEVELS[(share >= moderate) + (share >= severe)]


@dataclass
class Entity:
    """One lesion as its voxels: a part of the arrays, and which of its voxels."""

    cut: Cut
    mask: Mask

    @property
    def voxels(self) -> int:
        """How many voxels it has."""
        return int(self.mask.sum())


@dataclass
class Drawn:
    """One finding after it was drawn; its statement is measured from its voxels."""

    category: str
    kind: str
    entities: list[Entity]
    countable: bool = False
    sized: bool = False
    """Whether one would give its size."""
    pleural: bool = False
    """Whether it lies in a pleural space rather than in a lobe."""
    severity: Severity | None = None
    spread: tuple[str, ...] = ()
    traits: tuple[str, ...] = ()


@dataclass(frozen=True)
class Target:
    """Where a finding is to go: lobes by their codes, or one segment, of one or both lungs."""

    lobes: tuple[str, ...]
    segment: str | None = None

    @property
    def sides(self) -> tuple[str, ...]:
        """The lungs that it goes to, right first."""
        found = {lung_names().by_code[code].side for code in self.lobes}
        return tuple(side for side in ("right", "left") if side in found)

    @property
    def each(self) -> tuple[Target, ...]:
        """The target lobe by lobe."""
        return tuple(Target((lobe,), self.segment) for lobe in self.lobes)

    @property
    def lower(self) -> bool:
        """Whether it lies in the lower lobes only."""
        return all(lobe in ("RLL", "LLL") for lobe in self.lobes)

    @property
    def basal(self) -> bool:
        """Whether the foot of it is the base of a lung: at that of an upper lobe nobody says so."""
        return self.lower and self.segment not in ("RS6", "LS6")


@dataclass
class Scan:
    """A body on its canvas, and what was drawn on it so far."""

    body: Body
    canvas: Canvas
    difficulty: Difficulty
    taken: Mask = field(init=False)
    """Voxels of findings that were drawn already: no two findings share one."""

    def __post_init__(self) -> None:
        self.taken = np.zeros(self.canvas.grid.shape, bool)

    @property
    def grain(self) -> float:
        """The longest side of a voxel, in millimetres."""
        return max(self.canvas.grid.step)

    def cut(self, centre: Place, reach: float) -> Cut | None:
        """The part of the arrays within `reach` millimetres of a point, along each axis."""
        low, high = (tuple(float(c) + far for c in centre) for far in (-reach, reach))
        return self.canvas.grid.cut(low, high)

    def at(self, cut: Cut) -> Axes:
        """x, y, z of a part in the patient's millimetres; they broadcast to its shape."""
        return self.canvas.grid.at(cut)

    def depth(self, cut: Cut) -> Floats:
        """Millimetres from the pleura in a part; negative outside the lungs."""
        return self.body.depth(*self.at(cut))

    def held(self, where: Cut | Voxels, target: Target) -> Mask:
        """Which voxels of a part, or of a list, belong to the target."""
        numbers = [LOBES.index(code) + 1 for code in target.lobes]
        own = np.isin(self.canvas.lobes[where], numbers)
        if target.segment is not None:
            own &= self.canvas.segments[where] == SEGMENTS.index(target.segment) + 1
        return own

    def free(self, where: Cut | Voxels, target: Target) -> Mask:
        """Which voxels of a part, or of a list, belong to the target and to no other finding."""
        return self.held(where, target) & ~self.taken[where]

    def whole(self, target: Target) -> Cut | None:
        """The smallest part of the arrays that holds the target."""
        return box_of(self.held((slice(None),) * 3, target))

    def waves(self, rng: np.random.Generator, cut: Cut, scale: float) -> Floats:
        """A smooth random field over a part: deviation 1, structures about `scale` mm wide."""
        return smooth_field(rng, *self.at(cut), scale)

    def mix(self, cut: Cut, cover: Floats, hu: Floats | float) -> None:
        """Blend a value into a part: `cover` says how much of each voxel it fills, 0 to 1."""
        view = self.canvas.hu[cut]
        view += (np.asarray(hu, np.float32) - view) * cover.astype(np.float32)

    def soft(self, depth: Floats) -> Floats:
        """Cover of a shape given by its depth."""
        return soft(depth, self.canvas.grid.blur)

    def take(self, cut: Cut, mask: Mask) -> Entity | None:
        """Make an entity of a mask, shrunk to its box; None where too little is left of it."""
        mask = mask & ~self.taken[cut]
        if int(mask.sum()) < LEAST_VOXELS:
            return None
        inner = box_of(mask)
        assert inner is not None
        entity = Entity(nested(cut, inner), mask[inner].copy())
        self.taken[entity.cut] |= entity.mask
        return entity


__all__ = ["LEAST_VOXELS", "Axes", "Drawn", "Entity", "Mask", "Scan", "Target", "box_of", "graded"]
