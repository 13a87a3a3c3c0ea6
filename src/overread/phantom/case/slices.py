"""CT slices of a case: which ones are chosen, what each shows, and its picture.

**Choice.** Every picture asks for a plane and a window. For each finding of the patient the area in
every slice of that plane is measured. The slice is chosen that shows most of what matters: findings
that the illness needs before its other findings, these before anything else, and findings that no
earlier picture of that day has shown before those that were. Two pictures of one plane and window
keep their distance. On the second day the slice of the first day is taken again unless another one
shows far more, so that a finding that is gone can be missed at its place. Where a window has
nothing to show, a usual level is taken.

**Shown findings.** A slice shows a finding where it holds enough of it
(`slice_areas.MIN_VISIBLE_MM2`) and the window can show it: the lung window everything in lung and
pleura; the mediastinal window soft tissue and extrapulmonary findings; the bone window calcium,
fractures and osteophytes.

**Picture.** Upright, the patient's right on the left of axial and coronal pictures, the front on
the left of sagittal ones; square pixels, the longer side `LONGEST_SIDE` of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from overread.core import Geometry, Record
from overread.phantom.body.canvas import ORGAN_NUMBERS
from overread.phantom.case.levels import PLANES, Plane, choose_usual_level, describe_level, plane_axis
from overread.phantom.case.slice_areas import SliceAreas, measure_slice_areas, min_visible_mm2
from overread.phantom.findings.extrapulmonary import ExtrapulmonaryFinding
from overread.phantom.findings.measure import measure_finding
from overread.phantom.findings.scan import DrawnFinding, Entity
from overread.phantom.illness.draft import Draft, PictureSpec
from overread.phantom.illness.model import load_diseases
from overread.phantom.statement import FindingStatement
from overread.phantom.visit import Visit
from overread.pixels.planes import extract_slice, resample_square
from overread.pixels.windows import apply_window

WindowName = Literal["lung", "mediastinum", "bone"]
LONGEST_SIDE = 512
"""Pixels of the longer side of a picture."""
_SOFT_TISSUE_KINDS: tuple[str, ...] = (
    *("consolidation", "atelectasis", "solid", "spiculated", "mass", "calcified"),
    *("effusion", "thickening", "cavity", "fluid cyst"),
)
_VASCULAR_CALCIUM = ("coronary calcification", "aortic calcification")
_BONE_KINDS = ("rib fracture", "osteophytes")
_CALCIFIED_KINDS = ("calcified", *_BONE_KINDS, *_VASCULAR_CALCIUM)
_BEST_IN_MEDIASTINUM = ("effusion", "thickening", "mass", "fluid cyst", "calcified")
"""What the mediastinal window shows as well as the lung window does, or better."""

_REACH_MM: dict[str, dict[Plane, float]] = {
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
_MIN_DISTANCE_MM = 12.0
"""Millimetres at least between two slices of one plane, window and day."""
_CALCIUM_HU, _CALCIUM_MM2 = 250, 8.0


class ShownFinding(Record):
    """One finding as one slice shows it."""

    key: str
    """'plan-0', as the draft numbers its plans, or 'beyond-lymph nodes'."""
    statement: FindingStatement
    """What is true of the part that lies in the slice."""


class CaseSlice(Record):
    """One CT picture of a case: where it is laid, and what it shows."""

    plane: Plane
    window: WindowName
    index: int
    """Slice of the scan's arrays, (z, y, x), counted along the axis that the plane cuts."""
    level: str
    """Where that is, in words ('at the level of the carina')."""
    shown: tuple[ShownFinding, ...] = ()
    """The findings that it shows."""
    gone: tuple[str, ...] = ()
    """Keys of those that an earlier day showed here and that are no longer there."""
    clear: bool = False
    """Whether it holds nothing at all that its window could show."""


@dataclass
class _Candidate:
    """A finding on all days: how much of it every slice holds, and how much it matters."""

    key: str
    kind: str
    weight: float
    least: float
    days: dict[int, DrawnFinding | ExtrapulmonaryFinding] = field(default_factory=dict)
    profiles: dict[tuple[int, Plane], SliceAreas] = field(default_factory=dict)

    def areas_on(self, day: int, plane: Plane) -> SliceAreas | None:
        """Its profile on a day, or on the first where it is gone by then."""
        return self.profiles.get((day, plane), self.profiles.get((0, plane)))

    def is_visible(self, day: int, plane: Plane, index: int) -> bool:
        """Whether a slice of that day holds enough of it."""
        held = self.profiles.get((day, plane))
        return held is not None and bool(held[index] >= self.least)


