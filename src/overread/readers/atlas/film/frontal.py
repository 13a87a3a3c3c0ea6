"""Whether a picture is a frontal film of a chest: lateral films and slices of a CT are not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from overread.readers.atlas.film.lungs import FilmLungs
from overread.readers.atlas.film.preparation import Bools, Grey, PreparedFilm
from overread.readers.atlas.film.profile import thorax_coordinates

MIN_FRONTAL = 0.715
"""From here on a picture is taken for a frontal film."""
_BANDS = ((0.1, 0.25), (0.25, 0.4), (0.4, 0.55))


@dataclass(frozen=True)
class Likeness:
    """How much a picture is like a frontal film, and what speaks most against it."""

    value: float
    words: str


def frontal_likeness(film: PreparedFilm, lungs: FilmLungs) -> Likeness:
    """Lungs that fit, a dense middle between them at every height, large, and little empty film.

    On a lateral film the place between the two dark halves is hardly denser than they are; a slice
    of a CT or a single bone lies in much empty film.
    """
    frame = lungs.frame
    height, width = lungs.grey.shape
    wide = (frame.left_wall - frame.right_wall) / width
    tall = (frame.right_base - frame.right_top) / height
    if film.framed > 0.28:
        return Likeness(0.0, f"{film.framed:.0%} of the picture is empty")
    if wide < 0.42 or tall < 0.36:
        return Likeness(0.0, "what looks like lungs is too small")
    if lungs.inverted and lungs.fit < 0.72:
        return Likeness(0.0, "only its negative has anything like lungs")
    across, down = thorax_coordinates(frame, lungs.grey.shape)
    dense = [_middle_contrast(lungs.grey, film.patient, across, down, *band) for band in _BANDS]
    between = float(np.mean(dense))
    value = lungs.fit + 0.5 * between - 0.6 * film.framed + 0.15 * (tall - 0.6)
    words = (
        f"the lungs fit with {lungs.fit:.2f}, and the middle is denser than they are "
        f"by {between:.2f} of all tones"
    )
    return Likeness(float(value), words)


def _middle_contrast(
    grey: Grey, patient: Bools, across: Grey, down: Grey, top: float, bottom: float
) -> float:
    """How much denser the middle line is than the denser of the two lungs, at one height."""
    level = (down > top) & (down < bottom) & patient

    def tone(low: float, high: float) -> float | None:
        place = level & (across > low) & (across < high)
        return float(np.median(grey[place])) if place.sum() > 5 else None

    tones = tone(-0.1, 0.1), tone(-0.75, -0.3), tone(0.3, 0.75)
    if any(one is None for one in tones):
        return 0.0
    middle, right, left = (float(one or 0.0) for one in tones)
    return middle - max(right, left)
