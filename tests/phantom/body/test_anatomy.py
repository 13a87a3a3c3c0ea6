"""The body: its lungs and lobes, its organs, its HU, and the points and grids that agree."""

from __future__ import annotations

import numpy as np
import pytest

from overread.phantom.body.anatomy import Body
from overread.phantom.body.canvas import ORGAN_NUMBERS, ORGANS, Canvas, Grid
from overread.phantom.body.lungs import LOBES, SEGMENTS
from overread.phantom.body.noise import NoiseTile, smooth_field
from overread.phantom.scanner import add_noise

STEP = 3.0


def seed(number: int) -> np.random.SeedSequence:
    return np.random.SeedSequence([7, number])


@pytest.fixture(scope="module")
def drawn() -> tuple[Body, Canvas]:
    body = Body(seed(0))
    return body, body.draw(body.make_grid(STEP))


def share(canvas: Canvas) -> dict[str, float]:
    """Litres of each organ."""
    counts = np.bincount(canvas.organs.ravel(), minlength=len(ORGANS) + 1)
    return {name: counts[n] * STEP**3 / 1e6 for name, n in ORGAN_NUMBERS.items()}


@pytest.mark.parametrize("number", range(3))
def test_every_patient_has_all_organs_lobes_and_segments(number: int) -> None:
    body = Body(seed(number))
    canvas = body.draw(body.make_grid(STEP))
    litres = share(canvas)
    missing = [name for name in ORGANS if "pleural space" not in name and litres[name] == 0]
    assert missing == []
    assert set(np.unique(canvas.lobes)) == set(range(len(LOBES) + 1))
    assert set(np.unique(canvas.segments)) == set(range(len(SEGMENTS) + 1))
    lungs = litres["right lung"] + litres["left lung"]
    assert 2.5 < lungs < 8, "litres, of adults who breathe in"
    assert litres["right lung"] > litres["left lung"], "the heart lies to the left"
    assert 0.35 < litres["heart"] < 1.1


def test_the_right_lung_is_on_the_right_and_has_three_lobes(drawn: tuple[Body, Canvas]) -> None:
    _, canvas = drawn
    x = np.broadcast_to(canvas.grid.coordinates((slice(None),) * 3)[0], canvas.hu.shape)
    for number, code in enumerate(LOBES, 1):
        middle = float(x[canvas.lobes == number].mean())
        assert (middle > 20) == code.startswith("R"), code
        assert (middle < -20) == code.startswith("L"), code
    heart = canvas.organs == ORGAN_NUMBERS["heart"]
    assert float(x[heart].mean()) < -5
    assert float(x[canvas.organs == ORGAN_NUMBERS["liver"]].mean()) > 20
    assert float(x[canvas.organs == ORGAN_NUMBERS["spleen"]].mean()) < -40
    assert canvas.grid.geometry.axes == "LPS"


def test_lobes_lie_above_and_behind_each_other(drawn: tuple[Body, Canvas]) -> None:
    _, canvas = drawn
    _, y, z = (np.broadcast_to(a, canvas.hu.shape) for a in canvas.grid.coordinates((slice(None),) * 3))
    height = {code: float(z[canvas.lobes == n].mean()) for n, code in enumerate(LOBES, 1)}
    front = {code: float(y[canvas.lobes == n].mean()) for n, code in enumerate(LOBES, 1)}
    assert height["RUL"] > height["RML"] > height["RLL"]
    assert height["LUL"] > height["LLL"]
    assert front["RML"] > front["RLL"]
    assert front["LUL"] > front["LLL"]


def test_hu_are_those_of_tissues(drawn: tuple[Body, Canvas]) -> None:
    body, canvas = drawn
    medians = {
        name: float(np.median(canvas.hu[canvas.organs == number]))
        for name, number in ORGAN_NUMBERS.items()
        if (canvas.organs == number).any()
    }
    assert -900 < medians["right lung"] < -780
    assert -120 < medians["fat"] < -90
    assert 35 < medians["muscle"] < 65
    assert 30 < medians["heart"] < 55
    assert abs(medians["liver"] - body.habitus.liver) < 8
    assert medians["ribs"] > 200
    assert medians["trachea and bronchi"] < -900
    assert float(canvas.hu[0, 0, 0]) == -1000, "air around the patient"


