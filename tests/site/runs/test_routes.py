"""The list of runs: how many readings there are, and how many of them failed."""

from __future__ import annotations

import json
from pathlib import Path

from overread.core import Request
from overread.errors import ReaderError
from overread.runs.engine import RunPlan, run
from overread.runs.scoring.aggregation import BootstrapSettings
from overread.runs.scoring.from_run import score
from overread.site.runs.routes import RunSummary, get_runs
from overread.site.shelf import Shelf
from tests.runs.fake_readers import ANSWER, Echo, plain
from tests.runs.medthinkvqa_cases import write_cases


def listed(folder: Path) -> RunSummary:
    """What the list says of one run."""
    [summary] = get_runs(Shelf([folder]))
    return summary


def test_readings_are_counted_as_they_are(tmp_path: Path) -> None:
    """Two readings of two cases, of which one was not made and one failed: scored or not."""

    def answer(request: Request) -> str:
        if request.case.id == "case2":
            raise ReaderError("it would not")
        return ANSWER

    root, out = write_cases(tmp_path / "release", 2), tmp_path / "run"
    run(RunPlan("medthinkvqa", root, Echo(answer), workflow=plain, repeat=2, use_cache=False), out)
    lines = (out / "readings.jsonl").read_text().splitlines(keepends=True)
    kept = [line for line in lines if '"case_id":"case1"' not in line or '"sample":1' not in line]
    (out / "readings.jsonl").write_text("".join(kept))
    before = listed(out)
    assert (before.read, before.failed) == (3, 2)
    score(out, bootstrap=BootstrapSettings(draws=0))
    after = listed(out)
    assert (after.read, after.failed, after.metric) == (3, 2, "accuracy")


def test_cards_of_before_are_counted_by_their_readings(tmp_path: Path) -> None:
    """They do not say how many readings there were; their score is told all the same."""
    root, out = write_cases(tmp_path / "release", 2), tmp_path / "run"
    run(RunPlan("medthinkvqa", root, Echo(), workflow=plain, use_cache=False), out)
    score(out, bootstrap=BootstrapSettings(draws=0))
    card = json.loads((out / "card.json").read_text())
    del card["readings"], card["failed_readings"]
    (out / "card.json").write_text(json.dumps(card))
    found = listed(out)
    assert (found.read, found.failed) == (2, 0)
    assert found.score is not None
    assert found.score.value == 1.0
