"""Modalities: nine at level 1, an open list at level 2."""

from __future__ import annotations

from functools import cache, cached_property

from pydantic import Field

from overread.core import Record
from overread.ontology.terms import load_ontology


class Modality(Record):
    """One level-1 modality."""

    name: str
    """Name as MedThinkVQA writes it."""
    aliases: tuple[str, ...] = ()
    """Other names of the same."""
    published: tuple[str, ...] = ()
    """Level-2 names seen in the published example."""
    sub: tuple[str, ...] = ()
    """Further level-2 names, ours."""


class Modalities(Record):
    """The modalities in use."""

    title: str
    """What the list is of."""
    source: str
    """Who made it."""
    items: tuple[Modality, ...] = Field(alias="modality")
    """The modalities, in order."""

    @cached_property
    def _names(self) -> dict[str, Modality]:
        return {word.casefold(): item for item in self.items for word in (item.name, *item.aliases)}

    @cached_property
    def _sub(self) -> frozenset[str]:
        return frozenset(word.casefold() for item in self.items for word in (*item.published, *item.sub))

    def find(self, name: str) -> Modality | None:
        """The level-1 modality of that name or alias.

        >>> modalities().find("MR").name
        'MRI'
        """
        return self._names.get(name.strip().casefold())

    def has_sub_modality(self, name: str) -> bool:
        """Whether a level-2 name is in the list.

        >>> modalities().has_sub_modality("Conventional MRI")
        True
        """
        return name.strip().casefold() in self._sub


@cache
def modalities() -> Modalities:
    """The list."""
    return load_ontology(Modalities, "modalities.toml")
