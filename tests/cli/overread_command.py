"""overread as a person types it: a process of its own, its words and its exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def run(
    *words: str | Path, cwd: Path | None = None, typed: str = "", **environment: str
) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of one overread command in its own process."""
    done = subprocess.run(
        [sys.executable, "-m", "overread", *map(str, words)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={k: v for k, v in os.environ.items() if k != "COLUMNS"} | environment,
        input=typed,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr
