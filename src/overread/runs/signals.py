"""Ctrl-C and SIGTERM: the first signal cancels the work cleanly, the second exits at once."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from overread.storage.system import handle_in_loop


@dataclass
class StopState:
    """Whether a signal asked to stop, and which."""

    signal: int | None = None
    """The signal that asked."""


@contextmanager
def stop_on_signal(*, enabled: bool = True) -> Iterator[StopState]:
    """While the block runs, a first Ctrl-C or SIGTERM cancels it, and a second ends all at once.

    The block sees `asyncio.CancelledError`, and `signal` tells that it was one of ours. Outside of
    the main thread, where no signal arrives, nothing is done.
    """
    stop = StopState()
    if not enabled or threading.current_thread() is not threading.main_thread():
        yield stop
        return
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()

    def on_signal(number: int) -> None:
        if stop.signal is not None:
            os._exit(128 + number)  # whatever is done is in its file by now
        stop.signal = number
        if task is not None:
            task.cancel()

    with handle_in_loop(loop, on_signal):
        yield stop
