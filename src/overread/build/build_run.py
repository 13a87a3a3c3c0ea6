"""One run of a build: takes every item through every step that is not done yet."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from pydantic import JsonValue

from overread.build.atomic_release import replace_release
from overread.build.decision_keys import batch_key, item_key, release_key, restrict_item, step_key
from overread.build.item import Item
from overread.build.ledger.store import Ledger, LedgerEntry
from overread.build.ledger.tables import LedgerUnusable
from overread.build.plan import RELEASE, BuildOutcome, BuildPlan, ItemPreview, StepCount, group_steps
from overread.build.reader_pool import ReaderPool
from overread.build.sources import load_items
from overread.build.step import BatchStep, ItemStep, Recipe
from overread.build.step_runner import StepDecision, StepRunner
from overread.runs.failures import run_tasks
from overread.runs.requests.endpoint_health import HeldFailures
from overread.runs.spec import current_versions
from overread.runs.tally import Tally, Watch
from overread.storage.atomic import remove_leftovers

_YIELD_SECONDS = 0.01


class BuildRun:
    """One run of a build, with everything that it needs."""

    def __init__(
        self,
        plan: BuildPlan,
        recipe: Recipe,
        staff: ReaderPool,
        ledger: Ledger,
        folder: Path,
        verdicts: Mapping[str, str],
        watch: Watch | None,
        *,
        dry: bool,
    ) -> None:
        """Work out what every decision will rest on; nothing is read or written yet.

        `verdicts` are what people decided so far.
        """
        self.plan = plan
        self.recipe = recipe
        self.reader_pool = staff
        self.ledger = ledger
        self.watch = watch
        self.settings = {**recipe.settings, **plan.settings}
        self.outcome = BuildOutcome(folder, recipe.name, Tally(), dry=dry)
        self.outcome.steps = [StepCount(step.name) for step in recipe.steps]
        self._counts = {count.name: count for count in self.outcome.steps}
        self._names = [step.name for step in recipe.steps]
        self._previews: dict[str, ItemPreview] = {}
        self._breath = time.monotonic()
        own = plan.session.prompts
        identities = staff.identities
        self._rules = {
            step.name: step_key(
                step,
                settings=self.settings,
                seed=plan.seed,
                identities=identities,
                repairs=plan.session.repairs,
                prompts=Path(own) if own else None,
            )
            for step in recipe.steps
        }
        self.step_runner = StepRunner(
            plan, self.settings, staff, folder, ledger.folder, verdicts, self.outcome
        )

    async def run(self) -> None:
        """Take every item through every step, and write the release."""
        plan, outcome = self.plan, self.outcome
        self.ledger.begin_run(self.recipe.name, self._plan_as_json())
        if not outcome.dry:
            remove_leftovers(outcome.folder, f".{RELEASE}-*")
        most = min((n for n in (plan.limit, plan.preview) if n is not None), default=None)
        items, outcome.defects = load_items(self.recipe, plan.source, self.settings, most)
        self._store_items(items)
        self._previews = {item.id: ItemPreview(item) for item in items}
        if plan.preview is not None:
            outcome.previews = list(self._previews.values())
        outcome.tally.total = len(items) * len(self._names)
        self.reader_pool.start(
            self.ledger,
            concurrency=plan.concurrency,
            prices=plan.prices,
            max_retries=plan.max_retries,
            max_wait=plan.max_wait,
            give_up=plan.give_up,
        )
        outcome.tally.follow(self.reader_pool.waits, self.watch)
        self._held = HeldFailures[StepDecision](self.reader_pool.healths, self._keep)
        self._report_progress()
        left = {item.id: item for item in items}
        for part in group_steps(self.recipe.steps):
            if isinstance(part, BatchStep):
                await self._run_batch(part, left)
            else:
                await self._run_steps(part, left)
        outcome.items = list(left.values())
        await self._write_release()

    def finish(self) -> None:
        """Note in the ledger how this run of the build ended."""
        outcome = self.outcome
        outcome.tally.spent = self.reader_pool.spent
        spent = outcome.tally.spent
        became: dict[str, JsonValue] = {
            "complete": outcome.complete,
            "left": len(outcome.items),
            "calls": spent.calls,
            "known": spent.cached,
            "input_tokens": spent.input_tokens,
            "output_tokens": spent.output_tokens,
            "cost": spent.cost,
            "stopped": outcome.stopped,
            "problem": outcome.problem,
        }
        with suppress(LedgerUnusable):  # what made it so was told where it was met
            self.ledger.end_run(became)

    def _plan_as_json(self) -> dict[str, JsonValue]:
        plan = self.plan
        return {
            "source": str(plan.source.resolve()),
            "readers": self.reader_pool.as_json(),
            "settings": dict(self.settings),
            "seed": plan.seed,
            "limit": plan.limit,
            "preview": plan.preview,
            "steps": list(plan.steps),
            "from": plan.begin,
            "repairs": plan.session.repairs,
            "prompts": plan.session.prompts,
            "versions": dict(current_versions()),
        }

    def _store_items(self, items: list[Item]) -> None:
        """Store steps and items in the ledger; a preview over an existing build stores nothing."""
        if self.plan.preview is not None and self.ledger.has_build():
            return
        self.ledger.replace_steps(
            [
                (step.name, "gather" if isinstance(step, BatchStep) else "step", step.version,
                 step.about)
                for step in self.recipe.steps
            ]
        )  # fmt: skip
        self.ledger.replace_items(items, self.outcome.defects)

    # ---- single items --------------------------------------------------------------------------

    async def _run_steps(self, steps: list[ItemStep], left: dict[str, Item]) -> None:
        """Take every item through some steps, several at once; those that end are taken out."""
        work = iter(list(left.values()))
        found: dict[str, Item | None] = {}

        async def hand(work: Iterator[Item]) -> None:
            for item in work:
                found[item.id] = await self._run_item(steps, item)

        await run_tasks(hand(work) for _ in range(min(self.plan.concurrency, len(left))))
        self._held.finish()
        for name, item in found.items():
            if item is None:
                del left[name]
            else:
                left[name] = item

    async def _run_item(self, steps: list[ItemStep], item: Item) -> Item | None:
        for number, step in enumerate(steps):
            entry = await self._run_step(step, item)
            if entry is None or entry.outcome != "kept":
                if entry is None:
                    for undone in steps[number:]:
                        self._counts[undone.name].undone += 1
                self._shrink_total(step)
                return None
            item = item.model_copy(update={"data": {**item.data, **entry.data}})
        return item

    async def _run_step(self, step: ItemStep, item: Item) -> LedgerEntry | None:
        """Run a step on an item, or reuse its stored decision; None where it stays undecided."""
        count = self._counts[step.name]
        count.came += 1
        shown = restrict_item(step, item)
        outside, problem = self.step_runner.read_external_state(step, shown)
        key = item_key(self._rules[step.name], shown, outside)
        known = self.ledger.find_decision(item.id, step.name, key)
        if known is not None and self._is_valid(step, known):
            count.known += 1
            self.outcome.tally.before += 1
            if self.plan.preview is None:
                self.ledger.make_current([known], self._later_steps(step))
            return self._count(known)
        if not self._is_chosen(step.name):
            return None
        if problem is not None:
            decision: StepDecision | None = self.step_runner.make_failure(step, item.id, key, problem)
        else:
            anew = self._unusable_replies(known)
            decision = await self.step_runner.decide(step, shown, key, anew, count)
        if decision is None:
            return None
        if decision.endpoint_failed:
            self._held.add(decision)
        else:
            self._held.settle()
            self._keep(decision)
        await self._yield_control()
        return decision.entry

    def _keep(self, decision: StepDecision) -> None:
        """Write a decision on one item down and count it."""
        step = decision.entry.step
        self.ledger.write(
            [decision.entry],
            attempts=decision.attempts,
            questions=decision.questions,
            later=self._names[self._names.index(step) + 1 :],
            flowing=self.plan.preview is None,
        )
        self.outcome.tally.read += 1
        self._count(decision.entry)

    def _count(self, entry: LedgerEntry) -> LedgerEntry:
        self._counts[entry.step].count(entry)
        if entry.outcome == "failed":
            self.outcome.tally.fail(entry.item, f"{entry.step}: {entry.why}")
        if self.plan.preview is not None:
            self._previews[entry.item].entries.append(entry)
        self._report_progress()
        return entry

    # ---- all items together --------------------------------------------------------------------

    async def _run_batch(self, step: BatchStep, left: dict[str, Item]) -> None:
        """Do a step over all items that are left; those that end in it are taken out."""
        count = self._counts[step.name]
        count.came += len(left)
        before = self._names[: self._names.index(step.name)]
        if any(self._counts[name].undone for name in before):
            # Of some items it is not known whether they come: what is made of the rest would be
            # of a smaller whole.
            return self._skip_batch(step, left)
        if not left:
            return None
        shown = [restrict_item(step, item) for item in left.values()]
        looked = [(item, self.step_runner.read_external_state(step, item)) for item in shown]
        problem = next((why for _, (_, why) in looked if why is not None), None)
        key = batch_key(self._rules[step.name], ((item, told) for item, (told, _) in looked))
        known = [self.ledger.find_decision(item, step.name, key) for item in left]
        entries = [entry for entry in known if entry is not None and self._is_valid(step, entry)]
        if len(entries) == len(left):
            count.known += len(left)
            self.outcome.tally.before += len(left)
            if self.plan.preview is None:
                self.ledger.make_current(entries, self._later_steps(step))
        elif not self._is_chosen(step.name):
            return self._skip_batch(step, left)
        else:
            if problem is not None:
                decisions = [self.step_runner.make_failure(step, item, key, problem) for item in left]
            else:
                anew = self._unusable_replies(next((e for e in known if e is not None), None))
                found = await self.step_runner.decide_batch(step, shown, key, anew, count)
                if found is None:
                    return self._skip_batch(step, left)
                decisions = found
                if any(decision.endpoint_failed for decision in decisions):
                    for health in self.reader_pool.healths:
                        health.check_end()
            entries = [decision.entry for decision in decisions]
            self.ledger.write(
                entries,
                attempts=decisions[0].attempts,
                questions=[q for decision in decisions for q in decision.questions],
                later=self._later_steps(step),
                flowing=self.plan.preview is None,
            )
            self.outcome.tally.read += len(left)
        for entry in entries:
            self._count(entry)
            item = left[entry.item]
            if entry.outcome != "kept":
                del left[entry.item]
                self._shrink_total(step)
            else:
                left[entry.item] = item.model_copy(update={"data": {**item.data, **entry.data}})
        return None

    def _skip_batch(self, step: BatchStep, left: dict[str, Item]) -> None:
        self._counts[step.name].undone += max(1, len(left))
        for _ in range(len(left)):
            self._shrink_total(step)
        left.clear()

    # ---- what is known, what is wanted ---------------------------------------------------------

    def _is_valid(self, step: ItemStep | BatchStep, known: LedgerEntry) -> bool:
        """Whether a stored decision is still valid."""
        plan = self.plan
        if plan.begin is not None and plan.begin != RELEASE:
            forced = self._names.index(step.name) >= self._names.index(plan.begin)
            if forced and self._is_chosen(step.name):
                return False
        if known.outcome == "failed" and plan.retry_failed:
            return False
        verdicts = self.step_runner.verdicts
        return all(verdicts.get(name) == given for name, given in known.verdicts.items())

    def _unusable_replies(self, known: LedgerEntry | None) -> frozenset[bytes]:
        """Answers that a failed step could not use: trying it again means asking again."""
        if known is None or known.outcome != "failed" or not self.plan.retry_failed:
            return frozenset()
        return self.ledger.unusable_replies(known.id)

    def _is_chosen(self, name: str) -> bool:
        return not self.plan.steps or name in self.plan.steps

    def _later_steps(self, step: ItemStep | BatchStep) -> list[str]:
        return self._names[self._names.index(step.name) + 1 :]

    # ---- the end -------------------------------------------------------------------------------

    async def _write_release(self) -> None:
        """Write what is left in the benchmark's layout, unless it stands there already."""
        plan, outcome = self.plan, self.outcome
        wanted = plan.preview is None and not outcome.dry and self._is_chosen(RELEASE)
        if not wanted or not outcome.complete:
            return
        if not outcome.items:
            if not outcome.waiting:
                outcome.problem = "no item is left to release"
            return
        key = release_key(self.recipe, outcome.items, self.settings, plan.seed)
        place = outcome.folder / RELEASE
        if plan.begin is None and key == self.ledger.current_release_key() and place.is_dir():
            outcome.release = place
            return
        await replace_release(self.recipe, outcome, self.step_runner.make_context(), self.ledger, key)

    # ---- progress ------------------------------------------------------------------------------

    def _shrink_total(self, step: ItemStep | BatchStep) -> None:
        if self.outcome.tally.total is not None:
            self.outcome.tally.total -= len(self._later_steps(step))

    def _report_progress(self) -> None:
        if self.watch is not None:
            self.outcome.tally.spent = self.reader_pool.spent
            self.watch(self.outcome.tally)

    async def _yield_control(self) -> None:
        """Let other tasks run: steps by rules never await, and Ctrl-C must get through."""
        if time.monotonic() - self._breath > _YIELD_SECONDS:
            await asyncio.sleep(0)
            self._breath = time.monotonic()
