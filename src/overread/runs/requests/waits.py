"""Which questions wait before they are asked again: for whom, why, and how long."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Wait:
    """One question that waits."""

    whom: str
    """The endpoint, or the reader where it has none."""
    why: str
    """What it answered."""
    until: float
    """When it is asked again, on the clock that only goes forward."""


@dataclass
class Waits:
    """The questions that wait just now; `on_change` is called when one begins to."""

    on_change: Callable[[], None] | None = None
    _waiting: dict[int, Wait] = field(default_factory=dict)
    _count: int = 0

    @contextmanager
    def waiting(self, whom: str, why: str, seconds: float) -> Iterator[None]:
        """While the block runs, one more question waits."""
        self._count += 1
        number = self._count
        self._waiting[number] = Wait(whom, why, time.monotonic() + seconds)
        try:
            if self.on_change is not None:
                self.on_change()
            yield
        finally:
            del self._waiting[number]

    def longest(self) -> float:
        """Seconds until the last of them is asked again; 0 where none waits."""
        now = time.monotonic()
        return max((wait.until - now for wait in self._waiting.values()), default=0.0)

    def describe(self) -> str:
        """One sentence: how many wait, for whom, why, and how long; '' where none does."""
        if not self._waiting:
            return ""
        now = time.monotonic()
        next_one = min(self._waiting.values(), key=lambda wait: wait.until)
        seconds = max(1, round(next_one.until - now))
        count = len(self._waiting)
        questions = "1 question waits" if count == 1 else f"{count:,} questions wait"
        why = next_one.why if next_one.whom in next_one.why else f"{next_one.whom}: {next_one.why}"
        return f"{questions} ({why}); the next is asked again in {_format_seconds(seconds)}"


def _format_seconds(seconds: int) -> str:
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min {seconds % 60} s"
