"""Surface voxels of lesions: those with one of their six neighbours outside.

Rows are painted as bits, so the neighbours of a whole lesion are compared in a few operations on
words; beyond the scan is outside.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.metrics.masks.components import Instances, coordinates
from overread.metrics.masks.voxel_runs import Ints, VoxelRuns

Bits = NDArray[Any]
"""Words of 16 bits."""

Spacing = tuple[float, float, float]
"""Millimetres between voxels, along each axis."""

COLUMN = 16
"""Voxels of a row in one word."""
_LONG = 64
_FULL = np.uint64(0xFFFFFFFFFFFFFFFF)


@dataclass(frozen=True)
class Outline:
    """The surface of one lesion, as bits: slices, rows, and 16 voxels of a row in each word."""

    bits: Bits
    corner: tuple[int, int, int]
    """Voxel index of the first bit; along rows a multiple of 16, so outlines lie word on word."""
    low: Ints
    """The lowest voxel index of the lesion along each axis."""
    high: Ints
    """The highest voxel index of the lesion along each axis."""
    _trees: dict[Any, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def size(self) -> int:
        """How many surface voxels there are."""
        return int(self.counts[2].sum())

    @cached_property
    def counts(self) -> tuple[Ints, Ints, Ints]:
        """Surface voxels in each column of 16, in each row number and in each slice."""
        ones = np.bitwise_count(self.bits)
        flat = np.add.reduce(ones, axis=0, dtype=np.uint32)  # long rows first: far quicker
        levels = ones.reshape(len(ones), -1).sum(axis=1, dtype=np.int64)
        return flat.sum(axis=0, dtype=np.int64), flat.sum(axis=1, dtype=np.int64), levels

    @cached_property
    def sums(self) -> list[tuple[Ints, Ints, Ints, Ints]]:
        """For each axis and place on it: voxels after it, and how far after it they are in all.

        Then the same before it. In voxels; along rows in columns.
        """
        found = []
        for counts in self.counts:
            after, before = (_count_before(side) for side in (counts[::-1], counts))
            found.append((after[0][::-1], after[1][::-1], *before))
        return found

    def points(self, bits: Bits | None = None) -> Ints:
        """Voxel indices of the surface, or of other bits in its place; one line a voxel."""
        return self._places(self.bits if bits is None else bits, (1, 1, 1))

    def tree(self, spacing: Spacing) -> Any:
        """The surface in millimetres as a KD-tree, made once."""
        if spacing not in self._trees:
            self._trees[spacing] = make_tree(self.points() * spacing)
        return self._trees[spacing]

    def cells(self, spacing: Spacing, side: int) -> Any:
        """Cells of 2³ or 4³ voxels with surface in them: a KD-tree of their middles, made once."""
        if (spacing, side) not in self._trees:
            slices, rows, columns = self.bits.shape
            room = np.zeros((slices + -slices % side, rows + -rows % side, columns), dtype="<u2")
            room[:slices, :rows] = self.bits
            levels, words = room[::side], room[::side, ::side].copy()
            for n in range(1, side):
                levels |= room[n::side]
            for n in range(side):
                words |= levels[:, n::side]
            for step in (2, 1)[side == 2 :]:
                words |= words >> np.uint16(step)
            # Every second or fourth bit tells of those after it.
            words &= np.uint16(0x5555 if side == 2 else 0x1111)
            middles = self._places(words, (1, side, side)) + (side - 1) / 2
            self._trees[spacing, side] = make_tree(middles * spacing)
        return self._trees[spacing, side]

    def _places(self, bits: Bits, steps: tuple[int, int, int]) -> Ints:
        """Voxel indices of bits, whose columns, rows and slices count for some each."""
        flat = bits.reshape(-1)
        filled = np.flatnonzero(flat != 0)
        ones = np.unpackbits(flat[filled].view(np.uint8), bitorder="little")
        at = np.flatnonzero(ones.view(bool))
        row, column = np.divmod(filled.astype(np.int32)[at >> 4], bits.shape[2])
        level = row // bits.shape[1]
        points = np.empty((len(at), 3), dtype=np.int32)
        points[:, 0] = column * COLUMN + (at & 15) + self.corner[0]
        points[:, 1] = (row - level * bits.shape[1]) * steps[1] + self.corner[1]
        points[:, 2] = level * steps[2] + self.corner[2]
        return points


def _count_before(counts: Ints) -> tuple[Ints, Ints]:
    """How many come before each place, and the sum of their distances from it."""
    number = np.cumsum(counts) - counts
    return number, np.cumsum(number)


def make_tree(places: NDArray[np.float64]) -> Any:
    """A KD-tree that is built, and asked for points nearby, quicker than the usual one."""
    from scipy.spatial import cKDTree

    return cKDTree(places, leafsize=32, balanced_tree=False, compact_nodes=False)


def group_into_cells(points: Ints, side: int) -> tuple[NDArray[np.float64], Ints]:
    """Middles of the cells of 2³ or 4³ voxels that hold points, and how many each holds."""
    size = points.max(axis=0) // side + 1
    cell = points // side
    place = (cell[:, 2] * size[1] + cell[:, 1]).astype(np.int64) * size[0] + cell[:, 0]
    cells, counts = np.unique(place, return_counts=True)
    rows, h = np.divmod(cells, size[0])
    d, w = np.divmod(rows, size[1])
    return np.stack([h, w, d], axis=1) * side + (side - 1) / 2, counts


def draw_outlines(lesions: Instances, which: Ints) -> dict[int, Outline]:
    """The surfaces of some lesions, by their place among all of them; each is drawn once."""
    wanted = np.zeros(len(lesions) + 1, dtype=bool)
    wanted[which] = True
    wanted[list(lesions.outlines)] = False
    inside = np.flatnonzero(wanted[lesions.of_run])
    of_run = lesions.of_run[inside]
    order = inside[np.argsort(of_run, kind="stable")]
    new = np.flatnonzero(wanted)
    edges = np.searchsorted(lesions.of_run[order], [*new.tolist(), len(lesions)]).tolist()
    for place, number in enumerate(new.tolist()):
        part = lesions.runs.select(order[edges[place] : edges[place + 1]])
        lesions.outlines[number] = draw_outline(part)
    return {number: lesions.outlines[number] for number in which.tolist()}


def draw_outline(runs: VoxelRuns) -> Outline:
    """The surface of what the runs hold.

    >>> rows = np.arange(0, 27, 3)
    >>> cube = VoxelRuns((3, 3, 3), rows, rows + 3, label=np.ones(9, int))
    >>> draw_outline(cube).size  # all but the middle
    26
    """
    h, w, d = (axis.astype(np.int64) for axis in coordinates(runs))
    last = h + (runs.stop - runs.start) - 1
    low, high = np.array([h.min(), w[0], d[0]]), np.array([last.max(), w[0], d[-1]])
    low[1], high[1] = w.min(), w.max()
    edge = int(low[0]) // _LONG * _LONG
    words = (int(high[0]) - edge) // _LONG + 1
    width, depth = int(high[1] - low[1]) + 1, int(high[2] - low[2]) + 1
    bits: NDArray[Any] = np.zeros((depth + 2, width + 2, words), dtype="<u8")
    rows = ((d - low[2] + 1) * (width + 2) + w - low[1] + 1) * words
    _set_bits(bits.reshape(-1), rows, h - edge, last - edge)
    middle = np.ascontiguousarray(bits[1:-1, 1:-1])
    inner = middle & bits[1:-1, :-2]
    inner &= bits[1:-1, 2:]
    inner &= bits[:-2, 1:-1]
    inner &= bits[2:, 1:-1]
    side = middle << np.uint64(1)
    side[..., 1:] |= middle[..., :-1] >> np.uint64(63)
    inner &= side
    side = middle >> np.uint64(1)
    side[..., :-1] |= middle[..., 1:] << np.uint64(63)
    inner &= side
    # Interior voxels are in the mask, so taking them away is one XOR.
    outer = (middle ^ inner).view("<u2")
    return Outline(outer, (edge, int(low[1]), int(low[2])), low, high)


def _set_bits(words: NDArray[Any], rows: Ints, first: Ints, last: Ints) -> None:
    """Set the bits `first` to `last` of rows, each given by its first word."""
    begin, end = first >> 6, last >> 6
    many = end - begin + 1
    run = np.repeat(np.arange(len(many)), many)
    word = np.arange(len(run)) - np.repeat(np.cumsum(many) - many - begin, many)
    low = np.maximum(first[run] - word * _LONG, 0).astype(np.uint64)
    high = np.minimum(last[run] - word * _LONG, 63).astype(np.uint64)
    np.bitwise_or.at(words, rows[run] + word, (_FULL << low) & (_FULL >> (np.uint64(63) - high)))
