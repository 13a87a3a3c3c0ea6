"""Branches of the trees on the canvas: thousands of short tubes, each painted in its own box."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from overread.phantom.body.canvas import ORGAN_NUMBERS, Canvas, Cut
from overread.phantom.body.habitus import Habitus
from overread.phantom.body.shapes import Floats, Point, capsule_distance, to_point
from overread.phantom.body.trees import Branch

_PASSABLE = np.zeros(256, bool)
for _name in ("right lung", "left lung", "mediastinum", "pulmonary artery", "trachea and bronchi"):
    _PASSABLE[ORGAN_NUMBERS[_name]] = True


@dataclass(frozen=True)
class TubePiece:
    """A straight piece of a tube in the patient: ends and radius in millimetres."""

    start: Point
    end: Point
    radius: float


def place_branch(habitus: Habitus, branch: Branch) -> TubePiece:
    """A branch as it lies in the patient."""
    start, end = habitus.to_patient(np.array([branch.start, branch.end]))
    return TubePiece(to_point(start), to_point(end), branch.radius)


def paint_branches(
    canvas: Canvas,
    habitus: Habitus,
    branches: Sequence[Branch],
    hu: float,
    *,
    widen: tuple[float, float] = (0.0, 0.0),
    walls: bool = False,
    label: int | None = None,
) -> None:
    """Draw branches, each wider by widen[0] + widen[1] × its radius.

    Thin ones fade, since they fill only a part of their voxels.
    """
    if not branches:
        return
    blur = canvas.grid.blur
    ends = habitus.to_patient(np.array([(b.start, b.end) for b in branches]))
    radii = np.array([b.radius for b in branches])
    radii = radii * (1 + widen[1]) + widen[0]
    wide = np.maximum(radii, blur / 2)
    # An edge is half outside; a hundredth more for the rounding of places.
    cuts = _piece_boxes(canvas, ends, wide + 0.5 * blur + 0.01)
    strength = np.minimum(1.0, (radii / wide) ** 2)
    if walls:
        strength[radii < blur] *= 0.5  # a wall this thin is mostly lost between voxels
    for n, cut in enumerate(cuts):
        if cut is None:
            continue
        far, _ = capsule_distance(*canvas.grid.coordinates(cut), ends[n, 0], ends[n, 1])
        depth = np.float32(wide[n]) - far
        if branches[n].order > 3:
            # A branch may take a short cut through the heart; it is not seen there.
            depth[~_PASSABLE[canvas.organs[cut]]] = -9
        own = label if radii[n] > 1.2 else None
        canvas.paint(cut, depth, hu, label=own, strength=float(strength[n]))


def _piece_boxes(canvas: Canvas, ends: Floats, pad: Floats) -> list[Cut | None]:
    """The box of each piece, all at once: asking the grid one by one takes longer than painting."""
    grid = canvas.grid
    first = np.array([axis[0] for axis in grid.axes], float)
    steps = np.array([-1.0, -1.0, 1.0]) * grid.step
    index = (ends - first) / steps
    reach = pad[:, None] / np.abs(steps)
    low = np.maximum(np.ceil(index.min(axis=1) - reach), 0).astype(int)
    high = np.minimum(np.floor(index.max(axis=1) + reach) + 1, grid.counts).astype(int)
    return [
        (slice(a[2], b[2]), slice(a[1], b[1]), slice(a[0], b[0])) if (a < b).all() else None
        for a, b in zip(low, high, strict=True)
    ]
