"""The room where films are taken: one patient of one day, as many films as are asked for."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from overread.phantom.body.boxes import box_of
from overread.phantom.body.canvas import NUMBER, Canvas, Cut, Grid
from overread.phantom.body.shapes import Floats
from overread.phantom.film.beam import Beam, aim
from overread.phantom.film.exposure import density, draw_technique, grey, light, processed
from overread.phantom.film.figure import FilmGrid, draw_figure, reach
from overread.phantom.film.marks import burn_in
from overread.phantom.film.posture import paint_posture, shape_neck
from overread.phantom.film.shadows import Slabs, Way, slab_edges, slab_middles
from overread.phantom.film.sign import View
from overread.phantom.film.upright import (
    Laid,
    free_things,
    lay_free,
    settle_hernia,
    settle_stomach,
)
from overread.phantom.film.vessels import Portions, lay_grain, lay_vessels, portions
from overread.phantom.findings.scan import Entity
from overread.phantom.population import stream
from overread.phantom.visit import Visit

_STEPS = {"small": (1.3, 3.0), "full": (0.7, 2.0)}
"""Millimetres of the film grid across the beam and along it."""
_SHEET = 6.0
"""Millimetres of depth that are magnified alike."""
_BONE = 0.7
"""How much more bone weakens a film's beam than a scan's, above the HU of soft tissue."""
HERNIA = "beyond-hiatal hernia"


@dataclass(frozen=True)
class Film:
    """One radiograph."""

    view: View
    pixels: NDArray[np.uint8]
    """(rows, columns)."""
    spacing: float
    """Millimetres of a pixel, on the detector."""


@dataclass(frozen=True)
class _Patient:
    """What the beam meets in a patient before the findings of `Shadows`, for one view."""

    way: Floats
    """HU + 1000 along the beam, in HU·mm, on the film."""
    laid: tuple[Laid, ...]
    """Fluid and air that were laid anew."""


class FilmRoom:
    """Takes films of one patient on one day, with some of the findings left out if wished."""

    def __init__(self, visit: Visit, *, day: int = 0) -> None:
        """`day` gives films of a second visit another exposure and another noise."""
        self.visit, self.day = visit, day
        self._free = free_things(visit)
        self._beams: dict[View, Beam] = {}
        self._patients: dict[tuple[View, frozenset[str]], _Patient] = {}
        self._bodies: dict[View, Floats] = {}
        self._levels: dict[View, tuple[float, float]] = {}
        self._shadows: dict[tuple[View, str], Floats] = {}
        self._canvases: dict[Way, Canvas] = {}

    @property
    def canvas(self) -> Canvas:
        """The body on the grid of frontal films; its labels name organs and lobes."""
        return self._canvas("front")

    def beam(self, view: View) -> Beam:
        """Where the tube and the detector stand for a film."""
        if view not in self._beams:
            near = reach(self.visit.body)
            self._beams[view] = aim(
                self.visit.body, view, near, self.visit.settings.size, self._rng(view, "aim")
            )
        return self._beams[view]

    def film(self, view: View, *, without: Collection[str] = (), noise: bool = True) -> Film:
        """Take a film; `without` names findings by their keys that it is not to show."""
        beam, technique = self.beam(view), draw_technique(self._rng(view, "technique"), view)
        way = self.through(view, without)
        answer = density(
            light(way / 1000, technique, beam.spacing),
            technique,
            self._rng(view, "noise") if noise else None,
        )
        shown = processed(answer, technique, beam.spacing)
        pixels = grey(shown, self._tone(view), technique)
        burn_in(pixels, view, self._rng(view, "marks"))
        return Film(view, pixels, beam.spacing)

    def place(self, points: Floats, view: View) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Column and row at which points of the patient, RAS+ millimetres (…, 3), are seen."""
        return self.beam(view).place(points)

    def outline(self, mask: NDArray[np.bool_], view: View) -> NDArray[np.bool_]:
        """A mask on the grid of `canvas` as it falls on a film."""
        return self._project(mask, self.canvas.grid, view)

    def outline_of(self, entities: Sequence[Entity], view: View) -> NDArray[np.bool_]:
        """Voxels of the scan as they fall on a film; fluid and air where gravity has them."""
        beam = self.beam(view)
        out = np.zeros((beam.rows, beam.columns), bool)
        if view != "AP supine":
            for n, drawn in enumerate(self.visit.drawn):
                key = f"finding-{n}"
                if key in self._moved and any(e is o for e in entities for o in drawn.entities):
                    out |= self._outline_laid(key, view)
                    entities = [e for e in entities if all(e is not o for o in drawn.entities)]
        grid = self.visit.scan.canvas.grid
        for entity in entities:
            mask = np.zeros(grid.shape, bool)
            mask[entity.cut] = entity.mask
            out |= self._project(mask, grid, view)
        return out

    @property
    def _moved(self) -> frozenset[str]:
        """Findings that gravity lays anew in a patient who stands."""
        return frozenset(free.key for free in self._free)

    def _rng(self, view: View, purpose: str) -> np.random.Generator:
        day = (self.day,) if self.day else ()
        settings = self.visit.settings
        return np.random.default_rng(
            stream(settings.seed, self.visit.number, "film", view, purpose, *day)
        )

    def _canvas(self, way: Way) -> Canvas:
        if way not in self._canvases:
            views: tuple[View, ...] = ("PA", "AP supine") if way == "front" else ("lateral",)
            visit, (fine, deep) = self.visit, _STEPS[self.visit.settings.size]
            back, front = reach(visit.body)
            beams = [self.beam(view) for view in views]
            high = max(beam.edge[1] for beam in beams) + 2
            low = min(beam.edge[1] - beam.rows * beam.spacing for beam in beams) - 2
            wide = max(abs(beam.edge[0]) for beam in beams) + 2
            wide = wide if way == "front" else 1.04 * (185 * visit.body.habitus.wide)
            step = (fine, deep, fine) if way == "front" else (deep, fine, fine)
            size = (2 * wide, front - back, high - low)
            counts = tuple(int(np.ceil(a / b)) for a, b in zip(size, step, strict=True))
            centre = (0.0, (front + back) / 2, (high + low) / 2)
            grid = FilmGrid(
                centre, (counts[0], counts[1], counts[2]), step, edge=max(1.1, 1.25 * fine)
            )
            seed = stream(visit.settings.seed, visit.number, "film", "grain")
            rng = np.random.default_rng(seed)
            side = way == "side"
            canvas = draw_figure(visit.body, grid, rng, spurs=visit.spurs, from_side=side)
            shape_neck(canvas, visit.body)
            self._canvases[way] = canvas
        return self._canvases[way]

    @cached_property
    def _blood(self) -> Portions:
        return portions(self.visit.body)

    def _patient(self, view: View, present: frozenset[str]) -> _Patient:
        """The patient with those of the moved findings that are present."""
        if (view, present) not in self._patients:
            beam = self.beam(view)
            canvas, body = self._canvas(beam.way), self.visit.body
            way = self._bare(view).copy()
            things = [free for free in self._free if free.key in present]
            spaces = lay_free(body, canvas, things) if things else []
            for space in spaces:
                # Arms and blades lie elsewhere: what the fluid changes is the same without them.
                was = _pile(canvas.hu, canvas.grid, beam.way, space.cut)
                now = _pile(space.hu, canvas.grid, beam.way, space.cut, whole=False)
                change = Slabs(beam.way, now.sums - was.sums, was.corner, was.middles)
                way += beam.lay_slabs(change, canvas.grid)
            laid = tuple(one for space in spaces for one in space.laid)
            way += lay_vessels(beam, self._seen_blood(canvas, laid), 40 - body.habitus.lung)
            lung = _lung_pile(canvas, laid, beam.way)
            way += lay_grain(beam, beam.lay_slabs(lung, canvas.grid), self._rng(view, "grain"))
            self._patients[view, present] = _Patient(way, laid)
        return self._patients[view, present]

    def _bare(self, view: View) -> Floats:
        """The body along the beam, as it stands or lies, without its small vessels."""
        if view not in self._bodies:
            beam = self.beam(view)
            canvas = self._canvas(beam.way)
            hu = canvas.hu.copy()
            paint_posture(canvas, self.visit.body, hu, view)
            if view != "AP supine":
                settle_stomach(canvas, hu)
            whole = (slice(0, hu.shape[0]), slice(0, hu.shape[1]), slice(0, hu.shape[2]))
            pile = _pile(hu, canvas.grid, beam.way, whole)
            self._bodies[view] = beam.lay_slabs(pile, canvas.grid)
        return self._bodies[view]

    def _seen_blood(self, canvas: Canvas, laid: Sequence[Laid]) -> Portions:
        """Vessels that run through lung; where fluid or air has its place there are none."""
        blood = self._blood
        voxels, held = canvas.grid.nearest(blood.points)
        lungs = (NUMBER["right lung"], NUMBER["left lung"], NUMBER["trachea and bronchi"])
        kept = held & np.isin(canvas.organs[voxels], lungs)
        gone = np.zeros(canvas.grid.shape, bool)
        for one in laid:
            gone[one.cut] |= one.mask
        return blood[kept & ~gone[voxels]]

    def through(self, view: View, without: Collection[str] = ()) -> Floats:
        """What weakens the beam on its way to each pixel, in HU·mm of HU + 1000; bone more."""
        upright = view != "AP supine"
        present = frozenset(self._moved - set(without)) if upright else frozenset()
        patient = self._patient(view, present)
        total = patient.way.copy()
        for key in self.visit.shadows.keys:
            if key not in without and not (upright and key in self._moved):
                total += self._shadow(view, key, patient, present)
        return np.maximum(total, 0)

    def _shadow(self, view: View, key: str, patient: _Patient, present: frozenset[str]) -> Floats:
        name = f"{key} {sorted(present)}"
        if (view, name) not in self._shadows:
            beam, shadows = self.beam(view), self.visit.shadows
            out = np.zeros((beam.rows, beam.columns), np.float32)
            piles = [shadows.of(key, beam.way)]
            if key == HERNIA and view != "AP supine":
                piles.append(settle_hernia(self.visit, beam.way))
            for pile in piles:
                if pile is not None:
                    kept = self._room_left(pile, patient.laid, beam.way)
                    out += beam.lay_slabs(
                        Slabs(pile.way, pile.sums * kept, pile.corner, pile.middles), shadows.grid
                    )
            self._shadows[view, name] = out
        return self._shadows[view, name]

    def _room_left(self, pile: Slabs, laid: Sequence[Laid], way: Way) -> Floats | float:
        """Share of the lung's room, slab by slab, that fluid and air have left to a shadow."""
        if not laid:
            return 1.0
        canvas, scan = self._canvas(way), self.visit.shadows.grid
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
            (iz, iy, ix), _ = canvas.grid.nearest(points)
            share[k] = left[iz, ix if way == "front" else iy]
        return share

    def _tone(self, view: View) -> tuple[float, float]:
        """What the processing takes for lung and for mediastinum: of the body without findings."""
        if view not in self._levels:
            beam, technique = self.beam(view), draw_technique(self._rng(view, "technique"), view)
            clean = self.through(view, self.visit.shadows.keys)
            answer = density(light(clean / 1000, technique, beam.spacing), technique, None)
            shown = processed(answer, technique, beam.spacing)
            canvas = self._canvas(beam.way)
            lungs = self._project(canvas.lobes > 0, canvas.grid, view)
            heart = self._project(canvas.organs == NUMBER["heart"], canvas.grid, view)
            low = float(np.quantile(shown[lungs & ~heart], 0.4))
            if view == "lateral":
                heart = self._project(canvas.organs == NUMBER["liver"], canvas.grid, view) & ~lungs
            high = float(np.quantile(shown[heart], 0.75))
            self._levels[view] = low, max(high, low + 0.3)
        return self._levels[view]

    def _outline_laid(self, key: str, view: View) -> NDArray[np.bool_]:
        beam = self.beam(view)
        out = np.zeros((beam.rows, beam.columns), bool)
        grid = self._canvas(beam.way).grid
        for one in self._patient(view, self._moved).laid:
            if one.free.key == key:
                mask = np.zeros(grid.shape, bool)
                mask[one.cut] = one.mask
                out |= self._project(mask, grid, view)
        return out

    def _project(self, mask: NDArray[np.bool_], grid: Grid, view: View) -> NDArray[np.bool_]:
        beam = self.beam(view)
        box = box_of(mask)
        out = np.zeros((beam.rows, beam.columns), bool)
        if box is None:
            return out
        axis, along = (0, 1) if beam.way == "front" else (1, 0)
        edges = slab_edges(grid, beam.way, _SHEET)
        middles = slab_middles(grid, beam.way, edges)
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
            laid = beam.lay(seen, first, step, float(depth))
            if laid is not None:
                out[laid[0]] |= laid[1] >= 0.5
        return out


