"""FROC of lesions: hits counted on whole arrays, confidences of marks, the curve as boxes have it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import ndimage

from overread.core import Finding, Mask
from overread.metrics.contract import Metric
from overread.metrics.froc import RATES
from overread.metrics.masks.lesion_froc import METRICS, lesion_froc_metrics
from overread.metrics.sample import Sample
from tests.metrics.masks.test_measure import masks, subject

Array = NDArray[Any]


def rows_of(metric: Metric, *arguments: Any, **more: Any) -> list[Any]:
    return list(metric.measure(subject(*arguments, **more)).values())


def marked(confidences: list[dict[int, float]]) -> tuple[Finding, ...]:
    """One mark for each label of each channel, with its confidence."""
    return tuple(
        Finding(
            text="opacity",
            query=str(channel),
            regions=tuple(
                Mask(
                    picture="ct", file="p.nii.gz", channel=channel, channels=3, entity=label, confidence=sure
                )
                for label, sure in told.items()
            ),
        )
        for channel, told in enumerate(confidences)
    )


def hits_on_arrays(truth: Array, predicted: Array, sure: dict[int, float]) -> list[list[float]]:
    """Each component of each label, surest first, takes the best free entity of Dice .2 or more."""
    lesions = []
    for label, confidence in sure.items():
        labels, count = ndimage.label(predicted == label, ndimage.generate_binary_structure(3, 2))
        lesions += [(confidence, labels == n) for n in range(1, count + 1) if (labels == n).sum() >= 10]
    free = set(np.unique(truth[truth > 0]).tolist())
    found = []
    for confidence, lesion in sorted(lesions, key=lambda one: -one[0]):
        dice = {
            entity: 2 * ((truth == entity) & lesion).sum() / ((truth == entity).sum() + lesion.sum())
            for entity in free
        }
        best = max(dice, key=lambda entity: dice[entity]) if dice else None
        hit = best is not None and dice[best] >= 0.2
        if hit:
            free.remove(best)
        found.append([confidence, int(hit)])
    return found


@pytest.mark.parametrize("seed", range(4))
def test_marks_are_matched_as_on_arrays(tmp_path: Path, seed: int) -> None:
    """Marks of several labels, each with its confidence, are matched surest first."""
    rng = np.random.default_rng(seed)
    truth, shown = masks(seed)
    predicted = np.zeros_like(shown)
    told = []
    for channel, mask in enumerate(shown):
        labels, count = ndimage.label(mask)
        part = rng.integers(1, 4, count + 1)
        part[0] = 0
        predicted[channel] = part[labels]
        told.append({n: float(rng.random()) for n in range(1, 4)})
    metric = METRICS["mask_froc"]
    rows = rows_of(metric, tmp_path, truth, predicted, reading=marked(told))
    for channel, row in enumerate(rows):
        assert row["found"] == hits_on_arrays(truth[channel], predicted[channel], told[channel])
        assert row["truths"] == len(np.unique(truth[channel][truth[channel] > 0]))
    assert any(hit for row in rows for _, hit in row["found"])
    assert sum(row["cases"] for row in rows) == pytest.approx(1)
    # One scan: the rates are false lesions in it, and all marks together are the last point.
    true = sum(hit for row in rows for _, hit in row["found"])
    (last,) = (m for m in lesion_froc_metrics() if m.name == "mask_froc_8")
    if sum(len(row["found"]) for row in rows) - true <= 8:
        assert last.combine(Sample(rows))[0] == pytest.approx(true / sum(row["truths"] for row in rows))


def test_being_surer_of_what_is_right_is_better(tmp_path: Path) -> None:
    """The same marks, with the confidence of right and wrong ones exchanged."""
    truth = np.zeros((3, 30, 26, 16), np.uint8)
    truth[:, 4:8, 4:8, 4:8] = 1
    predicted = truth.copy()
    predicted[:, 20:24, 20:24, 10:14] = 2
    metric = METRICS["mask_froc_0.5"]
    values = [
        metric.combine(Sample(rows_of(metric, tmp_path, truth, predicted, reading=marked([told] * 3))))[0]
        for told in ({1: 0.9, 2: 0.2}, {1: 0.2, 2: 0.9})
    ]
    assert values == [1, 0]
    plain = rows_of(metric, tmp_path, truth, (predicted > 0).astype(np.uint8))
    assert {sure for row in plain for sure, _ in row["found"]} == {1.0}  # none told: all equal
    assert metric.combine(Sample(plain))[0] == pytest.approx(0.5 / 3)  # on the line to three false ones


def test_the_truth_is_the_ceiling_and_nothing_the_worst(tmp_path: Path) -> None:
    """The truth handed in has the ceiling at every rate; nothing handed in has 0."""
    truth, predicted = masks(3)
    metric = METRICS["mask_froc"]
    found = rows_of(metric, tmp_path, truth, predicted)
    perfect = rows_of(metric, tmp_path, truth, truth)
    missing = rows_of(metric, tmp_path, truth, None)
    assert len(METRICS) == 2 * (1 + len(RATES))
    for name, one in METRICS.items():
        if name.startswith("ceiling_"):
            assert one.combine(Sample(found))[0] == METRICS[name.removeprefix("ceiling_")].combine(
                Sample(perfect)
            )
        else:
            assert one.combine(Sample(missing))[0] == 0
