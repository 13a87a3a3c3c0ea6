"""Runs a step on an item, or a batch step on all items, and makes ledger rows of the results."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from overread.build.item import Drop, Item, Keep, Question, Wait
from overread.build.ledger.store import LedgerEntry, ReplyAttempt
from overread.build.plan import BuildOutcome, BuildPlan, StepCount
from overread.build.reader_pool import ReaderPool
from overread.build.step import BatchStep, ItemStep
from overread.build.step_context import LiveStepContext, WouldAsk
from overread.core import Request, SentImage
from overread.errors import BadReply, EndpointFailed, OverreadError, first_error, is_fatal
from overread.runs.estimate import CHARACTERS_PER_TOKEN, picture_tokens


@dataclass(frozen=True)
class StepDecision:
    """A ledger row, with the model replies and questions that belong to it."""

    entry: LedgerEntry
    attempts: Sequence[ReplyAttempt] = field(default=())
    questions: Sequence[Question] = field(default=())
    endpoint_failed: bool = False
    """Whether it failed for no reason of its own: the endpoint was at fault."""


class StepRunner:
    """Runs the steps of one build and makes ledger rows of their results."""

    def __init__(
        self,
        plan: BuildPlan,
        settings: Mapping[str, str],
        staff: ReaderPool,
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

    def make_context(
        self,
        step: ItemStep | BatchStep | None = None,
        item: Item | None = None,
        unusable: frozenset[bytes] = frozenset(),
        count: StepCount | None = None,
    ) -> LiveStepContext:
        """The context for one step on one item; without a step, for writing the release."""

        def would_ask(role: str, request: Request) -> None:
            tokens = _count_tokens(request)
            if count is not None:
                count.calls += 1
                count.tokens += tokens
            cost = self._staff.cost(role, tokens)
            if cost is not None:
                self._outcome.cost = (self._outcome.cost or 0.0) + cost[0]

        return LiveStepContext(
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

    def read_external_state(
        self, step: ItemStep | BatchStep, shown: Item
    ) -> tuple[JsonValue, Exception | None]:
        """The external state that a step depends on, or the error met while reading it."""
        if step.external_state is None:
            return None, None
        try:
            context = self.make_context(step, shown)
            context.folder = self._real  # a dry run writes elsewhere, and looks where things are
            told = step.external_state(shown, context)
            return json.loads(json.dumps(told, allow_nan=False)), None
        except Exception as error:
            if is_fatal(error):
                raise
            return None, error

    async def decide(
        self, step: ItemStep, shown: Item, key: str, unusable: frozenset[bytes], count: StepCount
    ) -> StepDecision | None:
        """Run a step on an item; None where a dry run would have had to ask a model."""
        context = self.make_context(step, shown, unusable, count)
        try:
            found = await step.run(shown, context)
            return self._make_decision(step, shown.id, key, found, context)
        except BaseException as error:
            first = first_error(error, prefer=WouldAsk)
            if isinstance(first, WouldAsk):
                count.asking += 1
                return None
            if not isinstance(first, Exception) or is_fatal(first):
                raise first from None
            return self.make_failure(step, shown.id, key, first, context)

    async def decide_batch(
        self, step: BatchStep, shown: Sequence[Item], key: str, unusable: frozenset[bytes], count: StepCount
    ) -> list[StepDecision] | None:
        """Run a batch step on all items; if it fails, every item gets a failure row."""
        context = self.make_context(step, None, unusable, count)
        try:
            found = await step.run(shown, context)
            ids = {item.id for item in shown}
            strange = sorted(set(found) - ids)
            if strange:
                raise ValueError(f"it decided on '{strange[0]}', which it was not given")
            decisions = [
                self._make_decision(step, item.id, key, found.get(item.id, Keep(data={})), context)
                for item in shown
            ]
        except BaseException as error:
            first = first_error(error, prefer=WouldAsk)
            if isinstance(first, WouldAsk):
                count.asking += len(shown)
                return None
            if not isinstance(first, Exception) or is_fatal(first):
                raise first from None
            decisions = [self.make_failure(step, item.id, key, first, context) for item in shown]
        return decisions

    def _make_decision(
        self, step: ItemStep | BatchStep, item: str, key: str, found: object, context: LiveStepContext
    ) -> StepDecision:
        """The ledger row for a step's result; raises if it is no valid, storable result."""
        base = LedgerEntry(
            item=item,
            step=step.name,
            key=key,
            version=step.version,
            outcome="kept",
            verdicts=dict(context.consulted),
        )
        questions: tuple[Question, ...] = ()
        if isinstance(found, Keep):
            more: dict[str, object] = {"data": found.data, "changes": found.changes}
        elif isinstance(found, Drop):
            more = {
                "outcome": "dropped",
                "reason": found.reason,
                "why": found.why,
                "by": found.by,
                "changes": found.changes,
            }
        elif isinstance(found, Wait):
            questions = self._check_questions(item, found)
            # Whether or not it looked them up: once one of them is settled, it is done again.
            told = {question.id: self.verdicts.get(question.id) for question in questions}
            more = {
                "outcome": "waiting",
                "reason": questions[0].kind,
                "why": questions[0].text,
                "changes": found.changes,
                "verdicts": {**told, **context.consulted},
            }
        else:
            raise TypeError(f"it gave a {type(found).__name__}, not Keep, Drop or Wait")
        entry = base.model_copy(update=more)
        json.dumps(entry.model_dump(mode="json"), allow_nan=False)  # storable, or it raises
        return StepDecision(entry, tuple(context.attempts), questions)

    def _check_questions(self, item: str, found: Wait) -> tuple[Question, ...]:
        if not found.questions:
            raise ValueError("it waits for people and asks them nothing")
        for question in found.questions:
            if question.item != item:
                raise ValueError(f"its question '{question.id}' is about '{question.item}'")
            if self._asked.setdefault(question.id, item) != item:
                raise ValueError(f"its question '{question.id}' has the id of one about another item")
        return found.questions

    def make_failure(
        self,
        step: ItemStep | BatchStep,
        item: str,
        key: str,
        error: Exception,
        context: LiveStepContext | None = None,
    ) -> StepDecision:
        """The row for a step that went wrong."""
        reason, why = self._describe_error(error, item)
        entry = LedgerEntry(
            item=item,
            step=step.name,
            key=key,
            version=step.version,
            outcome="failed",
            reason=reason,
            why=why,
            verdicts=dict(context.consulted) if context is not None else {},
        )
        attempts = tuple(context.attempts) if context is not None else ()
        return StepDecision(entry, attempts, endpoint_failed=isinstance(error, EndpointFailed))

    def _describe_error(self, error: Exception, item: str) -> tuple[str, str]:
        if isinstance(error, BadReply):
            return "bad-reply", f"the answer could not be used: {error}"
        if isinstance(error, OverreadError):
            # 'ReaderError' → 'reader-error': a code that can be counted.
            kind = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", type(error).__name__).lower()
            return kind, _replace_surrogates(str(error))
        what = self._outcome.tally.note_bug(error, item)
        return "bug", f"a bug ended this step ({what})"


def _replace_surrogates(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _count_tokens(request: Request) -> int:
    """Tokens of a question, by the rule of a dry run."""
    total = 0
    for part in (part for message in request.messages for part in message.parts):
        if isinstance(part, SentImage):
            total += picture_tokens(part.width, part.height)
        else:
            total += -(-len(part) // CHARACTERS_PER_TOKEN)
    return total
