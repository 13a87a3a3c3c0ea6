"""Major regions: which of the regions go together, and which of them one always looks at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from overread.language.statements import Statement
from overread.ontology import xray_regions

Corners = tuple[int, int, int, int]
"""A box on the film: left, top, right, bottom in pixels, right and bottom not included."""

_CORE_REGIONS = (
    *("right lung", "left lung", "right costophrenic angle", "left costophrenic angle"),
    *("cardiac silhouette", "mediastinum", "trachea", "carina", "spine", "abdomen"),
)
"""Regions that whoever looks at their major region looks at, whatever is found there."""
_PLEURAL = ("2e", "2g")
"""Categories that the pleura shows, though the box of a lung holds them."""
_ABDOMINAL = "A"
"""Report region of what lies below the diaphragm, free air among it."""


def core_regions(major: str) -> tuple[str, ...]:
    """The regions of a major region that whoever looks there looks at.

    >>> core_regions("airway region")
    ('trachea', 'carina')
    """
    held = next((one.members for one in xray_regions().groups if one.name == major), ())
    return tuple(name for name in held if name in _CORE_REGIONS)


def major_of(region: str) -> str:
    """The major region that a region belongs to.

    >>> major_of("left hilar structures")
    'heart and the mediastinal region'
    """
    return _majors()[region]


def find_major(region: str) -> str | None:
    """The major region that holds a region; None where the region is not in use."""
    return _majors().get(region)


def major_of_statement(statement: Statement, regions: Iterable[str]) -> str | None:
    """The major region that a statement is told in; the regions are those that show it.

    Fluid, air and thickening of the pleura are told with the pleura, though a lung's box holds
    them, and free air under the diaphragm with the abdomen.
    """
    if statement.category in _PLEURAL:
        pleura = find_major("right costophrenic angle")
        if pleura is not None:
            return pleura
    if statement.region == _ABDOMINAL and find_major("abdomen") is not None:
        return find_major("abdomen")
    held: dict[str, int] = {}
    for name in regions:
        held[major_of(name)] = held.get(major_of(name), 0) + 1
    return max(held, key=lambda name: held[name]) if held else None


def sort_regions(names: Iterable[str]) -> tuple[str, ...]:
    """Regions in the order of the list, each once; what is no region is left out."""
    some = set(names)
    return tuple(name for name in xray_regions().names if name in some)


def union_box(boxes: Mapping[str, Corners], names: Iterable[str]) -> Corners | None:
    """The smallest box around the boxes of some regions; None where none of them has one.

    >>> union_box({"trachea": (4, 0, 6, 9), "carina": (3, 8, 7, 11)}, ("trachea", "carina"))
    (3, 0, 7, 11)
    """
    some = [boxes[name] for name in names if name in boxes]
    if not some:
        return None
    left, top, right, bottom = zip(*some, strict=True)
    return (min(left), min(top), max(right), max(bottom))


def _majors() -> dict[str, str]:
    return {name: one.name for one in xray_regions().groups for name in one.members}
