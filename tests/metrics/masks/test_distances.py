"""Surface and centroid distances of lesions, held against cdist on whole arrays."""

from __future__ import annotations

from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import ndimage

from overread.metrics.masks import assd
from overread.metrics.masks.assd import SurfacePair
from overread.metrics.masks.components import entities, overlap
from overread.metrics.masks.distances import match_by_distance
from overread.metrics.masks.instances import select_components
from overread.metrics.masks.outlines import draw_outline, draw_outlines, group_into_cells
from overread.metrics.masks.settings import MaskSettings
from overread.metrics.masks.voxel_runs import VoxelRuns, read_runs
from tests.metrics.masks.brute_force import blobs, drawn, kept_components, near, save, surface_distance
from tests.metrics.masks.brute_force import outline as brute_outline

SHAPE = (40, 22, 12)
SPACINGS = [(0.7, 0.7, 1.0), (1.0, 1.0, 1.0), (0.3, 0.35, 3.0), (2.5, 0.8, 0.5)]


def runs_of(folder: Path, array: NDArray[Any]) -> VoxelRuns:
    """The runs of one finding, through a file."""
    (runs,) = read_runs(save(folder / "m.nii.gz", array[None].astype(np.uint8)), array.shape, 1)
    return runs


def masks(seed: int, shape: tuple[int, int, int] = SHAPE) -> list[NDArray[Any]]:
    """Two masks: alike, far apart, one speck, or much larger one than the other."""
    dice = np.random.default_rng(seed)
    one = blobs(dice, shape, part=0.1, width=1.5)
    other = np.roll(one, (2, 1, 0), axis=(0, 1, 2)) | blobs(dice, shape, part=0.02, width=1)
    if seed % 4 == 1:
        other = np.zeros(shape, bool)
        other[-2:, -2:, -1:] = True
    if seed % 4 == 2:
        one, other = np.zeros((2, *shape), bool)
        one[1, 1, 1] = other[-2, -3, -2] = True
    if seed % 4 == 3:
        other = np.ones(shape, bool)
    return [one, other]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shape", [SHAPE, (130, 3, 4), (64, 5, 5), (65, 5, 5), (1, 9, 9), (9, 9, 1)])
def test_outlines_are_eroded_masks(tmp_path: Path, shape: tuple[int, int, int], seed: int) -> None:
    """Surface voxels are those that erosion by a cross takes away, at the edge of the scan too."""
    for mask in masks(seed * 4, shape):
        found = draw_outline(runs_of(tmp_path, mask))
        expected = brute_outline(mask)
        points = found.points()
        assert found.size == len(expected)
        np.testing.assert_array_equal(points[np.lexsort(points.T[::-1])], expected)


def test_touching_entities_have_a_surface_between_them(tmp_path: Path) -> None:
    """The outline of an entity is its own, not that of all of them together."""
    dice = np.random.default_rng(1)
    labels = drawn(dice, blobs(dice, SHAPE, part=0.5, width=3), 4)
    lesions = entities(runs_of(tmp_path, labels))
    found = draw_outlines(lesions, np.array([0, 2]))
    assert sorted(found) == [0, 2]
    for place, surface in found.items():
        assert surface.size == len(brute_outline(labels == lesions.numbers[place]))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("spacing", SPACINGS)
