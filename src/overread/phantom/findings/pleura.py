"""2e and 2g, the pleural space: effusion, thickening, pneumothorax.

The patient lies on the back. Fluid lifts the lung off the back wall and air lets it sink away from
the front: the lung's outline, moved forwards or backwards within the ribs, leaves a crescent that
is widest where gravity has it and comes to a point along the side wall.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from overread.ontology import lung_anatomy as lung_names
from overread.phantom.body.boxes import to_inner
from overread.phantom.body.canvas import ORGAN_NUMBERS, Cut
from overread.phantom.body.shapes import Floats, union_depth
from overread.phantom.findings.scan import BoolArray, DrawnFinding, Entity, Scan, Target, grade_severity
from overread.phantom.findings.seams import close_seam
from overread.phantom.statement import Severity

_FLUID_HU, _TISSUE_HU, _AIR_HU = 8.0, 40.0, -1000.0
_MIN_VOXELS = 40
"""Voxels below which there is nothing to be seen of it."""


@dataclass
class PleuralSide:
    """One lung's part of the arrays, and how deep each voxel lies in what takes its place."""

    name: str
    cut: Cut
    lung: BoolArray
    """Voxels of that lung that belong to no finding."""
    depth: Floats

    @property
    def mask(self) -> BoolArray:
        """Voxels of the lung that are lung no more."""
        return self.lung & (self.depth > 0)

    @property
    def taken_share(self) -> float:
        """How much of the lung's room is taken."""
        return float(self.mask.sum()) / max(int(self.lung.sum()), 1)

    def slabs(self, scan: Scan) -> Iterator[tuple[Cut, Cut]]:
        """A few slices at a time: in the arrays, and in the part."""
        for cut in scan.canvas.grid.iterate_slabs(self.cut):
            yield cut, to_inner(cut, self.cut)


def draw_effusion(scan: Scan, rng: np.random.Generator, kind: str, target: Target) -> DrawnFinding | None:
    """Free fluid behind one or both lungs; the mask is all of it, one entity a side."""
    thick = float(rng.choice([rng.uniform(9, 16), rng.uniform(20, 34), rng.uniform(42, 66)]))
    thick = _fit_thickness(scan, target, thick)
    entities: list[Entity | None] = []
    shares: list[float] = []
    for name in target.sides:
        side = _find_side(scan, name)
        if side is None:
            continue
        here = thick * (1.0 if not entities else float(rng.uniform(0.8, 1.05)))
        crescent = _set_fluid_depth(scan, rng, side, here)
        if side.mask.sum() < _MIN_VOXELS:
            continue
        _compress_lung(scan, side, crescent, here)
        shares.append(side.taken_share)
        entities.append(_fill_pleural_space(scan, side, _FLUID_HU))
    return _make_finding("2e", "effusion", entities, _grade_shares(shares, 0.09, 0.27), spread=("dependent",))


def draw_pneumothorax(scan: Scan, rng: np.random.Generator, kind: str, target: Target) -> DrawnFinding | None:
    """Air in front of one or both lungs; the mask is all of it, one entity a side."""
    thick = float(rng.choice([rng.uniform(9, 15), rng.uniform(18, 28), rng.uniform(34, 52)]))
    thick = _fit_thickness(scan, target, thick)
    entities: list[Entity | None] = []
    shares: list[float] = []
    in_front = True
    for name in target.sides:
        side = _find_side(scan, name)
        if side is None:
            continue
        _set_air_depth(scan, rng, side, thick)
        if side.mask.sum() < _MIN_VOXELS:
            continue
        _deflate_lung(scan, side)
        in_front &= _lies_in_front(side)
        shares.append(side.taken_share)
        entities.append(_fill_pleural_space(scan, side, _AIR_HU))
    severity = _grade_shares(shares, 0.12, 0.35)
    spread = ("anterior",) if in_front else ()
    return _make_finding("2g", "pneumothorax", entities, severity, spread=spread)


