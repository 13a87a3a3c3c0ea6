"""What a frontal film shows, measured: `read_signs` takes pixels and gives regions and signs.

This is the part that others may use on a radiograph within a case: it knows nothing of cases,
reports or questions. Every box is in the pixels of the picture that was handed in.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from numpy.typing import NDArray

from overread.readers.atlas.film.frontal import MIN_FRONTAL, frontal_likeness
from overread.readers.atlas.film.lungs import fit_lungs
from overread.readers.atlas.film.preparation import Edges, PreparedFilm, prepare_film
from overread.readers.atlas.film.profile import measure_profile
from overread.readers.atlas.film.regions import enclosing_edges, locate_regions
from overread.readers.atlas.film.sign_rules import FilmSign, measure_signs

__all__ = ["FilmSign", "FilmSigns", "read_signs"]

MAX_TINT = 0.06
"""Colour from which on a picture is no radiograph."""


@dataclass(frozen=True)
class FilmSigns:
    """All that was measured of one picture."""

    lungs_found: bool
    """Whether a pair of lungs was found: if not, the rest is empty."""
    why: str
    """What that rests on, in words."""
    fit: float = 0.0
    """How well a pair of lungs fits, up to 1."""
    inverted: bool = False
    """Whether air is white in this picture."""
    places: dict[str, Edges] = field(default_factory=dict)
    """Region of the ontology → its box in pixels of the picture."""
    signs: tuple[FilmSign, ...] = ()
    """What was looked for."""
    heart_ratio: float | None = None
    """Width of the heart in widths of the thorax."""

    def find_present(self, name: str, side: str | None = None) -> list[FilmSign]:
        """The signs of a name that are there, of one side if it is given."""
        return [
            sign
            for sign in self.signs
            if sign.present
            and sign.name == name
            and (side is None or sign.side is None or sign.side in (side, "both"))
        ]


def read_signs(pixels: NDArray[Any]) -> FilmSigns:
    """Measure a picture; one that is no frontal film of a chest says so and has no signs."""
    film = prepare_film(pixels)
    if film is None:
        return FilmSigns(lungs_found=False, why="the picture is too small, or all of one tone")
    if film.tinted > MAX_TINT:
        return FilmSigns(lungs_found=False, why="the picture is coloured, as no radiograph is")
    lungs = fit_lungs(film)
    if lungs is None:
        return FilmSigns(lungs_found=False, why="no pair of lungs can be laid over the picture")
    likeness = frontal_likeness(film, lungs)
    if likeness.value < MIN_FRONTAL:
        why = (
            f"this is no frontal film of a chest: {likeness.words} "
            f"(likeness {likeness.value:.2f}, needed {MIN_FRONTAL:.2f})"
        )
        return FilmSigns(lungs_found=False, why=why, fit=lungs.fit, inverted=lungs.inverted)
    measured = measure_profile(film, lungs)
    heart = measured.heart
    places = locate_regions(lungs.frame, lungs.right, lungs.left, heart=heart.box)
    placed = {name: _to_picture(film, edges) for name, edges in places.items()}
    signs = measure_signs(measured, lungs, film.patient)
    return FilmSigns(
        lungs_found=True,
        why=f"a pair of lungs fits with a correlation of {lungs.fit:.2f}",
        fit=lungs.fit,
        inverted=lungs.inverted,
        places=placed,
        signs=tuple(
            replace(
                sign, box=_to_picture(film, sign.box) if sign.box else enclosing_edges(placed, sign.zones)
            )
            for sign in signs
        ),
        heart_ratio=heart.ratio,
    )


def _to_picture(film: PreparedFilm, edges: Edges) -> Edges:
    """Edges of the measured picture in pixels of the one that was handed in."""
    left, top, right, bottom = edges
    return (
        left * film.scale + film.left,
        top * film.scale + film.top,
        right * film.scale + film.left,
        bottom * film.scale + film.top,
    )
