"""Levels of a chest CT: what a slice passes through, in words, and where one is usually laid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from overread.phantom.body.anatomy import Body
from overread.phantom.body.canvas import Grid

Plane = Literal["axial", "coronal", "sagittal"]
PLANES: tuple[Plane, ...] = ("axial", "coronal", "sagittal")
"""In the order of the axes that they cut in the scan's arrays, (z, y, x)."""

_AXIAL_LEVELS = (
    (92.0, "at the level of the lung apices"),
    (48.0, "above the aortic arch"),
    (15.0, "at the level of the aortic arch"),
    (-6.0, "at the level of the carina"),
    (-34.0, "at the level of the hila"),
    (-62.0, "at the level of the left atrium"),
    (-98.0, "at the level of the ventricles"),
    (-999.0, "at the level of the lung bases"),
)
"""Height in the template from which on, and what is there."""
_CORONAL_LEVELS = (
    (36.0, "through the front of the chest"),
    (0.0, "through the heart"),
    (-30.0, "through the carina"),
    (-999.0, "through the back of the chest"),
)
_SAGITTAL_LEVELS = (
    (18.0, "through the right lung"),
    (-18.0, "in the midline"),
    (-999.0, "through the left lung"),
)
_LEVELS = {"axial": _AXIAL_LEVELS, "coronal": _CORONAL_LEVELS, "sagittal": _SAGITTAL_LEVELS}

_USUAL_LEVELS: dict[tuple[Plane, str], tuple[float, ...]] = {
    ("axial", "lung"): (6.0, -70.0, 36.0, -100.0),
    ("axial", "mediastinum"): (-14.0, -75.0, 32.0, -45.0),
    ("axial", "bone"): (-20.0, -70.0, 40.0, -100.0),
    ("coronal", "lung"): (-14.0, -40.0, 15.0),
    ("coronal", "mediastinum"): (-12.0, 18.0, -40.0),
    ("coronal", "bone"): (-52.0, -14.0),
    ("sagittal", "lung"): (70.0, -70.0, 45.0),
    ("sagittal", "mediastinum"): (0.0, -18.0, 20.0),
    ("sagittal", "bone"): (0.0, 60.0, -60.0),
}
"""Where a slice is laid that has nothing special to show, in the template: the first, the next…"""


def plane_axis(plane: Plane) -> int:
    """The axis of the scan's arrays, (z, y, x), that a plane cuts."""
    return PLANES.index(plane)


def describe_level(body: Body, grid: Grid, plane: Plane, index: int) -> str:
    """Where a slice lies, in words."""
    axis = plane_axis(plane)
    point = np.array(body.habitus.to_patient(np.array(_CARINA)), np.float32)
    point[2 - axis] = grid.axes[2 - axis][index]
    at = float(np.asarray(body.habitus.to_template(*point)[2 - axis]))
    return next(words for least, words in _LEVELS[plane] if at >= least)


def choose_usual_level(body: Body, grid: Grid, plane: Plane, window: str, laid: Sequence[int]) -> int:
    """A slice at the first level that is usual for a plane and a window, and not yet taken."""
    axis = plane_axis(plane)
    line = grid.axes[2 - axis]
    found = []
    for level in _USUAL_LEVELS[plane, window]:
        point = np.array(_CARINA)
        point[2 - axis] = level
        found.append(int(np.argmin(np.abs(line - body.habitus.to_patient(point)[2 - axis]))))
    free = [n for n in found if all(abs(float(line[n] - line[m])) >= _MIN_DISTANCE_MM for m in laid)]
    return (free or found)[0]


_CARINA = (4.0, -14.0, 4.0)
"""The carina in the template."""
_MIN_DISTANCE_MM = 15.0
"""Millimetres within which a level is taken already."""
