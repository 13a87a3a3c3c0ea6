"""Films of one patient: where things are on them, and that they are the same every time."""

from dataclasses import replace

import numpy as np
import pytest

from overread.phantom.body.anatomy import Body
from overread.phantom.body.canvas import NUMBER
from overread.phantom.film.marks import WORDS
from overread.phantom.film.room import FilmRoom
from overread.phantom.film.shadows import Shadows
from overread.phantom.film.sign import View
from overread.phantom.findings.scan import Entity
from overread.phantom.population import Plan, stream
from overread.phantom.visit import Person, Settings, Visit

VIEWS: tuple[View, ...] = ("PA", "AP supine", "lateral")


def a_visit(number: int, plans: list[Plan]) -> Visit:
    """One small patient with the findings that are asked for."""
    person = Person(number, Settings(seed=1), Body(stream(1, number, "body")), spurs=0.0)
    rng = np.random.default_rng(stream(1, number, "beyond"))
    return person.visit(plans, [], rng, np.random.default_rng(0), "radiologist")


@pytest.fixture(scope="module")
def visit() -> Visit:
    """A patient with a solid nodule."""
    return a_visit(2, [Plan("2d", "solid")])


@pytest.fixture(scope="module")
def room(visit: Visit) -> FilmRoom:
    """The room with him in it."""
    return FilmRoom(visit)


@pytest.mark.parametrize("view", VIEWS)
def test_films_are_large_enough_and_grey(room: FilmRoom, view: View) -> None:
    """At least 512 pixels on the shorter side, lungs dark grey, mediastinum light."""
    film = room.film(view)
    assert film.pixels.dtype == np.uint8
    assert min(film.pixels.shape) >= 512
    assert film.view == view
    assert 0.3 < film.spacing < 0.9
    lung = room.outline(room.canvas.lobes > 0, view)
    heart = room.outline(room.canvas.organs == NUMBER["heart"], view)
    assert 35 < np.median(film.pixels[lung & ~heart]) < 150
    if view != "lateral":
        assert np.median(film.pixels[heart]) > np.median(film.pixels[lung & ~heart]) + 50


def test_the_heart_is_on_the_patients_left(room: FilmRoom) -> None:
    """On frontal films more of the light middle lies on the picture's right."""
    for view in ("PA", "AP supine"):
        film = room.film(view, noise=False)
        points = np.array([[sign * 55.0, 20.0, -75.0] for sign in (1, -1)])
        columns, rows = (np.rint(v).astype(int) for v in room.place(points, view))
        right, left = (
            film.pixels[r - 12 : r + 13, c - 6 : c + 7].mean()
            for r, c in zip(rows, columns, strict=True)
        )
        assert columns[0] < columns[1]
        assert left > right + 25


def test_the_right_dome_stands_higher(room: FilmRoom) -> None:
    """Going down from the lung, the film turns light earlier on the patient's right."""
    film = room.film("PA", noise=False, without=room.visit.shadows.keys)
    edges = []
    for lobes in ((1, 2, 3), (4, 5)):
        lung = room.outline(np.isin(room.canvas.lobes, lobes), "PA")
        columns = np.flatnonzero(lung.any(axis=0))
        column = int(np.quantile(columns, 0.55))
        start = film.pixels.shape[0] // 2
        strip = film.pixels[start:, column - 4 : column + 5].mean(axis=1)
        edges.append(start + int(np.argmax(np.diff(strip, n=1)[: int(0.45 * start * 2)])))
    assert edges[0] < edges[1]


def test_the_lateral_patient_looks_to_the_left(room: FilmRoom) -> None:
    """On the lateral film the sternum is on the picture's left, the spine on its right."""
    sternum, spine = (
        np.nonzero(room.outline(room.canvas.organs == NUMBER[name], "lateral"))[1].mean()
        for name in ("sternum", "vertebrae")
    )
    assert sternum + 100 < spine


