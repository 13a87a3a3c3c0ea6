"""Inpainting: what a hidden region is filled with.

A black box would tell a reader that something is hidden, and darkness is a finding of its own.
So the surroundings are interpolated into the region, coarse to fine, and noise like theirs is
added.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.pixels.sparse_masks import bounding_slices

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]

_CELLS = 2_000_000
"""Cells of the working copy; larger places are filled on a coarser one."""
_PASSES = 12
_BLUR = 10
"""A hidden slice is blurred with a width of its side divided by this."""


def inpaint(pixels: NDArray[Any], inside: Bools, *, seed: int) -> NDArray[Any]:
    """The picture or volume with a place filled from around it; outside nothing changes.

    >>> wall = np.full((40, 40), 50, np.uint8)
    >>> wall[18:22, 18:22] = 255
    >>> place = np.zeros((40, 40), bool)
    >>> place[18:22, 18:22] = True
    >>> int(inpaint(wall, place, seed=0).max())
    50
    """
    out = pixels.copy()
    if not inside.any():
        return out
    cut = _bounding_block(inside)
    hidden = inside[cut]
    known = ~hidden
    dice = np.random.default_rng(seed)
    colours: list[int | None] = [None]
    if pixels.ndim > inside.ndim:
        colours = list(range(pixels.shape[inside.ndim]))
    for colour in colours:
        where: tuple[slice | int, ...] = cut if colour is None else (*cut, colour)
        part = np.nan_to_num(out[where].astype(np.float32))
        if not known.any():
            part[hidden] = float(np.median(part))
        else:
            part[hidden] = _interpolate(part, known, hidden)
            part[hidden] += _noise_level(part, known) * dice.standard_normal(int(hidden.sum()), np.float32)
            seen = part[known]
            part[hidden] = np.clip(part[hidden], seen.min(), seen.max())
        out[where] = np.where(hidden, _to_dtype(part, pixels.dtype), out[where])
    return out


def interpolate_slices(ras: NDArray[Any], axis: int, gone: Bools, *, seed: int) -> NDArray[Any]:
    """A volume whose `gone` slices are interpolated from their blurred neighbours.

    Blurred, because a lesion that both neighbours show would otherwise be seen again.
    """
    from scipy import ndimage

    out = ras.copy()
    slabs, source = np.moveaxis(out, axis, 0), np.moveaxis(ras, axis, 0)
    dice = np.random.default_rng(seed)
    there = np.flatnonzero(~gone)
    if not there.size:
        return out
    wide = [side / _BLUR for side in source.shape[1:]]

    def smooth(index: int) -> Floats:
        plain = np.nan_to_num(source[index].astype(np.float32))
        blurred: Floats = ndimage.gaussian_filter(plain, wide, mode="nearest")
        return blurred

    for run in np.split(np.flatnonzero(gone), np.flatnonzero(np.diff(np.flatnonzero(gone)) > 1) + 1):
        before, after = there[there < run[0]], there[there > run[-1]]
        low = smooth(int(before[-1])) if before.size else smooth(int(after[0]))
        high = smooth(int(after[0])) if after.size else low
        beside = source[int(before[-1]) if before.size else int(after[0])].astype(np.float32)
        noise = _noise_level(np.nan_to_num(beside), np.ones(beside.shape, bool))
        for place, index in enumerate(run, 1):
            share = place / (len(run) + 1)
            between = low * (1 - share) + high * share
            between = between + noise * dice.standard_normal(between.shape, np.float32)
            slabs[index] = _to_dtype(between, ras.dtype)
    return out


def _to_dtype(values: NDArray[Any], dtype: Any) -> NDArray[Any]:
    if np.issubdtype(dtype, np.integer):
        kind = np.iinfo(dtype)
        values = np.clip(np.rint(values), kind.min, kind.max)
    stored: NDArray[Any] = values.astype(dtype)
    return stored


def _bounding_block(inside: Bools) -> tuple[slice, ...]:
    """The smallest block around a place, with as much around it as there is inside."""
    cut = []
    for part in bounding_slices(inside) or ():
        margin = max(8, (part.stop - 1 - part.start) // 2)
        cut.append(slice(max(0, part.start - margin), part.stop + margin))
    return tuple(cut)


def _interpolate(part: Floats, known: Bools, hidden: Bools) -> Floats:
    """Values for the hidden pixels, interpolated from the known ones."""
    step = 1
    while part.size / step**part.ndim > _CELLS:
        step += 1
    total, count = _block_sums(part * known, step), _block_sums(known.astype(np.float32), step)
    coarse = _fill_unknown(np.divide(total, count, out=np.zeros_like(total), where=count > 0), count > 0)
    if step == 1:
        return coarse[hidden]
    from scipy import ndimage

    for axis in range(part.ndim):
        coarse = np.repeat(coarse, step, axis=axis)
    coarse = coarse[tuple(slice(0, n) for n in part.shape)]
    fine: Floats = ndimage.uniform_filter(coarse, step, mode="nearest")[hidden]
    return fine


def _fill_unknown(values: Floats, known: Bools) -> Floats:
    """Unknown cells from a copy of half the size, that one from the next, until all is known."""
    from scipy import ndimage

    if known.all() or max(values.shape) == 1:
        return values
    total, count = _block_sums(values * known, 2), _block_sums(known.astype(np.float32), 2)
    half = np.divide(total, count, out=np.zeros_like(total), where=count > 0)
    coarse = _fill_unknown(half, count > 0)
    for axis in range(values.ndim):
        coarse = np.repeat(coarse, 2, axis=axis)
    coarse = coarse[tuple(slice(0, n) for n in values.shape)]
    mixed = np.where(known, values, coarse)
    # Only the unknown ones are smoothed, until they lie between what is around them.
    for _ in range(_PASSES):
        mixed = np.where(known, values, ndimage.uniform_filter(mixed, 3, mode="nearest"))
    return mixed.astype(np.float32)


def _block_sums(values: Floats, step: int) -> Floats:
    """Sums over blocks of `step` cells along each axis."""
    if step == 1:
        return values
    for axis in range(values.ndim):
        values = np.add.reduceat(values, np.arange(0, values.shape[axis], step), axis=axis)
    return values


def _noise_level(part: Floats, known: Bools) -> float:
    """The spread of the noise of the known pixels: how far each lies from the mean around it."""
    from scipy import ndimage

    # Of a large place the first part will do, which is margin and so is known.
    some = max(3, int(part.shape[-1] * min(1.0, _CELLS / part.size)))
    part, known = part[..., :some], known[..., :some]
    flat = known & (ndimage.uniform_filter(known.astype(np.float32), 3, mode="nearest") > 0.999)
    if not flat.any():
        return 0.0
    apart = (part - ndimage.uniform_filter(part, 3, mode="nearest"))[flat]
    cells = 3**part.ndim
    # By the median: edges of organs are no noise.
    return float(np.median(np.abs(apart)) * 1.4826 * np.sqrt(cells / (cells - 1)))
