"""CT slices of a case: where each is laid, what it shows, and its picture.

**Where.** Every picture asks for a plane and a window. Each of the patient's findings is looked up
in that plane: how much of it every slice holds. A slice is laid where it holds most of what
matters: what the illness cannot do without before the rest of the illness, that before anything
else, and what no earlier picture of that day has shown before what was. Two pictures of one plane
and window keep their distance. On the second day a slice is laid as on the first, unless another
one shows far more; so what is gone can be missed at its place. Where a window has nothing to show,
the slice lies at a usual level.

**What it shows.** A finding is shown where the slice holds enough of it (`profiles.LEAST_MM2`) and
the window can show it: the lung window whatever is in lung and pleura; the mediastinal window what
is as dense as tissue, and what lies beyond the lung; the bone window chalk, fractures and spurs.

**Its picture.** Upright, the patient's right on the left of axial and coronal pictures, the front
on the left of sagittal ones; square pixels, the longer side `LONGEST` of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from overread.core import Geometry, Record
from overread.phantom.body.canvas import NUMBER
from overread.phantom.case.levels import PLANES, Plane, axis_of, level_words, usual_level
from overread.phantom.case.profiles import Profile, least_mm2, profile
from overread.phantom.findings.beyond import Beyond
from overread.phantom.findings.measure import measure
from overread.phantom.findings.scan import Drawn, Entity
from overread.phantom.illness.draft import Draft, Look
from overread.phantom.illness.model import diseases
from overread.phantom.statement import Statement
from overread.phantom.visit import Visit
from overread.pixels.planes import cut, square
from overread.pixels.windows import window

Setting = Literal["lung", "mediastinum", "bone"]
LONGEST = 512
"""Pixels of the longer side of a picture."""
_DENSE: tuple[str, ...] = (
    *("consolidation", "atelectasis", "solid", "spiculated", "mass", "calcified"),
    *("effusion", "thickening", "cavity", "fluid cyst"),
)
_FLECKS = ("coronary calcification", "aortic calcification")
_BONE = ("rib fracture", "osteophytes")
_CHALK = ("calcified", *_BONE, *_FLECKS)
_BEST_THERE = ("effusion", "thickening", "mass", "fluid cyst", "calcified")
"""What the mediastinal window shows as well as the lung window does, or better."""

_NEAR: dict[str, dict[Plane, float]] = {
    "cardiomegaly": {"axial": 25, "coronal": 25},
    "pericardial effusion": {"axial": 25, "coronal": 20, "sagittal": 20},
    "lymph nodes": {"axial": 5, "coronal": 5, "sagittal": 5},
    "hiatal hernia": {"axial": 12, "coronal": 12, "sagittal": 12},
    "rib fracture": {"axial": 4, "coronal": 4, "sagittal": 4},
    "aortic ectasia": {"axial": 20, "coronal": 12},
    "osteophytes": {"coronal": 8, "sagittal": 8},
    "steatosis": {"axial": 20, "coronal": 30},
}
"""Millimetres from its middle within which a slice shows what lies beyond the lung."""
_APART = 12.0
"""Millimetres at least between two slices of one plane, window and day."""
_CHALK_HU, _CHALK_MM2 = 250, 8.0


class Shown(Record):
    """One finding as one slice shows it."""

    key: str
    """'plan-0', as the draft numbers its plans, or 'beyond-lymph nodes'."""
    statement: Statement
    """What is true of the part that lies in the slice."""


class Slice(Record):
    """One CT picture of a case: where it is laid, and what it shows."""

    plane: Plane
    window: Setting
    index: int
    """Slice of the scan's arrays, (z, y, x), counted along the axis that the plane cuts."""
    level: str
    """Where that is, in words ('at the level of the carina')."""
    shown: tuple[Shown, ...] = ()
    """The findings that it shows."""
    gone: tuple[str, ...] = ()
    """Keys of those that an earlier day showed here and that are no longer there."""
    clear: bool = False
    """Whether it holds nothing at all that its window could show."""


@dataclass
class _Item:
    """A finding on all days: how much of it every slice holds, and how much it matters."""

    key: str
    kind: str
    weight: float
    least: float
    days: dict[int, Drawn | Beyond] = field(default_factory=dict)
    profiles: dict[tuple[int, Plane], Profile] = field(default_factory=dict)

    def held(self, day: int, plane: Plane) -> Profile | None:
        """Its profile on a day, or on the first where it is gone by then."""
        return self.profiles.get((day, plane), self.profiles.get((0, plane)))

    def seen(self, day: int, plane: Plane, index: int) -> bool:
        """Whether a slice of that day holds enough of it."""
        held = self.profiles.get((day, plane))
        return held is not None and bool(held[index] >= self.least)


