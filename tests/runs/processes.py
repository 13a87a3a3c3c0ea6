"""Starts the small chat-completions server of `tests/runs/reading_server.py`, and reads its log."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SERVER = Path(__file__).parent / "reading_server.py"


@contextmanager
def served(*words: str) -> Iterator[str]:
    """The base URL of a server in a process of its own; it ends with the block."""
    with subprocess.Popen(
        [sys.executable, str(SERVER), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.communicate()


def logged(path: Path) -> list[dict[str, Any]]:
    """What the server noted."""
    return [json.loads(line) for line in path.read_text().splitlines()]


COMMAND = (sys.executable, str(Path(__file__).parent / "run_command.py"))


def commanded(*words: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    """`overread` with the readers of the tests, in a process of its own, ending as expected."""
    done = subprocess.run(
        [*COMMAND, *map(str, words)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done
