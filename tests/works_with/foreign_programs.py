"""Programs of others that tests start: where they are, a port of their own, and their end.

They pin packages to versions of their own, so each lives in an environment beside the checkout's files
(`make test-servers` makes them), or where an environment variable says.
"""

from __future__ import annotations

import os
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.timing import wait_until

ROOT = Path(__file__).resolve().parents[2]


def find_program(name: str, folder: str, variable: str) -> Path:
    """A program of an environment: that of the variable (its Python), else a folder of the checkout.

    The test is skipped where there is none.
    """
    told = os.environ.get(variable)
    place = Path(told).parent if told else ROOT / folder / "bin"
    if not (place / name).exists():
        pytest.skip(f"{name} is not here: make {folder}/.made, or set {variable} to a Python that has it")
    return place / name


def free_port() -> int:
    """A port of this machine on which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def serving_program(
    words: Sequence[str | Path], ready: str, log: Path, environment: Mapping[str, str] | None = None
) -> Iterator[None]:
    """A program that serves; the block begins when the address `ready` answers, and ends it."""
    inherited = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "DATABASE_URL")}
    with (
        log.open("wb") as told,
        subprocess.Popen(
            [str(word) for word in words],
            stdout=told,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env={**inherited, **(environment or {})},
        ) as process,
    ):
        try:
            wait_until(lambda: process.poll() is not None or _answers(ready), seconds=300)
            assert process.poll() is None, log.read_text("utf-8", "replace")[-3000:]
            yield
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5):
            return True
    except urllib.error.HTTPError as error:
        return error.code != 503  # it is there, but still loading its model
    except OSError:
        return False
