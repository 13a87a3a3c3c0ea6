"""Control regions: other regions of equal size in the same picture, to compare a hidden one with.

A control region has the shape of the region and as many pixels, and overlaps nothing that must be
left alone. A region in the body is moved within the body, and one in the lungs within the lungs,
both roughly segmented: hiding a corner of air would be no comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.core import Box, Geometry
from overread.pixels.draw import Rectangle, rectangle
from overread.pixels.geometry import from_ras, ras_geometry, to_ras

Bools = NDArray[np.bool_]
Voxels = NDArray[np.int64]
Shift = tuple[int, int, int]
MAX_PARTS = 300
"""Connected parts of a mask that are moved; smaller ones are left out."""
OUT_OF_VOLUME: Shift = (1_000_000, 0, 0)
"""A move out of every volume."""
MIN_INSIDE = 0.5
"""Share of a region that must lie in the body (the lungs) for it to be moved within it."""
MIN_ALIKE = 0.9
"""How much of that share the other place must have."""
_OFFSETS = 250_000
_TRIES, _BATCH, _POINTS = 10_000, 500, 200
_COARSE = 4.0
_BODY, _AIR = -500, -500


def as_slices(place: Rectangle) -> tuple[slice, slice]:
    """A rectangle as the part of an array."""
    top, left, bottom, right = place
    return slice(top, bottom), slice(left, right)


# ---- boxes ---------------------------------------------------------------------------------


def control_boxes(
    films: Mapping[str, NDArray[Any]], boxes: Mapping[str, Sequence[Box]], dice: np.random.Generator
) -> dict[str, tuple[Box, ...]] | None:
    """The boxes moved elsewhere in flat pictures, at random; None where there is no room for them.

    Boxes stay in their picture where that has room, else they go to another one of the same size.
    Those that overlap are moved together, so that they cover as many pixels as before.
    """
    taken = {name: np.zeros(film.shape[:2], bool) for name, film in films.items()}
    body = {name: body_mask(film) for name, film in films.items()}
    groups: list[tuple[str, list[Rectangle]]] = []
    for name, own in boxes.items():
        places = [rectangle(box, taken[name].shape) for box in own]
        for place in places:
            taken[name][as_slices(place)] = True
        groups += [(name, group) for group in _group_overlapping(places)]
    found: dict[str, list[Box]] = {}
    for name, places in sorted(groups, key=lambda group: -_total_area(group[1])):
        wanted = _body_pixels(body[name], places)
        alike = [n for n in films if n != name and taken[n].shape == taken[name].shape]
        for there in (name, *(alike[n] for n in dice.permutation(len(alike)))):
            by = _find_offset(places, taken[there], body[there], wanted, dice)
            if by is not None:
                break
        else:
            return None
        for top, left, bottom, right in places:
            moved = (top + by[0], left + by[1], bottom + by[0], right + by[1])
            taken[there][as_slices(moved)] = True
            y1, x1, y2, x2 = moved
            found.setdefault(there, []).append(Box(picture=there, x1=x1, y1=y1, x2=x2, y2=y2))
    return {name: tuple(places) for name, places in found.items()}


def body_mask(pixels: NDArray[Any]) -> Bools:
    """What of a flat picture is no dark ground: above a twentieth of its range, smoothed."""
    from scipy import ndimage

    grey = pixels.astype(np.float32)
    grey = grey.mean(axis=2) if grey.ndim == 3 else grey
    low, high = np.percentile(grey, (1, 99))
    width = max(1, min(grey.shape) // 64)
    body: Bools = ndimage.uniform_filter(grey, width, mode="nearest") > low + (high - low) / 20
    return body


def _connected_groups(numbers: Iterable[int], touch: Callable[[int, int], bool]) -> list[list[int]]:
    """Numbers that hang together, since each touches another of its group.

    >>> _connected_groups([1, 5, 2, 9, 6], lambda one, two: abs(one - two) == 1)
    [[1, 2], [9], [5, 6]]
    """
    groups: list[list[int]] = []
    for number in numbers:
        touching = [own for own in groups if any(touch(number, n) for n in own)]
        groups = [own for own in groups if own not in touching]
        groups.append([n for own in touching for n in own] + [number])
    return groups


def _group_overlapping(places: Sequence[Rectangle]) -> list[list[Rectangle]]:
    """Rectangles in groups: each overlaps another of its group, and none of another group."""
    groups = _connected_groups(range(len(places)), lambda one, two: _overlaps(places[one], places[two]))
    return [[places[number] for number in group] for group in groups]


def _overlaps(one: Rectangle, two: Rectangle) -> bool:
    return one[0] < two[2] and two[0] < one[2] and one[1] < two[3] and two[1] < one[3]


def _total_area(places: Sequence[Rectangle]) -> int:
    return sum((place[2] - place[0]) * (place[3] - place[1]) for place in places)


def _body_pixels(body: Bools, places: Sequence[Rectangle]) -> float:
    """How many pixels of the body rectangles hold."""
    return float(sum(np.count_nonzero(body[as_slices(place)]) for place in places))


def _find_offset(
    own: Sequence[Rectangle], taken: Bools, body: Bools, wanted: float, dice: np.random.Generator
) -> tuple[int, int] | None:
    """By how much a group is moved: random, among all moves that keep it inside and off others.

    `wanted` is how many pixels of the body it held before.
    """
    height, width = taken.shape
    top, left = min(p[0] for p in own), min(p[1] for p in own)
    tall, wide = height - max(p[2] for p in own) + top, width - max(p[3] for p in own) + left
    step = max(1, int(np.ceil(np.sqrt((tall + 1) * (wide + 1) / _OFFSETS))))
    down = np.arange(int(dice.integers(step)), tall + 1, step) - top
    across = np.arange(int(dice.integers(step)), wide + 1, step) - left
    occupied, filled = _integral_image(taken), _integral_image(body)
    free = np.ones((len(down), len(across)), bool)
    within = np.zeros((len(down), len(across)))
    for place in own:
        free &= _pixels_inside(occupied, place, down, across) == 0
        within += _pixels_inside(filled, place, down, across)
    if wanted >= MIN_INSIDE * _total_area(own):
        free &= within >= MIN_ALIKE * wanted
    rows, columns = np.nonzero(free)
    if not rows.size:
        return None
    lot = int(dice.integers(rows.size))
    return int(down[rows[lot]]), int(across[columns[lot]])


def _integral_image(mask: Bools) -> NDArray[np.int64]:
    """Sums over everything above and to the left."""
    sums = np.zeros((mask.shape[0] + 1, mask.shape[1] + 1), np.int64)
    sums[1:, 1:] = mask.cumsum(axis=0, dtype=np.int64).cumsum(axis=1)
    return sums


def _pixels_inside(
    sums: NDArray[np.int64], place: Rectangle, down: NDArray[Any], across: NDArray[Any]
) -> NDArray[np.int64]:
    """How many pixels of a mask a rectangle holds when it is moved so far."""
    top, bottom = (place[0] + down)[:, None], (place[2] + down)[:, None]
    left, right = (place[1] + across)[None], (place[3] + across)[None]
    found: NDArray[np.int64] = sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left]
    return found


# ---- slices --------------------------------------------------------------------------------


def merge_ranges(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges that overlap or meet, made one.

    >>> merge_ranges([(5, 9), (0, 2), (8, 12), (13, 14)])
    [(0, 2), (5, 14)]
    """
    found: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return found


