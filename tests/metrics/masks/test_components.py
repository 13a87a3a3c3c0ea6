"""Components, entities and overlaps of runs, held against scipy.ndimage on whole arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy import ndimage

from overread.metrics.masks.components import Instances, components, entities, overlap
from overread.metrics.masks.voxel_runs import VoxelRuns, read_runs
from tests.metrics.masks.brute_force import RANK, blobs, drawn, save

SHAPES = [(12, 10, 8), (1, 9, 9), (9, 1, 9), (9, 9, 1), (1, 1, 30), (30, 1, 1), (3, 40, 2)]


def runs_of(path: Path, array: NDArray[Any]) -> VoxelRuns:
    """The runs of one finding, through a file."""
    (runs,) = read_runs(save(path / "m.nii.gz", array[None]), array.shape, 1)
    return runs


def flat_runs(array: NDArray[Any]) -> VoxelRuns:
    """The runs of an array, found voxel by voxel."""
    ends: list[tuple[int, int, int]] = []
    flat = array.ravel(order="F")
    for at in np.flatnonzero(flat).tolist():
        joins = ends and ends[-1][1] == at and at % array.shape[0] and ends[-1][2] == flat[at]
        if joins:
            ends[-1] = (ends[-1][0], at + 1, flat[at])
        else:
            ends.append((at, at + 1, flat[at]))
    columns = np.array(ends, dtype=np.int32).reshape(-1, 3).T
    return VoxelRuns(array.shape, *columns)


def numbered(found: Instances) -> NDArray[np.int_]:
    """The number of the lesion of each voxel."""
    flat = np.zeros(np.prod(found.runs.shape), dtype=int)
    for start, stop, place in zip(found.runs.start, found.runs.stop, found.of_run, strict=True):
        flat[start:stop] = found.numbers[place] if place >= 0 else 0
    return flat.reshape(found.runs.shape, order="F")


@pytest.mark.parametrize("connectivity", [6, 18, 26])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("part", [0.02, 0.15, 0.4, 0.8, 1.0])
def test_components_are_scipys(
    tmp_path: Path, shape: tuple[int, int, int], part: float, connectivity: int
) -> None:
    """The same voxels hang together, in the same order, as in scipy.ndimage.label."""
    dice = np.random.default_rng(int(part * 100) + connectivity)
    for width in (0, 1):
        array = blobs(dice, shape, part=part, width=width)
        array[...] |= part == 1.0
        labels = drawn(dice, array, 3)
        found = components(runs_of(tmp_path, labels), connectivity)
        structure = ndimage.generate_binary_structure(3, RANK[connectivity])
        expected, count = ndimage.label(array, structure)
        assert len(found) == count
        np.testing.assert_array_equal(numbered(found), expected)
        np.testing.assert_array_equal(found.sizes, np.bincount(expected.ravel())[1:])


@given(arrays(np.uint8, (4, 4, 3), elements=st.integers(0, 2)), st.sampled_from([6, 18, 26]))
def test_components_of_anything(array: NDArray[np.uint8], connectivity: int) -> None:
    """Any small mask, labels touching or not, falls into scipy's components."""
    expected, _ = ndimage.label(array, ndimage.generate_binary_structure(3, RANK[connectivity]))
    np.testing.assert_array_equal(numbered(components(flat_runs(array), connectivity)), expected)


def test_connectivity_at_an_edge_and_a_corner() -> None:
    """Voxels that share an edge hang together from 18 on, those that share a corner at 26."""
    for away, counts in (((1, 1, 0), (2, 1, 1)), ((1, 0, 1), (2, 1, 1)), ((0, 1, 1), (2, 1, 1)),
                         ((1, 1, 1), (2, 2, 1)), ((1, 0, 0), (1, 1, 1)), ((2, 0, 0), (2, 2, 2))):  # fmt: skip
        for signs in np.ndindex(2, 2, 2):
            array = np.zeros((5, 5, 5), np.uint8)
            array[2, 2, 2] = 1
            step = np.array(away) * (1 - 2 * np.array(signs))
            array[tuple(2 + step)] = 1
            runs = flat_runs(array)
            assert tuple(len(components(runs, c)) for c in (6, 18, 26)) == counts, away