def _lung_pile(canvas: Canvas, laid: Sequence[Laid], way: Way) -> Slabs:
    """Millimetres of lung along the beam, without what fluid and air have taken."""
    lung = canvas.lobes > 0
    for one in laid:
        lung[one.cut] &= ~one.mask
    axis, depth = (1, 1) if way == "front" else (2, 0)
    sheet = lung.sum(axis=axis).astype(np.float32) * np.float32(canvas.grid.step[depth])
    middle = float(canvas.grid.axes[depth].mean())
    return Slabs(way, sheet[None], (0, 0, 0), np.array([middle], np.float32))


def _pile(hu: Floats, grid: Grid, way: Way, cut: Cut, *, whole: bool = True) -> Slabs:
    """What weakens the beam in a part, slab by slab: HU + 1000, and bone more than its HU say.

    `hu` holds the whole grid, or the part alone.
    """
    part = hu[cut] if whole else hu
    along, across = (1, 2) if way == "front" else (2, 1)
    step = np.float32(grid.step[2 - along])
    edges = slab_edges(grid, way, _SHEET)
    sheets, depths = [], []
    for (a, b), depth in zip(pairwise(edges), slab_middles(grid, way, edges), strict=True):
        a, b = max(a, cut[along].start), min(b, cut[along].stop)
        if a >= b:
            continue
        first, last = a - cut[along].start, b - cut[along].start
        slab = part[:, first:last] if way == "front" else part[:, :, first:last]
        sheet = np.maximum(slab, np.float32(-1000)).sum(axis=along)
        sheet += np.float32(_BONE) * np.maximum(slab - np.float32(110), 0).sum(axis=along)
        sheets.append((sheet + np.float32(1000 * (b - a))) * step)
        depths.append(depth)
    corner = (0, cut[0].start, cut[across].start)
    return Slabs(way, np.stack(sheets), corner, np.array(depths, np.float32))
