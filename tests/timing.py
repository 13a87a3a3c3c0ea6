"""Waiting for a condition, and time that does not hang on how busy the machine is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

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
