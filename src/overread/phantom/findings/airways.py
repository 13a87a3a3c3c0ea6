"""1a, 1b and mucus of 1f: bronchi with thick walls, wide bronchi, bronchi that are filled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from overread.ontology import lungs as lung_names
from overread.phantom.body.lungs import SEGMENTS
from overread.phantom.body.trees import Branch
from overread.phantom.body.tubes import Piece, piece
from overread.phantom.findings.fields import DepthField
from overread.phantom.findings.scan import LEAST_VOXELS, LEVELS, Drawn, Entity, Scan, Target

_AIR, _WALL = -985.0, 0.0


@dataclass(frozen=True)
class Bronchus:
    """One airway of a target as it lies in the patient."""

    number: int
    """Index among all airways of the body."""
    branch: Branch
    tube: Piece

    @property
    def length(self) -> float:
        """Millimetres from one end to the other."""
        return float(np.linalg.norm(np.subtract(self.tube.end, self.tube.start)))


def draw_wall_thickening(
    scan: Scan, rng: np.random.Generator, kind: str, target: Target
) -> Drawn | None:
    """1a: the larger bronchi of some segments with thick walls around a lumen that stays open."""
    level = int(rng.choice(3, p=[0.4, 0.4, 0.2]))
    wall = (1.2, 1.7, 2.3)[level] * scan.difficulty.size * _coarse(scan) * target.scale
    entities = []
    for group in _stretches(scan, rng, target, per_lobe=(2, 2, 4)[level]):
        shown = [b for b in group if b.branch.order <= 6 + (level > 0)]
        if not shown:
            continue
        outer, inner = (_field(scan, shown, 4 + wall) for _ in range(2))
        for b in shown:
            lumen = max(b.tube.radius, 0.7 * scan.grain)
            # A wall is thinner on a smaller bronchus, and always thicker than it should be.
            here = wall * (0.75 + 0.25 * min(b.tube.radius / 1.6, 1.2))
            outer.tube(b.tube.start, b.tube.end, lumen + here)
            inner.tube(b.tube.start, b.tube.end, lumen)
        entity = _walled(scan, target, outer, inner)
        if entity is not None:
            entities.append(entity)
    return Drawn("1a", kind, entities, severity=LEVELS[level]) if entities else None


def draw_bronchiectasis(
    scan: Scan, rng: np.random.Generator, kind: str, target: Target
) -> Drawn | None:
    """1b: bronchi wider than their arteries that do not taper, are beaded, or end in cysts."""
    level = int(rng.choice(3, p=[0.4, 0.4, 0.2]))
    draw = _draw_cysts if kind == "cystic" else _draw_wide
    entities = []
    for group in _stretches(scan, rng, target, per_lobe=(1, 2, 3)[level]):
        entity = draw(scan, target.apart(rng), kind, target, group, level)
        if entity is not None:
            entities.append(entity)
    return Drawn("1b", kind, entities, severity=LEVELS[level]) if entities else None


def draw_mucus_plugging(
    scan: Scan, rng: np.random.Generator, kind: str, target: Target
) -> Drawn | None:
    """1f: bronchi filled with mucus, swollen and branching like the fingers of a glove."""
    entities: list[Entity] = []
    number = max(int(rng.choice([1, 2, 2, 3, 4])), min(len(target.lobes), 4))
    number = target.number(rng, number)
    groups = list(_stretches(scan, rng, target, per_lobe=4))
    for group in groups:
        if len(entities) == number:
            break
        entity = _plug(scan, target.apart(rng), target, group)
        if entity is not None:
            entities.append(entity)
    return Drawn("1f", kind, entities) if entities else None


def _draw_wide(
    scan: Scan,
    rng: np.random.Generator,
    kind: str,
    target: Target,
    group: Sequence[Bronchus],
    level: int,
) -> Entity | None:
    """Tram tracks and signet rings: wide tubes with their arteries beside them."""
    last = 7 + (level == 2)
    shown = _grown(rng, [b for b in group if 5 <= b.branch.order <= last], 0.8)
    if not shown:
        return None
    lumen = (2.1, 2.7, 3.3)[level] * float(rng.uniform(0.95, 1.1)) * scan.difficulty.size
    lumen = target.scale * target.fitted(lumen, low=1.15 * scan.grain)
    wall = (0.8 + 0.15 * level) * _coarse(scan)
    outer, inner, vessel = (_field(scan, shown, 2.5 * lumen + 3) for _ in range(3))
    for b in shown:
        # Hardly narrower at each branching: a bronchus that tapers is a healthy one.
        wide = lumen * 0.95 ** (b.branch.order - 5)
        beads = (0.0, 8.0, 0.0)
        if kind == "varicose":
            beads = (0.38, max(2.6 * wide, 4.5 * scan.grain), float(rng.uniform(0, 6.28)))
        outer.tube(b.tube.start, b.tube.end, wide + wall, beads=_scaled(beads, wide, wall))
        inner.tube(b.tube.start, b.tube.end, wide, beads=beads)
        _beside(scan, b, vessel, wide + wall)
    return _walled(scan, target, outer, inner, vessel=vessel)


def _draw_cysts(
    scan: Scan,
    rng: np.random.Generator,
    kind: str,
    target: Target,
    group: Sequence[Bronchus],
    level: int,
) -> Entity | None:
    """Cysts in rows along wide bronchi and in bunches at their ends, some with a fluid level."""
    shown = _grown(rng, [b for b in group if 5 <= b.branch.order <= 7], 0.8)
    if not shown:
        return None
    usual = (3.6, 4.4, 5.4)[level] * scan.difficulty.size
    size = usual * target.scale
    wall = 1.1 * _coarse(scan)
    field = _field(scan, shown, 3.5 * size, walls=True)
    fluid: list[tuple[np.ndarray, float]] = []
    for b in shown:
        start, end = np.asarray(b.tube.start), np.asarray(b.tube.end)
        if b.branch.order == 5:
            field.tube(b.tube.start, b.tube.end, max(0.55 * size, 1.15 * scan.grain) + wall / 2)
            continue
        way = (end - start) / max(b.length, 1e-3)
        at = 0.6 * size
        while at < b.length + (0.5 * size if b.branch.order == 7 else 0):
            radius = usual * float(rng.uniform(0.75, 1.3))
            radius = target.scale * target.fitted(radius, low=1.7 * scan.grain)
            aside = rng.normal(0, 0.3 * size, 3)
            centre = start + way * at + aside
            field.ball(centre, radius, edge=wall)
            if rng.random() < 0.25:
                fluid.append((centre, radius))
            at += 1.55 * radius
    free = field.free(target)
    mask = (field.best + wall / 2 > 0) & free
    if mask.sum() < LEAST_VOXELS:
        return None
    field.fill(field.cover(field.best + np.float32(wall / 2), free), _WALL)
    inner = field.rooms(wall)
    field.fill(field.cover(inner, free), _AIR)
    x, y, z = field.axes
    for centre, radius in fluid:
        near = np.float32(radius) - np.sqrt(
            (x - centre[0]) ** 2 + (y - centre[1]) ** 2 + (z - centre[2]) ** 2
        )
        pool = np.minimum(np.minimum(near, inner), np.float32(centre[1] - 0.25 * radius) - y)
        field.fill(field.cover(pool, free), 12.0)
    return scan.take(field.cut, mask)


def _plug(
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
    wide = target.scale * target.fitted(wide, low=1.2 * scan.grain)
    field = _field(scan, shown, wide * 2)
    parents = {b.branch.parent for b in shown}
    for b in shown:
        radius = wide * 0.88 ** (b.branch.order - root.branch.order)
        start, end = np.asarray(b.tube.start), np.asarray(b.tube.end)
        if b is root:
            start = start + 0.35 * (end - start)
        blunt = b.number not in parents
        field.tube(start, end, radius * 0.92, last=radius * (1.12 if blunt else 1.0))
    free = field.free(target)
    mask = (field.best > 0) & free
    if mask.sum() < LEAST_VOXELS:
        return None
    field.fill(field.cover(field.best, free), 22.0 + 5 * scan.waves(rng, field.cut, 5))
    return scan.take(field.cut, mask)


def _walled(
    scan: Scan,
    target: Target,
    outer: DepthField,
    inner: DepthField,
    *,
    vessel: DepthField | None = None,
) -> Entity | None:
    """Paint walls, the vessels beside them, then every lumen, so that branchings stay open."""
    free = outer.free(target)
    mask = (outer.best > 0) & free
    if mask.sum() < LEAST_VOXELS:
        return None
    if vessel is not None:
        outer.fill(outer.cover(vessel.best, free), 35.0)
    outer.fill(outer.cover(outer.best, free), np.maximum(outer.hu, _WALL))
    outer.fill(outer.cover(inner.best, free), _AIR)
    return scan.take(outer.cut, mask)


def _beside(scan: Scan, bronchus: Bronchus, vessel: DepthField, reach: float) -> None:
    """The artery of a bronchus, moved out of the way of its wider wall: the stone of the ring."""
    b = bronchus.branch
    mates = [
        a
        for a in scan.body.trees.arteries
        if a.segment == b.segment and a.order == b.order and a.leaves == b.leaves
    ]
    if not mates:
        return
    mate = min(mates, key=lambda a: float(np.linalg.norm(np.subtract(a.end, b.end))))
    lies = piece(scan.body.habitus, mate)
    start, end = np.asarray(bronchus.tube.start), np.asarray(bronchus.tube.end)
    along = (end - start) / max(bronchus.length, 1e-3)
    aside = np.asarray(lies.end) - end
    aside = aside - (aside @ along) * along
    aside /= max(float(np.linalg.norm(aside)), 1e-3)
    radius = max(mate.radius, 0.6 * scan.grain)
    shift = aside * (reach + 0.7 * radius)
    vessel.tube(start + shift, end + shift, radius)


def _stretches(
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
                Bronchus(n, branch, piece(scan.body.habitus, branch))
                for n, branch in enumerate(airways)
                if branch.segment == SEGMENTS.index(code) + 1
            ]
            for code in chosen
        ]
        # In many lobes at once one outlines lobes, not segments.
        yield from groups if len(target.lobes) <= 2 else [[b for group in groups for b in group]]


def _grown(rng: np.random.Generator, bronchi: Sequence[Bronchus], share: float) -> list[Bronchus]:
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


def _field(
    scan: Scan, bronchi: Sequence[Bronchus], reach: float, *, walls: bool = False
) -> DepthField:
    ends = [end for b in bronchi for end in (b.tube.start, b.tube.end)]
    return DepthField(scan, ends, reach, walls=walls)


def _scaled(
    beads: tuple[float, float, float], wide: float, wall: float
) -> tuple[float, float, float]:
    """Beads of a wall that follows the beads of its lumen at an even distance."""
    return beads[0] * wide / (wide + wall), beads[1], beads[2]


def _coarse(scan: Scan) -> float:
    """How much thicker thin things are drawn on a coarse grid, so that voxels show them."""
    return max(1.0, scan.grain / 1.4)
