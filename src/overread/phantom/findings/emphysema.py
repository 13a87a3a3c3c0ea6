"""1c, emphysema: centrilobular holes, paraseptal rows, bullae."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from overread.phantom.body.grain import smooth_field
from overread.phantom.body.shapes import Floats, Point, as_point
from overread.phantom.findings.fields import DepthField
from overread.phantom.findings.scan import (
    LEAST_VOXELS,
    Drawn,
    Entity,
    Mask,
    Scan,
    Target,
    graded,
)
from overread.phantom.findings.scatter import Cloud, centres, lattice, spaced

_GAPS = {"centrilobular": 8.5, "paraseptal": 3.0}
"""Millimetres between the places that holes are chosen from."""


def draw_emphysema(scan: Scan, rng: np.random.Generator, kind: str, target: Target) -> Drawn | None:
    """One area in each lobe, or one to four bullae in all."""
    if kind == "bullous":
        return _bullous(scan, rng, target)
    level = int(rng.choice(3, p=[0.35, 0.4, 0.25]))
    draw = _centrilobular if kind == "centrilobular" else _paraseptal
    gap = _GAPS[kind]
    entities, drawn, whole = [], 0, 0
    for one in target.each:
        own = target.apart(rng)
        cloud = lattice(scan, own, one, gap, jitter=0.33)
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
    severity = graded(drawn / max(whole, 1), *limits)
    return Drawn("1c", kind, entities, severity=severity, spread=spread)


def _height(cloud: Cloud) -> Floats:
    """How high each point lies among all, 0 to 1."""
    _, _, z = cloud.xyz
    share: Floats = (z - z.min()) / max(float(np.ptp(z)), 1.0)
    return share


def _centrilobular(
    scan: Scan, rng: np.random.Generator, target: Target, cloud: Cloud, level: int
) -> Entity | None:
    """Holes without walls, scattered more densely towards the apex; vessels run on through them."""
    cloud = cloud.only(cloud.depth > 3)
    if len(cloud) < 8:
        return None
    high = _height(cloud)
    score = smooth_field(rng, *cloud.xyz, 18.0) + 2.2 * high
    share = min((0.2, 0.42, 0.72)[level] * target.scale, 0.95)
    worst = score >= np.quantile(score, 1 - share)
    cloud = cloud.only(worst)
    field = DepthField(scan, cloud.points, 12)
    big = (1.5, 4.0) if level < 2 else (2.2, 4.7)
    for point in cloud.points:
        radius = max(float(rng.uniform(*big)) * scan.difficulty.size, 0.8 * scan.grain)
        field.ball(point, radius * 0.85, edge=4.0)
        # A smaller ball that overlaps makes a hole that is not round.
        aside = rng.normal(0, 0.55 * radius, 3)
        field.ball(point + aside, radius * float(rng.uniform(0.5, 0.85)))
    free = field.free(target)
    # The area as one would outline it: the holes and the lung between neighbours.
    mask = (field.best > -3.2) & free
    if mask.sum() < LEAST_VOXELS:
        return None
    cover = field.cover(field.best, free) * _fading(scan) * _lung_only(field.hu)
    field.fill(cover, -976.0)
    return scan.take(field.cut, mask)


def _paraseptal(
    scan: Scan, rng: np.random.Generator, target: Target, cloud: Cloud, level: int
) -> Entity | None:
    """A row of rooms under the pleura with thin walls between them, in one layer."""
    cloud = cloud.only((cloud.depth > 1.0) & (cloud.depth < 6.0))
    if len(cloud) < 20:
        return None
    high = _height(cloud)
    score = smooth_field(rng, *cloud.xyz, 26.0) + 1.2 * high
    share = min((0.1, 0.22, 0.4)[level] * target.scale, 0.95)
    cloud = cloud.only(score >= np.quantile(score, 1 - share))
    cloud = cloud.only(rng.permutation(len(cloud)))
    low, up = 3.2 * scan.difficulty.size, 7.0 * scan.difficulty.size
    radii = rng.uniform(low, up, len(cloud)).clip(min=1.9 * scan.grain)
    # A room touches the pleura: its middle lies no deeper than it is wide.
    fits = cloud.depth < 0.85 * radii
    cloud, radii = cloud.only(fits), radii[fits]
    kept = spaced(cloud, 1.3 * radii)
    if len(kept) < 3:
        return None
    wall = max(0.7, 0.5 * scan.grain)
    field = DepthField(scan, cloud.points[kept], 14, walls=True)
    for n in kept:
        field.ball(cloud.points[n], float(radii[n]), edge=wall)
    free = field.free(target)
    mask = (field.best > 0) & free
    if mask.sum() < LEAST_VOXELS:
        return None
    shell = field.cover(field.best + np.float32(wall / 2), free)
    field.fill(shell, np.maximum(field.hu, np.float32(-620 if scan.grain < 1.5 else -760)))
    field.fill(field.cover(field.rooms(wall), free), -978.0)
    return scan.take(field.cut, mask)


def _bullous(scan: Scan, rng: np.random.Generator, target: Target) -> Drawn | None:
    """One to four large air spaces with a hairline wall, most of them against the pleura."""
    number = max(int(rng.choice([1, 2, 2, 3, 4])), min(len(target.lobes), 4))
    number = target.number(rng, number)
    size = float(np.exp(rng.uniform(np.log(16), np.log(50)))) * min(scan.difficulty.size, 1.0)
    wide = target.widest * size
    entities: list[Entity] = []
    middles: list[Point | None] = []

    def good(cloud: Cloud) -> Mask:
        return (cloud.depth > 2) & (cloud.depth < 0.5 * wide)

    found = centres(scan, rng, target, 3 * number, 0.75 * wide, good)
    for n, place in enumerate(map(as_point, found)):
        if len(entities) == number:
            break
        own = target.apart(rng)
        radius = size * float(own.uniform(0.6, 1.0)) / 2
        radius = target.scale * target.fitted(radius, low=max(6.0, 3 * scan.grain))
        middles.append(None)
        for seat in target.seats(n, [place]):
            entity = _bulla(scan, own, target, np.array(seat), radius)
            if entity is not None:
                entities.append(entity)
                middles[n] = seat
    if not entities:
        return None
    return Drawn(
        "1c",
        "bullous",
        entities,
        countable=True,
        sized=True,
        traits=("thin-walled",),
        middles=tuple(middles),
    )


def _bulla(
    scan: Scan, rng: np.random.Generator, target: Target, place: np.ndarray, radius: float
) -> Entity | None:
    """One bulla: a ball with shallow bulges, cut off by the pleura and the fissures."""
    field = DepthField(scan, place, radius * 1.3 + 3)
    squash = float(rng.uniform(0.8, 1.15))
    field.ball(place, radius, squash=squash)
    for _ in range(3):
        way = rng.normal(0, 1, 3)
        way *= 0.3 * radius / np.linalg.norm(way)
        field.ball(place + way, radius * float(rng.uniform(0.7, 0.82)))
    free = field.free(target)
    mask = (field.best > 0) & free
    # A sliver at the pleura, or what other findings leave of it, is no bulla.
    if mask.sum() < max(LEAST_VOXELS, 0.45 * (field.best > 0).sum()):
        return None
    wall = max(0.8, 0.45 * scan.grain)
    inner = np.minimum(field.best, _inside(field, target)) - np.float32(wall)
    shell = field.cover(field.best, free)
    # A hairline fills little of a coarse voxel.
    lung = scan.body.habitus.lung
    hairline = lung + (-540 - lung) * min(1.0, 1.1 / scan.grain)
    field.fill(shell, np.maximum(field.hu.clip(max=-300), np.float32(hairline)))
    field.fill(field.cover(inner, free), -988.0)
    return scan.take(field.cut, mask)


def _inside(field: DepthField, target: Target) -> Floats:
    """Millimetres to the pleura or a fissure near them: a bulla has a wall there too."""
    scan = field.scan
    own = field.free(target)
    depth = scan.depth(field.cut)
    step = min(scan.canvas.grid.step)
    at_fissure = own & ~ndimage.binary_erosion(own, border_value=1)
    return np.where(at_fissure, np.float32(0.3 * step), np.minimum(depth, 50)).astype(np.float32)


def _fading(scan: Scan) -> np.float32:
    """How deep the holes are: shallower where the case is to be hard."""
    return np.float32(min(0.55 + 0.45 * scan.difficulty.contrast, 1.0))


def _lung_only(hu: Floats) -> Floats:
    """1 in lung, 0 in vessels: what is left of the lobule's artery stays visible in its hole."""
    share: Floats = np.clip((-520 - hu) / np.float32(200), 0, 1)
    return share
