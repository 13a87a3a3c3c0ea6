"""The centreline of a mask: thinning by Lee, Kashyap and Chu (1994), as scikit-image has it.

Border voxels are taken away from six sides in turn until nothing more can go. A voxel may go when it is not
the end of a line, when the Euler characteristic stays, and when the voxels around it hang together without
it. What may go at the beginning of a turn is looked at once more before it goes, in scan order, since
voxels that went before may have made it needed.

Voxel for voxel this is scikit-image's `skeletonize`, but for one thing: there the second look lets the last
voxel of a small piece go, and a piece of eight voxels has no centreline at all. Here it keeps that voxel,
unless `keep_pieces` is turned off.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
Codes = NDArray[np.int64]

_STEPS = [step for step in product((-1, 0, 1), repeat=3) if any(step)]
"""The 26 places around a voxel; the n-th is bit n of its code."""
_SIDES = ((0, -1, 0), (0, 1, 0), (0, 0, 1), (0, 0, -1), (1, 0, 0), (-1, 0, 0))
"""The sides from which voxels are taken away, in turn."""


_ALONE = bytes([0] * 13 + [1] + [0] * 13)
"""A voxel without neighbours."""


def thin(mask: NDArray[np.bool_], *, keep_pieces: bool = True) -> Mask:
    """The centreline of a mask (H, W, D), one voxel wide; outside the array is background.

    >>> bar = np.zeros((3, 9, 3), bool)
    >>> bar[:, 1:8] = True
    >>> np.argwhere(thin(bar)).tolist()
    [[1, 2, 1], [1, 3, 1], [1, 4, 1], [1, 5, 1], [1, 6, 1]]
    """
    room = np.zeros([size + 2 for size in mask.shape], np.uint8)
    room[1:-1, 1:-1, 1:-1] = mask
    plane, row = room.shape[1] * room.shape[2], room.shape[2]
    reach = [p * plane + r * row + c for p, r, c in _STEPS]
    # One memory seen as bytes by the loop below and as an array by everything else.
    memory = bytearray(room.tobytes())
    flat = np.frombuffer(memory, np.uint8)
    starts = [p * plane + r * row - 1 for p, r in product((-1, 0, 1), repeat=2)]
    unchanged = 0
    while unchanged < len(_SIDES):
        unchanged = 0
        inside = np.flatnonzero(flat)
        for p, r, c in _SIDES:
            border = inside[flat[inside] > flat[inside + (p * plane + r * row + c)]]
            gone = _take_away(memory, _may_go(flat, border, reach), starts, keep_last=keep_pieces)
            unchanged += not gone
    thinned = flat.reshape(room.shape)[1:-1, 1:-1, 1:-1] > 0
    return np.asarray(thinned)


def _may_go(flat: NDArray[np.uint8], places: NDArray[np.intp], reach: list[int]) -> NDArray[np.intp]:
    """The places whose voxels may be taken away as things stand."""
    codes = np.zeros(len(places), np.int64)
    for bit, step in enumerate(reach):
        codes |= flat[places + step].astype(np.int64) << bit
    kinds, of_place = np.unique(codes, return_inverse=True)
    return places[_is_removable(kinds)[of_place]]


def _take_away(memory: bytearray, places: NDArray[np.intp], starts: list[int], *, keep_last: bool) -> bool:
    """Take away what still may go, in scan order; whether anything went."""
    gone = False
    for place in places.tolist():
        around = b"".join([memory[place + start : place + start + 3] for start in starts])
        if _hangs_together(around) and not (keep_last and around == _ALONE):
            memory[place] = 0
            gone = True
    return gone


@lru_cache(maxsize=1 << 18)
def _hangs_together(around: bytes) -> bool:
    """Whether the 26 voxels around the middle one are one piece, or none."""
    code = np.array([sum(1 << n for n, value in enumerate(around[:13] + around[14:]) if value)], np.int64)
    return bool(_is_one_piece(code)[0])


def _is_removable(codes: Codes) -> Mask:
    """Whether a voxel with these neighbours is no end, and leaves the topology as it is."""
    end = np.bitwise_count(codes) == 1
    return np.asarray(~end & (_euler_change(codes) == 0) & _is_one_piece(codes))


def _is_one_piece(codes: Codes) -> Mask:
    """Whether the neighbours hang together over faces, edges and corners, without the middle one."""
    reached = codes & -codes
    while True:
        grown = reached.copy()
        for bit, near in enumerate(_adjacent()):
            grown |= np.where(reached >> bit & 1, near, 0)
        grown &= codes
        if (grown == reached).all():
            return np.asarray(reached == codes)
        reached = grown


@lru_cache(maxsize=1)
def _adjacent() -> list[int]:
    """For each of the 26 places, the others that touch it, as bits."""
    return [
        sum(
            1 << m
            for m, b in enumerate(_STEPS)
            if m != n and max(abs(x - y) for x, y in zip(a, b, strict=True)) < 2
        )
        for n, a in enumerate(_STEPS)
    ]


def _euler_change(codes: Codes) -> Codes:
    """What the Euler characteristic loses with the middle voxel, taken as a closed cube.

    Its corners, edges and faces go where no other voxel has them, and so does the cube itself.
    """
    change = np.full(codes.shape, -1, np.int64)
    for sign, others in _shared():
        change += sign * ((codes & others) == 0)
    return change


@lru_cache(maxsize=1)
def _shared() -> list[tuple[int, int]]:
    """Every corner (+1), edge (-1) and face (+1) of the middle voxel: which voxels have it too."""
    found = []
    for part in _STEPS:
        axes = [n for n in range(3) if part[n]]
        others = sum(
            1 << bit
            for bit, step in enumerate(_STEPS)
            if all(step[n] in (0, part[n]) if n in axes else step[n] == 0 for n in range(3))
        )
        found.append((-1 if len(axes) == 2 else 1, others))
    return found