def control_slices(
    count: int, ranges: Sequence[tuple[int, int]], dice: np.random.Generator
) -> list[tuple[int, int]] | None:
    """As long ranges elsewhere among `count` slices, by lot; None where there is no room.

    >>> control_slices(10, [(0, 6)], np.random.default_rng(0)) is None
    True
    """
    taken = np.zeros(count, bool)
    for first, last in ranges:
        taken[first : last + 1] = True
    found: dict[int, tuple[int, int]] = {}
    for number in sorted(range(len(ranges)), key=lambda n: ranges[n][0] - ranges[n][1]):
        length = ranges[number][1] - ranges[number][0] + 1
        free = [at for at in range(count - length + 1) if not taken[at : at + length].any()]
        if not free:
            return None
        at = free[int(dice.integers(len(free)))]
        taken[at : at + length] = True
        found[number] = (at, at + length - 1)
    return [found[number] for number in range(len(ranges))]


# ---- masks ---------------------------------------------------------------------------------


def mask_parts(mask: Bools) -> list[Voxels]:
    """The voxels of each connected part of a mask, the largest first; some hundreds at most."""
    from scipy import ndimage

    labels, count = ndimage.label(mask, np.ones((3, 3, 3)))
    if not count:
        return []
    sizes = np.bincount(labels.ravel(), minlength=count + 1)[1:]
    boxes = ndimage.find_objects(labels)
    found = []
    for number in np.argsort(-sizes, kind="stable")[:MAX_PARTS].tolist():
        cut = boxes[number]
        voxels = np.argwhere(labels[cut] == number + 1)
        found.append(voxels + [edge.start for edge in cut])
    return found


