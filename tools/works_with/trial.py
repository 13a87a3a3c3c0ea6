"""What the trials with other people's programs share: an environment of the program's own, a small
release to try it on, and a job that runs in that environment.

A trial's file is started twice. By overread's Python it makes the environment where it is not there
yet, and exports a release; by the program's Python it loads what was exported and goes on with it.
So nothing but the standard library is imported here.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

Found = dict[str, Any]
"""What a job measured, for the report."""


@dataclass(frozen=True)
class Trial:
    """One program, what is prepared for it, and what it is asked to do."""

    module: str
    """The trial's own file, by the name that `python -m` takes."""
    requirements: tuple[str, ...]
    """What pip installs for it."""
    prepare: Callable[[Path], None]
    """Writes what the program will read, by overread's Python, into a folder."""
    job: Callable[[Path], Found]
    """Has the program read it, by the program's Python; raises where something does not hold."""
    check: Callable[[Path], Found] | None = None
    """Looks at what the job left behind, by overread's Python again."""
    without_dependencies: tuple[str, ...] = ()
    """What is installed alone, since what it asks for could not all be installed or is not used."""


def run_trial(trial: Trial, about: str, arguments: Sequence[str] | None = None) -> int:
    """The whole trial, or, with --job, the part that runs in the program's environment."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "venv", nargs="?", type=Path, help="environment of the program; made where it is not there"
    )
    parser.add_argument("--work", type=Path, help="folder to keep everything in; a temporary one without it")
    parser.add_argument("--job", type=Path, help=argparse.SUPPRESS)
    told = parser.parse_args(arguments)
    if told.job is not None:
        elsewhere = told.job / "elsewhere"
        elsewhere.mkdir(exist_ok=True)
        os.chdir(elsewhere)  # pictures must be found from any folder
        _report(trial.job(told.job))
        return 0
    if told.venv is None:
        parser.error("name the environment of the program, for instance .venv-trl")
    python = ensure_environment(told.venv, trial)
    work = told.work or Path(tempfile.mkdtemp(prefix="works-with-"))
    work.mkdir(parents=True, exist_ok=True)
    try:
        trial.prepare(work.resolve())
        start = time.perf_counter()
        command = [str(python), "-m", trial.module, "--job", str(work.resolve())]
        done = subprocess.run(command, cwd=ROOT, env=_plain_environment(), check=False)
        if done.returncode == 0 and trial.check is not None:
            _report(trial.check(work.resolve()))
        print(f"{trial.module}: {'held' if done.returncode == 0 else 'DID NOT HOLD'}", end="")
        print(f", {time.perf_counter() - start:.0f} s")
        return done.returncode
    finally:
        if told.work is None:
            shutil.rmtree(work)


def ensure_environment(venv: Path, trial: Trial) -> Path:
    """The Python of an environment that has the program; it is made where it is not there, or not whole."""
    python, made = venv.resolve() / "bin" / "python", venv.resolve() / ".made"
    if not made.exists():
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, *trial.requirements], check=True)
        if trial.without_dependencies:
            subprocess.run([*install, "--no-deps", *trial.without_dependencies], check=True)
        made.touch()
    return python


def make_release(work: Path, *, patients: int, exams: str) -> Path:
    """Synthetic patients, always the same ones."""
    run_overread("phantom", work / "patients", "--patients", patients, "--seed", 1, "--exams", exams)
    return work / "patients" / exams


def run_overread(*words: object) -> str:
    """What a command of overread prints; it must end well."""
    command = [sys.executable, "-m", "overread", *map(str, words)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a JSONL file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _plain_environment() -> dict[str, str]:
    """The environment without what leads another Python to overread's packages."""
    left_out = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")
    offline = {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "TOKENIZERS_PARALLELISM": "false"}
    return {name: value for name, value in os.environ.items() if name not in left_out} | offline


def _report(found: Found) -> None:
    print(json.dumps(found, ensure_ascii=False, indent=1), flush=True)
