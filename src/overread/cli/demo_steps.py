"""What the demo is doing, and how long it has still to go, judged by how fast this machine was so far."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


class DemoSteps:
    """The steps that are to come, told one by one as they begin and end."""

    def __init__(self, screen: Console, efforts: Sequence[float]) -> None:
        """`efforts` says how long each step takes compared with the others."""
        self._screen = screen
        self._efforts = list(efforts)
        self._begun = time.monotonic()
        self._done = 0

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Tell that a step begins, and how long it took."""
        number = self._done + 1
        before = time.monotonic()
        self._screen.print(f"[bold]{number}/{len(self._efforts)}[/] {title} …", soft_wrap=True)
        yield
        now = time.monotonic()
        self._done = number
        past, left = sum(self._efforts[:number]), sum(self._efforts[number:])
        told = f"    done in {format_duration(now - before)}"
        if left:
            told += f"; about {format_duration((now - self._begun) * left / past)} to go"
        self._screen.print(told)


def format_duration(seconds: float) -> str:
    """A time as people say it: no more exact than it is known.

    >>> [format_duration(seconds) for seconds in (0.2, 7, 48.3, 95, 600, 9000)]
    ['a second', '7 seconds', '48 seconds', '2 minutes', '10 minutes', '2.5 hours']
    """
    if seconds < 1.5:
        return "a second"
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    if seconds < 5400:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"
