"""1f, mosaic attenuation: lobules that hold less blood, or keep their air, and are darker."""

from __future__ import annotations

import numpy as np
from scipy import ndimage
from scipy.spatial import cKDTree

from overread.phantom.body.shapes import Floats
from overread.phantom.findings.lobe_map import LobeMap, extent_severity, largest_areas
from overread.phantom.findings.scan import DrawnFinding, Entity, Scan, Target


def draw_mosaic(scan: Scan, rng: np.random.Generator, kind: str, target: Target) -> DrawnFinding | None:
    """Mosaic attenuation: whole lobules, side by side, that are darker and have thin vessels.

    The mask holds the dark lung; what lies between is as normal or a little brighter.
    """
    contrast = scan.difficulty.contrast
    dark = float(rng.uniform(62, 85)) * contrast
    bright = float(rng.uniform(35, 60)) * contrast
    share = float(np.clip(rng.uniform(0.22, 0.5) * target.scale, 0.05, 0.8))
    entities: list[Entity] = []
    for lobe in target.by_lobe:
        here = LobeMap.from_target(scan, lobe)
        if here is not None and here.free_points.sum() > 60:
            entities += _draw_dark_lobules(scan, target.split_rng(rng), here, share, dark, bright)
    if not entities:
        return None
    return DrawnFinding("1f", kind, entities, severity=extent_severity(scan, target, entities))


def _draw_dark_lobules(
    scan: Scan, rng: np.random.Generator, here: LobeMap, share: float, dark: float, bright: float
) -> list[Entity]:
    """Darken some lobules of one lobe and brighten the others."""
    field = _lobule_depth(rng, here, share)
    numbers, kept = largest_areas((field > 0) & here.free_points, 40)
    if not kept:
        return []
    field = np.where((field > 0) & ~np.isin(numbers, kept), np.float32(-1), field)
    cut = here.cut
    fine = here.to_voxels(field, cut)
    free = scan.free_voxels(cut, here.target)
    shown, names = largest_areas((fine > 0) & free, 1500 / float(np.prod(scan.canvas.grid.step)))
    if not names:
        return []
    cover = scan.soft_cover(np.where(np.isin(shown, names) | (fine <= 0), fine, np.float32(-9))) * free
    view = scan.canvas.hu[cut]
    hu, dark_share = view[free], cover[free]
    air = np.clip((hu + 985) / 60, 0, 1)
    # Above the lung's own value: vessels. Squared, their edges and the thinnest of them vanish.
    floor = np.float32(scan.body.habitus.lung + 60)
    vessel = np.clip((hu - floor) / 820, 0, 1)
    thin = np.where(hu > floor, floor + 820 * vessel * vessel, hu)
    lung = hu + np.float32(bright) * (1 - vessel) * air
    # Dark, but lung: bare air would be emphysema.
    thin = np.maximum(thin - np.float32(dark) * (1 - vessel) * air, np.minimum(thin, -945))
    view[free] = lung + (thin - lung) * dark_share
    found = (scan.claim_entity(cut, shown == n) for n in names)
    return [entity for entity in found if entity is not None]


def _lobule_depth(rng: np.random.Generator, here: LobeMap, share: float) -> Floats:
    """Millimetres inside (positive) or outside of the chosen lobules, on the map."""
    low, high = (np.array([f(a) for a in here.axes]) for f in (np.min, np.max))
    count = int(np.prod(high - low) / 19.0**3) + 8
    seeds = rng.uniform(low, high, (count, 3))
    # Lobules that lie together are dark together, or this would be a chess board.
    x, y, z = (seeds[:, axis].astype(np.float32) for axis in range(3))
    tone = _lobule_tone(rng, x, y, z)
    chosen = tone > np.quantile(tone, 1 - share)
    where = ndimage.binary_dilation(here.free_points, iterations=2)
    points = np.stack([np.broadcast_to(a, where.shape)[where] for a in here.axes], axis=-1)
    points = points + 1.5 * np.sin(points[:, [1, 2, 0]] / 5.0)
    inside, outside = (cKDTree(s).query(points)[0] for s in (seeds[chosen], seeds[~chosen]))
    field = np.full(where.shape, -9, np.float32)
    field[where] = (outside - inside) / 2
    return field


def _lobule_tone(rng: np.random.Generator, x: Floats, y: Floats, z: Floats) -> Floats:
    """A number for each lobule that is alike for neighbours."""
    total = rng.normal(0, 0.25, len(x))
    for _ in range(10):
        a, b, c = rng.normal(0, 1, 3) / 16
        total = total + np.sin(a * x + b * y + c * z + rng.uniform(0, 2 * np.pi)) / 2
    tone: Floats = total.astype(np.float32)
    return tone
