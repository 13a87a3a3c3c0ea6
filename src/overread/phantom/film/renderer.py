"""Renders radiographs of one patient on one day."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from overread.phantom.body.boxes import bounding_box
from overread.phantom.body.canvas import ORGAN_NUMBERS, Canvas, Cut, Grid
from overread.phantom.body.shapes import Floats
from overread.phantom.film.beam import Beam, aim_beam
from overread.phantom.film.exposure import (
    compute_density,
    compute_transmission,
    draw_exposure,
    process_density,
    to_grey_levels,
)
from overread.phantom.film.film_body import FilmGrid, draw_film_body, skin_extent
from overread.phantom.film.gravity import (
    SettledContent,
    find_pleural_content,
    settle_hernia,
    settle_pleural_content,
    settle_stomach,
)
from overread.phantom.film.markers import burn_in_markers
from overread.phantom.film.posture import paint_posture, shape_neck
from overread.phantom.film.shadows import BeamDirection, Slabs, slab_edges, slab_middles
from overread.phantom.film.sign import View
from overread.phantom.film.vessels import (
    VesselPortions,
    cut_into_portions,
    draw_vessel_grain,
    project_vessels,
)
from overread.phantom.findings.scan import Entity
from overread.phantom.population import seed_for
from overread.phantom.visit import Visit

_GRID_STEPS_MM = {"small": (1.3, 3.0), "full": (0.7, 2.0)}
"""Millimetres of the film grid across the beam and along it."""
_SHEET_MM = 6.0
"""Millimetres of depth that are magnified alike."""
_BONE_GAIN = 0.7
"""How much more bone weakens a film's beam than a scan's, above the HU of soft tissue."""
HERNIA_KEY = "beyond-hiatal hernia"


@dataclass(frozen=True)
class Radiograph:
    """One radiograph."""

    view: View
    pixels: NDArray[np.uint8]
    """(rows, columns)."""
    spacing: float
    """Millimetres of a pixel, on the detector."""


@dataclass(frozen=True)
class _BodyPath:
    """The attenuation of a body along the beam in one view, without the findings of `Shadows`."""

    path: Floats
    """HU + 1000 along the beam, in HU·mm, on the film."""
    settled: tuple[SettledContent, ...]
    """Pleural fluid and air after gravity has moved them."""


class FilmRenderer:
    """Renders films of one patient on one day; findings can be left out."""

    def __init__(self, visit: Visit, *, day: int = 0) -> None:
        """`day` gives films of a second visit another exposure and another noise."""
        self.visit, self.day = visit, day
        self._free = find_pleural_content(visit)
        self._beams: dict[View, Beam] = {}
        self._patients: dict[tuple[View, frozenset[str]], _BodyPath] = {}
        self._bodies: dict[View, Floats] = {}
        self._levels: dict[View, tuple[float, float]] = {}
        self._shadows: dict[tuple[View, str], Floats] = {}
        self._canvases: dict[BeamDirection, Canvas] = {}

    @property
    def canvas(self) -> Canvas:
        """The body on the grid of frontal films; its labels name organs and lobes."""
        return self._body_canvas("front")

    def beam(self, view: View) -> Beam:
        """Where the tube and the detector stand for a film."""
        if view not in self._beams:
            near = skin_extent(self.visit.body)
            self._beams[view] = aim_beam(
                self.visit.body, view, near, self.visit.settings.size, self._rng(view, "aim")
            )
        return self._beams[view]

    def render(self, view: View, *, without: Collection[str] = (), noise: bool = True) -> Radiograph:
        """Take a film; `without` names findings by their keys that it is not to show."""
        beam, technique = self.beam(view), draw_exposure(self._rng(view, "technique"), view)
        way = self.integrate_path(view, without)
        answer = compute_density(
            compute_transmission(way / 1000, technique, beam.spacing),
            technique,
            self._rng(view, "noise") if noise else None,
        )
        shown = process_density(answer, technique, beam.spacing)
        pixels = to_grey_levels(shown, self._tone_levels(view), technique)
        burn_in_markers(pixels, view, self._rng(view, "marks"))
        return Radiograph(view, pixels, beam.spacing)

    def project_points(self, points: Floats, view: View) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Column and row at which points of the patient, RAS+ millimetres (…, 3), are seen."""
        return self.beam(view).project_points(points)

    def project_mask(self, mask: NDArray[np.bool_], view: View) -> NDArray[np.bool_]:
        """A mask on the grid of `canvas` as it falls on a film."""
        return self._project_voxels(mask, self.canvas.grid, view)

    def project_entities(self, entities: Sequence[Entity], view: View) -> NDArray[np.bool_]:
        """Voxels of the scan as they fall on a film; fluid and air where gravity has them."""
        beam = self.beam(view)
        out = np.zeros((beam.rows, beam.columns), bool)
        if view != "AP supine":
            for n, drawn in enumerate(self.visit.drawn_findings):
                key = f"finding-{n}"
                if key in self._settled_keys and any(e is o for e in entities for o in drawn.entities):
                    out |= self._project_settled(key, view)
                    entities = [e for e in entities if all(e is not o for o in drawn.entities)]
        grid = self.visit.scan.canvas.grid
        for entity in entities:
            mask = np.zeros(grid.shape, bool)
            mask[entity.cut] = entity.mask
            out |= self._project_voxels(mask, grid, view)
        return out

    @property
    def _settled_keys(self) -> frozenset[str]:
        """Keys of the findings that gravity moves in a standing patient (pleural fluid and air)."""
        return frozenset(free.key for free in self._free)

    def _rng(self, view: View, purpose: str) -> np.random.Generator:
        day = (self.day,) if self.day else ()
        settings = self.visit.settings
        return np.random.default_rng(seed_for(settings.seed, self.visit.number, "film", view, purpose, *day))

    def _body_canvas(self, way: BeamDirection) -> Canvas:
        if way not in self._canvases:
            views: tuple[View, ...] = ("PA", "AP supine") if way == "front" else ("lateral",)
            visit, (fine, deep) = self.visit, _GRID_STEPS_MM[self.visit.settings.size]
            back, front = skin_extent(visit.body)
            beams = [self.beam(view) for view in views]
            high = max(beam.edge[1] for beam in beams) + 2
            low = min(beam.edge[1] - beam.rows * beam.spacing for beam in beams) - 2
            wide = max(abs(beam.edge[0]) for beam in beams) + 2
            wide = wide if way == "front" else 1.04 * (185 * visit.body.habitus.wide)
            step = (fine, deep, fine) if way == "front" else (deep, fine, fine)
            size = (2 * wide, front - back, high - low)
            counts = tuple(int(np.ceil(a / b)) for a, b in zip(size, step, strict=True))
            centre = (0.0, (front + back) / 2, (high + low) / 2)
            grid = FilmGrid(centre, (counts[0], counts[1], counts[2]), step, edge=max(1.1, 1.25 * fine))
            seed = seed_for(visit.settings.seed, visit.number, "film", "grain")
            rng = np.random.default_rng(seed)
            side = way == "side"
            canvas = draw_film_body(visit.body, grid, rng, spurs=visit.spurs, from_side=side)
            shape_neck(canvas, visit.body)
            self._canvases[way] = canvas
        return self._canvases[way]

    @cached_property
    def _vessels(self) -> VesselPortions:
        return cut_into_portions(self.visit.body)

    def _body_path(self, view: View, present: frozenset[str]) -> _BodyPath:
        """The body path with those of the movable findings that are present."""
        if (view, present) not in self._patients:
            beam = self.beam(view)
            canvas, body = self._body_canvas(beam.direction), self.visit.body
            way = self._bare_path(view).copy()
            things = [free for free in self._free if free.key in present]
            spaces = settle_pleural_content(body, canvas, things) if things else []
            for space in spaces:
                # Arms and blades lie elsewhere: what the fluid changes is the same without them.
                was = _sum_slabs(canvas.hu, canvas.grid, beam.direction, space.cut)
                now = _sum_slabs(space.hu, canvas.grid, beam.direction, space.cut, whole=False)
                change = Slabs(beam.direction, now.sums - was.sums, was.corner, was.middles)
                way += beam.project_slabs(change, canvas.grid)
            laid = tuple(one for space in spaces for one in space.settled)
            way += project_vessels(beam, self._visible_vessels(canvas, laid), 40 - body.habitus.lung)
            lung = _lung_slabs(canvas, laid, beam.direction)
            way += draw_vessel_grain(beam, beam.project_slabs(lung, canvas.grid), self._rng(view, "grain"))
            self._patients[view, present] = _BodyPath(way, laid)
        return self._patients[view, present]

    def _bare_path(self, view: View) -> Floats:
        """Attenuation of the body in its posture, without its small vessels."""
        if view not in self._bodies:
            beam = self.beam(view)
            canvas = self._body_canvas(beam.direction)
            hu = canvas.hu.copy()
            paint_posture(canvas, self.visit.body, hu, view)
            if view != "AP supine":
                settle_stomach(canvas, hu)
            whole = (slice(0, hu.shape[0]), slice(0, hu.shape[1]), slice(0, hu.shape[2]))
            pile = _sum_slabs(hu, canvas.grid, beam.direction, whole)
            self._bodies[view] = beam.project_slabs(pile, canvas.grid)
        return self._bodies[view]

    def _visible_vessels(self, canvas: Canvas, laid: Sequence[SettledContent]) -> VesselPortions:
        """Vessels that run through lung; where fluid or air has its place there are none."""
        blood = self._vessels
        voxels, held = canvas.grid.nearest_voxels(blood.points)
        lungs = (
            ORGAN_NUMBERS["right lung"],
            ORGAN_NUMBERS["left lung"],
            ORGAN_NUMBERS["trachea and bronchi"],
        )
        kept = held & np.isin(canvas.organs[voxels], lungs)
        gone = np.zeros(canvas.grid.shape, bool)
        for one in laid:
            gone[one.cut] |= one.mask
        return blood[kept & ~gone[voxels]]

    def integrate_path(self, view: View, without: Collection[str] = ()) -> Floats:
        """Attenuation of the beam to each pixel, in HU·mm of HU + 1000, bone weighted more."""
        upright = view != "AP supine"
        present = frozenset(self._settled_keys - set(without)) if upright else frozenset()
        patient = self._body_path(view, present)
        total = patient.path.copy()
        for key in self.visit.shadows.keys:
            if key not in without and not (upright and key in self._settled_keys):
                total += self._project_shadow(view, key, patient, present)
        return np.maximum(total, 0)

    def _project_shadow(self, view: View, key: str, patient: _BodyPath, present: frozenset[str]) -> Floats:
        name = f"{key} {sorted(present)}"
        if (view, name) not in self._shadows:
            beam, shadows = self.beam(view), self.visit.shadows
            out = np.zeros((beam.rows, beam.columns), np.float32)
            piles = [shadows.find(key, beam.direction)]
            if key == HERNIA_KEY and view != "AP supine":
                piles.append(settle_hernia(self.visit, beam.direction))
            for pile in piles:
                if pile is not None:
                    kept = self._lung_share_left(pile, patient.settled, beam.direction)
                    out += beam.project_slabs(
                        Slabs(pile.direction, pile.sums * kept, pile.corner, pile.middles), shadows.grid
                    )
            self._shadows[view, name] = out
        return self._shadows[view, name]

    def _lung_share_left(
        self, pile: Slabs, laid: Sequence[SettledContent], way: BeamDirection
    ) -> Floats | float:
        """Share of the lung, slab by slab, that fluid and air have not replaced."""
        if not laid:
            return 1.0
        canvas, scan = self._body_canvas(way), self.visit.shadows.grid
        along = 1 if way == "front" else 0
        thick = abs(float(np.diff(slab_middles(scan, way, slab_edges(scan, way))[:2])[0]))
        across = scan.axes[0 if way == "front" else 1]
        n, rows, columns = pile.sums.shape
        z = scan.axes[2][pile.corner[1] : pile.corner[1] + rows]
        a = across[pile.corner[2] : pile.corner[2] + columns]
        share = np.ones(pile.sums.shape, np.float32)
        gone = np.zeros(canvas.grid.shape, bool)
        for one in laid:
            gone[one.cut] |= one.mask
        depth = canvas.grid.axes[along]
        for k in range(n):
            inside = np.abs(depth - pile.middles[k]) <= thick / 2
            index = (slice(None), inside) if way == "front" else (slice(None), slice(None), inside)
            lung, lost = canvas.lobes[index] > 0, gone[index]
            axis = 1 if way == "front" else 2
            had, less = lung.sum(axis=axis), lost.sum(axis=axis)
            left = 1 - less / np.maximum(had, 1)
            points = np.zeros((rows, columns, 3), np.float32)
            points[..., 0 if way == "front" else 1] = a[None]
            points[..., 2], points[..., along] = z[:, None], float(pile.middles[k])
            (iz, iy, ix), _ = canvas.grid.nearest_voxels(points)
            share[k] = left[iz, ix if way == "front" else iy]
        return share

    def _tone_levels(self, view: View) -> tuple[float, float]:
        """Density of lung and mediastinum without findings: the two anchors of the grey curve."""
        if view not in self._levels:
            beam, technique = self.beam(view), draw_exposure(self._rng(view, "technique"), view)
            clean = self.integrate_path(view, self.visit.shadows.keys)
            answer = compute_density(
                compute_transmission(clean / 1000, technique, beam.spacing), technique, None
            )
            shown = process_density(answer, technique, beam.spacing)
            canvas = self._body_canvas(beam.direction)
            lungs = self._project_voxels(canvas.lobes > 0, canvas.grid, view)
            heart = self._project_voxels(canvas.organs == ORGAN_NUMBERS["heart"], canvas.grid, view)
            low = float(np.quantile(shown[lungs & ~heart], 0.4))
            if view == "lateral":
                heart = (
                    self._project_voxels(canvas.organs == ORGAN_NUMBERS["liver"], canvas.grid, view) & ~lungs
                )
            high = float(np.quantile(shown[heart], 0.75))
            self._levels[view] = low, max(high, low + 0.3)
        return self._levels[view]

    def _project_settled(self, key: str, view: View) -> NDArray[np.bool_]:
        beam = self.beam(view)
        out = np.zeros((beam.rows, beam.columns), bool)
        grid = self._body_canvas(beam.direction).grid
        for one in self._body_path(view, self._settled_keys).settled:
            if one.content.key == key:
                mask = np.zeros(grid.shape, bool)
                mask[one.cut] = one.mask
                out |= self._project_voxels(mask, grid, view)
        return out

    def _project_voxels(self, mask: NDArray[np.bool_], grid: Grid, view: View) -> NDArray[np.bool_]:
        beam = self.beam(view)
        box = bounding_box(mask)
        out = np.zeros((beam.rows, beam.columns), bool)
        if box is None:
            return out
        axis, along = (0, 1) if beam.direction == "front" else (1, 0)
        edges = slab_edges(grid, beam.direction, _SHEET_MM)
        middles = slab_middles(grid, beam.direction, edges)
        first = float(grid.axes[axis][box[2 - axis].start]), float(grid.axes[2][box[0].start])
        step = grid.step[axis], grid.step[2]
        for n, depth in enumerate(middles):
            sheet = [box[0], box[1], box[2]]
            rows = sheet[2 - along]
            a, b = max(edges[n], rows.start), min(edges[n + 1], rows.stop)
            if a >= b:
                continue
            sheet[2 - along] = slice(a, b)
            seen = np.asarray(mask[sheet[0], sheet[1], sheet[2]].any(axis=2 - along), np.float32)
            laid = beam.project_sheet(seen, first, step, float(depth))
            if laid is not None:
                out[laid[0]] |= laid[1] >= 0.5
        return out


