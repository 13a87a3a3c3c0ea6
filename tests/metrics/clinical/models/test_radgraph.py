"""RadGraph through its package with tiny random weights, and RadCliQ on all four models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from overread.metrics import Sample
from overread.metrics.clinical import model_scores
from overread.metrics.clinical.models import radgraph
from tests.metrics.clinical.tiny_models import (
    OTHER,
    REPORT,
    made_chexbert,
    made_radgraph,
    made_roberta,
    subject,
)

pytestmark = [
    pytest.mark.torch,
    pytest.mark.usefixtures("fresh_models"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


@pytest.mark.parametrize("name", ["radgraph-xl", "radgraph"])
def test_radgraph_reads_entities_through_its_package(fresh_models: Path, name: Any) -> None:
    """Entities in RadGraph's form, relations to entities that are there, none of an empty text."""
    made_radgraph(fresh_models, name)
    model = radgraph.load_radgraph(name)
    found = model.read(OTHER)
    assert found
    assert model.read(" ") == {}
    words = OTHER.replace(".", " .").replace(",", " ,").split()
    tied = 0
    for entity in found.values():
        first, last = entity["start_ix"], entity["end_ix"]
        assert entity["tokens"] == " ".join(words[first : last + 1])
        assert entity["label"] in ("OBS-DP", "ANAT-DP")
        for kind, to in entity["relations"]:
            assert kind in ("located_at", "modify")
            assert to in found
            tied += 1
    assert tied


def test_radcliq_of_an_equal_report_is_best_and_of_none_worst(fresh_models: Path) -> None:
    """With all four models tiny and random, the report itself gets the value of all 1."""
    made_radgraph(fresh_models, "radgraph")
    made_chexbert(fresh_models)
    made_roberta(fresh_models)
    for metric in (model_scores.METRICS["radcliq_v0"], model_scores.METRICS["radcliq_v1"]):
        same = Sample(list(metric.measure(subject(OTHER, OTHER)).values()))
        other = Sample(list(metric.measure(subject(OTHER, REPORT)).values()))
        none = Sample(list(metric.measure(subject(OTHER, None)).values()))
        assert metric.combine(same)[0] == pytest.approx(metric.best, abs=1e-4)
        assert metric.combine(none)[0] == pytest.approx(metric.worst)
        assert metric.best < metric.combine(other)[0] < metric.worst
        assert json.loads(json.dumps(list(other.rows))) == list(other.rows)


def test_radgraph_metrics_of_an_equal_report_are_one(fresh_models: Path) -> None:
    """All three variants, through the newer model."""
    made_radgraph(fresh_models, "radgraph-xl")
    for metric in (
        model_scores.METRICS["radgraph_e"],
        model_scores.METRICS["radgraph_er"],
        model_scores.METRICS["radgraph_bar_er"],
    ):
        same = metric.measure(subject(OTHER, OTHER))
        assert metric.combine(Sample(list(same.values())))[0] == 1.0
        other = metric.measure(subject(OTHER, REPORT))
        assert 0 <= metric.combine(Sample(list(other.values())))[0] < 1