def test_points_and_voxels_agree(drawn: tuple[Body, Canvas]) -> None:
    """The functions that are asked for points say what was painted on the grid."""
    body, canvas = drawn
    rng = np.random.default_rng(3)
    k, j, i = (rng.integers(0, n, 4000) for n in canvas.hu.shape)
    x, y, z = canvas.grid.axes
    points = body.habitus.to_template(x[i], y[j], z[k])
    depth = body.lungs.lung_depth(*points)
    clear = np.abs(depth) > STEP
    # Trees, vessels at the hilum and the organs under the diaphragm are painted over the lungs.
    inside = canvas.lobes[k, j, i] > 0
    assert (inside == (depth > 0))[clear].mean() > 0.995
    both = inside & (depth > 0)
    lobe = body.lungs.lobe_number(*points)
    assert (lobe == canvas.lobes[k, j, i])[both].mean() > 0.999


def test_the_same_body_at_two_sizes(drawn: tuple[Body, Canvas]) -> None:
    body, canvas = drawn
    finer = body.draw(body.make_grid(2.0))
    for number in range(1, 6):
        one = (canvas.lobes == number).sum() * 3.0**3
        two = (finer.lobes == number).sum() * 2.0**3
        assert one == pytest.approx(two, rel=0.03)


def test_bodies_differ_and_repeat() -> None:
    habits = {Body(seed(n)).habitus for n in range(20)}
    assert len(habits) == 20
    assert {h.sex for h in habits} == {"female", "male"}
    one, two = (Body(seed(3)) for _ in range(2))
    assert one.habitus == two.habitus
    assert one.trees == two.trees


def test_airways_reach_every_segment_from_the_windpipe(drawn: tuple[Body, Canvas]) -> None:
    airways = drawn[0].trees.airways
    assert {b.segment for b in airways} == set(range(len(SEGMENTS) + 1))
    for n, branch in enumerate(airways):
        assert branch.parent < n, "parents come first"
        if branch.parent >= 0:
            gap = np.subtract(branch.start, airways[branch.parent].end)
            assert np.linalg.norm(gap) < 0.01 or branch.order < 4
        else:
            assert branch.order == 0


def test_full_size_is_512_by_512_by_300() -> None:
    for number in range(4):
        grid = Body(seed(number)).make_grid(None)
        assert grid.counts == (512, 512, 300)
        assert 0.5 < grid.step[0] < 0.9
        assert 0.8 < grid.step[2] < 1.1


def test_a_part_of_a_grid_holds_its_box() -> None:
    grid = Grid((0, 0, 0), (40, 30, 20), (2, 2, 3))
    cut = grid.box_between((-10, -4, 0), (11, 5, 9))
    assert cut is not None
    x, y, z = (axis.ravel() for axis in grid.coordinates(cut))
    assert (x.min(), x.max()) == (-9, 11)
    assert (y.min(), y.max()) == (-3, 5)
    assert (z.min(), z.max()) == (1.5, 7.5)
    assert grid.box_between((500, 0, 0), (600, 1, 1)) is None


def test_grain_repeats_without_a_seam_and_has_its_width() -> None:
    rng = np.random.default_rng(0)
    grain = NoiseTile(rng, (16, 64, 64), (1, 1, 1), coarse=8)
    tile = grain.sample((slice(0, 16), slice(0, 64), slice(0, 64)), (32, 128, 128))
    again = grain.sample((slice(16, 32), slice(64, 128), slice(0, 64)), (32, 128, 128))
    assert (tile == again).all()
    assert float(tile.std()) == pytest.approx(1, abs=0.01)
    step = float(np.diff(tile, axis=2).std())
    assert step < 0.4, "structures of 8 mm change little from one millimetre to the next"
    seam = float((tile[:, :, 0] - tile[:, :, -1]).std())
    assert seam < 2 * step


def test_a_smooth_field_does_not_depend_on_the_grid() -> None:
    line = np.linspace(-20, 20, 41, dtype=np.float32)
    fields = [
        smooth_field(np.random.default_rng(5), x[None, None, :], line[None, :, None], line[:, None, None], 9)
        for x in (line, line[10:20])
    ]
    assert np.allclose(fields[0][:, :, 10:20], fields[1], atol=1e-4)


def test_noise_has_the_deviation_that_was_asked_for(drawn: tuple[Body, Canvas]) -> None:
    body, canvas = drawn
    clean = canvas.hu
    quiet, loud = (add_noise(canvas, body.habitus, level, np.random.SeedSequence(1)) for level in (5.0, 20.0))
    muscle = canvas.organs == ORGAN_NUMBERS["heart"]
    low, high = (float((n[muscle] - clean[muscle]).std()) for n in (quiet, loud))
    assert 3 < low < 8
    assert high == pytest.approx(4 * low, rel=0.1)
    assert quiet.dtype == np.int16
    assert quiet.min() >= -1024
