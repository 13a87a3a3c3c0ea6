"""2b, consolidation and atelectasis, and 2c, ground-glass and crazy-paving: denser lung."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from overread.phantom.body.boxes import overlap, relative
from overread.phantom.body.canvas import Cut
from overread.phantom.body.grain import Grain
from overread.phantom.body.shapes import Floats, Point, capsule
from overread.phantom.body.tubes import piece
from overread.phantom.findings.lines import cells, lines_of, net
from overread.phantom.findings.lobemap import (
    LobeMap,
    areas,
    extent,
    pull,
)
from overread.phantom.findings.scan import Drawn, Entity, Mask, Scan, Target
from overread.phantom.findings.seams import close_seam

Plan = Callable[[np.random.Generator, LobeMap, float], "Floats | None"]
"""Plans an opacity on the map of a lobe: millimetres inside of it, negative outside."""

_TISSUE = 30.0
"""HU of lung that holds no air."""


def draw_consolidation(
    scan: Scan, rng: np.random.Generator, kind: str, target: Target
) -> Drawn | None:
    """Lung whose air is replaced ('consolidation') or gone ('atelectasis').

    The mask holds every voxel that is at least half dense, and the airways that run through it.
    """
    if kind == "atelectasis":
        return _atelectasis(scan, rng, target)
    plan: Plan = _PATTERNS[int(rng.choice([0, 0, 0, 1, 2, 2]))]
    open_airways = rng.random() < 0.8
    entities: list[Entity] = []
    shown = True
    for here in _maps(scan, target):
        own = target.apart(rng)
        field = plan(own, here, scan.difficulty.size)
        place = None if field is None else _Place.of(scan, own, here, field, rough=1.7, least=900)
        if place is None:
            continue
        cover = place.cover(8.0)
        value = _TISSUE + 7 * place.grain - 90 * np.clip(place.grain - 1.4, 0, 1)
        scan.mix(place.cut, cover, value)
        tubes = _bronchograms(scan, place, place.depth > 2.5) if open_airways else 0
        shown &= tubes > 120
        entities += place.take()
    if not entities:
        return None
    for entity in entities:
        close_seam(scan, entity)
    traits = ("air bronchograms",) if shown and open_airways else ()
    return Drawn("2b", kind, entities, traits=traits)


def draw_ground_glass(
    scan: Scan, rng: np.random.Generator, kind: str, target: Target
) -> Drawn | None:
    """Haze through which the vessels are seen ('ground-glass'), with a net in it ('crazy-paving').

    The mask holds every voxel that has at least half of the haze.
    """
    plan: Plan = (_patches, _rim, _everywhere)[int(rng.choice([0, 0, 0, 0, 1, 1, 1, 2]))]
    if kind == "crazy-paving":
        plan = (_patches, _rim, _everywhere)[int(rng.choice([0, 1, 2, 2]))]
    haze = float(rng.uniform(140, 290)) * scan.difficulty.contrast
    cell = float(rng.uniform(4.8, 6.5))
    entities: list[Entity] = []
    for here in _maps(scan, target):
        own = target.apart(rng)
        field = plan(own, here, scan.difficulty.size * 0.85)
        place = None if field is None else _Place.of(scan, own, here, field, rough=0.8, least=900)
        if place is None:
            continue
        cover = place.cover(9.0)
        view = scan.canvas.hu[place.cut]
        # What is solid already stays as it is, and so does what is air in an airway.
        amount = np.clip((_TISSUE - view) / 880, 0, 1) * np.clip((view + 990) / 60, 0, 1)
        view += cover * amount * np.float32(haze) * (1 + 0.1 * place.grain)
        if kind == "crazy-paving":
            where = cover > 0.25
            seeds = cells(scan, own, place.cut, cell)
            line = lines_of(scan, net(scan, own, place.cut, where, seeds, keep=0.92), 1.0)
            scan.mix(place.cut, line * cover * np.float32(0.75), -20.0)
        entities += place.take()
    if not entities:
        return None
    return Drawn(
        "2c",
        kind,
        entities,
        severity=extent(scan, target, entities),
        spread=("peripheral",) if plan is _rim else (),
    )


def _maps(scan: Scan, target: Target) -> list[LobeMap]:
    maps = (LobeMap.of(scan, lobe) for lobe in target.each)
    return [here for here in maps if here is not None and here.free.sum() > 30]


@dataclass(frozen=True)
class _Place:
    """A planned opacity on its voxels."""

    scan: Scan
    cut: Cut
    free: Mask
    depth: Floats
    """Millimetres inside of it."""
    grain: Floats
    """Noise of deviation 1, some millimetres wide."""
    numbers: NDArray[np.int32]
    """Its separate areas."""
    kept: list[int]
    """Numbers of the areas that are large enough, the largest first."""

    @classmethod
    def of(
        cls,
        scan: Scan,
        rng: np.random.Generator,
        here: LobeMap,
        field: Floats,
        *,
        rough: float,
        least: float,
        most: int = 8,
    ) -> _Place | None:
        """Refine a plan: an edge uneven by `rough` mm; areas under `least` cubic mm go, and all
        but the `most` largest.

        None where nothing is left.
        """
        cut = here.part((field > -6) & here.free)
        if cut is None:
            return None
        depth = here.fine(field, cut)
        free = scan.free(cut, here.target)
        step = scan.canvas.grid.step
        deep, high, wide = (max(16, round(72 / s)) for s in step[::-1])
        tile = Grain(rng, (deep, high, wide), (step[2], step[1], step[0]), coarse=3.0)
        grain = tile.over(cut, scan.canvas.grid.shape)
        depth = depth + np.float32(rough) * grain
        numbers, kept = areas((depth > 0) & free, least / float(np.prod(step)), most)
        if not kept:
            return None
        numbers = _without_pinholes(numbers, kept, free, 120 / float(np.prod(step)))
        # Crumbs that no one would outline are not drawn either.
        depth = np.where((depth > 0) & free & ~np.isin(numbers, kept), np.float32(-2.5), depth)
        return cls(scan, cut, free, depth, grain, numbers, kept)

    def cover(self, width: float) -> Floats:
        """How dense each voxel is, 0 to 1, over an edge of so many millimetres."""
        wide = np.float32(max(width, self.scan.canvas.grid.blur))
        share = np.clip(self.depth / wide + np.float32(0.5), 0, 1)
        smooth: Floats = share * share * (3 - 2 * share) * self.free
        return smooth

    def take(self) -> list[Entity]:
        """The areas as entities."""
        found = []
        for number in self.kept:
            entity = self.scan.take(self.cut, self.numbers == number)
            if entity is not None:
                found.append(entity)
        return found


def _without_pinholes(
    numbers: NDArray[np.int32], kept: list[int], free: Mask, most: float
) -> NDArray[np.int32]:
    """Give gaps of up to so many voxels to the area around them: nobody outlines those."""
    gaps, count = ndimage.label(free & ~np.isin(numbers, kept))
    sizes = np.bincount(gaps.ravel(), minlength=count + 1)
    small = sizes <= most
    small[0] = False
    grown = ndimage.grey_dilation(np.where(np.isin(numbers, kept), numbers, 0), size=3)
    filled: NDArray[np.int32] = np.where(small[gaps], grown, numbers)
    return filled


def _segmental(rng: np.random.Generator, here: LobeMap, size: float) -> Floats | None:
    """A wedge that widens from the hilum to the pleura."""
    outer = here.outer
    spot = here.spot(rng, (outer > 2) & (outer < 14) & (here.far(here.hilum) > 45))
    if spot is None:
        return None
    wide = float(rng.uniform(13, 25)) * size * here.target.scale
    return _wedge(rng, here, spot, wide, 0.35, rng.uniform(0.3, 0.5))


def _wedge(
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
    field: Floats = np.minimum(side_depth, along - begin * length) + waves * here.waves(rng, 14)
    return field.astype(np.float32)


def _lobar(rng: np.random.Generator, here: LobeMap, size: float) -> Floats | None:
    """Most of a lobe, from one of its sides; the fissures are its sharp borders."""
    way = rng.normal(0, 1, 3) * (0.5, 0.7, 1.0)
    way /= np.linalg.norm(way)
    along = sum(w * (here.share(axis) - np.float32(0.5)) for axis, w in enumerate(way))
    part = np.asarray(along)[here.free]
    share = np.clip(rng.uniform(0.5, 0.85) * here.target.scale, 0.08, 0.97)
    border = float(np.quantile(part, share))
    field: Floats = (90 * (border - np.asarray(along)) + 9 * here.waves(rng, 22)).astype(np.float32)
    return field


def _patches(rng: np.random.Generator, here: LobeMap, size: float) -> Floats | None:
    """Two to five patches, each of its own size, more of them near the pleura."""
    field: Floats | None = None
    for _ in range(int(rng.integers(2, 6))):
        spot = here.spot(rng, (here.outer > 4) & (here.outer < rng.choice([15, 25, 60])))
        if spot is None:
            continue
        patch = float(rng.uniform(8, 20)) * size * here.target.scale - here.far(spot)
        field = patch if field is None else np.maximum(field, patch)
    return None if field is None else (field + 3.5 * here.waves(rng, 9)).astype(np.float32)


def _rim(rng: np.random.Generator, here: LobeMap, size: float) -> Floats | None:
    """Areas along the ribs, nowhere deeper than 30 mm."""
    reach = float(rng.uniform(12, 22)) * min(size, 1.25) * here.target.scale
    patch, edge = here.waves(rng, 26), here.waves(rng, 10)
    rare = 0.5 - log(here.target.scale)
    field = np.minimum(reach - here.outer + 4 * edge, 13 * (patch - rare) + 3 * edge)
    return np.minimum(field, 28 - here.outer).astype(np.float32)


def _everywhere(rng: np.random.Generator, here: LobeMap, size: float) -> Floats | None:
    """Most of a lobe, with gaps."""
    waves = here.waves(rng, 32)
    common = rng.uniform(-0.2, 0.7) + 1.5 * log(here.target.scale)
    field = 16 * (waves + np.float32(common))
    return (field + 3 * here.waves(rng, 10)).astype(np.float32)


_PATTERNS: tuple[Plan, ...] = (_segmental, _lobar, _patches)


def _bronchograms(scan: Scan, place: _Place, inside: Mask) -> float:
    """Draw the airways that run through a consolidation; cubic millimetres of air that show."""
    grid = scan.canvas.grid
    blur = grid.blur
    shown = 0
    trees = scan.body.trees
    airways = [(b, 1.4) for b in trees.airways if b.segment]
    # In aired lung the thinnest airways do not show; here they do, along their arteries.
    airways += [(b, 0.8) for b in trees.arteries if 2 <= b.leaves < 4]
    for branch, scale in airways:
        tube = piece(scan.body.habitus, branch)
        radius = max(scale * tube.radius, 0.55 * blur, 1.0)
        pad = radius + blur
        ends = list(zip(tube.start, tube.end, strict=True))
        cut = grid.cut(
            tuple(min(e) - pad for e in ends),
            tuple(max(e) + pad for e in ends),
        )
        cut = None if cut is None else overlap(cut, place.cut)
        if cut is None:
            continue
        local = relative(cut, place.cut)
        held = inside[local] & place.free[local]
        if not held.any():
            continue
        far, _ = capsule(*grid.at(cut), tube.start, tube.end)
        lumen = scan.soft(np.float32(radius) - far) * held
        scan.mix(cut, lumen, -960.0)
        shown += int((lumen > 0.5).sum())
    return shown * float(np.prod(grid.step))


def _atelectasis(scan: Scan, rng: np.random.Generator, target: Target) -> Drawn | None:
    """Collapsed lung: a crescent over the dependent ribs, or a wedge towards the hilum."""
    size = scan.difficulty.size
    dependent = (
        target.lower and target.segment not in ("RS7", "RS8", "LS7+8") and rng.random() < 0.6
    )
    entities: list[Entity] = []
    for here in _maps(scan, target):
        own = target.apart(rng)
        if dependent:
            field = _crescent(own, here, size)
        else:
            near = (here.outer > 1) & (here.outer < 8) & (here.far(here.hilum) > 40)
            spot = here.spot(own, near)
            if spot is None:
                continue
            wide = float(own.uniform(14, 21)) * size * target.scale
            begin = float(own.uniform(0.15, 0.35))
            field = _wedge(own, here, spot, wide, 0.1, begin, waves=1.2, power=1.4, flat=0.8)
        place = _Place.of(scan, own, here, field, rough=0.5, least=900, most=1)
        if place is None:
            continue
        _crowd(scan, place, field, here)
        scan.mix(place.cut, place.cover(2.4), 40 + 6 * place.grain)
        entities += place.take()
    if not entities:
        return None
    for entity in entities:
        close_seam(scan, entity)
    return Drawn("2b", "atelectasis", entities, spread=("dependent",) if dependent else ())


def _crescent(rng: np.random.Generator, here: LobeMap, size: float) -> Floats:
    """Along the ribs at the back, thickest at the bottom."""
    thick = float(rng.uniform(11, 20)) * size * here.target.scale
    height = float(rng.uniform(0.35, 0.6))
    back, up = here.share(1), here.share(2)
    taper = np.clip(1 - up / np.float32(height), 0, 1) ** 0.5 * np.clip((0.46 - back) * 4, 0, 1)
    # Some millimetres less, or a film would run along all ribs.
    depth = (thick + 4) * taper - 4 - here.ribs + 1.4 * here.waves(rng, 12)
    field: Floats = np.minimum(depth, 60 * (np.float32(0.48) - back)).astype(np.float32)
    return field


def _crowd(scan: Scan, place: _Place, field: Floats, here: LobeMap) -> None:
    """Draw the lung next to a collapse towards it, so that its vessels run closer together."""
    slopes = np.gradient(ndimage.gaussian_filter(field, 1.0))
    length = np.sqrt(sum(s * s for s in slopes)) + 1e-3
    # Up to 6 mm beside the collapse, nothing from 25 mm on.
    amount = 6 * np.clip(1 + field / 25, 0, 1) * (field < 0)
    z, y, x = (
        here.fine((sign * amount * slope / length).astype(np.float32), place.cut)
        for slope, sign in zip(slopes, (-1, 1, 1), strict=True)
    )
    pull(here, place.cut, place.free, (z, y, x))
