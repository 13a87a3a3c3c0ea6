"""The scan that findings are drawn on, and what a drawn finding is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from overread.ontology import lungs as lung_names
from overread.phantom.body.anatomy import Body
from overread.phantom.body.canvas import NUMBER, Canvas, Cut
from overread.phantom.body.lungs import LOBES, SEGMENTS
from overread.phantom.body.noise import smooth_field
from overread.phantom.body.shapes import Floats, Point, soft
from overread.phantom.difficulty import Difficulty
from overread.phantom.statement import Severity

Mask = NDArray[np.bool_]
Axes = tuple[Floats, Floats, Floats]

LEAST_VOXELS = 10
"""An entity with fewer voxels is no entity."""


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

    def cut(self, centre: Sequence[float], reach: float | Sequence[float]) -> Cut | None:
        """The part of the arrays within `reach` millimetres of a point, along each axis."""
        r = (reach,) * 3 if isinstance(reach, int | float) else reach
        low = tuple(float(c) - float(d) for c, d in zip(centre, r, strict=True))
        high = tuple(float(c) + float(d) for c, d in zip(centre, r, strict=True))
        return self.canvas.grid.cut(low, high)

    def at(self, cut: Cut) -> Axes:
        """x, y, z of a part in the patient's millimetres; they broadcast to its shape."""
        return self.canvas.grid.at(cut)

    def depth(self, cut: Cut) -> Floats:
        """Millimetres from the pleura in a part; negative outside the lungs."""
        return self.body.depth(*self.at(cut))

    def free(self, cut: Cut, target: Target) -> Mask:
        """Voxels of a part that belong to the target and to no other finding."""
        numbers = [LOBES.index(code) + 1 for code in target.lobes]
        own = np.isin(self.canvas.lobes[cut], numbers)
        if target.segment is not None:
            own &= self.canvas.segments[cut] == SEGMENTS.index(target.segment) + 1
        return own & ~self.taken[cut]

    def whole(self, target: Target) -> Cut | None:
        """The smallest part of the arrays that holds the target."""
        numbers = [LOBES.index(code) + 1 for code in target.lobes]
        held = np.isin(self.canvas.lobes, numbers)
        if target.segment is not None:
            held &= self.canvas.segments == SEGMENTS.index(target.segment) + 1
        return box_of(held)

    def spot(
        self,
        rng: np.random.Generator,
        target: Target,
        *,
        depth: tuple[float, float] = (0.0, 1000.0),
        tries: int = 400,
    ) -> Point | None:
        """A point of the target, so far from the pleura, in no other finding."""
        cut = self.whole(target)
        if cut is None:
            return None
        x, y, z = (axis.ravel() for axis in self.at(cut))
        i, j, k = (rng.integers(0, len(axis), tries) for axis in (x, y, z))
        inside = self.free(cut, target)[k, j, i]
        far = self.body.depth(x[i], y[j], z[k])
        good = np.flatnonzero(inside & (far >= depth[0]) & (far <= depth[1]))
        if not len(good):
            return None
        n = good[0]
        return float(x[i[n]]), float(y[j[n]]), float(z[k[n]])

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
        cut = tuple(  # type: ignore[assignment]
            slice((outer.start or 0) + part.start, (outer.start or 0) + part.stop)
            for outer, part in zip(cut, inner, strict=True)
        )
        entity = Entity(cut, mask[inner].copy())
        self.taken[entity.cut] |= entity.mask
        return entity


def box_of(mask: Mask) -> Cut | None:
    """The smallest part that holds every set voxel; None where there is none."""
    slices = []
    for axis in range(3):
        others = tuple(a for a in range(3) if a != axis)
        hit = np.flatnonzero(mask.any(axis=others))
        if not len(hit):
            return None
        slices.append(slice(int(hit[0]), int(hit[-1]) + 1))
    return slices[0], slices[1], slices[2]


__all__ = ["LEAST_VOXELS", "NUMBER", "Drawn", "Entity", "Mask", "Scan", "Target", "box_of"]
