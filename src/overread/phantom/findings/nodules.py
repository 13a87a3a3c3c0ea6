"""2d, nodules and masses: solid, part-solid, calcified, spiculated, and masses over 3 cm."""

from __future__ import annotations

import numpy as np

from overread.phantom.body.canvas import Cut
from overread.phantom.body.shapes import Floats, Point, capsule_distance, to_point, union_depth
from overread.phantom.findings.round_lesions import (
    LesionSites,
    draw_feeding_vessels,
    draw_strand,
    lump_depth,
    sphere_directions,
)
from overread.phantom.findings.scan import Axes, BoolArray, DrawnFinding, Entity, Scan, Target, bounding_box
from overread.phantom.findings.seams import close_seam

_MAX_NODULE_MM, _MIN_MASS_MM = 27.0, 34.0
"""Above 3 cm a nodule is called a mass, and a mass below it is none; in millimetres."""
_PLEURAL_SHARE = {"solid": 0.35, "calcified": 0.3, "mass": 0.45, "part-solid": 0.1, "spiculated": 0.15}
"""How often a kind lies against the ribs."""


def draw_nodules(scan: Scan, rng: np.random.Generator, kind: str, target: Target) -> DrawnFinding | None:
    """One to five nodules of one kind in the target, or one mass.

    The mask is the nodule itself: with the roots of its spicules, without their threads and
    without the vessels that run to it.
    """
    several = kind in ("solid", "calcified")
    number = target.draw_count(rng, int(rng.choice([1, 1, 1, 2, 3, 4, 5])) if several else 1)
    largest = _draw_diameter(rng, kind) * scan.difficulty.size
    limits = {"low": _MIN_MASS_MM} if kind == "mass" else {"high": _MAX_NODULE_MM}
    largest = target.fit_size(largest, **limits)
    pleural = rng.random() < _PLEURAL_SHARE[kind]
    lobulated = kind == "mass" or (kind == "solid" and target.max_scale * largest > 8 and rng.random() < 0.3)
    density = float(rng.uniform(15, 45))
    rooms = LesionSites(scan, target)
    entities: list[Entity] = []
    middles: list[Point | None] = []
    for n in range(number):
        own = target.split_rng(rng)
        # Chalk needs voxels of its own: in shared ones it would look like soft tissue.
        least = (4.2 if kind == "calcified" else 3.2) * scan.voxel_mm
        size = target.fit_size(largest * (1 if n == 0 else own.uniform(0.55, 0.9)), low=least)
        share = 0.82 if kind == "mass" else 1.0
        wide = target.max_scale / 2
        places = rooms.find(own, wide * size, pleural=pleural, share=share)
        if not places and pleural and not entities:
            pleural = False
            places = rooms.find(own, wide * size, share=share)
        while not places and kind == "mass" and size > target.fit_size(0, low=_MIN_MASS_MM):
            # A small lobe gets a smaller one.
            size = target.fit_size(0.85 * size, low=_MIN_MASS_MM)
            places = rooms.find(own, wide * size, share=share)
        middles.append(None)
        for centre in target.choose_places(n, places):
            entity = _draw_nodule(
                scan, own, kind, target, centre, target.scale * size / 2, density, lobulated=lobulated
            )
            if entity is not None:
                entities.append(entity)
                middles[n] = centre
                break
    if not entities:
        return None
    return DrawnFinding(
        "2d",
        kind,
        entities,
        countable=True,
        sized=True,
        spread=("subpleural",) if pleural else (),
        traits=("lobulated",) if lobulated else (),
        middles=tuple(middles),
    )


def _draw_diameter(rng: np.random.Generator, kind: str) -> float:
    """Millimetres, as they are met with."""
    if kind == "mass":
        return float(rng.uniform(34, 64))
    if kind in ("spiculated", "part-solid"):
        return float(rng.uniform(11, 28))
    if kind == "calcified":
        return float(rng.uniform(4, 10))
    return float(np.clip(rng.lognormal(np.log(8), 0.5), 3.5, 28))


def _draw_nodule(
    scan: Scan,
    rng: np.random.Generator,
    kind: str,
    target: Target,
    centre: Point,
    radius: float,
    density: float,
    *,
    lobulated: bool,
) -> Entity | None:
    """Draw one nodule; None, and nothing drawn, where too little of it is in the target."""
    cut = scan.box_around(centre, radius * 1.25 + 3 * scan.voxel_mm)
    if cut is None:
        return None
    axes = scan.coordinates(cut)
    free = scan.free_voxels(cut, target)
    lobules = int(rng.integers(6, 10)) if lobulated else 0
    if kind == "spiculated":
        depth = _spiculated_depth(rng, axes, centre, radius)
    else:
        rough = {"mass": 0.08, "part-solid": 0.07}.get(kind, 0.03)
        depth = lump_depth(rng, axes, centre, radius, rough=rough, lobules=lobules)
    mask = free & (depth > 0)
    if mask.sum() < 12 or (kind == "mass" and _longest_side(scan, mask) < 30):
        return None
    depth = np.where(free, depth, np.float32(-99))
    if kind == "part-solid":
        _paint_part_solid(scan, rng, cut, centre, radius, depth)
    else:
        if radius > 2.2 * scan.voxel_mm and kind != "calcified":
            draw_feeding_vessels(scan, rng, target, centre, radius, most=int(rng.integers(1, 3)))
        if kind in ("spiculated", "mass"):
            _paint_halo(scan, cut, target, depth)
            _draw_spicules(scan, rng, target, centre, radius, many=kind == "spiculated")
        scan.blend(cut, scan.soft_cover(depth), _tissue_hu(scan, rng, kind, cut, depth, density))
    entity = scan.claim_entity(cut, mask)
    if entity is not None and kind != "part-solid":
        close_seam(scan, entity)
    return entity


