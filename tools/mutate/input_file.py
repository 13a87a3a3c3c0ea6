"""A file to be damaged, and how its inputs are made."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

Words = tuple[str, ...]


@dataclass(frozen=True)
class Input:
    """One file to be damaged, and the commands that read it; OUT in a command is a new place."""

    kind: str
    file: Path
    commands: tuple[Words, ...]


def give(*words: str | Path, typed: str = "") -> None:
    """Run a command that makes an input."""
    command = [sys.executable, "-m", "overread", *map(str, words)]
    done = subprocess.run(command, input=typed, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"overread {' '.join(map(str, words))}: {done.stderr}")
