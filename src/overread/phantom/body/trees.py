"""Airways and lung vessels: trees that grow towards points scattered through each segment.

A branch goes part of the way to the middle of its points, the points are halved, and each half gets
a branch of its own: the way in which lung models are grown since Tawhai's. Arteries run beside the
airways, so both are one tree; the veins are another, between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from overread.ontology import lung_anatomy as lung_names
from overread.phantom.body.lungs import LOBES, SEGMENTS, LungShape
from overread.phantom.body.shapes import Point, Points, to_point

_TRACHEA = ((2.0, 8.0, 140.0), (2.0, 2.0, 80.0), (3.0, -8.0, 30.0), (4.0, -14.0, 4.0))
_CARINA = (4.0, -14.0, 4.0)
# Where the airway of each lobe begins, and the way to it from the carina.
_LOBE_AIRWAYS: dict[str, tuple[Point, ...]] = {
    "RUL": ((20, -19, -10), (40, -18, -6)),
    "RML": ((20, -19, -10), (36, -26, -30), (48, -6, -46)),
    "RLL": ((20, -19, -10), (36, -26, -30), (45, -37, -54)),
    "LUL": ((-22, -23, -16), (-42, -28, -28), (-54, -12, -24)),
    "LLL": ((-22, -23, -16), (-42, -28, -28), (-48, -39, -52)),
}
_VEIN_ROOTS = {
    "RUL": (40, -12, -30), "RML": (42, -8, -40), "RLL": (44, -36, -70),
    "LUL": (-42, -10, -30), "LLL": (-44, -36, -70),
}  # fmt: skip


@dataclass(frozen=True)
class Branch:
    """A straight piece of a tree; points in template millimetres, radii of the artery or vein."""

    start: Point
    end: Point
    radius: float
    order: int
    """0 for the windpipe; larger towards the pleura."""
    segment: int
    """Number of the segment it supplies, 0 above the segments."""
    leaves: int
    """How many ends it feeds."""
    parent: int
    """Index of the branch that it comes from, -1 for none."""


@dataclass(frozen=True)
class Trees:
    """All branches of one patient."""

    airways: tuple[Branch, ...]
    """Radius is that of the lumen."""
    arteries: tuple[Branch, ...]
    veins: tuple[Branch, ...]


def grow_trees(lungs: LungShape, rng: np.random.Generator, *, ends: int = 2300) -> Trees:
    """Grow the trees of a patient, with about `ends` ends of arteries, fewer of veins."""
    targets = _scatter_ends(lungs, rng, ends)
    airways: list[Branch] = []
    arteries: list[Branch] = []
    veins: list[Branch] = []
    for start, end in pairwise(_TRACHEA):
        airways.append(Branch(start, end, 8.6, 0, 0, ends, len(airways) - 1))
    carina = len(airways) - 1
    for lobe in LOBES:
        _grow_lobe(lungs, rng, lobe, targets, airways, arteries, carina)
        own = [
            points for n, points in targets.items()
            if lung_names().by_code[SEGMENTS[n - 1]].code == lobe
        ]  # fmt: skip
        scattered = np.concatenate(own)
        scattered = scattered[rng.random(len(scattered)) < 0.75]
        scattered = scattered + rng.normal(0, 5, scattered.shape)
        root = np.asarray(_VEIN_ROOTS[lobe], float)
        _grow_branches(veins, root, scattered, rng, order=2, segment=0, parent=-1, scale=0.45)
    return Trees(tuple(airways), tuple(arteries), tuple(veins))


def _scatter_ends(lungs: LungShape, rng: np.random.Generator, ends: int) -> dict[int, Points]:
    """Points scattered through the lungs, by segment; none too near to the pleura."""
    count = ends * 9
    low, high = np.array([-132, -95, -175]), np.array([132, 95, 122])
    cloud = rng.uniform(low, high, (count, 3)).astype(np.float32)
    x, y, z = cloud.T
    depth = lungs.lung_depth(x, y, z)
    cloud = cloud[depth > 3.0][:ends]
    x, y, z = cloud.T
    number = lungs.segment_number(x, y, z, lungs.lobe_number(x, y, z))
    found = {n: cloud[number == n].astype(np.float64) for n in range(1, len(SEGMENTS) + 1)}
    # A segment that got no point still has a branch.
    return {
        n: points if len(points) else lungs.segment_centre(SEGMENTS[n - 1])[None].astype(np.float64)
        for n, points in found.items()
    }


def _grow_lobe(
    lungs: LungShape,
    rng: np.random.Generator,
    lobe: str,
    targets: dict[int, Points],
    airways: list[Branch],
    arteries: list[Branch],
    carina: int,
) -> None:
    """The way to a lobe, then a tree for each of its segments."""
    at, parent = _CARINA, carina
    way = _LOBE_AIRWAYS[lobe]
    for step, point in enumerate(way):
        radius = (6.4, 5.2, 4.6)[step] if len(way) == 3 else (6.4, 4.6)[step]
        same = [n for n, b in enumerate(airways) if b.start == at and b.end == point]
        if same:
            parent = same[0]
        else:
            airways.append(Branch(at, point, radius, 1 + step, 0, 500, parent))
            parent = len(airways) - 1
        at = point
    root = np.asarray(at)
    for n, points in targets.items():
        if lung_names().by_code[SEGMENTS[n - 1]].code != lobe:
            continue
        twigs: list[Branch] = []
        _grow_branches(twigs, root, points, rng, order=4, segment=n, parent=-1, scale=0.45)
        arteries.extend(twigs)
        _add_airways(twigs, airways, parent, rng)


def _add_airways(twigs: list[Branch], airways: list[Branch], root: int, rng: np.random.Generator) -> None:
    """Airways along the larger arteries, each shifted to lie beside its artery."""
    aside = rng.normal(0, 1, 3)
    aside /= np.linalg.norm(aside)
    placed: dict[int, int] = {}
    for n, twig in enumerate(twigs):
        if twig.leaves < 5 or (twig.parent >= 0 and twig.parent not in placed):
            continue
        lumen = max(0.85 * twig.radius, 0.6)
        shift = aside * (twig.radius + lumen + 0.7)
        parent = placed[twig.parent] if twig.parent >= 0 else root
        start = airways[parent].end
        end = to_point(np.asarray(twig.end) + shift)
        airways.append(Branch(start, end, lumen, twig.order, twig.segment, twig.leaves, parent))
        placed[n] = len(airways) - 1


def _grow_branches(
    out: list[Branch],
    start: Points,
    points: Points,
    rng: np.random.Generator,
    *,
    order: int,
    segment: int,
    parent: int,
    scale: float,
) -> None:
    """Grow one branch towards its points, halve them, and go on from its end."""
    stack = [(start, points, order, parent)]
    while stack:
        at, group, level, above = stack.pop()
        middle = group.mean(axis=0)
        single = len(group) == 1
        reach = 1.0 if single else 0.42
        end = at + (middle - at) * reach
        if not single:
            end = end + rng.normal(0, 0.06 * np.linalg.norm(middle - at) + 0.2, 3)
        radius = scale * len(group) ** 0.36
        out.append(Branch(to_point(at), to_point(end), radius, level, segment, len(group), above))
        if single:
            continue
        here = len(out) - 1
        # Halve across the direction in which the points spread most, seen from the branch's end.
        spread = group - middle
        way = middle - at
        way = way / (np.linalg.norm(way) + 1e-9)
        spread = spread - np.outer(spread @ way, way) * 0.8
        axis = np.linalg.eigh(spread.T @ spread)[1][:, -1]
        along = spread @ axis
        # The median, by hand: np.median takes longer than the rest of a branch.
        ranked = np.sort(along)
        side = along > (ranked[(len(along) - 1) // 2] + ranked[len(along) // 2]) / 2
        if side.all() or not side.any():
            side = np.arange(len(group)) % 2 == 0
        stack.append((end, group[side], level + 1, here))
        stack.append((end, group[~side], level + 1, here))
