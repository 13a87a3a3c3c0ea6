"""Masks in the wrong orientation: the hint tells how they were turned, and nothing else does."""

from __future__ import annotations

from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from overread.metrics.masks.orientation import MAX_VOXELS, find_better_turn
from overread.metrics.masks.voxel_runs import VoxelRuns, read_runs
from overread.pixels.masks import write_mask

Array = NDArray[np.uint8]


def runs(path: Path, mask: Array) -> VoxelRuns:
    write_mask(path / "m.nii.gz", [mask], np.eye(4))
    return read_runs(path / "m.nii.gz", mask.shape, 1, binary=True)[0]


def lesion(shape: tuple[int, int, int]) -> Array:
    """A box that no turn brings back onto itself, not even in part."""
    mask = np.zeros(shape, np.uint8)
    mask[1:4, 5:8, 9:11] = 1
    return mask


@pytest.mark.parametrize(
    ("axes", "flips", "told"),
    [
        ((0, 1, 2), (0,), "flipped along H"),
        ((0, 1, 2), (0, 2), "flipped along H and D"),
        ((1, 0, 2), (), "H and W are swapped"),
        ((1, 0, 2), (1,), "H and W are swapped and it is flipped along W"),
    ],
)
def test_a_turned_mask_is_told_how(
    tmp_path: Path, axes: tuple[int, ...], flips: tuple[int, ...], told: str
) -> None:
    """Each turn of a scan with square slices is found, with the Dice that it would have."""
    truth = lesion((20, 20, 24))
    turned = np.flip(truth, flips).transpose(np.argsort(axes))
    assert find_better_turn(runs(tmp_path, truth), runs(tmp_path, turned)) == (told, 1.0)


def test_every_turn_of_a_cube_is_undone(tmp_path: Path) -> None:
    """All 47 turns that keep the shape of a cube get a hint; the mask itself gets none."""
    truth = lesion((24, 24, 24))
    mine = runs(tmp_path, truth)
    for axes in permutations(range(3)):
        for flips in product((0, 1), repeat=3):
            chosen = tuple(axis for axis, flip in enumerate(flips) if flip)
            turned = np.flip(truth.transpose(axes), chosen)
            found = find_better_turn(mine, runs(tmp_path, turned))
            same = axes == (0, 1, 2) and not chosen
            assert found is None if same else found is not None and found[1] == 1.0


def test_nothing_is_said_where_no_turn_helps(tmp_path: Path) -> None:
    """A mask elsewhere, an empty one, and one that touches the truth get no hint."""
    truth = lesion((20, 18, 24))
    mine = runs(tmp_path, truth)
    elsewhere = np.zeros_like(truth)
    elsewhere[9:11, 8:10, 5:7] = 1
    for other in (elsewhere, np.zeros_like(truth), truth):
        assert find_better_turn(mine, runs(tmp_path, other)) is None
        assert find_better_turn(runs(tmp_path, other), mine) is None
    # Axes of different length cannot have been swapped: nobody would have been let in.
    swapped = np.zeros_like(truth)
    swapped[5:8, 1:4, 9:11] = 1
    assert find_better_turn(mine, runs(tmp_path, swapped)) is None


def test_large_masks_are_tried_by_some_of_their_voxels(tmp_path: Path) -> None:
    """More voxels than are tried: the Dice is that of the whole masks, to two places."""
    truth = np.zeros((64, 64, 40), np.uint8)
    truth[4:20, 4:50, 4:38] = 1
    turned = np.roll(truth[::-1], 2, axis=0)
    assert truth.sum() > MAX_VOXELS
    found = find_better_turn(runs(tmp_path, truth), runs(tmp_path, turned))
    assert found is not None
    whole = 2 * (truth & turned[::-1]).sum() / (2 * truth.sum())
    assert found[0] == "flipped along H"
    assert found[1] == pytest.approx(whole, abs=0.005)
