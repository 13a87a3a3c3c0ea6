"""Waiting for a condition, and time that does not hang on how busy the machine is."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from types import FrameType

PATIENCE = 300.0
"""Seconds after which a condition is given up; only a test that fails waits so long."""


def wait_until(condition: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Wait for a condition; in vain, the test fails instead of hanging."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


async def wait_in_loop(condition: Callable[[], object], seconds: float = PATIENCE) -> None:
    """The same while an event loop goes on."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        await asyncio.sleep(0.001)


def cpu_seconds(work: Callable[[], object], rounds: int = 2) -> float:
    """Processor time of a piece of work, the best of some rounds."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def count_calls(work: Callable[[], object]) -> int:
    """Calls of functions that a piece of work makes: the same on any machine, however busy."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls
