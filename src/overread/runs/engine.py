"""The engine: has a reader read every case of a benchmark, and writes each reading at once.

Cases stream from the release and readings into the run's folder; only the cases being read are held
in memory. The same call again continues where it stopped.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pydantic import JsonValue

from overread import catalog
from overread.core import Case, Reader, Release, ReleaseRef, make_reader
from overread.core.notebook import html_table
from overread.core.notice import NOTICE
from overread.errors import ReleaseError, UsageError
from overread.readers.arguments import PERMISSION
from overread.runs.ablations import Presenter, refuse_ignored_settings, spec_settings
from overread.runs.case_runner import CaseRunner, Workflow
from overread.runs.failures import refuse_running_loop
from overread.runs.requests.asker import Asker
from overread.runs.requests.limits import EndpointLimits
from overread.runs.requests.prices import Prices
from overread.runs.requests.reply_cache import ReplyCache, default_cache_path
from overread.runs.signals import stop_on_signal
from overread.runs.spec import (
    ReaderSpec,
    RunSpec,
    WorkflowSpec,
    current_versions,
    read_spec,
    reconcile_specs,
    refuse_secrets,
    write_spec,
)
from overread.runs.store import KnownReadings, ReadingStore, find_unusable_questions, scan_readings
from overread.runs.tally import Tally, Watch
from overread.runs.worker_reader import WorkerReader
from overread.session import SessionSettings

if TYPE_CHECKING:
    from overread.pixels.edits.altered_pictures import Edit

_RUN_FILES = frozenset({"readings.jsonl", "arrays"})


@dataclass(frozen=True)
class RunPlan:
    """Everything that defines a run: what is read, by whom, how, and what may be spent."""

    benchmark: str
    root: Path
    reader: str | Reader
    """Catalog name, or a reader that was made already."""
    arguments: Mapping[str, str] = field(default_factory=dict)
    """Of the reader, as `--reader-arg` gives them."""
    workflow: str | Workflow = "direct"
    """Catalog name, or a workflow itself."""
    split: str = "test"
    form: str | None = None
    pictures: Path | None = None
    limit: int | None = None
    """Only the first so many cases."""
    cases: Sequence[str] = ()
    """Only these cases, by id or place ('#3')."""
    repeat: int = 1
    """Readings of each case."""
    concurrency: int = 16
    """Most cases read, and most questions asked of one endpoint, at once."""
    seed: int = 0
    settings: SessionSettings = field(default_factory=SessionSettings)
    """How pictures are shown and questions asked."""
    cache: Path | None = None
    """File of replies; the user's own where absent."""
    use_cache: bool = True
    prices: Callable[[str], Prices] | Prices | None = None
    """Prices, or what gives them for a model's name."""
    retry_failed: bool = False
    """Whether readings that failed before are tried again."""
    max_retries: int = 5
    """How often a question is asked again that a reader could not answer for now."""
    max_wait: float | None = 600.0
    """Most seconds that one question waits before it is asked again, all its pauses together."""
    give_up: int | None = None
    """Cases in a row that the endpoint may fail before the run stops; None for the rule, 0 for any."""
    edits: Mapping[str, tuple[Edit, ...]] = field(default_factory=dict)
    """Case → what is changed in its pictures; the reader is not told."""
    first_sample: int = 0
    """The number of the first reading of each case; those before it were made elsewhere."""
    purpose: Mapping[str, JsonValue] = field(default_factory=dict)
    """What a run is part of, for its spec: an arm of an audit."""

    def __post_init__(self) -> None:
        """Refuse numbers that no run can have."""
        for name, least in (("limit", 1), ("repeat", 1), ("concurrency", 1), ("max_retries", 0),
                            ("max_wait", 0), ("give_up", 0)):  # fmt: skip
            value = getattr(self, name)
            if value is not None and value < least:
                raise UsageError(f"{name} is {value}", remedy=f"it is {least} or more")
        if self.settings.shuffle and self.first_sample + self.repeat < 2:
            raise UsageError(
                "shuffle needs at least two readings of each case (the first one is never shuffled)",
                remedy="shuffle with --repeat 2 or more",
            )

    @property
    def release_ref(self) -> ReleaseRef:
        """The copy of the benchmark, by absolute paths: workers may run in another folder."""
        pictures = self.pictures.resolve() if self.pictures else None
        return ReleaseRef(self.benchmark, self.root.resolve(), self.split, self.form, pictures)


