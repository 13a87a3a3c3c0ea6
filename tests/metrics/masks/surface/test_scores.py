"""The metrics of surfaces: means over findings, with missing predictions as the worst."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from overread.metrics.contract import Measured, Subject
from overread.metrics.masks.surface.scores import VARIANTS, surface_metrics
from overread.metrics.masks.surface.statistics import surface_statistics, worst_statistics
from overread.metrics.sample import Sample
from tests.metrics.masks.surface.lesion_masks import EDGES, blobs


def nothing(subject: Subject) -> Measured:
    """A measure for tests that never measures."""
    return {}


def test_means_over_findings_with_missing_ones_as_worst() -> None:
    """Each metric is the mean of its statistic; a missing finding brings its worst value in."""
    masks, spacing = blobs(5)
    rows = [surface_statistics(*masks, spacing), worst_statistics(400.0, truth_ml=1.0)]
    weights = np.array([[1, 1], [2, 0], [0, 3]])
    metrics = {metric.name: metric for metric in surface_metrics(nothing)}
    for key, worst in (
        ("nsd_1mm", 0.0),
        ("hd95", 400.0),
        ("assd_pooled", 400.0),
        ("volume_error", 1.0),
        ("centroid_error", 400.0),
    ):
        metric = metrics[key]
        own = rows[0][key]
        drawn_means = metric.combine(Sample(rows, weights))
        assert drawn_means == pytest.approx([(own + worst) / 2, own, worst])
        assert np.isnan(metric.combine(Sample([{"judged": 1}]))).all()


def test_metrics_share_one_measure_and_travel() -> None:
    """All come with the measure they are given, are picklable and say what changes them."""
    metrics = surface_metrics(nothing)
    assert [metric.name for metric in metrics] == [
        "nsd_1mm",
        "nsd_2mm",
        "nsd_5mm",
        "hd95",
        "hd95_monai",
        "hd95_medpy",
        "assd_pooled",
        "assd_mean_of_means",
        "assd_surfels",
        "volume_error",
        "centroid_error",
    ]
    for metric in metrics:
        assert metric.measure is nothing
        back = pickle.loads(pickle.dumps(metric))
        assert (back.name, back.measure, dict(back.settings)) == (metric.name, nothing, dict(metric.settings))
        json.dumps(dict(metric.settings), allow_nan=False)
        better = metric.combine(Sample([surface_statistics(*EDGES["two full blocks"], (1, 1, 1))]))
        assert better.tolist() == [metric.best]
        worst = metric.combine(Sample([worst_statistics(123.0, truth_ml=1.0)]))
        assert worst.tolist() == [123.0 if np.isnan(metric.worst) else metric.worst]


def test_each_variant_of_assd_takes_its_own_statistic() -> None:
    """Three metrics, three statistics, and each says which it is."""
    masks, spacing = blobs(7)
    found = surface_statistics(*masks, spacing)
    for metric in surface_metrics(nothing):
        if metric.name.startswith("assd_"):
            assert metric.settings["variant"] == metric.name.removeprefix("assd_")
            assert metric.combine(Sample([found])).tolist() == [found[metric.name]]
    assert len({found[f"assd_{variant}"] for variant in VARIANTS}) == 3
