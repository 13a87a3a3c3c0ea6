"""What a thing drawn on a scan adds to the way of the beam."""

import numpy as np
import pytest

from overread.phantom.body.canvas import Canvas, Grid
from overread.phantom.film.shadows import SLAB_MM, BeamDirection, Shadows, slab_edges, sum_change


@pytest.fixture
def canvas() -> Canvas:
    """Air with a block of water in it."""
    blank = Canvas(Grid((0.0, 0.0, 0.0), (40, 50, 30), (2.0, 2.0, 3.0)))
    blank.hu[5:25, 10:40, 8:32] = 0.0
    return blank


def test_slabs_cover_the_grid_and_are_about_as_thick_as_said(canvas: Canvas) -> None:
    """The slabs of a grid follow each other from its first voxel to its last."""
    counts: tuple[tuple[BeamDirection, int], ...] = (("front", 50), ("side", 40))
    for way, count in counts:
        edges = slab_edges(canvas.grid, way)
        assert edges[0] == 0
        assert edges[-1] == count
        thick = np.diff(edges) * 2.0
        assert thick.min() > 0.6 * SLAB_MM
        assert thick.max() < 1.5 * SLAB_MM


def test_a_shadow_sums_up_to_what_was_drawn(canvas: Canvas) -> None:
    """From both sides the sums hold every HU·mm that was added, and nothing else."""
    shadows = Shadows(canvas)
    canvas.hu[8:12, 15:30, 12:20] += 100.0
    shadows.record("plate")
    seen: tuple[tuple[BeamDirection, int], ...] = (("front", 4 * 8), ("side", 4 * 15))
    for way, area in seen:
        pile = shadows.find("plate", way)
        assert pile is not None
        voxels = 4 * 15 * 8
        assert pile.sums.sum() == pytest.approx(100.0 * voxels * 2.0, rel=1e-4)
        assert pile.sums.any(axis=0).sum() == area
        assert pile.corner[1] == 8
        assert pile.corner[2] == (12 if way == "front" else 15)


def test_only_what_came_since_the_last_note_belongs_to_a_key(canvas: Canvas) -> None:
    """Two things drawn after each other have shadows of their own."""
    shadows = Shadows(canvas)
    canvas.hu[8, 15, 12] += 500.0
    shadows.record("plan-3")
    canvas.hu[20, 30, 25] -= 300.0
    shadows.record("plan-1")
    shadows.record("nothing")
    shadows.rename_keys({"plan-3": "finding-0", "plan-1": "finding-1"})
    assert shadows.keys == ("finding-0", "finding-1", "nothing")
    one, other = shadows.find("finding-0", "front"), shadows.find("finding-1", "front")
    assert one is not None
    assert other is not None
    assert one.sums.shape == (1, 1, 1)
    assert one.sums.item() == pytest.approx(1000.0)
    assert other.corner[1:] == (20, 25)
    assert other.sums.item() == pytest.approx(-600.0)
    assert shadows.find("nothing", "front") is None
    assert shadows.find("nothing", "side") is None


def test_nothing_is_lighter_than_air(canvas: Canvas) -> None:
    """HU under -1000 count as -1000."""
    shadows = Shadows(canvas)
    canvas.hu[10, 20, 20] = -1000.0
    shadows.record("hole")
    canvas.hu[10, 20, 20] = -1500.0
    shadows.record("deeper")
    hole = shadows.find("hole", "front")
    assert hole is not None
    assert hole.sums.item() == pytest.approx(-2000.0)
    assert shadows.find("deeper", "front") is None


def test_a_change_piles_up_as_a_note_of_it_does(canvas: Canvas) -> None:
    """A change given as such has the same slabs as the same change drawn and noted."""
    change = np.zeros(canvas.grid.shape, np.float32)
    change[9:14, 18:33, 11:13] = 70.0
    shadows = Shadows(canvas)
    canvas.hu += change
    shadows.record("same")
    ways: tuple[BeamDirection, ...] = ("front", "side")
    for way in ways:
        noted, given = shadows.find("same", way), sum_change(change, canvas.grid, way)
        assert noted is not None
        assert given is not None
        assert noted.corner == given.corner
        np.testing.assert_allclose(noted.sums, given.sums, atol=0.2)
        np.testing.assert_array_equal(noted.middles, given.middles)
