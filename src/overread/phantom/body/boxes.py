"""Parts of the scan that hold a box of the template."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from overread.phantom.body.canvas import Cut, Grid
from overread.phantom.body.habitus import Habitus
from overread.phantom.body.shapes import Floats

Place = tuple[Cut, tuple[Floats, Floats, Floats]]


def template_box(
    grid: Grid, habitus: Habitus, low: Sequence[float], high: Sequence[float]
) -> Place | None:
    """The part of the arrays that holds a box of the template, and its points in the template."""
    corners = habitus.patient(np.array(list(itertools.product(*zip(low, high, strict=True)))))
    lowest, highest = corners.min(axis=0), corners.max(axis=0)
    cut = grid.cut(lowest, highest)
    if cut is None:
        return None
    return cut, habitus.template(*grid.at(cut))
