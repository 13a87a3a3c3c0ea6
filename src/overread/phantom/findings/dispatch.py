"""Which function draws which finding, and in which order those of one patient are drawn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib import import_module

import numpy as np

from overread.errors import OverreadError
from overread.phantom.case.redraw import DrawFunction, Redrawer, Snapshot, lungs_box
from overread.phantom.case.slice_areas import is_conspicuous
from overread.phantom.findings.scan import DrawnFinding, Scan
from overread.phantom.population import FindingPlan, draw_target

# Fluid and air first, since they push the lung away; then what is widespread, then what is small.
_DRAWING_FUNCTIONS: dict[str, str] = {
    "2g": "pleura:draw_pneumothorax",
    "2e effusion": "pleura:draw_effusion",
    "2e thickening": "pleura:draw_thickening",
    "1f mosaic attenuation": "mosaic:draw_mosaic",
    "2f": "honeycomb:draw_honeycombing",
    "1c": "emphysema:draw_emphysema",
    "2b": "opacities:draw_consolidation",
    "2c": "opacities:draw_ground_glass",
    "1d": "lines:draw_septa",
    "1b": "airways:draw_bronchiectasis",
    "1a": "airways:draw_wall_thickening",
    "1f mucus plugging": "airways:draw_mucus_plugging",
    "2h": "cysts:draw_cysts",
    "2d": "nodules:draw_nodules",
    "1e": "micronodules:draw_micronodules",
    "2a": "lines:draw_lines",
}
_TRIES, _MAX_TRIES = 10, 60
"""How often a place is looked for, and how often for what a patient cannot do without."""


def draw_findings(
    scan: Scan,
    plans: Sequence[FindingPlan],
    randomness: Callable[..., np.random.SeedSequence],
    *,
    on_drawn: Callable[[int], None] = lambda plan: None,
) -> list[DrawnFinding]:
    """Draw the planned findings where they fit; the result is in the order of the plans.

    The callback is called with the number of each plan as soon as it is drawn.

    Two findings of one category never share a lobe, so that a place tells them apart; unless a
    needed one has no other place, and is of another kind. What is needed and does not fit anywhere
    is an error, as is a change since an earlier day that cannot be drawn of a needed finding.
    """
    done: dict[int, DrawnFinding] = {}
    held: dict[str, list[DrawnFinding]] = defaultdict(list)

    def note(n: int, found: DrawnFinding | None) -> None:
        plan = plans[n]
        if found is None and plan.needed:
            what = f"{plan.kind} of category {plan.category}"
            raise OverreadError(f"{what}, which the illness needs, could not be drawn")
        if found is not None:
            found.plan, found.order = n, len(done)
            done[n] = found
            held[plan.category].append(found)
            on_drawn(n)

    there = [n for n, plan in enumerate(plans) if plan.count != (0, 0)]
    for n, found in _redraw_findings(scan, [(n, plans[n]) for n in there]):
        note(n, found)
    order = list(_DRAWING_FUNCTIONS)
    for n in sorted(there, key=lambda n: order.index(_function_key(plans[n]))):
        if plans[n].earlier is None:
            rng = np.random.default_rng(randomness("finding", n))
            note(n, _draw_new(scan, plans[n], rng, held[plans[n].category]))
    if not done and there and all(plans[n].span is None for n in there):
        # A scan without any finding would not be in the data set.
        rng = np.random.default_rng(randomness("finding", "last"))
        for _ in range(50):
            last = find_drawing_function(FindingPlan("2d", "solid"))(
                scan, rng, "solid", draw_target(rng, "2d")
            )
            if last is not None:
                on_drawn(last.plan)
                return [last]
    return [done[n] for n in sorted(done)]


def _draw_new(
    scan: Scan, plan: FindingPlan, rng: np.random.Generator, others: Sequence[DrawnFinding]
) -> DrawnFinding | None:
    """Draw a finding where it fits; `others` are those of its category that are there already."""
    draw = find_drawing_function(plan)
    for attempt in range(_MAX_TRIES if plan.needed else _TRIES):
        target = draw_target(rng, plan)
        sharing = [one for one in others if _target_lobes(one).intersection(target.lobes)]
        if sharing and (attempt < _MAX_TRIES // 2 or plan.kind in [one.kind for one in sharing]):
            continue
        state = rng.bit_generator.state
        undo = Snapshot(scan, lungs_box(scan, target)) if plan.needed else None
        found = draw(scan, rng, plan.kind, target)
        if found is not None:
            found.target, found.rng_state = target, state
            if undo is None or _meets_plan(scan, plan, found):
                return found
            undo.restore()
    return None


def _meets_plan(scan: Scan, plan: FindingPlan, found: DrawnFinding) -> bool:
    """Whether what was drawn is as many as planned, and can be seen on a slice."""
    many = plan.count is None or len(found.entities) >= plan.count[0]
    return many and is_conspicuous(scan.canvas.grid, found)


def _redraw_findings(
    scan: Scan, plans: Sequence[tuple[int, FindingPlan]]
) -> Iterator[tuple[int, DrawnFinding | None]]:
    """Draw the findings that were there on an earlier day, in the order they had then."""
    formers = [(n, plan, plan.earlier) for n, plan in plans if plan.earlier is not None]
    if not formers:
        return
    again = Redrawer(scan, [former for _, _, former in formers])
    for n, plan, former in sorted(formers, key=lambda each: len(each[2].drawn_before)):
        found = again.redraw(find_drawing_function(plan), former, plan.scale)
        if found is None and not plan.needed:
            # A change that cannot be drawn is none.
            was = former.drawn.target
            assert was is not None
            unchanged = replace(former, ratio=(0.8, 1.25))
            found = again.redraw(find_drawing_function(plan), unchanged, was.scale)
        yield n, found


def _target_lobes(drawn: DrawnFinding) -> set[str]:
    return set(drawn.target.lobes) if drawn.target is not None else set()


def _function_key(plan: FindingPlan) -> str:
    whole = f"{plan.category} {plan.kind}"
    return whole if whole in _DRAWING_FUNCTIONS else plan.category


def find_drawing_function(plan: FindingPlan) -> DrawFunction:
    """The function that draws what is planned."""
    module, name = _DRAWING_FUNCTIONS[_function_key(plan)].split(":")
    draw: DrawFunction = getattr(import_module(f"overread.phantom.findings.{module}"), name)
    return draw
