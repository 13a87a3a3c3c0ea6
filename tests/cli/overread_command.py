"""overread as a person types it: a process of its own, its words and its exit code."""

from __future__ import annotations

import os
from pathlib import Path

from tests.warm_process import run_warm


def run(
    *words: str | Path, cwd: Path | None = None, typed: str = "", **environment: str
) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of one overread command in its own process."""
    own = {k: v for k, v in os.environ.items() if k != "COLUMNS"} | environment
    done = run_warm(words, typed=typed, cwd=cwd, env=own)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr
