"""The average symmetric surface distance of two lesions, exact, and no further than is needed.

Most distances are short where two lesions match. Those are found for all voxels at once, by
laying one surface over the other at every place around it, nearest first; what is left is asked
of a KD-tree. At every moment what is known bounds the mean from below, and a pair that cannot
come within the limit any more is left alone. Where it only matters whether a pair is within the
limit, cells of voxels are asked for instead of voxels, as long as that can tell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product

import numpy as np

from overread.metrics.masks.components import Floats
from overread.metrics.masks.outlines import COLUMN, Bits, Outline, Spacing, group_into_cells
from overread.metrics.masks.settings import Assd
from overread.metrics.masks.voxel_runs import Ints

_PLACES = 250
"""About so many places around a voxel are looked at before the KD-tree is asked."""
_ASKING, _STARTING = 1000, 10_000
"""What asking for one voxel, and starting on another place, take in words laid over: once few
voxels are left it is quicker to ask for them."""
_MOST_WORDS = 1 << 20
"""So many words of a surface are laid over the other at once."""


class SurfacePair:
    """A pair of lesions and their average symmetric surface distance (ASSD), computed only as far
    as the limit in mm needs.

    >>> from overread.metrics.masks.outlines import draw_outline
    >>> from overread.metrics.masks.voxel_runs import VoxelRuns
    >>> ends = (np.array([n, n + 2])[:, None] for n in (0, 64))
    >>> two = [draw_outline(VoxelRuns((8, 8, 8), *both, label=np.ones(1))) for both in ends]
    >>> meeting = SurfacePair(*two, (1.0, 1.0, 2.0), variant="pooled", limit=3.0)
    >>> meeting.may_be_near, meeting.distance()
    (True, 2.0)
    """

    def __init__(
        self, one: Outline, other: Outline, spacing: Spacing, *, variant: Assd, limit: float
    ) -> None:
        self._forward, self._backward = (
            _DistanceSearch(one, other, spacing),
            _DistanceSearch(other, one, spacing),
        )
        self._sizes = (one.size, other.size)
        self._variant: Assd = variant
        self._limit = limit

    @cached_property
    def may_be_near(self) -> bool:
        """Whether it can still be within the limit, when all short distances are known."""
        here, there = self._forward, self._backward
        for search, back in ((here, there), (there, here)):
            if not back.least:
                ends = back.target.low[None], back.target.high[None]
                back.least = float(box_distance_bounds(back.points, *ends, back.spacing)[0])
            if not search.find_near(self._allowed(search, back.least)):
                return False
        return True

    def is_near(self) -> bool | None:
        """Whether it is within the limit; None where only the distance itself can tell."""
        if not self.may_be_near:
            return False
        sides = (self._forward, self._backward)
        for cell in (0, 4, 2):
            (low, high), (low_back, high_back) = (side.bounds(cell) for side in sides)
            if mean_distance(high, high_back, *self._sizes, self._variant) <= self._limit:
                return True
            if mean_distance(low, low_back, *self._sizes, self._variant) > self._limit:
                return False
        return None

    def distance(self) -> float | None:
        """The distance; None where it is beyond the limit."""
        here, there = self._forward, self._backward
        if not self.may_be_near:
            return None
        for search, back in ((here, there), (there, here)):
            if not search.find_rest(self._allowed(search, back.least)):
                return None
        return mean_distance(here.total, there.total, *self._sizes, self._variant)

    def _allowed(self, search: _DistanceSearch, back: float) -> float:
        """What the distances of one side may sum up to, given what the other's do at least."""
        one, other = self._sizes if search is self._forward else self._sizes[::-1]
        if self._variant == "pooled":
            return self._limit * (one + other) - back
        return (2 * self._limit - back / other) * one


def mean_distance(here: float, there: float, one: int, other: int, variant: Assd) -> float:
    """The mean of the distances of both surfaces, from their sums and their numbers of voxels."""
    if variant == "pooled":
        return (here + there) / (one + other)
    return (here / one + there / other) / 2


