"""The scan that findings are drawn on, and what a drawn finding is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.ontology import lung_anatomy as lung_names
from overread.phantom.body.anatomy import Body
from overread.phantom.body.boxes import bounding_box, to_outer
from overread.phantom.body.canvas import Canvas, Cut, Voxels
from overread.phantom.body.lungs import LOBES, SEGMENTS
from overread.phantom.body.noise import smooth_field
from overread.phantom.body.shapes import Coordinates, Floats, Point, soft_cover
from overread.phantom.difficulty import Difficulty
from overread.phantom.statement import Severity

BoolArray = NDArray[np.bool_]
Axes = tuple[Floats, Floats, Floats]

MIN_VOXELS = 10
"""An entity with fewer voxels is no entity."""
SEVERITIES: tuple[Severity, ...] = ("mild", "moderate", "severe")


def grade_severity(share: float, moderate: float, severe: float) -> Severity:
    """How bad something is, by the share of the lung that it takes."""
    return SEVERITIES[(share >= moderate) + (share >= severe)]


@dataclass
class Entity:
    """One lesion as its voxels: a part of the arrays, and which of its voxels."""

    cut: Cut
    mask: BoolArray

    @property
    def voxels(self) -> int:
        """How many voxels it has."""
        return int(self.mask.sum())


@dataclass
class DrawnFinding:
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
    rng_state: Mapping[str, Any] | None = None
    """The random generator's state before it was drawn: with it, it can be drawn again."""

    @property
    def voxels(self) -> int:
        """How many voxels it has."""
        return sum(entity.voxels for entity in self.entities)


@dataclass(frozen=True)
class EarlierFinding:
    """A finding as it was drawn on an earlier day, and how much larger it is to be on this one."""

    drawn: DrawnFinding
    drawn_before: tuple[DrawnFinding, ...]
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
    earlier_places: tuple[Point | None, ...] | None = None
    """Where its entities were put on an earlier day, and are put again."""

    @property
    def max_scale(self) -> float:
        """The largest scale of all days: there must be room for it."""
        return self.scale if self.span is None else self.span[1]

    def fit_size(self, size: float, *, low: float = 0.0, high: float = inf) -> float:
        """A size before it is scaled, so that scaled it is neither too small nor too large.

        It fits the scale of every day on which the finding is drawn.
        """
        small, large = self.span or (self.scale, self.scale)
        if size * large > high:
            size = high / large
        return low / small if size * small < low else size

    def draw_count(self, rng: np.random.Generator, usual: int) -> int:
        """How many entities there are to be."""
        return usual if self.count is None else int(rng.integers(self.count[0], self.count[1] + 1))

    def split_rng(self, rng: np.random.Generator) -> np.random.Generator:
        """The random generator for one part of the finding.

        Where the finding is drawn on several days each part gets its own generator, so that its
        size does not change the other parts; else it is `rng` itself.
        """
        return rng if self.span is None else np.random.default_rng(int(rng.integers(2**62)))

    def choose_places(self, number: int, found: list[Point]) -> list[Point]:
        """Places to try for one entity: its earlier place on a later day, else those found."""
        if self.earlier_places is None:
            return found
        there = self.earlier_places[number] if number < len(self.earlier_places) else None
        return [] if there is None else [there]

    @property
    def sides(self) -> tuple[str, ...]:
        """The lungs that it goes to, right first."""
        found = {lung_names().by_code[code].side for code in self.lobes}
        return tuple(side for side in ("right", "left") if side in found)

    @property
    def by_lobe(self) -> tuple[Target, ...]:
        """The target lobe by lobe."""
        return tuple(replace(self, lobes=(lobe,)) for lobe in self.lobes)

    @property
    def is_lower(self) -> bool:
        """Whether it lies in the lower lobes only."""
        return all(lobe in ("RLL", "LLL") for lobe in self.lobes)

    @property
    def is_basal(self) -> bool:
        """Whether its lower end is the base of a lung."""
        return self.is_lower and self.segment not in ("RS6", "LS6")


@dataclass
class Scan:
    """A body on its canvas, and what was drawn on it so far."""

    body: Body
    canvas: Canvas
    difficulty: Difficulty
    claimed: BoolArray = field(init=False)
    """Voxels of findings that were drawn already: no two findings share one."""

    def __post_init__(self) -> None:
        self.claimed = np.zeros(self.canvas.grid.shape, bool)

    @property
    def voxel_mm(self) -> float:
        """The longest side of a voxel, in millimetres."""
        return max(self.canvas.grid.step)

    def box_around(self, centre: Coordinates, reach: float) -> Cut | None:
        """The part of the arrays within `reach` millimetres of a point, along each axis."""
        low, high = (tuple(float(c) + far for c in centre) for far in (-reach, reach))
        return self.canvas.grid.box_between(low, high)

    def coordinates(self, cut: Cut) -> Axes:
        """x, y, z of a part in the patient's millimetres; they broadcast to its shape."""
        return self.canvas.grid.coordinates(cut)

    def lung_depth(self, cut: Cut) -> Floats:
        """Millimetres from the pleura in a part; negative outside the lungs."""
        return self.body.lung_depth(*self.coordinates(cut))

    def target_voxels(self, where: Cut | Voxels, target: Target) -> BoolArray:
        """Which voxels of a part, or of a list, belong to the target."""
        numbers = [LOBES.index(code) + 1 for code in target.lobes]
        own = np.isin(self.canvas.lobes[where], numbers)
        if target.segment is not None:
            own &= self.canvas.segments[where] == SEGMENTS.index(target.segment) + 1
        return own

    def free_voxels(self, where: Cut | Voxels, target: Target) -> BoolArray:
        """Which voxels of a part, or of a list, belong to the target and to no other finding."""
        return self.target_voxels(where, target) & ~self.claimed[where]

    def target_box(self, target: Target) -> Cut | None:
        """The smallest part of the arrays that holds the target."""
        return bounding_box(self.target_voxels((slice(None),) * 3, target))

    def smooth_noise(self, rng: np.random.Generator, cut: Cut, scale: float) -> Floats:
        """A smooth random field over a part: deviation 1, structures about `scale` mm wide."""
        return smooth_field(rng, *self.coordinates(cut), scale)

    def blend(self, cut: Cut, cover: Floats, hu: Floats | float) -> None:
        """Blend a value into a part: `cover` says how much of each voxel it fills, 0 to 1."""
        view = self.canvas.hu[cut]
        view += (np.asarray(hu, np.float32) - view) * cover.astype(np.float32)

    def soft_cover(self, depth: Floats) -> Floats:
        """Cover of a shape given by its depth."""
        return soft_cover(depth, self.canvas.grid.blur)

    def claim_entity(self, cut: Cut, mask: BoolArray) -> Entity | None:
        """Take the free voxels of a mask for an entity; None where too few are left."""
        mask = mask & ~self.claimed[cut]
        if int(mask.sum()) < MIN_VOXELS:
            return None
        inner = bounding_box(mask)
        assert inner is not None
        entity = Entity(to_outer(cut, inner), mask[inner].copy())
        self.claimed[entity.cut] |= entity.mask
        return entity


__all__ = [
    "MIN_VOXELS",
    "Axes",
    "BoolArray",
    "DrawnFinding",
    "EarlierFinding",
    "Entity",
    "Scan",
    "Target",
    "bounding_box",
    "grade_severity",
]
