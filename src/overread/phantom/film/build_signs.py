"""Signs of the body's own build on a frontal film: heart, aorta, vertebral spurs, measured."""

from __future__ import annotations

import numpy as np

from overread.phantom.film.region_rules import RegionDefinition
from overread.phantom.film.regions import find_defined, find_region, project_box, project_edges
from overread.phantom.film.renderer import FilmRenderer
from overread.phantom.film.sign import HEART_LIMIT, FilmBox, View, Visibility

_DOUBTFUL_MARGIN = 0.02
"""How far below the limit a large heart is still doubtful."""
AORTA_LIMITS_MM = (70.0, 75.0)
"""Width of the aorta's shadow from which an ectatic one is doubtful, and from which it is seen."""
SPUR_LIMITS_MM = (2.0, 5.0)
"""Length of the vertebrae's spurs from which they are doubtful, and from which they are seen."""

_AORTA = RegionDefinition(
    "the aorta beside the hila: the ascending and the descending one together",
    (-70, -80, -30),
    (70, 60, 20),
    lambda part: part.organ_mask("aorta") & (part.z > -25) & (part.z < 15),
)


def measure_heart_ratio(room: FilmRenderer, view: View) -> float:
    """The heart's widest extent over the widest one within the ribs, both on the film."""
    heart = _region_sides(room, "cardiac silhouette", view)
    right, left = (_region_sides(room, f"{side} lung", view) for side in ("right", "left"))
    # Between the lung and the inner edge of the ribs lies a millimetre of pleura on both sides.
    beam, wide = room.beam(view), room.visit.body.habitus.wide
    pleura = 2 * wide * float(beam.magnification(np.zeros(1))[0]) / beam.spacing
    return round((heart[1] - heart[0]) / (left[1] - right[0] + pleura), 3)


def heart_visibility(ratio: float, view: View, *, named: bool) -> Visibility | None:
    """Whether a heart is large; None where it is not and nobody said that it was."""
    if ratio > HEART_LIMIT[view]:
        return "seen"
    if not named:
        return None
    return "doubtful" if ratio > HEART_LIMIT[view] - _DOUBTFUL_MARGIN else "hidden"


def measure_aorta(room: FilmRenderer, view: View) -> tuple[float, FilmBox | None]:
    """Width of the aorta's shadow beside the hila, in millimetres of the patient, and its box."""
    entity = find_defined(room.canvas, room.visit.body, _AORTA)
    assert entity is not None  # every body has an aorta
    beam = room.beam(view)
    left, _, right, _ = project_edges(room, entity, view)
    larger = float(beam.magnification(np.zeros(1))[0])
    return (right - left) * beam.spacing / larger, project_box(room, entity, view)


def grade_visibility(value: float, limits: tuple[float, float]) -> Visibility:
    """Hidden below the lower limit, seen from the higher one on."""
    return "seen" if value >= limits[1] else "doubtful" if value >= limits[0] else "hidden"


def _region_sides(room: FilmRenderer, name: str, view: View) -> tuple[float, float]:
    """Left and right edge of a region, though the film may cut it."""
    entity = find_region(room.canvas, room.visit.body, name)
    assert entity is not None  # every body has a heart and two lungs
    left, _, right, _ = project_edges(room, entity, view)
    return left, right
