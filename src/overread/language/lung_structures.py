"""One name for each structure of the lungs: 'RUL' and 'the right lung's upper lobe' are one lobe."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple

from overread.language.places import combine_places, find_places
from overread.language.segments import SIDES_OF
from overread.language.tokens import tokenise
from overread.ontology import lung_anatomy

StructureLevel = Literal["lung", "pleura", "lobe", "segment"]

_PLEURAL = ("pleura", "pleural", "hemithorax", "pneumothorax")


class LungStructure(NamedTuple):
    """A structure of the lungs by its full name."""

    level: StructureLevel
    name: str


@lru_cache(maxsize=4096)
def find_lung_structures(text: str) -> tuple[LungStructure, ...]:
    """The structures that a text names, the smallest that it tells.

    >>> find_lung_structures("posterobasal segment of the RLL")
    (LungStructure(level='segment', name='posterior basal segment of the right lower lobe'),)
    >>> [one.name for one in find_lung_structures("both lungs")]
    ['right lung', 'left lung']
    >>> find_lung_structures("mediastinum")
    ()
    """
    words = tokenise(text[:2000])
    told = combine_places(find_places(words))
    known = lung_anatomy()
    if told.segments:
        return tuple(LungStructure("segment", _segment_name(code)) for code in told.segments)
    if told.lobes:
        return tuple(LungStructure("lobe", known.by_code[code].name) for code in told.lobes)
    sides = SIDES_OF.get(told.side or "", ())
    said = {token.word for token in words}
    if said & set(_PLEURAL):
        return tuple(LungStructure("pleura", f"{side} pleural space") for side in sides)
    if "lung" in said:
        if not sides and any(token.raw == "lungs" for token in words):
            sides = ("right", "left")
        return tuple(LungStructure("lung", f"{side} lung") for side in sides)
    return ()


def holds_structure(outer: str, inner: str) -> bool | None:
    """Whether one structure is a part of another, by their names; None where a name is not known.

    >>> holds_structure("right lung", "RUL"), holds_structure("left lung", "RUL")
    (True, False)
    >>> holds_structure("right pleural space", "right lung"), holds_structure("carina", "RUL")
    (True, None)
    """
    around, held = find_lung_structures(outer), find_lung_structures(inner)
    if not around or not held:
        return None
    return all(any(_ancestors(part) & {one.name} for one in around) for part in held)


def _ancestors(structure: LungStructure) -> frozenset[str]:
    """The names of a structure and of all that it is a part of."""
    found = {structure.name}
    for lobe in lung_anatomy().lobes:
        parts = {_segment_name(part.code) for part in lobe.segments}
        if structure.name in parts | {lobe.name}:
            found |= {lobe.name, f"{lobe.side} lung", f"{lobe.side} pleural space"}
    for side in ("right", "left"):
        if structure.name == f"{side} lung":
            found.add(f"{side} pleural space")
    return frozenset(found)


def _segment_name(code: str) -> str:
    known = lung_anatomy()
    return f"{known.segments[code].name} segment of the {known.by_code[code].name}"