def box_distance_bounds(points: Outline, low: Ints, high: Ints, spacing: Spacing) -> Floats:
    """For each box: less than what the distances of the surface voxels to it sum up to."""
    least = np.zeros(len(low))
    for axis, (after, far_after, before, far_before) in enumerate(points.sums):
        wide = COLUMN if axis == 0 else 1
        last = len(after) - 1
        top, bottom = high[:, axis] - points.corner[axis], low[:, axis] - points.corner[axis]
        # A box that ends before the first place is as far from all as that place, and farther.
        place, beyond = np.divmod(np.maximum(top, 0), wide)
        ahead = np.minimum(place, last)
        gap = wide * far_after[ahead] - beyond * after[ahead]
        gap = np.where(place > last, 0, gap) + np.maximum(-top, 0) * points.size
        place, within = np.divmod(np.minimum(bottom, (last + 1) * wide - 1), wide)
        behind = np.maximum(place, 0)
        back = wide * far_before[behind] - (wide - 1 - within) * before[behind]
        back = np.where(place < 0, 0, back)
        back = back + np.maximum(bottom - (last + 1) * wide + 1, 0) * points.size
        np.maximum(least, (gap + back) * spacing[axis], out=least)
    return least


@dataclass(frozen=True)
class _Shell:
    """All places at one distance; those before a voxel in its row stand for those after it."""

    distance: float
    places: tuple[tuple[int, int, int], ...]
    """(voxels, rows, slices) away."""


@lru_cache(maxsize=64)
def _shells(spacing: Spacing) -> tuple[tuple[_Shell, ...], tuple[int, int, int], float]:
    """Places around a voxel, nearest first; how far they reach; the radius they fill."""
    radius = float((_PLACES * 3 / (4 * np.pi) * np.prod(spacing)) ** (1 / 3))
    radius = min(radius, spacing[0] * (COLUMN - 1))
    reach = tuple(int(radius / step) for step in spacing)
    found: dict[float, list[tuple[int, int, int]]] = {}
    for along, row, level in product(range(reach[0] + 1), *(range(-n, n + 1) for n in reach[1:])):
        distance = float(np.linalg.norm(np.multiply((along, row, level), spacing)))
        if distance <= radius:
            found.setdefault(distance, []).append((along, row, level))
    shells = tuple(_Shell(distance, tuple(found[distance])) for distance in sorted(found))
    return shells, (reach[0], reach[1], reach[2]), radius


