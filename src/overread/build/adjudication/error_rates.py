"""How often people found a step of a build wrong: shares of a sample, with intervals over items.

Of the questions whose choices are `right` and `wrong`, kind by kind: what was decided by two blinded
reads and a third, and beside it what each person alone said. Reason codes are the kinds of error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from overread.build.adjudication.final_verdicts import load_decisions
from overread.build.adjudication.queue import Queue
from overread.build.adjudication.reads import person_key
from overread.build.adjudication.reasons import OTHER, reasons_for
from overread.metrics.statistics.interval_rule import share_interval
from overread.metrics.statistics.result import Result

RIGHT, WRONG = "right", "wrong"
TOGETHER = "all"
"""Whose rates they are, where they are of what people decided together."""


@dataclass(frozen=True)
class ErrorShare(Result):
    """A share of what was judged, with Wilson's interval over items."""

    error: str
    """A reason code; 'wrong' for all that was not right."""
    about: str
    count: int
    judged: int
    share: float | None
    """None where nothing was judged."""
    low: float | None
    high: float | None
    """None where there are too few items for an interval."""


@dataclass(frozen=True)
class ErrorRates(Result):
    """What people, or one of them, found wrong with one kind of question."""

    kind: str
    by: str
    """'all' for what was decided together; else a person's name."""
    asked: int
    """Questions of the kind."""
    unsure: int
    """Questions that could not be judged."""
    shares: tuple[ErrorShare, ...]


JudgedUnit = tuple[str, str, tuple[str, ...]]
"""Item, verdict, reason codes."""


def measure_error_rates(folder: Path, *, level: float = 0.95) -> list[ErrorRates]:
    """The error rates of every kind of question in a folder that asks for right or wrong."""
    queue = Queue(folder)
    kinds: dict[str, list[str]] = {}
    for name, question in queue.questions.items():
        if set(question.choices) == {RIGHT, WRONG}:
            kinds.setdefault(question.kind, []).append(name)
    decided = load_decisions(folder)
    found: list[ErrorRates] = []
    for kind, names in kinds.items():
        own = set(names)
        units = [(decided[n].item, decided[n].verdict, decided[n].reasons) for n in names if n in decided]
        found.append(_measure(kind, TOGETHER, len(own), units, folder, level))
        people: dict[str, tuple[str, list[JudgedUnit]]] = {}
        for given in queue.current_verdicts():
            if given.question in own:
                read = people.setdefault(person_key(given.person), (given.person, []))
                read[1].append((given.item, given.verdict, given.reasons))
        found += [_measure(kind, name, len(own), read, folder, level) for name, read in people.values()]
    return found


def _measure(
    kind: str, by: str, asked: int, units: Sequence[JudgedUnit], folder: Path, level: float
) -> ErrorRates:
    judged = [unit for unit in units if unit[1] in (RIGHT, WRONG)]
    codes = {code: about for code, about in reasons_for(kind, folder).items() if code != OTHER}
    told = {code for _, verdict, reasons in judged if verdict == WRONG for code in reasons}
    shares = [_share(WRONG, "anything wrong", [(i, v == WRONG) for i, v, _ in judged], level)]
    bundled = reasons_for("")  # what goes with every kind is listed only where somebody said it
    for code, about in codes.items():
        if code in told or code not in bundled:
            marks = [(item, verdict == WRONG and code in reasons) for item, verdict, reasons in judged]
            shares.append(_share(code, about, marks, level))
    return ErrorRates(kind, by, asked, len(units) - len(judged), tuple(shares))


def _share(error: str, about: str, marks: Iterable[tuple[str, bool]], level: float) -> ErrorShare:
    top: dict[str, int] = {}
    bottom: dict[str, int] = {}
    for item, marked in marks:
        top[item] = top.get(item, 0) + marked
        bottom[item] = bottom.get(item, 0) + 1
    count, judged = sum(top.values()), sum(bottom.values())
    if not judged:
        return ErrorShare(error, about, 0, 0, None, None, None)
    counts = np.array([*top.values()], float), np.array([*bottom.values()], float)
    ends = share_interval(*counts, level=level, word="items")
    return ErrorShare(error, about, count, judged, count / judged, ends.low, ends.high)
