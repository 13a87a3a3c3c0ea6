"""A hint for whoever scores low: would the mask fit if it were turned?

The right shape in the wrong orientation is the commonest mistake with these files, and no header
tells. Only masks that hardly touch the truth are tried, so the hint costs nothing where all is
well.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from overread.metrics.masks.runs import Runs

LOW = 0.1
"""Dice below which a mask is tried in other orientations."""
CLEAR = 0.3
"""Dice that it must reach there to be worth a word."""

_AXES = ("H", "W", "D")


def better_turn(truth: Runs, predicted: Runs) -> tuple[str, float] | None:
    """How the prediction must be turned to fit the truth, and its Dice then; None if it cannot.

    >>> here = Runs((10, 4, 1), np.array([0]), np.array([4]), np.array([1]))
    >>> there = Runs((10, 4, 1), np.array([36]), np.array([40]), np.array([1]))
    >>> better_turn(here, there)
    ('flipped along H and W', 1.0)
    """
    mine, theirs = truth.joined()[0], predicted.joined()[0]
    size = mine.voxels + theirs.voxels
    if not len(mine) or not len(theirs) or 2 * _shared(mine, theirs) / size >= LOW:
        return None
    best, told = 0.0, ""
    for flips in product((False, True), repeat=3):
        if any(flips):
            dice = 2 * _shared(mine, _flipped(theirs, flips)) / size
            if dice > best:
                axes = [axis for axis, turned in zip(_AXES, flips, strict=True) if turned]
                best, told = dice, "flipped along " + " and ".join(axes)
    return (told, best) if best >= CLEAR else None


def _flipped(runs: Runs, flips: tuple[bool, ...]) -> Runs:
    """The runs mirrored along some axes, in the order of the file again."""
    height, width, depth = runs.shape
    row = runs.start.astype(np.int64) // height
    first, last = runs.start - row * height, runs.stop - row * height
    across, down = row % width, row // width
    if flips[0]:
        first, last = height - last, height - first
    if flips[1]:
        across = width - 1 - across
    if flips[2]:
        down = depth - 1 - down
    base = (down * width + across) * height
    order = np.argsort(base + first)
    return Runs(runs.shape, (base + first)[order], (base + last)[order], runs.label[order])


def _shared(one: Runs, other: Runs) -> int:
    """Voxels in both; runs of either are apart from each other and in order."""
    # Voxels of the other up to a place: a staircase, read off at both ends of each run.
    before = np.concatenate(([0], np.cumsum(other.stop - other.start, dtype=np.int64)))

    def upto(place: NDArray[np.int64]) -> NDArray[np.int64]:
        run = np.searchsorted(other.start, place, side="right") - 1
        inside = np.minimum(place, other.stop[run]) - other.start[run]
        return np.where(run < 0, 0, before[run] + inside)

    return int((upto(one.stop) - upto(one.start)).sum())
