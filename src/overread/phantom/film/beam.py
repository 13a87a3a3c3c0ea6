"""Where the beam comes from, where it falls, and how every depth of the patient is magnified.

Pixels are counted from the middle of the film's first one, columns to the right and rows downwards.
Frontal films show the patient's right on the left, as they are read. The lateral film is a left
one: the left side lies against the detector, the patient looks to the picture's left and the spine
is on its right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from overread.phantom.body.anatomy import Body
from overread.phantom.body.canvas import Grid
from overread.phantom.body.shapes import Floats
from overread.phantom.film.shadows import BeamDirection, Slabs
from overread.phantom.film.sign import View

FilmPart = tuple[slice, slice]
"""A part of a film: rows and columns, both ends given."""


@dataclass(frozen=True)
class Beam:
    """One X-ray tube, one detector and the field between them; everything in millimetres."""

    view: View
    source: float
    """Where the tube stands along the beam: y of a frontal film, x of a lateral one."""
    detector: float
    """Where the detector stands along the beam."""
    aim: tuple[float, float]
    """Where the middle of the beam passes: across (x, or y of a lateral film) and height."""
    edge: tuple[float, float]
    """The upper left corner of the film on the detector: across and height."""
    rows: int
    columns: int
    spacing: float
    """Millimetres of a pixel on the detector."""

    @property
    def direction(self) -> BeamDirection:
        """Along which axis of the patient the beam runs."""
        return "side" if self.view == "lateral" else "front"

    def magnification(self, depth: Floats) -> Floats:
        """How many times larger than life a thing at a depth along the beam is on the detector."""
        larger: Floats = abs(self.detector - self.source) / np.abs(depth - self.source)
        return larger

    def project_points(self, points: Floats) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Column and row at which points of the patient, RAS+ millimetres (…, 3), are seen."""
        points = np.asarray(points, np.float64)
        across, depth = (0, 1) if self.direction == "front" else (1, 0)
        larger = self.magnification(points[..., depth])
        u = self.aim[0] + (points[..., across] - self.aim[0]) * larger
        v = self.aim[1] + (points[..., 2] - self.aim[1]) * larger
        return (self.edge[0] - u) / self.spacing - 0.5, (self.edge[1] - v) / self.spacing - 0.5

    def project_sheet(
        self, image: Floats, first: tuple[float, float], step: tuple[float, float], depth: float
    ) -> tuple[FilmPart, Floats] | None:
        """A sheet of the patient at one depth as it falls on the film; None where it falls beside.

        The sheet is (z, across) in the order of voxels: heights rise from `first[1]`, and what lies
        across falls from `first[0]`. Nothing is taken to lie around it.
        """
        larger = float(self.magnification(np.asarray(depth, np.float64)))
        # Where the pixels' edges lie, in voxels of the sheet: edge = start + pace · column.
        pace = self.spacing / larger / step[0], self.spacing / larger / step[1]
        left = self.aim[0] + (self.edge[0] - self.aim[0]) / larger
        top = self.aim[1] + (self.edge[1] - self.aim[1]) / larger
        start = (first[0] - left) / step[0] + 0.5, 0.0
        high = first[1] + (image.shape[0] - 1) * step[1]
        start = start[0], (high - top) / step[1] + 0.5
        window, box = [], []
        for n, size, pixels in ((1, image.shape[0], self.rows), (0, image.shape[1], self.columns)):
            low = max(0, int(np.floor((-1 - start[n]) / pace[n])))
            end = min(pixels, int(np.ceil((size + 1 - start[n]) / pace[n])))
            if low >= end:
                return None
            window.append(slice(low, end))
            box.append((start[n] + pace[n] * low, start[n] + pace[n] * end))
        around = [
            (int(max(0, np.ceil(2 - lo))), int(max(0, np.ceil(hi - size + 2))))
            for (lo, hi), size in zip(box, image.shape, strict=True)
        ]
        sheet = Pillow.fromarray(np.ascontiguousarray(np.pad(image[::-1], around), np.float32), mode="F")
        rows, columns = window
        frame = (
            box[1][0] + around[1][0], box[0][0] + around[0][0],
            box[1][1] + around[1][0], box[0][1] + around[0][0],
        )  # fmt: skip
        size = (columns.stop - columns.start, rows.stop - rows.start)
        laid = sheet.resize(size, Pillow.Resampling.BILINEAR, box=frame)
        return (rows, columns), np.asarray(laid)

    def project_slabs(self, pile: Slabs, grid: Grid) -> Floats:
        """The film of a pile of slabs: each magnified for its own depth, all of them added."""
        out = np.zeros((self.rows, self.columns), np.float32)
        axis = 0 if pile.direction == "front" else 1
        line, heights = grid.axes[axis], grid.axes[2]
        first = float(line[pile.corner[2]]), float(heights[pile.corner[1]])
        step = grid.step[axis], grid.step[2]
        for sheet, depth in zip(pile.sums, pile.middles, strict=True):
            laid = self.project_sheet(sheet, first, step, float(depth))
            if laid is not None:
                out[laid[0]] += laid[1]
        return out


SHORT_SIDE = {"small": 560, "full": 1040}
"""Pixels of a film's shorter side."""
_AIR_GAP_MM = 25.0
"""Millimetres between the skin and the detector."""


def aim_beam(body: Body, view: View, reach: tuple[float, float], size: str, rng: np.random.Generator) -> Beam:
    """Set tube, detector and collimator for a patient; `reach` is where the skin lies."""
    h = body.habitus
    back, front = reach
    supine = view == "AP supine"
    far = float(rng.uniform(1000, 1100)) if supine else 1830.0
    across, height = float(rng.normal(0, 5)), (-28 + float(rng.normal(0, 12))) * h.tall
    scale = 1.12 if supine else 1.05
    if view == "PA":
        detector, source = front + _AIR_GAP_MM, front + _AIR_GAP_MM - far
    elif supine:
        detector, source = back - _AIR_GAP_MM, back - _AIR_GAP_MM + far
    else:
        # The left side lies against the detector.
        detector = -(150 * h.wide + 1.2 * h.fat + _AIR_GAP_MM)
        source = detector + far
    # At the bedside the plate is often hardly larger than the chest.
    above, below = ((10, 36), (2, 34)) if supine else ((28, 60), (16, 60))
    top = height + (121 * h.tall - height) * scale + float(rng.uniform(*above))
    low = height + ((-166 - h.breath) * h.tall - height) * scale - float(rng.uniform(*below))
    if view == "lateral":
        left = (front + float(rng.uniform(8, 28))) * 1.03
        right = (back - float(rng.uniform(8, 28))) * 1.03
        across = (front + back) / 2
        edges = across + (left - across) * 1.06, across + (right - across) * 1.06
    else:
        half = 131 * h.wide * scale + float(rng.uniform(34, 62))
        edges = across + half, across - half
    spacing = min(edges[0] - edges[1], top - low) / SHORT_SIDE[size]
    return Beam(
        view=view,
        source=source,
        detector=detector,
        aim=(across, height),
        edge=(edges[0], top),
        rows=round((top - low) / spacing),
        columns=round((edges[0] - edges[1]) / spacing),
        spacing=spacing,
    )
