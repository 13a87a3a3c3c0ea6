"""1a, 1b and mucus of 1f: bronchi with thick walls, wide bronchi, bronchi that are filled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from overread.ontology import lung_anatomy as lung_names
from overread.phantom.body.lungs import SEGMENTS
from overread.phantom.body.trees import Branch
from overread.phantom.body.tubes import TubePiece, place_branch
from overread.phantom.findings.depth_field import DepthField
from overread.phantom.findings.scan import MIN_VOXELS, SEVERITIES, DrawnFinding, Entity, Scan, Target

_AIR_HU, _WALL_HU = -985.0, 0.0


@dataclass(frozen=True)
class Bronchus:
    """One airway of a target as it lies in the patient."""

    number: int
    """Index among all airways of the body."""
    branch: Branch
    tube: TubePiece

    @property
    def length(self) -> float:
        """Millimetres from one end to the other."""
        return float(np.linalg.norm(np.subtract(self.tube.end, self.tube.start)))


def draw_wall_thickening(
    scan: Scan, rng: np.random.Generator, kind: str, target: Target
) -> DrawnFinding | None:
    """1a: the larger bronchi of some segments with thick walls around a lumen that stays open."""
    level = int(rng.choice(3, p=[0.4, 0.4, 0.2]))
    wall = (1.2, 1.7, 2.3)[level] * scan.difficulty.size * _coarse_grid_factor(scan) * target.scale
    entities = []
    for group in _bronchus_groups(scan, rng, target, per_lobe=(2, 2, 4)[level]):
        shown = [b for b in group if b.branch.order <= 6 + (level > 0)]
        if not shown:
            continue
        outer, inner = (_make_field(scan, shown, 4 + wall) for _ in range(2))
        for b in shown:
            lumen = max(b.tube.radius, 0.7 * scan.voxel_mm)
            # A wall is thinner on a smaller bronchus, and always thicker than it should be.
            here = wall * (0.75 + 0.25 * min(b.tube.radius / 1.6, 1.2))
            outer.add_tube(b.tube.start, b.tube.end, lumen + here)
            inner.add_tube(b.tube.start, b.tube.end, lumen)
        entity = _paint_walls(scan, target, outer, inner)
        if entity is not None:
            entities.append(entity)
    return DrawnFinding("1a", kind, entities, severity=SEVERITIES[level]) if entities else None


def draw_bronchiectasis(
    scan: Scan, rng: np.random.Generator, kind: str, target: Target
) -> DrawnFinding | None:
    """1b: bronchi wider than their arteries that do not taper, are beaded, or end in cysts."""
    level = int(rng.choice(3, p=[0.4, 0.4, 0.2]))
    draw = _draw_cysts if kind == "cystic" else _draw_wide
    entities = []
    for group in _bronchus_groups(scan, rng, target, per_lobe=(1, 2, 3)[level]):
        entity = draw(scan, target.split_rng(rng), kind, target, group, level)
        if entity is not None:
            entities.append(entity)
    return DrawnFinding("1b", kind, entities, severity=SEVERITIES[level]) if entities else None


def draw_mucus_plugging(
    scan: Scan, rng: np.random.Generator, kind: str, target: Target
) -> DrawnFinding | None:
    """1f: bronchi filled with mucus, swollen and branching like the fingers of a glove."""
    entities: list[Entity] = []
    number = max(int(rng.choice([1, 2, 2, 3, 4])), min(len(target.lobes), 4))
    number = target.draw_count(rng, number)
    groups = list(_bronchus_groups(scan, rng, target, per_lobe=4))
    for group in groups:
        if len(entities) == number:
            break
        entity = _draw_plug(scan, target.split_rng(rng), target, group)
        if entity is not None:
            entities.append(entity)
    return DrawnFinding("1f", kind, entities) if entities else None


def _draw_wide(
    scan: Scan, rng: np.random.Generator, kind: str, target: Target, group: Sequence[Bronchus], level: int
) -> Entity | None:
    """Tram tracks and signet rings: wide tubes with their arteries beside them."""
    last = 7 + (level == 2)
    shown = _connected_subset(rng, [b for b in group if 5 <= b.branch.order <= last], 0.8)
    if not shown:
        return None
    lumen = (2.1, 2.7, 3.3)[level] * float(rng.uniform(0.95, 1.1)) * scan.difficulty.size
    lumen = target.scale * target.fit_size(lumen, low=1.15 * scan.voxel_mm)
    wall = (0.8 + 0.15 * level) * _coarse_grid_factor(scan)
    outer, inner, vessel = (_make_field(scan, shown, 2.5 * lumen + 3) for _ in range(3))
    for b in shown:
        # Hardly narrower at each branching: a bronchus that tapers is a healthy one.
        wide = lumen * 0.95 ** (b.branch.order - 5)
        beads = (0.0, 8.0, 0.0)
        if kind == "varicose":
            beads = (0.38, max(2.6 * wide, 4.5 * scan.voxel_mm), float(rng.uniform(0, 6.28)))
        outer.add_tube(b.tube.start, b.tube.end, wide + wall, beads=_wall_beads(beads, wide, wall))
        inner.add_tube(b.tube.start, b.tube.end, wide, beads=beads)
        _move_artery(scan, b, vessel, wide + wall)
    return _paint_walls(scan, target, outer, inner, vessel=vessel)


def _draw_cysts(
    scan: Scan, rng: np.random.Generator, kind: str, target: Target, group: Sequence[Bronchus], level: int
) -> Entity | None:
    """Cysts in rows along wide bronchi and in bunches at their ends, some with a fluid level."""
    shown = _connected_subset(rng, [b for b in group if 5 <= b.branch.order <= 7], 0.8)
    if not shown:
        return None
    usual = (3.6, 4.4, 5.4)[level] * scan.difficulty.size
    size = usual * target.scale
    wall = 1.1 * _coarse_grid_factor(scan)
    field = _make_field(scan, shown, 3.5 * size, walls=True)
    fluid: list[tuple[np.ndarray, float]] = []
    for b in shown:
        start, end = np.asarray(b.tube.start), np.asarray(b.tube.end)
        if b.branch.order == 5:
            field.add_tube(b.tube.start, b.tube.end, max(0.55 * size, 1.15 * scan.voxel_mm) + wall / 2)
            continue
        way = (end - start) / max(b.length, 1e-3)
        at = 0.6 * size
        while at < b.length + (0.5 * size if b.branch.order == 7 else 0):
            radius = usual * float(rng.uniform(0.75, 1.3))
            radius = target.scale * target.fit_size(radius, low=1.7 * scan.voxel_mm)
            aside = rng.normal(0, 0.3 * size, 3)
            centre = start + way * at + aside
            field.add_ball(centre, radius, edge=wall)
            if rng.random() < 0.25:
                fluid.append((centre, radius))
            at += 1.55 * radius
    free = field.free_voxels(target)
    mask = (field.depth + wall / 2 > 0) & free
    if mask.sum() < MIN_VOXELS:
        return None
    field.blend(field.cover(field.depth + np.float32(wall / 2), free), _WALL_HU)
    inner = field.depth_within_walls(wall)
    field.blend(field.cover(inner, free), _AIR_HU)
    x, y, z = field.axes
    for centre, radius in fluid:
        near = np.float32(radius) - np.sqrt(
            (x - centre[0]) ** 2 + (y - centre[1]) ** 2 + (z - centre[2]) ** 2
        )
        pool = np.minimum(np.minimum(near, inner), np.float32(centre[1] - 0.25 * radius) - y)
        field.blend(field.cover(pool, free), 12.0)
    return scan.claim_entity(field.cut, mask)


def _draw_plug(
    scan: Scan, rng: np.random.Generator, target: Target, group: Sequence[Bronchus]
) -> Entity | None:
    """One bronchus and what branches from it, filled; the ends are blunt and a little wider."""
    roots = [b for b in group if b.branch.order == 5 and b.length > 7]
    if not roots:
        return None
    root = roots[int(rng.integers(len(roots)))]
    shown, reached = [root], {root.number}
    for b in group:
        if b.branch.parent in reached and b.branch.order <= root.branch.order + 2:
            shown.append(b)
            reached.add(b.number)
    wide = float(rng.uniform(3.2, 4.8)) * scan.difficulty.size
    wide = target.scale * target.fit_size(wide, low=1.2 * scan.voxel_mm)
    field = _make_field(scan, shown, wide * 2)
    parents = {b.branch.parent for b in shown}
    for b in shown:
        radius = wide * 0.88 ** (b.branch.order - root.branch.order)
        start, end = np.asarray(b.tube.start), np.asarray(b.tube.end)
        if b is root:
            start = start + 0.35 * (end - start)
        blunt = b.number not in parents
        field.add_tube(start, end, radius * 0.92, last=radius * (1.12 if blunt else 1.0))
    free = field.free_voxels(target)
    mask = (field.depth > 0) & free
    if mask.sum() < MIN_VOXELS:
        return None
    field.blend(field.cover(field.depth, free), 22.0 + 5 * scan.smooth_noise(rng, field.cut, 5))
    return scan.claim_entity(field.cut, mask)


def _paint_walls(
    scan: Scan, target: Target, outer: DepthField, inner: DepthField, *, vessel: DepthField | None = None
) -> Entity | None:
    """Paint walls, the vessels beside them, then every lumen, so that branchings stay open."""
    free = outer.free_voxels(target)
    mask = (outer.depth > 0) & free
    if mask.sum() < MIN_VOXELS:
        return None
    if vessel is not None:
        outer.blend(outer.cover(vessel.depth, free), 35.0)
    outer.blend(outer.cover(outer.depth, free), np.maximum(outer.hu, _WALL_HU))
    outer.blend(outer.cover(inner.depth, free), _AIR_HU)
    return scan.claim_entity(outer.cut, mask)


def _move_artery(scan: Scan, bronchus: Bronchus, vessel: DepthField, reach: float) -> None:
    """The artery of a bronchus, moved outside its wider wall: the signet-ring sign."""
    b = bronchus.branch
    mates = [
        a
        for a in scan.body.trees.arteries
        if a.segment == b.segment and a.order == b.order and a.leaves == b.leaves
    ]
    if not mates:
        return
    mate = min(mates, key=lambda a: float(np.linalg.norm(np.subtract(a.end, b.end))))
    lies = place_branch(scan.body.habitus, mate)
    start, end = np.asarray(bronchus.tube.start), np.asarray(bronchus.tube.end)
    along = (end - start) / max(bronchus.length, 1e-3)
    aside = np.asarray(lies.end) - end
    aside = aside - (aside @ along) * along
    aside /= max(float(np.linalg.norm(aside)), 1e-3)
    radius = max(mate.radius, 0.6 * scan.voxel_mm)
    shift = aside * (reach + 0.7 * radius)
    vessel.add_tube(start + shift, end + shift, radius)


def _bronchus_groups(
    scan: Scan, rng: np.random.Generator, target: Target, *, per_lobe: int
) -> Iterator[list[Bronchus]]:
    """Bronchi of some segments of the target, as groups that one would outline as one thing."""
    airways = scan.body.trees.airways
    for lobe in target.lobes:
        codes = [s.code for s in lung_names().by_code[lobe].segments]
        if target.segment is not None:
            codes = [code for code in codes if code == target.segment]
        chosen = [codes[n] for n in rng.permutation(len(codes))[:per_lobe]]
        groups = [
            [
                Bronchus(n, branch, place_branch(scan.body.habitus, branch))
                for n, branch in enumerate(airways)
                if branch.segment == SEGMENTS.index(code) + 1
            ]
            for code in chosen
        ]
        # In many lobes at once one outlines lobes, not segments.
        yield from groups if len(target.lobes) <= 2 else [[b for group in groups for b in group]]


def _connected_subset(rng: np.random.Generator, bronchi: Sequence[Bronchus], share: float) -> list[Bronchus]:
    """Some of the bronchi: each with its parent, so that none hangs in the air."""
    first = min((b.branch.order for b in bronchi), default=0)
    kept: list[Bronchus] = []
    reached: set[int] = set()
    for b in bronchi:
        wanted = rng.random() < share
        if b.branch.order == first or (b.branch.parent in reached and wanted):
            kept.append(b)
            reached.add(b.number)
    return kept


def _make_field(scan: Scan, bronchi: Sequence[Bronchus], reach: float, *, walls: bool = False) -> DepthField:
    ends = [end for b in bronchi for end in (b.tube.start, b.tube.end)]
    return DepthField(scan, ends, reach, walls=walls)


def _wall_beads(beads: tuple[float, float, float], wide: float, wall: float) -> tuple[float, float, float]:
    """Beads of a wall that follows the beads of its lumen at an even distance."""
    return beads[0] * wide / (wide + wall), beads[1], beads[2]


def _coarse_grid_factor(scan: Scan) -> float:
    """How much thicker thin things are drawn on a coarse grid, so that voxels show them."""
    return max(1.0, scan.voxel_mm / 1.4)
