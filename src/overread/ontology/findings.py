"""The finding categories of ReXGroundingCT."""

from __future__ import annotations

from functools import cache, cached_property

from pydantic import Field

from overread.catalog import unknown_name
from overread.core import Record
from overread.ontology.terms import load_ontology


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


class ParentCategory(Record):
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
    parents: tuple[ParentCategory, ...] = Field(alias="parent")
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

    def parent_of(self, code: str) -> ParentCategory:
        """The parent of a category's code.

        >>> finding_tree().parent_of("2d").code
        '2'
        """
        number = code.rstrip("abcdefghijk")
        for parent in self.parents:
            if parent.code == number:
                return parent
        raise unknown_name("category", code, self.categories)


@cache
def finding_tree() -> FindingTree:
    """The tree.

    >>> len(finding_tree().parents), finding_tree().categories["2d"].focal
    (12, True)
    """
    return load_ontology(FindingTree, "findings.toml")
