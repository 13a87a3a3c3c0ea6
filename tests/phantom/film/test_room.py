"""Films of one patient: where things are on them, and that they are the same every time."""

from dataclasses import replace

import numpy as np
import pytest

from overread.phantom.body.anatomy import Body
from overread.phantom.body.canvas import ORGAN_NUMBERS
from overread.phantom.film.markers import MARKER_WORDS
from overread.phantom.film.renderer import FilmRenderer
from overread.phantom.film.shadows import Shadows
from overread.phantom.film.sign import View
from overread.phantom.findings.scan import Entity
from overread.phantom.population import FindingPlan, seed_for
from overread.phantom.visit import PatientBody, PatientSettings, Visit

VIEWS: tuple[View, ...] = ("PA", "AP supine", "lateral")


def a_visit(number: int, plans: list[FindingPlan]) -> Visit:
    """One small patient with the findings that are asked for."""
    person = PatientBody(number, PatientSettings(seed=1), Body(seed_for(1, number, "body")), spurs=0.0)
    rng = np.random.default_rng(seed_for(1, number, "beyond"))
    return person.draw_visit(plans, [], rng, np.random.default_rng(0), "radiologist")


@pytest.fixture(scope="module")
def visit() -> Visit:
    """A patient with a solid nodule."""
    return a_visit(2, [FindingPlan("2d", "solid")])


@pytest.fixture(scope="module")
def room(visit: Visit) -> FilmRenderer:
    """The room with him in it."""
    return FilmRenderer(visit)


@pytest.mark.parametrize("view", VIEWS)
def test_films_are_large_enough_and_grey(room: FilmRenderer, view: View) -> None:
    """At least 512 pixels on the shorter side, lungs dark grey, mediastinum light."""
    film = room.render(view)
    assert film.pixels.dtype == np.uint8
    assert min(film.pixels.shape) >= 512
    assert film.view == view
    assert 0.3 < film.spacing < 0.9
    lung = room.project_mask(room.canvas.lobes > 0, view)
    heart = room.project_mask(room.canvas.organs == ORGAN_NUMBERS["heart"], view)
    assert 35 < np.median(film.pixels[lung & ~heart]) < 150
    if view != "lateral":
        assert np.median(film.pixels[heart]) > np.median(film.pixels[lung & ~heart]) + 50


def test_the_heart_is_on_the_patients_left(room: FilmRenderer) -> None:
    """On frontal films more of the light middle lies on the picture's right."""
    for view in ("PA", "AP supine"):
        film = room.render(view, noise=False)
        points = np.array([[sign * 55.0, 20.0, -75.0] for sign in (1, -1)])
        columns, rows = (np.rint(v).astype(int) for v in room.project_points(points, view))
        right, left = (
            film.pixels[r - 12 : r + 13, c - 6 : c + 7].mean() for r, c in zip(rows, columns, strict=True)
        )
        assert columns[0] < columns[1]
        assert left > right + 25


def test_the_right_dome_stands_higher(room: FilmRenderer) -> None:
    """Going down from the lung, the film turns light earlier on the patient's right."""
    film = room.render("PA", noise=False, without=room.visit.shadows.keys)
    edges = []
    for lobes in ((1, 2, 3), (4, 5)):
        lung = room.project_mask(np.isin(room.canvas.lobes, lobes), "PA")
        columns = np.flatnonzero(lung.any(axis=0))
        column = int(np.quantile(columns, 0.55))
        start = film.pixels.shape[0] // 2
        strip = film.pixels[start:, column - 4 : column + 5].mean(axis=1)
        edges.append(start + int(np.argmax(np.diff(strip, n=1)[: int(0.45 * start * 2)])))
    assert edges[0] < edges[1]


def test_the_lateral_patient_looks_to_the_left(room: FilmRenderer) -> None:
    """On the lateral film the sternum is on the picture's left, the spine on its right."""
    sternum, spine = (
        np.nonzero(room.project_mask(room.canvas.organs == ORGAN_NUMBERS[name], "lateral"))[1].mean()
        for name in ("sternum", "vertebrae")
    )
    assert sternum + 100 < spine


