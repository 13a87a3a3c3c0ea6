"""One sitting of a build: every item goes through every step, as far as it is not there yet."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from overread.build.deciding import Decision, Workroom
from overread.build.item import Item
from overread.build.keys import gather_key, item_key, release_key, shown_item, step_rule
from overread.build.ledger import Ledger, LedgerEntry
from overread.build.ledger_tables import LedgerUnusable
from overread.build.plan import RELEASE, BuildOutcome, BuildPlan, Previewed, StepCount, segments
from overread.build.questions import settled_verdicts
from overread.build.releasing import tidy, write_release
from overread.build.sources import items_of
from overread.build.staff import Staff
from overread.build.step import Gather, Recipe, Step
from overread.runs.reading_room import Tally, Watch
from overread.runs.spec import versions_now

_BREATH = 0.01


class Sitting:
    """Everything that one sitting of a build needs."""

    def __init__(
        self,
        plan: BuildPlan,
        recipe: Recipe,
        staff: Staff,
        ledger: Ledger,
        folder: Path,
        watch: Watch | None,
        *,
        dry: bool,
    ) -> None:
        """Work out what every decision will rest on; nothing is read or written yet."""
        self.plan = plan
        self.recipe = recipe
        self.staff = staff
        self.ledger = ledger
        self.watch = watch
        self.settings = {**recipe.settings, **plan.settings}
        self.outcome = BuildOutcome(folder, recipe.name, Tally(), dry=dry)
        self.outcome.steps = [StepCount(step.name) for step in recipe.steps]
        self._counts = {count.name: count for count in self.outcome.steps}
        self._names = [step.name for step in recipe.steps]
        self._previews: dict[str, Previewed] = {}
        self._breath = time.monotonic()
        own = plan.session.prompts
        identities = staff.identities
        self._rules = {
            step.name: step_rule(
                step,
                settings=self.settings,
                seed=plan.seed,
                identities=identities,
                repairs=plan.session.repairs,
                prompts=Path(own) if own else None,
            )
            for step in recipe.steps
        }
        verdicts = settled_verdicts(ledger.folder)
        self.room = Workroom(
            plan, self.settings, staff, folder, ledger.folder, verdicts, self.outcome
        )

    async def run(self) -> None:
        """Take every item through every step, and write the release."""
        plan, outcome = self.plan, self.outcome
        self.ledger.begin(self.recipe.name, self._told())
        if not outcome.dry:
            tidy(outcome.folder)
        most = min((n for n in (plan.limit, plan.preview) if n is not None), default=None)
        items, outcome.defects = items_of(self.recipe, plan.source, self.settings, most)
        self._put(items)
        self._previews = {item.id: Previewed(item) for item in items}
        if plan.preview is not None:
            outcome.previews = list(self._previews.values())
        outcome.tally.total = len(items) * len(self._names)
        self.staff.at_work(
            self.ledger,
            concurrency=plan.concurrency,
            prices=plan.prices,
            max_retries=plan.max_retries,
        )
        self._tell()
        left = {item.id: item for item in items}
        for part in segments(self.recipe.steps):
            if isinstance(part, Gather):
                await self._gather(part, left)
            else:
                await self._each(part, left)
        outcome.items = list(left.values())
        await self._release()

    def finish(self) -> None:
        """Note in the ledger how the sitting ended."""
        outcome = self.outcome
        outcome.tally.spent = self.staff.spent
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
            self.ledger.end(became)

    def _told(self) -> dict[str, JsonValue]:
        plan = self.plan
        return {
            "source": str(plan.source.resolve()),
            "readers": self.staff.told(),
            "settings": dict(self.settings),
            "seed": plan.seed,
            "limit": plan.limit,
            "preview": plan.preview,
            "steps": list(plan.steps),
            "from": plan.begin,
            "repairs": plan.session.repairs,
            "prompts": plan.session.prompts,
            "versions": dict(versions_now()),
        }

    def _put(self, items: list[Item]) -> None:
        """A preview leaves the build as it stands; else it is of these items from now on."""
        if self.plan.preview is not None and self.ledger.begun():
            return
        self.ledger.put_steps(
            [
                (step.name, "gather" if isinstance(step, Gather) else "step", step.version,
                 step.about)
                for step in self.recipe.steps
            ]
        )  # fmt: skip
        self.ledger.put_items(items, self.outcome.defects)

    # ---- single items --------------------------------------------------------------------------

    async def _each(self, steps: list[Step], left: dict[str, Item]) -> None:
        """Take every item through some steps, several at once; those that end are taken out."""
        work = iter(list(left.values()))
        found: dict[str, Item | None] = {}

        async def hand(work: Iterator[Item]) -> None:
            for item in work:
                found[item.id] = await self._through(steps, item)

        await _together([hand(work) for _ in range(min(self.plan.concurrency, len(left)))])
        for name, item in found.items():
            if item is None:
                del left[name]
            else:
                left[name] = item

    async def _through(self, steps: list[Step], item: Item) -> Item | None:
        for number, step in enumerate(steps):
            entry = await self._one(step, item)
            if entry is None or entry.outcome != "kept":
                if entry is None:
                    for undone in steps[number:]:
                        self._counts[undone.name].undone += 1
                self._ended(step)
                return None
            item = item.model_copy(update={"data": {**item.data, **entry.data}})
        return item

    async def _one(self, step: Step, item: Item) -> LedgerEntry | None:
        """What becomes of an item in a step; None where that is not to be found out now."""
        count = self._counts[step.name]
        count.came += 1
        shown = shown_item(step, item)
        outside, problem = self.room.outside(step, shown)
        key = item_key(self._rules[step.name], shown, outside)
        known = self.ledger.known(item.id, step.name, key)
        if known is not None and self._holds(step, known):
            count.known += 1
            self.outcome.tally.before += 1
            if self.plan.preview is None:
                self.ledger.settle([known], self._behind(step))
            return self._counted(known)
        if not self._chosen(step.name):
            return None
        if problem is not None:
            decision: Decision | None = self.room.failed(step, item.id, key, problem)
        else:
            anew = self._unusable(known)
            decision = await self.room.decide(step, shown, key, anew, count)
        if decision is None:
            return None
        self.ledger.write(
            [decision.entry],
            attempts=decision.attempts,
            questions=decision.questions,
            later=self._behind(step),
            flowing=self.plan.preview is None,
        )
        self.outcome.tally.read += 1
        await self._breathe()
        return self._counted(decision.entry)

    def _counted(self, entry: LedgerEntry) -> LedgerEntry:
        self._counts[entry.step].count(entry)
        if entry.outcome == "failed":
            self.outcome.tally.fail(entry.item, f"{entry.step}: {entry.why}")
        if self.plan.preview is not None:
            self._previews[entry.item].entries.append(entry)
        self._tell()
        return entry

    # ---- all items together --------------------------------------------------------------------

    async def _gather(self, step: Gather, left: dict[str, Item]) -> None:
        """Do a step over all items that are left; those that end in it are taken out."""
        count = self._counts[step.name]
        count.came += len(left)
        before = self._names[: self._names.index(step.name)]
        if any(self._counts[name].undone for name in before):
            # Of some items it is not known whether they come: what is made of the rest would be
            # of a smaller whole.
            return self._undone(step, left)
        if not left:
            return None
        shown = [shown_item(step, item) for item in left.values()]
        looked = [(item, self.room.outside(step, item)) for item in shown]
        problem = next((why for _, (_, why) in looked if why is not None), None)
        key = gather_key(self._rules[step.name], ((item, told) for item, (told, _) in looked))
        known = [self.ledger.known(item, step.name, key) for item in left]
        entries = [entry for entry in known if entry is not None and self._holds(step, entry)]
        if len(entries) == len(left):
            count.known += len(left)
            self.outcome.tally.before += len(left)
            if self.plan.preview is None:
                self.ledger.settle(entries, self._behind(step))
        elif not self._chosen(step.name):
            return self._undone(step, left)
        else:
            if problem is not None:
                decisions = [self.room.failed(step, item, key, problem) for item in left]
            else:
                anew = self._unusable(next((e for e in known if e is not None), None))
                found = await self.room.gather(step, shown, key, anew, count)
                if found is None:
                    return self._undone(step, left)
                decisions = found
            entries = [decision.entry for decision in decisions]
            self.ledger.write(
                entries,
                attempts=decisions[0].attempts,
                questions=[q for decision in decisions for q in decision.questions],
                later=self._behind(step),
                flowing=self.plan.preview is None,
            )
            self.outcome.tally.read += len(left)
        for entry in entries:
            self._counted(entry)
            item = left[entry.item]
            if entry.outcome != "kept":
                del left[entry.item]
                self._ended(step)
            else:
                left[entry.item] = item.model_copy(update={"data": {**item.data, **entry.data}})
        return None

    def _undone(self, step: Gather, left: dict[str, Item]) -> None:
        self._counts[step.name].undone += max(1, len(left))
        for _ in range(len(left)):
            self._ended(step)
        left.clear()

    # ---- what is known, what is wanted ---------------------------------------------------------

    def _holds(self, step: Step | Gather, known: LedgerEntry) -> bool:
        """Whether a decision of earlier still stands."""
        plan = self.plan
        if plan.begin is not None and plan.begin != RELEASE:
            forced = self._names.index(step.name) >= self._names.index(plan.begin)
            if forced and self._chosen(step.name):
                return False
        if known.outcome == "failed" and plan.retry_failed:
            return False
        verdicts = self.room.verdicts
        return all(verdicts.get(name) == given for name, given in known.verdicts.items())

    def _unusable(self, known: LedgerEntry | None) -> frozenset[bytes]:
        """Answers that a failed step could not use: trying it again means asking again."""
        if known is None or known.outcome != "failed" or not self.plan.retry_failed:
            return frozenset()
        return self.ledger.unusable(known.id)

    def _chosen(self, name: str) -> bool:
        return not self.plan.steps or name in self.plan.steps

    def _behind(self, step: Step | Gather) -> list[str]:
        return self._names[self._names.index(step.name) + 1 :]

    # ---- the end -------------------------------------------------------------------------------

    async def _release(self) -> None:
        """Write what is left in the benchmark's layout, unless it stands there already."""
        plan, outcome = self.plan, self.outcome
        wanted = plan.preview is None and not outcome.dry and self._chosen(RELEASE)
        if not wanted or not outcome.complete:
            return
        if not outcome.items:
            if not outcome.waiting:
                outcome.problem = "no item is left to release"
            return
        key = release_key(self.recipe, outcome.items, self.settings, plan.seed)
        place = outcome.folder / RELEASE
        if plan.begin is None and key == self.ledger.released() and place.is_dir():
            outcome.release = place
            return
        await write_release(self.recipe, outcome, self.room.desk(), self.ledger, key)

    # ---- telling -------------------------------------------------------------------------------

    def _ended(self, step: Step | Gather) -> None:
        if self.outcome.tally.total is not None:
            self.outcome.tally.total -= len(self._behind(step))

    def _tell(self) -> None:
        if self.watch is not None:
            self.outcome.tally.spent = self.staff.spent
            self.watch(self.outcome.tally)

    async def _breathe(self) -> None:
        """Rules wait for nothing; a Ctrl-C and the answers to others must get their turn."""
        if time.monotonic() - self._breath > _BREATH:
            await asyncio.sleep(0)
            self._breath = time.monotonic()


async def _together(work: list[Any]) -> None:
    """Do all of it at once; the first that goes wrong ends the others."""
    try:
        async with asyncio.TaskGroup() as group:
            for one in work:
                group.create_task(one)
    except BaseExceptionGroup as several:
        error: BaseException = several
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from None
