"""Scans of a coarse body without any finding, to draw findings on."""

from __future__ import annotations

from copy import deepcopy

import numpy as np

from overread.phantom.body.anatomy import Body
from overread.phantom.body.canvas import Canvas
from overread.phantom.difficulty import find_difficulty
from overread.phantom.findings.scan import BoolArray, DrawnFinding, Scan

Blank = tuple[Body, Canvas]


def draw_blank(*seed: int, step: float = 3.0) -> Blank:
    """A body on voxels of some millimetres."""
    body = Body(np.random.SeedSequence(seed))
    return body, body.draw(body.make_grid(step))


def fresh(blank: Blank, level: str = "medium") -> Scan:
    """A scan of the body on which nothing was drawn yet."""
    body, canvas = blank
    return Scan(body, deepcopy(canvas), find_difficulty(level))


def painted(scan: Scan, drawn: DrawnFinding) -> BoolArray:
    """All voxels of a finding; no two of its entities share one."""
    mask = np.zeros(scan.canvas.grid.shape, bool)
    for entity in drawn.entities:
        assert not mask[entity.cut][entity.mask].any()
        mask[entity.cut] |= entity.mask
    return mask