@pytest.mark.parametrize("variant", ["pooled", "mean_of_means"])
@pytest.mark.parametrize("way", ["as it is", "in parts", "to the last place"])
def test_mean_distances_are_brute_forces(
    tmp_path: Path, way: str, variant: Any, spacing: Any, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Near, far, tiny and huge: the distance is that of all pairs of surface voxels."""
    if way != "as it is":
        monkeypatch.setattr(assd, "_ASKING", 10**9)
    if way == "in parts":
        monkeypatch.setattr(assd, "_MOST_WORDS", 300)
    pair = masks(seed)
    one, other = (draw_outline(runs_of(tmp_path, mask)) for mask in pair)
    expected = surface_distance(pair[0], pair[1], np.array(spacing), variant)
    for limit in (np.inf, expected * 1.001, expected * 0.999):
        for sides in ((one, other), (other, one)):
            meeting = SurfacePair(*sides, spacing, variant=variant, limit=limit)
            possible = meeting.may_be_near
            near = meeting.is_near()
            found = meeting.distance()
            assert near in (None, limit > expected)
            if limit < expected:
                assert found is None
            else:
                assert possible
                assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("side", [2, 4])
def test_cells_hold_the_surface(tmp_path: Path, side: int) -> None:
    """Each cell holds surface voxels, and each surface voxel lies in one of the cells."""
    for seed in range(3):
        found = draw_outline(runs_of(tmp_path, np.roll(masks(seed * 4)[0], seed, axis=(0, 1, 2))))
        points = found.points()
        middles = found.cells((1.0, 1.0, 1.0), side).data
        apart = np.abs(points[:, None] - middles[None]).max(axis=2) < side / 2
        assert (apart.sum(axis=1) == 1).all()
        assert apart.any(axis=0).all()
        held, counts = group_into_cells(points, side)
        assert counts.sum() == len(points)
        inside = np.abs(points[:, None] - held[None]).max(axis=2) < side / 2
        np.testing.assert_array_equal(inside.sum(axis=0), counts)


def test_bounds_by_boxes_are_bounds(tmp_path: Path) -> None:
    """The sum that the box allows never exceeds the true one, and is it where it can be."""
    dice = np.random.default_rng(9)
    spacing = np.array((0.7, 0.9, 1.3))
    for part in (0.01, 0.1):
        found = draw_outline(runs_of(tmp_path, blobs(dice, SHAPE, part=part, width=1)))
        low = dice.integers(-60, 90, size=(200, 3))
        high = low + dice.integers(0, 30, size=(200, 3))
        sums = assd.box_distance_bounds(found, low, high, tuple(spacing))
        points = found.points()
        for least, first, last in zip(sums, low, high, strict=True):
            gaps = np.maximum(np.maximum(points - last, first - points), 0)
            true = np.linalg.norm(gaps * spacing, axis=1).sum()
            by_axis = (gaps * spacing).sum(axis=0)
            assert max(by_axis[1:]) - 1e-6 <= least <= true + 1e-6
            assert least >= by_axis[0] - 15 * spacing[0] * len(points)


def ours(
    folder: Path, truth: NDArray[Any], predicted: NDArray[Any], spacing: Any, *, focal: bool,
    **settings: Any,
) -> dict[str, float]:  # fmt: skip
    """What the distance rule says, through files."""
    chosen = MaskSettings(**settings)
    drawn_ = entities(runs_of(folder, truth))
    _, kept = select_components(runs_of(folder, predicted), chosen)
    pairs = match_by_distance(drawn_, kept, overlap(drawn_, kept), spacing, chosen, focal=focal)
    return {
        "distance_tp": len(pairs),
        "distance_fp": len(kept) - len(pairs),
        "distance_fn": len(drawn_) - len(pairs),
    }


def finding(seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Entities of one component, of two, or parts of one; and a prediction near most of them."""
    dice = np.random.default_rng(seed)
    mask = blobs(dice, SHAPE, part=0.1, width=1.6)
    pieces = ndimage.label(mask)[0]
    truth = [pieces, (pieces + 1) // 2, drawn(dice, mask, 5)][seed % 3].astype(np.uint8)
    moved = np.roll(mask, (seed % 3, 1 - seed % 2), axis=(0, 1))
    return truth, moved & ~blobs(dice, SHAPE, part=0.03, width=1)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("focal", [True, False])
@pytest.mark.parametrize("spacing", SPACINGS[::2])
def test_the_distance_rule_is_brute_forces(tmp_path: Path, spacing: Any, focal: bool, seed: int) -> None:
    """Centroids of focal findings, surfaces of the others, nearest first, one to one."""
    truth, predicted = finding(seed)
    for factor in (2.0, 6.0):
        found = ours(tmp_path, truth, predicted, spacing, focal=focal, distance_factor=factor)
        assert found == near(truth, predicted, spacing, focal=focal, factor=factor)


def test_some_findings_are_matched_and_some_are_not(tmp_path: Path) -> None:
    """The findings of these tests have matches, misses and surplus of both kinds."""
    for focal in (True, False):
        found = [ours(tmp_path, *finding(n), SPACINGS[1], focal=focal) for n in range(8)]
        for name in ("distance_tp", "distance_fp", "distance_fn"):
            assert sum(row[name] for row in found) > 3


def test_mean_of_means_is_another_number(tmp_path: Path) -> None:
    """The two variants differ where one surface is far larger than the other."""
    one, other = np.zeros((2, *SHAPE), np.uint8)
    one[4:6, 4:6, 4:8] = 1
    other[4:18, 4:6, 4:8] = 1
    spacing = np.array((1.0, 1.0, 1.0))
    pooled = surface_distance(one > 0, other > 0, spacing)
    mean = surface_distance(one > 0, other > 0, spacing, "mean_of_means")
    factor = (pooled + mean) / 2
    for variant, true in (("pooled", pooled <= factor), ("mean_of_means", mean <= factor)):
        settings = {"assd": variant, "distance_factor": factor}
        found = ours(tmp_path, one, other, (1.0, 1.0, 1.0), focal=False, **settings)
        assert found["distance_tp"] == int(true)
    assert pooled != pytest.approx(mean, rel=0.1)


@pytest.mark.parametrize("focal", [True, False])
@pytest.mark.parametrize("step", [2, 3])
def test_the_limit_itself_is_within(tmp_path: Path, focal: bool, step: int) -> None:
    """A lesion moved by twice the largest spacing is met, one moved further is not."""
    truth, predicted = np.zeros((2, *SHAPE), np.uint8)
    truth[5:25, 3:15, 4] = 1
    predicted[5:25, 3:15, 4 + step] = 1
    found = ours(tmp_path, truth, predicted, (0.7, 0.7, 1.3), focal=focal)
    assert found["distance_tp"] == int(step == 2)


@pytest.mark.parametrize("focal", [True, False])
def test_distances_do_not_depend_on_the_axes(tmp_path: Path, focal: bool) -> None:
    """Turned and flipped scans, with their spacing turned along, have the same matches."""
    truth, predicted = finding(3)
    spacing = (0.9, 0.6, 1.4)
    expected = ours(tmp_path, truth, predicted, spacing, focal=focal)
    for order, flip in product(permutations(range(3)), (None, 0, 2)):
        turned = [mask.transpose(order) for mask in (truth, predicted)]
        turned = turned if flip is None else [np.flip(mask, flip) for mask in turned]
        sides = tuple(spacing[axis] for axis in order)
        assert ours(tmp_path, turned[0], turned[1], sides, focal=focal) == expected


def test_nothing_on_either_side(tmp_path: Path) -> None:
    """Without entities or without lesions there is no match."""
    truth, predicted = finding(2)
    empty = np.zeros(SHAPE, np.uint8)
    lesions = len(kept_components(predicted))
    found = ours(tmp_path, empty, predicted, SPACINGS[0], focal=False)
    assert found == {"distance_tp": 0, "distance_fp": lesions, "distance_fn": 0}
    found = ours(tmp_path, truth, empty, SPACINGS[0], focal=True)
    assert found["distance_fn"] == len(np.unique(truth)) - 1
