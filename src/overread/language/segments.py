"""The codes of lobes and segments that a side, levels and segment names mean."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from overread.ontology import lung_anatomy

SIDES_OF = {"both": ("right", "left"), "right": ("right",), "left": ("left",)}
_BASAL = frozenset({"medial", "anterior", "lateral", "posterior", "anteromedial"})
# Two segments that are taken together on the left are called by either name.
_TOGETHER = {
    "apicoposterior": ("apical", "posterior"),
    "anteromedial basal": ("anterior basal", "medial basal", "anteromedial"),
}


@dataclass(frozen=True)
class NamedPlace:
    """The parts of a place's name; any of them may be missing."""

    side: str | None
    levels: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    segment: bool = False
    """Whether the word segment stands with the names."""

    def with_side(self, side: str) -> NamedPlace:
        """The same on a side."""
        return NamedPlace(side, self.levels, self.names, self.segment)


@cache
def find_codes(named: NamedPlace) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Codes of lobes and of segments; none where the side or the lobe is not clear.

    >>> find_codes(NamedPlace("left", ("upper",), ("apicoposterior",)))
    (('LUL',), ('LS1+2',))
    """
    names = _join_names(named.names)
    sure = [name for name in names if named.segment or " " in name or _stands_alone(name)]
    lingula = [name for name in sure if "lingular" in name]
    others = [name for name in sure if "lingular" not in name]
    lobes: list[str] = []
    segments: list[str] = []
    if lingula and named.side != "right":
        lobes.append("LUL")
        segments += [code for name in lingula for code in _lingula_codes(name)]
        if not others:
            return tuple(lobes), tuple(segments)
    levels = named.levels or _levels_of(others)
    sides: tuple[str, ...] = SIDES_OF[named.side] if named.side else ()
    if not sides and levels == ("middle",):
        sides = ("right",)
    held = [
        lobe
        for lobe in lung_anatomy().lobes
        if lobe.side in sides and (lobe.name.split()[1] in levels or (others and not levels))
    ]
    parts = [
        part.code
        for lobe in held
        for part in lobe.segments
        if any(_is_same_segment(part.name, name, in_lobe=bool(levels)) for name in others)
    ]
    if parts:
        own = {lung_anatomy().by_code[code].code for code in parts}
        held = [lobe for lobe in held if lobe.code in own]
    elif not levels:
        held = []
    return (*lobes, *(lobe.code for lobe in held)), (*segments, *parts)


def _join_names(names: tuple[str, ...]) -> list[str]:
    """Names of two words put together: 'medial' and 'basal', 'superior' and 'lingular'."""
    found: list[str] = []
    for name in names:
        if name == "basal" and found and found[-1] in _BASAL:
            # "medial and posterior basal": every one before it is basal too.
            found = [f"{one} basal" if one in _BASAL else one for one in found]
        elif name == "lingular" and found and found[-1] in ("superior", "inferior"):
            found[-1] += " lingular"
        elif name in ("superior", "inferior") and found[-1:] == ["lingular"]:
            found[-1] = f"{name} lingular"
        else:
            found.append(name)
    return found


def _stands_alone(name: str) -> bool:
    return name in ("lingular", "apicoposterior")


def _lingula_codes(name: str) -> list[str]:
    if name.startswith("superior"):
        return ["LS4"]
    return ["LS5"] if name.startswith("inferior") else ["LS4", "LS5"]


def _levels_of(names: list[str]) -> tuple[str, ...]:
    """The level that segment names imply."""
    if names and all(name.endswith("basal") and name != "basal" for name in names):
        return ("lower",)
    return ("upper",) if names == ["apicoposterior"] else ()


def _is_same_segment(part: str, name: str, *, in_lobe: bool) -> bool:
    """Whether a segment is meant by a name; where its lobe is told, half of the name will do."""
    if part == name or name in _TOGETHER.get(part, ()):
        return True
    if name == "apicoposterior":
        return part in ("apical", "posterior")
    if not in_lobe:
        return False
    return part == f"{name} basal" or (part.endswith("lingular") and part.split()[0] == name)
