"""Masks of a CT in millimetres: wider, narrower, opened, closed, cut into parts; and smoothing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Floats = NDArray[np.float32]
Spacing = tuple[float, float, float]
"""Millimetres of a voxel."""


def blur(volume: NDArray[Any], mm: float, spacing: Spacing) -> Floats:
    """A volume smoothed by a Gaussian of so many millimetres."""
    from scipy import ndimage

    sigma = [mm / one for one in spacing]
    out: Floats = ndimage.gaussian_filter(np.asarray(volume, np.float32), sigma, mode="nearest", truncate=3)
    return out


def ball_element(mm: float, spacing: Spacing) -> Bools:
    """A ball of that radius as a structuring element."""
    reach = [int(mm / one + 1e-6) for one in spacing]
    axes = np.ogrid[tuple(slice(-r, r + 1) for r in reach)]
    squares = [(axis * one) ** 2 for axis, one in zip(axes, spacing, strict=True)]
    within: Bools = squares[0] + squares[1] + squares[2] <= mm * mm + 1e-6
    return within


def dilate(mask: Bools, mm: float, spacing: Spacing) -> Bools:
    """A mask and everything within so many millimetres of it."""
    if not mask.any():
        return mask
    box = _box_with_margin(mask, [int(np.ceil(mm / one)) + 1 for one in spacing])
    out = mask.copy()
    out[box] |= _dilate_within(mask[box], mm, spacing)
    return out


def erode(mask: Bools, mm: float, spacing: Spacing) -> Bools:
    """The part of a mask that is deeper than so many millimetres."""
    if not mask.any():
        return mask
    box = _box_with_margin(mask, [2, 2, 2])
    out = np.zeros_like(mask)
    out[box] = ~_dilate_within(~mask[box], mm, spacing)
    return out


def _dilate_within(mask: Bools, mm: float, spacing: Spacing) -> Bools:
    """Voxels within so many millimetres of a mask: moved copies for short ways, else distances."""
    from scipy import ndimage

    element = ball_element(mm, spacing)
    if max(element.shape) > 11:
        far = ndimage.distance_transform_edt(~mask, sampling=spacing) > mm
        return np.asarray(~far) if mask.any() else np.zeros_like(mask)
    # A ball is made of rows along the last axis: rows of each length once, then moved sideways.
    rows: dict[int, Bools] = {0: mask}
    for length in range(1, element.shape[2] // 2 + 1):
        longer = rows[length - 1].copy()
        longer[..., length:] |= mask[..., :-length]
        longer[..., :-length] |= mask[..., length:]
        rows[length] = longer
    out = np.zeros_like(mask)
    middle = element.shape[0] // 2, element.shape[1] // 2
    for i, j in np.argwhere(element.any(axis=2)):
        row = rows[(int(element[i, j].sum()) - 1) // 2]
        to = [slice(max(0, d), min(0, d) or None) for d in (i - middle[0], j - middle[1])]
        of = [slice(max(0, -d), min(0, -d) or None) for d in (i - middle[0], j - middle[1])]
        out[to[0], to[1]] |= row[of[0], of[1]]
    return out


def open_mask(mask: Bools, mm: float, spacing: Spacing) -> Bools:
    """What is left of a mask where a ball of that radius fits in."""
    return dilate(erode(mask, mm, spacing), mm, spacing) & mask


def close_mask(mask: Bools, mm: float, spacing: Spacing) -> Bools:
    """A mask with gaps and holes filled that are narrower than twice so many millimetres."""
    swollen = dilate(mask, mm, spacing)
    return erode(swollen, mm, spacing) | mask


def _box_with_margin(mask: Bools, margin: list[int]) -> tuple[slice, slice, slice]:
    edges = []
    for axis in range(3):
        others = tuple(n for n in range(3) if n != axis)
        there = np.flatnonzero(mask.any(axis=others))
        low = max(0, int(there[0]) - margin[axis])
        edges.append(slice(low, min(mask.shape[axis], int(there[-1]) + 1 + margin[axis])))
    return edges[0], edges[1], edges[2]


def bounding_box(mask: Bools, margin: int = 0) -> tuple[slice, slice, slice]:
    """The smallest box that holds a mask, with a margin of so many voxels."""
    return _box_with_margin(mask, [margin] * 3)


def label_parts(mask: Bools, *, touching: int = 1) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Connected parts of a mask, numbered from 1, and how many voxels each has (0 for none)."""
    from scipy import ndimage

    labels, count = ndimage.label(mask, ndimage.generate_binary_structure(3, touching))
    sizes = np.bincount(labels.ravel(), minlength=int(count) + 1)
    sizes[0] = 0
    return labels, sizes
