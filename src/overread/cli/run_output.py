"""Terminal output of runs: the live progress line, the summary, the estimate."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from overread.cli.console import (
    is_debugging,
    print_json,
    printable,
    safe,
    stderr_console,
    stdout_console,
)
from overread.cli.numbers import format_money

if TYPE_CHECKING:
    from rich.console import Console

    from overread.runs.engine import RunOutcome, RunPlan
    from overread.runs.estimate import Estimate
    from overread.runs.tally import Tally, Watch


_SILENT_SECONDS = 2.0
_NOTE_SECONDS = 30.0


@contextmanager
def live_progress(title: str, *, quiet: bool) -> Iterator[Watch | None]:
    """A live line on stderr while the block runs; where nobody watches, only that it waits is told."""
    if quiet or not sys.stderr.isatty():
        yield _waiting_notes()
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task
    from rich.progress import TextColumn as Text
    from rich.progress import TimeRemainingColumn as Left
    from rich.table import Column
    from rich.text import Text as Line

    latest: list[Tally] = []

    class Told(ProgressColumn):
        """What the tally tells, anew each time it is drawn: a wait is counted down."""

        max_refresh = 0.5

        def render(self, task: Task) -> Line:
            """One line."""
            return Line.from_markup(_format_tally(latest[-1]) if latest else "")

    bar = Progress(
        Text("{task.description}"),
        BarColumn(bar_width=10),
        MofNCompleteColumn(),
        Told(table_column=Column(no_wrap=True, overflow="ellipsis")),
        Left(),
        console=stderr_console(),
        transient=True,
    )
    task = bar.add_task(safe(title), total=None)
    shown = 0.0

    def watch(tally: Tally) -> None:
        nonlocal shown
        latest[:] = [tally]
        now = time.monotonic()
        if not shown:
            bar.start()  # not before: a reader may want the terminal for itself
        elif now - shown < 0.1 and tally.done != tally.total:
            return
        shown = now
        bar.update(task, completed=tally.done, total=tally.total)

    try:
        yield watch
    finally:
        bar.stop()


def _waiting_notes() -> Watch:
    """A watch that writes one line to stderr when questions wait for long, and no more than one in half
    a minute.
    """
    told = -_NOTE_SECONDS

    def watch(tally: Tally) -> None:
        nonlocal told
        now = time.monotonic()
        if now - told < _NOTE_SECONDS or tally.waits.longest() < _SILENT_SECONDS:
            return
        told = now
        sys.stderr.write(f"overread: {printable(tally.waits.describe())}\n")
        sys.stderr.flush()

    return watch


def _format_tally(tally: Tally) -> str:
    waits = tally.waits.describe()
    if waits:
        return f"[yellow]{safe(waits)}[/]"
    spent = tally.spent
    parts = [f"{tally.read / max(tally.seconds, 1e-9):.1f}/s"]
    failed = tally.failed + tally.failed_before
    if failed:
        parts.append(f"[red]{failed} failed[/]")
    if spent.input_tokens or spent.output_tokens:
        parts.append(f"{_format_count(spent.input_tokens + spent.output_tokens)} tokens")
    if spent.cost is not None:
        parts.append(f"cost {format_money(spent.cost, spent.currency)}")
    return ", ".join(parts)


def _format_count(number: int) -> str:
    if number < 10_000:
        return f"{number:,}"
    return f"{number / 1e3:,.0f}k" if number < 10_000_000 else f"{number / 1e6:,.1f}M"


def outcome_json(outcome: RunOutcome) -> dict[str, Any]:
    """What became of a run, as plain JSON."""
    tally, spent = outcome.tally, outcome.tally.spent
    return {
        "run": str(outcome.folder),
        "complete": outcome.complete,
        "readings": tally.done,
        "total": tally.total,
        "read_now": tally.read,
        "failed": tally.failed + tally.failed_before,
        "reasons": [{"case": case, "why": why} for case, why in tally.reasons],
        "bugs": [{"what": b.what, "case": b.case, "count": b.count} for b in tally.bugs.values()],
        "calls": spent.calls,
        "retries": spent.retries,
        "cached": spent.cached,
        "input_tokens": spent.input_tokens,
        "output_tokens": spent.output_tokens,
        "pictures": spent.pictures,
        "cost": spent.cost,
        "saved": spent.saved,
        "currency": spent.currency or None,
        "seconds": round(tally.seconds, 3),
        "notes": outcome.notes,
    }


def print_outcome(outcome: RunOutcome, *, as_json: bool) -> None:
    """What was read, what failed and why, what it cost, and what to do next."""
    if as_json:
        print_json(outcome_json(outcome))
        return
    console = stdout_console()
    tally = outcome.tally
    failed = tally.failed + tally.failed_before
    state = "complete" if outcome.complete else "stopped; what is done is kept"
    if outcome.complete and not tally.read:
        state = "complete; there was nothing left to read"
    console.print(f"[bold]{safe(str(outcome.folder))}[/]: {state}", soft_wrap=True)
    _print_totals(console, outcome, failed)
    print_failures(console, tally, failed, "case")
    for note in outcome.notes:
        console.print(f"  note: {safe(note)}")
    if not outcome.complete:
        console.print("resume with the same command")
        return
    if failed:
        console.print("retry the failed ones: the same command with --retry-failed")
    console.print(f"score it: overread score {safe(str(outcome.folder))}", soft_wrap=True)


def print_failures(console: Console, tally: Tally, failed: int, unit: str) -> None:
    """The first failures, how many more there are, and our own bugs."""
    named = tally.reasons[:5]
    for case, why in named:
        console.print(f"  failed: {safe(case)}: {safe(why)}")
    if failed > len(named):
        console.print(f"  … {failed - len(named):,} more failed")
    for bug in tally.bugs.values():
        console.print(
            f"  bug: {safe(bug.what)} in {bug.count} {unit}(s), first {safe(bug.case)}; --debug shows where"
        )
        if is_debugging(sys.argv):
            sys.stderr.write(bug.trace)


def _print_totals(console: Console, outcome: RunOutcome, failed: int) -> None:
    from rich.table import Table

    tally, spent = outcome.tally, outcome.tally.spent
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 2), show_header=False)
    before = f" ({tally.before:,} were there)" if tally.before else ""
    whole = f" of {tally.total:,}" if tally.total and tally.total != tally.done else ""
    table.add_row("readings", f"{tally.done:,}{whole}{before}")
    table.add_row("failed", f"{failed:,}")
    again = f", {spent.retries:,} of them repeated" if spent.retries else ""
    table.add_row("calls", f"{spent.calls:,}{again}")
    table.add_row("from cache", f"{spent.cached:,}")
    if spent.input_tokens or spent.output_tokens:
        table.add_row("tokens", f"{spent.input_tokens:,} read, {spent.output_tokens:,} written")
    if spent.cost is not None:
        saved = ""
        if spent.saved:
            saved = f" ({format_money(spent.saved, spent.currency)} saved by cached answers)"
        table.add_row("cost", f"{format_money(spent.cost, spent.currency)}{saved}")
    rate = f" ({tally.read / tally.seconds:,.1f} a second)" if tally.read else ""
    table.add_row("seconds", f"{tally.seconds:,.1f}{rate}")
    table.add_row("files", "spec.json, readings.jsonl")
    console.print(table)


def print_estimate(found: Estimate, plan: RunPlan, *, as_json: bool) -> None:
    """What a run would take."""
    from dataclasses import asdict

    from rich.table import Table

    if as_json:
        print_json(asdict(found))
        return
    console = stdout_console()
    console.print(f"[bold]{safe(plan.benchmark)} {safe(plan.split)}[/]: what this would take")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 2), show_header=False)
    before = f" ({found.before:,} are there)" if found.before else ""
    least = "at least " if found.at_least else ""
    table.add_row("readings", f"{found.readings:,}{before}")
    table.add_row("calls", f"{least}{found.calls:,}")
    table.add_row("from cache", f"{found.cached:,}")
    table.add_row("pictures", f"{least}{found.pictures:,}")
    table.add_row("tokens read", f"{least}{found.input_tokens:,} ({found.rule})")
    if found.cost is not None:
        cost = f"{least}{format_money(found.cost, found.currency)}"
        table.add_row("cost", f"{cost} for what is read; answers come on top")
    console.print(table)
    if found.looked_at < found.readings:
        console.print(f"  estimated from the first {found.looked_at:,} readings")
    for case, why in found.failing:
        console.print(f"  will fail: {safe(case)}: {safe(why)}")