def draw_thickening(scan: Scan, rng: np.random.Generator, kind: str, target: Target) -> DrawnFinding | None:
    """A smooth plate on the ribs' pleura, focal or along most of the wall, perhaps calcified."""
    thick = float(np.clip(rng.uniform(3.0, 8.0) * scan.difficulty.size, 3.0, 8.0))
    thick = target.scale * target.fit_size(thick, low=1.5 * scan.voxel_mm)
    diffuse, chalk = bool(rng.random() < 0.4), bool(rng.random() < 0.4)
    entities: list[Entity | None] = []
    for name in target.sides:
        side = _find_side(scan, name, target)
        if side is not None and diffuse:
            _set_plate_depth(scan, rng, side, thick)
        elif side is not None:
            side = _make_patch(scan, rng, target, side, thick)
        if side is None or side.mask.sum() < _MIN_VOXELS:
            continue
        entities.append(_fill_pleural_space(scan, side, _TISSUE_HU))
        if chalk:
            _paint_calcium(scan, rng, side)
    severity: Severity | None = None
    if diffuse:
        severity = "mild" if thick < 5.5 else "moderate"
    traits = ("calcified",) if chalk else ("smooth",)
    return _make_finding("2e", "thickening", entities, severity, traits=traits)


def _fit_thickness(scan: Scan, target: Target, usual: float) -> float:
    """Millimetres of fluid or air; always enough of them to be seen."""
    usual = usual * (0.7 + 0.3 * scan.difficulty.size)
    return target.scale * target.fit_size(usual, low=2.5 * scan.voxel_mm)


def _make_finding(
    category: str,
    kind: str,
    entities: list[Entity | None],
    severity: Severity | None,
    *,
    spread: tuple[str, ...] = (),
    traits: tuple[str, ...] = (),
) -> DrawnFinding | None:
    """What was drawn in the pleural spaces, if anything was."""
    found = [entity for entity in entities if entity is not None]
    if not found:
        return None
    return DrawnFinding(category, kind, found, pleural=True, severity=severity, spread=spread, traits=traits)


def _find_side(scan: Scan, name: str, within: Target | None = None) -> PleuralSide | None:
    """A lung as it is now, or the part of it that belongs to a target; None where none is left."""
    target = Target(_side_lobes(name))
    if within is not None:
        own = tuple(code for code in target.lobes if code in within.lobes)
        target = Target(own, within.segment)
    cut = scan.target_box(target)
    if cut is None:
        return None
    lung = scan.free_voxels(cut, target)
    return PleuralSide(name, cut, lung, np.full(lung.shape, -99, np.float32))


def _side_lobes(side: str) -> tuple[str, ...]:
    """Codes of the lobes of a lung."""
    return tuple(lobe.code for lobe in lung_names().lobes if lobe.side == side)


def _grade_shares(shares: list[float], little: float, much: float) -> Severity | None:
    """From the share of the lungs' room that is taken."""
    if not shares:
        return None
    return grade_severity(float(np.mean(shares)), little, much)


def _set_fluid_depth(scan: Scan, rng: np.random.Generator, side: PleuralSide, thick: float) -> Floats:
    """A crescent behind the lung, thickest at the base, thinning out towards the apex.

    Answers with the depth in the crescent alone, without what enters fissure and base.
    """
    crescent = np.empty_like(side.depth)
    lungs, habitus = scan.body.lungs, scan.body.habitus
    top = np.float32(np.interp(thick, (9, 30, 60), (10, 70, 118)) + rng.uniform(-15, 8))
    one, two = rng.uniform(0, 6.28, 2)
    cleft = np.float32(np.clip(thick / 9, 0, 3.2) if thick > 18 else 0)
    for outer, inner in side.slabs(scan):
        x, y, z = habitus.to_template(*scan.coordinates(outer))
        height = np.clip((top - z) / (top + 150), 0, 1) ** np.float32(0.7)
        uneven = 1 + 0.07 * np.sin(x / 17 + one) + 0.05 * np.sin(z / 21 + two)
        back = (np.float32(thick) * height * uneven).astype(np.float32)
        ribs, around = lungs.cavity_depth(x, y - back, z)
        depth = 1 - ribs + np.float32(0.14) * back * (1 - around) - np.where(height > 0, 0, 99)
        behind = depth
        # A little lies between the lung and the diaphragm, at the back.
        dome, cosine = lungs.diaphragm_height(x, y)
        low = 0.16 * back * np.clip((-y - 5) / 45, 0, 1) - (z - dome) * cosine
        depth = np.where(behind > -30, union_depth(depth, low.astype(np.float32), blend=10), depth)
        if cleft:
            # A wedge of it enters the fissure.
            major, _ = lungs.fissure_distances(x, y, z)
            wedge = (cleft * np.clip(1 + behind / 24, 0, 1) - np.abs(major)).astype(np.float32)
            depth = np.where(behind > -24, union_depth(depth, wedge, blend=2), depth)
        side.depth[inner] = depth
        crescent[inner] = behind
    return crescent


