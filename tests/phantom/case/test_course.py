"""The second time point: what is gone, same, smaller, larger or new really is, in the voxels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from overread.errors import OverreadError
from overread.phantom.body.lungs import LOBES
from overread.phantom.case.days import VOLUME_RATIOS, measure_changes
from overread.phantom.findings.measure import longest_axis
from overread.phantom.findings.scan import BoolArray
from overread.phantom.illness.draft import Draft
from overread.phantom.population import FindingPlan
from overread.phantom.visit import Visit
from tests.phantom.case.sample_courses import days_of, draft_of
from tests.phantom.findings.blank_scans import painted

DRAFT = draft_of(
    [
        FindingPlan("2d", "spiculated", ("lobe",), ("RUL",), needed=True),
        FindingPlan("2e", "effusion", ("lung",), ("LLL",), needed=True),
        FindingPlan("2b", "consolidation", ("lobe",), ("RLL",), needed=True),
        FindingPlan("2h", "cavity", ("lobe",), ("LUL",), needed=True),
        FindingPlan("2a", "band", ("lobe",), ("RML", "RLL"), needed=True),
        FindingPlan("2c", "ground-glass", ("upper",), scale=0.6),
    ],
    ["larger", "smaller", "gone", "same", "new", "larger"],
    beyond=["lymph nodes", "coronary calcification", "rib fracture"],
    beyond_turns=["same", "gone", "new"],
)


@pytest.fixture(scope="module")
def days() -> tuple[Visit, Visit]:
    """Both days of the draft; not to be changed."""
    first, second = days_of(DRAFT)
    return first, second


def voxels(visit: Visit, plan: int) -> BoolArray:
    """All voxels of one plan on a day; none where it is not there."""
    found = [one for one in visit.drawn_findings if one.plan == plan]
    return painted(visit.scan, found[0]) if found else np.zeros(visit.scan.claimed.shape, bool)


def test_each_finding_turned_out_as_drafted(days: tuple[Visit, Visit]) -> None:
    """Volumes, counted from the masks, changed by at least two fifths or three tenths."""
    for plan, turn in enumerate(DRAFT.turns):
        before, after = (voxels(visit, plan) for visit in days)
        if turn in ("gone", "new"):
            assert after.any() == (turn == "new")
            assert before.any() == (turn == "gone")
            continue
        low, high = VOLUME_RATIOS[turn]
        assert low <= after.sum() / before.sum() <= high
        shared = (before & after).sum() / min(before.sum(), after.sum())
        assert shared == 1 if turn == "same" else shared > 0.5
    names = [[one.statement.kind for one in visit.extrapulmonary] for visit in days]
    assert names == [["lymph nodes", "coronary calcification"], ["lymph nodes", "rib fracture"]]


def test_the_body_and_what_is_the_same_do_not_change(days: tuple[Visit, Visit]) -> None:
    """Away from what has changed, the two scans are the same voxel by voxel."""
    first, second = days
    moved = np.zeros(first.scan.claimed.shape, bool)
    for plan, turn in enumerate(DRAFT.turns):
        if turn != "same":
            moved |= voxels(first, plan) | voxels(second, plan)
    # Strands reach beyond masks; haze changes its whole lobe, and fluid its whole lung.
    far = ndimage.distance_transform_edt(~moved) > 12
    away = far & np.isin(first.scan.canvas.lobes, [LOBES.index(c) + 1 for c in ("RML", "RLL")])
    assert away.sum() > 20_000
    cavity = ndimage.binary_erosion(voxels(first, 3)) & ~ndimage.binary_dilation(moved)
    assert (first.scan.canvas.hu[away] == second.scan.canvas.hu[away]).all()
    assert cavity.sum() > 100
    apart = np.abs(first.scan.canvas.hu[cavity] - second.scan.canvas.hu[cavity])
    assert apart.max() < 60


def test_nothing_is_left_of_what_is_gone(days: tuple[Visit, Visit]) -> None:
    """Where the consolidation was, the second day has air again, and labels that say lung."""
    first, second = days
    was = voxels(first, 2) & ~second.scan.claimed
    assert np.median(first.scan.canvas.hu[was]) > -100
    assert np.median(second.scan.canvas.hu[was]) < -700
    fluid = voxels(first, 1) & ~voxels(second, 1) & ~second.scan.claimed
    assert (second.scan.canvas.lobes[fluid] > 0).all()
    assert (first.scan.canvas.lobes[fluid] == 0).all()


def test_no_two_findings_share_a_voxel(days: tuple[Visit, Visit]) -> None:
    """On either day the masks are apart, and together are what is taken."""
    for visit in days:
        total = np.zeros(visit.scan.claimed.shape, int)
        for one in visit.drawn_findings:
            total += voxels(visit, one.plan)
        assert total.max() == 1
        assert ((total > 0) == visit.scan.claimed).all()


def test_changes_are_what_the_voxels_say(days: tuple[Visit, Visit]) -> None:
    """Turn, ratio and sizes of every change, measured again."""
    found = measure_changes(*days, DRAFT)
    inside = {change.plan: change for change in found if change.plan is not None}
    assert [inside[n].turn for n in range(len(DRAFT.turns))] == list(DRAFT.turns)
    for plan, change in inside.items():
        before, after = (voxels(visit, plan).sum() for visit in days)
        assert (change.before is None) == (before == 0)
        assert (change.after is None) == (after == 0)
        if before and after:
            assert change.ratio == pytest.approx(after / before, abs=1e-3)
    sizes = [
        round(max(longest_axis(e, visit.scan.canvas.grid.step) for e in one.entities))
        for visit in days
        for one in visit.drawn_findings
        if one.plan == 0
    ]
    nodule = inside[0]
    assert nodule.before is not None
    assert nodule.after is not None
    assert [nodule.before.size_mm, nodule.after.size_mm] == sizes
    assert sizes[0] < sizes[1]
    outside = {change.statement.kind: change.turn for change in found if change.plan is None}
    assert outside == dict(zip(DRAFT.extrapulmonary, DRAFT.extrapulmonary_turns, strict=True))


@pytest.mark.slow
def test_a_day_is_the_same_again(days: tuple[Visit, Visit]) -> None:
    """The same draft of the same person gives the same two scans."""
    for one, two in zip(days, days_of(DRAFT), strict=True):
        assert (one.scan.canvas.hu == two.scan.canvas.hu).all()
        assert [f.sentence for f in one.findings] == [f.sentence for f in two.findings]


def test_a_draft_without_a_turn_for_each_plan_is_refused() -> None:
    """Two plans and one turn do not make a course."""
    broken: Draft = draft_of([FindingPlan("2d", "solid"), FindingPlan("2a", "band")], ["same"])
    with pytest.raises(OverreadError, match="turn"):
        days_of(broken)
