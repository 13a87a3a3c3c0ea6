"""The finding categories of ReXGroundingCT."""

from __future__ import annotations

from functools import cache, cached_property

from pydantic import Field

from overread.catalog import unknown
from overread.core import Record
from overread.ontology.terms import read


class Category(Record):
    """One category of findings."""

    code: str
    """Code as the release writes it ('2d')."""
    name: str
    """What it covers."""
    includes: tuple[str, ...] = ()
    """Kinds that the authors name as part of it."""
    focal: bool | None = None
    """Whether such a finding usually has one place; absent means as its parent."""


class Parent(Record):
    """One of the twelve parents."""

    code: str
    """Number as the release writes it ('2')."""
    name: str
    """What it covers."""
    focal: bool
    """Whether its findings usually have one place."""
    children: tuple[Category, ...] = ()
    """Its categories; 'other' has none and is itself one."""


class FindingTree(Record):
    """Twelve parents and their children."""

    title: str
    """What the tree is of."""
    source: str
    """Who made it."""
    parents: tuple[Parent, ...] = Field(alias="parent")
    """The parents, in order."""

    @cached_property
    def categories(self) -> dict[str, Category]:
        """Code → category, with `focal` filled in; a parent without children is its own."""
        found: dict[str, Category] = {}
        for parent in self.parents:
            for child in parent.children or (Category(code=parent.code, name=parent.name),):
                focal = parent.focal if child.focal is None else child.focal
                found[child.code] = child.model_copy(update={"focal": focal})
        return found

    def parent_of(self, code: str) -> Parent:
        """The parent of a category's code.

        >>> findings().parent_of("2d").code
        '2'
        """
        number = code.rstrip("abcdefghijk")
        for parent in self.parents:
            if parent.code == number:
                return parent
        raise unknown("category", code, self.categories)


@cache
def findings() -> FindingTree:
    """The tree.

    >>> len(findings().parents), findings().categories["2d"].focal
    (12, True)
    """
    return read(FindingTree, "findings.toml")