def _lung_slabs(canvas: Canvas, laid: Sequence[SettledContent], way: BeamDirection) -> Slabs:
    """Millimetres of lung along the beam, without what fluid and air have taken."""
    lung = canvas.lobes > 0
    for one in laid:
        lung[one.cut] &= ~one.mask
    axis, depth = (1, 1) if way == "front" else (2, 0)
    sheet = lung.sum(axis=axis).astype(np.float32) * np.float32(canvas.grid.step[depth])
    middle = float(canvas.grid.axes[depth].mean())
    return Slabs(way, sheet[None], (0, 0, 0), np.array([middle], np.float32))


def _sum_slabs(hu: Floats, grid: Grid, way: BeamDirection, cut: Cut, *, whole: bool = True) -> Slabs:
    """What weakens the beam in a part, slab by slab: HU + 1000, and bone more than its HU say.

    `hu` holds the whole grid, or the part alone.
    """
    part = hu[cut] if whole else hu
    along, across = (1, 2) if way == "front" else (2, 1)
    step = np.float32(grid.step[2 - along])
    edges = slab_edges(grid, way, _SHEET_MM)
    sheets, depths = [], []
    for (a, b), depth in zip(pairwise(edges), slab_middles(grid, way, edges), strict=True):
        a, b = max(a, cut[along].start), min(b, cut[along].stop)
        if a >= b:
            continue
        first, last = a - cut[along].start, b - cut[along].start
        slab = part[:, first:last] if way == "front" else part[:, :, first:last]
        sheet = np.maximum(slab, np.float32(-1000)).sum(axis=along)
        sheet += np.float32(_BONE_GAIN) * np.maximum(slab - np.float32(110), 0).sum(axis=along)
        sheets.append((sheet + np.float32(1000 * (b - a))) * step)
        depths.append(depth)
    corner = (0, cut[0].start, cut[across].start)
    return Slabs(way, np.stack(sheets), corner, np.array(depths, np.float32))
