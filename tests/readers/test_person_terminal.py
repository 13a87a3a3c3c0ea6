"""A person at a real terminal, and in a run over a pipe: keys, Ctrl-C, Ctrl-D, going on."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from overread.core.verdicts import explanation_of
from tests.runs.sketch_runs import readings_in
from tests.timing import PATIENCE

# ---- a run, over a pipe --------------------------------------------------------------------


def test_a_run_is_stopped_and_goes_on(sketch: Path, tmp_path: Path) -> None:
    """:quit ends `overread run` as Ctrl-C does; the same command asks for the next case only."""
    words = ["run", "medthinkvqa", str(sketch / "medthinkvqa"), "--reader", "person"]
    words += ["--out", str(tmp_path / "run"), "--reader-arg", "name=JD"]
    told = []
    for typed in ("B\nIt is round.\n.\n:quit\n", ":skip\n"):
        done = subprocess.run(
            [sys.executable, "-m", "overread", *words],
            input=typed,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        told.append((done.returncode, done.stderr.count("Clinical history")))
    assert told == [(130, 2), (0, 1)]
    first, second = readings_in(tmp_path / "run").values()
    assert (first.reader, first.choice) == ("JD", "B")
    assert explanation_of(first) == "It is round."
    assert second.error == "JD skipped this case"


# ---- a real terminal -----------------------------------------------------------------------

PROGRAM = """
import asyncio, sys
from pathlib import Path
import overread
from overread.core import Message, Request
from overread.readers.person import make

async def go():
    release = overread.load("medthinkvqa", Path(sys.argv[1]))
    person = make({})
    for number, case in enumerate(release):
        words = Message(role="user", parts=(f"Question {number}",))
        request = Request(task="choose", case=case, pictures=release.pictures, messages=(words,))
        reply = await person.read(request)
        print("ANSWER", repr(reply.text), flush=True)
    await person.close()

asyncio.run(go())
print("DONE", flush=True)
"""


class Screen:
    """A real terminal with our program in it."""

    def __init__(self, root: Path) -> None:
        self.number, child = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(root)],
            stdin=child,
            stdout=child,
            stderr=child,
            start_new_session=True,
            preexec_fn=_own_terminal,
        )
        os.close(child)
        self.seen = ""

    def until(self, words: str) -> str:
        """What was printed up to and with the words, since the last time."""
        end = time.monotonic() + PATIENCE
        while words not in self.seen and time.monotonic() < end:
            ready, _, _ = select.select([self.number], [], [], 0.2)
            try:
                chunk = os.read(self.number, 4096) if ready else b""
            except OSError:
                break
            self.seen += chunk.decode("utf-8", "replace")
        assert words in self.seen, self.seen
        before, _, self.seen = self.seen.partition(words)
        return before + words

    def type(self, keys: str) -> None:
        os.write(self.number, keys.encode())

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)
        os.close(self.number)


def _own_terminal() -> None:
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@pytest.fixture
def screen(sketch: Path) -> Iterator[Screen]:
    """A terminal in which two cases are asked."""
    one = Screen(sketch / "medthinkvqa")
    yield one
    one.close()


def test_in_a_terminal(screen: Screen) -> None:
    """Keys with a correction, a dot; then Ctrl-D in a line and alone: both end an answer."""
    screen.until("Question 0")
    screen.until("Ctrl-D.")
    screen.type("X\x7fB\r.\r")
    assert "ANSWER 'B'" in screen.until("Question 1")
    screen.until("Ctrl-D.")
    screen.type("C\rround")
    screen.type("\x04\x04")
    assert "ANSWER 'C\\nround'" in screen.until("DONE")
    assert screen.process.wait(PATIENCE) == 0


def test_control_c_in_a_terminal(screen: Screen) -> None:
    """Ctrl-C ends the waiting at once, in the middle of a line too, and leaves nobody hanging."""
    screen.until("Ctrl-D.")
    screen.type("half an ans")
    screen.type("\x03")
    assert screen.process.wait(PATIENCE) == -signal.SIGINT


def test_control_d_at_the_start_stops(screen: Screen) -> None:
    """Ctrl-D with nothing typed is goodbye."""
    screen.until("Ctrl-D.")
    screen.type("\x04")
    assert screen.process.wait(PATIENCE) == -signal.SIGINT
