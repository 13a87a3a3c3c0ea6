"""Diagnoses: how each is called, what gives it away, where ICD-10 has it, what it looks like.

One list for all: builds look for names in histories, `atlas` matches options and weighs signs. A
file of somebody's own, of the same shape, adds to it, or stands in its place where it says
`replaces = true`: by `diagnoses(file)`, or for the whole house by the variable OVERREAD_DIAGNOSES.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from overread.core import Record
from overread.ontology.terms import load_ontology

DIAGNOSES_VARIABLE = "OVERREAD_DIAGNOSES"
"""Names a file of somebody's own."""


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
    similar: tuple[str, ...] = ()
    """What is called otherwise and is something else, but looks the same in pictures."""
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
        if not self.names:
            raise ValueError("a diagnosis needs names")
        return self


class Diagnoses(Record):
    """A file of diagnoses."""

    replaces: bool = False
    """Whether a file of somebody's own stands in place of the house's list."""
    diagnosis: tuple[Diagnosis, ...]
    """The diagnoses."""


def diagnoses(file: Path | None = None) -> tuple[Diagnosis, ...]:
    """All diagnoses: the house's, and those of a file, or of the one OVERREAD_DIAGNOSES names.

    Later ones win, and a file may replace the house's altogether.
    """
    return _load_diagnoses(str(file) if file else diagnoses_file())


def diagnoses_file() -> str:
    """The file of somebody's own that the whole house uses; empty for none."""
    return os.environ.get(DIAGNOSES_VARIABLE, "")


def diagnoses_digest(file: Path | None = None) -> str | None:
    """What tells a list of somebody's own from another; None where the house's is in use."""
    chosen = str(file) if file else diagnoses_file()
    if not chosen:
        return None
    diagnoses(file)  # one clear sentence where it cannot be read
    return hashlib.sha256(Path(chosen).read_bytes()).hexdigest()[:16]


@cache
def _load_diagnoses(file: str) -> tuple[Diagnosis, ...]:
    own = load_ontology(Diagnoses, Path(file)) if file else Diagnoses(diagnosis=())
    return own.diagnosis if own.replaces else (*_load_bundled(), *own.diagnosis)


@cache
def _load_bundled() -> tuple[Diagnosis, ...]:
    folder = files("overread.ontology") / "data" / "diagnoses"
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(".toml"))
    return tuple(one for name in names for one in load_ontology(Diagnoses, f"diagnoses/{name}").diagnosis)
