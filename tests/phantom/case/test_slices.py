"""CT slices of a case: where they lie, what they show, how they are turned."""

from __future__ import annotations

import numpy as np
import pytest

from overread.ontology import lung_anatomy
from overread.phantom.body.lungs import LOBES
from overread.phantom.case.levels import PLANES, choose_usual_level, describe_level, plane_axis
from overread.phantom.case.slice_areas import measure_slice_areas, min_visible_mm2
from overread.phantom.case.slices import (
    LONGEST_SIDE,
    CaseSlice,
    WindowName,
    choose_slices,
    render_slice,
    window_shows,
)
from overread.phantom.illness.draft import Draft, PictureSpec
from overread.phantom.population import FindingPlan
from overread.phantom.statement import EXTRAPULMONARY, KINDS
from overread.phantom.visit import Visit
from tests.phantom.case.sample_courses import days_of, draft_of

CT = [("axial", "lung"), ("axial", "lung"), ("axial", "mediastinum"), ("coronal", "lung")]
CT += [("axial", "bone"), ("sagittal", "lung"), ("axial", "mediastinum")]


def looks_at(*times: int) -> list[PictureSpec]:
    """The same slices at each time point, and a film before them."""
    found = []
    for time in times:
        found.append(PictureSpec(id=f"film{time}", time=time, view="PA"))
        for number, (plane, window) in enumerate(CT):
            row = {"id": f"ct{time}{number}", "time": time, "plane": plane, "window": window}
            found.append(PictureSpec.model_validate(row))
    return found


DRAFT = draft_of(
    [
        FindingPlan("2d", "spiculated", ("lobe",), ("RUL",), scale=1.2, needed=True),
        FindingPlan("2b", "consolidation", ("lobe",), ("LLL",), needed=True),
        FindingPlan("2h", "cavity", ("lobe",), ("RLL",), scale=0.7),
        FindingPlan("2a", "band", ("lobe",), ("RML",)),
    ],
    ["larger", "gone", "same", "same"],
    beyond=["lymph nodes", "rib fracture"],
    beyond_turns=["same", "same"],
    looks=looks_at(0, 1),
    number=2,
)


@pytest.fixture(scope="module")
def days() -> tuple[Visit, ...]:
    """Both days; not to be changed."""
    return days_of(DRAFT)


@pytest.fixture(scope="module")
def laid(days: tuple[Visit, ...]) -> list[tuple[PictureSpec, CaseSlice]]:
    """Every CT look and its slice."""
    found = choose_slices(DRAFT, days)
    assert [one is None for one in found] == [look.view is not None for look in DRAFT.pictures]
    return [(a, b) for a, b in zip(DRAFT.pictures, found, strict=True) if b is not None]


def test_slices_are_what_the_looks_ask_for(laid: list[tuple[PictureSpec, CaseSlice]]) -> None:
    """Plane and window are those of the draft."""
    for look, one in laid:
        assert (one.plane, one.window) == (look.plane, look.window)


def test_what_is_needed_is_shown_at_each_time_point(laid: list[tuple[PictureSpec, CaseSlice]]) -> None:
    """A lung slice of each day shows each needed finding that is there on that day."""
    for time, plans in ((0, {"plan-0", "plan-1"}), (1, {"plan-0"})):
        shown = {
            each.key for look, one in laid if look.time == time and one.window == "lung" for each in one.shown
        }
        assert plans <= shown


def test_windows_are_laid_at_what_they_show_best(laid: list[tuple[PictureSpec, CaseSlice]]) -> None:
    """The bone window shows the fracture; a mediastinal one the nodes, and none a nodule's band."""
    for time in (0, 1):
        here = [one for look, one in laid if look.time == time]
        bone = {e.key for one in here if one.window == "bone" for e in one.shown}
        soft = {e.key for one in here if one.window == "mediastinum" for e in one.shown}
        assert bone == {"beyond-rib fracture"}
        assert "beyond-lymph nodes" in soft
        assert "plan-3" not in soft


def test_what_a_slice_shows_is_in_it(
    days: tuple[Visit, ...], laid: list[tuple[PictureSpec, CaseSlice]]
) -> None:
    """Enough square millimetres; the lobes that it names hold all its voxels in that slice."""
    checked = 0
    for look, one in laid:
        visit = days[look.time]
        axis = plane_axis(one.plane)
        for each in one.shown:
            if not each.key.startswith("plan-"):
                continue
            drawn = next(d for d in visit.drawn_findings if f"plan-{d.plan}" == each.key)
            area = measure_slice_areas(visit.scan.canvas.grid, drawn.entities, one.plane)[one.index]
            assert area >= min_visible_mm2(drawn)
            mask = np.zeros(visit.scan.claimed.shape, bool)
            for entity in drawn.entities:
                mask[entity.cut] |= entity.mask
            here = np.moveaxis(mask, axis, 0)[one.index]
            where = np.moveaxis(visit.scan.canvas.lobes, axis, 0)[one.index][here]
            named = [LOBES.index(code) + 1 for code in each.statement.lobes]
            assert np.isin(where, named).mean() >= 0.97
            sides = {lung_anatomy().by_code[code].side for code in each.statement.lobes}
            assert each.statement.side == (sides.pop() if len(sides) == 1 else "both")
            checked += 1
    assert checked > 8


def test_nothing_that_a_slice_holds_is_left_out(
    days: tuple[Visit, ...], laid: list[tuple[PictureSpec, CaseSlice]]
) -> None:
    """Every finding of which the slice holds enough, and that the window can show, is told."""
    for look, one in laid:
        visit = days[look.time]
        for drawn in visit.drawn_findings:
            area = measure_slice_areas(visit.scan.canvas.grid, drawn.entities, one.plane)[one.index]
            seen = area >= min_visible_mm2(drawn) and window_shows(one.window, drawn.kind)
            assert (f"plan-{drawn.plan}" in {each.key for each in one.shown}) == seen


