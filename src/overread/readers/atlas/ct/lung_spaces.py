"""The lung spaces: each lung together with the disease that replaces or displaces it.

A lung space lies inside the ribs, beside the mediastinum and above the diaphragm. Its borders are
surfaces, measured where air or bone shows them and extrapolated smoothly elsewhere. Where disease
touches heart, liver or chest wall no edge is visible, and only density separates them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.readers.atlas.ct.chest import SIDES, ChestCt
from overread.readers.atlas.ct.morphology import Bools, blur, dilate, label_parts, open_mask

BONE = 180
"""HU over which a voxel is bone, or contrast medium."""
ANGLES = 180
"""Rays in which ribs are looked for in each slice."""
WINDOW = 50.0
"""Millimetres of the square that walls of a lung's room are opened with."""
STANDS_OUT = 12.0
"""Millimetres by which a bump must exceed the opened surface to count as disease; organs' own
curvature stays below.
"""
HIDDEN_FLOOR_MM = 10.0
"""Millimetres by which disease may hide the floor of a room."""
UNLIKE_HU = 8.0
"""HU by which disease must be less dense than the heart to be told from it."""
BETWEEN_RIBS = 26.0
"""Millimetres from one rib to the one after the next, at most: a gap between ribs is narrower."""
APART = 4.0
"""Millimetres by which a lung keeps away from the ribs where something lies between them."""
DOME = 0.6
"""Share of a lung's largest section under which it is its dome."""
MODES = ("wrap", "nearest")
"""How angles and slices go on beyond their ends."""
NICHE = 7.0
"""Millimetres over which the lung is smoothed to fill niches that disease cut into its edge."""


def find_lung_spaces(chest: ChestCt) -> dict[str, Bools]:
    """Side → the space inside the ribs, beside the mediastinum, above the diaphragm."""
    cage = chest.cage
    sure = {side: _lung_space(chest, side, cage) for side in SIDES}
    wide = {side: _lung_space(chest, side, cage, wide=True) for side in SIDES}
    density = chest.tissue
    blood, muscle = chest.tissue_of_heart, chest.tissue_of_muscle
    # Where disease lies against heart, liver or chest wall no edge is seen; its density may differ.
    least = min(blood, muscle) - UNLIKE_HU
    unlike = (density > -40) & (density < least) & (chest.smoothed > -400)
    # Mixed with fat, vessels and nodes of the mediastinum look as dense as fluid.
    unlike &= blur((chest.hu > -150) & (chest.hu < -35), 3.0, chest.mm) < 0.08
    fat = (density > -130) & (density < -45)
    inmost = blur(cage, 5.0, chest.mm) > 0.9
    rooms: dict[str, Bools] = {}
    for side in SIDES:
        # Deep inside the ribs what is beside the lung is disease; at the wall it may be muscle.
        deep = sure[side] & ~chest.air & inmost
        rooms[side] = deep | _thick_beside_lung(wide[side] & unlike & ~chest.air, chest)
        # Beside ribs smoothed densities hold some of their bone.
        rooms[side] |= _between_lung_and_ribs(chest, side) & ~chest.air & ~fat & (chest.hu < BONE)
        # A niche has lung on most sides of it.
        niches = blur(chest.aerated[side], NICHE, chest.mm) > 0.5
        rooms[side] |= niches & cage & ~fat & (chest.smoothed < 150)
    rooms["left"] &= ~rooms["right"]
    for side, other in (SIDES, SIDES[::-1]):
        rooms[side] = (rooms[side] & ~chest.aerated[other]) | chest.aerated[side]
    return rooms


def _thick_beside_lung(dense: Bools, chest: ChestCt) -> Bools:
    """The parts of dense tissue that are thick, large, and lie against air-holding lung."""
    thick = open_mask(dense, 5.0, chest.mm)
    labels, sizes = label_parts(thick)
    near = np.bincount(labels[dilate(chest.air, 5.0, chest.mm)], minlength=len(sizes))
    # A ball of 1 ml has half of itself within 3 mm of its edge, one of 50 ml a fifth.
    keep = (sizes * chest.voxel_ml > 1.0) & (near > 0.04 * sizes)
    keep[0] = False
    kept: Bools = keep[labels]
    return kept