def lay_slices(draft: Draft, days: Sequence[Visit]) -> tuple[Slice | None, ...]:
    """Where the slices of a case lie and what each shows; None for its films."""
    items = _items(draft, days)
    grid = days[0].scan.canvas.grid
    laid: dict[tuple[int, Plane, Setting], list[int]] = {}
    often: dict[tuple[int, str], int] = {}
    found: list[Slice | None] = []
    for look in draft.looks:
        if look.plane is None or look.window is None:
            found.append(None)
            continue
        able = [item for item in items if shows(look.window, item.kind)]
        own = laid.setdefault((look.time, look.plane, look.window), [])
        worth = _worth(look, able, often, own, grid.shape[axis_of(look.plane)], grid.step)
        before = laid.get((0, look.plane, look.window), [])
        index = int(np.argmax(worth))
        if look.time and len(own) < len(before):
            # As on the first day, if that shows most of what there is to show.
            same = before[len(own)]
            index = same if worth[same] >= 0.5 * worth[index] else index
        if worth[index] <= 0:
            index = usual_level(days[0].body, grid, look.plane, look.window, own)
        own.append(index)
        there = [item for item in able if item.seen(look.time, look.plane, index)]
        for item in there:
            often[look.time, item.key] = often.get((look.time, item.key), 0) + 1
        found.append(_slice(days[look.time], look, index, able, there))
    return tuple(found)


def render(hu: NDArray[np.int16], space: Geometry, one: Slice) -> NDArray[np.uint8]:
    """The picture of a slice; its size depends on the scan's grid and on nothing else."""
    index = one.index
    if one.plane != "axial":
        index = hu.shape[axis_of(one.plane)] - 1 - index
    plain = cut(hu.transpose(2, 1, 0), space, one.plane, index).astype(np.float32)
    return window(square(plain, space, one.plane, longest=LONGEST, smooth=True), one.window)


def shows(setting: Setting, kind: str) -> bool:
    """Whether a window can show a kind of finding."""
    beyond = kind in _NEAR or kind in _FLECKS
    if setting == "lung":
        return not beyond
    if setting == "bone":
        return kind in _CHALK
    return kind in _DENSE or (beyond and kind not in _BONE)


def needed_beyond(draft: Draft) -> tuple[str, ...]:
    """What lies beyond the lung and the illness of a draft cannot do without."""
    disease = diseases().get(draft.disease)
    return () if disease is None else tuple(one.mark for one in disease.beyond if one.needed)


def _items(draft: Draft, days: Sequence[Visit]) -> list[_Item]:
    """Every finding of the case, with its profiles."""
    found: dict[str, _Item] = {}
    grid = days[0].scan.canvas.grid
    for day, visit in enumerate(days):
        for drawn in visit.drawn:
            key = f"plan-{drawn.plan}"
            plan = draft.plans[drawn.plan]
            weight = 4.0 if plan.needed else 2.0 if drawn.plan < draft.illness_plans else 0.5
            item = found.setdefault(key, _Item(key, drawn.kind, weight, least_mm2(drawn)))
            item.days[day] = drawn
            for plane in PLANES:
                item.profiles[day, plane] = profile(grid, drawn.entities, plane)
        for other in visit.beyond:
            name = other.statement.kind
            own = name in draft.beyond[: draft.illness_beyond]
            weight = 4.0 if name in needed_beyond(draft) else 2.0 if own else 0.3
            item = found.setdefault(f"beyond-{name}", _Item(f"beyond-{name}", name, weight, 1.0))
            item.days[day] = other
            for plane, held in _beyond_profiles(visit, other).items():
                item.profiles[day, plane] = held
    return list(found.values())


def _beyond_profiles(visit: Visit, other: Beyond) -> dict[Plane, Profile]:
    """How near each slice passes what lies beyond the lung, from 1 on where it shows it.

    Chalk in heart and aorta is looked up in the voxels.
    """
    grid = visit.scan.canvas.grid
    kind = other.statement.kind
    organs = {"coronary calcification": "heart", "aortic calcification": "aorta"}
    if kind in organs:
        chalk = _chalk(visit, organs[kind])
        entities = [chalk] if chalk is not None else []
        return {plane: profile(grid, entities, plane) / _CHALK_MM2 for plane in PLANES}
    found: dict[Plane, Profile] = {}
    for plane, reach in _NEAR[kind].items():
        axis = axis_of(plane)
        line = grid.axes[2 - axis].astype(np.float64)
        found[plane] = np.maximum(0.0, 2.0 - np.abs(line - other.centre[2 - axis]) / reach)
    return found


