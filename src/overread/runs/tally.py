"""How far a run, a judging or a build has come, and what went wrong on the way."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field

from overread.runs.requests.asker import Spending
from overread.runs.requests.waits import Waits

_MAX_REASONS = 10
_MAX_LETTERS = 300


@dataclass
class Bug:
    """An unexpected exception met while reading, judging or building."""

    what: str
    """Its type and words."""
    case: str
    """The first case or item that met it."""
    trace: str
    """Where it came from, for who mends it."""
    count: int = 1
    """How many cases met it."""


@dataclass
class Tally:
    """How far a run has come."""

    total: int | None = None
    """Readings that the run will have, where that is known."""
    before: int = 0
    """Readings that were there when it began."""
    read: int = 0
    """Readings made now."""
    failed: int = 0
    """Readings made now that failed."""
    failed_before: int = 0
    """Readings that failed before and were not tried again."""
    reasons: list[tuple[str, str]] = field(default_factory=list)
    """(case, why) of the first few that failed."""
    bugs: dict[str, Bug] = field(default_factory=dict)
    """What was met that is a bug, by its words."""
    spent: Spending = field(default_factory=Spending)
    """What asking came to."""
    waits: Waits = field(default_factory=Waits)
    """The questions that wait just now."""
    began: float = field(default_factory=time.monotonic)
    """When it began, on the clock that only goes forward."""

    @property
    def done(self) -> int:
        """Readings that are there by now."""
        return self.before + self.read

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.monotonic() - self.began

    def follow(self, waits: Waits, watch: Watch | None) -> None:
        """Show the questions that wait, and tell `watch` when one begins to."""
        self.waits = waits
        if watch is not None:
            waits.on_change = lambda: watch(self)

    def fail(self, case: str, why: str) -> None:
        """Count one failed reading."""
        self.failed += 1
        if len(self.reasons) < _MAX_REASONS:
            self.reasons.append((case, why))

    def note_bug(self, error: BaseException, case: str) -> str:
        """Count a bug, with where it came from the first time, and name it in one line."""
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        what = " ".join(what.split()).encode("utf-8", "replace").decode()
        what = what if len(what) <= _MAX_LETTERS else f"{what[: _MAX_LETTERS - 1]}…"
        if what in self.bugs:
            self.bugs[what].count += 1
        elif len(self.bugs) < _MAX_REASONS:
            trace = "".join(traceback.format_exception(error))
            self.bugs[what] = Bug(what, case, trace)
        return what


Watch = Callable[[Tally], None]
