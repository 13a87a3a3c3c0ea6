"""Damaged files and the commands that read them, in a process forked from a warm one; what is wrong
with how one ended.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import json
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn

from tools.mutate.rows import count_rows

MOST_SECONDS = 10.0
"""Processor time a command may take; small inputs take a fraction of a second."""
_PATIENCE = 240.0
"""Seconds by the clock after which a command is ended: on a busy machine ten are not enough."""
MOST_MEMORY_MB = 1000
"""Memory that a command may take beyond what the warm process has."""
_NAMED = re.compile(
    r'"severity"|left out|skipped|missing +[1-9]|"missing": [1-9]|failed|[1-9]\d* defect|note:|warning'
)
"""Words by which a command says that it did not use everything."""


@dataclass(frozen=True)
class Ending:
    """How a command ended."""

    code: int
    out: str
    err: str
    seconds: float
    memory_mb: float
    rows: tuple[int, int] | None = None
    """(rows that the damaged file has, rows that were made of it), where both can be counted."""


@dataclass(frozen=True)
class Trial:
    """One damaged file, the command that reads it, and where it is put back from if that may write there."""

    file: Path
    intact: bytes
    data: bytes
    words: tuple[str, ...]
    pristine: Path | None = None


def run_forked(trials: Sequence[Trial]) -> list[Ending]:
    """Run commands one after another in a child; another child goes on behind one that does not come back."""
    place = Path(tempfile.mkdtemp(prefix="mutated-"))
    answers = place / "answers.jsonl"
    answers.touch()
    endings: list[Ending] = []
    try:
        while len(endings) < len(trials):
            signal_number = _run_child(trials[len(endings) :], place, answers)
            told = [json.loads(line) for line in answers.read_text("utf-8").splitlines()]
            answers.write_text("")
            endings += [Ending(**one | {"rows": tuple(one["rows"]) if one["rows"] else None}) for one in told]
            if len(endings) < len(trials):
                _put_back(trials[len(endings)], place)
                endings.append(Ending(-signal_number, "", "", 0, 0))
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return endings


def _run_child(trials: Sequence[Trial], place: Path, answers: Path) -> int:
    """Fork and wait; the signal that ended the child, SIGKILL where one trial took too long, else 0."""
    child = os.fork()
    if child == 0:
        _run_and_leave(trials, place, answers)
    size, end = 0, time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.WTERMSIG(status)
        if answers.stat().st_size != size:
            size, end = answers.stat().st_size, time.monotonic() + _PATIENCE
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return signal.SIGKILL


def _run_and_leave(trials: Sequence[Trial], place: Path, answers: Path) -> NoReturn:
    faulthandler.disable()  # a crash is told as the signal that it was; pytest would print it
    resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))
    start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with answers.open("a", encoding="utf-8") as told, open(os.devnull) as nothing:  # noqa: PTH123
        sys.stdin = nothing
        for trial in trials:
            ending = _run_one(trial, place, start)
            _put_back(trial, place)
            told.write(json.dumps(asdict(ending)) + "\n")
            told.flush()
    os._exit(0)


def _run_one(trial: Trial, place: Path, start: int) -> Ending:
    """Lay the damaged bytes in the file's place and run the command; OUT in its words is a new path."""
    from overread.cli.main import main

    trial.file.write_bytes(trial.data)
    words = [str(place / "out") + word[3:] if word.startswith("OUT") else word for word in trial.words]
    before = resource.getrusage(resource.RUSAGE_SELF)
    out, err = io.StringIO(), io.StringIO()
    code: Any = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(words)
        except SystemExit as end:
            code = end.code
        except BaseException:
            traceback.print_exc()
            code = 70
    after = resource.getrusage(resource.RUSAGE_SELF)
    return Ending(
        code=code if isinstance(code, int) else 0 if code is None else 1,
        out=out.getvalue()[-20000:],
        err=err.getvalue()[-5000:],
        seconds=after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        # Of the one that took it: the peak of the process stays for all that follow.
        memory_mb=(after.ru_maxrss - start) / 1024 if after.ru_maxrss > before.ru_maxrss else 0,
        rows=None if code else count_rows(words, trial.file),
    )


def _put_back(trial: Trial, place: Path) -> None:
    """Everything as it was before the trial: the file, what the command may have written, its output."""
    if trial.pristine is not None:
        group = trial.pristine.with_name(trial.pristine.name.removesuffix("-pristine"))
        shutil.rmtree(group)
        shutil.copytree(trial.pristine, group)
    else:
        trial.file.write_bytes(trial.intact)
    for made in place.glob("out*"):
        shutil.rmtree(made) if made.is_dir() else made.unlink()


def find_fault(ending: Ending) -> str:
    """What is wrong with an ending, in a few words; empty where all is well."""
    lines = [line for line in ending.err.splitlines() if line.strip()]
    if ending.code < 0:
        return f"ended by signal {-ending.code}"
    if "Traceback" in ending.err:
        return f"traceback: {lines[-1][:200]}"
    if ending.code == 70 or "this is a bug in overread" in ending.err:
        return f"bug: {lines[-1][:200] if lines else ''}"
    if ending.seconds > MOST_SECONDS:
        return f"slow: {ending.seconds:.0f} s"
    if ending.memory_mb > MOST_MEMORY_MB:
        return f"memory: {ending.memory_mb:.0f} MB"
    if "bug: " in ending.out:
        return f"bug told in output: {ending.out[ending.out.index('bug: ') :][:150]}"
    noise = [line for line in lines if "Warning" in line or line.startswith(("[", "WARNING", "W:"))]
    if noise:
        return f"noise: {noise[0][:200]}"
    if ending.code and not lines and not ending.out.strip():
        return f"exit code {ending.code} without a word"
    return _find_silent_skip(ending)


def _find_silent_skip(ending: Ending) -> str:
    """What ended well without a word must have made something of every row of its file."""
    if ending.rows is None or ending.err.strip() or ending.rows[0] <= ending.rows[1]:
        return ""
    if _NAMED.search(ending.out):
        return ""
    return f"silent: {ending.rows[0]} rows, {ending.rows[1]} made of them, and not a word"
