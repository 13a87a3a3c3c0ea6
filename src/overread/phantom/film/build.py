"""What a frontal film shows of the body's own build, measured as one does with a ruler."""

from __future__ import annotations

import numpy as np

from overread.phantom.film.region_rules import Definition
from overread.phantom.film.regions import box_on_film, defined, edges_on_film, region_mask
from overread.phantom.film.room import FilmRoom
from overread.phantom.film.sign import HEART_LIMIT, Corners, Seen, View

_HEART_BAND = 0.02
"""How far below the limit a large heart is still doubtful."""
AORTA_MM = (70.0, 75.0)
"""Width of the aorta's shadow from which an ectatic one is doubtful, and from which it is seen."""
SPUR_MM = (2.0, 5.0)
"""Length of the vertebrae's spurs from which they are doubtful, and from which they are seen."""

_AORTA = Definition(
    "the aorta beside the hila: the ascending and the descending one together",
    (-70, -80, -30),
    (70, 60, 20),
    lambda part: part.organ("aorta") & (part.z > -25) & (part.z < 15),
)


def heart_ratio(room: FilmRoom, view: View) -> float:
    """The heart's widest extent over the widest one within the ribs, both on the film."""
    heart = _across(room, "cardiac silhouette", view)
    right, left = (_across(room, f"{side} lung", view) for side in ("right", "left"))
    # Between the lung and the inner edge of the ribs lies a millimetre of pleura on both sides.
    beam, wide = room.beam(view), room.visit.body.habitus.wide
    pleura = 2 * wide * float(beam.magnified(np.zeros(1))[0]) / beam.spacing
    return round((heart[1] - heart[0]) / (left[1] - right[0] + pleura), 3)


def heart_seen(ratio: float, view: View, *, named: bool) -> Seen | None:
    """Whether a heart is large; None where it is not and nobody said that it was."""
    if ratio > HEART_LIMIT[view]:
        return "seen"
    if not named:
        return None
    return "doubtful" if ratio > HEART_LIMIT[view] - _HEART_BAND else "hidden"


def aorta(room: FilmRoom, view: View) -> tuple[float, Corners | None]:
    """Width of the aorta's shadow beside the hila, in millimetres of the patient, and its box."""
    entity = defined(room.canvas, room.visit.body, _AORTA)
    assert entity is not None  # every body has an aorta
    beam = room.beam(view)
    left, _, right, _ = edges_on_film(room, entity, view)
    larger = float(beam.magnified(np.zeros(1))[0])
    return (right - left) * beam.spacing / larger, box_on_film(room, entity, view)


def graded(value: float, limits: tuple[float, float]) -> Seen:
    """Hidden below the lower limit, seen from the higher one on."""
    return "seen" if value >= limits[1] else "doubtful" if value >= limits[0] else "hidden"


def _across(room: FilmRoom, name: str, view: View) -> tuple[float, float]:
    """Left and right edge of a region, though the film may cut it."""
    entity = region_mask(room.canvas, room.visit.body, name)
    assert entity is not None  # every body has a heart and two lungs
    left, _, right, _ = edges_on_film(room, entity, view)
    return left, right
