"""Masks in memory as the smallest block around their voxels: a finding fills little of a CT."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class SparseMask:
    """A mask as the smallest block that holds all its voxels; `numpy.asarray` gives all of it."""

    shape: tuple[int, ...]
    """Of the whole mask."""
    corner: tuple[int, ...]
    """Where the block begins."""
    block: NDArray[np.uint8]
    """Its voxels: 0, and 1 or the labels that were drawn."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        """The whole mask, made now."""
        whole = np.zeros(self.shape, dtype or np.uint8)
        ends = zip(self.corner, self.block.shape, strict=True)
        whole[tuple(slice(begin, begin + size) for begin, size in ends)] = self.block
        return whole


def to_sparse_mask(mask: Any) -> SparseMask:
    """What is to be kept of a mask: labels of one byte as they are, else what is not 0.

    >>> kept = to_sparse_mask(np.eye(512, dtype=bool)[..., None] & (np.arange(300) == 7))
    >>> kept.shape, kept.corner, kept.block.shape
    ((512, 512, 300), (0, 0, 7), (512, 512, 1))
    """
    marked = np.asarray(mask)
    marked = marked if marked.dtype in (np.bool_, np.uint8) else marked != 0
    cut = bounding_slices(marked) or (slice(0, 0),) * marked.ndim
    # A copy: a view would keep the whole mask alive.
    return SparseMask(marked.shape, tuple(part.start for part in cut), marked[cut].astype(np.uint8))


def bounding_slices(mask: NDArray[Any]) -> tuple[slice, ...] | None:
    """The smallest block that holds every voxel that is not 0; None where all are."""
    cut = []
    for axis in range(mask.ndim):
        others = tuple(n for n in range(mask.ndim) if n != axis)
        there = np.flatnonzero(mask.any(axis=others))
        if not there.size:
            return None
        cut.append(slice(int(there[0]), int(there[-1]) + 1))
    return tuple(cut)
