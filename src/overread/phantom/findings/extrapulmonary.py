"""Extrapulmonary findings: heart, vessels, nodes, bones, liver; in reports, without masks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from overread.phantom.body.boxes import template_box
from overread.phantom.body.canvas import ORGAN_NUMBERS
from overread.phantom.body.lungs import HEART_AXIS
from overread.phantom.body.shapes import Coordinates, Point, ellipsoid_depth, to_point
from overread.phantom.findings.scan import Scan
from overread.phantom.statement import EXTRAPULMONARY, FindingStatement, Severity

_NODE_STATIONS: tuple[Point, ...] = (
    (15, 2, 28),
    (1, -24, -24),
    (-6, 36, 20),
    (-24, 8, 8),
    (12, 26, 46),
    (36, -16, -26),
    (-38, -20, -22),
)
"""Where enlarged nodes lie: at the windpipe, under the carina, before the vessels, at the hila."""


CONSPICUOUS_NAMES = {
    "pericardial effusion": "large pericardial effusion",
    "lymph nodes": "several lymph nodes",
}
"""Names under which a conspicuous form is drawn, for findings that the illness needs."""
_USUAL_NAMES = {plain: name for name, plain in CONSPICUOUS_NAMES.items()}


@dataclass(frozen=True)
class ExtrapulmonaryFinding:
    """One finding beyond the lung: what is true of it, and where its middle lies."""

    statement: FindingStatement
    centre: Point
    """RAS+ millimetres."""


def draw_extrapulmonary(
    scan: Scan,
    rng: np.random.Generator,
    names: list[str],
    *,
    on_drawn: Callable[[str], None] = lambda name: None,
) -> tuple[ExtrapulmonaryFinding, ...]:
    """Draw what the body's build does not already show, and return a statement of each.

    The callback is called with each name as soon as it is drawn; for `CONSPICUOUS_NAMES` with the
    usual name.
    """
    heart = (-20.0, 20.0, -72.0)
    made: list[ExtrapulmonaryFinding] = []
    for asked in names:
        name, plain = _USUAL_NAMES.get(asked, asked), asked in _USUAL_NAMES
        severity: Severity | None = None
        side, count, centre = None, 1, heart
        if name == "cardiomegaly":
            severity = "mild" if scan.body.habitus.heart < 1.27 else "moderate"
        elif name == "pericardial effusion":
            if plain:
                _draw_large_pericardial_effusion(scan, float(rng.uniform(11, 17)))
            else:
                _draw_small_pericardial_effusion(scan)
            severity = "moderate" if plain else "mild"
        elif name == "coronary calcification":
            count = _draw_coronary_calcium(scan, rng)
            if not count:
                continue
        elif name == "aortic calcification":
            centre = (-10.0, -6.0, 34.0)
            _draw_aortic_calcium(scan, rng)
        elif name == "lymph nodes":
            count, centre = _draw_lymph_nodes(scan, rng, plain=plain)
        elif name == "hiatal hernia":
            centre = (-10.0, -26.0, -104.0)
            _draw_hernia(scan, centre, rng)
        elif name == "rib fracture":
            found = _draw_fracture(scan, rng)
            if found is None:
                continue
            centre = found
            side = "right" if centre[0] > 0 else "left"
        elif name == "aortic ectasia":
            centre = (15.0, 22.0, -5.0)
        elif name == "osteophytes":
            centre = (0.0, -52.0, -60.0)
        elif name == "steatosis":
            centre = (70.0, 0.0, -150.0)
            severity = "mild" if scan.body.habitus.liver > 24 else "moderate"
        statement = FindingStatement(
            category=EXTRAPULMONARY[name], kind=name, side=side, count=count, severity=severity
        )
        made.append(
            ExtrapulmonaryFinding(statement, to_point(scan.body.habitus.to_patient(np.array(centre))))
        )
        on_drawn(name)
    return tuple(made)


def _draw_small_pericardial_effusion(scan: Scan) -> None:
    for cut, (x, y, z) in template_box(scan.canvas.grid, scan.body.habitus, (-115, -75, -150), (90, 100, 0)):
        depth = scan.body.lungs.heart_depth(x, y, z)
        # It gathers behind and below, where it does not push the lung away.
        thick = np.clip(2.2 - 0.05 * (y - 10) - 0.02 * (z + 70), 0.5, 4.8)
        shell = np.minimum(depth + thick, -depth + 0.5)
        # Only into the fat around the heart: not over the spine, the vessels or the lung.
        around = scan.canvas.organs[cut] == ORGAN_NUMBERS["mediastinum"]
        fluid = np.where(around, shell, np.float32(-9)).astype(np.float32)
        scan.canvas.paint(cut, fluid, 9.0)


def _draw_large_pericardial_effusion(scan: Scan, thick: float) -> None:
    """Fluid that spreads the sac, and lies where lung and fat were; deepest behind and below."""
    canvas = scan.canvas
    lung = [ORGAN_NUMBERS[name] for name in ("right lung", "left lung", "mediastinum")]
    for cut, (x, y, z) in template_box(canvas.grid, scan.body.habitus, (-150, -100, -170), (125, 125, 40)):
        depth = scan.body.lungs.heart_depth(x, y, z)
        deep = thick * np.clip(0.85 - 0.006 * (y - 10) - 0.004 * (z + 70), 0.45, 1.3)
        # The sac ends at the great vessels, and rests on the diaphragm.
        deep = deep * np.clip((12 - z) / 30, 0, 1)
        dome, cosine = scan.body.lungs.diaphragm_height(x, y)
        shell = np.minimum(np.minimum(depth + deep, -depth + 0.5), (z - dome) * cosine + 1)
        airways = (canvas.organs[cut] == ORGAN_NUMBERS["trachea and bronchi"]) & (canvas.lobes[cut] > 0)
        around = np.isin(canvas.organs[cut], lung) | airways
        fluid = np.where(around, shell, np.float32(-9)).astype(np.float32)
        canvas.paint(cut, fluid, 7.0, label=ORGAN_NUMBERS["mediastinum"])
        canvas.lobes[cut][fluid > 0] = 0
        canvas.segments[cut][fluid > 0] = 0


def _draw_coronary_calcium(scan: Scan, rng: np.random.Generator) -> int:
    """Specks of calcium in the groove between atria and ventricles, and in the front one."""
    lungs, wanted, drawn = scan.body.lungs, int(rng.integers(3, 9)), 0
    cloud = rng.uniform((-75, -40, -100), (50, 80, -25), (20000, 3)).astype(np.float32)
    x, y, z = cloud.T
    depth = lungs.heart_depth(x, y, z)
    ax, ay, az = HEART_AXIS
    base = (x - 2) * ax + (y - 12) * ay + (z + 58) * az
    front = x + 10 + 0.55 * (y - 60)
    near = (np.abs(base) < 3.5) | ((np.abs(front) < 2.5) & (y > 30))
    for point in cloud[near & (np.abs(depth + 0.5) < 1.5)][:wanted]:
        _paint_ellipsoid(scan, to_point(point), rng.uniform(1.3, 2.6, 3), 650.0)
        drawn += 1
    return drawn


def _draw_aortic_calcium(scan: Scan, rng: np.random.Generator) -> None:
    """Calcium in the wall of the arch and of the descending aorta."""
    w = scan.body.habitus.aorta
    for _ in range(int(rng.integers(3, 8))):
        angle, height = rng.uniform(0, 2 * np.pi), rng.uniform(-110, 8)
        centre = (-23 + 11.8 * w * np.cos(angle), -45 + 11.8 * w * np.sin(angle), height)
        _paint_ellipsoid(scan, centre, (1.6, 1.6, rng.uniform(3, 7)), 620.0)
    for _ in range(int(rng.integers(1, 4))):
        along = rng.uniform(0, 1)
        centre = (2 - 14 * along, 5 - 17 * along, 31 + 12.5 * w * rng.choice([-1, 1]))
        _paint_ellipsoid(scan, centre, (rng.uniform(3, 6), rng.uniform(3, 6), 1.5), 680.0)


def _draw_lymph_nodes(scan: Scan, rng: np.random.Generator, *, plain: bool) -> tuple[int, Point]:
    """Enlarged nodes at some of the stations; gives how many, and where the first is."""
    count = int(rng.integers(4, 7)) if plain else int(rng.integers(1, 5))
    places = rng.permutation(len(_NODE_STATIONS))[:count]
    for place in places:
        radii = rng.uniform(8, 11.5, 3) if plain else rng.uniform(6, 9.5, 3)
        radii[int(rng.integers(0, 3))] *= rng.uniform(1.2, 1.6)
        centre = np.asarray(_NODE_STATIONS[place]) + rng.normal(0, 1.5, 3)
        _paint_ellipsoid(scan, to_point(centre), radii, 38.0)
    return count, _NODE_STATIONS[places[0]]


def _draw_hernia(scan: Scan, centre: Point, rng: np.random.Generator) -> None:
    """A pouch of stomach behind the heart, with gas in front of its content."""
    size = float(rng.uniform(15, 26))
    reach = size * 1.3 + 4
    for cut, (x, y, z) in template_box(
        scan.canvas.grid,
        scan.body.habitus,
        tuple(c - reach for c in centre),
        tuple(c + reach for c in centre),
    ):
        pouch = ellipsoid_depth(x, y, z, centre, (size, size * 0.75, size * 1.1))
        scan.canvas.paint(cut, pouch, 42.0, label=ORGAN_NUMBERS["stomach"])
        scan.canvas.paint(cut, pouch - 3.5, 22.0)
        gas = np.minimum(pouch - 3.5, y - centre[1] - 2).astype(np.float32)
        scan.canvas.paint(cut, gas, -960.0)
        gone = pouch > 0
        scan.canvas.lobes[cut][gone] = 0
        scan.canvas.segments[cut][gone] = 0


def _draw_fracture(scan: Scan, rng: np.random.Generator) -> Point | None:
    """A break through a rib at the side of the chest, with callus; gives its place."""
    cloud = rng.uniform((-140, -60, -110), (140, 50, 40), (30000, 3)).astype(np.float32)
    voxels, held = scan.canvas.grid.nearest_voxels(scan.body.habitus.to_patient(cloud))
    found = cloud[held & (scan.canvas.organs[voxels] == ORGAN_NUMBERS["ribs"])]
    if not len(found):
        return None
    place = to_point(found[0])
    _paint_ellipsoid(scan, place, (6.5, 6.5, 5.5), 330.0)
    _paint_ellipsoid(scan, place, (9.0, 1.0, 9.0) if abs(place[1]) < 30 else (1.0, 9.0, 9.0), 70.0)
    return place


def _paint_ellipsoid(scan: Scan, centre: Point, radii: Coordinates, hu: float) -> None:
    """A small ellipsoid at a template point; never over the lung."""
    a, b, c = (max(float(r), 0.45 * scan.voxel_mm) for r in np.asarray(radii, float))
    pad = scan.voxel_mm * 2
    for cut, (x, y, z) in template_box(
        scan.canvas.grid,
        scan.body.habitus,
        (centre[0] - a - pad, centre[1] - b - pad, centre[2] - c - pad),
        (centre[0] + a + pad, centre[1] + b + pad, centre[2] + c + pad),
    ):
        depth = ellipsoid_depth(x, y, z, centre, (a, b, c))
        kept = np.where(scan.canvas.lobes[cut] == 0, depth, np.float32(-9)).astype(np.float32)
        scan.canvas.paint(cut, kept, hu)
