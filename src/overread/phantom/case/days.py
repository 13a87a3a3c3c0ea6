"""The days of a case: a patient on one or two days, and what has changed between them.

The findings that a draft plans are drawn, and the changes are then measured, never taken from the
plan. A finding that is there on both days is the same one: redrawn at its place, as large as before
or to a measurably other volume (see `redraw`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from overread.core import Record
from overread.errors import OverreadError
from overread.phantom.findings.extrapulmonary import CONSPICUOUS_NAMES
from overread.phantom.findings.scan import DrawnFinding, EarlierFinding
from overread.phantom.illness.draft import Draft, Turn
from overread.phantom.population import FindingPlan, seed_for
from overread.phantom.statement import FindingStatement
from overread.phantom.visit import PatientBody, Visit
from overread.phantom.words.lexicon import Style

VOLUME_RATIOS: dict[Turn, tuple[float, float]] = {
    "smaller": (0.15, 0.7),
    "same": (0.9, 1.1),
    "larger": (1.4, 4.0),
}
"""Volume on the second day over that on the first, for what is there on both."""

MIN_VOLUME_RATIO = 1.25
"""Below this ratio of volumes, either way, nothing is said to have changed."""

_SCALE_FACTORS = {"larger": {3: 1.33, 2: 1.55, 1: 1.8}, "smaller": {3: 0.68, 2: 0.57, 1: 0.45}}
_VOLUME_POWERS = {"2d": 3, "2h": 3, "effusion": 1, "pneumothorax": 1}
"""About which power of its scale the volume of a category or kind is; 2 where it is not here."""


class FindingChange(Record):
    """What became of one finding between two days, as the voxels have it."""

    plan: int | None = None
    """Number of the draft's plan; absent for a finding beyond the lung."""
    turn: Turn
    before: FindingStatement | None = None
    """The finding on the first day; absent where it is new."""
    after: FindingStatement | None = None
    """The finding on the second day; absent where it is gone."""
    ratio: float | None = None
    """Its volume on the second day over that on the first; absent where it has no mask twice."""

    @property
    def statement(self) -> FindingStatement:
        """The finding as it was last seen."""
        found = self.after or self.before
        assert found is not None
        return found


def draw_days(
    person: PatientBody, draft: Draft, *, style: Style = "radiologist", first_only: bool = False
) -> tuple[Visit, ...]:
    """The patient on the day or the two days of a draft, with the body that the person has."""
    seed = person.settings.seed
    days: list[Visit] = []
    last = int(draft.longitudinal and not first_only)
    for day in range(last + 1):
        visit = person.draw_visit(
            _plans_of_day(draft, day, days),
            _extrapulmonary_of_day(draft, day),
            np.random.default_rng(seed_for(seed, draft.patient, "case", "beyond")),
            np.random.default_rng(seed_for(seed, draft.patient, "case", "words", day)),
            style,
            last=day == last,
        )
        days.append(visit)
    return tuple(days)


def measure_changes(first: Visit, second: Visit, draft: Draft) -> tuple[FindingChange, ...]:
    """What became of every finding, in the order of the draft's plans; measured on the voxels."""
    found: list[FindingChange] = []
    for number in range(len(draft.plans)):
        (one, before), (two, after) = (_finding_of_plan(visit, number) for visit in (first, second))
        if before is None and after is None:
            continue
        ratio = two.voxels / one.voxels if one is not None and two is not None else None
        found.append(
            FindingChange(
                plan=number,
                turn=_classify_change(before, after, ratio),
                before=before,
                after=after,
                ratio=None if ratio is None else round(ratio, 3),
            )
        )
    for name in dict.fromkeys(one.statement.kind for one in (*first.extrapulmonary, *second.extrapulmonary)):
        before, after = (_extrapulmonary_statement(visit, name) for visit in (first, second))
        found.append(FindingChange(turn=_classify_change(before, after, None), before=before, after=after))
    return tuple(found)


def _plans_of_day(draft: Draft, day: int, days: Sequence[Visit]) -> list[FindingPlan]:
    """The plans as they are on a day; their numbers are those of the draft."""
    unchanged: Turn = "same"
    turns = draft.turns or (unchanged,) * len(draft.plans)
    if len(turns) != len(draft.plans):
        raise OverreadError("a draft with two time points has not one turn for each of its plans")
    earlier = [] if not days else sorted(days[0].drawn_findings, key=lambda one: one.order)
    found = []
    for number, (plan, turn) in enumerate(zip(draft.plans, turns, strict=True)):
        later = plan.scale * scale_factor(plan, turn)
        span = (min(plan.scale, later), max(plan.scale, later))
        plan = replace(plan, span=span)
        if turn == ("gone" if day else "new"):
            plan = replace(plan, count=(0, 0), needed=False)
        elif day and turn != "new":
            former = _find_earlier(earlier, number, turn)
            # What could not be drawn on the first day was not there, and is not there now.
            plan = replace(plan, scale=later, earlier=former)
            plan = plan if former is not None else replace(plan, count=(0, 0), needed=False)
        found.append(plan)
    return found


def _find_earlier(earlier: Sequence[DrawnFinding], number: int, turn: Turn) -> EarlierFinding | None:
    for place, drawn in enumerate(earlier):
        if drawn.plan == number:
            return EarlierFinding(drawn, tuple(earlier[:place]), VOLUME_RATIOS[turn])
    return None


def scale_factor(plan: FindingPlan, turn: Turn) -> float:
    """By how much a plan's scale is changed first, for its volume to change as it should."""
    if turn not in _SCALE_FACTORS:
        return 1.0
    power = _VOLUME_POWERS.get(plan.kind, _VOLUME_POWERS.get(plan.category, 2))
    return _SCALE_FACTORS[turn][power]


def _extrapulmonary_of_day(draft: Draft, day: int) -> list[str]:
    """What there is beyond the lung on a day.

    Those of both days come first, so that the others do not change what is drawn of them.
    """
    turns = draft.extrapulmonary_turns or ("same",) * len(draft.extrapulmonary)
    # What belongs to the illness is drawn plainly.
    asked = [
        CONSPICUOUS_NAMES.get(name, name) if number < draft.illness_extrapulmonary else name
        for number, name in enumerate(draft.extrapulmonary)
    ]
    both = [n for n, t in zip(asked, turns, strict=True) if t not in ("gone", "new")]
    absent = "gone" if day else "new"
    some = [n for n, t in zip(asked, turns, strict=True) if t in ("gone", "new") and t != absent]
    return both + some


def _finding_of_plan(visit: Visit, plan: int) -> tuple[DrawnFinding | None, FindingStatement | None]:
    for drawn, finding in zip(visit.drawn_findings, visit.findings, strict=True):
        if drawn.plan == plan:
            return drawn, finding.statement
    return None, None


def _extrapulmonary_statement(visit: Visit, name: str) -> FindingStatement | None:
    return next((one.statement for one in visit.extrapulmonary if one.statement.kind == name), None)


def _classify_change(
    before: FindingStatement | None, after: FindingStatement | None, ratio: float | None
) -> Turn:
    if before is None or after is None:
        return "new" if before is None else "gone"
    if ratio is None or 1 / MIN_VOLUME_RATIO < ratio < MIN_VOLUME_RATIO:
        return "same"
    return "larger" if ratio > 1 else "smaller"