def test_slices_of_one_kind_are_apart(
    days: tuple[Visit, ...], laid: list[tuple[PictureSpec, CaseSlice]]
) -> None:
    """No two of a day, plane and window lie within a centimetre."""
    for time in (0, 1):
        for window in ("lung", "mediastinum"):
            here = [
                one.index
                for look, one in laid
                if look.time == time and (one.plane, one.window) == ("axial", window)
            ]
            assert len(here) == 2
            assert abs(here[0] - here[1]) * days[0].scan.canvas.grid.step[2] > 10


def test_what_is_gone_is_missed_where_it_was(laid: list[tuple[PictureSpec, CaseSlice]]) -> None:
    """A slice of the second day lies where the first showed the consolidation, and says so."""
    first = {one.index for look, one in laid if not look.time and _shows(one, "plan-1")}
    second = [one for look, one in laid if look.time and "plan-1" in one.gone]
    assert second
    assert {one.index for one in second} & first
    assert not any("plan-1" in {each.key for each in one.shown} for _, one in laid if _.time)


def _shows(one: CaseSlice, key: str) -> bool:
    return key in {each.key for each in one.shown}


def test_a_patient_without_findings_gets_the_usual_levels(days: tuple[Visit, ...]) -> None:
    """Where there is nothing to show slices lie at stated levels, each its own."""
    plain = draft_of([], looks=looks_at(0), number=2)
    from dataclasses import replace

    empty = replace(days[0], drawn_findings=(), findings=(), extrapulmonary=())
    found = [one for one in choose_slices(plain, [empty]) if one is not None]
    assert [one.shown for one in found] == [()] * len(found)
    assert all(one.clear for one in found)
    axial = [one for one in found if (one.plane, one.window) == ("axial", "lung")]
    assert axial[0].level == "at the level of the carina"
    assert axial[0].index != axial[1].index


def test_levels_are_told_from_top_to_bottom(days: tuple[Visit, ...]) -> None:
    """Down the body the words change in one order and never go back."""
    visit = days[0]
    grid = visit.scan.canvas.grid
    for plane in PLANES:
        count = grid.shape[plane_axis(plane)]
        words = [describe_level(visit.body, grid, plane, n) for n in range(count)]
        changes = [a for a, b in zip(words, [*words[1:], ""], strict=True) if a != b]
        assert len(changes) == len(set(changes)) >= 3
    usual = choose_usual_level(visit.body, grid, "axial", "lung", ())
    assert describe_level(visit.body, grid, "axial", usual) == "at the level of the carina"


def test_pictures_are_upright_and_square(days: tuple[Visit, ...]) -> None:
    """A bright block at the patient's right, front and top is where a radiologist expects it."""
    grid = days[0].scan.canvas.grid
    hu = np.full(grid.shape, -1000, np.int16)
    z, y, x = (n // 4 for n in grid.shape)
    # Arrays run to the left, to the back and to the head.
    top, front, right = slice(-z, None), slice(0, y), slice(0, x)
    hu[top, front, right] = 1000
    expected = {
        "axial": (grid.shape[0] - 2, "left", "top"),
        "coronal": (1, "left", "top"),
        "sagittal": (1, "left", "top"),
    }
    for plane in PLANES:
        index, _, _ = expected[plane]
        one = CaseSlice(plane=plane, window="lung", index=index, level="")
        picture = render_slice(hu, grid.geometry, one)
        assert picture.dtype == np.uint8
        assert max(picture.shape) == LONGEST_SIDE
        rows, columns = np.nonzero(picture > 200)
        assert rows.mean() < 0.3 * picture.shape[0]
        assert columns.mean() < 0.3 * picture.shape[1]
    step, shape = grid.step, grid.shape
    tall = render_slice(hu, grid.geometry, CaseSlice(plane="coronal", window="bone", index=0, level=""))
    wide, high = shape[2] * step[0], shape[0] * step[2]
    assert tall.shape[0] / tall.shape[1] == pytest.approx(high / wide, rel=0.01)


def test_the_size_of_a_picture_does_not_depend_on_what_it_shows(days: tuple[Visit, ...]) -> None:
    """The same planes of both days have the same size."""
    hu = np.zeros(days[0].scan.canvas.grid.shape, np.int16)
    for plane in PLANES:
        sizes = {
            render_slice(
                hu,
                visit.scan.canvas.grid.geometry,
                CaseSlice(plane=plane, window="lung", index=index, level=""),
            ).shape
            for visit in days
            for index in (5, 60)
        }
        assert len(sizes) == 1


def test_every_kind_is_shown_by_some_window() -> None:
    """Lung and pleura by the lung window, the rest by one of the other two and not by that."""
    windows: tuple[WindowName, ...] = ("lung", "mediastinum", "bone")
    for kinds in KINDS.values():
        assert all(window_shows("lung", kind) for kind in kinds)
    for name in EXTRAPULMONARY:
        assert [window_shows(window, name) for window in windows].count(True) >= 1
        assert not window_shows("lung", name)
    assert window_shows("bone", "rib fracture")
    assert not window_shows("mediastinum", "ground-glass")
    assert not window_shows("bone", "effusion")


def test_the_draft_of_this_file_has_two_days(days: tuple[Visit, ...]) -> None:
    """Both were drawn with everything that was planned."""
    draft: Draft = DRAFT
    assert len(days) == 2
    assert len(days[0].drawn_findings) == len(draft.plans)
    assert len(days[1].drawn_findings) == len(draft.plans) - 1
