"""What may not change the surface numbers: the view, the crop, and the way they are found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from overread.metrics.masks.surface import search, statistics
from overread.metrics.masks.surface.search import nearest_distances
from overread.metrics.masks.surface.statistics import surface_statistics
from tests.metrics.masks.surface.lesion_masks import TOLERANCES, Masks, Spacing, blobs

# ---- what may not matter ---------------------------------------------------------------------


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Masks, Spacing]:
    """Two small masks, possibly empty, and a spacing of round lengths, so that ties happen."""
    shape = draw(st.tuples(*[st.integers(1, 7)] * 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    fill = st.sampled_from([0.0, 0.03, 0.3, 0.9, 1.0])
    truth, predicted = (rng.random(shape) < draw(fill) for _ in range(2))
    spacing = draw(st.tuples(*[st.sampled_from([0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 1.0, 2.5])] * 3))
    return (truth, predicted), spacing


def same(one: dict[str, float], other: dict[str, float]) -> None:
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert other[name] == pytest.approx(value, rel=1e-9, abs=1e-9), name


@given(pairs())
def test_truth_and_prediction_may_change_places(drawn_pair: tuple[Masks, Spacing]) -> None:
    """Everything but the volume error is symmetric, and directed numbers change places."""
    (truth, predicted), spacing = drawn_pair
    one = surface_statistics(truth, predicted, spacing)
    other = surface_statistics(predicted, truth, spacing)
    there, back = "asd_truth_to_predicted", "asd_predicted_to_truth"
    other[there], other[back] = other[back], other[there]
    for name in ("volume_error", "volume_bias", "volume_truth_ml", "volume_predicted_ml"):
        del one[name], other[name]
    other["volume_bias_ml"] *= -1
    same(one, other)


@given(pairs(), st.permutations(range(3)), st.sets(st.integers(0, 2)), st.booleans())
def test_turned_masks_have_the_same_numbers(
    drawn_pair: tuple[Masks, Spacing], order: list[int], flipped: set[int], fortran: bool
) -> None:
    """Flips, permuted axes and the layout in memory change nothing."""
    masks, spacing = drawn_pair
    turned = [np.flip(mask, tuple(flipped)).transpose(order) for mask in masks]
    if fortran:
        turned = [np.asfortranarray(mask) for mask in turned]
    sides = [spacing[axis] for axis in order]
    same(
        surface_statistics(*masks, spacing, tolerances=TOLERANCES),
        surface_statistics(turned[0], turned[1], sides, tolerances=TOLERANCES),
    )


@given(pairs(), st.tuples(*[st.tuples(st.integers(0, 3), st.integers(0, 3))] * 3))
def test_the_crop_does_not_matter(drawn_pair: tuple[Masks, Spacing], rim: Any) -> None:
    """Background around the masks changes nothing: outside the crop is background."""
    masks, spacing = drawn_pair
    wider = [np.pad(mask, rim) for mask in masks]
    same(
        surface_statistics(*masks, spacing, diagonal=99.0),
        surface_statistics(wider[0], wider[1], spacing, diagonal=99.0),
    )


@given(pairs())
def test_a_perfect_mask_is_best(drawn_pair: tuple[Masks, Spacing]) -> None:
    """A mask held against itself has no error; NSD is 1."""
    (truth, _), spacing = drawn_pair
    found = surface_statistics(truth, truth.copy(), spacing)
    names = ("hd", "hd95", "assd_pooled", "assd_surfels", "volume_error", "centroid_error")
    assert [found[name] for name in names] == [0.0] * len(names)
    assert found["nsd_1mm"] == 1.0


# ---- the search ------------------------------------------------------------------------------


def scattered(rng: np.random.Generator, shape: tuple[int, int, int], count: int) -> Any:
    return tuple(rng.integers(0, size, count) for size in shape)


WAYS: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "tree": {"SWEEP_CELL": 1.0},
    "steps": {"TREE_QUERY": 1.0},
    "steps, one at a time": {"TREE_QUERY": 1.0, "TOGETHER": 0, "CHUNK": 1, "QUERIES": 3},
    "some steps, then the tree": {"STEP_CELL": {2: 1e-6, 8: 1e-6}, "SWEEP_CELL": 0.0},
    "a box too large to sweep": {"MOST_BYTES": 1},
}


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=25)
@given(
    shape=st.tuples(*[st.sampled_from([1, 2, 5, 20, 45])] * 3),
    spacing=st.tuples(*[st.sampled_from([0.3, 0.7, 1.0, 4.0])] * 3),
    seed=st.integers(0, 2**32 - 1),
)
def test_every_way_finds_the_nearest(
    way: str, shape: tuple[int, int, int], spacing: Spacing, seed: int
) -> None:
    """Sweeps and steps, the tree, and one after the other give the distances of all pairs."""
    rng = np.random.default_rng(seed)
    searches = [(scattered(rng, shape, many), scattered(rng, shape, few)) for many, few in ((40, 3), (9, 9))]
    with pytest.MonkeyPatch.context() as patch:
        for name, value in WAYS[way].items():
            patch.setattr(search, name, value)
        found = nearest_distances(searches, spacing)
    for (queries, targets), distances in zip(searches, found, strict=True):
        sides = np.array(spacing)
        pairwise = cdist(np.stack(queries, axis=1) * sides, np.stack(targets, axis=1) * sides)
        assert distances == pytest.approx(pairwise.min(axis=1), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("spacing", [(0.7, 0.7, 1.0), (0.7, 0.8, 1.0), (0.001, 0.001, 50.0)])
def test_distances_beyond_16_bits_are_right(spacing: Spacing, monkeypatch: pytest.MonkeyPatch) -> None:
    """Points more than 255 voxels apart along any axis are measured as exactly as near ones."""
    monkeypatch.setattr(search, "TREE_QUERY", 1.0)
    ends = np.array([0, 254, 255, 256, 300, 600])
    zero = np.zeros(len(ends), np.intp)
    one = np.zeros(1, np.intp)
    for axis, side in enumerate(spacing):
        queries: Any = tuple(ends if a == axis else zero for a in range(3))
        [found] = nearest_distances([(queries, (one, one, one))], spacing)
        assert found == pytest.approx(ends * side)


def test_slabs_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """A surface found plane by plane is the one found at once, with empty planes in between."""
    masks, spacing = blobs(9)
    apart = [np.concatenate((mask, np.zeros((5, *mask.shape[1:]), bool), mask)) for mask in masks]
    whole = surface_statistics(apart[0], apart[1], spacing)
    for cells in (1, 2 * (masks[0].shape[1] + 1) * (masks[0].shape[2] + 1)):
        monkeypatch.setattr(statistics, "CHUNK", cells)
        assert surface_statistics(apart[0], apart[1], spacing) == whole
