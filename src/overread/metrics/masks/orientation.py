"""Finds masks in a wrong orientation: would a mask with low Dice fit if it were flipped or its axes
swapped?

The right shape in the wrong orientation is the commonest mistake with these files, and headers do
not show it. Only masks that hardly overlap the truth are tried, so this costs nothing where all is
well.
"""

from __future__ import annotations

from itertools import permutations, product

import numpy as np

from overread.metrics.masks.components import coordinates
from overread.metrics.masks.voxel_runs import Ints, VoxelRuns

LOW_DICE = 0.1
"""Dice below which a mask is tried in other orientations."""
CLEAR_DICE = 0.3
"""Dice that it must reach there to be worth a word."""
MAX_VOXELS = 20_000
"""Voxels of a prediction that are turned: of more than these, every so-many-th."""

_AXES = ("H", "W", "D")


def find_better_turn(truth: VoxelRuns, predicted: VoxelRuns) -> tuple[str, float] | None:
    """How the prediction must be turned to fit the truth, and its Dice then; None if it cannot.

    Flips along all axes are tried, each with every exchange of equally long axes.

    >>> here = VoxelRuns((10, 4, 1), np.array([0]), np.array([4]), np.array([1]))
    >>> there = VoxelRuns((10, 4, 1), np.array([36]), np.array([40]), np.array([1]))
    >>> find_better_turn(here, there)
    ('flipped along H and W', 1.0)
    """
    mine, theirs = truth.join_touching()[0], predicted.join_touching()[0]
    size = mine.voxels + theirs.voxels
    if not len(mine) or not len(theirs):
        return None
    voxels, shape = _voxels(theirs), truth.shape
    best, told = 0.0, ""
    for axes, flips in product(permutations(range(3)), product((False, True), repeat=3)):
        if tuple(shape[axis] for axis in axes) != shape:
            continue
        turned = [
            shape[n] - 1 - voxels[axis] if flip else voxels[axis]
            for n, (axis, flip) in enumerate(zip(axes, flips, strict=True))
        ]
        dice = 2 * theirs.voxels * _share_within(mine, turned) / size
        if axes == (0, 1, 2) and not any(flips):
            if dice >= LOW_DICE:
                return None
        elif dice > best:
            best, told = dice, _describe_turn(axes, flips)
    return (told, best) if best >= CLEAR_DICE else None


def _describe_turn(axes: tuple[int, ...], flips: tuple[bool, ...]) -> str:
    """A turn in words that go on after 'when'."""
    moved = [_AXES[n] for n, axis in enumerate(axes) if n != axis]
    flipped = " and ".join(name for name, flip in zip(_AXES, flips, strict=True) if flip)
    if not moved:
        return f"flipped along {flipped}"
    if len(moved) == 2:
        words = f"{moved[0]} and {moved[1]} are swapped"
    else:
        words = "its axes are put in the order " + ", ".join(_AXES[axis] for axis in axes)
    return f"{words} and it is flipped along {flipped}" if flipped else words


def _voxels(runs: VoxelRuns) -> list[Ints]:
    """Where the voxels of a mask lie along each axis; evenly spread ones where there are many."""
    length = (runs.stop - runs.start).astype(np.int64)
    ends = np.cumsum(length)
    chosen = np.arange(0, ends[-1], -(-int(ends[-1]) // MAX_VOXELS))
    run = np.searchsorted(ends, chosen, side="right")
    h, w, d = (axis.astype(np.int64) for axis in coordinates(runs))
    return [h[run] + chosen - (ends - length)[run], w[run], d[run]]


def _share_within(runs: VoxelRuns, voxels: list[Ints]) -> float:
    """The share of some voxels that lie within a mask."""
    height, width, _ = runs.shape
    place = voxels[0] + height * (voxels[1] + width * voxels[2])
    run = np.searchsorted(runs.start, place, side="right") - 1
    return float(((run >= 0) & (place < runs.stop[run])).mean())
