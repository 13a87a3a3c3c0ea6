"""What gravity does: fluid below, air above, and as much of both as the scan has."""

import numpy as np
import pytest
from scipy import ndimage

from overread.phantom.body.anatomy import Body
from overread.phantom.body.canvas import ORGAN_NUMBERS
from overread.phantom.film.gravity import find_pleural_content, settle_hernia, settle_pleural_content
from overread.phantom.film.renderer import FilmRenderer
from overread.phantom.film.shadows import BeamDirection
from overread.phantom.population import FindingPlan, seed_for
from overread.phantom.visit import PatientBody, PatientSettings, Visit

pytestmark = pytest.mark.slow


def a_visit(number: int, plans: list[FindingPlan], beyond: tuple[str, ...] = ()) -> Visit:
    """One small patient with the findings that are asked for."""
    settings = PatientSettings(seed=1)
    person = PatientBody(number, settings, Body(seed_for(1, number, "body")), spurs=0.0)
    rng = np.random.default_rng(seed_for(1, number, "beyond"))
    return person.draw_visit(plans, list(beyond), rng, np.random.default_rng(0), "radiologist")


@pytest.fixture(scope="module")
def wet() -> FilmRenderer:
    """Fluid on both sides, and a consolidation."""
    return FilmRenderer(a_visit(19, [FindingPlan("2e", "effusion"), FindingPlan("2b", "consolidation")]))


@pytest.fixture(scope="module")
def airy() -> FilmRenderer:
    """Air on one side."""
    return FilmRenderer(a_visit(5, [FindingPlan("2g", "pneumothorax")]))


@pytest.fixture(scope="module")
def hernia() -> FilmRenderer:
    """A pouch of the stomach above the diaphragm."""
    return FilmRenderer(a_visit(9, [FindingPlan("2d", "solid")], ("hiatal hernia",)))


def test_as_much_fluid_and_air_stands_as_lay(wet: FilmRenderer, airy: FilmRenderer) -> None:
    """Each side holds the volume of the scan within 3 %."""
    for room in (wet, airy):
        things = find_pleural_content(room.visit)
        assert things
        voxel = float(np.prod(room.canvas.grid.step))
        laid = {
            (one.content.key, one.content.side): float(one.mask.sum()) * voxel
            for space in settle_pleural_content(room.visit.body, room.canvas, things)
            for one in space.settled
        }
        for free in things:
            assert laid[free.key, free.side] == pytest.approx(free.volume, rel=0.03)


def test_fluid_weighs_the_same_along_the_beam(wet: FilmRenderer) -> None:
    """What the re-laid fluid adds on the film is the fluid's volume less the lung's it replaced."""
    change = wet.integrate_path("PA") - wet.integrate_path("PA", ("finding-0",))
    beam = wet.beam("PA")
    volume = sum(free.volume for free in find_pleural_content(wet.visit))
    # Depth by depth the film is magnified by some 6 %, its area by twice that.
    larger = float(beam.magnification(np.asarray(0.0))) ** 2
    added = float(change.sum()) * beam.spacing**2 / larger
    wanted = volume * (8 - wet.visit.body.habitus.lung)
    # Lung beside it is squeezed, and vessels in it are seen no more.
    assert 0.85 * wanted < added < 1.3 * wanted


def test_fluid_lies_below_and_climbs_along_the_wall(wet: FilmRenderer) -> None:
    """It is lower than the lung on the whole, and higher at the side wall than in the middle."""
    canvas = wet.canvas
    for space in settle_pleural_content(wet.visit.body, canvas, find_pleural_content(wet.visit)):
        (one,) = space.settled
        x, y, z = canvas.grid.coordinates(space.cut)
        heights = np.broadcast_to(z, one.mask.shape)
        lung = canvas.lobes[space.cut] > 0
        assert heights[one.mask].mean() < heights[lung].mean() - 40
        depth = wet.visit.body.rib_depth(x, y, z)
        tops = [heights[one.mask & near].max() for near in (depth < 8, depth > 30)]
        assert tops[0] > tops[1] + 15


def test_angles_are_sharp_without_fluid_and_blunt_with_it(wet: FilmRenderer) -> None:
    """At the costophrenic angles the film is dark without the effusion and light with it."""
    clean = wet.render("PA", without=wet.visit.shadows.keys, noise=False).pixels
    full = wet.render("PA", noise=False).pixels
    grid, lobes = wet.canvas.grid, wet.canvas.lobes
    middle = int(np.argmin(np.abs(grid.axes[1])))
    for side in (1, -1):
        lung = np.isin(lobes[:, middle], (1, 2, 3) if side > 0 else (4, 5))
        z, x = np.nonzero(lung)
        # The outermost lung of the lowest two centimetres, at the height of the midaxillary line.
        low = z < z.min() + 20 / grid.step[2]
        points = np.stack(
            [grid.axes[0][x[low]], np.full(low.sum(), grid.axes[1][middle]), grid.axes[2][z[low]]], axis=-1
        )
        at = points[np.argsort(-side * points[:, 0])][:20].mean(axis=0)
        at[0] -= side * 6
        column, row = (int(np.rint(v)) for v in wet.project_points(at, "PA"))
        spot = np.s_[row - 4 : row + 5, column - 4 : column + 5]
        liver_row = row + round(45 / wet.beam("PA").spacing)
        below = clean[liver_row - 4 : liver_row + 5, column + side * 30 - 4 : column + side * 30 + 5]
        assert clean[spot].mean() < below.mean() - 25
        assert full[spot].mean() > clean[spot].mean() + 25


