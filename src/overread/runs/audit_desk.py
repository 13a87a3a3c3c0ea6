"""Getting an audit ready: the run, its release and its reader, and what is done with each case."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from pydantic import JsonValue, TypeAdapter

from overread import catalog
from overread.core import Case, Reader, Reading
from overread.errors import UsageError
from overread.runs.audit_arms import ARMS, CasePlan, Donors, plan_job
from overread.runs.audit_citing import Regions, cited_regions
from overread.runs.audit_moves import rule_of
from overread.runs.audit_record import Audit, AuditPlan
from overread.runs.audit_store import read_plans, refuse_changed
from overread.runs.engine import Plan, prepared, presenter_of
from overread.runs.reading_room import Workflow
from overread.runs.spec import RunSpec, agreed, read_spec
from overread.runs.store import last_readings
from overread.runs.workers import in_workers
from overread.session import SessionSettings

Levels = tuple[Regions, ...]
SAMPLE = 1
"""The number of the reading that every arm asks for; the one that is audited has 0."""
_ENOUGH = 200_000_000
"""Voxels from which on workers are worth starting."""
_USUAL = (512, 512, 300)
"""The shape of a CT of which the release tells none."""


class _Lent:
    """A reader that several runs use one after the other: none of them sends it home."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)

    async def close(self) -> None:
        """Not yet."""


class Desk:
    """The run that is audited, its release, and its reader, made once for all arms."""

    def __init__(self, plan: AuditPlan) -> None:
        self.plan = plan
        self.spec = read_spec(plan.run)
        if self.spec.purpose:
            raise UsageError("this run is an arm of an audit itself", where=str(plan.run))
        self.readings = {
            case: reading
            for (case, sample), reading in last_readings(plan.run).items()
            if sample == 0
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
        self.reader, self.release, self._now = prepared(self.base)

    def ready(self) -> Audit:
        """Which cases are audited, and what is done with each; refuses what cannot be asked."""
        self._refuse()
        found = Audit(
            self.folder, self.spec, 0, audited=[], uncited=[], failed=[], refused={},
            without={arm: {} for arm in self.arms if arm != "null"}, cited={}, rules=[],
        )  # fmt: skip
        known = read_plans(self.folder, self.plan.seed)
        self.plans = dict(known)
        todo: dict[str, tuple[Case, Levels]] = {}
        for case, reading in self._in_order():
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
                    refuse_changed(known[case.id], levels, self.folder)
        self._plan_cases({case: one for case, one in todo.items() if case not in known})
        for case_id in todo:
            self._sort(found, self.plans[case_id])
        return found

    def _refuse(self) -> None:
        """Refuse a reader that cannot be asked again, or that is another by now."""
        if getattr(self.reader, "unseeing", False):
            raise UsageError(
                f"the reader '{self.spec.reader.name}' hands in what is written already and looks "
                "at no picture: it cannot be asked again",
                where=str(self.plan.run),
                remedy="audit the run of the model itself",
            )
        moved = {"root": self._now.root, "pictures": self._now.pictures}
        agreed(self.spec.model_copy(update=moved), self._now, folder=self.plan.run)

    def _in_order(self) -> Iterator[tuple[Case, Reading]]:
        """Cases with a reading, in the release's order, with those pictures that are shown."""
        presenter = presenter_of(self.base, self.reader, self.release)
        for case in self.release:
            if case.id in self.readings:
                yield presenter.present(case, 0).case, self.readings[case.id]

    def _plan_cases(self, todo: Mapping[str, tuple[Case, Levels]]) -> None:
        if not todo:
            return
        donors = Donors(self.release)
        seed, folder, place = self.plan.seed, self.plan.run.resolve(), self.base.place
        jobs = []
        for case, levels in todo.values():
            theirs = donors.chosen(case, seed)
            jobs.append((case.id, case, levels, place, folder, theirs, seed))
        for done in in_workers(plan_job, jobs, self.workers_for(case for case, _ in todo.values())):
            if done.error is not None:
                raise done.error
            self.plans[done.key] = done.result

    def workers_for(self, cases: Iterable[Case]) -> int:
        """How many processes are worth starting for so many cases."""
        shapes = [p.shape or _USUAL for case in cases for p in case.pictures if p.kind == "volume"]
        if sum(map(math.prod, shapes)) < _ENOUGH:
            return 1
        return min(self.plan.workers or os.cpu_count() or 1, len(shapes))

    def _sort(self, found: Audit, own: CasePlan) -> None:
        if own.refused is not None:
            found.refused[own.case] = own.refused
            return
        found.audited.append(own.case)
        rule = rule_of(self.cases[own.case])
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

    def arm_plan(self, arm: str, audited: Sequence[str]) -> Plan:
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
            reader=cast(Reader, _Lent(self.reader)),
            limit=None,
            cases=tuple(cases),
            repeat=1,
            first_sample=SAMPLE,
            retry_failed=self.plan.retry_failed,
            edits={} if arm == "null" else edits,
            purpose=purpose,
        )


def _base_plan(plan: AuditPlan, spec: RunSpec) -> Plan:
    """The plan of the run itself, as its spec tells it."""
    place = spec.place_now(plan.root, plan.pictures)
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
                f"the {what} '{name}' has no name in the catalog and cannot be asked again",
                where=str(plan.run),
                remedy=f"from Python: AuditPlan(…, {what}=…)",
            )
    return Plan(
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
    )
