"""The lobes of the lungs and their bronchopulmonary segments."""

from __future__ import annotations

from functools import cache, cached_property
from typing import Literal

from pydantic import Field

from overread.core import Record
from overread.ontology.terms import load_ontology


class Segment(Record):
    """One bronchopulmonary segment."""

    code: str
    """Side and Boyden number ('RS10')."""
    name: str
    """Name within its lobe ('posterior basal')."""


class Lobe(Record):
    """One lobe of a lung."""

    code: str
    """Short form ('RUL')."""
    side: Literal["right", "left"]
    """Which lung it belongs to."""
    name: str
    """Name in full ('right upper lobe')."""
    segments: tuple[Segment, ...] = Field(alias="segment")
    """Its segments, in Boyden's order."""


class LungAnatomy(Record):
    """Both lungs: five lobes, eighteen segments."""

    title: str
    """What the list is of."""
    source: str
    """Whose numbering it is."""
    lobes: tuple[Lobe, ...] = Field(alias="lobe")
    """The lobes, right before left, upper before lower."""

    @cached_property
    def by_code(self) -> dict[str, Lobe]:
        """Lobe code → lobe, and segment code → the lobe that it belongs to.

        >>> lung_anatomy().by_code["LS4"].name
        'left upper lobe'
        """
        whole = {lobe.code: lobe for lobe in self.lobes}
        return whole | {part.code: lobe for lobe in self.lobes for part in lobe.segments}

    @cached_property
    def segments(self) -> dict[str, Segment]:
        """Segment code → segment, in order.

        >>> lung_anatomy().segments["RS10"].name
        'posterior basal'
        """
        return {part.code: part for lobe in self.lobes for part in lobe.segments}


@cache
def lung_anatomy() -> LungAnatomy:
    """The list."""
    return load_ontology(LungAnatomy, "lungs.toml")
