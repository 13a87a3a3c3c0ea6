"""The anatomical chain of thought: whole scan → lung → lobe → segment → lesion, each with its box.

Boxes and structures are made of voxels: a lobe is passed through where the lesion lies in it. Where
there are no organ masks the structures are those that the sentence names, and have no box. A box is
`[i0, j0, k0, i1, j1, k1]` in the stored array, upper ends not included; `within` gives the numbers
of the steps that a step is reached from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.build.rexgroundingct.organs import (
    Organs,
    VoxelBox,
    box_of,
    join_boxes,
    label_boxes,
    lobe_names,
    segment_names,
)
from overread.build.rexgroundingct.statement_cache import cached_statements
from overread.core import Record
from overread.language.main_statement import find_main_statement
from overread.ontology import finding_tree, lung_anatomy

_PLEURAL = ("2e", "2g")
_MIN_LOBE_SHARE = 0.1
"""Share of a lesion's voxels in lobes that makes a lobe one that is passed through."""
_MIN_SEGMENT_SHARE = 0.9
"""Share of a lesion's voxels that one or two segments must hold to be named."""
_WRONG_SIDE_SHARE = 0.95
"""Share of a lesion's voxels on the other side that makes the sentence and the mask disagree."""


class Thought(Record):
    """One step of a chain."""

    level: str
    """scan, pleura, lung, lobe, segment or lesion."""
    structure: str
    """What is looked at."""
    text: str
    """The thought, one sentence."""
    box: VoxelBox | None = None
    """Where; absent where no organ mask tells."""
    within: tuple[int, ...] = ()
    """Numbers of the steps it is reached from."""
    entities: tuple[VoxelBox, ...] | None = None
    """Of the lesion: the box of each entity, in the order of their numbers."""


def make_chain(
    text: str, category: str, labels: NDArray[Any], organs: Organs
) -> tuple[list[Thought], str | None]:
    """The thoughts that lead to one finding, and what its voxels say against its sentence."""
    count = int(labels.max(initial=0))
    entities = [box for box in label_boxes(labels, count) if box is not None]
    name = finding_tree().categories[category].name
    if category in _PLEURAL:
        searched, steps = "pleural spaces", _pleural_steps(text, labels, entities, organs)
    else:
        steps = _lung_steps(labels, organs) if organs.lobes is not None else _steps_from_text(text)
        searched = "lungs" if steps else "chest"
    first = Thought(
        level="scan",
        structure="whole scan",
        text=f"Looked for: {name}, so in the {searched}.",
        box=organs.scan_box,
    )
    steps = [first, *steps]
    passed = {number for step in steps for number in step.within}
    steps.append(
        Thought(
            level="lesion",
            structure="lesion",
            text=f"Here it is: {text}.",
            box=join_boxes(entities),
            within=tuple(n for n in range(len(steps)) if n not in passed),
            entities=tuple(entities),
        )
    )
    return steps, _find_disagreement(text, steps, labels, organs)


def _find_disagreement(
    text: str, steps: Sequence[Thought], labels: NDArray[Any], organs: Organs
) -> str | None:
    """Why the voxels and the sentence cannot both be right, where a side is told."""
    main = find_main_statement(cached_statements(text))
    if main is None or main.side not in ("right", "left") or organs.lobes is None:
        return None
    inside = organs.lobes[labels > 0]
    sides = np.array(["", *(lobe.side for lobe in lung_anatomy().lobes)])
    where = sides[inside[inside > 0]]
    other = "left" if main.side == "right" else "right"
    if not where.size or np.mean(where == other) < _WRONG_SIDE_SHARE:
        return None
    share = f"{np.mean(where == other):.0%}"
    return f"the sentence says {main.side}, and {share} of the voxels are in the {other} lung"


def _pleural_steps(
    text: str, labels: NDArray[Any], entities: Sequence[VoxelBox], organs: Organs
) -> list[Thought]:
    """One step for each pleural space that holds a part of it."""
    sides = [side for side in ("right", "left") if organs.pleura_box(side) is not None]
    if not sides:
        return [
            Thought(
                level="pleura",
                structure=f"{side} pleural space",
                text=f"It lies in the {side} pleural space.",
                within=(0,),
            )
            for side in _sides_in_text(text)
        ]
    own: dict[str, list[VoxelBox]] = {}
    for number, box in zip(np.unique(labels[labels > 0]).tolist(), entities, strict=True):
        own.setdefault(_entity_side(labels == number, box, sides, organs), []).append(box)
    steps = []
    for side in (side for side in sides if side in own):
        told = f"It lies in the {side} pleural space."
        if len(own) > 1:
            told = f"It lies in both pleural spaces, here in the {side} one."
        box_here = join_boxes([organs.pleura_box(side), *own[side]])
        steps.append(
            Thought(level="pleura", structure=f"{side} pleural space", text=told, box=box_here, within=(0,))
        )
    return steps


def _entity_side(entity: NDArray[np.bool_], box: VoxelBox, sides: Sequence[str], organs: Organs) -> str:
    """The side that holds most of an entity, or whose pleural space it is nearer to."""
    if organs.pleura is not None:
        counts = np.bincount(organs.pleura[entity], minlength=3)
        if counts[1] != counts[2]:
            return "right" if counts[1] > counts[2] else "left"

    def distance(side: str) -> float:
        around = organs.pleura_box(side)
        assert around is not None
        return sum(
            abs((around[n] + around[n + 3]) - (box[n] + box[n + 3])) * organs.space.spacing[n]
            for n in range(3)
        )

    return min(sides, key=distance)


