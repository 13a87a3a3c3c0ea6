"""Runs of readers that need no model, on sketched releases, and their readings measured."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import overread
from overread import catalog
from overread.core import Reader, Reading, Release, ReleaseRef, Submission
from overread.errors import MissingPart
from overread.metrics import Metric, Sample, Statistics, Subject, measure_key
from overread.metrics.contract import Files
from overread.metrics.masks.scores import METRICS as MASK_METRICS
from overread.runs.engine import RunOutcome, RunPlan, run
from overread.runs.store import last_readings
from overread.storage.fence import Fence
from tests.workflows.scripted_judges import perfect_verdicts

WITHOUT_MODEL = ("oracle", "random", "majority", "longest", "nothing")
BENCHMARKS = catalog.names("benchmarks")


class RunFiles:
    """The files of a run."""

    def __init__(self, folder: Path) -> None:
        self.source = Fence(folder).path


def questions(folder: Path) -> Path:
    """A release of question rows as GEMeX-ThinkVG has them: answers in words, a place with a box."""
    folder.mkdir()
    place = "<location><ref>right lung</ref><box>[4, 20, 90, 280]</box></location>"
    for split in ("train", "test"):
        rows = [
            {
                "image_path": f"films/{number}.jpg",
                "question": "Is there an effusion on the right?",
                "question_type": "closed_ended_questions",
                "response": f"<think>I look at it.</think><answer>{answer}</answer>{place}",
            }
            for number, answer in enumerate(("Yes", "No", "No"))
        ]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{split}.jsonl").write_text(text, "utf-8")
    return folder


def made(name: str, place: ReleaseRef | None, /, **arguments: str) -> Any:
    """A reader as the catalog makes it."""
    return catalog.find("readers", name)(arguments, place=place)


def ran(reader: str | Reader, benchmark: str, root: Path, out: Path, **more: Any) -> RunOutcome:
    """A run of a reader over the split test."""
    place = ReleaseRef(benchmark, root, more.get("split", "test"))
    who = made(reader, place) if isinstance(reader, str) else reader
    return run(RunPlan(benchmark=benchmark, root=root, reader=who, **more), out)


def readings_in(folder: Path, sample: int = 0) -> dict[str, Reading]:
    """Case → its reading of one sample, by case: a run keeps them as they were done."""
    found = sorted(last_readings(folder).items(), key=lambda item: item[0])
    return {case: reading for (case, number), reading in found if number == sample}


def rewritten(run: Path, change: Callable[[Reading], Reading | None]) -> None:
    """The readings of a run, each changed, or taken away."""
    changed = [change(reading) for reading in readings_in(run).values()]
    lines = [reading.model_dump_json() + "\n" for reading in changed if reading is not None]
    (run / "readings.jsonl").write_text("".join(lines), "utf-8")


def all_metrics() -> dict[str, Metric]:
    """Every metric that needs no model."""
    found = {name: catalog.find("metrics", name) for name in catalog.names("metrics")}
    return {**MASK_METRICS, **found}


def statistics(
    release: Release, readings: Mapping[str, Reading], files: Files
) -> dict[str, list[Statistics]]:
    """Measure → statistics of all cases, judged by a friend; measures that need models left out."""
    found: dict[str, list[Statistics]] = {}
    measures = {measure_key(metric): metric for metric in all_metrics().values()}
    entries = list(release.entries())
    for key, metric in measures.items():
        try:
            for entry in entries:
                reading = readings.get(entry.case.id)
                verdicts = perfect_verdicts(reading) if reading else ()
                subject = Subject(entry, reading, release, files, verdicts)
                found.setdefault(key, []).extend(metric.measure(subject).values())
        except MissingPart:
            continue
    return found


def scores(rows: Mapping[str, list[Statistics]]) -> dict[str, float]:
    """Metric → its value, for those that have anything to judge."""
    return {
        name: float(metric.combine(Sample(rows[measure_key(metric)]))[0])
        for name, metric in all_metrics().items()
        if rows.get(measure_key(metric))
    }


def same_scores(one: Mapping[str, float], other: Mapping[str, float]) -> None:
    """Every metric has the same value both ways, but for chains, which no submission holds."""
    assert one.keys() == other.keys()
    assert one
    for name in (name for name in one if not name.startswith("chain_")):
        assert one[name] == pytest.approx(other[name], abs=1e-12, nan_ok=True), name


def run_scores(benchmark: str, root: Path, **folders: Path) -> dict[str, float]:
    """Metric → its value for the readings of runs, one a split, all taken together."""
    rows: dict[str, list[Statistics]] = {}
    for split, folder in folders.items():
        release = overread.load(benchmark, root, split)
        found = statistics(release, readings_in(folder), RunFiles(folder))
        for key, more in found.items():
            rows.setdefault(key, []).extend(more)
    return scores(rows)


def submitted_scores(benchmark: str, root: Path, path: Path) -> tuple[dict[str, float], Submission]:
    """Metric → its value for a submission, and the submission."""
    release = overread.load(benchmark, root)
    submission: Submission = catalog.find("benchmarks", benchmark).read_submission(release, path)
    return scores(statistics(release, submission.readings, submission)), submission
