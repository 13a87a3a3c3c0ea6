"""Density of lung tissue: what lies between the vessels, and how it varies."""

from __future__ import annotations

import numpy as np

from overread.readers.atlas.ct.chest import ChestCt
from overread.readers.atlas.ct.morphology import Bools, Floats, blur

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
