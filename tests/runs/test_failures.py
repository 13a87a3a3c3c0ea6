"""Tasks side by side: one error ends them, and nothing waits inside of a running loop."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from overread.errors import ReaderError, UsageError
from overread.runs.audit.runner import AuditPlan, audit
from overread.runs.failures import run_tasks
from overread.runs.judging.runner import JudgePlan, judge


def test_the_first_error_ends_the_others_and_is_raised() -> None:
    """By itself, not as a group; what was under way is cancelled."""
    seen: list[str] = []

    async def waits() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    async def fails() -> None:
        raise ReaderError("it would not")

    with pytest.raises(ReaderError, match="it would not"):
        asyncio.run(run_tasks([waits(), fails(), waits()]))
    assert seen == ["cancelled", "cancelled"]


def test_in_a_running_loop_one_sentence_says_what_to_do(tmp_path: Path) -> None:
    """As in a notebook; judging too, which raised Python's own error there."""

    async def in_a_loop() -> None:
        with pytest.raises(UsageError, match=r"use `await judge_async\(…\)`"):
            judge(JudgePlan(tmp_path, "steps", "longest"))
        with pytest.raises(UsageError, match=r"use `await asyncio.to_thread\(audit, plan\)`"):
            audit(AuditPlan(tmp_path))

    asyncio.run(in_a_loop())
