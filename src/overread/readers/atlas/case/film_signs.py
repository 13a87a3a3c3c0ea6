"""A frontal radiograph within a case: the film's signs in the words of the knowledge tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from overread.readers.atlas.film.sign_rules import FilmSign
from overread.readers.atlas.film.signs import read_signs
from overread.readers.atlas.slice.body import GreyPicture
from overread.readers.atlas.slice.signs import PictureSign

FILM_TO_PICTURE_SIGN = {
    "pleural effusion": "effusion",
    "effusion": "effusion",
    "cardiomegaly": "large heart",
    "pneumothorax": "pneumothorax",
    "consolidation": "consolidation",
    "lung opacity": "consolidation",
    "opacity": "consolidation",
    "atelectasis": "atelectasis",
    "pulmonary oedema": "septal lines",
    "pulmonary edema": "septal lines",
    "lung nodule": "nodule",
    "nodule": "nodule",
    "nodules": "nodules",
    "mass": "mass",
    "lung mass": "mass",
    "pleural thickening": "pleural thickening",
    "hiatal hernia": "hernia",
    "hyperinflation": "emphysema",
    "emphysema": "emphysema",
    "wide aorta": "wide aorta",
    "widened mediastinum": "wide aorta",
    "interstitial opacity": "reticulation",
}
"""Sign of a film → the sign of the tables that it stands for."""
FILM_CONFIDENCE = 0.75
"""Factor on the confidence of a film's signs: a film shows less reliably than a slice."""


def measure_film_signs(pixels: Any, grey: GreyPicture) -> list[PictureSign]:
    """The signs of a film that are there; what it does not show may still be in a slice."""
    found = read_signs(np.asarray(pixels))
    if not found.lungs_found:
        return []
    return [
        _to_picture_sign(sign, FILM_TO_PICTURE_SIGN[sign.name], grey)
        for sign in found.signs
        if sign.present and sign.name in FILM_TO_PICTURE_SIGN
    ]


def _to_picture_sign(sign: FilmSign, name: str, grey: GreyPicture) -> PictureSign:
    sure = min(0.95, 0.5 + 0.3 * min(max(sign.strength - 1, 0.0), 1.0))
    box = None
    if sign.box is not None:
        left, top, right, bottom = (value / grey.scale for value in sign.box)
        box = (left, top, right, bottom)
    level = None
    if sign.zones:
        upper = sum("upper" in zone or "apical" in zone for zone in sign.zones)
        lower = sum("lower" in zone or "costophrenic" in zone for zone in sign.zones)
        level = "upper" if upper > lower else "lower" if lower > upper else None
    return PictureSign(name, sure * FILM_CONFIDENCE + 0.12, sign.measured, box, sign.side, level)
