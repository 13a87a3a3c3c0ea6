"""What must hold of every metric in the catalog, whatever it measures."""

from __future__ import annotations

import json
import math
import pickle
import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import overread
from overread import catalog
from overread.core import Entry, Reading, Release
from overread.errors import MissingPart
from overread.metrics import Metric, Sample, Statistics, Subject, measure_key
from tests.metrics.perfect_readings import perfect
from tests.sketches.release import write_sketch
from tests.workflows.scripted_judges import perfect_verdicts

NAMES = catalog.names("metrics")
BENCHMARKS = catalog.names("benchmarks")
DRAWS = 5
MODELS = "clinical.model_scores"
"""Metrics that need weights; tests/metrics/clinical/models hold them with tiny ones."""


@pytest.fixture(scope="session")
def releases(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Release, list[Entry]]]:
    """The sketched release of each benchmark, with all its entries of both splits."""
    root = tmp_path_factory.mktemp("sketch")
    write_sketch(root, seed=3)
    found = []
    for name in BENCHMARKS:
        for split in ("test", "train"):
            release = overread.load(name, root / name, split)
            found.append((release, list(release.entries())))
    questions = root / "questions"
    questions.mkdir()
    (questions / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in _questions()))
    release = overread.load("mmrad", questions, "test")
    return [*found, (release, list(release.entries()))]


def _questions() -> list[dict[str, str]]:
    """Question rows as GEMeX-ThinkVG has them: an answer in words, a place with its box."""
    place = "<location><ref>right lung</ref><box>[4, 20, 90, 280]</box></location>"
    return [
        {
            "image_path": f"films/{number}.jpg",
            "question": "Is there an effusion on the right?",
            "question_type": "closed_ended_questions",
            "response": f"<think>I look at it.</think><answer>{answer}</answer>{place}",
        }
        for number, answer in enumerate(("Yes", "No"))
    ]


_ROWS: dict[tuple[str, str], list[Statistics]] = {}


def rows_of(metric: Metric, releases: list[tuple[Release, list[Entry]]], kind: str) -> list[Statistics]:
    """Statistics of all cases under perfect, missing or failed readings; measured once."""
    key = (measure_key(metric), kind)
    if key not in _ROWS:
        found: list[Statistics] = []
        for release, entries in releases:
            for entry in entries:
                reading = _reading(entry, kind)
                verdicts = perfect_verdicts(reading) if reading else ()
                subject = Subject(entry, reading, release, release, verdicts)
                found += metric.measure(subject).values()
        _ROWS[key] = found
    return _ROWS[key]


def _reading(entry: Entry, kind: str) -> Reading | None:
    if kind == "missing":
        return None
    reading = perfect(entry)
    return reading.model_copy(update={"error": "lost"}) if kind == "failed" else reading


def value(metric: Metric, rows: Sequence[Statistics]) -> float:
    (number,) = metric.combine(Sample(rows))
    return float(number)


@cache
def found(name: str) -> Metric:
    metric = catalog.find("metrics", name)
    assert isinstance(metric, Metric)
    return metric


MODELLED = catalog.metric_names([MODELS])
RULED = [name for name in NAMES if name not in MODELLED]
OF_READERS = [name for name in RULED if not name.startswith("ceiling_")]
COUNTING = [name for name in OF_READERS if not found(name).drops_missing]
SYMMETRIC = [name for name in RULED if found(name).symmetric]


@pytest.fixture(params=RULED)
def metric(request: pytest.FixtureRequest, releases: list[Any]) -> Metric:
    """Every metric that needs no weights."""
    metric = found(request.param)
    assert rows_of(metric, releases, "perfect"), "no sketched case has the truth for it"
    return metric


