"""2a, bands and scars, and 1d, thickened septa: everything that is drawn as lines in the lung."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from scipy import ndimage
from scipy.spatial import cKDTree

from overread.phantom.body.canvas import Cut
from overread.phantom.body.shapes import Floats, Point, Points, capsule_distance
from overread.phantom.findings.lobe_map import (
    LobeMap,
    extent_severity,
    largest_areas,
    rib_or_diaphragm_distance,
    shift_lung,
)
from overread.phantom.findings.scan import Axes, BoolArray, DrawnFinding, Entity, Scan, Target


def draw_lines(scan: Scan, rng: np.random.Generator, kind: str, target: Target) -> DrawnFinding | None:
    """Plates of collapsed lung ('band'), or strands of fibrosis ('scar')."""
    if kind == "scar":
        return _draw_scars(scan, rng, target)
    entities: list[Entity] = []
    middles: list[Point | None] = []
    basal = True
    for lobe in target.by_lobe:
        here = LobeMap.from_target(scan, lobe)
        if here is None:
            continue
        number = int(rng.choice([1, 1, 2, 3])) if len(target.lobes) == 1 else 1
        # In the upper and middle lobes they lie anywhere near the pleura.
        height = 0.42 if lobe.is_lower else 0.75
        for _ in range(number):
            foot, entity = _draw_band(scan, target.split_rng(rng), here, height, len(middles))
            middles.append(foot)
            if entity is not None:
                entities.append(entity)
                # A tilted plate may rise out of the base.
                top = entity.cut[0].stop - here.cut[0].start
                basal &= lobe.is_basal and top < 0.5 * (here.cut[0].stop - here.cut[0].start)
    if not entities:
        return None
    spread = ("basal",) if basal else ()
    return DrawnFinding("2a", "band", entities, countable=True, spread=spread, middles=tuple(middles))


@dataclass(frozen=True)
class _Frame:
    """A place and three directions at right angles: along, across, and up from a plate."""

    origin: Points
    along: Points
    across: Points
    up: Points

    @classmethod
    def from_directions(cls, origin: Point, along: Points, up: Points) -> _Frame:
        along = along / (np.linalg.norm(along) + 1e-9)
        up = up - along * float(up @ along)
        up = up / (np.linalg.norm(up) + 1e-9)
        return cls(np.asarray(origin, np.float64), along, np.cross(along, up), up)

    def coordinates(self, axes: Axes) -> Axes:
        """Points as how far along, across and up they lie."""
        x, y, z = (axis - np.float32(o) for axis, o in zip(axes, self.origin, strict=True))
        u, v, w = (
            np.float32(d[0]) * x + np.float32(d[1]) * y + np.float32(d[2]) * z
            for d in (self.along, self.across, self.up)
        )
        return u, v, w


def _draw_band(
    scan: Scan, rng: np.random.Generator, here: LobeMap, height: float, number: int
) -> tuple[Point | None, Entity | None]:
    """One plate, from the pleura inwards, apart from all others, and the place of its foot.

    Its mask holds its voxels.
    """
    size = scan.difficulty.size
    near = (
        (here.rib_distance > 1)
        & (here.rib_distance < 8)
        & (here.relative_position(2) < height)
        & (here.relative_position(2) > 0.06)
    )
    for _ in range(10):
        own = here.target.split_rng(rng)
        foot = here.draw_point(own, near)
        if foot is None:
            return None, None
        if foot not in here.target.choose_places(number, [foot]):
            continue
        length = float(own.uniform(24, 60)) * size * here.target.scale
        width = float(own.uniform(14, 30)) * size * here.target.scale
        half = max(float(own.uniform(1.1, 1.9)), 0.62 * scan.voxel_mm)
        inwards = np.asarray(here.hilum) - np.asarray(foot)
        inwards = inwards / np.linalg.norm(inwards) + own.normal(0, 0.35, 3)
        inwards[2] *= 0.35
        # Tilted out of the axial plane, so that a slice shows it as a line and not as a patch.
        tilt = own.uniform(0.6, 1.2) * own.choice([-1, 1])
        aside = np.cross(inwards, (0, 0, 1)) / np.linalg.norm(inwards[:2])
        up = np.array([0, 0, np.cos(tilt)]) + np.sin(tilt) * aside
        frame = _Frame.from_directions(foot, inwards, up)
        cut = scan.box_around(foot, length + 6)
        if cut is None:
            continue
        u, v, w = frame.coordinates(scan.coordinates(cut))
        bend = float(own.normal(0, 0.12)) / length
        wave = 0.9 * np.sin(u / 7.0 + own.uniform(0, 6)) * np.sin(v / 9.0 + own.uniform(0, 6))
        lift = w - np.float32(bend) * (u - length / 2) ** 2 * 2 - wave
        # Thickest at the pleura; the sides and the far end run out into nothing.
        share = np.clip(u / np.float32(length), 0, 1)
        rim = width / 2 * (1 - 0.45 * share) + 2.0 * np.sin(u / 5.0 + own.uniform(0, 6))
        thick = half * (1.25 - 0.45 * share)
        depth = np.minimum(np.minimum(thick - np.abs(lift), rim - np.abs(v)), length - u)
        depth = np.minimum(depth, u + 12)
        free = scan.free_voxels(cut, here.target)
        inside = depth > 0
        # One that is there already grows where it can.
        again = here.target.earlier_places is not None
        if inside.sum() < 30 or (inside & free).sum() < (0.2 if again else 0.5) * inside.sum():
            continue
        numbers, kept = largest_areas(inside & free, 20, most=1)
        if not kept:
            continue
        mask = numbers == kept[0]
        if not again and (ndimage.binary_dilation(mask, iterations=2) & scan.claimed[cut]).any():
            continue  # two that run into each other would be counted as one
        cover = scan.soft_cover(np.where(mask | (~inside & free), depth, np.float32(-9))) * free
        cover *= _with_border(mask)
        scan.blend(cut, cover, float(own.uniform(-30, 25)))
        return foot, scan.claim_entity(cut, mask)
    return None, None


def _with_border(mask: BoolArray) -> BoolArray:
    """A mask and the voxels that touch it: where the soft edge of a thing is."""
    grown: BoolArray = ndimage.binary_dilation(mask, ndimage.generate_binary_structure(3, 3))
    return grown


def _draw_scars(scan: Scan, rng: np.random.Generator, target: Target) -> DrawnFinding | None:
    """Strands of fibrosis at the apex, or under the pleura elsewhere; one area for each lobe."""
    upper = all(lobe in ("RUL", "LUL") for lobe in target.lobes)
    apical = upper and target.segment in (None, "RS1", "LS1+2") and rng.random() < 0.75
    entities: list[Entity] = []
    for lobe in target.by_lobe:
        here = LobeMap.from_target(scan, lobe)
        if here is None:
            continue
        near = (here.rib_distance > 3) & (here.rib_distance < 9)
        near = near & ((here.relative_position(2) > 0.8) if apical else (here.relative_position(2) < 0.85))
        own = target.split_rng(rng)
        for _ in range(4):
            foot = here.draw_point(own, near)
            entity = None if foot is None else _draw_scar(scan, own, here, foot)
            if entity is not None:
                entities.append(entity)
                break
    if not entities:
        return None
    return DrawnFinding("2a", "scar", entities, spread=("apical",) if apical else ("subpleural",))


def _draw_scar(scan: Scan, rng: np.random.Generator, here: LobeMap, foot: Point) -> Entity | None:
    """Strands that run together under the pleura; the mask holds them, closed a little."""
    reach = float(rng.uniform(20, 32)) * scan.difficulty.size * here.target.scale
    cut = scan.box_around(foot, reach + 8)
    if cut is None:
        return None
    free = scan.free_voxels(cut, here.target)
    if free.mean() < 0.12:
        return None
    axes = scan.coordinates(cut)
    inwards = np.asarray(here.hilum) - np.asarray(foot)
    inwards = inwards / np.linalg.norm(inwards)
    depth = np.full(free.shape, -9, np.float32)
    for _ in range(int(rng.integers(9, 14))):
        start = np.asarray(foot) + rng.normal(0, 6, 3)
        way = inwards * rng.uniform(0.1, 1.0) + rng.normal(0, 0.6, 3)
        way /= np.linalg.norm(way)
        thick = float(rng.uniform(0.8, 1.9))
        # Along the pleura too: back from the start, so that strands seem to hang on it.
        at = start - way * reach * 0.35
        steps = 4
        for n in range(steps):
            end = at + (way + rng.normal(0, 0.35, 3)) * reach * 1.1 / steps
            far, t = capsule_distance(*axes, at, end)
            wide = thick * (1 - 0.75 * (n + t) / steps) * rng.uniform(0.8, 1.2)
            wide = np.maximum(wide, np.float32(0.42 * scan.voxel_mm))
            np.maximum(depth, wide - far, out=depth)
            at = end
    knots = rng.normal(0, 4.5, (5, 3)) + np.asarray(foot)
    for knot in knots:
        far, _ = capsule_distance(*axes, knot, knot + inwards * 3 + rng.normal(0, 2, 3))
        np.maximum(depth, np.float32(rng.uniform(1.6, 3.4)) - far, out=depth)
    depth = np.where(free, depth, np.float32(-9))
    mask = _outline_strands(scan, depth, free)
    if mask is None:
        return None
    _pull_lung_to_scar(scan, here, cut, free, foot, reach)
    cover = scan.soft_cover(depth) * np.float32(0.95) * _with_border(mask)
    scan.blend(cut, np.where(free, cover, 0), float(rng.uniform(-70, 10)))
    return scan.claim_entity(cut, mask)


def _outline_strands(scan: Scan, depth: Floats, free: BoolArray) -> BoolArray | None:
    """Strands and what lies closely between them, as one thing; None where that is too small."""
    mask: BoolArray = depth > -0.1 * scan.voxel_mm
    # Within 3 mm of each other the strands are one thing to whoever outlines them.
    steps = max(1, round(1.5 / scan.voxel_mm))
    ball = ndimage.generate_binary_structure(3, 2)
    mask = (ndimage.binary_closing(mask, ball, iterations=steps) | mask) & free
    numbers, kept = largest_areas(mask, 15, most=1)
    if not kept:
        return None
    largest: BoolArray = numbers == kept[0]
    return largest


def _pull_lung_to_scar(
    scan: Scan, here: LobeMap, cut: Cut, free: BoolArray, foot: Point, reach: float
) -> None:
    """Draw the lung around towards a point: vessels bend to a scar."""
    x, y, z = (axis - np.float32(c) for axis, c in zip(scan.coordinates(cut), foot, strict=True))
    amount = 0.5 * np.exp(-(x * x + y * y + z * z) / np.float32(0.3 * reach * reach))
    shift_lung(here, cut, free, (amount * z, amount * y, amount * x))


def draw_septa(scan: Scan, rng: np.random.Generator, kind: str, target: Target) -> DrawnFinding | None:
    """Thickened septa: around lobules ('interlobular'), or a finer net ('reticulation')."""
    fine = kind == "reticulation"
    reach = float(rng.uniform(9, 15) if fine else rng.uniform(17, 28))
    cell = float(rng.uniform(4.5, 6.0) if fine else rng.uniform(13, 17))
    reach, height = reach * target.scale, float(rng.uniform(0.45, 0.8)) * target.scale
    entities: list[Entity] = []
    for lobe in target.by_lobe:
        here = LobeMap.from_target(scan, lobe)
        if here is None:
            continue
        # Basal in the lower lobes; in the others wherever the waves are high.
        own = target.split_rng(rng)
        patch, edge = here.smooth_noise(own, 30), here.smooth_noise(own, 9)
        common = (0.7 if lobe.is_lower else 0.3) + 1.5 * log(target.scale)
        field = np.minimum(reach - here.rib_distance + 3 * edge, 14 * (patch + common) + 2 * edge)
        if lobe.is_lower:
            field = np.minimum(field, 90 * (height - here.relative_position(2)) + 14 * patch)
        field = np.minimum(field, reach + 4 - here.rib_distance).astype(np.float32)
        part = here.box_around((field > -4) & here.free_points)
        if part is not None:
            entities += _draw_lobe_septa(scan, own, here, part, field, cell, fine=fine)
    if not entities:
        return None
    spread = ("subpleural",) if fine else ("peripheral",)
    return DrawnFinding("1d", kind, entities, severity=extent_severity(scan, target, entities), spread=spread)


def _draw_lobe_septa(
    scan: Scan, rng: np.random.Generator, here: LobeMap, cut: Cut, field: Floats, cell: float, *, fine: bool
) -> list[Entity]:
    """Draw the net of one lobe; the mask holds the region that it fills."""
    region = here.to_voxels(field, cut)
    free = scan.free_voxels(cut, here.target)
    numbers, kept = largest_areas((region > 0) & free, 800 / float(np.prod(scan.canvas.grid.step)))
    if not kept:
        return []
    mask = np.isin(numbers, kept)
    seeds = (scatter_cells if fine else _scatter_lobules)(scan, rng, cut, cell)
    # The net runs out gradually towards the inside.
    share = np.clip(region / 7 + 0.45, 0, 1) * free * ndimage.binary_dilation(mask)
    wall = wall_distance(scan, rng, cut, share > 0.05, seeds, keep=0.9 if fine else 0.8)
    line = wall_cover(scan, wall, 0.8 if fine else 1.3)
    contrast = scan.difficulty.contrast
    haze = (55 if fine else 18) * contrast
    view = scan.canvas.hu[cut]
    view += np.float32(haze) * share * np.clip((-300 - view) / 500, 0, 1)
    scan.blend(cut, line * share * np.float32(min(1.0, 0.9 * contrast**0.5)), -30.0)
    found = (scan.claim_entity(cut, numbers == n) for n in kept)
    return [entity for entity in found if entity is not None]


def scatter_cells(scan: Scan, rng: np.random.Generator, cut: Cut, cell: float) -> Points:
    """Middles of the cells of a net over a part: a lattice, shaken until none is seen."""
    lines = [np.arange(a.min() - cell, a.max() + 1.5 * cell, cell) for a in scan.coordinates(cut)]
    lattice = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, 3)
    shaken: Points = lattice + rng.uniform(-0.48, 0.48, lattice.shape) * cell
    return shaken


def _scatter_lobules(scan: Scan, rng: np.random.Generator, cut: Cut, cell: float) -> Points:
    """Middles of lobules, in rows along the pleura: the walls between stand upright on it."""
    low, high = (np.array([f(a) for a in scan.coordinates(cut)], np.float64) for f in (np.min, np.max))
    points = rng.uniform(low - cell, high + cell, (int(10 * np.prod(high - low) / cell**3) + 30, 3))
    outer = rib_or_diaphragm_distance(scan, *points.astype(np.float32).T)
    points = points[(outer > 0) & (np.abs((outer / cell) % 1 - 0.5) < 0.16)]
    # Each point that is left keeps its distance from all before it.
    near = cKDTree(points).query_ball_point(points, 0.82 * cell)
    gone = np.zeros(len(points), bool)
    for n, around in enumerate(near):
        if not gone[n]:
            gone[around] = True
            gone[n] = False
    left: Points = points[~gone]
    return left


def wall_distance(
    scan: Scan, rng: np.random.Generator, cut: Cut, where: BoolArray, seeds: Points, *, keep: float = 1.0
) -> Floats:
    """Millimetres from the walls between cells around seeds; far from them outside of `where`.

    Only the share `keep` of the walls is there.
    """
    far = np.full(where.shape, 99, np.float32)
    k, j, i = np.nonzero(where)
    if len(seeds) < 2 or not len(k):
        return far
    x, y, z = (axis.ravel() for axis in scan.coordinates(cut))
    points = np.stack([x[i], y[j], z[k]], axis=-1)
    # Real septa are not flat.
    points = points + 0.9 * np.sin(points[:, [1, 2, 0]] / np.float32(2.7) + rng.uniform(0, 6))
    distance, nearest = cKDTree(seeds).query(points, k=2)
    between = np.linalg.norm(seeds[nearest[:, 0]] - seeds[nearest[:, 1]], axis=1)
    wall = (distance[:, 1] ** 2 - distance[:, 0] ** 2) / (2 * between + 1e-6)
    number = rng.random(len(seeds))
    there = (number[nearest].sum(axis=1) * 7.0) % 1 < keep
    far[k, j, i] = np.where(there, wall, 99)
    return far


def wall_cover(scan: Scan, wall: Floats, thick: float) -> Floats:
    """How much of each voxel a wall of some thickness fills; thin ones are faint, never broken."""
    wide = max(thick, 0.75 * scan.canvas.grid.blur)
    line: Floats = scan.soft_cover(wide / 2 - wall) * np.float32(min(1.0, 1.25 * thick / wide))
    return line
