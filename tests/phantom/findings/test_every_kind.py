"""What holds for every kind of finding: it fits its place, keeps to it, and can be drawn again."""

from __future__ import annotations

import numpy as np
import pytest

from overread.ontology import lung_anatomy
from overread.phantom.body.canvas import ORGAN_NUMBERS
from overread.phantom.body.lungs import LOBES, SEGMENTS
from overread.phantom.difficulty import DIFFICULTIES
from overread.phantom.findings.dispatch import find_drawing_function
from overread.phantom.findings.scan import MIN_VOXELS, DrawnFinding, Scan, Target
from overread.phantom.population import FindingPlan
from overread.phantom.statement import KINDS, SPREADS, TRAITS
from tests.phantom.findings.blank_scans import Blank, draw_blank, fresh, painted

PLANS = [FindingPlan(code, kind) for code, kinds in KINDS.items() for kind in kinds]
EVERY = pytest.mark.parametrize("plan", PLANS, ids=[f"{p.category} {p.kind}" for p in PLANS])


@pytest.fixture(scope="module")
def blank() -> Blank:
    return draw_blank(5, 1)


def draw(
    scan: Scan, plan: FindingPlan, seed: int, *lobes: str, segment: str | None = None
) -> DrawnFinding | None:
    """Draw what is planned."""
    rng = np.random.default_rng(seed)
    return find_drawing_function(plan)(scan, rng, plan.kind, Target(lobes, segment))


@EVERY
@pytest.mark.parametrize(
    "lobes",
    [("RLL",), *(pytest.param(one, marks=pytest.mark.slow) for one in (("RML", "LUL"), LOBES))],
    ids="+".join,
)
def test_it_is_drawn_in_its_lobes(blank: Blank, plan: FindingPlan, lobes: tuple[str, ...]) -> None:
    before = blank[1]
    found = 0
    for seed in (1, 2):
        scan = fresh(blank)
        drawn = draw(scan, plan, seed, *lobes)
        if drawn is None:
            assert (scan.canvas.hu == before.hu).all()
            continue
        found += 1
        assert (drawn.category, drawn.kind) == (plan.category, plan.kind)
        assert set(drawn.spread) <= set(SPREADS)
        assert set(drawn.traits) <= set(TRAITS)
        assert all(entity.voxels >= MIN_VOXELS for entity in drawn.entities)
        mask = painted(scan, drawn)
        assert (scan.claimed == mask).all()
        assert np.isfinite(scan.canvas.hu[mask]).all()
        own = [LOBES.index(code) + 1 for code in lobes]
        if drawn.pleural:
            sides = {lung_anatomy().by_code[code].side for code in lobes}
            own = [n for n, code in enumerate(LOBES, 1) if lung_anatomy().by_code[code].side in sides]
            assert len(drawn.entities) == len(sides)
            spaces = {ORGAN_NUMBERS[f"{side} pleural space"] for side in sides}
            assert set(np.unique(scan.canvas.organs[mask])) == spaces
            assert not scan.canvas.lobes[mask].any()
            assert not scan.canvas.segments[mask].any()
        assert np.isin(before.lobes[mask], own).all()
        # Labels change only where the pleural space grew, HU in no other lobe.
        changed = scan.canvas.lobes != before.lobes
        assert (changed == (mask if drawn.pleural else False)).all()
        drawn_on = before.lobes[scan.canvas.hu != before.hu]
        assert np.isin(drawn_on, [0, *own]).all()
    assert found


@EVERY
def test_the_same_seed_draws_the_same_voxels(blank: Blank, plan: FindingPlan) -> None:
    one, two = fresh(blank), fresh(blank)
    for scan in (one, two):
        draw(scan, plan, 7, "LLL")
    assert one.claimed.any()
    assert (one.canvas.hu == two.canvas.hu).all()
    assert (one.claimed == two.claimed).all()


@EVERY
def test_without_room_nothing_is_drawn(blank: Blank, plan: FindingPlan) -> None:
    scan = fresh(blank)
    scan.claimed[:] = scan.canvas.lobes > 0
    assert draw(scan, plan, 3, "LUL") is None
    assert (scan.canvas.hu == blank[1].hu).all()
    assert (scan.canvas.organs == blank[1].organs).all()


@EVERY
def test_other_findings_stay_as_they_are(blank: Blank, plan: FindingPlan) -> None:
    scan = fresh(blank)
    z = np.arange(len(scan.claimed))[:, None, None]
    earlier = (z % 30 < 6) & (scan.canvas.lobes > 0)
    scan.claimed |= earlier
    drawn = draw(scan, plan, 4, "RUL", "RML", "RLL")
    assert drawn is not None
    assert not (painted(scan, drawn) & earlier).any()
    assert (scan.canvas.hu[earlier] == blank[1].hu[earlier]).all()
    assert (scan.canvas.lobes[earlier] == blank[1].lobes[earlier]).all()


@pytest.mark.parametrize("category", [code for code in KINDS if code not in ("2e", "2g")])
def test_a_segment_is_kept_to(blank: Blank, category: str) -> None:
    found = 0
    for kind in KINDS[category]:
        scan = fresh(blank)
        drawn = draw(scan, FindingPlan(category, kind), 3, "LLL", segment="LS10")
        if drawn is not None:
            found += 1
            held = blank[1].segments[painted(scan, drawn)]
            assert (held == SEGMENTS.index("LS10") + 1).all()
    assert found


@EVERY
@pytest.mark.parametrize("level", [name for name in DIFFICULTIES if name != "medium"])
def test_every_difficulty_can_be_drawn(blank: Blank, plan: FindingPlan, level: str) -> None:
    assert any(draw(fresh(blank, level), plan, seed, "RLL") is not None for seed in range(3))
