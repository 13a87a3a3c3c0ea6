"""Which function draws which finding, and in which order those of one patient are drawn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from importlib import import_module

import numpy as np

from overread.phantom.findings.scan import Drawn, Scan, Target
from overread.phantom.population import Plan, draw_target

Draw = Callable[[Scan, np.random.Generator, str, Target], Drawn | None]

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
_TRIES = 10


def draw_findings(
    scan: Scan, plans: Sequence[Plan], randomness: Callable[..., np.random.SeedSequence]
) -> list[Drawn]:
    """Draw what was planned, each where it fits; in the order of the plans.

    Two findings of one category never share a lobe, so that a place tells them apart.
    """
    order = list(_DRAWN_BY)
    jobs = sorted(range(len(plans)), key=lambda n: order.index(_key(plans[n])))
    done: dict[int, Drawn] = {}
    held: dict[str, set[str]] = defaultdict(set)
    for n in jobs:
        plan = plans[n]
        rng = np.random.default_rng(randomness("finding", n))
        draw = drawer(plan)
        for _ in range(_TRIES):
            target = draw_target(rng, plan.category)
            if held[plan.category].intersection(target.lobes):
                continue
            found = draw(scan, rng, plan.kind, target)
            if found is not None:
                done[n] = found
                held[plan.category].update(target.lobes)
                break
    if not done:
        # A scan without any finding would not be in the data set.
        rng = np.random.default_rng(randomness("finding", "last"))
        for _ in range(50):
            found = drawer(Plan("2d", "solid"))(scan, rng, "solid", draw_target(rng, "2d"))
            if found is not None:
                return [found]
    return [done[n] for n in sorted(done)]


def _key(plan: Plan) -> str:
    whole = f"{plan.category} {plan.kind}"
    return whole if whole in _DRAWN_BY else plan.category


def drawer(plan: Plan) -> Draw:
    """The function that draws what is planned."""
    module, name = _DRAWN_BY[_key(plan)].split(":")
    draw: Draw = getattr(import_module(f"overread.phantom.findings.{module}"), name)
    return draw