def choose_slices(draft: Draft, days: Sequence[Visit]) -> tuple[CaseSlice | None, ...]:
    """Where the slices of a case lie and what each shows; None for its films."""
    items = _list_candidates(draft, days)
    grid = days[0].scan.canvas.grid
    laid: dict[tuple[int, Plane, WindowName], list[int]] = {}
    often: dict[tuple[int, str], int] = {}
    found: list[CaseSlice | None] = []
    for look in draft.pictures:
        if look.plane is None or look.window is None:
            found.append(None)
            continue
        able = [item for item in items if window_shows(look.window, item.kind)]
        own = laid.setdefault((look.time, look.plane, look.window), [])
        worth = _score_slices(look, able, often, own, grid.shape[plane_axis(look.plane)], grid.step)
        before = laid.get((0, look.plane, look.window), [])
        index = int(np.argmax(worth))
        if look.time and len(own) < len(before):
            # As on the first day, if that shows most of what there is to show.
            same = before[len(own)]
            index = same if worth[same] >= 0.5 * worth[index] else index
        if worth[index] <= 0:
            index = choose_usual_level(days[0].body, grid, look.plane, look.window, own)
        own.append(index)
        there = [item for item in able if item.is_visible(look.time, look.plane, index)]
        for item in there:
            often[look.time, item.key] = often.get((look.time, item.key), 0) + 1
        found.append(_make_slice(days[look.time], look, index, able, there))
    return tuple(found)


def render_slice(hu: NDArray[np.int16], space: Geometry, one: CaseSlice) -> NDArray[np.uint8]:
    """The picture of a slice; its size depends on the scan's grid and on nothing else."""
    index = one.index
    if one.plane != "axial":
        index = hu.shape[plane_axis(one.plane)] - 1 - index
    plain = extract_slice(hu.transpose(2, 1, 0), space, one.plane, index).astype(np.float32)
    return apply_window(
        resample_square(plain, space, one.plane, longest=LONGEST_SIDE, smooth=True), one.window
    )


def window_shows(setting: WindowName, kind: str) -> bool:
    """Whether a window can show a kind of finding."""
    beyond = kind in _REACH_MM or kind in _VASCULAR_CALCIUM
    if setting == "lung":
        return not beyond
    if setting == "bone":
        return kind in _CALCIFIED_KINDS
    return kind in _SOFT_TISSUE_KINDS or (beyond and kind not in _BONE_KINDS)


def needed_extrapulmonary(draft: Draft) -> tuple[str, ...]:
    """What lies beyond the lung and the illness of a draft cannot do without."""
    disease = load_diseases().get(draft.disease)
    return () if disease is None else tuple(one.mark for one in disease.beyond if one.needed)


def _list_candidates(draft: Draft, days: Sequence[Visit]) -> list[_Candidate]:
    """Every finding of the case, with its profiles."""
    found: dict[str, _Candidate] = {}
    grid = days[0].scan.canvas.grid
    for day, visit in enumerate(days):
        for drawn in visit.drawn_findings:
            key = f"plan-{drawn.plan}"
            plan = draft.plans[drawn.plan]
            weight = 4.0 if plan.needed else 2.0 if drawn.plan < draft.illness_plans else 0.5
            item = found.setdefault(key, _Candidate(key, drawn.kind, weight, min_visible_mm2(drawn)))
            item.days[day] = drawn
            for plane in PLANES:
                item.profiles[day, plane] = measure_slice_areas(grid, drawn.entities, plane)
        for other in visit.extrapulmonary:
            name = other.statement.kind
            own = name in draft.extrapulmonary[: draft.illness_extrapulmonary]
            weight = 4.0 if name in needed_extrapulmonary(draft) else 2.0 if own else 0.3
            item = found.setdefault(f"beyond-{name}", _Candidate(f"beyond-{name}", name, weight, 1.0))
            item.days[day] = other
            for plane, held in _extrapulmonary_areas(visit, other).items():
                item.profiles[day, plane] = held
    return list(found.values())


def _extrapulmonary_areas(visit: Visit, other: ExtrapulmonaryFinding) -> dict[Plane, SliceAreas]:
    """How near each slice passes an extrapulmonary finding, from 1 on where it shows it.

    Calcium in heart and aorta is measured in the voxels.
    """
    grid = visit.scan.canvas.grid
    kind = other.statement.kind
    organs = {"coronary calcification": "heart", "aortic calcification": "aorta"}
    if kind in organs:
        chalk = _find_calcium(visit, organs[kind])
        entities = [chalk] if chalk is not None else []
        return {plane: measure_slice_areas(grid, entities, plane) / _CALCIUM_MM2 for plane in PLANES}
    found: dict[Plane, SliceAreas] = {}
    for plane, reach in _REACH_MM[kind].items():
        axis = plane_axis(plane)
        line = grid.axes[2 - axis].astype(np.float64)
        found[plane] = np.maximum(0.0, 2.0 - np.abs(line - other.centre[2 - axis]) / reach)
    return found


