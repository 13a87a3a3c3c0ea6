"""Small masks for tests of surfaces: random lesions, and shapes at the edge of what there is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

Array = NDArray[Any]
Spacing = tuple[float, float, float]
Masks = tuple[Array, Array]

TOLERANCES = (0.3, 1.0, 2.0, 5.0)
SPACINGS: list[Spacing] = [
    (1.0, 1.0, 1.0),
    (0.7, 0.7, 1.0),
    (3.0, 0.65, 0.65),
    (0.8, 2.5, 0.8),
    (0.9, 1.1, 2.3),
]


def blob(shape: tuple[int, int, int], rng: np.random.Generator, *, fill: float) -> Array:
    """A ragged lesion, perhaps in pieces and perhaps over the edge."""
    noise = ndimage.gaussian_filter(rng.standard_normal(shape), rng.uniform(0.6, 2.5))
    mask: Array = noise > np.quantile(noise, 1 - fill)
    return mask


def blobs(seed: int) -> tuple[Masks, Spacing]:
    """Two lesions that have to do with each other or not, and a spacing."""
    rng = np.random.default_rng(seed)
    shape = (int(rng.integers(2, 24)), int(rng.integers(2, 24)), int(rng.integers(2, 24)))
    truth = blob(shape, rng, fill=rng.uniform(0.02, 0.5))
    predicted = blob(shape, rng, fill=rng.uniform(0.02, 0.5))
    if seed % 2:
        predicted = np.roll(truth, rng.integers(-3, 4, 3), axis=(0, 1, 2)) ^ (rng.random(shape) < 0.02)
    x, y, z = rng.uniform(0.3, 3.0, 3).tolist()
    spacing = (x, x, z) if seed % 3 else (x, y, z)
    return (truth, predicted), spacing


def drawn(*places: Any, shape: tuple[int, int, int] = (9, 8, 7)) -> Array:
    mask = np.zeros(shape, bool)
    for place in places:
        mask[place] = True
    return mask


def hollow() -> Array:
    mask = drawn((slice(1, 8), slice(1, 7), slice(1, 6)))
    mask[2:7, 2:6, 2:5] = False
    return mask


EDGES: dict[str, Masks] = {
    "the same voxel": (drawn((4, 4, 4)), drawn((4, 4, 4))),
    "two voxels over a corner": (drawn((4, 4, 4)), drawn((5, 5, 5))),
    "voxels in opposite corners of the crop": (drawn((0, 0, 0)), drawn((8, 7, 6))),
    "a full block and one voxel of it": (drawn(...), drawn((4, 4, 4))),
    "two full blocks": (drawn(...), drawn(...)),
    "thin sheets, crossed": (drawn(4), drawn((slice(None), 3))),
    "thin sheets, side by side": (drawn((..., 2)), drawn((..., 3))),
    "a line and a sheet": (drawn((4, 4)), drawn((..., 6))),
    "a shell and its filling": (hollow(), drawn((slice(2, 7), slice(2, 6), slice(2, 5)))),
    "a chessboard and its other half": (
        np.indices((6, 5, 4)).sum(axis=0) % 2 == 0,
        np.indices((6, 5, 4)).sum(axis=0) % 2 == 1,
    ),
    "a crop of one voxel": (np.ones((1, 1, 1), bool), np.ones((1, 1, 1), bool)),
    "a crop of one row": (
        drawn((0, 0, slice(0, 3)), shape=(1, 1, 9)),
        drawn((0, 0, slice(5, 9)), shape=(1, 1, 9)),
    ),
}