class _DistanceSearch:
    """The distances from each surface voxel of one lesion to the surface of another."""

    def __init__(self, points: Outline, target: Outline, spacing: Spacing) -> None:
        self.points, self.target, self.spacing = points, target, spacing
        self.shells, self.reach, self.radius = _shells(spacing)
        self.total = 0.0  # of the distances that are known
        self.left = points.size  # voxels whose distance is not known yet
        self.rest = points.bits  # these voxels
        self.beyond = self.radius  # each of their distances is at least this
        self.least = 0.0  # what all distances sum up to at least

    def find_near(self, allowed: float) -> bool:
        """Find all short distances; False once the sum is known to exceed what is allowed."""
        columns, rows, slices = (
            range(
                max(int(self.points.low[axis]), int(self.target.low[axis]) - reach),
                min(int(self.points.high[axis]), int(self.target.high[axis]) + reach) + 1,
            )
            for axis, reach in enumerate(self.reach)
        )
        if columns and rows and slices:
            columns = range(columns[0] // COLUMN, columns[-1] // COLUMN + 1)
            self.rest = self.points.bits.copy()
            deep = max(1, _MOST_WORDS // ((len(rows) + 8) * (len(columns) + 4)))
            for first in range(slices.start, slices.stop, deep):
                part = range(first, min(first + deep, slices.stop))
                if not self._overlay(columns, rows, part, allowed, partly=deep < len(slices)):
                    return False
        self.least = max(self.least, self.total + self.left * self.beyond)
        return self.least <= allowed

    def _overlay(self, columns: range, rows: range, slices: range, allowed: float, *, partly: bool) -> bool:
        """Lay the target over one part of the points, at every place around it."""
        aside, up = self.reach[1], self.reach[2]
        # Empty words and rows around what is looked for: nothing that is moved out of its row or
        # slice comes upon a voxel of another. Beside the first and the last row that may be a
        # place in the next slice, hence one slice more.
        words, width = len(columns) + 2, len(rows) + 2 * aside
        width += -width % (4 // math.gcd(4, words))  # counted in words of 64 bits
        piece = width * words
        corner = (slices.start, rows.start - aside, columns.start - 1)
        active = np.zeros((len(slices), width, words), dtype="<u2")
        own, into = _overlap_slices(self.points, (slices, rows, columns), corner)
        active[into] = self.points.bits[own]
        room = np.zeros((len(slices) + 2 * up + 2, width, words), dtype="<u2")
        corner = (slices.start - up - 1, *corner[1:])
        around = [range(n, n + size) for n, size in zip(corner, room.shape, strict=True)]
        taken, placed = _overlap_slices(self.target, around, corner)
        room[placed] = self.target.bits[taken]
        flat, laid = active.reshape(-1), room.reshape(-1)
        # Voxels of another part may be near; those of none are farther away than any place.
        here = _count(flat)
        farther = 0 if partly else self.left - here
        hit, moved = np.empty_like(flat), {0: laid}
        for number, shell in enumerate(self.shells):
            if here * _ASKING < (len(self.shells) - number) * (len(flat) + _STARTING):
                if here:
                    self.beyond = min(self.beyond, shell.distance)
                break
            if self.total + (here + farther) * shell.distance > allowed:
                return False
            seen: list[Bits] = []
            for along, over, level in shell.places:
                if along not in moved:
                    moved[along] = _shift_bits(laid, along)
                begin = (up + 1 + level) * piece + over * words
                there = moved[along][begin : begin + len(flat)]
                seen = [np.bitwise_or(seen[0], there, out=hit) if seen else there]
            np.bitwise_and(seen[0], flat, out=hit)
            count = _count(hit)
            if count:
                flat ^= hit
                self.total += count * shell.distance
                self.left -= count
                here -= count
        self.rest[own] = active[into]
        return True

    def bounds(self, cell: int) -> tuple[float, float]:
        """Between what the sum of all distances lies.

        Cells of so many voxels a side stand for the voxels that are left and for those of the
        target; with 0, nothing is farther than the box around both is long.
        """
        if not self.left:
            return self.total, self.total
        if not cell:
            low = np.minimum(self.points.low, self.target.low)
            high = np.maximum(self.points.high, self.target.high)
            longest = float(np.linalg.norm((high - low) * self.spacing))
            return self.least, self.total + self.left * longest
        places, counts = group_into_cells(self.points.points(self.rest), cell)
        rough = self.target.cells(self.spacing, cell).query(places * self.spacing)[0]
        # Middles of cells are apart what the voxels are, but for where in their cells these lie.
        within = (cell - 1) * float(np.linalg.norm(self.spacing))
        least = float((counts * np.maximum(rough - within, self.beyond)).sum())
        return self.total + least, self.total + float((counts * (rough + within)).sum())

    def find_rest(self, allowed: float) -> bool:
        """Find the distances that are left; False where the sum exceeds what is allowed."""
        if self.left:
            points = self.points.points(self.rest)
            gap = np.maximum(points - self.target.high, self.target.low - points)
            box = np.sqrt(((np.maximum(gap, 0) * self.spacing) ** 2).sum(axis=1))
            if self.total + np.maximum(box, self.beyond).sum() > allowed:
                return False
            tree = self.target.tree(self.spacing)
            self.total += float(tree.query(points * self.spacing)[0].sum())
            self.left = 0
        self.least = self.total
        return self.total <= allowed


def _count(bits: Bits) -> int:
    """How many bits are set."""
    return int(np.bitwise_count(bits.view("<u8")).sum(dtype=np.uint32))


def _overlap_slices(
    outline: Outline, window: Sequence[range], corner: tuple[int, ...]
) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """The part of an outline in a window, and its place in an array that begins at the corner."""
    edges = (outline.corner[2], outline.corner[1], outline.corner[0] // COLUMN)
    own, into = [], []
    for axis, edge, size, begin in zip(window, edges, outline.bits.shape, corner, strict=True):
        first = max(axis.start, edge)
        last = max(first, min(axis.stop, edge + size))
        own.append(slice(first - edge, last - edge))
        into.append(slice(first - begin, last - begin))
    return tuple(own), tuple(into)


def _shift_bits(bits: Bits, along: int) -> Bits:
    """Bits moved along the rows to both sides; each row has an empty word at both ends."""
    if not along:
        return bits
    near, back = np.uint16(along), np.uint16(COLUMN - along)
    moved = bits << near
    moved[1:] |= bits[:-1] >> back
    moved |= bits >> near
    moved[:-1] |= bits[1:] << back
    return moved
