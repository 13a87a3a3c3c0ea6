"""The chest wall in an axial slice: the ring of ribs, and what lies between it and the lung.

From the middle of the chest rays go out in all directions. On each the outermost lung and the
innermost bone are noted. Between the two lie a few millimetres of muscle and pleura; fluid,
thickening and plaques make it more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from overread.readers.atlas.slice.body import CtSlice
from overread.readers.atlas.slice.morphology import Bools

RAYS = 180
"""Rays around the middle of the chest, two degrees from one to the next."""
Rays = NDArray[np.float64]


@dataclass(frozen=True)
class ChestWall:
    """What each ray met; angles run from the patient's front over the picture's right, in turns."""

    centre: tuple[float, float]
    """Row and column of the middle of the chest."""
    ribs: Rays
    """Pixels from the middle to the inner side of the ribs."""
    lung: Rays
    """Pixels from the middle to the outermost lung; 0 where a ray meets none."""
    gap: Rays
    """Millimetres between the two beyond what is usual for this picture."""
    bright: Rays
    """Share of the gap that is as bright as bone."""
    cavity: Bools
    """Everything inside the ribs."""


def ray_angles() -> Rays:
    """The rays as angles: 0 in front, a quarter at the picture's right, a half behind."""
    return np.asarray(np.arange(RAYS) / RAYS)


def bone_level(cut: CtSlice) -> float:
    """Grey from which on something is bone or chalk."""
    return min(252.0, cut.soft + 0.45 * max(255 - cut.soft, 20) + 8)


def find_wall(cut: CtSlice) -> ChestWall | None:
    """The ring of ribs of an axial slice; None where too few rays meet a rib."""
    x1, y1, x2, y2 = cut.frame
    lungs = cut.lungs
    if not lungs.any():
        return None
    rows = np.flatnonzero(lungs.any(axis=1))
    cy, cx = (rows[0] + rows[-1]) / 2, cut.middle
    reach = max(x2 - x1, y2 - y1)
    radii = np.arange(0, reach * 0.75)
    turn = 2 * np.pi * ray_angles()
    ys = cy - np.cos(turn)[:, None] * radii[None, :]
    xs = cx + np.sin(turn)[:, None] * radii[None, :]
    where = np.stack([ys, xs])

    def along(mask: Bools) -> NDArray[np.bool_]:
        met = ndimage.map_coordinates(mask.astype(np.float32), where, order=0, cval=0.0)
        return np.asarray(met > 0.5)

    bone = ndimage.binary_opening(cut.values >= bone_level(cut), np.ones((2, 2)))
    bones, inside, lung = along(np.asarray(bone & cut.body)), along(cut.body), along(lungs)
    skin = np.where(inside.any(axis=1), radii.size - inside[:, ::-1].argmax(axis=1), 0)
    near = radii[None, :] > 0.55 * skin[:, None]
    bones &= near
    first = np.where(bones.any(axis=1), bones.argmax(axis=1), np.nan)
    if np.isfinite(first).mean() < 0.3:
        return None
    outer = np.where(lung.any(axis=1), radii.size - lung[:, ::-1].argmax(axis=1), 0).astype(float)
    ribs = _smooth_ring(first / np.maximum(skin, 1), outer / np.maximum(skin, 1)) * skin
    gap = (ribs - outer) * cut.mm
    bright = np.zeros(RAYS)
    for ray in range(RAYS):
        a, b = int(outer[ray]), int(max(ribs[ray], outer[ray] + 2))
        if outer[ray] > 0:
            bright[ray] = float(bones[ray, a : b + 1].mean())
    cavity = _fill_ring(cut, (cy, cx), ribs)
    return ChestWall((cy, cx), ribs, outer, gap, bright, cavity)


def _smooth_ring(bone: Rays, lung: Rays) -> Rays:
    """A smooth closed ring through the innermost bone, in shares of the way to the skin.

    Between ribs a ray meets bone late or never, so the ring goes with the nearer neighbours; and
    it never lies inside the lung.
    """
    known = np.flatnonzero(np.isfinite(bone))
    around = np.concatenate([known - RAYS, known, known + RAYS])
    values = np.interp(np.arange(RAYS), around, np.tile(bone[known], 3))
    low = ndimage.percentile_filter(values, 30, size=17, mode="wrap")
    smooth = ndimage.gaussian_filter1d(low, 3, mode="wrap")
    return np.asarray(np.maximum(smooth, lung))


def _fill_ring(cut: CtSlice, centre: tuple[float, float], ribs: Rays) -> Bools:
    ys, xs = np.indices(cut.body.shape)
    dy, dx = ys - centre[0], xs - centre[1]
    turn = np.mod(np.arctan2(dx, -dy) / (2 * np.pi), 1.0) * RAYS
    limit = np.interp(turn.ravel(), np.arange(RAYS + 1), np.append(ribs, ribs[0]))
    inside = np.hypot(dy, dx).ravel() <= limit
    return np.asarray(inside.reshape(cut.body.shape) & cut.body)


def sector_rays(low: float, high: float) -> NDArray[np.bool_]:
    """The rays between two angles, in degrees from the front, on both sides of the picture.

    >>> int(sector_rays(90, 180).sum()) in range(88, 93)
    True
    """
    degrees = ray_angles() * 360
    folded = np.minimum(degrees, 360 - degrees)
    return np.asarray((folded >= low) & (folded <= high))


def right_rays() -> NDArray[np.bool_]:
    """The rays to the patient's right: the picture's left."""
    return np.asarray(ray_angles() > 0.5)
