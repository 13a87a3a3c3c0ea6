"""The scan that findings are drawn on, and what a drawn finding is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.ontology import lungs as lung_names
from overread.phantom.body.anatomy import Body
from overread.phantom.body.boxes import box_of, nested
from overread.phantom.body.canvas import Canvas, Cut, Voxels
from overread.phantom.body.grain import smooth_field
from overread.phantom.body.lungs import LOBES, SEGMENTS
from overread.phantom.body.shapes import Floats, Place, Point, soft
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
    plan: int = -1
    """Number of the plan that it was drawn for."""
    order: int = 0
    """How many findings were drawn before it."""
    middles: tuple[Point | None, ...] = ()
    """Where its entities were put, of those that are put somewhere; None for one without room."""
    target: Target | None = None
    """Where it was to go."""
    state: Mapping[str, Any] | None = None
    """The random generator's state before it was drawn: with it, it can be drawn again."""

    @property
    def voxels(self) -> int:
        """How many voxels it has."""
        return sum(entity.voxels for entity in self.entities)


@dataclass(frozen=True)
class Former:
    """A finding as it was on an earlier day, and how much of it there is to be on this one."""

    drawn: Drawn
    earlier: tuple[Drawn, ...]
    """What was drawn before it on that day, in that order: it went where those left room."""
    ratio: tuple[float, float]
    """Its volume on this day over that on the earlier one: the least and the most."""


@dataclass(frozen=True)
class Target:
    """What a finding is to be: where, how large, and how many of it.

    Lobes by their codes, or one segment, of one or both lungs.
    """

    lobes: tuple[str, ...]
    segment: str | None = None
    scale: float = 1.0
    """Scale of its size."""
    span: tuple[float, float] | None = None
    """The smallest and the largest scale of all days on which it is drawn, where there are more."""
    count: tuple[int, int] | None = None
    """Fewest and most entities, where it is something that one counts; as usual where absent."""
    at: tuple[Point | None, ...] | None = None
    """Where its entities were put on an earlier day, and are put again."""

    @property
    def widest(self) -> float:
        """The scale for which there must be room."""
        return self.scale if self.span is None else self.span[1]

    def fitted(self, size: float, *, low: float = 0.0, high: float = inf) -> float:
        """A size before it is scaled, so that scaled it is neither too small nor too large.

        It fits the scale of every day on which the finding is drawn.
        """
        small, large = self.span or (self.scale, self.scale)
        if size * large > high:
            size = high / large
        return low / small if size * small < low else size

    def number(self, rng: np.random.Generator, usual: int) -> int:
        """How many entities there are to be."""
        return usual if self.count is None else int(rng.integers(self.count[0], self.count[1] + 1))

    def apart(self, rng: np.random.Generator) -> np.random.Generator:
        """Randomness for one part of the finding.

        Where the finding is drawn on several days it is the part's own, so that the others do not
        change with the size of this one.
        """
        return rng if self.span is None else np.random.default_rng(int(rng.integers(2**62)))

    def seats(self, number: int, found: list[Point]) -> list[Point]:
        """Places for one entity: where it was, on a later day; else those that were found."""
        if self.at is None:
            return found
        there = self.at[number] if number < len(self.at) else None
        return [] if there is None else [there]

    @property
    def sides(self) -> tuple[str, ...]:
        """The lungs that it goes to, right first."""
        found = {lung_names().by_code[code].side for code in self.lobes}
        return tuple(side for side in ("right", "left") if side in found)

    @property
    def each(self) -> tuple[Target, ...]:
        """The target lobe by lobe."""
        return tuple(replace(self, lobes=(lobe,)) for lobe in self.lobes)

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


__all__ = [
    "LEAST_VOXELS",
    "Axes",
    "Drawn",
    "Entity",
    "Former",
    "Mask",
    "Scan",
    "Target",
    "box_of",
    "graded",
]
