"""2f, honeycombing: cysts stacked under the pleura that share their walls."""

from __future__ import annotations

import numpy as np

from overread.phantom.body.noise import smooth_field
from overread.phantom.findings.depth_field import DepthField
from overread.phantom.findings.lobe_map import extent_severity
from overread.phantom.findings.scan import MIN_VOXELS, BoolArray, DrawnFinding, Entity, Scan, Target
from overread.phantom.findings.scatter import PointCloud, scatter_lattice, thin_out

_LATTICE_MM = 2.6
"""Millimetres between the places that cysts are chosen from."""


def draw_honeycombing(scan: Scan, rng: np.random.Generator, kind: str, target: Target) -> DrawnFinding | None:
    """One area at the back and the base of each lobe, two or three cysts deep."""
    level = int(rng.choice(3, p=[0.35, 0.4, 0.25]))
    entities = []
    for lobe in target.by_lobe:
        entity = _draw_area(scan, target.split_rng(rng), lobe, level)
        if entity is not None:
            entities.append(entity)
    if not entities:
        return None
    spread = ("subpleural", "basal") if target.is_basal else ("subpleural",)
    return DrawnFinding("2f", kind, entities, severity=extent_severity(scan, target, entities), spread=spread)


def _draw_area(scan: Scan, rng: np.random.Generator, target: Target, level: int) -> Entity | None:
    """The cysts of one lobe, and the meshwork that fades from them into the lung."""
    half = max(2.9 * scan.difficulty.size, 1.6 * scan.voxel_mm)
    wall = max(0.95, 0.55 * scan.voxel_mm)
    cysts = _cyst_centres(scan, rng, target, level, half)
    if len(cysts) < 8:
        return None
    field = DepthField(scan, cysts.points, 2 * half + 10, walls=True)
    for point in cysts.points:
        # Wider than half their distance, so that neighbours meet in one flat wall.
        radius = half * float(rng.uniform(1.1, 1.6))
        field.add_ball(point, radius, edge=8.0)
    free = field.free_voxels(target)
    mask = (field.depth > -0.5 * half) & free
    if mask.sum() < MIN_VOXELS:
        return None
    _paint_meshwork(scan, rng, field, free)
    shell = field.cover(field.depth + np.float32(0.4 * wall), free)
    field.blend(shell, np.maximum(field.hu, np.float32(-160 if scan.voxel_mm < 1.5 else -60)))
    field.blend(field.cover(field.depth_within_walls(wall), free), -950.0)
    return scan.claim_entity(field.cut, mask)


def _cyst_centres(
    scan: Scan, rng: np.random.Generator, target: Target, level: int, half: float
) -> PointCloud:
    """Middles of the cysts, layer by layer from the pleura, low and far back in the lobe."""
    cloud = scatter_lattice(scan, rng, target, _LATTICE_MM, jitter=0.4)
    if len(cloud):
        # All of it in the lower half of the lobe.
        height = cloud.points[:, 2]
        below = height < (height.min() + height.max()) / 2
        cloud = cloud.subset((cloud.depth < 7.5 * half) & below)
    if len(cloud) < 20:
        return cloud.subset(np.zeros(0, np.intp))
    layers = 2 + (level > 0)
    # What lies deeper than the last layer is asked for nothing.
    cloud = cloud.subset(cloud.depth < half * (0.9 + 1.65 * (layers - 1) + 0.46))
    x, y, z = cloud.xyz
    outer = cloud.depth < 2 * half
    back = (y - y[outer].mean()) / y[outer].std()
    low = (z - z[outer].mean()) / z[outer].std()
    # The costal pleura, not the one towards the heart.
    inward = scan.body.rib_depth(x, y, z) - cloud.depth
    score = 1.3 * back + 0.7 * low + 0.55 * smooth_field(rng, x, y, z, 14.0) + 0.06 * inward
    share = min((0.16, 0.28, 0.45)[level] * target.scale, 0.95)
    limit = np.quantile(score[outer], share)
    kept = []
    for layer in range(layers):
        at = half * (0.9 + 1.65 * layer)
        # Deeper layers cover less, as if from a hill seen from the side.
        rim = limit - 0.35 * layer
        kept.append((np.abs(cloud.depth - at) < 0.45 * half) & (score < rim))
    chosen = np.concatenate([rng.permutation(np.flatnonzero(k)) for k in kept])
    cloud = cloud.subset(chosen)
    gaps = half * rng.uniform(1.4, 2.1, len(cloud))
    return cloud.subset(thin_out(cloud, gaps))


def _paint_meshwork(scan: Scan, rng: np.random.Generator, field: DepthField, free: BoolArray) -> None:
    """Lines and a haze around the cysts that thin out within a centimetre."""
    near = np.clip(1 + field.depth / np.float32(9.0), 0, 1) * free
    wave = scan.smooth_noise(rng, field.cut, 4.0)
    wide = max(0.28, 0.22 * scan.voxel_mm)
    lines = np.clip(1 - np.abs(wave) / np.float32(wide), 0, 1)
    strength = np.float32(0.55 * min(scan.difficulty.contrast, 1.2))
    field.blend(near * (0.18 + strength * lines), np.maximum(field.hu, np.float32(-350)))
