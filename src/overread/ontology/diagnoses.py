"""Diagnoses: how each is called, what gives it away, where ICD-10 has it, what it looks like.

One list for all: builds look for names in histories, `atlas` matches options and weighs signs.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Self

from pydantic import Field, model_validator

from overread.core import Record
from overread.ontology.terms import load_ontology


class Diagnosis(Record):
    """One diagnosis, in our own words after common textbook knowledge."""

    key: str = ""
    """Short name, where signs are known."""
    names: tuple[str, ...] = ()
    """Names in full; an option that holds the words of one is this diagnosis."""
    also: tuple[str, ...] = ()
    """Acronyms, eponyms, lay and foreign forms."""
    telling: tuple[str, ...] = ()
    """What in a history all but settles it: beginnings of words, joined by '&' in one sentence."""
    icd: str | None = Field(default=None, pattern=r"^[A-Z][0-9][0-9A-Z]$")
    """Three-character category of ICD-10."""
    phrases: tuple[str, ...] = ()
    """An option that holds all words of one looks like this ('*' ends a stem)."""
    expected: tuple[str, ...] = ()
    """Signs without which it is hard to make."""
    possible: tuple[str, ...] = ()
    """Signs that go with it; one that is named nowhere is uncommon."""
    against: tuple[str, ...] = ()
    """Signs that speak against it."""
    sides: str | None = None
    """'one' or 'both' where it has a habit."""
    level: str | None = None
    """'upper' or 'lower' where it has a preference."""
    depth: str | None = None
    """'central' or 'peripheral' where it has a preference."""

    @model_validator(mode="after")
    def _is_called_something(self) -> Self:
        if not self.names and not (self.key and self.phrases):
            raise ValueError("a diagnosis needs names, or a key and phrases")
        return self


class Diagnoses(Record):
    """A file of diagnoses."""

    diagnosis: tuple[Diagnosis, ...]
    """The diagnoses."""


@cache
def diagnoses() -> tuple[Diagnosis, ...]:
    """All diagnoses of the house, file by file in order of their names."""
    folder = files("overread.ontology") / "data" / "diagnoses"
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(".toml"))
    return tuple(one for name in names for one in load_ontology(Diagnoses, f"diagnoses/{name}").diagnosis)
