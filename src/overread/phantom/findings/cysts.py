"""2h, holes and cysts: cavities with a thick wall, air cysts, cysts filled with fluid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from overread.phantom.body.canvas import Cut
from overread.phantom.body.shapes import Floats, Point, as_point
from overread.phantom.findings.rounds import Rooms, feed, lump, strand, ways
from overread.phantom.findings.scan import Drawn, Entity, Scan, Target
from overread.phantom.findings.seams import close_seam


@dataclass(frozen=True)
class _Look:
    """What a kind looks like."""

    size: tuple[float, float]
    """Diameters, millimetres."""
    numbers: tuple[int, ...]
    """How many there are, each number as often as it is written here."""
    pleural: float
    """How often it leans on the ribs."""
    trait: str


_LOOKS = {
    "cavity": _Look((20, 48), (1, 1, 1, 2), 0.2, "thick-walled"),
    "air cyst": _Look((9, 34), (1, 1, 2, 3, 4), 0.25, "thin-walled"),
    "fluid cyst": _Look((20, 60), (1, 1, 1, 2), 0.3, "smooth"),
}


def draw_cysts(scan: Scan, rng: np.random.Generator, kind: str, target: Target) -> Drawn | None:
    """One to a few holes or cysts of one kind; the mask is each whole, wall and content."""
    look = _LOOKS[kind]
    number = target.number(rng, int(rng.choice(look.numbers)))
    largest = float(rng.uniform(*look.size)) * scan.difficulty.size
    # Many are scattered through the lung, not strung along its wall.
    pleural = rng.random() < look.pleural and (target.count is None or target.count[1] < 5)
    rooms = Rooms(scan, target)
    entities: list[Entity] = []
    middles: list[Point | None] = []
    wide = target.widest / 2
    for n in range(number):
        own = target.apart(rng)
        size = largest * (1 if n == 0 else own.uniform(0.5, 0.85))
        size = target.fitted(size, low=5.5 * scan.grain)
        places = rooms.find(own, wide * size, pleural=pleural, most=2)
        while not places and not entities and size > 0.5 * largest and size > 6 * scan.grain:
            # A lobe with little room gets a smaller one, away from the wall.
            pleural, size = False, 0.8 * size
            places = rooms.find(own, wide * size, most=2)
        middles.append(None)
        for centre in target.seats(n, places):
            entity = _one(scan, own, kind, target, centre, target.scale * size / 2)
            if entity is not None:
                entities.append(entity)
                middles[n] = centre
                break
    if not entities:
        return None
    return Drawn(
        "2h",
        kind,
        entities,
        countable=True,
        sized=True,
        spread=("subpleural",) if pleural else (),
        traits=(look.trait,),
        middles=tuple(middles),
    )


def _one(
    scan: Scan,
    rng: np.random.Generator,
    kind: str,
    target: Target,
    centre: Point,
    radius: float,
) -> Entity | None:
    """Draw one; None, and nothing drawn, where too little of it is in the target."""
    cut = scan.cut(centre, radius * 1.3 + 8 + 2 * scan.grain)
    if cut is None:
        return None
    free = scan.free(cut, target)
    slim, rough = {"cavity": (0.15, 0.07), "air cyst": (0.2, 0.03)}.get(kind, (0.06, 0.01))
    shape = lump(rng, scan.at(cut), centre, radius, slim=slim, rough=rough)
    depth = np.where(free, shape, np.float32(-99))
    mask = depth > 0
    if mask.sum() < 12:
        return None
    if kind == "cavity":
        _cavity(scan, rng, target, cut, centre, radius, shape)
    elif kind == "air cyst":
        _filled(scan, cut, depth, float(rng.uniform(0.9, 1.6)), wall=10.0, within=-985.0)
    else:
        within = 9 + 3 * scan.waves(rng, cut, 8)
        _filled(scan, cut, depth, float(rng.uniform(1.2, 2.5)), wall=42.0, within=within)
    entity = scan.take(cut, mask)
    if entity is not None and kind != "air cyst":
        close_seam(scan, entity)
    return entity


def _filled(
    scan: Scan, cut: Cut, depth: Floats, thick: float, *, wall: float, within: Floats | float
) -> None:
    """A thin wall round its content; a wall finer than a voxel fades rather than vanishes."""
    drawn = max(thick, 0.75 * scan.canvas.grid.blur)
    scan.mix(cut, scan.soft(depth), within)
    shell = scan.soft(depth) - scan.soft(depth - np.float32(drawn))
    scan.mix(cut, shell * np.float32(min(1.0, thick / drawn)), wall)


def _cavity(
    scan: Scan,
    rng: np.random.Generator,
    target: Target,
    cut: Cut,
    centre: Point,
    radius: float,
    shape: Floats,
) -> None:
    """A thick uneven wall, air within, often fluid below a level, inflamed lung around."""
    free = scan.free(cut, target)
    haze = 190 * scan.difficulty.contrast * np.exp(np.clip(shape, -40, 0) / np.float32(3.5))
    haze = haze * (1 + 0.5 * scan.waves(rng, cut, 7)).clip(0.1, 2)
    view = scan.canvas.hu[cut]
    view[:] = np.where(free, np.minimum(view + haze, np.maximum(view, 20)), view)
    feed(scan, rng, target, centre, radius)
    for way in ways(9) + rng.normal(0, 0.3, (9, 3)):
        start, end = (np.asarray(centre) + way * radius * far for far in (0.75, 1.25))
        strand(scan, target, start, end, (min(1.4, 0.1 * radius), 0.4), -60.0)
    depth = np.where(free, shape, np.float32(-99))
    scan.mix(cut, scan.soft(depth), 32 + 8 * scan.waves(rng, cut, 5))
    thick = max(radius * rng.uniform(0.2, 0.38), 3.0, 1.3 * scan.grain)
    away = rng.normal(0, 0.06 * radius, 3)
    inner = as_point(centre + away)
    hole = lump(rng, scan.at(cut), inner, radius - thick, slim=0.25, rough=0.22)
    # The wall keeps at least half its thickness everywhere, whatever the waves do.
    hole = np.minimum(hole, depth - np.float32(max(0.5 * thick, scan.grain)))
    content: Floats | float = -990.0
    if rng.random() < 0.5:
        _, y, _ = scan.at(cut)
        # The patient lies on the back: what is fluid has its level across y.
        level = centre[1] - (radius - thick) * rng.uniform(-0.05, 0.5)
        below = scan.soft(np.broadcast_to(np.float32(level) - y, hole.shape))
        content = (-990 + 1004 * below).astype(np.float32)
    scan.mix(cut, scan.soft(hole), content)
