"""The official rule, held against brute force with scipy.ndimage on whole arrays."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from overread.errors import UsageError
from overread.metrics.masks.components import entities
from overread.metrics.masks.instances import match_finding, match_greedily, select_components
from overread.metrics.masks.settings import MaskSettings
from overread.metrics.masks.voxel_runs import read_runs
from tests.metrics.masks.brute_force import blobs, drawn, save, scored

SHAPE = (24, 20, 14)
VARIANTS: list[dict[str, Any]] = [
    {},
    {"connectivity": 6},
    {"connectivity": 26, "min_voxels": 1},
    {"eps_place": "denominator", "match_threshold": 0.4},
    {"eps_place": "none", "hit_threshold": 0.6},
    {"eps": 0.5, "min_voxels": 3, "max_instances": 2},
    {"match_threshold": 0.0, "max_instances": 4},
]


def ours(folder: Path, truth: NDArray[Any], predicted: NDArray[Any], **settings: Any) -> dict[str, float]:
    """What the rule says, through files."""
    chosen = MaskSettings(**settings)
    (runs,) = read_runs(save(folder / "t.nii.gz", truth[None]), truth.shape, 1)
    path = save(folder / "p.nii.gz", predicted[None].astype(np.uint8))
    (marked,) = read_runs(path, truth.shape, 1, binary=True)
    found = match_finding(entities(runs), marked, chosen)
    true = len(found.matches)
    assert found.raw_shared == int(((truth > 0) & (predicted > 0)).sum())
    return {
        "dice": found.dice,
        "hit": int(found.dice >= chosen.hit_threshold),
        "raw_dice": found.raw_dice,
        "raw_hit": int(found.raw_dice >= chosen.hit_threshold),
        "tp": true,
        "fp": len(found.predicted) - true,
        "fn": len(found.truth) - true,
        "matched_dice_sum": sum(dice for _, _, dice in found.matches),
    }


def pair(seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """A truth, and a prediction that is partly right."""
    dice = np.random.default_rng(seed)
    truth = drawn(dice, blobs(dice, SHAPE, part=0.12, width=1.3), 1 + seed % 6)
    predicted = np.roll(truth > 0, seed % 3, axis=seed % 2) & (dice.uniform(size=SHAPE) < 0.95)
    return truth, predicted | blobs(dice, SHAPE, part=0.03, width=0.8)


@pytest.mark.parametrize("settings", VARIANTS, ids=str)
@pytest.mark.parametrize("seed", range(6))
def test_the_rule_is_brute_forces(tmp_path: Path, seed: int, settings: dict[str, Any]) -> None:
    """Both Dice, both hits, matches and their Dice, for every way of setting the constants."""
    truth, predicted = pair(seed)
    assert ours(tmp_path, truth, predicted, **settings) == pytest.approx(
        scored(truth, predicted, **settings), abs=1e-12
    )


EMPTY = np.zeros(SHAPE, np.uint8)
FULL = np.ones(SHAPE, np.uint8)


@pytest.mark.parametrize("settings", VARIANTS, ids=str)
@pytest.mark.parametrize(("truth", "predicted"), [(EMPTY, EMPTY), (EMPTY, FULL), (FULL, EMPTY), (FULL, FULL)])
def test_empty_and_full(
    tmp_path: Path, truth: NDArray[Any], predicted: NDArray[Any], settings: dict[str, Any]
) -> None:
    """Nothing and everything, on either side."""
    assert ours(tmp_path, truth, predicted, **settings) == pytest.approx(
        scored(truth, predicted, **settings), abs=1e-12
    )


def test_two_empty_masks_have_a_dice_of_one(tmp_path: Path) -> None:
    """As eps says: 1 with eps in both places or nowhere, 0 with eps below alone."""
    for place, dice in (("both", 1.0), ("none", 1.0), ("denominator", 0.0)):
        assert ours(tmp_path, EMPTY, EMPTY, eps_place=place)["dice"] == dice


def test_small_components_do_not_count_in_full_mode(tmp_path: Path) -> None:
    """Nine voxels are dropped, ten are not; global-only mode sees both."""
    truth, predicted = EMPTY.copy(), EMPTY.copy()
    truth[0, 0, :9] = predicted[0, 0, :9] = 1
    truth[5, 5, :10] = predicted[5, 5, :10] = 2
    found = ours(tmp_path, truth, predicted)
    assert found["dice"] == pytest.approx(2 * 10 / (19 + 10))
    assert found["raw_dice"] == 1.0
    assert (found["tp"], found["fp"], found["fn"]) == (1, 0, 1)


def test_the_fifty_largest_are_kept(tmp_path: Path) -> None:
    """Of sixty components the fifty largest count, of equal ones the first in scan order."""
    shape = (62, 5, 12)
    predicted = np.zeros(shape, np.uint8)
    for number in range(30):
        # Thirty of ten voxels and thirty of eleven, the first ones farther on along two axes.
        predicted[2 * number, 0, 2:12] = 1
        predicted[2 * number, 4, 1:12] = 1
    path = save(tmp_path / "p.nii.gz", predicted[None])
    (runs,) = read_runs(path, shape, 1, binary=True)
    _, kept = select_components(runs, MaskSettings())
    assert len(kept) == 50
    middles = kept.centroids
    small = middles[kept.sizes == 10]
    assert (kept.sizes == 11).sum() == 30
    assert sorted(small[:, 0].tolist()) == [2.0 * n for n in range(20)]
    truth = np.where(predicted > 0, np.arange(1, 63, dtype=np.uint8)[:, None, None], 0)
    assert ours(tmp_path, truth.astype(np.uint8), predicted) == pytest.approx(
        scored(truth, predicted), abs=1e-12
    )


def test_a_match_at_the_threshold_counts(tmp_path: Path) -> None:
    """Dice of exactly 0.2 is a match, unless eps stands below alone and makes it less."""
    truth, predicted = EMPTY.copy(), EMPTY.copy()
    truth[0, 0, :2], truth[0, 1, :8] = 1, 1
    predicted[0, 0, :2], predicted[9, 9, :10] = 1, 1
    for place, matches in (("both", 1), ("none", 1), ("denominator", 0)):
        predicted[0, 0] = predicted[0, 1] = 0
        predicted[:10, 0, 0] = 1  # ten voxels, one of them shared: 2 / 20
        truth[:] = 0
        truth[0, 0, :10] = 1
        found = ours(tmp_path, truth, predicted, eps_place=place, match_threshold=0.1)
        assert found["tp"] == matches, place


def test_equal_pairs_go_to_the_lower_label() -> None:
    """Of equally good pairs the lower entity is served first, with its lower lesion."""
    dice = np.array([[0.5, 0.5], [0.5, 0.9], [0.5, 0.9]])
    assert match_greedily(-dice, dice >= 0.2, values=dice) == ((1, 1, 0.9), (0, 0, 0.5))


@pytest.mark.parametrize("seed", range(3))
def test_scores_do_not_depend_on_the_axes(tmp_path: Path, seed: int) -> None:
    """Flipped and turned scans score the same."""
    truth, predicted = pair(seed)
    expected = ours(tmp_path, truth, predicted)
    for order in permutations(range(3)):
        turned = [mask.transpose(order) for mask in (truth, predicted)]
        assert ours(tmp_path, turned[0], turned[1]) == pytest.approx(expected)
    for axis in range(3):
        flipped = [np.flip(mask, axis) for mask in (truth, predicted)]
        assert ours(tmp_path, flipped[0], flipped[1]) == pytest.approx(expected)


def test_scores_do_not_depend_on_the_numbers_of_entities(tmp_path: Path) -> None:
    """Other labels for the same entities score the same."""
    truth, predicted = pair(5)
    numbers = np.random.default_rng(8).permutation(np.arange(1, 256)).astype(np.uint8)
    other = np.where(truth > 0, numbers[truth], 0)
    assert ours(tmp_path, other, predicted) == pytest.approx(ours(tmp_path, truth, predicted))


@pytest.mark.parametrize(
    "wrong",
    [
        {"connectivity": 8},
        {"eps_place": "above"},
        {"assd": "largest"},
        {"min_voxels": -1},
        {"eps": -1.0},
        {"hit_threshold": "a lot"},
        {"max_instances": 2.5},
    ],
    ids=str,
)
def test_settings_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    """A constant that makes no sense is an error at once."""
    with pytest.raises(UsageError):
        MaskSettings(**wrong)