def find_cage(chest: ChestCt) -> Bools:
    """The space inside the ribs: in each slice, rays from the middle as far as the first rib."""
    from scipy import ndimage

    air, mm = chest.air, chest.mm
    nx, ny, _ = air.shape
    level = air.any(axis=(0, 1))
    low, high = int(np.flatnonzero(level)[0]), int(np.flatnonzero(level)[-1]) + 1
    at = np.nonzero(air.any(axis=2))
    middle = (float(at[0].min() + at[0].max()) / 2, float(at[1].min() + at[1].max()) / 2)
    # Lungs end above the lowest ribs, where fluid may still lie.
    low = max(0, low - int(40 / mm[2]))
    reach = 260.0
    radii = np.arange(0, reach, min(mm[:2]))
    angles = np.arange(ANGLES) * 2 * np.pi / ANGLES
    x = middle[0] + np.outer(np.cos(angles), radii) / mm[0]
    y = middle[1] + np.outer(np.sin(angles), radii) / mm[1]
    ix, iy = np.rint(x).astype(int), np.rint(y).astype(int)
    inside = (ix >= 0) & (ix < nx) & (iy >= 0) & (iy < ny)
    ix, iy = ix.clip(0, nx - 1), iy.clip(0, ny - 1)
    bone = (chest.hu[ix, iy, low:high] > BONE) & inside[..., None]
    lung = air[ix, iy, low:high] & inside[..., None]
    # Spine, breast bone and calcified vessels lie in the middle; ribs do not.
    sideways = np.abs(np.cos(angles))
    near = np.where(sideways > 0.45, 50.0, 35.0)
    bone &= (radii[None] > near[:, None])[..., None]
    beyond = lung[:, ::-1].argmax(axis=1)
    outermost = np.where(lung.any(axis=1), len(radii) - 1 - beyond, 0)
    first = np.where(bone, np.arange(len(radii))[None, :, None], len(radii)).min(
        axis=1, where=np.arange(len(radii))[None, :, None] > outermost[:, None], initial=len(radii)
    )
    seen = first < len(radii)
    # Ribs slant: a gap between two of them is closed from the slices above and below.
    weight = seen.astype(np.float32)
    sigma = (4.0, 12.0 / mm[2])
    value = ndimage.gaussian_filter(weight * first.astype(np.float32), sigma, mode=MODES)
    total = ndimage.gaussian_filter(weight, sigma, mode=MODES)
    wall = np.where(total > 0.02, value / np.maximum(total, 0.02), outermost)
    wall = np.maximum(wall - 1.0, outermost)
    cage = np.zeros(air.shape, bool)
    gx, gy = np.meshgrid(
        (np.arange(nx) - middle[0]) * mm[0], (np.arange(ny) - middle[1]) * mm[1], indexing="ij"
    )
    angle = np.rint(np.arctan2(gy, gx) % (2 * np.pi) * ANGLES / (2 * np.pi)).astype(int) % ANGLES
    radius = np.hypot(gx, gy) / min(mm[:2])
    cage[:, :, low:high] = radius[..., None] <= wall[angle]
    return cage


def _between_lung_and_ribs(chest: ChestCt, side: str) -> Bools:
    """What lies between a lung and the ribs behind it and beside it, where they are apart.

    Lung touches the chest wall everywhere; where it keeps away from the ribs, something lies there.
    Rays from the middle of the lung show how far both are. In front the heart lies there.
    """
    from scipy import ndimage

    lung, mm = chest.aerated[side], chest.mm
    out = np.zeros(lung.shape, bool)
    if not lung.any():
        return out
    at = np.nonzero(lung)
    middle = [float(np.median(one)) for one in at[:2]]
    # At the top the ribs lie far around the dome of the lung, with muscle between.
    area = lung.sum(axis=(0, 1))
    low, high = int(at[2].min()), int(np.flatnonzero(area > DOME * area.max())[-1]) + 1
    step = min(mm[:2])
    radii = np.arange(0, 180.0, step)
    angles = np.arange(ANGLES) * 2 * np.pi / ANGLES
    outward = np.cos(angles) * (1 if side == "right" else -1)
    front = np.sin(angles)
    ix = np.rint(middle[0] + np.outer(np.cos(angles), radii) / mm[0]).astype(int)
    iy = np.rint(middle[1] + np.outer(front, radii) / mm[1]).astype(int)
    within = (ix >= 0) & (ix < lung.shape[0]) & (iy >= 0) & (iy < lung.shape[1])
    ix, iy = ix.clip(0, lung.shape[0] - 1), iy.clip(0, lung.shape[1] - 1)
    air = lung[ix, iy, low:high] & within[..., None]
    bone = (chest.smoothed[ix, iy, low:high] > BONE) & within[..., None]
    steps = np.arange(len(radii))[None, :, None]
    seen = air.any(axis=1)
    outermost = np.where(seen, len(radii) - 1 - air[:, ::-1].argmax(axis=1), 0)
    innermost = np.where(seen, air.argmax(axis=1), 0)
    rib = np.where(bone & (steps > outermost[:, None]), steps, len(radii)).min(axis=1)
    # Between two ribs a ray goes on to the shoulder blade, or nowhere: the ribs near by tell.
    tall = max(3, round(BETWEEN_RIBS / mm[2]) | 1)
    wall = ndimage.grey_opening(rib, size=(5, tall), mode=MODES).astype(np.float32)
    wall = ndimage.gaussian_filter(wall, (1.0, 3.0 / mm[2]), mode=MODES)
    sides = ((outward > -0.55) & (front < 0.0)) | (outward > 0.75)
    gap = np.where(seen & sides[:, None] & (wall < len(radii) - 1), wall - outermost, np.nan)
    if not np.isfinite(gap).any():
        return out
    # The patient's own chest wall between pleura and ribs.
    usual = float(np.clip(np.nanpercentile(gap, 25), 1.0, 6.0 / step))
    # Where no lung is left in a ray, its inner border goes on from its neighbours.
    reach = (8.0, 8.0 / mm[2])
    weight = ndimage.gaussian_filter(seen.astype(np.float32), reach, mode=MODES)
    inner = ndimage.gaussian_filter(np.where(seen, innermost, 0.0), reach, mode=MODES)
    begin = np.where(seen, outermost, inner / np.maximum(weight, 1e-3))
    apart = sides[:, None] & (wall < len(radii) - 1) & (wall - begin > usual + APART / step)
    apart &= seen | (weight > 0.25)
    # The outermost voxel of a lung is half chest wall and was not counted as lung.
    end = np.where(apart, wall - usual + 1, -1)
    gx = (np.arange(lung.shape[0])[:, None] - middle[0]) * mm[0]
    gy = (np.arange(lung.shape[1])[None] - middle[1]) * mm[1]
    angle = np.rint(np.arctan2(gy, gx) % (2 * np.pi) * ANGLES / (2 * np.pi)).astype(int) % ANGLES
    radius = (np.hypot(gx, gy) / step)[..., None]
    out[:, :, low:high] = (radius > begin[angle] - 1) & (radius <= end[angle])
    # Somewhere the lung reaches the back of its room: what lies further back is muscle.
    out[:, : int(at[1].min())] = False
    return out


