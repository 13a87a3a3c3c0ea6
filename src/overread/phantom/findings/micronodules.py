"""1e, micronodules: centrilobular, tree-in-bud, perilymphatic; each entity is one cluster."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from overread.phantom.body.noise import smooth_field
from overread.phantom.body.shapes import Floats, Points
from overread.phantom.findings.depth_field import DepthField
from overread.phantom.findings.scan import MIN_VOXELS, BoolArray, DrawnFinding, Entity, Scan, Target
from overread.phantom.findings.scatter import (
    PointCloud,
    choose_centres,
    find_free_points,
    make_cloud,
    scatter_lattice,
    split_axes,
    thin_out,
)

_PERIPHERAL_MM = 22.0
"""Twigs of tree-in-bud begin no further from the pleura than this."""


def draw_micronodules(scan: Scan, rng: np.random.Generator, kind: str, target: Target) -> DrawnFinding | None:
    """One to five clusters of nodules of a few millimetres, laid out as the kind demands."""
    number = int(rng.choice([1, 2, 2, 3, 4, 5]))
    number = target.draw_count(rng, max(number, min(len(target.lobes), 5)))
    reach = float(rng.uniform(22, 32)) * (0.7 + 0.3 * scan.difficulty.size)
    draw = {
        "centrilobular": _draw_centrilobular,
        "tree-in-bud": _draw_tree_in_bud,
        "perilymphatic": _draw_perilymphatic,
    }[kind]
    entities = []

    def good(cloud: PointCloud) -> BoolArray:
        if kind == "centrilobular":
            return cloud.depth > 8
        if kind == "tree-in-bud":
            return (cloud.depth > 5) & (cloud.depth < 18)
        return (_fissure_distance(scan, cloud.points) < 7) | (cloud.depth < 6)

    for place in _cluster_centres(scan, rng, target, number, target.max_scale * reach, good):
        own = target.split_rng(rng)
        here = target.scale * reach * float(own.uniform(0.8, 1.1))
        entity = draw(scan, own, target, place, here)
        if entity is not None:
            entities.append(entity)
    if not entities:
        return None
    spread = ("peripheral",) if kind == "tree-in-bud" else ()
    return DrawnFinding("1e", kind, entities, spread=spread)


def _cluster_centres(
    scan: Scan,
    rng: np.random.Generator,
    target: Target,
    number: int,
    reach: float,
    good: Callable[[PointCloud], BoolArray],
) -> list[Points]:
    """Middles of the clusters: each lobe gets one before any gets a second."""
    each = [choose_centres(scan, rng, lobe, number, 1.7 * reach, good) for lobe in target.by_lobe]
    order = rng.permutation(len(each))
    turns = (each[n][turn] for turn in range(number) for n in order if turn < len(each[n]))
    return [place for place, _ in zip(turns, range(number), strict=False)]


def _draw_centrilobular(
    scan: Scan, rng: np.random.Generator, target: Target, place: Points, reach: float
) -> Entity | None:
    """Soft-edged faint nodules at even distances; none touches the pleura or a fissure."""
    gap = max(float(rng.uniform(6.5, 8.5)), 3.6 * scan.voxel_mm)
    cloud = scatter_lattice(
        scan, rng, target, gap, around=(place, _largest_reach(target, reach)), jitter=0.16
    )
    cloud = cloud.subset((cloud.depth > 5) & (_fissure_distance(scan, cloud.points) > 4))
    cloud = cloud.subset(_thin_out_edge(rng, cloud, place, reach))
    hazy = float(rng.uniform(-560, -380))
    lung = scan.body.habitus.lung
    value = lung + (hazy - lung) * min(scan.difficulty.contrast, 1.5)

    def build(field: DepthField) -> None:
        for point in cloud.points:
            field.add_ball(point, _draw_radius(scan, rng, 1.2, 2.0))

    return _paint_cluster(scan, target, cloud.points, build, value, hazy=True)


def _draw_tree_in_bud(
    scan: Scan, rng: np.random.Generator, target: Target, place: Points, reach: float
) -> Entity | None:
    """The last twigs beside the arteries, filled: a stem, a fork, a bud at each end."""
    stems, ways, far = _artery_ends(scan, rng, place, 0.85 * _largest_reach(target, reach))
    cloud = make_cloud(scan, stems)
    keep = (cloud.depth < _PERIPHERAL_MM) & (cloud.depth > 5) & find_free_points(scan, target, stems)
    kept = np.flatnonzero(keep)
    kept = kept[thin_out(cloud.subset(kept), np.full(len(kept), max(4.5, 3.0 * scan.voxel_mm)))]
    each = {n: target.split_rng(rng) for n in kept}
    kept = kept[far[kept] < 0.85 * reach]
    kept = kept[: round(40 * max(target.scale, 1.0) ** 2)]

    def build(field: DepthField) -> None:
        for n in kept:
            _add_twig(scan, each[n], field, stems[n], ways[n])

    value = -30.0 - 90 * (1 - min(scan.difficulty.contrast, 1.2))
    return _paint_cluster(scan, target, stems[kept], build, value)


def _add_twig(scan: Scan, rng: np.random.Generator, field: DepthField, start: Points, way: Points) -> None:
    """One twig with two to four budding branches."""
    thin = max(0.6, 0.4 * scan.voxel_mm)
    longer = max(1.0, scan.voxel_mm / 1.5)
    fork = start + way * float(rng.uniform(2.0, 3.5)) * longer
    field.add_tube(start, fork, thin)
    turn = np.cross(way, rng.normal(0, 1, 3))
    turn /= max(float(np.linalg.norm(turn)), 1e-6)
    side = np.cross(way, turn)
    number = int(rng.integers(2, 5))
    for n in range(number):
        angle = 2 * np.pi * n / number + float(rng.uniform(-0.4, 0.4))
        lean = way * 0.75 + 0.75 * (np.cos(angle) * turn + np.sin(angle) * side)
        end = fork + lean * float(rng.uniform(2.4, 4.2)) * longer
        field.add_tube(fork, end, thin)
        field.add_ball(end, _draw_radius(scan, rng, 1.1, 1.6))


def _draw_perilymphatic(
    scan: Scan, rng: np.random.Generator, target: Target, place: Points, reach: float
) -> Entity | None:
    """Dense nodules strung along the fissures, the pleura and the bronchovascular bundles."""
    around = (place, _largest_reach(target, reach) * 1.1)
    cloud = scatter_lattice(scan, rng, target, 2.4, around=around, jitter=0.45)
    depth, fissure = cloud.depth, _fissure_distance(scan, cloud.points)
    on_surface = (np.abs(depth - max(1.8, 1.1 * scan.voxel_mm)) < 0.9) | (
        (fissure > 0.3) & (fissure < 1.6) & (depth > 1)
    )
    bundle = (_bundle_distance(scan, cloud.points) < 1.2) & (depth > 4)
    # Runs, not a coat: some stretches have many, others none.
    runs = smooth_field(rng, *cloud.xyz, 9.0) > -0.6
    chosen = np.flatnonzero((on_surface & runs) | bundle)
    chosen = rng.permutation(chosen)
    gaps = rng.uniform(2.8, 4.8, len(chosen)).clip(min=2.2 * scan.voxel_mm)
    cloud = cloud.subset(chosen)
    cloud = cloud.subset(thin_out(cloud, gaps))
    cloud = cloud.subset(np.linalg.norm(cloud.points - place, axis=1) < reach * 1.1)

    def build(field: DepthField) -> None:
        for point in cloud.points:
            field.add_ball(point, _draw_radius(scan, rng, 1.1, 1.9))

    value = 0.0 - 150 * (1 - min(scan.difficulty.contrast, 1.2))
    return _paint_cluster(scan, target, cloud.points, build, value)


def _paint_cluster(
    scan: Scan,
    target: Target,
    points: Points,
    build: Callable[[DepthField], None],
    hu: float,
    *,
    hazy: bool = False,
) -> Entity | None:
    """Gather the nodules and paint them if they make an entity; gaps of a voxel are closed."""
    if len(points) < 4:
        return None
    field = DepthField(scan, points, 8 + 4 * scan.voxel_mm)
    build(field)
    free = field.free_voxels(target)
    mask = field.depth > 0
    if (mask & free).sum() < MIN_VOXELS:
        return None
    # Ground glass has no edge to speak of.
    edge = np.float32(0.6 if hazy else 1.0)
    field.blend(field.cover(field.depth * edge, free), np.maximum(field.hu, np.float32(hu)))
    closed = ndimage.binary_closing(mask, iterations=1 if scan.voxel_mm > 1.5 else 2)
    return scan.claim_entity(field.cut, (closed | mask) & free)


def _draw_radius(scan: Scan, rng: np.random.Generator, low: float, high: float) -> float:
    return max(float(rng.uniform(low, high)) * scan.difficulty.size, 0.72 * scan.voxel_mm)


def _thin_out_edge(rng: np.random.Generator, cloud: PointCloud, place: Points, reach: float) -> BoolArray:
    """Which points belong to a cluster that thins out towards its edge."""
    far = np.linalg.norm(cloud.points - place, axis=1) / reach
    kept: BoolArray = (rng.random(len(cloud)) > (far - 0.55).clip(0) * 1.6) & (far < 1)
    return kept


def _largest_reach(target: Target, reach: float) -> float:
    """How far the cluster reaches on the day on which it is largest."""
    return reach * (target.max_scale / target.scale)


def _fissure_distance(scan: Scan, points: Points) -> Floats:
    """Millimetres to the nearest fissure of the lung that a point lies in."""
    xyz = scan.body.habitus.to_template(*split_axes(points))
    major, minor = scan.body.lungs.fissure_distances(*xyz)
    has_minor = (xyz[0] > 0) & (major > 0)
    nearest: Floats = np.where(has_minor, np.minimum(np.abs(major), np.abs(minor)), np.abs(major))
    return nearest


def _arteries(scan: Scan, least: int, most: int) -> tuple[Points, Points, NDArray[np.float64]]:
    """Starts, ends and radii of the arteries that feed so many ends, in the patient."""
    chosen = [b for b in scan.body.trees.arteries if least <= b.leaves <= most]
    lie = scan.body.habitus.to_patient(np.array([(b.start, b.end) for b in chosen]))
    return lie[:, 0], lie[:, 1], np.array([b.radius for b in chosen])


def _artery_ends(
    scan: Scan, rng: np.random.Generator, place: Points, reach: float
) -> tuple[Points, Points, NDArray[np.float64]]:
    """Where the last branches of arteries near a place end, the way they go, how far they are."""
    starts, ends, _ = _arteries(scan, 1, 3)
    far = np.linalg.norm(ends - place, axis=1)
    near = far < reach
    ends, ways = ends[near], (ends - starts)[near]
    ways /= np.linalg.norm(ways, axis=1, keepdims=True).clip(min=1e-6)
    # The trees of the body end long before the lobules do: side twigs stand for what is missing.
    aside = np.cross(ways, rng.normal(0, 1, ways.shape))
    aside /= np.linalg.norm(aside, axis=1, keepdims=True).clip(min=1e-6)
    turned = 0.5 * ways + 0.87 * aside
    return (
        np.concatenate([ends, ends - 5 * ways + aside, ends - 3 * ways - 4 * aside]),
        np.concatenate([ways, turned, -turned + ways]),
        np.tile(far[near], 3),
    )


def _bundle_distance(scan: Scan, points: Points) -> NDArray[np.float64]:
    """Millimetres from the outside of the nearest artery of some size."""
    nearest = np.full(len(points), np.inf)
    if not len(points):
        return nearest
    low, high = points.min(axis=0) - 5, points.max(axis=0) + 5
    starts, ends, radii = _arteries(scan, 6, 120)
    near = (np.maximum(starts, ends) > low).all(axis=1) & (np.minimum(starts, ends) < high).all(axis=1)
    for start, end, radius in zip(starts[near], ends[near], radii[near], strict=True):
        along = end - start
        t = ((points - start) @ along / max(float(along @ along), 1e-6)).clip(0, 1)
        far = np.linalg.norm(points - start - t[:, None] * along, axis=1)
        nearest = np.minimum(nearest, np.abs(far - radius - 0.6))
    return nearest
