"""Pairs the units of several readers in one order; missing units are refused or left out."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

from overread.errors import UsageError

UnitChoice: TypeAlias = Literal["same", "common"]
"""'same': all readers must have the same units; 'common': only those that all of them have."""

Key = TypeVar("Key", bound=Hashable)
Thing = TypeVar("Thing")


@dataclass(frozen=True)
class PairedUnits(Generic[Thing]):
    """What each reader has for each unit, in one order."""

    rows: dict[str, list[Thing]]
    clusters: list[str]
    left_out: dict[str, int]
    """Units of each reader that not all the others have."""


def pair_units(
    readers: Mapping[str, Mapping[Key, Thing]],
    clusters: Mapping[Key, str] | None = None,
    *,
    units: UnitChoice = "same",
) -> PairedUnits[Thing]:
    """Line up the units of several readers; without clusters each unit is a cluster of its own.

    >>> pair_units({"a": {"1": 0.5}, "b": {"1": 0.25, "2": 1.0}}, units="common").left_out
    {'a': 0, 'b': 1}
    """
    if units not in ("same", "common"):
        raise UsageError(f"no choice of units {units!r}", remedy="'same' or 'common'")
    if not readers:
        raise UsageError("there are no readers to compare")
    sets = {name: set(own) for name, own in readers.items()}
    common = set.intersection(*sets.values())
    left_out = {name: len(own - common) for name, own in sets.items()}
    if units == "same" and any(left_out.values()):
        name = next(name for name, count in left_out.items() if count)
        example = min(sets[name] - common, key=repr)
        raise UsageError(
            f"{left_out[name]} units of {name!r} are not with every reader, one is {example!r}",
            remedy="hand in all units, or ask for the common ones with units='common'",
        )
    order = sorted(common, key=repr)
    if clusters is None:
        names = [repr(unit) for unit in order]
    else:
        for unit in order:
            if unit not in clusters:
                raise UsageError(
                    f"the unit {unit!r} has no cluster",
                    remedy="name its patient, or its case where none is known",
                )
        names = [clusters[unit] for unit in order]
    rows = {name: [own[unit] for unit in order] for name, own in readers.items()}
    return PairedUnits(rows=rows, clusters=names, left_out=left_out)
