"""The area of a finding in every slice of a plane, and how much a slice must hold to show it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from overread.phantom.body.canvas import Grid
from overread.phantom.case.levels import Plane, plane_axis
from overread.phantom.findings.scan import DrawnFinding, Entity

SliceAreas = NDArray[np.float64]
"""Square millimetres of a finding in each slice of a plane."""

MIN_VISIBLE_MM2 = {"focal": 20.0, "fine": 40.0, "wide": 60.0}
"""What a slice must hold of a finding to show it: of something that one would measure or count; of
bands, bronchi and clusters of small nodules; of everything else."""

CONSPICUOUS_FACTOR = 2.0
"""How many times the visible area of a needed finding its fullest axial slice must hold."""


def min_visible_mm2(drawn: DrawnFinding) -> float:
    """What a slice must hold of a finding to show it."""
    if drawn.category in ("1a", "1b", "1e", "2a"):
        return MIN_VISIBLE_MM2["fine"]
    return MIN_VISIBLE_MM2["focal" if drawn.sized or drawn.countable else "wide"]


def measure_slice_areas(grid: Grid, entities: Sequence[Entity], plane: Plane) -> SliceAreas:
    """How much of some entities each slice of a plane holds."""
    axis = plane_axis(plane)
    others = tuple(a for a in range(3) if a != axis)
    total = np.zeros(grid.shape[axis])
    for entity in entities:
        total[entity.cut[axis]] += entity.mask.sum(axis=others)
    area = float(np.prod([step for n, step in enumerate(grid.step) if n != 2 - axis]))
    return total * area


def is_conspicuous(grid: Grid, drawn: DrawnFinding) -> bool:
    """Whether some axial slice holds so much of a finding that it cannot be overlooked."""
    most = float(measure_slice_areas(grid, drawn.entities, "axial").max())
    return most >= CONSPICUOUS_FACTOR * min_visible_mm2(drawn)
