"""Panoptic quality of masks, held to panoptica, and to counting pairs on whole arrays.

The numbers kept here are those of panoptica 2.1.7; where it is installed it is asked again.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import ndimage

from overread.errors import UsageError
from overread.metrics.masks.components import entities
from overread.metrics.masks.panoptic import panoptic_counts, panoptic_metrics
from overread.metrics.masks.voxel_runs import read_runs
from overread.metrics.sample import Sample
from overread.runs.scoring.metric_selection import select_metrics
from tests.metrics.masks.brute_force import blobs, save
from tests.metrics.masks.test_measure import masks, subject

Array = NDArray[Any]
KEPT = {
    (0, 0.3): (0.17260905278486346, 0.8918134393884612, 0.1935483870967742),
    (0, 0.5): (0.17260905278486346, 0.8918134393884612, 0.1935483870967742),
    (1, 0.3): (0.40992136231001935, 0.7742959065855921, 0.5294117647058824),
    (1, 0.5): (0.40992136231001935, 0.7742959065855921, 0.5294117647058824),
    (2, 0.3): (0.09462174940898345, 0.5559027777777777, 0.1702127659574468),
    (2, 0.5): (0.06382978723404255, 0.75, 0.0851063829787234),
    (3, 0.3): (0.3089635912693612, 0.6488235416656585, 0.47619047619047616),
    (3, 0.5): (0.21396444465731135, 0.8986506675607077, 0.23809523809523808),
    (4, 0.3): (0.31298956286068774, 0.7824739071517193, 0.4),
    (4, 0.5): (0.29240132756657, 0.8354323644759144, 0.35),
    (5, 0.3): (0.3455032608640397, 0.8205702445520944, 0.42105263157894735),
    (5, 0.5): (0.3219368822308897, 0.8738286803409864, 0.3684210526315789),
}
"""(seed, threshold) → PQ, SQ and RQ by panoptica, of 18-connected lesions."""


def labelled(predicted: Array, connectivity: int = 18) -> Array:
    """The components of a mask as labels, by scipy."""
    rank = {6: 1, 18: 2, 26: 3}[connectivity]
    labels, _ = ndimage.label(predicted, ndimage.generate_binary_structure(3, rank))
    return np.asarray(labels)


def pair(seed: int) -> tuple[Array, Array]:
    """Lesions as entities, two of them cut in half, and a prediction with some moved, some missing."""
    dice = np.random.default_rng(seed)
    truth = labelled(blobs(dice, (26, 22, 16), part=0.12, width=2.0)).astype(np.uint8)
    predicted = np.zeros(truth.shape, bool)
    for entity in range(1, int(truth.max()) + 1):
        if dice.random() < 0.8:
            predicted |= np.roll(truth == entity, int(dice.integers(0, 2)), axis=int(dice.integers(0, 3)))
    for entity in (1, 2):
        truth[13:][truth[13:] == entity] = 200 + entity
    return truth, predicted ^ (dice.random(truth.shape) < 0.003)


def ours(folder: Path, truth: Array, predicted: Array, **settings: Any) -> list[float]:
    """PQ, SQ and RQ of one finding, through files."""
    (runs,) = read_runs(save(folder / "t.nii.gz", truth[None]), truth.shape, 1)
    path = save(folder / "p.nii.gz", predicted[None].astype(np.uint8))
    (marked,) = read_runs(path, truth.shape, 1, binary=True)
    how = {"iou_threshold": 0.5, "connectivity": 18, "min_voxels": 1, **settings}
    row = {"findings": 1, **panoptic_counts(entities(runs), marked, **how)}
    return [float(metric.combine(Sample([row]))[0]) for metric in panoptic_metrics()[:3]]


def by_panoptica(truth: Array, predicted: Array, threshold: float, connectivity: int = 18) -> list[float]:
    """The same by panoptica, which is given labels on both sides."""
    peer = pytest.importorskip("panoptica")
    evaluator = peer.Panoptica_Evaluator(
        expected_input=peer.InputType.UNMATCHED_INSTANCE,
        instance_matcher=peer.NaiveThresholdMatching(matching_threshold=threshold),
        instance_metrics=[peer.Metric.IOU],
        global_metrics=[],
    )
    labels = labelled(predicted, connectivity).astype(np.uint16)
    found = evaluator.evaluate(labels, truth.astype(np.uint16), verbose=False)["ungrouped"]
    return [float(found.pq), float(found.sq), float(found.rq)]


@pytest.mark.parametrize(("seed", "threshold"), KEPT)
def test_qualities_are_what_panoptica_gave(tmp_path: Path, seed: int, threshold: float) -> None:
    """Random lesions, partly right, at two thresholds."""
    assert ours(tmp_path, *pair(seed), iou_threshold=threshold) == pytest.approx(
        KEPT[seed, threshold], abs=1e-12
    )


@pytest.mark.parametrize("connectivity", [6, 18, 26])
@pytest.mark.parametrize("seed", range(12))
def test_qualities_are_those_of_panoptica(tmp_path: Path, seed: int, connectivity: int) -> None:
    """The same by panoptica itself, where it is installed."""
    theirs = by_panoptica(*pair(seed), 0.5, connectivity)
    assert ours(tmp_path, *pair(seed), connectivity=connectivity) == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_qualities_are_counted_on_arrays(tmp_path: Path, seed: int) -> None:
    """Above one half no lesion can have two partners: pairs are counted one by one."""
    truth, predicted = pair(seed)
    labels = labelled(predicted)
    found = []
    for entity in np.unique(truth[truth > 0]):
        for lesion in range(1, labels.max() + 1):
            both = int(((truth == entity) & (labels == lesion)).sum())
            either = int(((truth == entity) | (labels == lesion)).sum())
            if both / either > 0.51:
                found.append(both / either)
    drawn, marked = len(np.unique(truth[truth > 0])), int(labels.max())
    rq = len(found) / ((drawn + marked) / 2)
    sq = sum(found) / len(found) if found else 0.0
    expected = [rq * sq, sq, rq]
    assert ours(tmp_path, truth, predicted, iou_threshold=0.51) == pytest.approx(expected, abs=1e-12)


def test_edges(tmp_path: Path) -> None:
    """One side empty is 0, both empty is no number, as panoptica has it; small ones can be dropped."""
    truth, predicted = pair(1)
    empty = np.zeros_like(truth)
    assert ours(tmp_path, truth, empty) == [0, 0, 0]
    assert ours(tmp_path, empty, predicted) == [0, 0, 0]
    assert all(map(math.isnan, ours(tmp_path, empty, empty)))
    large = int(np.bincount(labelled(predicted).ravel())[1:].max())
    assert ours(tmp_path, truth, predicted, min_voxels=large + 1) == [0, 0, 0]


def test_lesions_of_all_findings_are_counted_together(tmp_path: Path) -> None:
    """A case from files: three findings, whose counts add up; the truth handed in is the ceiling."""
    truth, predicted = masks(2)
    pq, sq, rq, *ceilings = panoptic_metrics()
    rows = list(pq.measure(subject(tmp_path, truth, predicted)).values())
    assert len(rows) == 3
    total = {name: sum(row[name] for row in rows) for name in ("tp", "fp", "fn", "iou")}
    assert total["tp"]
    assert pq.combine(Sample(rows))[0] == pytest.approx(
        total["iou"] / (total["tp"] + total["fp"] / 2 + total["fn"] / 2), abs=1e-12
    )
    assert pq.combine(Sample(rows))[0] == pytest.approx(
        sq.combine(Sample(rows))[0] * rq.combine(Sample(rows))[0], abs=1e-12
    )
    perfect = list(pq.measure(subject(tmp_path, truth, truth)).values())
    for metric, ceiling in zip((pq, sq, rq), ceilings, strict=True):
        assert metric.combine(Sample(perfect))[0] == ceiling.combine(Sample(rows))[0]
    missing = list(pq.measure(subject(tmp_path, truth, None)).values())
    assert [metric.combine(Sample(missing))[0] for metric in (pq, sq, rq)] == [0, 0, 0]


def test_settings_can_be_asked_for_and_wrong_ones_are_refused() -> None:
    """Threshold, connectivity and the least size are settings of all six."""
    chosen = select_metrics(["pq", "ceiling_pq"], {"iou_threshold": 0.3, "connectivity": 26})
    assert all(metric.settings["iou_threshold"] == 0.3 for metric in chosen)
    assert chosen[0].measure is chosen[1].measure
    for wrong in ({"iou_threshold": 0}, {"iou_threshold": 2}, {"connectivity": 8}, {"min_voxels": -1}):
        with pytest.raises(UsageError) as caught:
            select_metrics(["pq"], wrong)
        assert caught.value.remedy
