"""Starts the small chat-completions server of `tests/runs/reading_server.py`, and reads its log."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.timing import wait_until
from tests.warm_process import run_warm

SERVER = Path(__file__).parent / "reading_server.py"


@contextmanager
def served(*words: str) -> Iterator[str]:
    """The base URL of a server in a process of its own; it ends with the block."""
    with subprocess.Popen(
        [sys.executable, str(SERVER), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
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
    done = run_warm(words, module="tests.runs.run_command")
    assert done.returncode == code, done.stdout + done.stderr
    return done


class HeldServer:
    """The server with a log, which answers only as often as it was allowed to so far."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "log.jsonl"
        self.log.touch()
        self._allowed = folder / "allowed"
        self._allowed.write_text("0")

    def start(self) -> AbstractContextManager[str]:
        """Its base URL, while the block runs."""
        return served("--log", str(self.log), "--allow", str(self._allowed))

    def allow(self, more: int) -> int:
        """So many answers more; all that are allowed by now."""
        allowed = int(self._allowed.read_text()) + more
        self._allowed.write_text(str(allowed))
        return allowed

    def wait_for(self, answers: int, process: subprocess.Popen[Any]) -> None:
        """Wait until it has given so many to a process that still runs."""

        def given() -> bool:
            assert process.poll() is None, process.communicate()
            return len([row for row in logged(self.log) if row["what"] == "answered"]) >= answers

        wait_until(given)

    def kill_client(self, words: Sequence[str], dice: random.Random, *, anywhere: bool) -> float:
        """Kill a command behind some of its answers, or wherever it is; when that was."""
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if not anywhere:
            self.wait_for(self.allow(dice.randint(1, 12)), process)
        time.sleep(dice.uniform(0, 2 if anywhere else 0.1))
        assert process.poll() is None, process.communicate()
        process.send_signal(signal.SIGKILL)
        process.communicate()
        # What it asked at the last moment may still be on its way, and a busy server writes it down later;
        # nobody asks anything else before this returns.
        time.sleep(0.5)
        return time.monotonic()


def check_asked(
    disturbed: list[dict[str, Any]], calm: list[dict[str, Any]], kills: list[float], at_once: int
) -> None:
    """The same was asked, and nothing twice but what was in flight at a kill."""
    assert len({row["key"] for row in calm}) == len(calm) / 2
    assert {row["key"] for row in disturbed} == {row["key"] for row in calm}
    came: dict[str, list[float]] = {}
    for row in disturbed:
        if row["what"] == "came":
            came.setdefault(row["key"], []).append(row["at"])
    lost = [
        next((kill for kill in kills if begin <= kill <= after), None)
        for times in came.values()
        for begin, after in pairwise(times)
    ]
    assert lost
    assert None not in lost, "asked again though nothing was killed meanwhile"
    assert max(Counter(lost).values()) <= at_once
