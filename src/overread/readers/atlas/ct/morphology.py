"""Density and texture of lung tissue: what lies between the vessels, and how it varies."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread.readers.atlas.ct.chest import Bools, ChestCt, Floats, Spacing, blur

FINE = 4.0
"""Millimetres over which the density of tissue is taken."""
VESSELS = -450
"""HU over which a voxel in air-holding lung is vessel, wall or dense disease."""


def normal_density(chest: ChestCt) -> float:
    """HU that most of this lung has: what is healthy in it, unless nearly all of it is ill."""
    inside = chest.smoothed[_erode_once(chest.air)]
    inside = inside[(inside > -1000) & (inside < -500)]
    if inside.size < 100:
        return -850.0
    counts, edges = np.histogram(inside, bins=100, range=(-1000, -500))
    smooth = np.convolve(counts, np.ones(5) / 5, mode="same")
    # Deep breath and age move it, disease moves it further: a lung that is hazy all over would
    # else be taken for healthy.
    return float(np.clip((edges[smooth.argmax()] + edges[smooth.argmax() + 1]) / 2, -910, -780))


def tissue_density(chest: ChestCt) -> tuple[Floats, Floats, Floats]:
    """Density of lung tissue without its vessels: mean, spread and share of tissue near by."""
    tissue = _erode_once(chest.air) & (chest.hu < VESSELS)
    weight = tissue.astype(np.float32)
    shifted = np.where(tissue, chest.hu + 800, 0).astype(np.float32)
    total = blur(weight, FINE, chest.mm)
    safe = np.maximum(total, 1e-3)
    mean = blur(shifted, FINE, chest.mm) / safe
    square = blur(shifted * shifted, FINE, chest.mm) / safe
    spread = np.sqrt(np.maximum(square - mean * mean, 0))
    room = blur(chest.lung_spaces, FINE, chest.mm)
    share = total / np.maximum(room, 0.05)
    density: Floats = np.where(total > 0.02, mean - 800, 0).astype(np.float32)
    return density, spread.astype(np.float32), share.astype(np.float32)


def _erode_once(lung: Bools) -> Bools:
    """A lung without its outermost voxels, which are half chest wall."""
    from scipy import ndimage

    inner: Bools = ndimage.binary_erosion(lung)
    return inner


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
