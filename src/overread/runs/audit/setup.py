"""Getting an audit ready: the run, its release and its reader, and what is done with each case."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from pydantic import JsonValue, TypeAdapter

from overread import catalog
from overread.core import Case, Reader, Reading, WrappedReader
from overread.errors import UsageError
from overread.runs.audit.arms import ARMS, CasePlan, Donors, plan_job
from overread.runs.audit.citations import Regions, cited_regions
from overread.runs.audit.records import Audit, AuditPlan
from overread.runs.audit.shifts import describe_rule
from overread.runs.audit.store import read_plans, refuse_changed_citations
from overread.runs.case_runner import Workflow
from overread.runs.engine import RunPlan, make_presenter, prepare_run
from overread.runs.spec import ARM_SAMPLE, RunSpec, read_spec, reconcile_specs
from overread.runs.store import last_readings
from overread.runs.workers import run_in_workers
from overread.session import SessionSettings

Levels = tuple[Regions, ...]
_MIN_WORKER_VOXELS = 200_000_000
"""Voxels from which on workers are worth starting."""
_USUAL_SHAPE = (512, 512, 300)
"""The shape of a CT of which the release tells none."""


class _SharedReader(WrappedReader):
    """A reader shared by the runs of all arms: no arm closes it for the next."""

    async def close(self) -> None:
        """Does nothing: the audit closes the reader after the last arm."""


class AuditSetup:
    """The run that is audited, its release, and its reader, made once for all arms."""

    def __init__(self, plan: AuditPlan) -> None:
        self.plan = plan
        self.spec = read_spec(plan.run)
        if self.spec.purpose:
            raise UsageError("this run is an arm of an audit itself", where=str(plan.run))
        self.readings = {
            case: reading for (case, sample), reading in last_readings(plan.run).items() if sample == 0
        }
        if not self.readings:
            raise UsageError(
                "this run has no readings to audit",
                where=str(plan.run),
                remedy="run it first: overread run …",
            )
        self.arms = tuple(arm for arm in ARMS if arm == "null" or arm in plan.arms)
        self.folder = plan.run / "audit"
        self.plans: dict[str, CasePlan] = {}
        self.cases: dict[str, Case] = {}
        self.base = _base_plan(plan, self.spec)
        self.reader, self.release, self._current_spec = prepare_run(self.base)

    def prepare(self) -> Audit:
        """Decide which cases are audited and what is edited in each; refuses readers that cannot be
        asked again.
        """
        self._refuse_reader()
        found = Audit(
            self.folder, self.spec, 0, audited=[], uncited=[], failed=[], refused={},
            without={arm: {} for arm in self.arms if arm != "null"}, cited={}, rules=[],
        )  # fmt: skip
        known = read_plans(self.folder, self.plan.seed)
        self.plans = dict(known)
        todo: dict[str, tuple[Case, Levels]] = {}
        for case, reading in self._iter_readings():
            if self.plan.limit is not None and len(todo) >= self.plan.limit:
                break
            found.readings += 1
            levels = cited_regions(case, reading)
            if reading.error is not None:
                found.failed.append(case.id)
            else:
                self.cases[case.id] = case
                todo[case.id] = (case, levels)
                if case.id in known:
                    refuse_changed_citations(known[case.id], levels, self.folder)
        self._plan_cases({case: one for case, one in todo.items() if case not in known})
        for case_id in todo:
            self._record_case(found, self.plans[case_id])
        return found

    def _refuse_reader(self) -> None:
        """Refuse a reader that cannot be asked again, or that is another by now."""
        if self.reader.ignores_pictures:
            raise UsageError(
                f"the reader '{self.spec.reader.name}' hands in what is written already and looks "
                "at no picture: it cannot be asked again",
                where=str(self.plan.run),
                remedy="audit the run of the model itself",
            )
        moved = {"root": self._current_spec.root, "pictures": self._current_spec.pictures}
        reconcile_specs(self.spec.model_copy(update=moved), self._current_spec, folder=self.plan.run)

    def _iter_readings(self) -> Iterator[tuple[Case, Reading]]:
        """Cases with a reading, in the release's order, with those pictures that are shown."""
        presenter = make_presenter(self.base, self.reader, self.release)
        for case in self.release:
            if case.id in self.readings:
                yield presenter.present(case, 0).case, self.readings[case.id]

    def _plan_cases(self, todo: Mapping[str, tuple[Case, Levels]]) -> None:
        if not todo:
            return
        donors = Donors(self.release)
        seed, folder, place = self.plan.seed, self.plan.run.resolve(), self.base.release_ref
        jobs = []
        for case, levels in todo.values():
            theirs = donors.choose(case, seed)
            jobs.append((case.id, case, levels, place, folder, theirs, seed))
        for done in run_in_workers(plan_job, jobs, self.workers_for(case for case, _ in todo.values())):
            if done.error is not None:
                raise done.error
            self.plans[done.key] = done.result

    def workers_for(self, cases: Iterable[Case]) -> int:
        """How many processes are worth starting for so many cases."""
        shapes = [p.shape or _USUAL_SHAPE for case in cases for p in case.pictures if p.kind == "volume"]
        if sum(map(math.prod, shapes)) < _MIN_WORKER_VOXELS:
            return 1
        return min(self.plan.workers or os.cpu_count() or 1, len(shapes))

    def _record_case(self, found: Audit, own: CasePlan) -> None:
        if own.refused is not None:
            found.refused[own.case] = own.refused
            return
        found.audited.append(own.case)
        rule = describe_rule(self.cases[own.case])
        if rule not in found.rules:
            found.rules.append(rule)
        if own.uncited:
            found.uncited.append(own.case)
            return
        for arm, why in own.without.items():
            if arm in found.without:
                found.without[arm][own.case] = why
        for region in own.cited:
            found.cited[region.kind] = found.cited.get(region.kind, 0) + 1

    def arm_plan(self, arm: str, audited: Sequence[str]) -> RunPlan:
        """The run of one arm."""
        files = str(self.plan.run.resolve())
        edits = {
            case: tuple(edit.model_copy(update={"files": files}) for edit in own.edits[arm])
            for case, own in self.plans.items()
            if arm in own.edits
        }
        begun = self.folder / arm / "spec.json"
        # What was begun is finished: a run may grow and not shrink.
        before = read_spec(begun.parent).cases if begun.exists() else ()
        cases = [case for case in dict.fromkeys((*before, *audited)) if case in edits]
        purpose: dict[str, JsonValue] = {"audit": arm, "is": ARMS[arm], "seed": self.plan.seed}
        return replace(
            self.base,
            reader=_SharedReader(self.reader),
            limit=None,
            cases=tuple(cases),
            repeat=1,
            first_sample=ARM_SAMPLE,
            retry_failed=self.plan.retry_failed,
            edits={} if arm == "null" else edits,
            purpose=purpose,
        )