@dataclass
class RunOutcome:
    """What became of a run."""

    folder: Path
    spec: RunSpec
    tally: Tally
    stopped: int | None = None
    """The signal that stopped it."""
    notes: list[str] = field(default_factory=list)
    """What else one should know."""

    @property
    def complete(self) -> bool:
        """Whether every case has its readings."""
        return self.stopped is None

    def _repr_html_(self) -> str:
        """In a notebook: how far the run came, and what it took."""
        tally, spent = self.tally, self.tally.spent
        rows = [
            ("reader", self.spec.reader.name),
            ("workflow", self.spec.workflow.name),
            ("readings", f"{tally.done:,}" + (f" of {tally.total:,}" if tally.total else "")),
            ("failed readings", tally.failed + tally.failed_before),
            ("questions asked", spent.calls),
            ("answers known before", spent.cached),
            ("cost", None if spent.cost is None else f"{spent.cost:.2f} {spent.currency}".strip()),
            *(("note", note) for note in self.notes),
        ]
        title = f"{self.spec.benchmark} {self.spec.split}: {self.folder.name}"
        return html_table(title, [row for row in rows if row[1] is not None], note=NOTICE)


def run(plan: RunPlan, out: str | Path, *, watch: Watch | None = None) -> RunOutcome:
    """Have every case read, and wait for it; Ctrl-C stops it and keeps what is done."""
    refuse_running_loop("run_async(…)")
    return asyncio.run(run_async(plan, out, watch=watch, signals=True))


async def run_async(
    plan: RunPlan, out: str | Path, *, watch: Watch | None = None, signals: bool = False
) -> RunOutcome:
    """Have every case read; with `signals`, Ctrl-C and SIGTERM end it and the outcome says so."""
    folder = Path(out)
    reader, release, spec = prepare_run(plan)
    cache: ReplyCache | None = None
    try:
        prices = find_prices(plan, reader)
        presenter = make_presenter(plan, reader, release)
        _refuse_foreign_folder(folder)
        with ReadingStore(folder) as store:
            known = scan_readings(folder)
            spec = resume_spec(spec, folder)
            write_spec(folder, spec)  # it may have grown
            keeper = _PromptRecorder(folder, spec)
            tally = _start_tally(plan, spec, release, known)
            outcome = RunOutcome(folder, spec, tally, notes=_collect_notes(reader, spec, known))
            if reader.interactive:
                watch = None  # it talks to the terminal, where a bar would be in its way
            if plan.use_cache and reader.cached:
                cache = ReplyCache(plan.cache or default_cache_path())
            asker = make_asker(plan, reader, cache, prices)
            tally.spent = asker.spent
            tally.follow(asker.waits, watch)
            room = CaseRunner(
                reader=reader,
                workflow=find_workflow(plan, reader),
                presenter=presenter,
                asker=asker,
                store=store,
                tally=tally,
                seed=plan.seed,
                settings=plan.settings,
                on_prompts=keeper.record,
                watch=watch,
                unusable=find_unusable_questions(folder) if plan.retry_failed else None,
            )
            if watch is not None:
                watch(tally)
            work = pending_readings(plan, spec, release, known)
            with stop_on_signal(enabled=signals) as stop:
                try:
                    await room.read_all(work, concurrency_for(plan, reader))
                except asyncio.CancelledError:
                    if stop.signal is None:
                        raise
                    outcome.stopped = stop.signal
            if outcome.complete:
                tally.total = tally.done
            outcome.spec = keeper.spec
            outcome.notes += reader.remarks
            return outcome
    finally:
        if cache is not None:
            cache.close()
        await reader.close()