def _set_air_depth(scan: Scan, rng: np.random.Generator, side: PleuralSide, thick: float) -> None:
    """A crescent in front of the lung, widest towards the base; a large one all round it."""
    lungs, habitus = scan.body.lungs, scan.body.habitus
    one, two = rng.uniform(0, 6.28, 2)
    all_round = np.float32(max(thick - 14, 0) * 0.35)
    for outer, inner in side.slabs(scan):
        x, y, z = habitus.to_template(*scan.coordinates(outer))
        height = np.clip((115 - z) / 200, 0, 1)
        uneven = 1 + 0.05 * np.sin(x / 19 + one) + 0.05 * np.sin(z / 25 + two)
        front = (np.float32(thick) * (0.4 + 0.6 * height) * uneven).astype(np.float32)
        ribs, around = lungs.cavity_depth(x, y + front, z + all_round)
        depth = 1 - ribs + all_round * np.clip(around * 2.2, 0, 1) + 1.5 * np.clip(around, 0, 1)
        dome, cosine = lungs.diaphragm_height(x, y)
        low = 0.2 * front * np.clip((y - 5) / 45, 0, 1) - (z - dome) * cosine
        both = union_depth(depth.astype(np.float32), low.astype(np.float32), blend=10)
        side.depth[inner] = np.where(depth > -30, both, depth)


def _make_patch(
    scan: Scan, rng: np.random.Generator, target: Target, side: PleuralSide, thick: float
) -> PleuralSide | None:
    """A plate with a flat top and tapering edges about one place on the ribs' pleura."""
    lungs, habitus = scan.body.lungs, scan.body.habitus
    x, y, z = (axis.ravel() for axis in scan.coordinates(side.cut))
    i, j, k = (rng.integers(0, len(axis), 12000) for axis in (x, y, z))
    ribs, around = lungs.cavity_depth(*habitus.to_template(x[i], y[j], z[k]))
    good = np.flatnonzero(side.lung[k, j, i] & (ribs < 2 + scan.voxel_mm) & (around < 0.85))
    if not len(good):
        return None
    n = good[0]
    centre = (float(x[i[n]]), float(y[j[n]]), float(z[k[n]]))
    reach = float(rng.uniform(18, 42)) * target.scale + 2 * scan.voxel_mm
    cut = scan.box_around(centre, reach)
    if cut is None:
        return None
    x, y, z = scan.coordinates(cut)
    far = np.sqrt((x - centre[0]) ** 2 + (y - centre[1]) ** 2 + (z - centre[2]) ** 2)
    ribs, _ = lungs.cavity_depth(*habitus.to_template(x, y, z))
    rise = np.clip((reach - far) / (0.4 * reach), 0, 1)
    level = np.float32(thick) * np.sqrt(rise * (2 - rise))
    depth = np.where(rise > 0, level - (ribs - 1), np.float32(-99)).astype(np.float32)
    own = Target(tuple(c for c in target.lobes if c in _side_lobes(side.name)), target.segment)
    return PleuralSide(side.name, cut, scan.free_voxels(cut, own), depth)


def _set_plate_depth(scan: Scan, rng: np.random.Generator, side: PleuralSide, thick: float) -> None:
    """A rind along most of the wall, from the spine round to the front."""
    body = scan.body
    one, two, three = rng.uniform(0, 6.28, 3)
    top, foot = float(rng.uniform(35, 85)), float(rng.uniform(-175, -140))
    for outer, inner in side.slabs(scan):
        x, y, z = body.habitus.to_template(*scan.coordinates(outer))
        ribs, around = body.lungs.cavity_depth(x, y, z)
        fade = np.clip((top - z) / 25, 0, 1) * np.clip((z - foot) / 12, 0, 1)
        fade = fade * np.clip((0.8 - around) / 0.2, 0, 1)
        wave = np.sin(z / 19 + one) + np.sin(y / 16 + two) + np.sin(x / 22 + three)
        level = np.float32(thick) * (0.8 + 0.07 * wave) * np.sqrt(fade)
        side.depth[inner] = np.where(fade > 0, level - (ribs - 1), -99)