def test_a_film_from_near_enlarges_the_heart(room: FilmRenderer) -> None:
    """The cardiothoracic ratio of the bedside film is larger: the heart is far from the plate."""
    ratios = []
    for view in ("PA", "AP supine"):
        widths = [
            np.ptp(np.nonzero(room.project_mask(mask, view))[1])
            for mask in (room.canvas.organs == ORGAN_NUMBERS["heart"], room.canvas.lobes > 0)
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
    cut = canvas.grid.box_between([c - 14 for c in centre], [c + 14 for c in centre])
    assert cut is not None
    x, y, z = canvas.grid.coordinates(cut)
    far = np.sqrt((x - centre[0]) ** 2 + (y - centre[1]) ** 2 + (z - centre[2]) ** 2)
    ball = far < 11
    canvas.hu[cut][ball] = 3000.0
    shadows.record("ball")
    room = FilmRenderer(replace(visit, shadows=shadows))
    # Only the beam is asked: the body is the same with the ball and without.
    pile = shadows.find("ball", room.beam(view).direction)
    assert pile is not None
    shade = room.beam(view).project_slabs(pile, canvas.grid)
    rows, columns = np.mgrid[: shade.shape[0], : shade.shape[1]]
    found = [(shade * index).sum() / shade.sum() for index in (columns, rows)]
    voxels = np.stack([np.broadcast_to(a, ball.shape)[ball] for a in (x, y, z)], axis=-1)
    wanted = [float(v) for v in room.project_points(voxels.mean(axis=0), view)]
    assert np.abs(np.subtract(found, wanted)).max() < 1
    outline = room.project_entities([Entity(cut, ball)], view)
    middle = [float(index[outline].mean()) for index in (columns, rows)]
    assert np.abs(np.subtract(middle, wanted)).max() < 1
    wide = np.ptp(np.nonzero(outline)[1]) + 1
    at = centre[1 if view != "lateral" else 0]
    larger = float(room.beam(view).magnification(np.asarray(at)))
    assert abs(wide * room.beam(view).spacing - 22 * larger) < 3


def test_a_finding_changes_the_film_at_its_place(room: FilmRenderer) -> None:
    """Without the nodule the film differs most within its outline and not far from it."""
    (drawn,) = room.visit.drawn_findings
    outline = room.project_entities(drawn.entities, "PA")
    change = room.render("PA", noise=False).pixels.astype(int)
    change -= room.render("PA", noise=False, without=("finding-0",)).pixels
    assert change[outline].mean() > 3
    assert np.abs(change[~outline]).mean() < 0.3


def test_an_outline_of_an_organ_is_where_the_film_shows_it(room: FilmRenderer) -> None:
    """Across the lungs' outer borders the film turns from dark to light."""
    film = room.render("PA", noise=False, without=room.visit.shadows.keys)
    lungs = room.project_mask(room.canvas.lobes > 0, "PA")
    for row in range(int(film.pixels.shape[0] * 0.4), int(film.pixels.shape[0] * 0.6), 9):
        inside = np.flatnonzero(lungs[row])
        band = film.pixels[row - 12 : row + 13].mean(axis=0)
        for edge, way in ((inside[0], 1), (inside[-1], -1)):
            assert band[edge + 12 * way] < band[edge - 6 * way] - 8


@pytest.mark.slow
def test_the_same_patient_gives_the_same_film(visit: Visit, room: FilmRenderer) -> None:
    """Another room and another order of films change no pixel; another day, the exposure."""
    again = FilmRenderer(a_visit(2, [FindingPlan("2d", "solid")]))
    lateral = again.render("lateral", without=("finding-0",))
    assert (again.render("PA").pixels == room.render("PA").pixels).all()
    assert (lateral.pixels == room.render("lateral", without=("finding-0",)).pixels).all()
    second = FilmRenderer(visit, day=1)
    assert second.beam("PA") != room.beam("PA")


def test_noise_is_added_only_when_wished(room: FilmRenderer) -> None:
    """A noisy film differs a little everywhere from the clean one."""
    noisy, clean = (room.render("PA", noise=n).pixels.astype(int) for n in (True, False))
    change = np.abs(noisy - clean)
    assert 0.2 < change.mean() < 6


@pytest.mark.slow
def test_all_findings_left_out_is_the_body(room: FilmRenderer) -> None:
    """A film without any finding does not depend on what the findings were."""
    other = FilmRenderer(a_visit(2, [FindingPlan("2e", "effusion"), FindingPlan("2b", "consolidation")]))
    one = room.render("PA", without=room.visit.shadows.keys)
    same = other.render("PA", without=other.visit.shadows.keys)
    assert (one.pixels == same.pixels).all()
    assert (other.render("PA").pixels != same.pixels).mean() > 0.05


def test_the_scan_is_not_touched(visit: Visit, room: FilmRenderer) -> None:
    """Taking films, standing too, changes nothing of the scan."""
    before = visit.scan.canvas.copy()
    fresh = FilmRenderer(visit)
    fresh.render("PA")
    fresh.project_entities(visit.drawn_findings[0].entities, "PA")
    np.testing.assert_array_equal(before.hu, visit.scan.canvas.hu)
    np.testing.assert_array_equal(before.organs, visit.scan.canvas.organs)


def test_a_supine_film_says_so() -> None:
    """Whatever is burned into a supine film names the way it was taken, and no other does."""
    for words in MARKER_WORDS["AP supine"]:
        assert {"AP", "SUPINE"} <= set(words.split())
    assert not any("SUPINE" in words for view in ("PA", "lateral") for words in MARKER_WORDS[view])


def test_letters_are_on_the_film(room: FilmRenderer) -> None:
    """The upper corners of a film hold something nearly white: the marker of the side."""
    pixels = room.render("PA").pixels
    corner = pixels[: pixels.shape[0] // 5]
    wide = pixels.shape[1] // 5
    assert max(int(corner[:, :wide].max()), int(corner[:, -wide:].max())) >= 240
