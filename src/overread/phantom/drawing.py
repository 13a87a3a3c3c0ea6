"""Which function draws which finding, and in which order those of one patient are drawn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib import import_module

import numpy as np

from overread.errors import OverreadError
from overread.phantom.case.again import Again, Draw, Snapshot, lungs_around
from overread.phantom.case.profiles import is_plain
from overread.phantom.findings.scan import Drawn, Scan
from overread.phantom.population import Plan, draw_target

# Fluid and air first, since they push the lung away; then what is widespread, then what is small.
_DRAWN_BY: dict[str, str] = {
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
_TRIES, _MOST_TRIES = 10, 60
"""How often a place is looked for, and how often for what a patient cannot do without."""


def draw_findings(
    scan: Scan,
    plans: Sequence[Plan],
    randomness: Callable[..., np.random.SeedSequence],
    *,
    told: Callable[[int], None] = lambda plan: None,
) -> list[Drawn]:
    """Draw what was planned, each where it fits; in the order of the plans.

    `told` hears the number of each plan as soon as it is drawn.

    Two findings of one category never share a lobe, so that a place tells them apart; unless a
    needed one has no other place, and is of another kind. What is needed and does not fit anywhere
    is an error, as is a change since an earlier day that cannot be drawn of a needed finding.
    """
    done: dict[int, Drawn] = {}
    held: dict[str, list[Drawn]] = defaultdict(list)

    def note(n: int, found: Drawn | None) -> None:
        plan = plans[n]
        if found is None and plan.needed:
            what = f"{plan.kind} of category {plan.category}"
            raise OverreadError(f"{what}, which the illness needs, could not be drawn")
        if found is not None:
            found.plan, found.order = n, len(done)
            done[n] = found
            held[plan.category].append(found)
            told(n)

    there = [n for n, plan in enumerate(plans) if plan.count != (0, 0)]
    for n, found in _draw_again(scan, [(n, plans[n]) for n in there]):
        note(n, found)
    order = list(_DRAWN_BY)
    for n in sorted(there, key=lambda n: order.index(_key(plans[n]))):
        if plans[n].former is None:
            rng = np.random.default_rng(randomness("finding", n))
            note(n, _draw_new(scan, plans[n], rng, held[plans[n].category]))
    if not done and there and all(plans[n].span is None for n in there):
        # A scan without any finding would not be in the data set.
        rng = np.random.default_rng(randomness("finding", "last"))
        for _ in range(50):
            last = drawer(Plan("2d", "solid"))(scan, rng, "solid", draw_target(rng, "2d"))
            if last is not None:
                told(last.plan)
                return [last]
    return [done[n] for n in sorted(done)]


def _draw_new(
    scan: Scan, plan: Plan, rng: np.random.Generator, others: Sequence[Drawn]
) -> Drawn | None:
    """Draw a finding where it fits; `others` are those of its category that are there already."""
    draw = drawer(plan)
    for attempt in range(_MOST_TRIES if plan.needed else _TRIES):
        target = draw_target(rng, plan)
        sharing = [one for one in others if _lobes(one).intersection(target.lobes)]
        if sharing and (attempt < _MOST_TRIES // 2 or plan.kind in [one.kind for one in sharing]):
            continue
        state = rng.bit_generator.state
        undo = Snapshot(scan, lungs_around(scan, target)) if plan.needed else None
        found = draw(scan, rng, plan.kind, target)
        if found is not None:
            found.target, found.state = target, state
            if undo is None or _is_enough(scan, plan, found):
                return found
            undo.restore()
    return None


def _is_enough(scan: Scan, plan: Plan, found: Drawn) -> bool:
    """Whether what was drawn is as many as planned, and can be seen on a slice."""
    many = plan.count is None or len(found.entities) >= plan.count[0]
    return many and is_plain(scan.canvas.grid, found)


def _draw_again(
    scan: Scan, plans: Sequence[tuple[int, Plan]]
) -> Iterator[tuple[int, Drawn | None]]:
    """Draw the findings that were there on an earlier day, in the order they had then."""
    formers = [(n, plan, plan.former) for n, plan in plans if plan.former is not None]
    if not formers:
        return
    again = Again(scan, [former for _, _, former in formers])
    for n, plan, former in sorted(formers, key=lambda each: len(each[2].earlier)):
        found = again.draw(drawer(plan), former, plan.scale)
        if found is None and not plan.needed:
            # A change that cannot be drawn is none.
            was = former.drawn.target
            assert was is not None
            unchanged = replace(former, ratio=(0.8, 1.25))
            found = again.draw(drawer(plan), unchanged, was.scale)
        yield n, found


def _lobes(drawn: Drawn) -> set[str]:
    return set(drawn.target.lobes) if drawn.target is not None else set()


def _key(plan: Plan) -> str:
    whole = f"{plan.category} {plan.kind}"
    return whole if whole in _DRAWN_BY else plan.category


def drawer(plan: Plan) -> Draw:
    """The function that draws what is planned."""
    module, name = _DRAWN_BY[_key(plan)].split(":")
    draw: Draw = getattr(import_module(f"overread.phantom.findings.{module}"), name)
    return draw
