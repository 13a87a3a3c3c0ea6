"""Plans with constraints: places, lobes, scale, count, and what is needed."""

from __future__ import annotations

import numpy as np
import pytest

from overread.errors import OverreadError
from overread.ontology import lung_anatomy
from overread.phantom.body.lungs import LOBES
from overread.phantom.case.slice_areas import CONSPICUOUS_FACTOR, measure_slice_areas, min_visible_mm2
from overread.phantom.findings.dispatch import draw_findings, find_drawing_function
from overread.phantom.findings.scan import DrawnFinding, Scan, Target
from overread.phantom.population import FindingPlan, draw_target, seed_for
from overread.phantom.statement import KINDS
from tests.phantom.findings.blank_scans import Blank, draw_blank, fresh, painted

PLANS = [FindingPlan(code, kind) for code, kinds in KINDS.items() for kind in kinds]
EVERY = pytest.mark.parametrize("plan", PLANS, ids=[f"{p.category} {p.kind}" for p in PLANS])


@pytest.fixture(scope="module")
def blank() -> Blank:
    return draw_blank(5, 2, step=4.0)


def drawn(scan: Scan, *plans: FindingPlan, patient: int = 1) -> list[DrawnFinding]:
    """What comes of some plans."""
    return draw_findings(scan, plans, lambda *which: seed_for(9, patient, *which))


def targets(plan: FindingPlan, many: int = 60) -> list[Target]:
    """Where a plan goes, again and again."""
    rng = np.random.default_rng(1)
    return [draw_target(rng, plan) for _ in range(many)]


def test_a_plan_without_constraints_goes_where_its_category_goes() -> None:
    """The draws are those of the category, one by one."""
    for category, kinds in KINDS.items():
        one, two = np.random.default_rng(4), np.random.default_rng(4)
        for _ in range(40):
            assert draw_target(one, category) == draw_target(two, FindingPlan(category, kinds[-1]))


def test_places_and_lobes_are_kept_to() -> None:
    """Every place that is allowed comes up, and no other."""
    lower = ("RLL", "LLL")
    found = targets(FindingPlan("2b", "consolidation", ("lobe",), lower))
    assert {target.lobes for target in found} == {("RLL",), ("LLL",)}
    found = targets(FindingPlan("2b", "consolidation", ("segment",), ("RML",)))
    assert {target.lobes for target in found} == {("RML",)}
    assert {target.segment for target in found} == {
        part.code for part in lung_anatomy().by_code["RML"].segments
    }
    found = targets(FindingPlan("2d", "solid", ("both", "upper")))
    assert {target.lobes for target in found} == {LOBES, ("RUL", "LUL")}


def test_lobes_choose_the_lung() -> None:
    """A lung is one of those that the lobes belong to."""
    assert {t.sides for t in targets(FindingPlan("2e", "effusion", ("lung",), ("LLL",)))} == {("left",)}
    both = targets(FindingPlan("2e", "effusion", ("lung",), ("LLL", "RUL")))
    assert {t.sides for t in both} == {("left",), ("right",)}


@pytest.mark.slow
@EVERY
def test_a_larger_scale_draws_more(blank: Blank, plan: FindingPlan) -> None:
    """The same draws at a larger scale give a larger volume, for every kind."""
    volumes = []
    for scale in (0.6, 1.0, 1.6):
        total = 0
        for seed in (1, 2):
            scan = fresh(blank)
            target = Target(("RLL", "LUL"), scale=scale, span=(0.6, 1.6))
            found = find_drawing_function(plan)(scan, np.random.default_rng(seed), plan.kind, target)
            total += 0 if found is None else found.voxels
        volumes.append(total)
    assert volumes[0] < volumes[1] < volumes[2]
    # Scars are strands whose number does not change.
    assert volumes[2] > (1.2 if plan.kind == "scar" else 1.7) * volumes[0]


@pytest.mark.parametrize(
    ("plan", "fewest", "most"),
    [
        (FindingPlan("2d", "solid", ("both",), count=(6, 9), needed=True), 6, 9),
        (FindingPlan("2d", "spiculated", ("both",), count=(2, 2), needed=True), 2, 2),
        (FindingPlan("2h", "air cyst", ("both",), scale=0.6, count=(10, 14), needed=True), 10, 14),
        (FindingPlan("1e", "tree-in-bud", ("both",), count=(7, 8), needed=True), 7, 8),
        (FindingPlan("1c", "bullous", ("both",), scale=0.6, count=(5, 6), needed=True), 5, 6),
    ],
    ids=lambda value: value.kind if isinstance(value, FindingPlan) else "",
)
def test_the_count_is_kept_to(blank: Blank, plan: FindingPlan, fewest: int, most: int) -> None:
    """What is needed has neither fewer nor more entities than planned."""
    (found,) = drawn(fresh(blank), plan)
    assert fewest <= len(found.entities) <= most


def test_many_nodules_lie_in_both_lungs(blank: Blank) -> None:
    """Metastases are not all on one side."""
    scan = fresh(blank)
    (found,) = drawn(scan, FindingPlan("2d", "solid", ("both",), count=(8, 12), needed=True))
    held = {LOBES[n - 1][0] for n in np.unique(scan.canvas.lobes[painted(scan, found)]) if n}
    assert held == {"R", "L"}


def test_what_is_absent_is_not_drawn(blank: Blank) -> None:
    """A count of none draws nothing, and puts nothing in its place."""
    scan = fresh(blank)
    assert drawn(scan, FindingPlan("2d", "solid", count=(0, 0))) == []
    assert (scan.canvas.hu == blank[1].hu).all()
    assert drawn(scan) == []


def test_what_is_needed_and_cannot_be_drawn_is_an_error(blank: Blank) -> None:
    """Where no voxel is free a needed finding is an error, and another one is left out."""
    plan = FindingPlan("2b", "consolidation", ("lobe",), ("RML",), span=(1.0, 1.0))
    scan = fresh(blank)
    scan.claimed[:] = True
    assert drawn(scan, plan) == []
    with pytest.raises(OverreadError, match="consolidation of category 2b"):
        drawn(scan, FindingPlan("2b", "consolidation", ("lobe",), ("RML",), needed=True))


def test_what_is_needed_can_be_seen(blank: Blank) -> None:
    """The fullest slice holds twice what it must hold; what is left of other attempts is nothing."""
    for patient in range(1, 5):
        scan = fresh(blank)
        plan = FindingPlan("1e", "perilymphatic", ("upper",), needed=True)
        (found,) = drawn(scan, plan, patient=patient)
        most = measure_slice_areas(scan.canvas.grid, found.entities, "axial").max()
        assert most >= CONSPICUOUS_FACTOR * min_visible_mm2(found)
        assert (scan.claimed == painted(scan, found)).all()


def test_two_needed_kinds_of_a_category_may_share_a_lobe(blank: Blank) -> None:
    """A tumour is drawn although its metastases have all lobes."""
    plans = (
        FindingPlan("2d", "solid", ("both",), count=(3, 5), needed=True),
        FindingPlan("2d", "mass", ("lobe",), ("RUL",), needed=True),
    )
    found = drawn(fresh(blank), *plans)
    assert [one.kind for one in found] == ["solid", "mass"]
    # Not needed, it would have had no place.
    plans = (plans[0], FindingPlan("2d", "mass", ("lobe",), ("RUL",)))
    assert [one.kind for one in drawn(fresh(blank), *plans)] == ["solid"]
