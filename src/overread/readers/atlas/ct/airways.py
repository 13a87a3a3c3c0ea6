"""Airways: the trachea with its bronchi, and lumina in the lung that have a wall around them."""

from __future__ import annotations

import numpy as np

from overread.readers.atlas.ct.chest import ChestCt
from overread.readers.atlas.ct.morphology import Bools, bounding_box, label_parts

WALL_HU = 300.0
"""HU by which a wall is denser than healthy lung, as far as a voxel holds it."""


def find_hollows(chest: ChestCt, where: Bools, *, largest: float) -> tuple[Bools, Bools]:
    """Air with a wall around it in at least one plane, and the wall: up to so many mm² across."""
    from scipy import ndimage

    lumen, wall = np.zeros(where.shape, bool), np.zeros(where.shape, bool)
    if not where.any():
        return lumen, wall
    box = bounding_box(where, 3)
    dense = (chest.hu[box] > chest.normal_hu + WALL_HU) & chest.lung_spaces[box]
    inside = np.zeros(dense.shape, bool)
    for axis in range(3):
        flat = np.moveaxis(dense, axis, 0)
        plane = np.moveaxis(inside, axis, 0)
        area = float(np.prod(chest.mm)) / chest.mm[axis]
        # Within a plane only: a ring is closed in the plane that cuts the tube across.
        structure = np.zeros((3, 3, 3), bool)
        structure[1, 1, :] = structure[1, :, 1] = True
        labels, count = ndimage.label(~flat, structure)
        sizes = np.bincount(labels.ravel(), minlength=count + 1) * area
        small = sizes <= largest
        small[0] = False
        plane |= small[labels]
    # A hole holds air. Gaps between vessels hold lung; these are as dense as the lung around.
    inside &= chest.lung_spaces[box] & (chest.hu[box] < chest.normal_hu + 250)
    lumen[box] = inside
    wall[box] = dense
    return lumen, wall


def find_airways(chest: ChestCt) -> Bools:
    """The air of trachea and main bronchi: gas inside the ribs that belongs to no lung.

    The part of it that reaches highest and is tall is taken; stomach and oesophagus lie lower or
    are short.
    """
    gas = chest.cage & ~chest.air & (chest.hu < -800)
    labels, sizes = label_parts(gas)
    best, highest = 0, 0.0
    for n in np.flatnonzero(sizes * chest.voxel_ml > 2):
        levels = np.flatnonzero((labels == n).any(axis=(0, 1)))
        if np.ptp(levels) * chest.mm[2] > 30 and levels[-1] > highest:
            best, highest = int(n), float(levels[-1])
    found: Bools = (labels == best) if best else np.zeros(gas.shape, bool)
    return found
