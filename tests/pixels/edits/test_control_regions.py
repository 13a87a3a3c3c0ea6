"""Other places: as large, elsewhere, within the body, by lot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.core import Box
from overread.pixels.draw import rectangle
from overread.pixels.edits.control_regions import (
    control_boxes,
    control_shifts,
    control_slices,
    find_tissues,
    move_parts,
)
from overread.pixels.geometry import make_geometry


def dice(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def raster(boxes: Any, size: tuple[int, int]) -> Any:
    mask = np.zeros(size, bool)
    for box in boxes:
        top, left, bottom, right = rectangle(box, size)
        mask[top:bottom, left:right] = True
    return mask


corner = st.floats(-3, 70, allow_nan=False)
side = st.floats(0.5, 40)


@given(st.lists(st.tuples(corner, corner, side, side), min_size=1, max_size=4), st.integers(0, 9))
def test_other_boxes_are_as_large_and_elsewhere(places: Any, seed: int) -> None:
    """As many pixels, none in common, inside the picture; or there is no room for them."""
    size = (60, 80)
    boxes = [Box(picture="p", x1=x, y1=y, x2=x + w, y2=y + h) for x, y, w, h in places]
    boxes = [box for box in boxes if box.x1 < 79 and box.y1 < 59 and box.x2 > 1 and box.y2 > 1]
    if not boxes:
        return
    moved = control_boxes({"p": np.full(size, 90, np.uint8)}, {"p": boxes}, dice(seed))
    if moved is None:
        return
    found = moved["p"]
    was, now = raster(boxes, size), raster(found, size)
    assert not (was & now).any()
    assert was.sum() == now.sum()
    assert len(found) == len(boxes)


def test_small_boxes_find_room() -> None:
    """There is a place wherever one can be, and another seed finds another."""
    blank = {"p": np.full((60, 80), 90, np.uint8)}
    box = Box(picture="p", x1=10, y1=10, x2=30, y2=30)
    found = [control_boxes(blank, {"p": [box]}, dice(seed)) for seed in range(5)]
    assert all(found)
    assert len({moved["p"] for moved in found if moved}) > 1
    assert found[0] == control_boxes(blank, {"p": [box]}, dice(0))
    large = Box(picture="p", x1=0, y1=0, x2=60, y2=60)
    assert control_boxes(blank, {"p": [large]}, dice()) is None
    half = Box(picture="p", x1=0, y1=0, x2=40, y2=60)
    rest = Box(picture="p", x1=40, y1=0, x2=80, y2=60)
    assert control_boxes(blank, {"p": [half]}, dice()) == {"p": (rest,)}


def test_boxes_without_room_go_to_another_picture() -> None:
    """One that is as large, off what is cited there; never to one of another size."""
    films = {name: np.full((60, 80), 90, np.uint8) for name in "pq"}
    films["r"] = np.full((90, 90), 90, np.uint8)
    large = Box(picture="p", x1=0, y1=0, x2=60, y2=60)
    moved = control_boxes(films, {"p": [large]}, dice())
    assert moved is not None
    assert list(moved) == ["q"]
    assert raster(moved["q"], (60, 80)).sum() == 3600
    cited = {"p": [large], "q": [Box(picture="q", x1=30, y1=30, x2=40, y2=40)]}
    assert control_boxes(films, cited, dice()) is None


def test_boxes_of_the_body_stay_in_the_body() -> None:
    """A box in the body is not compared with a dark corner; one outside may go anywhere."""
    film = np.zeros((100, 100), np.uint8)
    film[:, 40:] = 120
    for seed in range(10):
        within = {"p": [Box(picture="p", x1=60, y1=60, x2=80, y2=80)]}
        inner = control_boxes({"p": film}, within, dice(seed))
        assert inner is not None
        assert inner["p"][0].x1 >= 37
    outside = {"p": [Box(picture="p", x1=5, y1=5, x2=25, y2=25)]}
    found = [control_boxes({"p": film}, outside, dice(n)) for n in range(10)]
    assert any(boxes and boxes["p"][0].x1 < 30 for boxes in found)


@given(st.integers(1, 40), st.integers(0, 39), st.integers(0, 39), st.integers(0, 9))
def test_other_slices_are_as_many_and_elsewhere(count: int, one: int, two: int, seed: int) -> None:
    """As long a range that shares no slice, wherever there is one."""
    first, last = sorted((one % count, two % count))
    found = control_slices(count, [(first, last)], dice(seed))
    length = last - first + 1
    assert (found is not None) == (max(first, count - 1 - last) >= length)
    if found is not None:
        [(begin, end)] = found
        assert end - begin == last - first
        assert 0 <= begin <= end < count
        assert end < first or begin > last


@pytest.fixture(scope="module")
def chest() -> tuple[Any, Any]:
    """A block of tissue in air with two lungs, stored with flipped axes."""
    hu = np.full((80, 60, 50), -1000, np.int16)
    hu[8:72, 6:54] = 40
    hu[14:34, 14:46, 4:46] = -850
    hu[46:66, 14:46, 4:46] = -850
    space = make_geometry((80, 60, 50), np.diag([-4.0, -4.0, 4.0, 1.0]), where="here")
    return hu, space


def test_lungs_and_body_are_roughly_found(chest: tuple[Any, Any]) -> None:
    """The body with all that is in it, the lungs within; a dense spot in a lung belongs to it."""
    hu, space = chest
    hu = hu.copy()
    hu[20:24, 20:24, 20:24] = 50
    lungs, body = find_tissues(hu, space)
    assert body[8:72, 6:54].all()
    assert not body[:8].any()
    assert lungs[20:24, 20:24, 20:24].all()
    assert not lungs[36:44].any()


def test_other_places_are_as_large_and_in_the_same_tissue(chest: tuple[Any, Any]) -> None:
    """A part in a lung goes to a place in a lung, one in the wall stays in the body."""
    hu, space = chest
    in_lung, in_wall = np.zeros(space.shape, bool), np.zeros(space.shape, bool)
    in_lung[18:26, 18:26, 18:28] = True
    in_wall[36:42, 10:40, 10:13] = True
    lungs, body = find_tissues(hu, space)
    for seed in range(5):
        shifts = control_shifts(hu, space, in_lung | in_wall, dice(seed))
        assert shifts is not None
        there = [move_parts(one, [by]) for one, by in zip((in_lung, in_wall), shifts, strict=True)]
        assert [mask.sum() for mask in there] == [in_lung.sum(), in_wall.sum()]
        assert lungs[there[0]].mean() > 0.8
        assert body[there[1]].mean() > 0.8
        together = move_parts(in_lung | in_wall, shifts)
        assert (together == (there[0] | there[1])).all()
        assert together.sum() == in_lung.sum() + in_wall.sum()
        assert not (together & (in_lung | in_wall)).any()


def test_many_parts_find_room_each_for_itself(chest: tuple[Any, Any]) -> None:
    """Findings scattered over both lungs cannot be moved as one, and need not be."""
    hu, space = chest
    mask = np.zeros(space.shape, bool)
    mask[16:66:6, 16:44:6, 6:44:6] = True
    mask[36:44] = False
    shifts = control_shifts(hu, space, mask, dice())
    assert shifts is not None
    there = move_parts(mask, shifts)
    assert not (there & mask).any()
    assert there.sum() >= 0.9 * mask.sum()


def test_what_has_no_room_in_the_lungs_stays_in_the_body(chest: tuple[Any, Any]) -> None:
    """A whole lung has no place in the other one where there is none."""
    hu, space = chest
    hu = hu.copy()
    hu[46:66] = 40
    most = np.zeros(space.shape, bool)
    most[14:24, 14:46, 4:34] = True
    shifts = control_shifts(hu, space, most, dice())
    assert shifts is not None
    assert find_tissues(hu, space)[1][move_parts(most, shifts)].mean() > 0.8


def test_there_may_be_no_other_place(chest: tuple[Any, Any]) -> None:
    """A mask of nearly everything has none, and neither has an empty one."""
    hu, space = chest
    full = np.ones(space.shape, bool)
    assert control_shifts(hu, space, full, dice()) is None
    assert control_shifts(hu, space, ~full, dice()) is None


def test_parts_that_leave_the_volume_are_cut_off() -> None:
    """Moving is exact: what is pushed over the edge is gone."""
    mask = np.zeros((5, 6, 7), bool)
    mask[1, 2, 3] = True
    for shift in ((3, -2, 3), (-1, 3, -3), (0, 0, 1)):
        there = move_parts(mask, [shift])
        assert there[tuple(np.add((1, 2, 3), shift))]
        assert there.sum() == 1
    assert not move_parts(mask, [(4, 0, 0)]).any()
    assert not move_parts(mask, [(0, -9, 0)]).any()
