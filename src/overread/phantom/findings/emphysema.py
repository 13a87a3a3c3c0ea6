"""1c, emphysema: centrilobular holes, paraseptal rows, bullae."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from overread.phantom.body.noise import smooth_field
from overread.phantom.body.shapes import Floats, Point, to_point
from overread.phantom.findings.depth_field import DepthField
from overread.phantom.findings.scan import (
    MIN_VOXELS,
    BoolArray,
    DrawnFinding,
    Entity,
    Scan,
    Target,
    grade_severity,
)
from overread.phantom.findings.scatter import PointCloud, choose_centres, scatter_lattice, thin_out

_GAPS = {"centrilobular": 8.5, "paraseptal": 3.0}
"""Millimetres between the places that holes are chosen from."""


def draw_emphysema(scan: Scan, rng: np.random.Generator, kind: str, target: Target) -> DrawnFinding | None:
    """One area in each lobe, or one to four bullae in all."""
    if kind == "bullous":
        return _draw_bullae(scan, rng, target)
    level = int(rng.choice(3, p=[0.35, 0.4, 0.25]))
    draw = _draw_centrilobular if kind == "centrilobular" else _draw_paraseptal
    gap = _GAPS[kind]
    entities, drawn, whole = [], 0, 0
    for one in target.by_lobe:
        own = target.split_rng(rng)
        cloud = scatter_lattice(scan, own, one, gap, jitter=0.33)
        entity = draw(scan, own, one, cloud, level)
        if entity is not None:
            entities.append(entity)
            drawn += entity.voxels
            # The lattice counts the lobe: each point stands for the cube around it.
            whole += int(len(cloud) * gap**3 / float(np.prod(scan.canvas.grid.step)))
    if not entities:
        return None
    spread = ("subpleural",) if kind == "paraseptal" else ()
    limits = (0.2, 0.45) if kind == "centrilobular" else (0.06, 0.14)
    severity = grade_severity(drawn / max(whole, 1), *limits)
    return DrawnFinding("1c", kind, entities, severity=severity, spread=spread)


def _relative_height(cloud: PointCloud) -> Floats:
    """How high each point lies among all, 0 to 1."""
    _, _, z = cloud.xyz
    share: Floats = (z - z.min()) / max(float(np.ptp(z)), 1.0)
    return share


def _draw_centrilobular(
    scan: Scan, rng: np.random.Generator, target: Target, cloud: PointCloud, level: int
) -> Entity | None:
    """Holes without walls, scattered more densely towards the apex; vessels run on through them."""
    cloud = cloud.subset(cloud.depth > 3)
    if len(cloud) < 8:
        return None
    high = _relative_height(cloud)
    score = smooth_field(rng, *cloud.xyz, 18.0) + 2.2 * high
    share = min((0.2, 0.42, 0.72)[level] * target.scale, 0.95)
    worst = score >= np.quantile(score, 1 - share)
    cloud = cloud.subset(worst)
    field = DepthField(scan, cloud.points, 12)
    big = (1.5, 4.0) if level < 2 else (2.2, 4.7)
    for point in cloud.points:
        radius = max(float(rng.uniform(*big)) * scan.difficulty.size, 0.8 * scan.voxel_mm)
        field.add_ball(point, radius * 0.85, edge=4.0)
        # A smaller ball that overlaps makes a hole that is not round.
        aside = rng.normal(0, 0.55 * radius, 3)
        field.add_ball(point + aside, radius * float(rng.uniform(0.5, 0.85)))
    free = field.free_voxels(target)
    # The area as one would outline it: the holes and the lung between neighbours.
    mask = (field.depth > -3.2) & free
    if mask.sum() < MIN_VOXELS:
        return None
    cover = field.cover(field.depth, free) * _hole_strength(scan) * _lung_share(field.hu)
    field.blend(cover, -976.0)
    return scan.claim_entity(field.cut, mask)


def _draw_paraseptal(
    scan: Scan, rng: np.random.Generator, target: Target, cloud: PointCloud, level: int
) -> Entity | None:
    """A row of rooms under the pleura with thin walls between them, in one layer."""
    cloud = cloud.subset((cloud.depth > 1.0) & (cloud.depth < 6.0))
    if len(cloud) < 20:
        return None
    high = _relative_height(cloud)
    score = smooth_field(rng, *cloud.xyz, 26.0) + 1.2 * high
    share = min((0.1, 0.22, 0.4)[level] * target.scale, 0.95)
    cloud = cloud.subset(score >= np.quantile(score, 1 - share))
    cloud = cloud.subset(rng.permutation(len(cloud)))
    low, up = 3.2 * scan.difficulty.size, 7.0 * scan.difficulty.size
    radii = rng.uniform(low, up, len(cloud)).clip(min=1.9 * scan.voxel_mm)
    # A room touches the pleura: its middle lies no deeper than it is wide.
    fits = cloud.depth < 0.85 * radii
    cloud, radii = cloud.subset(fits), radii[fits]
    kept = thin_out(cloud, 1.3 * radii)
    if len(kept) < 3:
        return None
    wall = max(0.7, 0.5 * scan.voxel_mm)
    field = DepthField(scan, cloud.points[kept], 14, walls=True)
    for n in kept:
        field.add_ball(cloud.points[n], float(radii[n]), edge=wall)
    free = field.free_voxels(target)
    mask = (field.depth > 0) & free
    if mask.sum() < MIN_VOXELS:
        return None
    shell = field.cover(field.depth + np.float32(wall / 2), free)
    field.blend(shell, np.maximum(field.hu, np.float32(-620 if scan.voxel_mm < 1.5 else -760)))
    field.blend(field.cover(field.depth_within_walls(wall), free), -978.0)
    return scan.claim_entity(field.cut, mask)


def _draw_bullae(scan: Scan, rng: np.random.Generator, target: Target) -> DrawnFinding | None:
    """One to four large air spaces with a hairline wall, most of them against the pleura."""
    number = max(int(rng.choice([1, 2, 2, 3, 4])), min(len(target.lobes), 4))
    number = target.draw_count(rng, number)
    size = float(np.exp(rng.uniform(np.log(16), np.log(50)))) * min(scan.difficulty.size, 1.0)
    wide = target.max_scale * size
    entities: list[Entity] = []
    middles: list[Point | None] = []

    def good(cloud: PointCloud) -> BoolArray:
        return (cloud.depth > 2) & (cloud.depth < 0.5 * wide)

    found = choose_centres(scan, rng, target, 3 * number, 0.75 * wide, good)
    for n, place in enumerate(map(to_point, found)):
        if len(entities) == number:
            break
        own = target.split_rng(rng)
        radius = size * float(own.uniform(0.6, 1.0)) / 2
        radius = target.scale * target.fit_size(radius, low=max(6.0, 3 * scan.voxel_mm))
        middles.append(None)
        for seat in target.choose_places(n, [place]):
            entity = _draw_bulla(scan, own, target, np.array(seat), radius)
            if entity is not None:
                entities.append(entity)
                middles[n] = seat
    if not entities:
        return None
    return DrawnFinding(
        "1c", "bullous", entities, countable=True, sized=True, traits=("thin-walled",), middles=tuple(middles)
    )


def _draw_bulla(
    scan: Scan, rng: np.random.Generator, target: Target, place: np.ndarray, radius: float
) -> Entity | None:
    """One bulla: a ball with shallow bulges, cut off by the pleura and the fissures."""
    field = DepthField(scan, place, radius * 1.3 + 3)
    squash = float(rng.uniform(0.8, 1.15))
    field.add_ball(place, radius, squash=squash)
    for _ in range(3):
        way = rng.normal(0, 1, 3)
        way *= 0.3 * radius / np.linalg.norm(way)
        field.add_ball(place + way, radius * float(rng.uniform(0.7, 0.82)))
    free = field.free_voxels(target)
    mask = (field.depth > 0) & free
    # A sliver at the pleura, or what other findings leave of it, is no bulla.
    if mask.sum() < max(MIN_VOXELS, 0.45 * (field.depth > 0).sum()):
        return None
    wall = max(0.8, 0.45 * scan.voxel_mm)
    inner = np.minimum(field.depth, _border_depth(field, target)) - np.float32(wall)
    shell = field.cover(field.depth, free)
    # A hairline fills little of a coarse voxel.
    lung = scan.body.habitus.lung
    hairline = lung + (-540 - lung) * min(1.0, 1.1 / scan.voxel_mm)
    field.blend(shell, np.maximum(field.hu.clip(max=-300), np.float32(hairline)))
    field.blend(field.cover(inner, free), -988.0)
    return scan.claim_entity(field.cut, mask)


def _border_depth(field: DepthField, target: Target) -> Floats:
    """Millimetres to the pleura or a fissure near them: a bulla has a wall there too."""
    scan = field.scan
    own = field.free_voxels(target)
    depth = scan.lung_depth(field.cut)
    step = min(scan.canvas.grid.step)
    at_fissure = own & ~ndimage.binary_erosion(own, border_value=1)
    return np.where(at_fissure, np.float32(0.3 * step), np.minimum(depth, 50)).astype(np.float32)


def _hole_strength(scan: Scan) -> np.float32:
    """How deep the holes are: shallower where the case is to be hard."""
    return np.float32(min(0.55 + 0.45 * scan.difficulty.contrast, 1.0))


def _lung_share(hu: Floats) -> Floats:
    """1 in lung, 0 in vessels: what is left of the lobule's artery stays visible in its hole."""
    share: Floats = np.clip((-520 - hu) / np.float32(200), 0, 1)
    return share
