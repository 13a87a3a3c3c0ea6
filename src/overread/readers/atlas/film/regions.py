"""The regions of the frontal film as boxes, laid out from the lungs that were found.

Textbook proportions, in shares of the thorax: x from the middle line to a lung's wall, y from the
apex to the costophrenic angle of the same side. What was measured itself (lungs, heart, domes of
the diaphragm) takes the place of the proportion.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from overread.readers.atlas.film.lungs import ThoraxFrame
from overread.readers.atlas.film.preparation import Bools, Edges

# Region of a pair → from and to, across (0 the middle line, 1 the wall) and down (0 apex, 1 base).
_PAIRS: Mapping[str, Edges] = {
    "apical zone": (0.1, 0.0, 0.66, 0.13),
    "upper lung zone": (0.1, 0.0, 0.86, 0.34),
    "mid lung zone": (0.12, 0.33, 0.96, 0.56),
    "lower lung zone": (0.12, 0.55, 1.0, 1.0),
    "hilar structures": (0.12, 0.34, 0.46, 0.62),
    "costophrenic angle": (0.74, 0.84, 1.0, 1.0),
    "hemidiaphragm": (0.1, 0.82, 1.0, 1.0),
    "clavicle": (0.05, -0.02, 0.85, 0.14),
    "cardiophrenic angle": (0.15, 0.76, 0.5, 0.9),
    "upper abdomen": (0.0, 0.9, 1.0, 1.25),
}
# Region → from and to, across (-1 the right wall, 1 the left wall) and down.
_SINGLES: Mapping[str, Edges] = {
    "trachea": (-0.12, -0.1, 0.12, 0.37),
    "carina": (-0.14, 0.32, 0.14, 0.42),
    "spine": (-0.14, -0.1, 0.14, 1.1),
    "mediastinum": (-0.3, 0.0, 0.52, 0.88),
    "upper mediastinum": (-0.24, 0.0, 0.26, 0.36),
    "aortic arch": (-0.2, 0.24, 0.26, 0.38),
    "svc": (-0.24, 0.14, 0.0, 0.44),
    "cavoatrial junction": (-0.28, 0.42, -0.04, 0.52),
    "right atrium": (-0.32, 0.5, 0.0, 0.86),
    "cardiac silhouette": (-0.3, 0.44, 0.54, 0.88),
    "abdomen": (-1.0, 0.9, 1.0, 1.25),
}


def locate_regions(
    frame: ThoraxFrame, right: Bools, left: Bools, *, heart: Edges | None = None
) -> dict[str, Edges]:
    """The box of each region in the pixels of the masks; what is not in the picture is left out."""
    height, width = right.shape
    found: dict[str, Edges] = {}
    for side, mask in (("right", right), ("left", left)):
        lung = _mask_box(mask)
        if lung is None:
            continue
        found[f"{side} lung"] = lung
        for name, (near, top, far, bottom) in _PAIRS.items():
            down = _down(frame, side, top), _down(frame, side, bottom)
            across = _across(frame, side, near), _across(frame, side, far)
            found[f"{side} {name}"] = (min(across), down[0], max(across), down[1])
    for name, (from_x, top, to_x, bottom) in _SINGLES.items():
        down = _middle_down(frame, top), _middle_down(frame, bottom)
        found[name] = (_across_signed(frame, from_x), down[0], _across_signed(frame, to_x), down[1])
    if heart is not None:
        found["cardiac silhouette"] = heart
        found["mediastinum"] = (
            min(heart[0], found["mediastinum"][0]),
            found["mediastinum"][1],
            max(heart[2], found["upper mediastinum"][2]),
            heart[3],
        )
        found["right atrium"] = (heart[0], heart[1], frame.middle, heart[3])
    silhouette = found["cardiac silhouette"]
    found["right cardiac silhouette"] = (*silhouette[:2], frame.middle, silhouette[3])
    found["left cardiac silhouette"] = (frame.middle, *silhouette[1:])
    kept = {name: _clip(edges, width, height) for name, edges in found.items()}
    return {name: edges for name, edges in kept.items() if edges is not None}


def enclosing_edges(places: Mapping[str, Edges], names: Iterable[str]) -> Edges | None:
    """The smallest box that holds these regions, as far as they were found."""
    boxes = [places[name] for name in names if name in places]
    if not boxes:
        return None
    left, top, right, bottom = zip(*boxes, strict=True)
    return min(left), min(top), max(right), max(bottom)


def _mask_box(mask: Bools) -> Edges | None:
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not len(rows):
        return None
    return float(columns[0]), float(rows[0]), float(columns[-1] + 1), float(rows[-1] + 1)


def _across(frame: ThoraxFrame, side: str, share: float) -> float:
    wall = frame.right_wall if side == "right" else frame.left_wall
    return frame.middle + share * (wall - frame.middle)


def _down(frame: ThoraxFrame, side: str, share: float) -> float:
    top, base = (frame.right_top, frame.right_base) if side == "right" else (frame.left_top, frame.left_base)
    return top + share * (base - top)


def _middle_down(frame: ThoraxFrame, share: float) -> float:
    return (_down(frame, "right", share) + _down(frame, "left", share)) / 2


def _across_signed(frame: ThoraxFrame, share: float) -> float:
    return _across(frame, "left" if share > 0 else "right", abs(share))


def _clip(edges: Edges, width: int, height: int) -> Edges | None:
    left, top = max(0.0, edges[0]), max(0.0, edges[1])
    right, bottom = min(float(width), edges[2]), min(float(height), edges[3])
    return (left, top, right, bottom) if right - left >= 2 and bottom - top >= 2 else None
