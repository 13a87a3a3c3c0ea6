"""The anatomical chain of thought: whole scan → lung → lobe → segment → lesion, each with its box.

Words are made of the statement alone, boxes of the voxels alone. A box is `[i0, j0, k0, i1, j1,
k1]` in the stored (H, W, D) array, the upper ends not included.

A structure's box holds the structure. A finding may reach over the border of the places that are
named for it by a few voxels; the box of the place that holds most of that entity is then widened
by them, and so are those around it. So each step's box lies within the boxes of the steps it is
reached from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import find_objects

from overread.core import Record
from overread.ontology import finding_tree as finding_names
from overread.ontology import lung_anatomy as lung_names
from overread.phantom.body.canvas import ORGAN_NUMBERS, Cut
from overread.phantom.body.lungs import LOBES, SEGMENTS
from overread.phantom.findings.scan import Entity, bounding_box
from overread.phantom.patient import Patient, PatientFinding
from overread.phantom.statement import KINDS, FindingStatement

VoxelBox = tuple[int, int, int, int, int, int]
Level = Literal["scan", "pleura", "lung", "lobe", "segment", "lesion"]

_NAMED_BY_KIND = ("1f", "2h")  # "other": the category says nothing


class ChainStep(Record):
    """One step of a chain."""

    level: Level
    """How near the finding it is."""
    structure: str
    """What is looked at, as the anatomy's labels call it."""
    text: str
    """The thought, one sentence."""
    box: VoxelBox
    """Where: i0, j0, k0, i1, j1, k1 in the stored array, upper ends not included."""
    within: tuple[int, ...] = ()
    """Numbers of the steps it is reached from; together their boxes hold its box."""
    entities: tuple[VoxelBox, ...] | None = None
    """Of the lesion: the box of each entity, in the order of their numbers."""


@dataclass(frozen=True)
class StructureBoxes:
    """Boxes of everything in one patient that a chain can pass through."""

    scan: VoxelBox
    lobes: dict[str, VoxelBox]
    segments: dict[str, VoxelBox]
    lungs: dict[str, VoxelBox]
    """Side → box."""
    pleura: dict[str, VoxelBox]
    """Side → box of the pleural space and of the lung in it."""


def find_structure_boxes(patient: Patient) -> StructureBoxes:
    """Boxes of scan, lungs, lobes, segments and pleural spaces; each label array is read once."""
    organs = label_boxes(patient.organs, max(ORGAN_NUMBERS.values()))
    lobes = _boxes_by_name(LOBES, label_boxes(patient.lobes, len(LOBES)))
    lungs, pleura = {}, {}
    for side in ("right", "left"):
        own = [lobes.get(lobe.code) for lobe in lung_names().lobes if lobe.side == side]
        lungs[side] = enclosing_box([organs[ORGAN_NUMBERS[f"{side} lung"] - 1], *own])
        pleura[side] = enclosing_box([organs[ORGAN_NUMBERS[f"{side} pleural space"] - 1], lungs[side]])
    depth, height, width = patient.hu.shape
    return StructureBoxes(
        scan=(0, 0, 0, width, height, depth),
        lobes=lobes,
        segments=_boxes_by_name(SEGMENTS, label_boxes(patient.segments, len(SEGMENTS))),
        lungs=lungs,
        pleura=pleura,
    )


def build_chain(
    patient: Patient, where: StructureBoxes, finding: PatientFinding, entities: Sequence[VoxelBox]
) -> list[ChainStep]:
    """The thoughts that lead to one finding; `entities` are the boxes of what its mask shows."""
    statement = finding.statement
    lesion = enclosing_box(entities)
    if statement.side is None:
        steps = [_scan_step(statement, where, "chest")]
    elif not statement.lobes:
        steps = [_scan_step(statement, where, "pleural spaces"), *_pleura_steps(where, finding, entities)]
    else:
        steps = [_scan_step(statement, where, "lungs"), *_lung_steps(patient, where, finding)]
    passed = {number for step in steps for number in step.within}
    last = ChainStep(
        level="lesion",
        structure="lesion",
        text=f"Here it is: {_describe_finding(statement)}.",
        box=lesion,
        within=tuple(n for n in range(len(steps)) if n not in passed),
        entities=tuple(entities),
    )
    return [*steps, last]


def label_boxes(labels: NDArray[np.uint8], count: int) -> list[VoxelBox | None]:
    """The boxes of the labels 1 to `count` of a (z, y, x) array; None where one has no voxel."""
    found: list[Cut | None] = find_objects(labels, max_label=count)
    return [None if cut is None else to_voxel_box(cut) for cut in found]


def to_voxel_box(cut: Cut) -> VoxelBox:
    """A part of a (z, y, x) array as a box of the stored one.

    >>> to_voxel_box((slice(1, 2), slice(3, 5), slice(7, 11)))
    (7, 3, 1, 11, 5, 2)
    """
    z, y, x = cut
    return x.start, y.start, z.start, x.stop, y.stop, z.stop


def enclosing_box(boxes: Iterable[VoxelBox | None]) -> VoxelBox:
    """The smallest box that holds all of them; what is absent is passed over.

    >>> enclosing_box([(0, 0, 0, 2, 2, 2), None, (1, 1, 1, 5, 3, 2)])
    (0, 0, 0, 5, 3, 2)
    """
    there = np.array([box for box in boxes if box is not None])
    low, high = there[:, :3].min(axis=0), there[:, 3:].max(axis=0)
    i0, j0, k0, i1, j1, k1 = (int(n) for n in (*low, *high))
    return i0, j0, k0, i1, j1, k1


def segment_name(code: str) -> str:
    """A segment in full.

    >>> segment_name("RS10")
    'posterior basal segment of the right lower lobe'
    """
    return f"{lung_names().segments[code].name} segment of the {lung_names().by_code[code].name}"


