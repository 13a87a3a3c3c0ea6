"""Draws how the findings of a case change between its two time points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from overread.phantom.illness.draft import Turn
from overread.phantom.illness.model import IntervalUnit, load_courses
from overread.phantom.population import FindingPlan

TURNS: tuple[Turn, ...] = ("gone", "smaller", "same", "larger", "new")
"""From the best to the worst."""
_ABSENT_TURNS: tuple[Turn, ...] = ("new", "gone")
_INDEPENDENT_COURSES = ("wanders", "comes-and-goes")


@dataclass(frozen=True)
class DrawnCourse:
    """Plans and findings beyond the lung with what became of each; no turns with one time point."""

    plans: tuple[FindingPlan, ...]
    turns: tuple[Turn, ...]
    extrapulmonary: tuple[str, ...]
    extrapulmonary_turns: tuple[Turn, ...]


def draw_course(
    rng: np.random.Generator,
    plans: Sequence[FindingPlan],
    plan_courses: Sequence[str],
    beyond: Sequence[str],
    beyond_courses: Sequence[str],
    span: IntervalUnit | None,
    *,
    filler: FindingPlan,
) -> DrawnCourse:
    """Draw the turn of every finding; at least one changes, and no time point is without a plan.

    `filler` is drawn where a lung would otherwise show nothing.
    """
    plans = list(plans) or [filler]
    named = [*plan_courses, *("lasts" for _ in plans[len(plan_courses) :])]
    if span is None:
        return DrawnCourse(tuple(plans), (), tuple(beyond), ())
    # What belongs to one illness goes one way, unless it is its manner to wander.
    way = rng.random()
    turns = [
        _pick_turn(rng.random() if name in _INDEPENDENT_COURSES else way, load_courses()[name][span])
        for name in named
    ]
    outer = [_pick_turn(rng.random(), load_courses()[name][span]) for name in beyond_courses]
    if all(turn == "same" for turn in [*turns, *outer]):
        turns = _force_change(rng, named, span, turns)
    if all(turn == "same" for turn in [*turns, *outer]):
        # Nothing of the illness can change: a band of collapsed lung can.
        where = [n for n, plan in enumerate(plans) if _same_kind(plan, filler)]
        if not where:
            where = [len(plans)]
            plans.append(filler)
            turns.append("same")
        turns[where[0]] = "gone" if rng.random() < 0.5 else "new"
    for absent in _ABSENT_TURNS:
        if not all(turn == absent for turn in turns):
            continue
        # The day would show nothing in the lung.
        if not _same_kind(plans[0], filler):
            turns[0] = "larger" if absent == "new" else "smaller"
        else:
            # A band does not grow: one lung keeps its own, and that of the other comes or goes.
            plans[0], turns[0] = replace(plans[0], places=("lobe",), lobes=("RLL",)), "same"
            plans.append(replace(plans[0], lobes=("LLL",)))
            turns.append(absent)
    # What has grown later has room to grow at first.
    plans = [
        replace(plan, scale=round(max(0.7 * plan.scale, 0.5), 2)) if turn == "larger" else plan
        for plan, turn in zip(plans, turns, strict=True)
    ]
    changed = [n for n, turn in enumerate(turns) if turn != "same"]
    if len(changed) == 1 and set(outer) <= {"same"}:
        # The one thing that differs between the days has to be drawn.
        plans[changed[0]] = replace(plans[changed[0]], needed=True)
    return DrawnCourse(tuple(plans), tuple(turns), tuple(beyond), tuple(outer))


def _same_kind(one: FindingPlan, other: FindingPlan) -> bool:
    return (one.category, one.kind) == (other.category, other.kind)


def _pick_turn(way: float, chances: Mapping[Turn, float]) -> Turn:
    """The turn at a share of the way from the best to the worst."""
    left = way * sum(chances.values())
    for turn in TURNS:
        left -= chances.get(turn, 0.0)
        if left < 0:
            return turn
    return "same"


def _force_change(
    rng: np.random.Generator, named: Sequence[str], span: IntervalUnit, turns: list[Turn]
) -> list[Turn]:
    """The turns with one of them another than 'same', where a course allows it."""
    able = [n for n, name in enumerate(named) if set(load_courses()[name][span]) != {"same"}]
    if not able:
        return turns
    n = able[int(rng.random() * len(able))]
    left: dict[Turn, float] = {
        turn: c for turn, c in load_courses()[named[n]][span].items() if turn != "same"
    }
    return [_pick_turn(rng.random(), left) if k == n else turn for k, turn in enumerate(turns)]
