"""RadGraph through its package with tiny random weights, and RadCliQ on all four models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clinical_making import (
    OTHER,
    REPORT,
    forget_models,
    made_chexbert,
    made_radgraph,
    made_roberta,
    subject,
)
from overread.metrics import Sample
from overread.metrics.clinical import modelled
from overread.metrics.clinical.models import radgraph

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """An own models' folder, nothing remembered, the same random weights every time."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    monkeypatch.setenv("OVERREAD_MODELS", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    forget_models()
    with torch.random.fork_rng():
        torch.manual_seed(7)
        yield tmp_path


@pytest.mark.parametrize("name", ["radgraph-xl", "radgraph"])
def test_radgraph_reads_entities_through_its_package(fresh: Path, name: Any) -> None:
    """Entities in RadGraph's form, relations to entities that are there, none of an empty text."""
    made_radgraph(fresh, name)
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


def test_radcliq_of_an_equal_report_is_best_and_of_none_worst(fresh: Path) -> None:
    """With all four models tiny and random, the report itself gets the value of all 1."""
    made_radgraph(fresh, "radgraph")
    made_chexbert(fresh)
    made_roberta(fresh)
    for metric in (modelled.METRICS["radcliq_v0"], modelled.METRICS["radcliq_v1"]):
        same = Sample(list(metric.measure(subject(OTHER, OTHER)).values()))
        other = Sample(list(metric.measure(subject(OTHER, REPORT)).values()))
        none = Sample(list(metric.measure(subject(OTHER, None)).values()))
        assert metric.combine(same)[0] == pytest.approx(metric.best, abs=1e-4)
        assert metric.combine(none)[0] == pytest.approx(metric.worst)
        assert metric.best < metric.combine(other)[0] < metric.worst
        assert json.loads(json.dumps(other.rows)) == list(other.rows)


def test_radgraph_metrics_of_an_equal_report_are_one(fresh: Path) -> None:
    """All three variants, through the newer model."""
    made_radgraph(fresh, "radgraph-xl")
    for metric in (
        modelled.METRICS["radgraph_e"],
        modelled.METRICS["radgraph_er"],
        modelled.METRICS["radgraph_bar_er"],
    ):
        same = metric.measure(subject(OTHER, OTHER))
        assert metric.combine(Sample(list(same.values())))[0] == 1.0
        other = metric.measure(subject(OTHER, REPORT))
        assert 0 <= metric.combine(Sample(list(other.values())))[0] < 1
