"""A drawn finding measured: the statement that its voxels bear out."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from overread.ontology import lung_anatomy as lung_names
from overread.phantom.body.lungs import LOBES, SEGMENTS
from overread.phantom.findings.scan import DrawnFinding, Entity, Scan
from overread.phantom.statement import FindingStatement

NAMED_SHARE = 0.97
"""The share of a finding that the places named for it must hold."""
MAX_SEGMENTS = 2
"""More segments than these are called by their lobe."""


def measure_finding(scan: Scan, drawn: DrawnFinding) -> FindingStatement:
    """What may be said of a finding."""
    side, lobes, segments = _find_location(scan, drawn)
    size = None
    if drawn.sized:
        longest = max(longest_axis(entity, scan.canvas.grid.step) for entity in drawn.entities)
        size = round(longest)
    return FindingStatement(
        category=drawn.category,
        kind=drawn.kind,
        side=side,
        lobes=lobes,
        segments=segments,
        size_mm=size,
        count=len(drawn.entities),
        countable=drawn.countable,
        severity=drawn.severity,
        spread=drawn.spread,
        traits=drawn.traits,
    )


def longest_axis(entity: Entity, step: tuple[float, float, float]) -> float:
    """The longest axis of an entity in millimetres.

    Voxel centres give it half a voxel too short at both ends, outer corners too long; half a voxel
    is added, so that neither way of measuring finds it a voxel off.
    """
    z, y, x = np.nonzero(entity.mask)
    points = np.stack([x * step[0], y * step[1], z * step[2]], axis=1)
    along = points @ _directions()
    return float((along.max(axis=0) - along.min(axis=0)).max()) + sum(step) / 6


@cache
def _directions() -> NDArray[np.float64]:
    """Directions spread evenly over half a sphere: a golden spiral."""
    n = 400
    z = (np.arange(n) + 0.5) / n
    turn = np.pi * (1 + 5**0.5) * np.arange(n)
    flat = np.sqrt(1 - z * z)
    return np.stack([flat * np.cos(turn), flat * np.sin(turn), z])


def _find_location(scan: Scan, drawn: DrawnFinding) -> tuple[str | None, tuple[str, ...], tuple[str, ...]]:
    """Side, lobes and segments that hold the finding."""
    if drawn.pleural:
        right = sum(_count_right_voxels(scan, entity) for entity in drawn.entities)
        total = sum(entity.voxels for entity in drawn.entities)
        share = right / total
        side = "right" if share > NAMED_SHARE else "left" if share < 1 - NAMED_SHARE else "both"
        return side, (), ()
    lobes = _fewest_places(scan.canvas.lobes, drawn.entities, LOBES)
    sides = {lung_names().by_code[code].side for code in lobes}
    side = next(iter(sides)) if len(sides) == 1 else "both"
    segments: tuple[str, ...] = ()
    if len(lobes) == 1:
        held = _fewest_places(scan.canvas.segments, drawn.entities, SEGMENTS)
        own = {part.code for part in lung_names().by_code[lobes[0]].segments}
        if len(held) <= MAX_SEGMENTS and set(held) <= own and len(held) < len(own):
            segments = held
    return side, lobes, segments


def _count_right_voxels(scan: Scan, entity: Entity) -> int:
    """How many voxels of an entity lie in the right half of the chest."""
    x, y, z = scan.coordinates(entity.cut)
    across, _, _ = scan.body.habitus.to_template(x, y, z)
    return int((np.broadcast_to(across, entity.mask.shape)[entity.mask] > 0).sum())


def _fewest_places(
    labels: NDArray[np.uint8], entities: list[Entity], names: tuple[str, ...]
) -> tuple[str, ...]:
    """The fewest places that together hold enough of the finding, in their usual order."""
    counts = np.zeros(len(names) + 1, np.int64)
    for entity in entities:
        counts += np.bincount(labels[entity.cut][entity.mask], minlength=len(names) + 1)
    counts[0] = 0
    order = np.argsort(-counts, kind="stable")
    enough = np.searchsorted(np.cumsum(counts[order]), NAMED_SHARE * counts.sum()) + 1
    return tuple(names[n - 1] for n in sorted(order[:enough]))
