"""Judging a run: a judge reads each reading beside the truth, and its verdicts are stored.

It is asked like any reader, with the reply cache, limits and retries. Each verdict is written as it
comes; the same call again judges only readings that were not judged yet or whose text has changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

from overread import catalog
from overread.core import Entry, Reader, Reading, Release
from overread.core.seeded import hash_seed
from overread.core.verdicts import Judge, Verdicts, text_digest
from overread.errors import EndpointFailed, OverreadError, UsageError, first_error, is_fatal
from overread.prompts import find_prompt
from overread.runs.engine import RunPlan, concurrency_for, find_prices, make_asker, prepare_run
from overread.runs.failures import refuse_running_loop, run_tasks
from overread.runs.judging.verdict_store import VerdictStore, load_verdicts
from overread.runs.requests.asker import Asker
from overread.runs.requests.endpoint_health import HeldFailures
from overread.runs.requests.prices import Prices
from overread.runs.requests.reply_cache import ReplyCache, default_cache_path
from overread.runs.signals import stop_on_signal
from overread.runs.spec import read_spec
from overread.runs.store import last_readings
from overread.runs.tally import Tally, Watch
from overread.session import Session, SessionSettings
from overread.storage.digests import digest
from overread.workflows.judges.verdicts import session_log


def find_judge(name: str) -> Judge:
    """The judge of that name."""
    return cast(Judge, catalog.find("judges", name))


@dataclass(frozen=True)
class JudgePlan:
    """Everything that judging is told: which run, what of it, and who judges."""

    run: Path
    """Folder of the run."""
    judge: str
    """'steps' or 'discussion'."""
    reader: str | Reader
    """Who judges: catalog name, or a reader that was made already."""
    arguments: Mapping[str, str] = field(default_factory=dict)
    """Of the reader, as `--reader-arg` gives them."""
    root: Path | None = None
    """Folder of the release, where it lies elsewhere by now."""
    limit: int | None = None
    """Only the first so many readings that can be judged, in the order of the release."""
    concurrency: int = 16
    """Most readings judged, and most questions asked of one endpoint, at once."""
    settings: SessionSettings = field(default_factory=SessionSettings)
    """How questions are asked: own prompts, repairs."""
    cache: Path | None = None
    """File of replies; the user's own where absent."""
    use_cache: bool = True
    prices: Callable[[str], Prices] | Prices | None = None
    """Prices, or what gives them for a model's name."""
    retry_failed: bool = False
    """Whether readings that the judge failed on are judged again."""
    max_retries: int = 5
    """How often a question is asked again that the judge could not answer for now."""
    max_wait: float | None = 600.0
    """Most seconds that one question waits before it is asked again, all its pauses together."""
    give_up: int | None = None
    """Cases in a row that the endpoint may fail before judging stops; None for the rule, 0 for any."""


@dataclass
class JudgeOutcome:
    """What became of judging."""

    judge: str
    """Who judged."""
    rule: str
    """Digest of its identity, prompts and settings."""
    tally: Tally
    """How far it came; its readings are the judged ones."""
    nothing_to_judge: int = 0
    """Readings that hold nothing to judge: failed, or without that part; they count as worst."""
    truth_withheld: int = 0
    """Readings of cases whose truth is withheld."""
    missing: int = 0
    """Verdicts that were asked for now and not given."""
    calls: int = 0
    """Questions that judging what is left would take, where nobody had to be asked twice."""
    stopped: int | None = None
    """The signal that stopped it."""
    notes: list[str] = field(default_factory=list)
    """What the reader learnt while it was asked."""


def judge(plan: JudgePlan, *, watch: Watch | None = None, dry_run: bool = False) -> JudgeOutcome:
    """Judge every reading of a run that was not judged yet, and wait for it.

    With `dry_run` nothing is asked and nothing written: the outcome says how much is left. Ctrl-C
    stops it and keeps what is judged.
    """
    refuse_running_loop("judge_async(…)")
    return asyncio.run(judge_async(plan, watch=watch, dry_run=dry_run, signals=True))