def test_a_consolidation_under_fluid_is_not_doubly_dense(wet: FilmRenderer) -> None:
    """What the consolidation adds, it adds only where the fluid has left lung."""
    fluid, dense = "finding-0", "finding-1"
    alone = wet.integrate_path("PA", (fluid,)) - wet.integrate_path("PA", (fluid, dense))
    under = wet.integrate_path("PA") - wet.integrate_path("PA", (dense,))
    kept = wet.canvas.lobes > 0
    for space in settle_pleural_content(wet.visit.body, wet.canvas, find_pleural_content(wet.visit)):
        kept[space.cut] &= ~space.settled[0].mask
    # A few pixels off the border, where slabs of both grids overlap.
    drowned = ndimage.binary_erosion(~wet.project_mask(kept, "PA"), iterations=6) & (alone > 3000)
    assert drowned.sum() > 50
    assert under[drowned].mean() < 0.1 * alone[drowned].mean()
    spared = (alone > 3000) & (wet.integrate_path("PA", (dense,)) == wet.integrate_path("PA", (fluid, dense)))
    np.testing.assert_allclose(under[spared], alone[spared], atol=1.0)


def test_air_rises_to_the_apex_with_a_line_and_no_vessels(airy: FilmRenderer) -> None:
    """The air is higher than the lung, the film darker and plainer there, and a line is along it."""
    (free,) = find_pleural_content(airy.visit)
    (space,) = settle_pleural_content(airy.visit.body, airy.canvas, [free])
    (one,) = space.settled
    heights = np.broadcast_to(airy.canvas.grid.coordinates(space.cut)[2], one.mask.shape)
    lung = airy.canvas.lobes[space.cut] > 0
    assert heights[one.mask].mean() > heights[lung].mean() + 40
    assert heights[one.mask].max() > heights[lung].max() - 3
    own = np.zeros(airy.canvas.grid.shape, bool)
    own[space.cut] = lung & ~one.mask
    beyond = airy.project_entities(airy.visit.drawn_findings[0].entities, "PA") & ~airy.project_mask(
        own, "PA"
    )
    assert beyond.sum() > 300
    keys = ("finding-0",)
    with_air, without = airy.integrate_path("PA"), airy.integrate_path("PA", keys)
    assert (with_air - without)[beyond].mean() < -2000
    # The line of the pleura: somewhere along the edge more is in the way than before.
    assert (with_air - without).max() > 1500


def test_lying_down_nothing_is_laid_anew(wet: FilmRenderer) -> None:
    """On the supine film the fluid is where the scan has it: a haze, higher than the level."""
    haze = wet.integrate_path("AP supine") - wet.integrate_path("AP supine", ("finding-0",))
    level = wet.integrate_path("PA") - wet.integrate_path("PA", ("finding-0",))
    middles = []
    for beam, change in ((wet.beam("AP supine"), haze), (wet.beam("PA"), level)):
        rows = np.arange(change.shape[0])
        row = float((change.clip(0).sum(axis=1) * rows).sum() / change.clip(0).sum())
        middles.append(beam.edge[1] - row * beam.spacing)
    assert middles[0] > middles[1] + 25


@pytest.mark.parametrize("way", ["front", "side"])
def test_gas_of_a_hernia_rises_in_it(hernia: FilmRenderer, way: BeamDirection) -> None:
    """As much gas as before, and higher."""
    pile = settle_hernia(hernia.visit, way)
    assert pile is not None
    lost, won = pile.sums.clip(max=0), pile.sums.clip(min=0)
    assert won.sum() > 0
    assert abs(lost.sum() + won.sum()) < 0.1 * won.sum()
    heights = np.arange(pile.sums.shape[1])
    middle = [float((part.sum(axis=(0, 2)) * heights).sum() / part.sum()) for part in (lost, won)]
    assert middle[0] > middle[1] + 1


def test_the_bubble_is_under_the_left_dome_with_a_level(hernia: FilmRenderer) -> None:
    """The stomach's gas is darker than the liver across, and its lower border is flat."""
    keys = hernia.visit.shadows.keys
    film = hernia.render("PA", without=keys, noise=False)
    canvas = hernia.canvas
    stomach = hernia.project_mask(canvas.organs == ORGAN_NUMBERS["stomach"], "PA")
    rows, columns = np.nonzero(stomach)
    middle = hernia.project_points(np.array([0.0, 0.0, -100.0]), "PA")[0]
    assert columns.min() > middle - 25 / film.spacing
    darkest = film.pixels[stomach].astype(int)
    bubble = stomach & (film.pixels < np.quantile(darkest, 0.05) + 12)
    rows, columns = np.nonzero(bubble)
    across = np.rint(2 * middle - columns).astype(int).clip(0)
    assert film.pixels[rows, across].mean() > film.pixels[rows, columns].mean() + 25
    assert rows.mean() < np.nonzero(stomach)[0].mean()
