"""Regions of the chest radiograph: 35 names in major regions, or the user's own."""

from __future__ import annotations

import os
import re
from functools import cache, cached_property
from pathlib import Path

from pydantic import Field

from overread.core import Record
from overread.ontology.terms import load_ontology

_SIDES = ("right", "left")


class MajorRegion(Record):
    """A group of regions that are looked at together."""

    name: str
    """Name as traces use it."""
    aliases: tuple[str, ...] = ()
    """Other names of the same group."""
    pairs: tuple[str, ...] = ()
    """Regions that exist on the right and on the left."""
    single: tuple[str, ...] = ()
    """Regions that exist once."""

    @cached_property
    def members(self) -> tuple[str, ...]:
        """All names in the group, right before left."""
        sided = tuple(f"{side} {name}" for name in self.pairs for side in _SIDES)
        return sided + self.single


class XrayRegions(Record):
    """The regions in use."""

    title: str
    """What they are regions of."""
    source: str
    """Who chose them."""
    ours: bool = False
    """Whether the choice is overread's own rather than a publication's."""
    groups: tuple[MajorRegion, ...] = Field(alias="group", min_length=1)
    """The major regions."""
    synonyms: dict[str, str] = Field(default_factory=dict)
    """Other words for a region."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All region names, group by group."""
        return tuple(name for group in self.groups for name in group.members)

    @cached_property
    def _lookup(self) -> dict[str, tuple[str, ...]]:
        table: dict[str, tuple[str, ...]] = {}
        for group in self.groups:
            for word in (group.name, *group.aliases):
                table[_normalise(word)] = group.members
            for pair in group.pairs:
                both = tuple(f"{side} {pair}" for side in _SIDES)
                for form in (pair, pair + "s"):
                    table[_normalise(f"bilateral {form}")] = both
                    table[_normalise(f"both {form}")] = both
                    table.setdefault(_normalise(form), both)
        for name in self.names:
            table[_normalise(name)] = (name,)
        for word, meaning in self.synonyms.items():
            for side in ("", "right ", "left ", "bilateral ", "both "):
                known = table.get(_normalise(side + meaning))
                if known:
                    table.setdefault(_normalise(side + word), known)
        return table

    def find(self, words: str) -> tuple[str, ...]:
        """The regions that the words name: one, a left/right pair, a major region, or none.

        >>> xray_regions().find("Bilateral hilar structures")
        ('right hilar structures', 'left hilar structures')
        >>> xray_regions().find("the left lung")
        ('left lung',)
        >>> xray_regions().find("left kidney")
        ()
        """
        return self._lookup.get(_normalise(words), ())


def xray_regions(file: Path | None = None) -> XrayRegions:
    """The regions: from `file`, else from the file OVERREAD_REGIONS names, else our 35.

    >>> len(xray_regions().names)
    35
    """
    chosen = str(file) if file else os.environ.get("OVERREAD_REGIONS", "")
    return _load_regions(chosen)


def use_regions(file: Path) -> XrayRegions:
    """Take the user's own file as the regions in use, in this process and its children."""
    regions = xray_regions(file)
    os.environ["OVERREAD_REGIONS"] = str(file.resolve())
    return regions


@cache
def _load_regions(chosen: str) -> XrayRegions:
    return load_ontology(XrayRegions, Path(chosen) if chosen else "xray_regions.toml")


def _normalise(words: str) -> str:
    text = re.sub(r"[^a-z0-9]+", " ", words.lower()).strip()
    return text.removeprefix("the ")