def test_rows_slices_and_scans_do_not_wrap() -> None:
    """The end of a row does not touch the beginning of the next one, nor a slice the next."""
    for pair in (((3, 0, 0), (0, 1, 0)), ((3, 3, 0), (0, 0, 1)), ((0, 3, 0), (0, 0, 1)),
                 ((3, 1, 1), (0, 3, 1)), ((0, 0, 1), (3, 3, 0)), ((0, 3, 0), (1, 0, 1))):  # fmt: skip
        array = np.zeros((4, 4, 3), np.uint8)
        for place in pair:
            array[place] = 1
        assert len(components(flat_runs(array), 26)) == 2, pair


def test_entities_are_labels_not_components(tmp_path: Path) -> None:
    """Each distinct label is one lesion, however many pieces it is drawn in."""
    array = np.zeros((9, 9, 9), np.uint8)
    array[0, 0, 0] = array[8, 8, 8] = 200
    array[4, 4, 4:6] = 3
    array[4, 4, 6] = 1
    found = entities(runs_of(tmp_path, array))
    assert found.numbers.tolist() == [1, 3, 200]
    assert found.sizes.tolist() == [1, 2, 2]
    np.testing.assert_array_equal(numbered(found), array)


@pytest.mark.parametrize("shape", SHAPES)
def test_centroids_and_boxes_are_scipys(tmp_path: Path, shape: tuple[int, int, int]) -> None:
    """Centres of mass and bounding boxes of components and of entities."""
    dice = np.random.default_rng(4)
    labels = drawn(dice, blobs(dice, shape, part=0.3, width=0), 4)
    runs = runs_of(tmp_path, labels)
    for found in (components(runs), entities(runs)):
        where = numbered(found)
        centres = ndimage.center_of_mass(where > 0, where, found.numbers)
        np.testing.assert_allclose(found.centroids, np.array(centres), atol=1e-9)
        low, high = found.boxes
        boxes = ndimage.find_objects(where)
        for place, number in enumerate(found.numbers.tolist()):
            box = boxes[number - 1]
            assert low[place].tolist() == [axis.start for axis in box]
            assert high[place].tolist() == [axis.stop - 1 for axis in box]


def test_kept_lesions_keep_what_they_were() -> None:
    """Taking some lesions, in any order, keeps their voxels, numbers, centres and boxes."""
    dice = np.random.default_rng(5)
    found = components(flat_runs(blobs(dice, (12, 10, 8), part=0.05, width=0)))
    some = np.array([4, 0, 7])
    kept = found.select(some)
    np.testing.assert_array_equal(
        numbered(kept), np.where(np.isin(numbered(found), found.numbers[some]), numbered(found), 0)
    )
    np.testing.assert_array_equal(kept.centroids, found.centroids[some])
    np.testing.assert_array_equal(kept.boxes[1], found.boxes[1][some])
    assert len(found.select(np.array([], dtype=int)).centroids) == 0


@pytest.mark.parametrize("part", [0.0, 0.03, 0.3, 0.9])
def test_overlaps_are_counted_voxel_by_voxel(tmp_path: Path, part: float) -> None:
    """The table of shared voxels is that of the arrays, also against itself."""
    dice = np.random.default_rng(6)
    shape = (12, 10, 8)
    truth = drawn(dice, blobs(dice, shape, part=part, width=1), 5)
    predicted = blobs(dice, shape, part=max(part, 0.1), width=0.5)
    one, other = entities(runs_of(tmp_path, truth)), components(flat_runs(predicted))
    few = other.select(np.arange(0, len(other), 2))
    for left, right in ((one, other), (one, few), (few, one), (one, components(one.runs))):
        here, there = numbered(left), numbered(right)
        expected = [[((here == a) & (there == b)).sum() for b in right.numbers] for a in left.numbers]
        shape_ = (len(left), len(right))
        np.testing.assert_array_equal(overlap(left, right), np.reshape(expected, shape_))
