"""The tools still fit what they measure and draw; how fast or how good it is, is not asked here."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tools.bench.harness import Line, start_job
from tools.bench.word_metrics import measure_all_metrics, phantom_pairs

ROOT = Path(__file__).resolve().parents[2]
TOOLS = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts) for path in (ROOT / "tools").rglob("*.py")
)


@pytest.mark.parametrize("name", TOOLS)
def test_every_tool_can_be_loaded(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """What they import is still there."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert import_module(name).__doc__


def test_a_tool_starts_as_a_program_and_a_job_of_it_too(tmp_path: Path) -> None:
    """`python -m` from the checkout; its jobs find it from wherever the program was started."""
    command = [sys.executable, "-m", "tools.bench.mask_scores", "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "--peers" in done.stdout
    made = start_job("loading", "--seed", "1", "--job", "ours", "CT, geometry alone", str(scan(tmp_path)))
    assert made >= 0


def scan(folder: Path) -> Path:
    """A very small CT where the bench expects its own."""
    import numpy as np

    from overread.pixels.nifti import write_volume

    write_volume(folder / "ct.nii.gz", np.zeros((4, 4, 4), np.int16), np.eye(4))
    return folder


def test_words_are_measured_and_drawn() -> None:
    """The whole run over report metrics finds them, and gives seconds and bytes."""
    measured, drawn, size = measure_all_metrics(phantom_pairs(3, 12))
    assert min(measured, drawn) > 0
    assert size > 100


@pytest.mark.parametrize(
    ("line", "verdict", "missed"),
    [
        (Line("plain", 1.0, "s"), "", False),
        (Line("unmeasured", None, "s", limit=1), "", False),
        (Line("within", 1.0, "s", limit=1), "ok", False),
        (Line("beyond", 1.1, "s", limit=1), "over", True),
        (Line("as fast as the peer", 1.04, "s", peer=1), "ok", False),
        (Line("slower, no promise", 2.0, "s", peer=1), "over", False),
        (Line("20 times faster", 1.0, "s", peer=20, at_least=20), "ok", False),
        (Line("19 times faster", 1.0, "s", peer=19, at_least=20), "over", True),
    ],
    ids=lambda value: value.name if isinstance(value, Line) else "",
)
def test_a_line_says_whether_a_promise_is_kept(line: Line, verdict: str, missed: bool) -> None:
    """Limits and stated factors are promises; a faster peer alone is only shown."""
    assert (line.verdict, line.is_missed) == (verdict, missed)
    assert line.name in str(line)


@pytest.mark.slow
def test_the_grid_is_measured_to_the_end() -> None:
    """One round of 8,000 cases: every line is printed, whatever it says."""
    command = [sys.executable, "-m", "tools.bench.page_grid", "--rounds", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr, done.stderr[-2000:]
    for line in ("to the first cards", "a search and a filter", "longest frame, flung", "elements"):
        assert line in done.stdout