def _chalk(visit: Visit, organ: str) -> Entity | None:
    """Voxels of chalk in an organ and beside it."""
    canvas, number = visit.scan.canvas, NUMBER[organ]
    box = [np.flatnonzero((canvas.organs == number).any(axis=axes)) for axes in _OTHERS]
    if any(not len(hit) for hit in box):
        return None
    z, y, x = (slice(max(int(hit[0]) - 2, 0), int(hit[-1]) + 3) for hit in box)
    part = canvas.organs[z, y, x]
    # Specks in the wall are painted over the edge: what is next to it may be fat, never bone.
    near = (part == number) | (part == NUMBER["mediastinum"])
    return Entity((z, y, x), near & (canvas.hu[z, y, x] > _CHALK_HU))


_OTHERS = ((1, 2), (0, 2), (0, 1))


def _worth(
    look: Look,
    able: Sequence[_Item],
    often: dict[tuple[int, str], int],
    own: Sequence[int],
    count: int,
    step: tuple[float, float, float],
) -> Profile:
    """How much each slice of a plane would show of what matters."""
    assert look.plane is not None
    worth = np.zeros(count)
    for item in able:
        held = item.held(look.time, look.plane)
        if held is None or held.max() < item.least:
            continue
        weight = item.weight * 0.3 ** often.get((look.time, item.key), 0)
        weight *= 1.0 if look.time in item.days else 0.5
        if look.window == "mediastinum" and item.kind in _DENSE:
            weight *= 1.0 if item.kind in _BEST_THERE else 0.5
        worth += weight * np.where(held >= item.least, held / held.max(), 0)
    far = np.arange(count) * step[2 - axis_of(look.plane)]
    for index in own:
        worth[np.abs(far - far[index]) < _APART] = 0
    return worth


def _slice(
    visit: Visit, look: Look, index: int, able: Sequence[_Item], there: Sequence[_Item]
) -> Slice:
    assert look.plane is not None
    assert look.window is not None
    plane = look.plane
    gone = [
        item.key
        for item in able
        if look.time and look.time not in item.days and item.seen(0, plane, index)
    ]
    # Of what has no profile in this plane nobody knows whether it is there.
    present = [item.profiles.get((look.time, plane)) for item in able if look.time in item.days]
    return Slice(
        plane=plane,
        window=look.window,
        index=index,
        level=level_words(visit.body, visit.scan.canvas.grid, plane, index),
        shown=tuple(
            Shown(key=item.key, statement=_in_slice(visit, item.days[look.time], plane, index))
            for item in there
        ),
        gone=tuple(gone),
        clear=all(held is not None and held[index] == 0 for held in present),
    )


def _in_slice(visit: Visit, what: Drawn | Beyond, plane: Plane, index: int) -> Statement:
    """What is true of the part of a finding that a slice holds."""
    if isinstance(what, Beyond):
        return what.statement.model_copy(update={"count": 1})
    axis = axis_of(plane)
    parts = []
    for entity in what.entities:
        here = entity.cut[axis]
        if here.start <= index < here.stop:
            local, outer = [slice(None)] * 3, list(entity.cut)
            local[axis] = slice(index - here.start, index - here.start + 1)
            outer[axis] = slice(index, index + 1)
            mask = entity.mask[tuple(local)]
            if mask.sum() >= 3:
                parts.append(Entity((outer[0], outer[1], outer[2]), mask))
    seen = Drawn(
        what.category,
        what.kind,
        parts,
        countable=what.countable,
        sized=what.sized,
        pleural=what.pleural,
        spread=what.spread,
        traits=tuple(t for t in what.traits if t != "air bronchograms" or _airy(visit, parts)),
    )
    found = measure(visit.scan, seen)
    whole = measure(visit.scan, what).size_mm
    if found.size_mm is None or whole is None or found.size_mm >= 0.85 * whole:
        return found
    # A slice through the rim of a lesion does not say how large it is.
    return found.model_copy(update={"size_mm": None})


def _airy(visit: Visit, parts: Sequence[Entity]) -> bool:
    """Whether dark airways are seen in it."""
    x, y, _ = visit.scan.canvas.grid.step
    dark = sum(int((visit.scan.canvas.hu[part.cut][part.mask] < -600).sum()) for part in parts)
    return dark * x * y >= 30