def test_a_film_from_near_enlarges_the_heart(room: FilmRoom) -> None:
    """The cardiothoracic ratio of the bedside film is larger: the heart is far from the plate."""
    ratios = []
    for view in ("PA", "AP supine"):
        widths = [
            np.ptp(np.nonzero(room.outline(mask, view))[1])
            for mask in (room.canvas.organs == NUMBER["heart"], room.canvas.lobes > 0)
        ]
        ratios.append(widths[0] / widths[1])
    assert ratios[1] > ratios[0] * 1.02


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("centre", [(70.0, 10.0, -30.0), (-75.0, -45.0, 25.0), (80.0, 40.0, -60.0)])
def test_a_ball_is_where_place_and_outline_say(
    visit: Visit, view: View, centre: tuple[float, float, float]
) -> None:
    """The middle of a dense ball's shadow is at its place to one pixel, and so is its outline."""
    canvas = visit.scan.canvas.copy()
    shadows = Shadows(canvas)
    cut = canvas.grid.cut([c - 14 for c in centre], [c + 14 for c in centre])
    assert cut is not None
    x, y, z = canvas.grid.at(cut)
    far = np.sqrt((x - centre[0]) ** 2 + (y - centre[1]) ** 2 + (z - centre[2]) ** 2)
    ball = far < 11
    canvas.hu[cut][ball] = 3000.0
    shadows.note("ball")
    room = FilmRoom(replace(visit, shadows=shadows))
    # Only the beam is asked: the body is the same with the ball and without.
    pile = shadows.of("ball", room.beam(view).way)
    assert pile is not None
    shade = room.beam(view).lay_slabs(pile, canvas.grid)
    rows, columns = np.mgrid[: shade.shape[0], : shade.shape[1]]
    found = [(shade * index).sum() / shade.sum() for index in (columns, rows)]
    voxels = np.stack([np.broadcast_to(a, ball.shape)[ball] for a in (x, y, z)], axis=-1)
    wanted = [float(v) for v in room.place(voxels.mean(axis=0), view)]
    assert np.abs(np.subtract(found, wanted)).max() < 1
    outline = room.outline_of([Entity(cut, ball)], view)
    middle = [float(index[outline].mean()) for index in (columns, rows)]
    assert np.abs(np.subtract(middle, wanted)).max() < 1
    wide = np.ptp(np.nonzero(outline)[1]) + 1
    at = centre[1 if view != "lateral" else 0]
    larger = float(room.beam(view).magnified(np.asarray(at)))
    assert abs(wide * room.beam(view).spacing - 22 * larger) < 3


def test_a_finding_changes_the_film_at_its_place(room: FilmRoom) -> None:
    """Without the nodule the film differs most within its outline and not far from it."""
    (drawn,) = room.visit.drawn
    outline = room.outline_of(drawn.entities, "PA")
    change = room.film("PA", noise=False).pixels.astype(int)
    change -= room.film("PA", noise=False, without=("finding-0",)).pixels
    assert change[outline].mean() > 3
    assert np.abs(change[~outline]).mean() < 0.3


def test_an_outline_of_an_organ_is_where_the_film_shows_it(room: FilmRoom) -> None:
    """Across the lungs' outer borders the film turns from dark to light."""
    film = room.film("PA", noise=False, without=room.visit.shadows.keys)
    lungs = room.outline(room.canvas.lobes > 0, "PA")
    for row in range(int(film.pixels.shape[0] * 0.4), int(film.pixels.shape[0] * 0.6), 9):
        inside = np.flatnonzero(lungs[row])
        band = film.pixels[row - 12 : row + 13].mean(axis=0)
        for edge, way in ((inside[0], 1), (inside[-1], -1)):
            assert band[edge + 12 * way] < band[edge - 6 * way] - 8


def test_the_same_patient_gives_the_same_film(visit: Visit, room: FilmRoom) -> None:
    """Another room and another order of films change no pixel; another day, the exposure."""
    again = FilmRoom(a_visit(2, [Plan("2d", "solid")]))
    lateral = again.film("lateral", without=("finding-0",))
    assert (again.film("PA").pixels == room.film("PA").pixels).all()
    assert (lateral.pixels == room.film("lateral", without=("finding-0",)).pixels).all()
    second = FilmRoom(visit, day=1)
    assert second.beam("PA") != room.beam("PA")


def test_noise_is_added_only_when_wished(room: FilmRoom) -> None:
    """A noisy film differs a little everywhere from the clean one."""
    noisy, clean = (room.film("PA", noise=n).pixels.astype(int) for n in (True, False))
    change = np.abs(noisy - clean)
    assert 0.2 < change.mean() < 6


def test_all_findings_left_out_is_the_body(room: FilmRoom) -> None:
    """A film without any finding does not depend on what the findings were."""
    other = FilmRoom(a_visit(2, [Plan("2e", "effusion"), Plan("2b", "consolidation")]))
    one = room.film("PA", without=room.visit.shadows.keys)
    same = other.film("PA", without=other.visit.shadows.keys)
    assert (one.pixels == same.pixels).all()
    assert (other.film("PA").pixels != same.pixels).mean() > 0.05


def test_the_scan_is_not_touched(visit: Visit, room: FilmRoom) -> None:
    """Taking films, standing too, changes nothing of the scan."""
    before = visit.scan.canvas.copy()
    fresh = FilmRoom(visit)
    fresh.film("PA")
    fresh.outline_of(visit.drawn[0].entities, "PA")
    np.testing.assert_array_equal(before.hu, visit.scan.canvas.hu)
    np.testing.assert_array_equal(before.organs, visit.scan.canvas.organs)


def test_a_supine_film_says_so() -> None:
    """Whatever is burned into a supine film names the way it was taken, and no other does."""
    for words in WORDS["AP supine"]:
        assert {"AP", "SUPINE"} <= set(words.split())
    assert not any("SUPINE" in words for view in ("PA", "lateral") for words in WORDS[view])


def test_letters_are_on_the_film(room: FilmRoom) -> None:
    """The upper corners of a film hold something nearly white: the marker of the side."""
    pixels = room.film("PA").pixels
    corner = pixels[: pixels.shape[0] // 5]
    wide = pixels.shape[1] // 5
    assert max(int(corner[:, :wide].max()), int(corner[:, -wide:].max())) >= 240
