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
    edges = []
    for axis in range(marked.ndim):
        others = tuple(n for n in range(marked.ndim) if n != axis)
        there = np.flatnonzero(marked.any(axis=others))
        edges.append((int(there[0]), int(there[-1]) + 1) if there.size else (0, 0))
    # A copy: a view would keep the whole mask alive.
    block = marked[tuple(slice(*edge) for edge in edges)].astype(np.uint8)
    return SparseMask(marked.shape, tuple(begin for begin, _ in edges), block)
