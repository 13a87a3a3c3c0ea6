"""2h, holes and cysts: cavities with a thick wall, air cysts, cysts filled with fluid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from overread.phantom.body.canvas import Cut
from overread.phantom.body.shapes import Floats, Point, to_point
from overread.phantom.findings.round_lesions import (
    LesionSites,
    draw_feeding_vessels,
    draw_strand,
    lump_depth,
    sphere_directions,
)
from overread.phantom.findings.scan import DrawnFinding, Entity, Scan, Target
from overread.phantom.findings.seams import close_seam


@dataclass(frozen=True)
class _CystKind:
    """What a kind looks like."""

    size: tuple[float, float]
    """Diameters, millimetres."""
    numbers: tuple[int, ...]
    """How many there are, each number as often as it is written here."""
    pleural: float
    """How often it leans on the ribs."""
    trait: str


_CYST_KINDS = {
    "cavity": _CystKind((20, 48), (1, 1, 1, 2), 0.2, "thick-walled"),
    "air cyst": _CystKind((9, 34), (1, 1, 2, 3, 4), 0.25, "thin-walled"),
    "fluid cyst": _CystKind((20, 60), (1, 1, 1, 2), 0.3, "smooth"),
}


def draw_cysts(scan: Scan, rng: np.random.Generator, kind: str, target: Target) -> DrawnFinding | None:
    """One to a few holes or cysts of one kind; the mask is each whole, wall and content."""
    look = _CYST_KINDS[kind]
    number = target.draw_count(rng, int(rng.choice(look.numbers)))
    largest = float(rng.uniform(*look.size)) * scan.difficulty.size
    # Many are scattered through the lung, not strung along its wall.
    pleural = rng.random() < look.pleural and (target.count is None or target.count[1] < 5)
    rooms = LesionSites(scan, target)
    entities: list[Entity] = []
    middles: list[Point | None] = []
    wide = target.max_scale / 2
    for n in range(number):
        own = target.split_rng(rng)
        size = largest * (1 if n == 0 else own.uniform(0.5, 0.85))
        size = target.fit_size(size, low=5.5 * scan.voxel_mm)
        places = rooms.find(own, wide * size, pleural=pleural, most=2)
        while not places and not entities and size > 0.5 * largest and size > 6 * scan.voxel_mm:
            # A lobe with little room gets a smaller one, away from the wall.
            pleural, size = False, 0.8 * size
            places = rooms.find(own, wide * size, most=2)
        middles.append(None)
        for centre in target.choose_places(n, places):
            entity = _draw_cyst(scan, own, kind, target, centre, target.scale * size / 2)
            if entity is not None:
                entities.append(entity)
                middles[n] = centre
                break
    if not entities:
        return None
    return DrawnFinding(
        "2h",
        kind,
        entities,
        countable=True,
        sized=True,
        spread=("subpleural",) if pleural else (),
        traits=(look.trait,),
        middles=tuple(middles),
    )


def _draw_cyst(
    scan: Scan, rng: np.random.Generator, kind: str, target: Target, centre: Point, radius: float
) -> Entity | None:
    """Draw one; None, and nothing drawn, where too little of it is in the target."""
    cut = scan.box_around(centre, radius * 1.3 + 8 + 2 * scan.voxel_mm)
    if cut is None:
        return None
    free = scan.free_voxels(cut, target)
    slim, rough = {"cavity": (0.15, 0.07), "air cyst": (0.2, 0.03)}.get(kind, (0.06, 0.01))
    shape = lump_depth(rng, scan.coordinates(cut), centre, radius, slim=slim, rough=rough)
    depth = np.where(free, shape, np.float32(-99))
    mask = depth > 0
    if mask.sum() < 12:
        return None
    if kind == "cavity":
        _paint_cavity(scan, rng, target, cut, centre, radius, shape)
    elif kind == "air cyst":
        _paint_filled_cyst(scan, cut, depth, float(rng.uniform(0.9, 1.6)), wall=10.0, within=-985.0)
    else:
        within = 9 + 3 * scan.smooth_noise(rng, cut, 8)
        _paint_filled_cyst(scan, cut, depth, float(rng.uniform(1.2, 2.5)), wall=42.0, within=within)
    entity = scan.claim_entity(cut, mask)
    if entity is not None and kind != "air cyst":
        close_seam(scan, entity)
    return entity


def _paint_filled_cyst(
    scan: Scan, cut: Cut, depth: Floats, thick: float, *, wall: float, within: Floats | float
) -> None:
    """A thin wall round its content; a wall finer than a voxel fades rather than vanishes."""
    drawn = max(thick, 0.75 * scan.canvas.grid.blur)
    scan.blend(cut, scan.soft_cover(depth), within)
    shell = scan.soft_cover(depth) - scan.soft_cover(depth - np.float32(drawn))
    scan.blend(cut, shell * np.float32(min(1.0, thick / drawn)), wall)


def _paint_cavity(
    scan: Scan,
    rng: np.random.Generator,
    target: Target,
    cut: Cut,
    centre: Point,
    radius: float,
    shape: Floats,
) -> None:
    """A thick uneven wall, air within, often fluid below a level, inflamed lung around."""
    free = scan.free_voxels(cut, target)
    haze = 190 * scan.difficulty.contrast * np.exp(np.clip(shape, -40, 0) / np.float32(3.5))
    haze = haze * (1 + 0.5 * scan.smooth_noise(rng, cut, 7)).clip(0.1, 2)
    view = scan.canvas.hu[cut]
    view[:] = np.where(free, np.minimum(view + haze, np.maximum(view, 20)), view)
    draw_feeding_vessels(scan, rng, target, centre, radius)
    for way in sphere_directions(9) + rng.normal(0, 0.3, (9, 3)):
        start, end = (np.asarray(centre) + way * radius * far for far in (0.75, 1.25))
        draw_strand(scan, target, start, end, (min(1.4, 0.1 * radius), 0.4), -60.0)
    depth = np.where(free, shape, np.float32(-99))
    scan.blend(cut, scan.soft_cover(depth), 32 + 8 * scan.smooth_noise(rng, cut, 5))
    thick = max(radius * rng.uniform(0.2, 0.38), 3.0, 1.3 * scan.voxel_mm)
    away = rng.normal(0, 0.06 * radius, 3)
    inner = to_point(centre + away)
    hole = lump_depth(rng, scan.coordinates(cut), inner, radius - thick, slim=0.25, rough=0.22)
    # The wall keeps at least half its thickness everywhere, whatever the waves do.
    hole = np.minimum(hole, depth - np.float32(max(0.5 * thick, scan.voxel_mm)))
    content: Floats | float = -990.0
    if rng.random() < 0.5:
        _, y, _ = scan.coordinates(cut)
        # The patient lies on the back: what is fluid has its level across y.
        level = centre[1] - (radius - thick) * rng.uniform(-0.05, 0.5)
        below = scan.soft_cover(np.broadcast_to(np.float32(level) - y, hole.shape))
        content = (-990 + 1004 * below).astype(np.float32)
    scan.blend(cut, scan.soft_cover(hole), content)