def _lung_steps(labels: NDArray[Any], organs: Organs) -> list[Thought]:
    """One step for each lung, then for each lobe, then for one or two segments."""
    assert organs.lobes is not None
    marked = labels > 0
    names = lobe_names()
    held = organs.lobes[marked]
    counts = np.bincount(held, minlength=len(names) + 1)[1:]
    if not counts.sum():
        return []
    chosen = {n for n, count in enumerate(counts) if count >= _MIN_LOBE_SHARE * counts.sum()}
    for number in np.unique(labels[marked]).tolist():
        mine = np.bincount(organs.lobes[labels == number], minlength=len(names) + 1)[1:]
        if mine.sum():
            chosen.add(int(mine.argmax()))
    lobes = _structure_boxes(organs.lobes, names, sorted(chosen), marked, organs.boxes)
    segments: dict[str, VoxelBox | None] = {}
    if organs.segments is not None:
        inside = np.bincount(organs.segments[marked], minlength=len(segment_names()) + 1)[1:]
        best = [int(n) for n in np.argsort(-inside, kind="stable")[:2] if inside[n]]
        if best and inside[best[0]] >= _MIN_SEGMENT_SHARE * marked.sum():
            best = best[:1]
        if best and inside[best].sum() >= _MIN_SEGMENT_SHARE * marked.sum():
            segments = _structure_boxes(organs.segments, segment_names(), sorted(best), marked, organs.boxes)
    return _nested_steps(lobes, segments, organs)


def _nested_steps(
    lobes: dict[str, VoxelBox | None], segments: dict[str, VoxelBox | None], organs: Organs
) -> list[Thought]:
    """Thoughts of lungs, lobes and segments, outer ones first, each box around its inner ones."""
    homes = {lobe.name: lobe for lobe in lung_anatomy().lobes}
    for name, box in segments.items():
        around = name.partition(" segment of the ")[2]
        if around not in lobes:
            lobes[around] = organs.boxes.get(around)
        lobes[around] = join_boxes([lobes[around], box])
    lobes = {lobe.name: lobes[lobe.name] for lobe in lung_anatomy().lobes if lobe.name in lobes}
    sides = list(dict.fromkeys(homes[name].side for name in lobes))
    at: dict[str, int] = {}
    steps: list[Thought] = []

    def step(level: str, name: str, text: str, box: VoxelBox | None, parent: str | None) -> None:
        at[name] = 1 + len(steps)  # the whole scan is step 0
        within = (0 if parent is None else at[parent],)
        steps.append(Thought(level=level, structure=name, text=text, box=box, within=within))

    for side in sides:
        own = [box for name, box in lobes.items() if homes[name].side == side]
        text = f"It lies in the {side} lung."
        if len(sides) > 1:
            text = f"It lies in both lungs, here in the {side} one."
        step("lung", f"{side} lung", text, join_boxes([organs.lung_box(side), *own]), None)
    for name, box in lobes.items():
        part = "" if len(lobes) == 1 else "a part of "
        step("lobe", name, f"The {name} holds {part}it.", box, f"{homes[name].side} lung")
    for name, box in segments.items():
        part = "" if len(segments) == 1 else "a part of "
        short, _, lobe = name.partition(" segment of the ")
        step("segment", name, f"Its {short} segment holds {part}it.", box, lobe)
    return steps


def _structure_boxes(
    labels: NDArray[np.uint8],
    names: Sequence[str],
    chosen: Sequence[int],
    marked: NDArray[np.bool_],
    boxes: Mapping[str, VoxelBox],
) -> dict[str, VoxelBox | None]:
    """Boxes of the chosen places, the largest widened by what reaches out of all of them."""
    numbers = np.array([n + 1 for n in chosen], np.intp)
    found = {names[n]: boxes.get(names[n]) for n in chosen}
    outside = box_of(marked & ~np.isin(labels, numbers))
    if outside is not None:
        counts = np.bincount(labels[marked], minlength=len(names) + 1)[numbers]
        most = names[chosen[int(counts.argmax())]]
        found[most] = join_boxes([found[most], outside])
    return found


def _steps_from_text(text: str) -> list[Thought]:
    """What the sentence says of the place, without boxes, where there are no organ masks."""
    main = find_main_statement(cached_statements(text))
    if main is None:
        return []
    known = lung_anatomy()
    lobes: dict[str, VoxelBox | None] = {known.by_code[code].name: None for code in main.lobes}
    names = dict(zip(known.segments, segment_names(), strict=True))
    segments: dict[str, VoxelBox | None] = {}
    if len(main.segments) <= 2:
        segments = {names[code]: None for code in main.segments}
    if lobes or segments:
        return _nested_steps(lobes, segments, _NO_ORGANS)
    return [
        Thought(level="lung", structure=f"{side} lung", text=f"It lies in the {side} lung.", within=(0,))
        for side in _sides_in_text(text)
    ]


def _sides_in_text(text: str) -> tuple[str, ...]:
    main = find_main_statement(cached_statements(text))
    side = main.side if main is not None else None
    return ("right", "left") if side == "both" else (side,) if side else ()


class _NoOrgans(Organs):
    """Anatomy of which nothing is known."""

    def __init__(self) -> None:
        self.boxes = {}
        self.lobes = None


_NO_ORGANS = _NoOrgans()
