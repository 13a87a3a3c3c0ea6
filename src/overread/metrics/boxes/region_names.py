"""What a box is of: region names of the chest radiograph, brought to one wording.

A label is held against the regions in use (`ontology/regions.py`). A name, a left/right pair and a
major region each stay what they are: whoever looks at the left lung has not looked at the lungs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from overread.ontology import xray_regions

_ZONES = ("apical zone", "upper lung zone", "mid lung zone", "lower lung zone")
_HEART = ("right cardiac silhouette", "left cardiac silhouette", "right atrium")
_VESSELS = ("svc", "cavoatrial junction")

# What lies within what on a frontal film; ours, as the grouping of the regions is. The corners and
# the roots of a lung are read with the lung.
_WITHIN: dict[str, tuple[str, ...]] = {
    **{
        f"{side} lung": tuple(
            f"{side} {part}" for part in (*_ZONES, "hilar structures", "costophrenic angle")
        )
        for side in ("right", "left")
    },
    "right upper lung zone": ("right apical zone",),
    "left upper lung zone": ("left apical zone",),
    "right lower lung zone": ("right costophrenic angle",),
    "left lower lung zone": ("left costophrenic angle",),
    "mediastinum": (
        *("upper mediastinum", "cardiac silhouette", "aortic arch", "trachea", "carina"),
        *(*_HEART, *_VESSELS),
    ),
    "upper mediastinum": ("aortic arch", "svc", "trachea"),
    "cardiac silhouette": (*_HEART, "cavoatrial junction"),
    "right cardiac silhouette": ("right atrium", "cavoatrial junction"),
    "trachea": ("carina",),
    "abdomen": ("right upper abdomen", "left upper abdomen"),
}
_AND = re.compile(r",|;|/|&|\+|\band\b", re.I)


def find_regions(label: str | None) -> tuple[str, ...]:
    """The regions that a label names; none where it names nothing we know.

    >>> find_regions("right lung, left hilum")
    ('right lung', 'left hilar structures')
    """
    words = (label or "").strip()
    known = xray_regions()
    whole = known.find(words)
    if whole or not words:
        return whole
    parts = [known.find(part) for part in _AND.split(words) if part.strip()]
    if not parts or not all(parts):
        return ()
    found = {name for part in parts for name in part}
    return tuple(name for name in known.names if name in found)


def canonical_place(label: str | None) -> str:
    """One wording for all labels of a place; "" where there is no label.

    >>> canonical_place("Lungs"), canonical_place("both lungs"), canonical_place("the left hilum")
    ('lung region', 'lung region', 'left hilar structures')
    >>> canonical_place("Left  kidney")
    'left kidney'
    """
    names = find_regions(label)
    if not names:
        return re.sub(r"[^a-z0-9]+", " ", (label or "").lower()).strip().removeprefix("the ")
    if len(names) == 1:
        return names[0]
    group = major_region(names)
    if group:
        return group
    for pair in (pair for group in xray_regions().groups for pair in group.pairs):
        if set(names) == {f"right {pair}", f"left {pair}"}:
            return f"bilateral {pair}"
    return " + ".join(names)


def major_region(names: Iterable[str]) -> str | None:
    """The major region that several regions make up, or None."""
    filled = expand_regions(names)
    for group in xray_regions().groups:
        if len(group.members) > 1 and expand_regions(group.members) == filled:
            return group.name
    return None


def expand_regions(names: Iterable[str]) -> frozenset[str]:
    """The regions themselves and all that lies within them.

    >>> sorted(expand_regions(["left upper lung zone"]))
    ['left apical zone', 'left upper lung zone']
    """
    found: set[str] = set()
    fresh = set(names)
    while fresh:
        found |= fresh
        fresh = {part for name in fresh for part in _WITHIN.get(name, ())} - found
    return frozenset(found)
