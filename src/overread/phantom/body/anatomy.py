"""One body: its habitus, its lungs, its trees; and how it is drawn on a grid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from overread.phantom.body.bones import paint_shoulders, paint_spine, paint_sternum
from overread.phantom.body.canvas import ORGAN_NUMBERS, Canvas, Cut, Grid
from overread.phantom.body.habitus import Habitus, draw_habitus
from overread.phantom.body.lungs import LungShape
from overread.phantom.body.noise import NoiseTile
from overread.phantom.body.organs import paint_belly, paint_heart, paint_table, paint_vessels
from overread.phantom.body.shapes import Floats, soft_cover
from overread.phantom.body.trees import Trees, grow_trees
from overread.phantom.body.tubes import paint_branches
from overread.phantom.body.wall import body_depth, paint_wall

TOP, BOTTOM = 127.0, -184.0
"""Heights of the template that a scan covers."""

_MAY_BE_LUNG = np.zeros(256, bool)
"""Whether an organ number is one that a voxel of a lung may have."""
_MAY_BE_LUNG[
    [ORGAN_NUMBERS["right lung"], ORGAN_NUMBERS["left lung"], ORGAN_NUMBERS["trachea and bronchi"]]
] = True


class Body:
    """The anatomy of one patient, before any finding in the lungs."""

    def __init__(self, seed: np.random.SeedSequence, differs: Mapping[str, Any] | None = None) -> None:
        """`differs` replaces fields of the habitus: a larger heart, a fatty liver."""
        one, two, three, four = seed.spawn(4)
        self.habitus: Habitus = replace(draw_habitus(np.random.default_rng(one)), **(differs or {}))
        self.lungs = LungShape(self.habitus, np.random.default_rng(two))
        self._tree_seed, self._grain_seed = three, four

    @cached_property
    def trees(self) -> Trees:
        """Airways and vessels."""
        return grow_trees(self.lungs, np.random.default_rng(self._tree_seed))

    def lung_depth(self, x: Floats, y: Floats, z: Floats) -> Floats:
        """Millimetres from the pleura of points of the patient; negative outside the lungs."""
        return self.lungs.lung_depth(*self.habitus.to_template(x, y, z))

    def rib_depth(self, x: Floats, y: Floats, z: Floats) -> Floats:
        """Millimetres from the ribs' inner surface of points of the patient; negative outside."""
        return self.lungs.cavity_depth(*self.habitus.to_template(x, y, z))[0]

    def make_grid(self, step: float | None) -> Grid:
        """A grid that holds the chest: of the given step, or 512 × 512 × 300 voxels."""
        h = self.habitus
        x = np.linspace(-230, 230, 231, dtype=np.float32)[None, :]
        y = np.linspace(-190, 190, 191, dtype=np.float32)[:, None]
        wide = 0.0
        for level in (-100.0, -40.0, 60.0):
            outer, _ = body_depth(h, x, y, np.full((1, 1), level, np.float32))
            wide = max(wide, float(np.abs(np.broadcast_to(x, outer.shape)[outer > 0]).max()))
        width = min(2 * (wide * h.wide + 8), 440.0)
        # A deeper breath takes the recesses of the lungs further down.
        bottom = BOTTOM - h.breath
        tall = (TOP - bottom) * h.tall
        centre = (0.0, -14.0 * h.deep, (TOP + bottom) / 2 * h.tall)
        if step is None:
            return Grid(centre, (512, 512, 300), (width / 512, width / 512, tall / 300))
        count = 2 * round(width / step / 2)
        return Grid(centre, (count, count, round(tall / step)), (step, step, step))

    def draw(self, grid: Grid, *, marrow: float | None = None, spurs: float = 0.0) -> Canvas:
        """HU and labels of the body on a grid, without noise."""
        canvas = Canvas(grid)
        h = self.habitus
        rng = np.random.default_rng(self._grain_seed)
        steps = (grid.step[2], grid.step[1], grid.step[0])
        size = (48, 128, 128) if grid.step[0] > 1.5 else (64, 256, 256)
        grain = NoiseTile(rng, size, steps, coarse=4.0)
        bellies = NoiseTile(rng, size, steps, coarse=24.0)
        paint_table(canvas, -118 * h.deep - h.fat * 0.75)
        for cut in grid.iterate_slabs():
            xyz = h.to_template(*grid.coordinates(cut))
            cavity, around = self.lungs.cavity_depth(*xyz)
            paint_wall(canvas, cut, h, grain, bellies, xyz, cavity, around)
            self._paint_lungs(canvas, cut, xyz, cavity, grain, bellies)
        if marrow is None:
            marrow = 250 - 1.3 * h.age
        paint_belly(canvas, self.lungs, grain)
        paint_heart(canvas, self.lungs, grain)
        paint_vessels(canvas, self.lungs)
        paint_spine(canvas, self.lungs, marrow, spurs)
        paint_sternum(canvas, self.lungs)
        paint_shoulders(canvas, self.lungs)
        self._paint_trees(canvas)
        for cut in grid.iterate_slabs():
            # What was painted over a lung afterwards, a vein or a rib's joint, is no lung.
            other = ~_MAY_BE_LUNG[canvas.organs[cut]]
            canvas.lobes[cut][other] = 0
            canvas.segments[cut][other] = 0
        return canvas

    def _paint_lungs(
        self,
        canvas: Canvas,
        cut: Cut,
        xyz: tuple[Floats, Floats, Floats],
        cavity: Floats,
        fine: NoiseTile,
        slow: NoiseTile,
    ) -> None:
        """Fat between the lungs, then the lungs with their lobes and fissures."""
        x, y, z = xyz
        lungs, h, grid = self.lungs, self.habitus, canvas.grid
        between = lungs.mediastinum_depth(x, y, z)
        height, cosine = lungs.diaphragm_height(x, y)
        canvas.paint(cut, np.minimum(cavity - 1, between + 2), -96.0, label=ORGAN_NUMBERS["mediastinum"])
        depth = np.minimum(np.minimum(cavity - 1, -between), (z - height) * cosine)
        if not (depth > -2).any():
            return
        value = h.lung - h.slope * (y + 5) * (1 - z / 250) - 0.08 * (z + 25)
        value = value + 16 * fine.sample(cut, grid.shape) + 15 * slow.sample(cut, grid.shape)
        # The most dependent lung is a little heavier, as in any supine patient.
        value = value + 60 * np.exp(-np.maximum(cavity, 0) / 5) * np.clip((-y - 40) / 40, 0, 1)
        major, minor = lungs.fissure_distances(x, y, z)
        width = 0.55
        near = np.maximum(soft_cover(width - np.abs(major), grid.blur), 0)
        over = np.where((x > 0) & (major > 0), soft_cover(width - np.abs(minor), grid.blur), 0)
        strength = np.minimum(1.0, 1.1 / grid.blur)
        line = np.maximum(near, over) * np.float32(0.30 * strength)
        value = value + (-250 - value) * line
        canvas.paint(cut, depth, value)
        inside = depth > 0
        if not inside.any():
            return
        points = [np.broadcast_to(a, depth.shape)[inside] for a in (x, y, z)]
        right = points[0] > 0
        lobe = np.where(
            major[inside] < 0,
            np.where(right, 3, 5),
            np.where(right, np.where(np.broadcast_to(minor, depth.shape)[inside] > 0, 1, 2), 4),
        ).astype(np.uint8)
        canvas.lobes[cut][inside] = lobe
        canvas.segments[cut][inside] = lungs.segment_number(points[0], points[1], points[2], lobe)
        canvas.organs[cut][inside] = np.where(right, ORGAN_NUMBERS["right lung"], ORGAN_NUMBERS["left lung"])

    def _paint_trees(self, canvas: Canvas) -> None:
        trees, h = self.trees, self.habitus
        paint_branches(canvas, h, (*trees.arteries, *trees.veins), 32.0)
        paint_branches(canvas, h, trees.airways, 10.0, widen=(0.35, 0.12), walls=True)
        label = ORGAN_NUMBERS["trachea and bronchi"]
        paint_branches(canvas, h, trees.airways, -995.0, label=label)