@pytest.mark.parametrize("name", MODELLED)
def test_a_metric_without_its_model_says_so(
    name: str, releases: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where weights or packages are not here, one sentence says what is missing and what to do."""
    monkeypatch.setenv("OVERREAD_MODELS", str(tmp_path))
    with pytest.raises(MissingPart) as caught:
        rows_of(found(name), releases, "perfect")
    assert caught.value.remedy
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", NAMES)
def test_a_metric_says_what_it_is(name: str) -> None:
    """Name, one line about it, a reference, settings that JSON can hold, a measure to send away."""
    metric = found(name)
    assert metric.name == name
    assert metric.about
    assert "\n" not in metric.about
    assert metric.reference
    assert metric.needs
    assert json.loads(json.dumps(dict(metric.settings), allow_nan=False)) is not None
    assert pickle.loads(pickle.dumps(metric.measure)) is not None
    if metric.ceiling:
        assert metric.ceiling in NAMES
    better = metric.best > metric.worst if metric.better == "higher" else metric.best < metric.worst
    assert better or math.isnan(metric.worst)


def test_perfect_is_best_or_at_its_ceiling(metric: Metric, releases: list[Any]) -> None:
    """The truth handed in scores best, or what the stated ceiling says."""
    ours = value(metric, rows_of(metric, releases, "perfect"))
    if metric.ceiling:
        twin = found(metric.ceiling)
        assert ours == pytest.approx(value(twin, rows_of(twin, releases, "perfect")))
    else:
        assert ours == pytest.approx(metric.best, abs=1e-9)


@pytest.mark.parametrize("kind", ["missing", "failed"])
@pytest.mark.parametrize("metric", OF_READERS, indirect=True)
def test_nothing_is_worst(metric: Metric, releases: list[Any], kind: str) -> None:
    """No reading, or a failed one, scores worst; where an official rule drops it, what that rule says
    of nothing: no number, 0 for a mean, 1 for a precision, a recall and what is made of them.
    """
    ours = value(metric, rows_of(metric, releases, kind))
    if metric.drops_missing and metric.name.startswith("distance_"):
        assert math.isnan(ours)
    elif metric.drops_missing:
        assert ours == float(metric.name.endswith(("precision", "recall", "f1")))
    elif not math.isnan(metric.worst):
        assert ours == pytest.approx(metric.worst, abs=1e-9)


def test_statistics_are_plain_json(metric: Metric, releases: list[Any]) -> None:
    """What is measured can be stored and read back without a change."""
    for kind in ("perfect", "missing"):
        for row in rows_of(metric, releases, kind):
            assert json.loads(json.dumps(dict(row), allow_nan=False)) == dict(row)


def test_stored_statistics_give_the_same_number(metric: Metric, releases: list[Any]) -> None:
    """A score made of statistics that were stored is the score made at once."""
    rows = rows_of(metric, releases, "perfect")
    stored = json.loads(json.dumps([dict(row) for row in rows]))
    assert value(metric, stored) == pytest.approx(value(metric, rows), nan_ok=True, abs=1e-12)


def test_the_order_of_files_changes_nothing(metric: Metric, releases: list[Any]) -> None:
    """Statistics in another order give the same number."""
    rows = [*rows_of(metric, releases, "perfect"), *rows_of(metric, releases, "missing")]
    shuffled = random.Random(1).sample(rows, len(rows))
    assert value(metric, shuffled) == pytest.approx(value(metric, rows), nan_ok=True, abs=1e-12)


def test_no_cases_are_no_number(metric: Metric) -> None:
    """Nothing at all is undefined, and no error."""
    assert math.isnan(value(metric, []))


def test_draws_are_what_counting_again_gives(metric: Metric, releases: list[Any]) -> None:
    """A row drawn twice counts as two rows; all draws at once are each draw alone."""
    rows = [*rows_of(metric, releases, "perfect"), *rows_of(metric, releases, "missing")]
    weights = np.random.default_rng(5).integers(0, 3, size=(DRAWS, len(rows)))
    together = metric.combine(Sample(rows, weights))
    assert together.shape == (DRAWS,)
    for counts, ours in zip(weights, together, strict=True):
        again = [row for row, n in zip(rows, counts, strict=True) for _ in range(n)]
        if again:
            assert ours == pytest.approx(value(metric, again), nan_ok=True, abs=1e-9)


@pytest.mark.parametrize("metric", COUNTING, indirect=True)
def test_better_readings_are_better(metric: Metric, releases: list[Any]) -> None:
    """Half the cases read perfectly lie between all and none, in the stated direction."""
    good, bad = (rows_of(metric, releases, kind) for kind in ("perfect", "missing"))
    mixed = [g if n % 2 else b for n, (g, b) in enumerate(zip(good, bad, strict=True))]
    worst, middle, best = (value(metric, rows) for rows in (bad, mixed, good))
    if metric.better == "lower":
        worst, middle, best = -worst, -middle, -best
    if not any(map(math.isnan, (worst, middle, best))):
        assert worst - 1e-9 <= middle <= best + 1e-9


def test_every_benchmark_names_metrics_that_are_there() -> None:
    """The metrics and official names of each benchmark are in the catalog."""
    for name in BENCHMARKS:
        part = catalog.find("benchmarks", name)
        own = set(catalog.metric_names(part.metrics))
        assert own | set(catalog.metric_names(part.slower_metrics)) <= set(NAMES), name
        assert set(part.official) <= own, name
        assert part.metrics, name


def swapped(entry: Entry, reading: Reading) -> tuple[Entry, Reading]:
    """Truth and reading with their places changed."""
    truth = entry.truth
    assert truth is not None
    parts = {
        "answer": reading.choice,
        "findings": reading.findings or (),
        "report": reading.report,
        "discussion": reading.discussion,
        "trace": reading.trace,
    }
    return entry.model_copy(update={"truth": truth.model_copy(update=parts)}), perfect(entry)


@pytest.mark.parametrize("metric", SYMMETRIC, indirect=True)
def test_symmetric_metrics_do_not_care_who_is_who(metric: Metric, releases: list[Any]) -> None:
    """With the truth of the next case as its reading, swapping the two changes nothing."""
    there: list[Statistics] = []
    back: list[Statistics] = []
    for release, entries in releases:
        for entry, other in zip(entries, entries[1:] + entries[:1], strict=True):
            reading = perfect(other).model_copy(update={"case_id": entry.case.id})
            there += metric.measure(Subject(entry, reading, release, release)).values()
            turned = swapped(entry, reading)
            back += metric.measure(Subject(*turned, release, release)).values()
    assert value(metric, there) == pytest.approx(value(metric, back), nan_ok=True)