# ---- getting ready -------------------------------------------------------------------------


def prepare_run(plan: RunPlan) -> tuple[Reader, Release, RunSpec]:
    """The reader, the release and the spec of a run; nothing is asked or written yet."""
    refuse_secrets(plan.arguments)
    place = plan.release_ref
    release = place.open()
    if release.count() == 0:
        raise ReleaseError(
            f"split '{plan.split}' has no cases", where=str(place.root), remedy="try another --split"
        )
    cases = _resolve_cases(plan, release)
    reader, name = _make_reader(plan, place)
    whole = "whole" in reader.skills
    kept = {k: v for k, v in plan.arguments.items() if k != PERMISSION}
    spec = RunSpec(
        benchmark=plan.benchmark,
        root=str(place.root),
        split=plan.split,
        form=plan.form,
        pictures=str(place.pictures) if place.pictures else None,
        limit=plan.limit,
        cases=cases,
        repeat=plan.repeat,
        seed=plan.seed,
        reader=ReaderSpec(name=name, arguments=kept, identity=dict(reader.identity)),
        workflow=WorkflowSpec(
            name=None if whole else _workflow_name(plan.workflow),
            settings=spec_settings(plan.settings, whole=whole),
        ),
        versions=current_versions(),
        purpose=dict(plan.purpose),
    )
    find_workflow(plan, reader)  # a name that is unknown is told before a folder is made
    return reader, release, spec


def make_presenter(plan: RunPlan, reader: Reader, release: Release) -> Presenter:
    """What hands the cases out; refuses settings that this reader or release cannot have."""
    refuse_ignored_settings(reader, plan.settings)
    return Presenter(plan.settings, seed=plan.seed, release=release, edits=plan.edits)


def _make_reader(plan: RunPlan, place: ReleaseRef) -> tuple[Reader, str]:
    reader = make_reader(plan.reader, plan.arguments, place)
    if not isinstance(plan.reader, str):
        return reader, reader.name
    if reader.computes:
        workers = min(concurrency_for(plan, reader), os.cpu_count() or 1)
        reader = WorkerReader(
            reader, name=plan.reader, arguments=plan.arguments, place=place, workers=workers
        )
    return reader, plan.reader


def find_workflow(plan: RunPlan, reader: Reader) -> Workflow | None:
    """The workflow; None for a reader with the skill 'whole', which makes the whole reading without
    one.
    """
    workflow = plan.workflow
    if isinstance(workflow, str):
        workflow = cast(Workflow, catalog.find("workflows", workflow))
    return None if "whole" in reader.skills else workflow


def _workflow_name(workflow: str | Workflow) -> str:
    if isinstance(workflow, str):
        return workflow
    return f"{workflow.__module__}:{getattr(workflow, '__qualname__', type(workflow).__name__)}"


def find_prices(plan: RunPlan, reader: Reader) -> Prices | None:
    """The prices of the reader's model, where any are given."""
    if callable(plan.prices):
        return plan.prices(str(reader.identity.get("model", reader.name)))
    return plan.prices


def make_asker(plan: RunPlan, reader: Reader, cache: ReplyCache | None, prices: Prices | None) -> Asker:
    """What asks the reader, with the run's limits and retries."""
    pace = EndpointLimits(concurrency_for(plan, reader))
    return Asker(
        reader,
        pace=pace,
        cache=cache,
        prices=prices,
        max_retries=plan.max_retries,
        max_wait=plan.max_wait,
        give_up=plan.give_up,
    )


def concurrency_for(plan: RunPlan, reader: Reader) -> int:
    """How many cases are read at the same time."""
    return min(plan.concurrency, reader.at_once or plan.concurrency)