def _tissue_hu(
    scan: Scan, rng: np.random.Generator, kind: str, cut: Cut, depth: Floats, density: float
) -> Floats:
    """HU inside a nodule of even, calcified or partly dead tissue."""
    if kind == "calcified":
        # A granuloma is chalk throughout or has a soft rim.
        rim = float(rng.choice([0.0, 0.0, 1.0]))
        chalk = np.where(depth > rim, np.float32(rng.uniform(350, 750)), np.float32(70))
        return chalk.astype(np.float32)
    value = density + 7 * scan.smooth_noise(rng, cut, 5)
    if kind == "mass":
        dead = scan.soft_cover((depth - 8) / 4) * (scan.smooth_noise(rng, cut, 14) > -0.3)
        value = value - 22 * dead
    return value.astype(np.float32)


def _paint_part_solid(
    scan: Scan, rng: np.random.Generator, cut: Cut, centre: Point, radius: float, depth: Floats
) -> None:
    """A ball of ground glass that leaves vessels visible, with a solid core off its middle."""
    cover = scan.soft_cover(depth / np.float32(1.3))
    glass = 235 * scan.difficulty.contrast * (1 + 0.12 * scan.smooth_noise(rng, cut, 4))
    view = scan.canvas.hu[cut]
    scan.blend(cut, cover, np.minimum(view + glass, np.maximum(view, 20)))
    away = rng.normal(0, 1, 3)
    away *= 0.22 * radius / np.linalg.norm(away)
    inner = to_point(centre + away)
    size = max(radius * rng.uniform(0.38, 0.58), 1.1 * scan.voxel_mm)
    core = lump_depth(rng, scan.coordinates(cut), inner, size, slim=0.3, rough=0.2)
    scan.blend(cut, scan.soft_cover(np.minimum(core, depth)), 25.0)


def _spiculated_depth(rng: np.random.Generator, axes: Axes, centre: Point, radius: float) -> Floats:
    """Depth in an uneven core and the roots of its spicules, within `radius` of the centre."""
    depth = lump_depth(rng, axes, centre, 0.76 * radius, slim=0.25, rough=0.12)
    for way in sphere_directions(22) + rng.normal(0, 0.2, (22, 3)):
        way = way / np.linalg.norm(way)
        tip = centre + way * (radius * rng.uniform(1.0, 1.3))
        far, t = capsule_distance(*axes, centre, tip)
        wide = np.float32(radius * rng.uniform(0.22, 0.34))
        depth = union_depth(depth, wide * (1 - t) - far + np.float32(0.1), blend=0.1 * radius)
    x, y, z = (axis - np.float32(c) for axis, c in zip(axes, centre, strict=True))
    whole: Floats = np.minimum(depth, np.float32(radius) - np.sqrt(x * x + y * y + z * z))
    return whole


def _paint_halo(scan: Scan, cut: Cut, target: Target, depth: Floats) -> None:
    """A little haze round a growing tumour."""
    haze = 90 * scan.difficulty.contrast * np.exp(np.clip(depth, -99, 0) / np.float32(2.2))
    scan.canvas.hu[cut] += np.where(scan.free_voxels(cut, target), haze, 0).astype(np.float32)


def _draw_spicules(
    scan: Scan, rng: np.random.Generator, target: Target, centre: Point, radius: float, *, many: bool
) -> None:
    """Fine lines that go out from a tumour, and a tag to the pleura where that is near."""
    count = int(rng.integers(20, 30)) if many else int(rng.integers(5, 11))
    for way in sphere_directions(count) + rng.normal(0, 0.25, (count, 3)):
        way = way / np.linalg.norm(way)
        start = centre + way * (0.7 * radius)
        reach = radius + rng.uniform(0.25, 0.9) * min(radius, 11)
        wide = min(0.12 * radius, 1.3) * rng.uniform(0.7, 1.2)
        draw_strand(scan, target, start, centre + way * reach, (wide, 0.3), -40.0)
    if not many:
        return
    round_ = sphere_directions(60)
    ends = (np.asarray(centre) + round_ * (radius + 14)).astype(np.float32)
    outside = np.flatnonzero(scan.body.lung_depth(*ends.T) < 0)
    for n in rng.permutation(outside)[:2]:
        draw_strand(scan, target, centre, centre + round_[n] * (radius + 16), (0.9, 0.8), -10.0)


def _longest_side(scan: Scan, mask: BoolArray) -> float:
    """Longest side of a mask's box in millimetres."""
    box = bounding_box(mask)
    if box is None:
        return 0.0
    steps = scan.canvas.grid.step[::-1]
    return max(float(s.stop - s.start) * step for s, step in zip(box, steps, strict=True))
