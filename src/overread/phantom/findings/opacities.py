"""2b, consolidation and atelectasis, and 2c, ground-glass and crazy-paving: denser lung."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from overread.phantom.body.boxes import intersect, to_inner
from overread.phantom.body.canvas import Cut
from overread.phantom.body.noise import NoiseTile
from overread.phantom.body.shapes import Floats, Point, capsule_distance
from overread.phantom.body.tubes import place_branch
from overread.phantom.findings.lines import scatter_cells, wall_cover, wall_distance
from overread.phantom.findings.lobe_map import LobeMap, extent_severity, largest_areas, shift_lung
from overread.phantom.findings.scan import BoolArray, DrawnFinding, Entity, Scan, Target
from overread.phantom.findings.seams import close_seam

OpacityPattern = Callable[[np.random.Generator, LobeMap, float], "Floats | None"]
"""Plans an opacity on the map of a lobe: millimetres inside of it, negative outside."""

_TISSUE_HU = 30.0
"""HU of lung that holds no air."""


def draw_consolidation(
    scan: Scan, rng: np.random.Generator, kind: str, target: Target
) -> DrawnFinding | None:
    """Lung whose air is replaced ('consolidation') or gone ('atelectasis').

    The mask holds every voxel that is at least half dense, and the airways that run through it.
    """
    if kind == "atelectasis":
        return _draw_atelectasis(scan, rng, target)
    plan: OpacityPattern = _PATTERNS[int(rng.choice([0, 0, 0, 1, 2, 2]))]
    open_airways = rng.random() < 0.8
    entities: list[Entity] = []
    shown = True
    for here in _lobe_maps(scan, target):
        own = target.split_rng(rng)
        field = plan(own, here, scan.difficulty.size)
        place = (
            None if field is None else _OpacityArea.from_field(scan, own, here, field, rough=1.7, least=900)
        )
        if place is None:
            continue
        cover = place.cover(8.0)
        value = _TISSUE_HU + 7 * place.grain - 90 * np.clip(place.grain - 1.4, 0, 1)
        scan.blend(place.cut, cover, value)
        tubes = _draw_bronchograms(scan, place, place.depth > 2.5) if open_airways else 0
        shown &= tubes > 120
        entities += place.claim_entities()
    if not entities:
        return None
    for entity in entities:
        close_seam(scan, entity)
    traits = ("air bronchograms",) if shown and open_airways else ()
    return DrawnFinding("2b", kind, entities, traits=traits)


def draw_ground_glass(scan: Scan, rng: np.random.Generator, kind: str, target: Target) -> DrawnFinding | None:
    """Haze through which the vessels are seen ('ground-glass'), with a net in it ('crazy-paving').

    The mask holds every voxel that has at least half of the haze.
    """
    plan: OpacityPattern = (_patchy_pattern, _peripheral_pattern, _diffuse_pattern)[
        int(rng.choice([0, 0, 0, 0, 1, 1, 1, 2]))
    ]
    if kind == "crazy-paving":
        plan = (_patchy_pattern, _peripheral_pattern, _diffuse_pattern)[int(rng.choice([0, 1, 2, 2]))]
    haze = float(rng.uniform(140, 290)) * scan.difficulty.contrast
    cell = float(rng.uniform(4.8, 6.5))
    entities: list[Entity] = []
    for here in _lobe_maps(scan, target):
        own = target.split_rng(rng)
        field = plan(own, here, scan.difficulty.size * 0.85)
        place = (
            None if field is None else _OpacityArea.from_field(scan, own, here, field, rough=0.8, least=900)
        )
        if place is None:
            continue
        cover = place.cover(9.0)
        view = scan.canvas.hu[place.cut]
        # What is solid already stays as it is, and so does what is air in an airway.
        amount = np.clip((_TISSUE_HU - view) / 880, 0, 1) * np.clip((view + 990) / 60, 0, 1)
        view += cover * amount * np.float32(haze) * (1 + 0.1 * place.grain)
        if kind == "crazy-paving":
            where = cover > 0.25
            seeds = scatter_cells(scan, own, place.cut, cell)
            line = wall_cover(scan, wall_distance(scan, own, place.cut, where, seeds, keep=0.92), 1.0)
            scan.blend(place.cut, line * cover * np.float32(0.75), -20.0)
        entities += place.claim_entities()
    if not entities:
        return None
    return DrawnFinding(
        "2c",
        kind,
        entities,
        severity=extent_severity(scan, target, entities),
        spread=("peripheral",) if plan is _peripheral_pattern else (),
    )


def _lobe_maps(scan: Scan, target: Target) -> list[LobeMap]:
    maps = (LobeMap.from_target(scan, lobe) for lobe in target.by_lobe)
    return [here for here in maps if here is not None and here.free_points.sum() > 30]


@dataclass(frozen=True)
class _OpacityArea:
    """A planned opacity on its voxels."""

    scan: Scan
    cut: Cut
    free: BoolArray
    depth: Floats
    """Millimetres inside of it."""
    grain: Floats
    """Noise of deviation 1, some millimetres wide."""
    numbers: NDArray[np.int32]
    """Its separate areas."""
    kept: list[int]
    """Numbers of the areas that are large enough, the largest first."""

    @classmethod
    def from_field(
        cls,
        scan: Scan,
        rng: np.random.Generator,
        here: LobeMap,
        field: Floats,
        *,
        rough: float,
        least: float,
        most: int = 8,
    ) -> _OpacityArea | None:
        """Refine a plan: an edge uneven by `rough` mm; areas under `least` cubic mm go, and all
        but the `most` largest.

        None where nothing is left.
        """
        cut = here.box_around((field > -6) & here.free_points)
        if cut is None:
            return None
        depth = here.to_voxels(field, cut)
        free = scan.free_voxels(cut, here.target)
        step = scan.canvas.grid.step
        deep, high, wide = (max(16, round(72 / s)) for s in step[::-1])
        tile = NoiseTile(rng, (deep, high, wide), (step[2], step[1], step[0]), coarse=3.0)
        grain = tile.sample(cut, scan.canvas.grid.shape)
        depth = depth + np.float32(rough) * grain
        numbers, kept = largest_areas((depth > 0) & free, least / float(np.prod(step)), most)
        if not kept:
            return None
        numbers = _fill_pinholes(numbers, kept, free, 120 / float(np.prod(step)))
        # Crumbs that no one would outline are not drawn either.
        depth = np.where((depth > 0) & free & ~np.isin(numbers, kept), np.float32(-2.5), depth)
        return cls(scan, cut, free, depth, grain, numbers, kept)

    def cover(self, width: float) -> Floats:
        """How dense each voxel is, 0 to 1, over an edge of so many millimetres."""
        wide = np.float32(max(width, self.scan.canvas.grid.blur))
        share = np.clip(self.depth / wide + np.float32(0.5), 0, 1)
        smooth: Floats = share * share * (3 - 2 * share) * self.free
        return smooth

    def claim_entities(self) -> list[Entity]:
        """The areas as entities."""
        found = []
        for number in self.kept:
            entity = self.scan.claim_entity(self.cut, self.numbers == number)
            if entity is not None:
                found.append(entity)
        return found


def _fill_pinholes(
    numbers: NDArray[np.int32], kept: list[int], free: BoolArray, most: float
) -> NDArray[np.int32]:
    """Give gaps of up to so many voxels to the area around them: nobody outlines those."""
    gaps, count = ndimage.label(free & ~np.isin(numbers, kept))
    sizes = np.bincount(gaps.ravel(), minlength=count + 1)
    small = sizes <= most
    small[0] = False
    grown = ndimage.grey_dilation(np.where(np.isin(numbers, kept), numbers, 0), size=3)
    filled: NDArray[np.int32] = np.where(small[gaps], grown, numbers)
    return filled


def _segmental_pattern(rng: np.random.Generator, here: LobeMap, size: float) -> Floats | None:
    """A wedge that widens from the hilum to the pleura."""
    outer = here.rib_distance
    spot = here.draw_point(rng, (outer > 2) & (outer < 14) & (here.distance_from(here.hilum) > 45))
    if spot is None:
        return None
    wide = float(rng.uniform(13, 25)) * size * here.target.scale
    return _wedge_field(rng, here, spot, wide, 0.35, rng.uniform(0.3, 0.5))


def _wedge_field(
    rng: np.random.Generator,
    here: LobeMap,
    spot: Point,
    wide: float,
    tip: float,
    begin: float,
    *,
    waves: float = 4.0,
    power: float = 1.0,
    flat: float = 0.0,
) -> Floats:
    """A wedge towards the hilum: `wide` at the pleura, the share `tip` of it at its begin.

    Above 0, `flat` presses it from two sides; below its begin there is nothing of it.
    """
    start, axis = np.asarray(here.hilum), np.asarray(spot) - np.asarray(here.hilum)
    length = float(np.linalg.norm(axis))
    x, y, z = (a - np.float32(s) for a, s in zip(here.axes, start, strict=True))
    along = (x * axis[0] + y * axis[1] + z * axis[2]) / np.float32(length)
    side = np.cross(axis / length, rng.normal(0, 1, 3) * (0.4, 0.4, 1.0))
    side = side / (np.linalg.norm(side) + 1e-9)
    thin = x * side[0] + y * side[1] + z * side[2]
    square = x * x + y * y + z * z - along * along
    # The flat sides are nearer; the others further off, so that the volume stays.
    square = square * np.float32(1 - 0.6 * flat) + thin * thin * np.float32(2.2 * flat)
    across = np.sqrt(np.maximum(square, 0))
    share = np.clip((along / length - begin) / (1 - begin), 0, 1.3)
    side_depth = wide * (tip + (1 - tip) * share**power) - across
    field: Floats = np.minimum(side_depth, along - begin * length) + waves * here.smooth_noise(rng, 14)
    return field.astype(np.float32)


def _lobar_pattern(rng: np.random.Generator, here: LobeMap, size: float) -> Floats | None:
    """Most of a lobe, from one of its sides; the fissures are its sharp borders."""
    way = rng.normal(0, 1, 3) * (0.5, 0.7, 1.0)
    way /= np.linalg.norm(way)
    along = sum(w * (here.relative_position(axis) - np.float32(0.5)) for axis, w in enumerate(way))
    part = np.asarray(along)[here.free_points]
    share = np.clip(rng.uniform(0.5, 0.85) * here.target.scale, 0.08, 0.97)
    border = float(np.quantile(part, share))
    field: Floats = (90 * (border - np.asarray(along)) + 9 * here.smooth_noise(rng, 22)).astype(np.float32)
    return field


def _patchy_pattern(rng: np.random.Generator, here: LobeMap, size: float) -> Floats | None:
    """Two to five patches, each of its own size, more of them near the pleura."""
    field: Floats | None = None
    for _ in range(int(rng.integers(2, 6))):
        spot = here.draw_point(rng, (here.rib_distance > 4) & (here.rib_distance < rng.choice([15, 25, 60])))
        if spot is None:
            continue
        patch = float(rng.uniform(8, 20)) * size * here.target.scale - here.distance_from(spot)
        field = patch if field is None else np.maximum(field, patch)
    return None if field is None else (field + 3.5 * here.smooth_noise(rng, 9)).astype(np.float32)


def _peripheral_pattern(rng: np.random.Generator, here: LobeMap, size: float) -> Floats | None:
    """Areas along the ribs, nowhere deeper than 30 mm."""
    reach = float(rng.uniform(12, 22)) * min(size, 1.25) * here.target.scale
    patch, edge = here.smooth_noise(rng, 26), here.smooth_noise(rng, 10)
    rare = 0.5 - log(here.target.scale)
    field = np.minimum(reach - here.rib_distance + 4 * edge, 13 * (patch - rare) + 3 * edge)
    return np.minimum(field, 28 - here.rib_distance).astype(np.float32)


def _diffuse_pattern(rng: np.random.Generator, here: LobeMap, size: float) -> Floats | None:
    """Most of a lobe, with gaps."""
    waves = here.smooth_noise(rng, 32)
    common = rng.uniform(-0.2, 0.7) + 1.5 * log(here.target.scale)
    field = 16 * (waves + np.float32(common))
    return (field + 3 * here.smooth_noise(rng, 10)).astype(np.float32)


_PATTERNS: tuple[OpacityPattern, ...] = (_segmental_pattern, _lobar_pattern, _patchy_pattern)


def _draw_bronchograms(scan: Scan, place: _OpacityArea, inside: BoolArray) -> float:
    """Draw the airways that run through a consolidation; cubic millimetres of air that show."""
    grid = scan.canvas.grid
    blur = grid.blur
    shown = 0
    trees = scan.body.trees
    airways = [(b, 1.4) for b in trees.airways if b.segment]
    # In aired lung the thinnest airways do not show; here they do, along their arteries.
    airways += [(b, 0.8) for b in trees.arteries if 2 <= b.leaves < 4]
    for branch, scale in airways:
        tube = place_branch(scan.body.habitus, branch)
        radius = max(scale * tube.radius, 0.55 * blur, 1.0)
        pad = radius + blur
        ends = list(zip(tube.start, tube.end, strict=True))
        cut = grid.box_between(tuple(min(e) - pad for e in ends), tuple(max(e) + pad for e in ends))
        cut = None if cut is None else intersect(cut, place.cut)
        if cut is None:
            continue
        local = to_inner(cut, place.cut)
        held = inside[local] & place.free[local]
        if not held.any():
            continue
        far, _ = capsule_distance(*grid.coordinates(cut), tube.start, tube.end)
        lumen = scan.soft_cover(np.float32(radius) - far) * held
        scan.blend(cut, lumen, -960.0)
        shown += int((lumen > 0.5).sum())
    return shown * float(np.prod(grid.step))


def _draw_atelectasis(scan: Scan, rng: np.random.Generator, target: Target) -> DrawnFinding | None:
    """Collapsed lung: a crescent over the dependent ribs, or a wedge towards the hilum."""
    size = scan.difficulty.size
    dependent = target.is_lower and target.segment not in ("RS7", "RS8", "LS7+8") and rng.random() < 0.6
    entities: list[Entity] = []
    for here in _lobe_maps(scan, target):
        own = target.split_rng(rng)
        if dependent:
            field = _crescent_field(own, here, size)
        else:
            near = (here.rib_distance > 1) & (here.rib_distance < 8) & (here.distance_from(here.hilum) > 40)
            spot = here.draw_point(own, near)
            if spot is None:
                continue
            wide = float(own.uniform(14, 21)) * size * target.scale
            begin = float(own.uniform(0.15, 0.35))
            field = _wedge_field(own, here, spot, wide, 0.1, begin, waves=1.2, power=1.4, flat=0.8)
        place = _OpacityArea.from_field(scan, own, here, field, rough=0.5, least=900, most=1)
        if place is None:
            continue
        _crowd_vessels(scan, place, field, here)
        scan.blend(place.cut, place.cover(2.4), 40 + 6 * place.grain)
        entities += place.claim_entities()
    if not entities:
        return None
    for entity in entities:
        close_seam(scan, entity)
    return DrawnFinding("2b", "atelectasis", entities, spread=("dependent",) if dependent else ())


def _crescent_field(rng: np.random.Generator, here: LobeMap, size: float) -> Floats:
    """Along the ribs at the back, thickest at the bottom."""
    thick = float(rng.uniform(11, 20)) * size * here.target.scale
    height = float(rng.uniform(0.35, 0.6))
    back, up = here.relative_position(1), here.relative_position(2)
    taper = np.clip(1 - up / np.float32(height), 0, 1) ** 0.5 * np.clip((0.46 - back) * 4, 0, 1)
    # Some millimetres less, or a film would run along all ribs.
    depth = (thick + 4) * taper - 4 - here.exact_rib_distance + 1.4 * here.smooth_noise(rng, 12)
    field: Floats = np.minimum(depth, 60 * (np.float32(0.48) - back)).astype(np.float32)
    return field


def _crowd_vessels(scan: Scan, place: _OpacityArea, field: Floats, here: LobeMap) -> None:
    """Draw the lung next to a collapse towards it, so that its vessels run closer together."""
    slopes = np.gradient(ndimage.gaussian_filter(field, 1.0))
    length = np.sqrt(sum(s * s for s in slopes)) + 1e-3
    # Up to 6 mm beside the collapse, nothing from 25 mm on.
    amount = 6 * np.clip(1 + field / 25, 0, 1) * (field < 0)
    z, y, x = (
        here.to_voxels((sign * amount * slope / length).astype(np.float32), place.cut)
        for slope, sign in zip(slopes, (-1, 1, 1), strict=True)
    )
    shift_lung(here, place.cut, place.free, (z, y, x))