def _base_plan(plan: AuditPlan, spec: RunSpec) -> RunPlan:
    """The plan of the run itself, as its spec tells it."""
    place = spec.current_release_ref(plan.root, plan.pictures)
    if not place.root.is_dir():
        raise UsageError(
            f"the release of this run is not at {place.root}",
            where=str(plan.run),
            remedy="say where it is now, with --root",
        )
    reader: str | Reader = plan.reader or spec.reader.name
    workflow: str | Workflow = plan.workflow or spec.workflow.name or "direct"
    known = {"reader": catalog.names("readers"), "workflow": catalog.names("workflows")}
    for what, name in (("reader", reader), ("workflow", workflow)):
        if isinstance(name, str) and name not in known[what]:
            raise UsageError(
                f"the {what} '{name}' is not in the catalog, so the audit cannot create it",
                where=str(plan.run),
                remedy=f"from Python: AuditPlan(…, {what}=…)",
            )
    return RunPlan(
        benchmark=spec.benchmark,
        root=place.root,
        reader=reader,
        arguments={**spec.reader.arguments, **plan.arguments},
        workflow=workflow,
        split=spec.split,
        form=spec.form,
        pictures=place.pictures,
        limit=spec.limit,
        cases=spec.cases,
        repeat=spec.repeat,
        concurrency=plan.concurrency,
        seed=spec.seed,
        settings=TypeAdapter(SessionSettings).validate_python(spec.workflow.settings),
        cache=plan.cache,
        use_cache=plan.use_cache,
        prices=plan.prices,
        max_retries=plan.max_retries,
        max_wait=plan.max_wait,
        give_up=plan.give_up,
    )
