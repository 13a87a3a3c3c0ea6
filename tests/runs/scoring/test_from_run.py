"""Scoring a run: which cases are asked for, which are missing, and where the release lies now."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from overread import catalog
from overread.core import Request
from overread.errors import MissingPart, ReaderError, UsageError
from overread.metrics import Subject, choice
from overread.runs.engine import RunPlan, run
from overread.runs.scoring.aggregation import BootstrapSettings
from overread.runs.scoring.card import Card
from overread.runs.scoring.from_run import score
from overread.runs.scoring.from_submission import grade
from overread.runs.submission_export import export_submission
from tests.runs.ablation_cases import pictured
from tests.runs.fake_readers import ANSWER, Echo, plain
from tests.runs.medthinkvqa_cases import write_cases
from tests.runs.sketch_runs import questions

QUICK = BootstrapSettings(draws=0)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A release of six cases, all of them 'B'."""
    return write_cases(tmp_path / "release", 6)


def ran(root: Path, out: Path, reader: Echo | None = None, **more: Any) -> Path:
    """A run whose reader always says 'B'."""
    told: dict[str, Any] = {"workflow": plain, "use_cache": False, **more}
    run(RunPlan("medthinkvqa", root, reader or Echo(), **told), out)
    return out


def scored(folder: Path, **more: Any) -> Card:
    return score(folder, metrics=("accuracy",), bootstrap=QUICK, **more)


def accuracy(card: Card) -> tuple[float | None, int]:
    found = card.scores["accuracy"]
    return found.value, found.n


@pytest.mark.parametrize(
    ("asked", "count"),
    [
        ({}, 6),
        ({"limit": 2}, 2),
        ({"cases": ("case5", "#2")}, 2),
        ({"cases": ("case5", "case2", "#6"), "limit": 2}, 2),
        ({"limit": 99}, 6),
    ],
)
def test_only_what_was_asked_for_counts(root: Path, asked: dict[str, Any], count: int) -> None:
    """A limit, named cases and both together: nothing that was not to be read is missing."""
    card = scored(ran(root, root.parent / "run", **asked))
    assert accuracy(card) == (1.0, count)
    assert (card.missing, card.problems) == (0, ())


def test_what_is_missing_or_failed_is_worst_and_named(root: Path) -> None:
    """An incomplete run scores as if the rest were wrong, and says which cases these are."""

    def answer(request: Request) -> str:
        if request.case.id == "case2":
            raise ReaderError("it would not")
        return ANSWER

    out = ran(root, root.parent / "run", Echo(answer), repeat=2)
    lines = (out / "readings.jsonl").read_text().splitlines(keepends=True)
    kept = [line for line in lines if '"case_id":"case4"' not in line or '"sample":1' not in line]
    assert len(kept) == len(lines) - 1
    (out / "readings.jsonl").write_text("".join(kept))
    card = scored(out)
    assert accuracy(card) == (9 / 12, 12)
    assert (card.failed, card.failed_readings, card.readings) == (1, 2, 11)
    assert list(card.problems) == [
        "case2 failed: it would not",
        "case2 failed: it would not",
        "case4 was not read (sample 1)",
    ]
    assert json.loads((out / "card.json").read_text())["scores"]["accuracy"]["value"] == 0.75


def test_a_line_that_is_no_reading_is_read_again(root: Path) -> None:
    """JSON that no scorer could use does not count as done, and is told."""
    out = ran(root, root.parent / "run")
    file = out / "readings.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    broken = json.loads(lines[2]) | {"choice": 5}
    file.write_text("".join([*lines[:2], json.dumps(broken) + "\n", *lines[3:]]))
    assert accuracy(scored(out)) == (5 / 6, 6)
    outcome = run(RunPlan("medthinkvqa", root, Echo(), workflow=plain, use_cache=False), out)
    assert outcome.tally.read == 1
    assert "1 damaged lines" in outcome.notes[0]
    assert accuracy(scored(out)) == (1.0, 6)


def test_a_release_that_was_moved(root: Path) -> None:
    """It is named with `root`, for scoring and for handing in; without it one sentence says so."""
    out = ran(root, root.parent / "run")
    before = accuracy(scored(out))
    elsewhere = root.parent / "elsewhere"
    shutil.move(root, elsewhere)
    with pytest.raises(UsageError, match="does not exist"):
        scored(out)
    assert accuracy(scored(out, root=elsewhere)) == before
    assert export_submission(out, root.parent / "s.jsonl", root=elsewhere).written == 6


def test_a_release_that_lost_a_case(root: Path) -> None:
    """Readings of cases that are gone are told; a release without any of them is refused."""
    out = ran(root, root.parent / "run")
    rows = (root / "test.jsonl").read_text().splitlines(keepends=True)
    (root / "test.jsonl").write_text("".join(rows[1:]))
    card = scored(out)
    assert accuracy(card) == (1.0, 5)
    assert card.problems == ("case1 was read and is not in the release any more",)
    named = ran(root, root.parent / "named", cases=("case3",))
    (root / "test.jsonl").write_text("".join(rows[:2]))
    with pytest.raises(UsageError, match="none of the cases of this run"):
        scored(named)


