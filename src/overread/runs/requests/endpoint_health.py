"""Tells an endpoint that is down from questions that it cannot answer, and ends a run on the former.

The rule stands in docs/runs.md. Errors of the endpoint (unreachable, no answer in time, no right, too
busy, broken) count; a question that it refuses is a matter of that question and shows that it is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Generic, TypeVar

from overread.errors import EndpointFailed, ReaderError, Unavailable

Held = TypeVar("Held")

NEVER_ANSWERED = 3
"""Different cases in a row that may fail before the first answer."""
ANSWERED_BEFORE = 20
"""Different cases in a row that may fail later on, or three rounds of all that are asked at once."""
_GO_ON = "then give the same command again, which goes on where it stopped (with --give-up 0 it never stops)"


class EndpointHealth:
    """What has become of the questions to one reader: who was answered, and which cases failed since."""

    def __init__(self, *, at_once: int = 1, give_up: int | None = None) -> None:
        """`at_once` is how many questions may be in flight; `give_up` replaces the rule, 0 for never."""
        self.answered = False
        """Whether any question was answered in this run, even by refusing it."""
        self._at_once = at_once
        self._give_up = give_up
        self._failed: dict[str, EndpointFailed] = {}
        self._sent = 0
        self._in_flight: set[int] = set()
        self._streak_began = 0

    @property
    def failing(self) -> bool:
        """Whether the last that was heard of the endpoint was a failure."""
        return bool(self._failed)

    @property
    def limit(self) -> int:
        """How many different cases in a row may fail; 0 for any number."""
        if self._give_up is not None:
            return self._give_up
        return max(ANSWERED_BEFORE, 3 * self._at_once) if self.answered else NEVER_ANSWERED

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """While the block runs, a question is in flight."""
        self._sent += 1
        number = self._sent
        self._in_flight.add(number)
        try:
            yield
        finally:
            self._in_flight.discard(number)

    def note_answer(self) -> None:
        """A question was answered, or refused: the endpoint is there, whatever failed before."""
        self.answered = True
        self._failed.clear()

    def fail(self, case: str, error: EndpointFailed) -> ReaderError:
        """Count a case that the endpoint failed; the error to raise: it, or the end of the run."""
        if not self._failed:
            self._streak_began = self._sent
        self._failed[case] = error
        # Slow answers may be under way: an endpoint that is only full refuses the others meanwhile.
        waiting = any(number <= self._streak_began for number in self._in_flight)
        if self.limit and len(self._failed) >= self.limit and not waiting:
            return self._stop_error()
        return error

    def check_end(self) -> None:
        """At the end of all work: raise where everything that was tried failed and nothing was answered."""
        if self._failed and not self.answered and self._give_up != 0:
            raise self._stop_error()

    def _stop_error(self) -> Unavailable:
        error = list(self._failed.values())[-1]
        tried = len(self._failed)
        since = "the one case that was tried" if tried == 1 else f"the first {tried} cases all"
        since = f"the last {tried} cases in a row" if self.answered else since
        remedy = error.remedy or "wait until the server answers again, or see what it says itself"
        return Unavailable(
            f"stopped early, since {since} failed at the endpoint: {error.what}",
            where=error.where,
            remedy=f"{remedy}; {_GO_ON}",
        )


class HeldFailures(Generic[Held]):
    """Failures of the endpoint, which are written down only once it is known not to be down.

    So a run that stops early has stored none of them, and the same command tries these cases again.
    """

    def __init__(self, healths: Sequence[EndpointHealth], write: Callable[[Held], None]) -> None:
        """`write` stores one of them."""
        self._healths = healths
        self._write = write
        self._held: list[Held] = []

    def add(self, failure: Held) -> None:
        """Hold one until the endpoint answers somebody else."""
        self._held.append(failure)
        self.settle()

    def settle(self) -> None:
        """Write those that are held, where the endpoint has answered since."""
        if self._held and not any(health.failing for health in self._healths):
            self._write_all()

    def finish(self) -> None:
        """At the end of all work: write the rest, or raise where nothing was ever answered."""
        if self._held:
            for health in self._healths:
                health.check_end()
            self._write_all()

    def _write_all(self) -> None:
        held, self._held = self._held, []
        for failure in held:
            self._write(failure)