def move_parts(mask: Bools, shifts: Sequence[Shift]) -> Bools:
    """A mask with each of its parts moved by whole voxels; what leaves the volume is gone.

    >>> mask = np.zeros((3, 3, 1), bool)
    >>> mask[0, 0] = mask[2, 2] = True
    >>> move_parts(mask, [(1, 0, 0), (9, 9, 9)])[..., 0].astype(int).tolist()
    [[0, 0, 0], [1, 0, 0], [0, 0, 0]]
    """
    out = np.zeros_like(mask)
    for voxels, by in zip(mask_parts(mask), shifts, strict=False):
        there = voxels + by
        within = ((there >= 0) & (there < mask.shape)).all(axis=1)
        out[tuple(there[within].T)] = True
    return out


def control_shifts(
    hu: NDArray[Any], space: Geometry, mask: Bools, dice: np.random.Generator
) -> tuple[Shift, ...] | None:
    """By how many voxels each part of a mask is moved, at random; None where there is no room.

    Parts that fit nowhere are moved out of the volume; the others must be nearly all of the mask.
    """
    taken = mask.copy()
    tissues = find_tissues(hu, space)
    found: list[Shift] = []
    placed = 0
    for voxels in mask_parts(mask):
        by = _find_shift(voxels, taken, tissues, dice)
        if by is None:
            found.append(OUT_OF_VOLUME)
            continue
        taken[tuple((voxels + by).T)] = True
        placed += len(voxels)
        found.append((int(by[0]), int(by[1]), int(by[2])))
    return tuple(found) if placed >= MIN_ALIKE * int(mask.sum()) and placed else None


def find_tissues(hu: NDArray[Any], space: Geometry) -> tuple[Bools, Bools]:
    """Lungs and body of a CT, roughly: found on every few voxels.

    The body is the largest part that is no air, with what it encloses on axial slices; the lungs
    are the air in it, with what is dense between it.
    """
    from scipy import ndimage

    ras: NDArray[Any] = to_ras(hu, space)
    steps = [max(1, round(_COARSE / mm)) for mm in ras_geometry(space).spacing]
    small = np.nan_to_num(ras[tuple(slice(None, None, step) for step in steps)], nan=-1024)
    dense, count = ndimage.label(small > _BODY)
    body = np.zeros(small.shape, bool)
    if count:
        sizes = np.bincount(dense.ravel())
        sizes[0] = 0
        body = dense == int(sizes.argmax())
    for index in range(body.shape[2]):
        body[..., index] = ndimage.binary_fill_holes(body[..., index])
    air = body & (small < _AIR)
    lungs = ndimage.binary_closing(np.pad(air, 4), iterations=4)[4:-4, 4:-4, 4:-4] & body

    def fine(mask: Bools) -> Bools:
        for axis, step in enumerate(steps):
            mask = np.repeat(mask, step, axis=axis)
        whole: NDArray[Any] = from_ras(mask[tuple(slice(0, n) for n in ras.shape)], space)
        return whole

    return fine(lungs), fine(body)


def _find_shift(
    voxels: Voxels, taken: Bools, tissues: Sequence[Bools], dice: np.random.Generator
) -> Voxels | None:
    """A move of the voxels that keeps them inside and off others: in the lungs, else in the body.

    Voxels that lie in neither may go anywhere.
    """
    low, high = voxels.min(axis=0), voxels.max(axis=0)
    room = np.asarray(taken.shape) - (high - low)
    some = voxels[dice.permutation(len(voxels))[:_POINTS]]
    shares = [float(mask[tuple(some.T)].mean()) for mask in tissues]
    within: list[tuple[Bools | None, float]] = [
        (mask, MIN_ALIKE * share) for mask, share in zip(tissues, shares, strict=True) if share >= MIN_INSIDE
    ]
    for tissue, least in within or [(None, 0.0)]:
        for _ in range(_TRIES // _BATCH):
            corners = np.stack([dice.integers(0, side, _BATCH) for side in room], axis=1)
            shifts = corners - low
            index = tuple(np.moveaxis(some[None] + shifts[:, None], 2, 0))
            fit = ~taken[index].any(axis=1)
            if tissue is not None:
                fit &= tissue[index].mean(axis=1) >= least
            for by in shifts[fit]:
                if not taken[tuple((voxels + by).T)].any():
                    chosen: Voxels = by
                    return chosen
    return None
