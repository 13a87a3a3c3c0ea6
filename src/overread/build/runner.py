"""The runner: items go through the steps of a recipe, and every decision is in the ledger.

Whatever stops it, the same call goes on where it was: a decision is known by the hash of all that
it rests on, and a model's answer by that of the question.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path
from typing import Any

from overread.build.adjudication.final_verdicts import final_verdicts
from overread.build.build_run import BuildRun
from overread.build.ledger.store import Ledger
from overread.build.plan import BuildOutcome, BuildPlan
from overread.build.reader_pool import ReaderPool, RoleSpec
from overread.build.sources import check_build_folder
from overread.build.step import Recipe
from overread.errors import UsageError
from overread.runs.failures import refuse_running_loop
from overread.runs.signals import stop_on_signal
from overread.runs.tally import Watch


def run_build(
    recipe: str | Recipe,
    source: str | Path,
    out: str | Path,
    *,
    watch: Watch | None = None,
    dry_run: bool = False,
    **more: Any,
) -> BuildOutcome:
    """Build, and wait for it; Ctrl-C stops it and keeps what is done.

    `more` are the other fields of a `BuildPlan`: readers, settings, seed, limit, preview, steps …
    With `dry_run` nobody is asked and nothing is written: the outcome says what it would take.
    """
    plan = BuildPlan(recipe, Path(source), **more)
    refuse_running_loop("build_async(…)")
    return asyncio.run(build_async(plan, out, watch=watch, dry_run=dry_run, signals=True))


async def build_async(
    plan: BuildPlan,
    out: str | Path,
    *,
    watch: Watch | None = None,
    dry_run: bool = False,
    signals: bool = False,
) -> BuildOutcome:
    """Build; with `signals`, Ctrl-C and SIGTERM end it and the outcome says so."""
    folder = Path(out)
    recipe = plan.find_recipe()
    if not plan.source.exists():
        raise UsageError(f"there is no source {plan.source}", remedy="give its folder")
    staff = ReaderPool(plan.readers)
    aside: str | None = None
    try:
        check_build_folder(folder)
        if dry_run:
            aside = tempfile.mkdtemp(prefix="overread-dry-run-")
        if staff.interactive:
            watch = None  # a bar would be in the way of who talks to the terminal
        with Ledger(folder, forgetful=dry_run) as ledger:
            verdicts = final_verdicts(folder)
            build = BuildRun(plan, recipe, staff, ledger, Path(aside or folder), verdicts, watch, dry=dry_run)
            with stop_on_signal(enabled=signals) as stop:
                try:
                    await build.run()
                except asyncio.CancelledError:
                    if stop.signal is None:
                        raise
                    build.outcome.stopped = stop.signal
                finally:
                    build.finish()
            build.outcome.folder = folder
            return build.outcome
    finally:
        if aside is not None:
            shutil.rmtree(aside, ignore_errors=True)
        await staff.close()


__all__ = ["BuildOutcome", "BuildPlan", "RoleSpec", "build_async", "run_build"]