def test_the_log_of_a_run_is_no_trace(sketch: Path, tmp_path: Path) -> None:
    """A report that was asked for in one question attempted no looks, as its submission says."""
    root = sketch / "mmrad"
    reader = Echo(lambda _: "Normal heart size. Effusion at the right base.")
    run(RunPlan("mmrad", root, reader, use_cache=False), tmp_path / "run")
    ours = score(tmp_path / "run", bootstrap=QUICK)
    export_submission(tmp_path / "run", tmp_path / "s.jsonl")
    theirs = grade("mmrad", root, tmp_path / "s.jsonl", bootstrap=QUICK)
    assert {name: found.value for name, found in ours.scores.items()} == {
        name: found.value for name, found in theirs.scores.items()
    }
    assert "rougeL" in ours.scores
    assert "trace_order" in ours.not_attempted


@pytest.mark.parametrize(
    ("exam", "reader"),
    [
        *((exam, "nothing") for exam in ("medthinkvqa", "rexgroundingct", "mmrad", "questions")),
        *((exam, "longest") for exam in ("rexgroundingct", "mmrad", "questions")),
    ],
)
def test_silence_and_failure_score_worst(exam: str, reader: str, sketch: Path, tmp_path: Path) -> None:
    """A run that said nothing, or failed on every case, has all numbers, at their worst."""
    root = questions(tmp_path / "asked") if exam == "questions" else sketch / exam
    benchmark = "mmrad" if exam == "questions" else exam
    run(RunPlan(benchmark, root, reader), tmp_path / "run")
    card = score(tmp_path / "run", bootstrap=QUICK)
    core = {
        "medthinkvqa": "accuracy",
        "rexgroundingct": "hit_rate",
        "mmrad": "rougeL",
        "questions": "answer_accuracy",
    }
    assert core[exam] in card.scores
    judged = 0
    for name, told in card.scores.items():
        metric = catalog.find("metrics", name)
        if name.startswith("ceiling_") or metric.drops_missing or math.isnan(metric.worst):
            continue
        if told.value is not None:  # the sketch speaks of no size, for instance
            judged += 1
            assert told.value == pytest.approx(metric.worst), name
    assert judged
    if reader == "longest":
        assert card.failed == len(card.statistics)


@pytest.mark.parametrize("exam", ["medthinkvqa", "rexgroundingct", "mmrad", "questions"])
def test_the_truth_scores_best(exam: str, sketch: Path, tmp_path: Path) -> None:
    """The oracle's run is at the best value of every metric, or at the ceiling of its rule."""
    root = questions(tmp_path / "asked") if exam == "questions" else sketch / exam
    benchmark = "mmrad" if exam == "questions" else exam
    run(RunPlan(benchmark, root, "oracle"), tmp_path / "run")
    card = score(tmp_path / "run", bootstrap=QUICK)
    judged = 0
    for name, told in card.scores.items():
        metric = catalog.find("metrics", name)
        if name.startswith("ceiling_") or metric.best is None or math.isnan(metric.best):
            continue
        if told.value is None:
            continue
        plain = name.removeprefix("honest_")
        ceiling = card.scores.get(f"ceiling_{plain}") or card.scores.get(f"ceiling_{name}")
        judged += 1
        assert told.value == pytest.approx(ceiling.value if ceiling else metric.best), name
    assert judged


def test_without_weights_the_other_metrics_are_scored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that lacks them is named with the reason, without a folder; alone it is the error."""
    monkeypatch.setenv("OVERREAD_MODELS", str(tmp_path / "models"))
    monkeypatch.setitem(catalog.TABLES["readers"], "test-noting", "tests.runs.ablation_cases:make_noting")
    root = pictured(tmp_path / "pictured", 2, 2)
    run(RunPlan("medthinkvqa", root, "test-noting", use_cache=False), tmp_path / "run")
    card = score(tmp_path / "run", metrics=("findings_green", "accuracy"), bootstrap=QUICK)
    assert list(card.scores) == ["accuracy"]
    why = card.not_attempted["findings_green"]
    assert why == "the weights of GREEN were not found: `overread doctor` says where they are looked for"
    with pytest.raises(MissingPart, match=r"weights of GREEN were not found .*models"):
        score(tmp_path / "run", metrics=("findings_green",), bootstrap=QUICK)


def test_a_part_that_is_found_missing_while_measuring_costs_its_metric_alone(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A metric of another package that fails at the third case leaves no half measured numbers."""
    measured: list[str] = []

    def measure(subject: Subject) -> dict[str, dict[str, int]]:
        measured.append(subject.entry.case.id)
        if len(measured) == 3:
            raise MissingPart("its package is not installed", remedy="pip install it")
        return {"": {"right": 1}}

    lacking = replace(catalog.find("metrics", "accuracy"), name="lacking", measure=measure)
    monkeypatch.setitem(choice.METRICS, "lacking", lacking)
    card = score(ran(root, tmp_path / "run"), metrics=("lacking", "accuracy"), bootstrap=QUICK)
    assert accuracy(card) == (1.0, 6)
    assert card.not_attempted == {"lacking": "its package is not installed: pip install it"}
    assert len(measured) == 3
    assert {len(own.rows) for own in card.statistics.values()} == {1}
