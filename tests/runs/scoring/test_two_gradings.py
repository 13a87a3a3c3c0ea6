"""Two gradings of the same at once: one measures, the other waits for it, and goes on if it dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from overread.runs.engine import RunPlan, run
from tests.timing import wait_until

pytestmark = pytest.mark.slow

# A real grading that says when it measures a case, and goes on with it only when it may.
_SLOW = """
import pathlib, sys, time
from overread.runs.scoring import from_run, measurement
folder, run = pathlib.Path(sys.argv[1]), sys.argv[2]
real, allowed = measurement._measure_case, int(sys.argv[3])
def slow(case, *rest):
    global allowed
    (folder / f"begun-{case}").touch()
    while not allowed and not (folder / "go").exists():
        time.sleep(0.02)
    allowed = max(0, allowed - 1)
    return real(case, *rest)
measurement._measure_case = slow
from_run.score(run, bootstrap=from_run.BootstrapSettings(draws=0))
"""


@pytest.fixture
def scored_run(sketch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run with masks, and a cache of its own."""
    monkeypatch.setenv("OVERREAD_CACHE", str(tmp_path / "cache"))
    out = tmp_path / "run"
    run(RunPlan("rexgroundingct", sketch / "rexgroundingct", "oracle"), out)
    return out


def measured_lines(folder: Path) -> int:
    """How often anything was measured and kept."""
    return sum(path.read_text().count('"key"') for path in (folder / "cache" / "grades").glob("*.jsonl"))


@contextmanager
def first_grading(folder: Path, out: Path, allowed: int) -> Iterator[subprocess.Popen[bytes]]:
    """A grading that has begun to measure, and stops after so many cases."""
    command = [sys.executable, "-c", _SLOW, str(folder), str(out), str(allowed)]
    with subprocess.Popen(command) as process:
        try:
            wait_until(lambda: len(list(folder.glob("begun-*"))) > allowed)
            yield process
        finally:
            process.kill()


class SecondGrading:
    """`overread score` of the same run, and what it says on the way."""

    def __init__(self, out: Path) -> None:
        words = ("score", str(out), "--json", "--draws", "0", "--workers", "1")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "overread", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ,
        )
        self.waits = threading.Event()
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if "another grading is measuring the same; waiting for it" in line:
                self.waits.set()

    def result(self) -> float:
        """The score, once it has ended well."""
        assert self._process.stdout is not None
        with self._process:
            told = json.loads(self._process.stdout.read())
        self._reading.join()
        assert self._process.returncode == 0
        value: float = told["hit_rate"]
        return value


def test_the_other_waits_and_takes_what_was_measured(scored_run: Path, tmp_path: Path) -> None:
    """Every case is measured once by two processes."""
    with first_grading(tmp_path, scored_run, 0) as first:
        second = SecondGrading(scored_run)
        assert second.waits.wait(120)
        (tmp_path / "go").touch()
        assert first.wait(120) == 0
        assert second.result() == 1.0
    assert measured_lines(tmp_path) == len(list(tmp_path.glob("begun-*"))) == 2


def test_a_kill_of_the_first_lets_the_second_go_on(scored_run: Path, tmp_path: Path) -> None:
    """What the first one had measured counts; the second one measures the rest."""
    with first_grading(tmp_path, scored_run, 1) as first:
        second = SecondGrading(scored_run)
        assert second.waits.wait(120)
        assert measured_lines(tmp_path) == 1
        first.send_signal(signal.SIGKILL)
        first.wait()
        assert second.result() == 1.0
    assert measured_lines(tmp_path) == 2