def _fill_pleural_space(scan: Scan, side: PleuralSide, hu: float) -> Entity | None:
    """Put one value where the lung was, and make those voxels pleural space."""
    canvas = scan.canvas
    mask = _drop_small_islands(side)
    entity = scan.claim_entity(side.cut, mask)
    if entity is None:
        return None
    for outer, inner in side.slabs(scan):
        lung = side.lung[inner]
        if not mask[inner].any():
            continue
        scan.blend(outer, np.where(lung, scan.soft_cover(side.depth[inner]), 0), hu)
    if hu > -500:
        close_seam(scan, entity)
    for array, value in (
        (canvas.lobes, 0),
        (canvas.segments, 0),
        (canvas.organs, ORGAN_NUMBERS[f"{side.name} pleural space"]),
    ):
        array[entity.cut][entity.mask] = value
    return entity


def _drop_small_islands(side: PleuralSide) -> BoolArray:
    """Its mask less what hangs on by nothing: an islet of a few voxels is no fluid and no air."""
    numbers, count = ndimage.label(side.mask, np.ones((3, 3, 3), bool))
    sizes = np.bincount(numbers.ravel(), minlength=count + 1)
    crumbs = sizes < max(_MIN_VOXELS, 0.02 * sizes[1:].max(initial=0))
    side.depth[crumbs[numbers] & (numbers > 0)] = -9
    return side.mask


def _lies_in_front(side: PleuralSide) -> bool:
    """Whether nearly all of it lies in the front half of the lung's room."""
    rows = side.mask.sum(axis=(0, 2))
    return bool(rows[: len(rows) // 2].sum() > 0.9 * rows.sum())


def _compress_lung(scan: Scan, side: PleuralSide, crescent: Floats, thick: float) -> None:
    """Lung beside the fluid is squeezed: dense at the edge, less and less away from it."""
    wide = np.float32(np.clip(0.14 * thick, 2.0, 6.0))
    most = np.float32(np.clip(0.25 + 0.015 * thick, 0, 0.9))
    for outer, inner in side.slabs(scan):
        depth = crescent[inner]
        beside = side.lung[inner] & (depth < 1) & (depth > -5 * wide)
        if not beside.any():
            continue
        view = scan.canvas.hu[outer]
        x, y, z = scan.coordinates(outer)
        streaks = 0.8 + 0.2 * np.sin(x / 5 + z / 4) * np.sin(y / 6 - z / 5)
        cover = np.minimum(most * np.exp(np.minimum(depth, 0) / (wide * streaks)), 1)
        # Airways stay open, and vessels are as dense as they can be.
        lung = (view < 0) & (view > -960)
        view += np.where(beside & lung, (20 - view) * cover, 0)


def _deflate_lung(scan: Scan, side: PleuralSide) -> None:
    """The lung that is left holds less air, and its pleura is seen as a fine line."""
    share = min(side.taken_share, 0.5)
    blur = scan.canvas.grid.blur
    line = np.float32(min(1.0, 0.75 / blur))
    for outer, inner in side.slabs(scan):
        view, depth = scan.canvas.hu[outer], side.depth[inner]
        lung = side.lung[inner] & (depth < 1)
        # As much tissue in less room; vessels and walls do not become denser.
        spongy = np.clip((-300 - view) / 300, 0, 1) * (view > -960)
        view += np.where(lung, (view + 1000) * spongy * (share / (1 - share)), 0)
        edge = scan.soft_cover(np.float32(0.5) - np.abs(depth + np.float32(0.55 * blur)))
        view += np.where(lung & (view < 0), -view * edge * line, 0)


def _paint_calcium(scan: Scan, rng: np.random.Generator, side: PleuralSide) -> None:
    """Chalk in the middle of a plate, in flecks that run together."""
    chalk = float(rng.uniform(280, 600))
    seed = int(rng.integers(2**31))
    for outer, inner in side.slabs(scan):
        mask = side.lung[inner] & (side.depth[inner] > 0)
        if not mask.any():
            continue
        flecks = scan.smooth_noise(np.random.default_rng(seed), outer, 9)
        core = np.minimum(side.depth[inner] - np.float32(0.9), 2 * (flecks + 0.5))
        scan.blend(outer, np.where(mask, scan.soft_cover(core.astype(np.float32)), 0), chalk)