def _resolve_cases(plan: RunPlan, release: Release) -> tuple[str, ...]:
    """The cases that were asked for by name, as ids in the order of the release."""
    wanted = dict.fromkeys(plan.cases)
    if not wanted:
        return ()
    ids = [case.id for case in release]
    places = {f"#{number}": one for number, one in enumerate(ids, 1)}
    for name in wanted:
        if name not in places and name not in ids:
            raise catalog.unknown_name("case", name, ids)
    chosen = {places.get(name, name) for name in wanted}
    return tuple(one for one in ids if one in chosen)


def _start_tally(plan: RunPlan, spec: RunSpec, release: Release, known: KnownReadings) -> Tally:
    kept = len(known.done) - (len(known.failed) if plan.retry_failed else 0)
    tally = Tally(before=kept, failed_before=0 if plan.retry_failed else len(known.failed))
    rows = len(spec.cases) if spec.cases else release.count()
    if rows is not None:
        tally.total = min(rows, plan.limit or rows) * plan.repeat
    if not plan.retry_failed:
        for (case, _), why in islice(known.failed.items(), 3):
            tally.reasons.append((case, why))
    return tally


def pending_readings(
    plan: RunPlan, spec: RunSpec, release: Release, known: KnownReadings
) -> Iterator[tuple[Case, int]]:
    """(case, sample) of every reading that is not there yet, one by one."""
    there = known.done - known.failed.keys() if plan.retry_failed else known.done
    wanted = frozenset(spec.cases)
    chosen = (case for case in release if not wanted or case.id in wanted)
    seen: set[str] = set()
    for case in islice(chosen, plan.limit):
        if case.id in seen:
            raise ReleaseError(
                f"two cases are called '{case.id}'",
                where=str(plan.root),
                remedy="`overread check` names every defect of the release",
            )
        seen.add(case.id)
        for sample in range(plan.first_sample, plan.first_sample + plan.repeat):
            if (case.id, sample) not in there:
                yield case, sample


# ---- the folder ----------------------------------------------------------------------------


def _refuse_foreign_folder(folder: Path) -> None:
    """Refuse a folder that holds something else."""
    try:
        names = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"{folder} is no folder ({error.strerror})") from None
    if "spec.json" not in names and names - _RUN_FILES:
        raise UsageError(
            "this folder is not empty and is not a run",
            where=str(folder),
            remedy="give an --out that is empty or not there yet",
        )


def resume_spec(spec: RunSpec, folder: Path) -> RunSpec:
    """The spec to write: the stored one, if it agrees with this one, or this one where the run is
    new.
    """
    if (folder / "spec.json").exists():
        return reconcile_specs(read_spec(folder), spec, folder=folder)
    file = folder / "readings.jsonl"
    if file.exists() and file.stat().st_size:
        raise UsageError(
            "there is a readings.jsonl here but no spec.json", where=str(folder), remedy="give another --out"
        )
    return spec


class _PromptRecorder:
    """Adds the digest of each prompt to `spec.json` when it is first used."""

    def __init__(self, folder: Path, spec: RunSpec) -> None:
        self._folder = folder
        self.spec = spec

    def record(self, prompts: dict[str, str]) -> None:
        known = self.spec.prompts
        if prompts.items() <= known.items():
            return
        for name, digest in prompts.items():
            if known.get(name, digest) != digest:
                raise UsageError(
                    f"the prompt '{name}' changed during the run",
                    remedy="restore the prompt, or start a new run",
                )
        self.spec = self.spec.model_copy(update={"prompts": {**known, **prompts}})
        write_spec(self._folder, self.spec)


def _collect_notes(reader: Reader, spec: RunSpec, known: KnownReadings) -> list[str]:
    # A replayed submission has problems of its own; the first few say what is the matter.
    notes = list(reader.problems[:5])
    now = current_versions()
    if spec.versions != now:
        begun = ", ".join(f"{name} {number}" for name, number in spec.versions.items())
        notes.append(f"this run was begun with {begun}, and goes on with another version")
    if known.damaged:
        notes.append(f"{known.damaged} damaged lines in readings.jsonl: their cases are read again")
    return notes