async def judge_async(
    plan: JudgePlan, *, watch: Watch | None = None, dry_run: bool = False, signals: bool = False
) -> JudgeOutcome:
    """As `judge`, in a loop that runs already; `signals` says whether Ctrl-C ends it cleanly."""
    judge = find_judge(plan.judge)
    inner = _engine_plan(plan)
    reader, release, _ = prepare_run(inner)
    cache: ReplyCache | None = None
    try:
        if "words" not in reader.skills:
            raise UsageError(
                f"the reader '{reader.name}' does not return text, and cannot be a judge",
                remedy="use a language model, such as the reader openai",
            )
        outcome = JudgeOutcome(judge_label(reader), judge_rule(reader, judge, plan.settings), Tally())
        work = _list_tasks(plan, judge, release, outcome)
        if dry_run:
            return outcome
        hands = concurrency_for(inner, reader)
        if plan.use_cache and reader.cached:
            cache = ReplyCache(plan.cache or default_cache_path())
        asker = make_asker(inner, reader, cache, find_prices(inner, reader))
        outcome.tally.spent = asker.spent
        outcome.tally.follow(asker.waits, watch)
        with VerdictStore(plan.run) as store:
            court = JudgeRunner(plan, judge, reader, release, asker, store, outcome, watch)
            with stop_on_signal(enabled=signals) as stop:
                try:
                    await court.judge_all(iter(work), hands)
                except asyncio.CancelledError:
                    if stop.signal is None:
                        raise
                    outcome.stopped = stop.signal
        outcome.notes += reader.remarks
        return outcome
    finally:
        if cache is not None:
            cache.close()
        await reader.close()


def judge_label(reader: Reader) -> str:
    """The judge's name: the reader's, with its model."""
    model = reader.identity.get("model")
    return f"{reader.name} {model}" if model else reader.name


def judge_rule(reader: Reader, judge: Judge, settings: SessionSettings) -> str:
    """What makes verdicts comparable: who judges, with which words, asked how often."""
    folder = Path(settings.prompts) if settings.prompts else None
    prompts = {name: find_prompt(name, folder).digest for name in judge.prompts}
    return digest(reader.name, dict(reader.identity), prompts, settings.repairs)[:16]


def _engine_plan(plan: JudgePlan) -> RunPlan:
    """The run plan from which the engine makes the judge's reader and opens the release."""
    place = read_spec(plan.run).release_ref
    return RunPlan(
        benchmark=place.benchmark,
        root=plan.root or place.root,
        reader=plan.reader,
        arguments=plan.arguments,
        workflow=_no_workflow,
        split=place.split,
        form=place.form,
        pictures=place.pictures,
        concurrency=plan.concurrency,
        max_retries=plan.max_retries,
        max_wait=plan.max_wait,
        give_up=plan.give_up,
        prices=plan.prices,
        limit=plan.limit,
    )


async def _no_workflow(*_: Any) -> Reading:
    raise AssertionError("a judge is no workflow of the engine")


# ---- what is to be judged ------------------------------------------------------------------


class _JudgeTask(NamedTuple):
    """One reading that is left to judge."""

    entry: Entry
    reading: Reading
    anew: bool = False
    """Whether the judge failed on it: what it answered then was of no use, known or not."""


