"""A run of a reader and its audit, and what the audit found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from overread.runs.audit.runner import Audit, AuditPlan, audit
from overread.runs.case_runner import Workflow
from overread.runs.engine import RunPlan, run
from overread.session import SessionSettings


def audited(
    reader: Any,
    out: Path,
    root: Path,
    *,
    benchmark: str = "medthinkvqa",
    workflow: Workflow | None = None,
    **more: Any,
) -> Audit:
    """A run of a reader and its audit."""
    settings = more.pop("settings", SessionSettings())
    way: dict[str, Any] = {"workflow": workflow} if workflow else {}
    plan = RunPlan(benchmark, root, reader, settings=settings, use_cache=False, **way)
    assert run(plan, out).tally.failed == 0
    return audit(AuditPlan(out, reader=reader, draws=200, use_cache=False, **way, **more))


def moved(found: Audit) -> dict[str, float | None]:
    """Arm → share of answers that moved."""
    assert found.shares is not None
    return {arm: own.moved.value for arm, own in found.shares.arms.items()}


def rests(found: Audit) -> Any:
    assert found.shares is not None
    return found.shares.rests
