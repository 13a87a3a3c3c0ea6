"""How much of a finding every slice of a plane holds, and how much a slice must hold to show it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from overread.phantom.body.canvas import Grid
from overread.phantom.case.levels import Plane, axis_of
from overread.phantom.findings.scan import Drawn, Entity

Profile = NDArray[np.float64]
"""Square millimetres of a finding in each slice of a plane."""

LEAST_MM2 = {"focal": 20.0, "fine": 40.0, "wide": 60.0}
"""What a slice must hold of a finding to show it: of something that one would measure or count; of
bands, bronchi and clusters of small nodules; of everything else."""

PLAIN = 2.0
"""How much more than that the fullest axial slice must hold of what an illness is told by."""


def least_mm2(drawn: Drawn) -> float:
    """What a slice must hold of a finding to show it."""
    if drawn.category in ("1a", "1b", "1e", "2a"):
        return LEAST_MM2["fine"]
    return LEAST_MM2["focal" if drawn.sized or drawn.countable else "wide"]


def profile(grid: Grid, entities: Sequence[Entity], plane: Plane) -> Profile:
    """How much of some entities each slice of a plane holds."""
    axis = axis_of(plane)
    others = tuple(a for a in range(3) if a != axis)
    total = np.zeros(grid.shape[axis])
    for entity in entities:
        total[entity.cut[axis]] += entity.mask.sum(axis=others)
    area = float(np.prod([step for n, step in enumerate(grid.step) if n != 2 - axis]))
    return total * area


def is_plain(grid: Grid, drawn: Drawn) -> bool:
    """Whether an axial slice shows so much of a finding that nobody would overlook it."""
    most = float(profile(grid, drawn.entities, "axial").max())
    return most >= PLAIN * least_mm2(drawn)