def _lung_space(chest: ChestCt, side: str, cage: Bools, *, wide: bool = False) -> Bools:
    """One lung space, its inner wall and its floor extrapolated where they are not visible.

    With `wide`, the inner wall is the patient's midline and bumps of the floor count as disease:
    larger than the true space, for callers that also check densities.
    """
    lung, mm = chest.aerated[side], chest.mm
    if not lung.any():
        return lung
    outward = 1 if side == "right" else -1
    turned = lung[::outward]
    nx, _, nz = turned.shape
    # Inner wall: in each row of a slice, where the lung begins beside the mediastinum.
    there: Bools = np.asarray(turned.any(axis=0))
    inner = np.where(there, turned.argmax(axis=0), 0) * mm[0]
    wall = _smooth_wall(inner, there, (mm[1], mm[2]), level=False) / mm[0]
    if wide:
        at = np.flatnonzero(chest.air.any(axis=(1, 2)))
        wall = np.full(wall.shape, (nx - 1) / 2 + outward * (at[0] + at[-1] - nx + 1) / 2)
    beside = np.arange(nx)[:, None, None] >= wall[None]
    # Floor: in each column, where the lung begins above the diaphragm.
    over: Bools = np.asarray(turned.any(axis=2))
    lowest = np.where(over, turned.argmax(axis=2), 0) * mm[2]
    floor = _smooth_wall(lowest, over, (mm[0], mm[1]), level=wide) / mm[2]
    above = np.arange(nz)[None, None, :] >= floor[..., None] - (HIDDEN_FLOOR_MM / mm[2] if wide else 0)
    # Roof: the same from above.
    highest = np.where(over, turned[:, :, ::-1].argmax(axis=2), 0) * mm[2]
    roof = _smooth_wall(highest, over, (mm[0], mm[1]), level=wide) / mm[2]
    below = np.arange(nz)[None, None, ::-1] >= roof[..., None] - (HIDDEN_FLOOR_MM / 2 if wide else 2) / mm[2]
    room = (beside & above & below)[::outward] & cage
    # Bone is no lung; nor is the fat of the mediastinum and the chest wall.
    room &= (chest.smoothed < 150) & ~((chest.smoothed > -130) & (chest.smoothed < -45))
    return room | lung


def _smooth_wall(seen: NDArray[Any], there: Bools, mm: tuple[float, float], *, level: bool) -> NDArray[Any]:
    """A surface (mm) over a plane: as it is seen, carried on where it is not.

    Disease pushes the lung's edge away from the wall and never through it, and does so steeply:
    with `level`, what stands out from its surroundings (the surface opened by a square) by more
    than some organs' own roundness is levelled. Far from everything that is seen there is no wall,
    and no room.
    """
    from scipy import ndimage

    out = np.asarray(seen, float).copy()
    todo = ~there
    for reach in (8.0, 20.0, 50.0):
        sigma = [reach / one for one in mm]
        total = ndimage.gaussian_filter(there.astype(np.float32), sigma, mode="constant")
        value = ndimage.gaussian_filter(np.where(there, seen, 0.0), sigma, mode="constant")
        fit = todo & (total > 0.08)
        out[fit] = (value / np.maximum(total, 1e-6))[fit]
        todo &= ~fit
    if not level:
        out[todo] = 1e6
        return out
    known = np.where(todo, out[~todo].max(), out)
    size = [max(3, round(WINDOW / one)) for one in mm]
    opened = ndimage.grey_opening(known, size=size, mode="nearest")
    bump = known - opened
    disease = ndimage.binary_propagation(bump > STANDS_OUT, mask=bump > STANDS_OUT / 3)
    out[disease] = opened[disease]
    out[todo] = 1e6
    return out
