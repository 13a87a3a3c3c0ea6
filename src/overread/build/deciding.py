"""Deciding: a step is done to an item, and whatever comes of it becomes a row of the ledger."""

from __future__ import annotations

import json
import re
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from overread.build.desk import Undeclared, WorkDesk, WouldAsk
from overread.build.item import Dropped, Item, Kept, Question, Waits
from overread.build.ledger import Attempt, LedgerEntry
from overread.build.ledger_tables import LedgerUnusable
from overread.build.plan import BuildOutcome, BuildPlan, StepCount
from overread.build.staff import Staff
from overread.build.step import Gather, Step
from overread.core import Request, Shown
from overread.errors import BadReply, MissingPart, OverreadError, Unavailable
from overread.runs.estimate import LETTERS_A_TOKEN, picture_tokens
from overread.runs.reading_room import Bug

_ENDING = (Unavailable, MissingPart, LedgerUnusable, Undeclared, MemoryError)
"""What is wrong for every item: it ends the build instead of failing them all."""
_MOST_TOLD = 10


@dataclass(frozen=True)
class Decision:
    """A row for the ledger, and what belongs to it."""

    entry: LedgerEntry
    attempts: Sequence[Attempt] = field(default=())
    questions: Sequence[Question] = field(default=())


class Workroom:
    """Where steps are done."""

    def __init__(
        self,
        plan: BuildPlan,
        settings: Mapping[str, str],
        staff: Staff,
        folder: Path,
        real: Path,
        verdicts: Mapping[str, str],
        outcome: BuildOutcome,
    ) -> None:
        """`folder` is where steps may write, `real` that of the build, another in a dry run.

        `verdicts` are what people decided so far.
        """
        self._real = real
        self.verdicts = verdicts
        self._plan = plan
        self._settings = settings
        self._staff = staff
        self._folder = folder
        self._outcome = outcome
        self._asked: dict[str, str] = {}

    def desk(
        self,
        step: Step | Gather | None = None,
        item: Item | None = None,
        unusable: frozenset[bytes] = frozenset(),
        count: StepCount | None = None,
    ) -> WorkDesk:
        """A desk for one step on one item; without a step, for the release."""

        def would_ask(role: str, request: Request) -> None:
            tokens = _tokens(request)
            if count is not None:
                count.calls += 1
                count.tokens += tokens
            cost = self._staff.cost(role, tokens)
            if cost is not None:
                self._outcome.cost = (self._outcome.cost or 0.0) + cost[0]

        return WorkDesk(
            self._plan.source,
            folder=self._folder,
            settings=self._settings,
            seed=self._plan.seed,
            staff=self._staff,
            verdicts=self.verdicts,
            session=self._plan.session,
            step=step,
            item=item,
            unusable=unusable,
            count=would_ask if self._outcome.dry else None,
        )

    def outside(self, step: Step | Gather, shown: Item) -> tuple[JsonValue, Exception | None]:
        """What a step looks at beside the item, or why that cannot be told."""
        if step.outside is None:
            return None, None
        try:
            desk = self.desk(step, shown)
            desk.folder = self._real  # a dry run writes elsewhere, and looks where things are
            told = step.outside(shown, desk)
            return json.loads(json.dumps(told, allow_nan=False)), None
        except Exception as error:
            if isinstance(error, _ENDING):
                raise
            return None, error

    async def decide(
        self, step: Step, shown: Item, key: str, unusable: frozenset[bytes], count: StepCount
    ) -> Decision | None:
        """Do a step to an item; None where a dry run came to a question."""
        desk = self.desk(step, shown, unusable, count)
        try:
            found = await step.run(shown, desk)
            return self._decided(step, shown.id, key, found, desk)
        except BaseException as error:
            first = _first(error)
            if isinstance(first, WouldAsk):
                count.asking += 1
                return None
            if not isinstance(first, Exception) or isinstance(first, _ENDING):
                raise first from None
            return self.failed(step, shown.id, key, first, desk)

    async def gather(
        self,
        step: Gather,
        shown: Sequence[Item],
        key: str,
        unusable: frozenset[bytes],
        count: StepCount,
    ) -> list[Decision] | None:
        """Do a step to all items together; where it fails, it fails on each."""
        desk = self.desk(step, None, unusable, count)
        try:
            found = await step.run(shown, desk)
            ids = {item.id for item in shown}
            strange = sorted(set(found) - ids)
            if strange:
                raise ValueError(f"it decided on '{strange[0]}', which it was not given")
            decisions = [
                self._decided(step, item.id, key, found.get(item.id, Kept(data={})), desk)
                for item in shown
            ]
        except BaseException as error:
            first = _first(error)
            if isinstance(first, WouldAsk):
                count.asking += len(shown)
                return None
            if not isinstance(first, Exception) or isinstance(first, _ENDING):
                raise first from None
            decisions = [self.failed(step, item.id, key, first, desk) for item in shown]
        return decisions

    def _decided(
        self, step: Step | Gather, item: str, key: str, found: object, desk: WorkDesk
    ) -> Decision:
        """The row for what a step gave; raises where it is no outcome that can be stored."""
        base = LedgerEntry(
            item=item,
            step=step.name,
            key=key,
            version=step.version,
            outcome="kept",
            verdicts=dict(desk.consulted),
        )
        questions: tuple[Question, ...] = ()
        if isinstance(found, Kept):
            more: dict[str, object] = {"data": found.data, "changes": found.changes}
        elif isinstance(found, Dropped):
            more = {
                "outcome": "dropped",
                "reason": found.reason,
                "why": found.why,
                "by": found.by,
                "changes": found.changes,
            }
        elif isinstance(found, Waits):
            questions = self._questions(item, found)
            # Whether or not it looked them up: once one of them is settled, it is done again.
            told = {question.id: self.verdicts.get(question.id) for question in questions}
            more = {
                "outcome": "waiting",
                "reason": questions[0].kind,
                "why": questions[0].text,
                "changes": found.changes,
                "verdicts": {**told, **desk.consulted},
            }
        else:
            raise TypeError(f"it gave a {type(found).__name__}, not Kept, Dropped or Waits")
        entry = base.model_copy(update=more)
        json.dumps(entry.model_dump(mode="json"), allow_nan=False)  # storable, or it raises
        return Decision(entry, tuple(desk.attempts), questions)

    def _questions(self, item: str, found: Waits) -> tuple[Question, ...]:
        if not found.questions:
            raise ValueError("it waits for people and asks them nothing")
        for question in found.questions:
            if question.item != item:
                raise ValueError(f"its question '{question.id}' is about '{question.item}'")
            if self._asked.setdefault(question.id, item) != item:
                raise ValueError(
                    f"its question '{question.id}' has the id of one about another item"
                )
        return found.questions

    def failed(
        self,
        step: Step | Gather,
        item: str,
        key: str,
        error: Exception,
        desk: WorkDesk | None = None,
    ) -> Decision:
        """The row for a step that went wrong."""
        reason, why = self._wrong(error, item)
        entry = LedgerEntry(
            item=item,
            step=step.name,
            key=key,
            version=step.version,
            outcome="failed",
            reason=reason,
            why=why,
            verdicts=dict(desk.consulted) if desk is not None else {},
        )
        return Decision(entry, tuple(desk.attempts) if desk is not None else ())

    def _wrong(self, error: Exception, item: str) -> tuple[str, str]:
        if isinstance(error, BadReply):
            return "bad-reply", f"the answer could not be used: {error}"
        if isinstance(error, OverreadError):
            # 'ReaderError' → 'reader-error': a code that can be counted.
            kind = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", type(error).__name__).lower()
            return kind, _storable(str(error))
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        what = _storable(" ".join(what.split()))
        what = what if len(what) <= 300 else f"{what[:299]}…"
        bugs = self._outcome.tally.bugs
        if what in bugs:
            bugs[what].count += 1
        elif len(bugs) < _MOST_TOLD:
            bugs[what] = Bug(what, item, "".join(traceback.format_exception(error)))
        return "bug", f"a bug ended this step ({what})"


def _first(error: BaseException) -> BaseException:
    """The error itself, or the first of a group; a question that would be asked goes first."""
    while isinstance(error, BaseExceptionGroup):
        asked = [one for one in error.exceptions if isinstance(one, WouldAsk)]
        error = (asked or error.exceptions)[0]
    return error


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _tokens(request: Request) -> int:
    """Tokens of a question, by the rule of a dry run."""
    total = 0
    for part in (part for message in request.messages for part in message.parts):
        if isinstance(part, Shown):
            total += picture_tokens(part.width, part.height)
        else:
            total += -(-len(part) // LETTERS_A_TOKEN)
    return total
