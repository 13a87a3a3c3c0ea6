"""The visibility rule on findings of known size and place."""

from __future__ import annotations

import numpy as np
import pytest

from overread.errors import UsageError
from overread.phantom.film.build_signs import measure_heart_ratio
from overread.phantom.film.renderer import FilmRenderer
from overread.phantom.film.sign import FRONTAL, HEART_LIMIT, FilmContents
from overread.phantom.film.visibility import find_signs
from overread.phantom.visit import Visit
from tests.phantom.film.made_up_visits import visit_with

FREE = (88.0, -20.0, -6.0)
"""A place in the right lung away from heart, hilum and diaphragm."""
BALLS = {
    "large": [((60.0, -25.0, 52.0), 30.0)],
    "middle": [(FREE, 14.0)],
    "tiny": [((-80.0, 20.0, 30.0), 4.0)],
    "behind the heart": [((-24.0, -38.0, -88.0), 14.0)],
    "in the apex": [((42.0, -28.0, 103.0), 16.0)],
    "on both sides": [((84.0, 10.0, -70.0), 20.0), ((-92.0, 0.0, 5.0), 20.0)],
    "at the left base": [((-102.0, -10.0, -98.0), 20.0)],
}
NAMES = list(BALLS)


@pytest.fixture(scope="module")
def visit() -> Visit:
    """A patient with all the balls, a usual heart and no spurs."""
    said = ("cardiomegaly", "steatosis", "osteophytes", "aortic ectasia")
    differs = {"heart": 0.9, "aorta": 0.9}
    return visit_with(1, list(BALLS.values()), beyond=said, differs=differs)


@pytest.fixture(scope="module")
def room(visit: Visit) -> FilmRenderer:
    """His film room."""
    return FilmRenderer(visit)


@pytest.fixture(scope="module")
def sight(room: FilmRenderer, visit: Visit) -> FilmContents:
    """What his PA film shows."""
    return find_signs(room, visit, "PA")


def test_large_is_seen_and_tiny_is_hidden(sight: FilmContents) -> None:
    """A ball of 30 mm in free lung is seen, one of 4 mm changes next to nothing."""
    large, tiny = (sight.signs[NAMES.index(name)] for name in ("large", "tiny"))
    assert large.seen == "seen"
    assert large.strength > 25
    assert tiny.seen == "hidden"
    assert tiny.strength < 2
    assert tiny.area_mm2 == 0
    assert tiny.boxes == ()
    assert tiny.size_mm is None


def test_the_heart_hides_what_free_lung_shows(sight: FilmContents) -> None:
    """The same ball is seen in free lung and not behind the heart, where it changes less."""
    free, behind = (sight.signs[NAMES.index(name)] for name in ("middle", "behind the heart"))
    assert free.seen == "seen"
    assert behind.seen != "seen"
    assert behind.strength < 0.8 * free.strength


def test_zones_are_where_the_balls_are(sight: FilmContents) -> None:
    """Every ball is in the zones of its own height and side."""
    zones = {name: sight.signs[n].zones for n, name in enumerate(NAMES)}
    assert zones["large"] == ("right upper lung zone",)
    assert zones["middle"] == ("right mid lung zone",)
    assert zones["in the apex"] == ("right apical zone",)
    assert set(zones["on both sides"]) == {"right lower lung zone", "left mid lung zone"}
    assert zones["at the left base"] == ("left lower lung zone",)
    assert zones["tiny"] == ("left upper lung zone",)


def test_boxes_hold_the_balls(sight: FilmContents, room: FilmRenderer, visit: Visit) -> None:
    """A box is about the ball's projection: its middle and its magnified diameter."""
    beam, habitus = room.beam("PA"), visit.body.habitus
    for name in ("large", "middle", "at the left base", "on both sides"):
        boxes = sight.signs[NAMES.index(name)].boxes
        assert len(boxes) == len(BALLS[name])
        for box, (place, diameter) in zip(boxes, BALLS[name], strict=True):
            centre = habitus.to_patient(np.array(place))
            column, row = beam.project_points(centre)
            across = diameter * float(beam.magnification(centre[1:2])[0]) / beam.spacing
            left, top, right, bottom = box
            assert abs((left + right) / 2 - column - 0.5) < 4
            assert abs((top + bottom) / 2 - row - 0.5) < 4
            assert 0.6 * across < right - left < 1.25 * across
            assert 0.6 * across < bottom - top < 1.25 * across


def test_size_is_that_of_the_ball(sight: FilmContents, visit: Visit) -> None:
    """On the film, magnification taken out, a ball is as large as on the scan within a voxel."""
    for name in ("large", "middle", "on both sides", "at the left base"):
        sign = sight.signs[NAMES.index(name)]
        assert sign.size_mm is not None
        assert sign.statement.size_mm is not None
        assert abs(sign.size_mm - sign.statement.size_mm) <= 2
        assert abs(sign.size_mm - max(d for _, d in BALLS[name])) <= 2


def test_what_is_said_but_not_there_is_hidden(sight: FilmContents) -> None:
    """A small heart, a narrow aorta, no spurs and any liver are hidden, whatever is said."""
    hidden = {sign.statement.kind: sign for sign in sight.signs if sign.key.startswith("beyond")}
    assert set(hidden) == {"cardiomegaly", "steatosis", "osteophytes", "aortic ectasia"}
    assert all(sign.seen == "hidden" and sign.boxes == () for sign in hidden.values())
    assert hidden["cardiomegaly"].strength == sight.heart_ratio < HEART_LIMIT["PA"]


def test_signs_come_in_the_order_of_the_findings(sight: FilmContents, visit: Visit) -> None:
    """First the findings as the scan numbers them, then what lies beyond the lung."""
    keys = [f"finding-{n}" for n in range(len(BALLS))]
    keys += [f"beyond-{one.statement.kind}" for one in visit.extrapulmonary]
    assert [sign.key for sign in sight.signs] == keys


def test_bedside_films_show_less(sight: FilmContents, room: FilmRenderer, visit: Visit) -> None:
    """Every ball is weaker on the AP supine film, and the heart takes more of the chest."""
    supine = find_signs(room, visit, "AP supine")
    for n, name in enumerate(NAMES):
        if name != "tiny":
            assert supine.signs[n].strength < sight.signs[n].strength, name
    assert supine.heart_ratio > sight.heart_ratio
    assert supine.view == "AP supine"


def test_lateral_films_are_refused(room: FilmRenderer, visit: Visit) -> None:
    """The regions are those of frontal films: another one is refused in a sentence."""
    with pytest.raises(UsageError, match="lateral"):
        find_signs(room, visit, "lateral")


def test_a_large_heart_is_a_sign_without_being_said() -> None:
    """A heart over the limit is seen on both films, boxed as the silhouette; so are long spurs."""
    visit = visit_with(
        2, beyond=("osteophytes", "aortic ectasia"), differs={"heart": 1.3, "aorta": 1.7},
        spurs=6.0, step=6.0,
    )  # fmt: skip
    room = FilmRenderer(visit)
    for view in FRONTAL:
        sight = find_signs(room, visit, view)
        assert measure_heart_ratio(room, view) == sight.heart_ratio > HEART_LIMIT[view]
        signs = {sign.statement.kind: sign for sign in sight.signs}
        assert set(signs) == {"cardiomegaly", "osteophytes", "aortic ectasia"}
        assert all(sign.seen == "seen" for sign in signs.values())
        assert signs["cardiomegaly"].boxes == (sight.regions["cardiac silhouette"],)
        assert signs["cardiomegaly"].zones == ("cardiac silhouette",)
        assert signs["osteophytes"].zones == ("spine",)