def _scan_step(statement: FindingStatement, where: StructureBoxes, searched: str) -> ChainStep:
    text = f"Looked for: {_finding_noun(statement)}, so in the {searched}."
    return ChainStep(level="scan", structure="whole scan", text=text, box=where.scan)


def _pleura_steps(
    where: StructureBoxes, finding: PatientFinding, entities: Sequence[VoxelBox]
) -> list[ChainStep]:
    """One step for each pleural space."""
    sides = _sides(finding.statement)
    # Right is where the array begins; an entity is with the side that its middle is nearer to.
    middles = np.array([where.pleura[side][0] + where.pleura[side][3] for side in sides])
    nearest = [int(np.abs(middles - (box[0] + box[3])).argmin()) for box in entities]
    steps = []
    for number, side in enumerate(sides):
        own = [box for box, near in zip(entities, nearest, strict=True) if near == number]
        text = f"It lies in the {side} pleural space."
        if len(sides) > 1:
            text = f"It lies in both pleural spaces, here in the {side} one."
        box = enclosing_box([where.pleura[side], *own])
        name = f"{side} pleural space"
        steps.append(ChainStep(level="pleura", structure=name, text=text, box=box, within=(0,)))
    return steps


def _lung_steps(patient: Patient, where: StructureBoxes, finding: PatientFinding) -> list[ChainStep]:
    """One step for each lung, then for each lobe, then for each segment; inner boxes first."""
    statement = finding.statement
    segments = _widen_boxes(patient.segments, SEGMENTS, statement.segments, where.segments, finding)
    lobes = _widen_boxes(patient.lobes, LOBES, statement.lobes, where.lobes, finding)
    for code, box in segments.items():
        around = lung_names().by_code[code].code
        lobes[around] = enclosing_box([lobes.get(around), box])
    lungs = {side: where.lungs[side] for side in _sides(statement)}
    for code, box in lobes.items():
        holder = lung_names().by_code[code].side
        lungs[holder] = enclosing_box([lungs.get(holder), box])

    steps: list[ChainStep] = []
    at: dict[str, int] = {}

    def step(level: Level, code: str, name: str, text: str, box: VoxelBox, parent: str | None) -> None:
        at[code] = 1 + len(steps)  # the whole scan is step 0
        within = (0 if parent is None else at[parent],)
        steps.append(ChainStep(level=level, structure=name, text=text, box=box, within=within))

    for side, box in lungs.items():
        text = f"It lies in the {side} lung."
        if len(lungs) > 1:
            text = f"It lies in both lungs, here in the {side} one."
        step("lung", side, f"{side} lung", text, box, None)
    for code, box in lobes.items():
        lobe = lung_names().by_code[code]
        part = "" if len(lobes) == 1 else "a part of "
        text = f"The {lobe.name} holds {part}it."
        step("lobe", code, lobe.name, text, box, lobe.side)
    for code, box in segments.items():
        part = "" if len(segments) == 1 else "a part of "
        text = f"Its {lung_names().segments[code].name} segment holds {part}it."
        step("segment", code, segment_name(code), text, box, lung_names().by_code[code].code)
    return steps


def _widen_boxes(
    labels: NDArray[np.uint8],
    names: Sequence[str],
    stated: Sequence[str],
    boxes: dict[str, VoxelBox],
    finding: PatientFinding,
) -> dict[str, VoxelBox]:
    """The boxes of the stated places. Where the finding reaches out of all of them, the box of the
    place that holds most of that entity is widened.
    """
    reached = {code: [boxes.get(code)] for code in stated}
    numbers = np.array([names.index(code) + 1 for code in stated], np.intp)
    for entity in finding.entities if stated else ():
        held = labels[entity.cut]
        outside = bounding_box(entity.mask & ~np.isin(held, numbers))
        if outside is not None:
            counts = np.bincount(held[entity.mask], minlength=len(names) + 1)[numbers]
            reached[stated[int(counts.argmax())]].append(_to_scan_box(entity, outside))
    return {code: enclosing_box(parts) for code, parts in reached.items()}


def _to_scan_box(entity: Entity, part: Cut) -> VoxelBox:
    """A part of an entity's own array as a box of the scan."""
    z, y, x = (
        slice((outer.start or 0) + inner.start, (outer.start or 0) + inner.stop)
        for outer, inner in zip(entity.cut, part, strict=True)
    )
    return to_voxel_box((z, y, x))


def _sides(statement: FindingStatement) -> tuple[str, ...]:
    return ("right", "left") if statement.side == "both" else (str(statement.side),)


def _boxes_by_name(names: Sequence[str], boxes: Sequence[VoxelBox | None]) -> dict[str, VoxelBox]:
    return {name: box for name, box in zip(names, boxes, strict=True) if box is not None}


def _finding_noun(statement: FindingStatement) -> str:
    """Category and kind in words."""
    if statement.category in _NAMED_BY_KIND:
        return statement.kind
    name = finding_names().categories[statement.category].name
    return name if len(KINDS[statement.category]) == 1 else f"{name} ({statement.kind})"


def _describe_finding(statement: FindingStatement) -> str:
    """Everything that is stated of a finding besides its place."""
    parts = [_finding_noun(statement)]
    if statement.countable:
        parts.append("a single one" if statement.count == 1 else f"{statement.count} of them")
    if statement.size_mm is not None:
        which = "" if statement.count == 1 else "the largest "
        parts.append(f"{which}{statement.size_mm} mm in longest axis")
    parts += [] if statement.severity is None else [statement.severity]
    parts += [*statement.spread, *statement.traits]
    return ", ".join(parts)