def _find_calcium(visit: Visit, organ: str) -> Entity | None:
    """Voxels of chalk in an organ and beside it."""
    canvas, number = visit.scan.canvas, ORGAN_NUMBERS[organ]
    box = [np.flatnonzero((canvas.organs == number).any(axis=axes)) for axes in _OTHER_AXES]
    if any(not len(hit) for hit in box):
        return None
    z, y, x = (slice(max(int(hit[0]) - 2, 0), int(hit[-1]) + 3) for hit in box)
    part = canvas.organs[z, y, x]
    # Specks in the wall are painted over the edge: what is next to it may be fat, never bone.
    near = (part == number) | (part == ORGAN_NUMBERS["mediastinum"])
    return Entity((z, y, x), near & (canvas.hu[z, y, x] > _CALCIUM_HU))


_OTHER_AXES = ((1, 2), (0, 2), (0, 1))


def _score_slices(
    look: PictureSpec,
    able: Sequence[_Candidate],
    often: dict[tuple[int, str], int],
    own: Sequence[int],
    count: int,
    step: tuple[float, float, float],
) -> SliceAreas:
    """How much each slice of a plane would show of what matters."""
    assert look.plane is not None
    worth = np.zeros(count)
    for item in able:
        held = item.areas_on(look.time, look.plane)
        if held is None or held.max() < item.least:
            continue
        weight = item.weight * 0.3 ** often.get((look.time, item.key), 0)
        weight *= 1.0 if look.time in item.days else 0.5
        if look.window == "mediastinum" and item.kind in _SOFT_TISSUE_KINDS:
            weight *= 1.0 if item.kind in _BEST_IN_MEDIASTINUM else 0.5
        worth += weight * np.where(held >= item.least, held / held.max(), 0)
    far = np.arange(count) * step[2 - plane_axis(look.plane)]
    for index in own:
        worth[np.abs(far - far[index]) < _MIN_DISTANCE_MM] = 0
    return worth


def _make_slice(
    visit: Visit, look: PictureSpec, index: int, able: Sequence[_Candidate], there: Sequence[_Candidate]
) -> CaseSlice:
    assert look.plane is not None
    assert look.window is not None
    plane = look.plane
    gone = [
        item.key
        for item in able
        if look.time and look.time not in item.days and item.is_visible(0, plane, index)
    ]
    # Of what has no profile in this plane nobody knows whether it is there.
    present = [item.profiles.get((look.time, plane)) for item in able if look.time in item.days]
    return CaseSlice(
        plane=plane,
        window=look.window,
        index=index,
        level=describe_level(visit.body, visit.scan.canvas.grid, plane, index),
        shown=tuple(
            ShownFinding(
                key=item.key, statement=_statement_in_slice(visit, item.days[look.time], plane, index)
            )
            for item in there
        ),
        gone=tuple(gone),
        clear=all(held is not None and held[index] == 0 for held in present),
    )


def _statement_in_slice(
    visit: Visit, what: DrawnFinding | ExtrapulmonaryFinding, plane: Plane, index: int
) -> FindingStatement:
    """What is true of the part of a finding that a slice holds."""
    if isinstance(what, ExtrapulmonaryFinding):
        return what.statement.model_copy(update={"count": 1})
    axis = plane_axis(plane)
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
    seen = DrawnFinding(
        what.category,
        what.kind,
        parts,
        countable=what.countable,
        sized=what.sized,
        pleural=what.pleural,
        spread=what.spread,
        traits=tuple(
            t for t in what.traits if t != "air bronchograms" or _has_air_bronchograms(visit, parts)
        ),
    )
    found = measure_finding(visit.scan, seen)
    whole = measure_finding(visit.scan, what).size_mm
    if found.size_mm is None or whole is None or found.size_mm >= 0.85 * whole:
        return found
    # A slice through the rim of a lesion does not say how large it is.
    return found.model_copy(update={"size_mm": None})


def _has_air_bronchograms(visit: Visit, parts: Sequence[Entity]) -> bool:
    """Whether dark airways are seen in it."""
    x, y, _ = visit.scan.canvas.grid.step
    dark = sum(int((visit.scan.canvas.hu[part.cut][part.mask] < -600).sum()) for part in parts)
    return dark * x * y >= 30
