"""Every kind of finding on two days: it grows and shrinks at its place, or does not change."""

from __future__ import annotations

import numpy as np
import pytest

from overread.errors import OverreadError
from overread.phantom.case.days import VOLUME_RATIOS, scale_factor
from overread.phantom.findings.dispatch import draw_findings
from overread.phantom.findings.scan import DrawnFinding, EarlierFinding
from overread.phantom.illness.draft import Turn
from overread.phantom.population import FindingPlan, seed_for
from overread.phantom.statement import KINDS
from tests.phantom.findings.blank_scans import Blank, draw_blank, fresh, painted

PLANS = [FindingPlan(code, kind) for code, kinds in KINDS.items() for kind in kinds if kind != "scar"]
EVERY = pytest.mark.parametrize("plan", PLANS, ids=[f"{p.category} {p.kind}" for p in PLANS])


@pytest.fixture(scope="module")
def blank() -> Blank:
    return draw_blank(5, 3, step=4.0)


def two_days(
    blank: Blank, plan: FindingPlan, turn: Turn, number: int
) -> tuple[DrawnFinding, list[DrawnFinding]]:
    """A finding on one day, and what came of it on the next; on bodies drawn coarsely."""

    def randomness(*which: str | int) -> np.random.SeedSequence:
        return seed_for(4, number, *which)

    later = plan.scale * scale_factor(plan, turn)
    span = (min(plan.scale, later), max(plan.scale, later))
    first = FindingPlan(plan.category, plan.kind, plan.places, plan.lobes, span=span)
    (one,) = draw_findings(fresh(blank), [first], randomness)
    former = EarlierFinding(one, (), VOLUME_RATIOS[turn])
    second = FindingPlan(plan.category, plan.kind, scale=later, span=span, earlier=former, needed=plan.needed)
    return one, draw_findings(fresh(blank), [second], randomness)


@EVERY
@pytest.mark.parametrize("turn", ["larger", pytest.param("smaller", marks=pytest.mark.slow)])
def test_every_kind_can_change(blank: Blank, plan: FindingPlan, turn: Turn) -> None:
    """Most have the change that was planned, and the others none at all."""
    turned = 0
    for number in (1, 2):
        one, (two,) = two_days(blank, plan, turn, number)
        low, high = VOLUME_RATIOS[turn]
        ratio = two.voxels / one.voxels
        turned += low <= ratio <= high
        assert low <= ratio <= high or 0.8 <= ratio <= 1.25
    assert turned


def test_a_needed_change_that_cannot_be_drawn_is_an_error(blank: Blank) -> None:
    """A nodule that is to grow where every other voxel is taken by another finding."""
    plan = FindingPlan("2d", "solid", ("lobe",), ("RUL",), needed=True)
    one, _ = two_days(blank, plan, "larger", 1)
    own = painted(fresh(blank), one)
    for needed in (True, False):
        scan = fresh(blank)
        scan.claimed[:] = ~own
        former = EarlierFinding(one, (), VOLUME_RATIOS["larger"])
        later = FindingPlan("2d", "solid", scale=1.3, span=(1, 1.3), earlier=former, needed=needed)
        if needed:
            with pytest.raises(OverreadError, match="solid"):
                draw_findings(scan, [later], lambda *which: seed_for(4, 1, *which))
        else:
            (same,) = draw_findings(scan, [later], lambda *which: seed_for(4, 1, *which))
            assert (painted(scan, same) == own).all()
