"""The evidence audit: does an answer depend on the regions its reader cites?

Each case of a run is asked again: unchanged, with the cited regions hidden, with other regions of
the same size hidden, with the cited regions taken from another patient, and with only the cited
regions shown. Each of these arms is a run in `RUN/audit/<arm>/`, so that it can be stopped and
resumed, and asks nothing twice.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from overread.core import Case, Mask, Reading, ReleaseRef
from overread.metrics.statistics import cluster_key
from overread.runs.audit.arms import ARMS
from overread.runs.audit.records import Audit, AuditPlan
from overread.runs.audit.setup import AuditSetup
from overread.runs.audit.shares import AuditShares, compute_shares
from overread.runs.audit.shifts import AnswerShift, measure_shifts, same_words
from overread.runs.audit.store import write_plans, write_result
from overread.runs.engine import run_async
from overread.runs.estimate import Estimate, estimate
from overread.runs.failures import refuse_running_loop
from overread.runs.store import last_readings
from overread.runs.tally import Watch
from overread.runs.workers import run_in_workers

WatchFactory = Callable[[str], AbstractContextManager[Watch | None]]
"""Gives what watches an arm while it is read."""


def audit(plan: AuditPlan, *, watching: WatchFactory | None = None) -> Audit:
    """Ask every case of a run again in every arm, and say how far its answers moved."""
    refuse_running_loop("asyncio.to_thread(audit, plan)")
    setup = AuditSetup(plan)
    try:
        found = setup.prepare()
        write_plans(setup.folder, plan.seed, setup.plans.values())
    except BaseException:
        asyncio.run(setup.reader.close())
        raise
    asyncio.run(_run_arms(setup, found, watching or (lambda _: nullcontext())))
    if found.stopped is None:
        _measure_shifts(setup, found)
        write_result(setup.folder, found.as_dict())
    return found


def estimate_audit(plan: AuditPlan) -> tuple[Audit, dict[str, Estimate]]:
    """What an audit would take, arm by arm; nobody is asked and nothing is written."""
    refuse_running_loop("asyncio.to_thread(audit, plan)")
    setup = AuditSetup(plan)
    try:
        found = setup.prepare()
        arms = {arm: setup.arm_plan(arm, found.audited) for arm in setup.arms}
        return found, {arm: estimate(own, setup.folder / arm) for arm, own in arms.items() if own.cases}
    finally:
        asyncio.run(setup.reader.close())


async def _run_arms(setup: AuditSetup, found: Audit, watching: WatchFactory) -> None:
    """Run every arm, one after the other, and close the reader at the end."""
    signals = threading.current_thread() is threading.main_thread()
    try:
        for arm in setup.arms:
            own = setup.arm_plan(arm, found.audited)
            if not own.cases:
                continue
            with watching(arm) as watch:
                outcome = await run_async(own, setup.folder / arm, watch=watch, signals=signals)
            found.outcomes[arm] = outcome
            if outcome.stopped is not None:
                found.stopped = outcome.stopped
                return
    finally:
        await setup.reader.close()


# ---- weighing ------------------------------------------------------------------------------


def _measure_shifts(setup: AuditSetup, found: Audit) -> None:
    """Compute how far each answer shifted in each arm, and the shares over all answers."""
    jobs: list[tuple[Any, ...]] = []
    same: set[str] = set()
    for arm in found.outcomes:
        after = {case: r for (case, _), r in last_readings(setup.folder / arm).items()}
        for case_id in found.audited:
            if case_id not in after:
                continue
            before = setup.readings[case_id]
            if arm == "null" and same_words(before, after[case_id]):
                same.add(case_id)
            slim = [_strip_log(reading) for reading in (before, after[case_id])]
            folders = (setup.plan.run.resolve(), (setup.folder / arm).resolve())
            blank = not any(isinstance(r, Mask) for r in setup.plans[case_id].cited)
            case, place = setup.cases[case_id], setup.base.release_ref
            jobs.append(((arm, case_id), case, *slim, folders, place, blank))
    found.shifts = {arm: {} for arm in found.outcomes}
    for done in run_in_workers(_shift_job, jobs, setup.workers_for(job[1] for job in jobs)):
        if done.error is not None:
            raise done.error
        arm, case_id = done.key
        for query, move in done.result.items():
            found.shifts[arm][case_id, query] = move
    moved = {case for (case, _), move in found.shifts.get("null", {}).items() if move.far > 0}
    found.null_equal = len(same - moved)
    clusters = {
        key: cluster_key(key[0], setup.cases[key[0]].patient) for own in found.shifts.values() for key in own
    }

    def shares_of(*, uncited: bool) -> AuditShares | None:
        mine = {
            arm: {key: move for key, move in own.items() if uncited == setup.plans[key[0]].uncited}
            for arm, own in found.shifts.items()
        }
        mine = {arm: own for arm, own in mine.items() if own}
        drawing = {"draws": setup.plan.draws, "seed": setup.plan.seed}
        return compute_shares(mine, clusters, level=setup.plan.level, **drawing) if mine else None

    found.shares, found.shares_uncited = shares_of(uncited=False), shares_of(uncited=True)


def _strip_log(reading: Reading) -> Reading:
    """A reading without its log, for another process."""
    return reading.model_copy(update={"exchanges": (), "trace": None})


def _shift_job(
    key: tuple[str, str],
    case: Case,
    before: Reading,
    after: Reading,
    folders: tuple[Path, Path],
    place: ReleaseRef,
    blank: bool,  # noqa: FBT001 (workers are handed jobs by place)
) -> dict[str, AnswerShift]:
    shape = None
    if case.queries:
        shape = place.open().pictures.geometry(case.pictures[0]).shape
    return measure_shifts(case, before, after, folders, shape, blank=blank)


__all__ = ["ARMS", "Audit", "AuditPlan", "audit", "estimate_audit"]
