"""Scoring many cases: the same results as few at a time, memory that grows by numbers alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from overread.metrics import Metric
from overread.runs.engine import RunPlan, run
from overread.runs.scoring import case_scores
from overread.runs.scoring.card import Card, read_card
from overread.runs.scoring.case_scores import score_cases
from overread.runs.scoring.from_run import score
from overread.runs.scoring.metric_selection import find_metric
from overread.storage import spilled
from tests.runs.medthinkvqa_cases import write_cases
from tests.runs.sketch_runs import BENCHMARKS


def written(folder: Path) -> dict[str, bytes]:
    """What scoring a run wrote."""
    return {name: (folder / name).read_bytes() for name in ("card.json", "scores.jsonl")}


@pytest.mark.parametrize("benchmark", BENCHMARKS)
@pytest.mark.parametrize("reader", ["oracle", "random"])
def test_the_same_bytes_from_disk_as_from_memory(
    sketch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, benchmark: str, reader: str
) -> None:
    """Entries, readings, statistics and rows spilled to disk give the same card to the bit."""
    out = tmp_path / "run"
    run(RunPlan(benchmark, sketch / benchmark, reader, repeat=2), out)
    card = score(out)
    wanted = written(out)
    monkeypatch.setattr(spilled.SpilledMapping.__init__, "__kwdefaults__", {"held": 0})
    again = score(out)
    assert again.statistics.spills  # type: ignore[attr-defined]
    assert written(out) == wanted
    assert again == card == read_card(out)
    assert json.loads("".join(again.iter_json(indent=2))) == card.as_json()
    assert "".join(again.iter_json(indent=2)) == json.dumps(card.as_json(), ensure_ascii=False, indent=2)
    assert "".join(again.iter_json(statistics=False)) == json.dumps(
        card.as_json(statistics=False), ensure_ascii=False
    )


def test_a_card_without_cases_is_json() -> None:
    """Nothing between the braces, with and without lines."""
    card = Card(
        benchmark="b", split="s", reader="r", predictions="p", cases=0, missing=0, failed=0, scores={},
        signature={},
    )  # fmt: skip
    for indent in (None, 2):
        assert json.loads("".join(card.iter_json(indent=indent))) == card.as_json()


METRICS = ["accuracy", "calibration_error_debiased", "position_bias", "auroc"]


@pytest.mark.parametrize("name", [*METRICS, "cider"])
def test_cases_alone_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Each case scores the same whether all are one product or a few at a time."""
    metric = find_metric(name)
    rows = {(f"c{n}", ""): row for n, row in enumerate(some_rows(metric))}
    wanted = score_cases(metric, rows)
    monkeypatch.setattr(case_scores, "CELLS", 10)
    monkeypatch.setattr(case_scores, "_CASES_AT_ONCE", 7)
    assert np.array(list(score_cases(metric, rows).values())).tobytes() == (
        np.array(list(wanted.values())).tobytes()
    )


def some_rows(metric: Metric) -> list[dict[str, Any]]:
    """Rows as its measure makes them."""
    dice = np.random.default_rng(5)
    if metric.name == "cider":
        words = [f"word{n:04d}" for n in range(9)]
        texts = ["".join(dice.choice(words, 12)) for _ in range(60)]
        return [
            {"cider_words": one, "cider_truth_words": other, "units": 1}
            for one, other in zip(texts[:30], texts[30:], strict=True)
        ]
    chances = dice.dirichlet([1.0] * 5, 30)
    return [
        {
            "asked": 1,
            "right": float(own[0]) if metric.name == "auroc" else int(own.argmax() == 0),
            "wrong": own[1:].tolist(),
            f"chose:{'ABCDE'[int(own.argmax())]}": 1,
            "key:A": 1,
            f"bin:{int(own.max() * 15)}:n": 1,
            f"bin:{int(own.max() * 15)}:sure": float(own.max()),
            f"bin:{int(own.max() * 15)}:right": int(own.argmax() == 0),
        }
        for own in chances
    ]


BYTES_A_CASE = 4000
"""What one more case may cost while it is scored: its ids and numbers. Its row has three times as many."""
BYTES_A_DRAW = 64
"""What it may cost for each draw that is made at once: a few numbers of eight bytes."""
_PEAK = r"""
import re, sys
from overread.runs.scoring.aggregation import BootstrapSettings
from overread.runs.scoring.from_run import score
score(sys.argv[1], bootstrap=BootstrapSettings(draws=int(sys.argv[2])))
# Not what `getrusage` says: that begins with the peak of whoever started this process.
print(re.search(r"VmHWM:\s+(\d+) kB", open("/proc/self/status").read())[1])
"""


@pytest.mark.slow
@pytest.mark.parametrize("draws", [0, 100])
def test_memory_grows_by_numbers_alone(tmp_path: Path, draws: int) -> None:
    """Four times as many cases cost so many bytes each, and not the square of their number."""
    peaks = []
    for count in (4000, 16_000):
        root = write_cases(tmp_path / str(count), count)
        lines = (root / "test.jsonl").read_text().splitlines()
        long = [json.loads(line) | {"discussion": "Hidden words. " * 800} for line in lines]
        (root / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in long))
        out = tmp_path / f"run-{count}"
        run(RunPlan("medthinkvqa", root, "random"), out)
        command = [sys.executable, "-c", _PEAK, str(out), str(draws)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
        peaks.append(int(done.stdout) * 1024)
    assert peaks[1] - peaks[0] < 12_000 * (BYTES_A_CASE + draws * BYTES_A_DRAW)
