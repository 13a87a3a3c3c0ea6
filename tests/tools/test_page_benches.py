"""What `make bench` measures of the page still runs; how fast it is, is not judged here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.mark.slow
def test_the_grid_is_measured_to_the_end() -> None:
    """One round of 8,000 cases: every line is printed, whatever it says."""
    done = subprocess.run(
        [sys.executable, TOOLS / "bench_page_grid.py", "--rounds", "1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr[-2000:]
    for line in ("to the first cards", "a search and a filter", "longest frame, flung", "elements"):
        assert line in done.stdout
