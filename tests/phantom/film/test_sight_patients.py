"""The visibility rule on patients as they are drawn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import ndimage

from overread.phantom.film.renderer import FilmRenderer
from overread.phantom.film.sign import FilmContents, Sign, View
from overread.phantom.film.visibility import find_limits, find_signs
from overread.phantom.patient import make_patient
from overread.phantom.visit import PatientSettings, Visit

pytestmark = pytest.mark.slow

MEASURED = ("cardiomegaly", "aortic ectasia", "osteophytes", "steatosis")


class Looked(NamedTuple):
    """One patient's film and what it shows."""

    visit: Visit
    room: FilmRenderer
    sight: FilmContents


@pytest.fixture(scope="module", params=[(5, "PA"), pytest.param((24, "AP supine"), marks=pytest.mark.slow)])
def looked(request: pytest.FixtureRequest) -> Looked:
    """Patients who have a little of everything."""
    number, view = request.param
    visit = make_patient(number, PatientSettings(seed=11, mix="even")).visit
    room = FilmRenderer(visit)
    return Looked(visit, room, find_signs(room, visit, view))


def changed(room: FilmRenderer, view: View, key: str) -> NDArray[np.float64]:
    """How far the film changes without a finding."""
    films = (room.render(view, without=keys, noise=False).pixels for keys in ((), (key,)))
    one, other = (ndimage.gaussian_filter(p.astype(float), 2 / room.beam(view).spacing) for p in films)
    levels: NDArray[np.float64] = np.abs(one - other)
    return levels


def compared(sight: FilmContents) -> list[Sign]:
    """Signs that are judged by comparing films."""
    return [sign for sign in sight.signs if sign.statement.kind not in MEASURED]


@pytest.mark.slow
def test_strength_and_area_are_those_of_the_films(looked: Looked) -> None:
    """The rule's numbers come out again from the two films, and so does its answer."""
    view, spacing = looked.sight.view, looked.room.beam(looked.sight.view).spacing
    assert compared(looked.sight)
    for sign in compared(looked.sight):
        levels = changed(looked.room, view, sign.key)
        patch = np.sort(levels, axis=None)[-round(50 / spacing**2) :].mean()
        assert sign.strength == pytest.approx(patch, abs=0.15)
        assert sign.area_mm2 == pytest.approx((levels >= 6).sum() * spacing**2, rel=0.03, abs=5)
        asked = find_limits(sign.statement, view)
        if sign.seen == "seen":
            assert sign.strength >= asked.seen[0] - 0.1
            assert sign.area_mm2 >= asked.seen[1] - 0.1
        if sign.seen == "hidden":
            assert sign.strength <= asked.doubtful[0] + 0.1 or sign.area_mm2 <= asked.doubtful[1]


def test_boxes_lie_on_pixels_that_change(looked: Looked) -> None:
    """Each box of a sign holds changed pixels at its edges; a hidden sign has no box."""
    for sign in compared(looked.sight):
        assert (sign.boxes == ()) == (sign.seen == "hidden"), sign.key
        levels = changed(looked.room, looked.sight.view, sign.key)
        for left, top, right, bottom in sign.boxes:
            assert 0 <= left < right <= looked.sight.columns
            assert 0 <= top < bottom <= looked.sight.rows
            part = levels[top:bottom, left:right] >= 5.9
            assert all(edge.any() for edge in (part[0], part[-1], part[:, 0], part[:, -1]))


def test_zones_are_of_the_right_side(looked: Looked) -> None:
    """A finding of one lung has zones of that side only, and boxes mostly in that half."""
    for sign, finding in zip(looked.sight.signs, looked.visit.findings, strict=False):
        assert sign.statement == finding.statement
        assert sign.zones
        assert set(sign.zones) <= set(looked.sight.regions)
        side = sign.statement.side
        assert side is not None
        if side == "both":
            continue
        assert all(zone.startswith(side) for zone in sign.zones)
        for left, _, right, _ in sign.boxes:
            lung = looked.sight.regions[f"{side} lung"]
            assert min(right, lung[2]) - max(left, lung[0]) > 0.8 * (right - left)


def test_boxes_and_zones_agree(looked: Looked) -> None:
    """Each zone's box meets one of the sign's boxes."""
    for sign in compared(looked.sight):
        for zone in sign.zones if sign.boxes else ():
            a = looked.sight.regions[zone]
            assert any(
                min(a[2], b[2]) > max(a[0], b[0]) and min(a[3], b[3]) > max(a[1], b[1]) for b in sign.boxes
            ), (sign.key, zone)


def test_the_same_again(looked: Looked) -> None:
    """Another room gives the same sight, and films taken before do not matter."""
    room = FilmRenderer(looked.visit)
    assert find_signs(room, looked.visit, looked.sight.view) == looked.sight
    assert find_signs(looked.room, looked.visit, looked.sight.view) == looked.sight


def test_some_are_seen_and_some_are_hidden(looked: Looked) -> None:
    """No patient of these has only signs of one kind."""
    assert len({sign.seen for sign in looked.sight.signs}) > 1