def _list_tasks(plan: JudgePlan, judge: Judge, release: Release, outcome: JudgeOutcome) -> list[_JudgeTask]:
    """The readings that are left to judge, in the order of the release."""
    readings: dict[str, list[Reading]] = {}
    for reading in last_readings(plan.run).values():
        # What was asked and answered is long, and nothing here needs it.
        readings.setdefault(reading.case_id, []).append(
            reading.model_copy(update={"exchanges": (), "trace": None, "usage": None})
        )
    if not readings:
        raise UsageError("the run has no readings yet", where=str(plan.run))
    known = load_verdicts(plan.run)
    left: list[_JudgeTask] = []
    chosen = 0
    for entry in release.entries():
        for reading in sorted(readings.get(entry.case.id, ()), key=lambda one: one.sample):
            if not _can_be_judged(judge, entry, reading, outcome):
                continue
            if plan.limit is not None and chosen >= plan.limit:
                continue
            chosen += 1
            told = known.get((judge.name, reading.case_id, reading.sample, outcome.rule))
            if told is None or told.about != text_digest(judge.text(reading)):
                left.append(_JudgeTask(entry, reading))
                continue
            if told.error is not None:
                if plan.retry_failed:
                    left.append(_JudgeTask(entry, reading, anew=True))
                    continue
                outcome.tally.failed_before += 1
            outcome.tally.before += 1
    if not chosen:
        why = "its release withholds the truth" if outcome.truth_withheld else f"none has a {judge.needs}"
        raise UsageError(f"no reading of this run can be judged: {why}", where=str(plan.run))
    outcome.tally.total = chosen
    outcome.calls = sum(judge.questions(one.reading) for one in left)
    return left


def _can_be_judged(judge: Judge, entry: Entry, reading: Reading, outcome: JudgeOutcome) -> bool:
    if entry.truth is None or entry.truth.answer_text is None:
        outcome.truth_withheld += 1
        return False
    if reading.error or not judge.text(reading):
        outcome.nothing_to_judge += 1
        return False
    return True


# ---- judging -------------------------------------------------------------------------------


@dataclass
class JudgeRunner:
    """Judges one reading after the other."""

    plan: JudgePlan
    judge: Judge
    reader: Reader
    release: Release
    asker: Asker
    store: VerdictStore
    outcome: JudgeOutcome
    watch: Watch | None

    def __post_init__(self) -> None:
        """Failures of the endpoint are held back until it is known not to be down."""
        self._held = HeldFailures[Verdicts]([self.asker.health], self._keep)

    async def judge_all(self, work: Iterator[_JudgeTask], hands: int) -> None:
        """Judge every reading of `work`, `hands` of them at once."""
        self._report_progress()
        await run_tasks(self._worker(work) for _ in range(hands))
        self._held.finish()

    async def _worker(self, work: Iterator[_JudgeTask]) -> None:
        for entry, reading, anew in work:
            told, held = await self._judge_reading(entry, reading, anew=anew)
            if held:
                self._held.add(told)
            else:
                self._held.settle()
                self._keep(told)
            await asyncio.sleep(0)  # known answers wait for nothing; a Ctrl-C must get its turn

    def _keep(self, told: Verdicts) -> None:
        """Write verdicts down and count them."""
        self.store.append(told)
        tally = self.outcome.tally
        tally.read += 1
        self.outcome.missing += told.missing
        if told.error is not None:
            tally.fail(told.case_id, told.error)
        self._report_progress()

    def _report_progress(self) -> None:
        if self.watch is not None:
            self.watch(self.outcome.tally)

    async def _judge_reading(self, entry: Entry, reading: Reading, *, anew: bool) -> tuple[Verdicts, bool]:
        """The verdicts on one reading, or a record that says why there are none, and whether the
        endpoint is at fault.
        """
        session = Session(
            partial(self.asker.ask, anew=anew),
            self.reader,
            entry.case,
            self.release.pictures,
            self.plan.settings,
            # The same words get the same verdicts, whichever sample they stand in.
            sample=0,
            seed=hash_seed(0, entry.case.id, 0),
        )
        held = False
        mine = {"judge": self.outcome.judge, "rule": self.outcome.rule}
        try:
            told = await self.judge.judge(entry, reading, session)
        except Exception as problem:
            error = first_error(problem)
            if is_fatal(error):
                raise error from None
            why = str(error)
            held = isinstance(error, EndpointFailed)
            if not isinstance(error, OverreadError):
                bug = self.outcome.tally.note_bug(error, entry.case.id)
                why = f"a bug ended this verdict ({bug})"
            told = self.judge.make_failed(entry, reading, self.outcome.judge, why)
            mine |= session_log(session)
        return told.model_copy(update=mine), held
