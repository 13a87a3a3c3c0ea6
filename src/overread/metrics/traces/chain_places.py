"""The places that an anatomical chain of thought passes through, level by level, for one finding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from overread.core import Box, Geometry, Slices, Step, Trace, VoxelBox
from overread.language.lung_structures import find_lung_structures
from overread.pixels.voxel_boxes import Corner, ShownBox, from_shown

LEVELS = ("lung", "lobe", "segment", "lesion")
"""The levels that are judged; the pleural spaces stand on the level of the lungs."""

VoxelEdges = tuple[Corner, Corner]
"""First voxel, and last voxel plus one, in the stored array."""


class Place(NamedTuple):
    """A structure of a chain: its full name where it has one, its box where that is told."""

    name: str
    box: VoxelEdges | None


Places = dict[str, list[Place]]
"""Level → the places on it."""


def chain_places(trace: Trace | None, query: str, space: Geometry | None) -> Places:
    """The places of the chain that leads to a query; without a geometry shown slices tell no box."""
    found: Places = {}
    for step in trace.steps if trace is not None else ():
        if step.link is None or step.link.query != query or step.link.level == "scan":
            continue
        level = "lung" if step.link.level == "pleura" else step.link.level
        own = found.setdefault(level, [])
        if level == "lesion":
            boxes = [box for _, box in _step_boxes(step, space)]
            if boxes:
                own.append(Place("", enclose(boxes)))
        else:
            own += _structures(step, space)
    return {level: _once(places) for level, places in found.items() if places}


def _structures(step: Step, space: Geometry | None) -> Iterable[Place]:
    """The structures that a step looks at; boxes bear their names."""
    assert step.link is not None
    boxes = _step_boxes(step, space)
    named = {label for label, _ in boxes if label}
    for label, box in boxes:
        yield from (Place(name, box) for name in _full_names(label))
    for structure in step.link.structures:
        if structure not in named:
            yield from (Place(name, None) for name in _full_names(structure) if name)


def _step_boxes(step: Step, space: Geometry | None) -> list[tuple[str, VoxelEdges]]:
    """Label and box of each place: a box of voxels, or some slices and the edges on them."""
    found: list[tuple[str, VoxelEdges]] = []
    span: Slices | None = None
    for region in step.regions:
        if isinstance(region, VoxelBox):
            found.append((region.label or "", (region.low, region.high)))
        elif isinstance(region, Slices) and region.axis == "axial":
            span = region
        elif isinstance(region, Box) and span is not None and space is not None:
            edges = (round(region.x1), round(region.y1), round(region.x2), round(region.y2))
            shown = ShownBox(span.first, span.last, *edges)
            found.append((region.label or "", from_shown(shown, space)))
            span = None
    return found


def _full_names(label: str) -> tuple[str, ...]:
    """The structures of a label by their full names; of one that is not known, the label itself."""
    known = tuple(one.name for one in find_lung_structures(label))
    return known or (" ".join(label.casefold().split()),)


def _once(places: Sequence[Place]) -> list[Place]:
    """Each named structure once, with all its boxes; whatever has no name stays."""
    named: dict[str, list[VoxelEdges]] = {}
    for place in places:
        if place.name:
            named.setdefault(place.name, []).extend([] if place.box is None else [place.box])
    whole = [Place(name, enclose(boxes) if boxes else None) for name, boxes in named.items()]
    return whole + [place for place in places if not place.name]


def enclose(boxes: Sequence[VoxelEdges]) -> VoxelEdges:
    """The smallest box that holds all of them.

    >>> enclose([((0, 0, 0), (2, 2, 2)), ((1, 1, 1), (5, 3, 2))])
    ((0, 0, 0), (5, 3, 2))
    """
    lows, highs = zip(*boxes, strict=True)
    (a, b, c), (d, e, f) = map(min, zip(*lows, strict=True)), map(max, zip(*highs, strict=True))
    return (a, b, c), (d, e, f)


def volume(box: VoxelEdges) -> int:
    """How many voxels a box holds; none where it ends before it begins."""
    sides = [max(0, b - a) for a, b in zip(*box, strict=True)]
    return sides[0] * sides[1] * sides[2]


def intersect(one: VoxelEdges, two: VoxelEdges) -> VoxelEdges:
    """What two boxes have in common."""
    (a, b, c) = map(max, zip(one[0], two[0], strict=True))
    (d, e, f) = map(min, zip(one[1], two[1], strict=True))
    return (a, b, c), (d, e, f)


def box_iou(one: VoxelEdges | None, two: VoxelEdges | None) -> float:
    """Intersection over union of two boxes of voxels; 0 where one is not there.

    >>> box_iou(((0, 0, 0), (2, 2, 2)), ((1, 0, 0), (3, 2, 2)))
    0.3333333333333333
    """
    if one is None or two is None:
        return 0.0
    common = volume(intersect(one, two))
    every = volume(one) + volume(two) - common
    return common / every if every else 0.0
