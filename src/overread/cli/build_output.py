"""Terminal output of `overread build`: counts per step, costs, next commands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from overread.cli.console import print_json, safe, stdout_console
from overread.cli.numbers import format_money
from overread.cli.run_output import print_failures

if TYPE_CHECKING:
    from rich.console import Console

    from overread.build.ledger.store import LedgerEntry
    from overread.build.plan import BuildOutcome


def build_json(outcome: BuildOutcome) -> dict[str, Any]:
    """What became of a build, as plain JSON."""
    spent = outcome.tally.spent
    return {
        "build": str(outcome.folder),
        "recipe": outcome.recipe,
        "dry_run": outcome.dry,
        "complete": outcome.complete,
        "left": len(outcome.items),
        "waiting": outcome.waiting,
        "failed": outcome.failed,
        "release": str(outcome.release) if outcome.release else None,
        "written": outcome.written,
        "problem": outcome.problem,
        "steps": [
            {
                "step": step.name,
                "came": step.came,
                "kept": step.kept,
                "dropped": dict(step.dropped),
                "waiting": step.waiting,
                "failed": dict(step.failed),
                "known": step.known,
                "undone": step.undone,
                **(
                    {"would_ask": step.asking, "calls": step.calls, "tokens": step.tokens}
                    if outcome.dry
                    else {}
                ),
            }
            for step in outcome.steps
        ],
        "defects": [defect.model_dump(mode="json") for defect in outcome.defects],
        "previews": [
            {
                "source": one.source.model_dump(mode="json"),
                "decisions": [entry.model_dump(mode="json") for entry in one.entries],
            }
            for one in outcome.previews
        ],
        "reasons": [{"case": case, "why": why} for case, why in outcome.tally.reasons],
        "bugs": [{"what": b.what, "case": b.case, "count": b.count} for b in outcome.tally.bugs.values()],
        "calls": spent.calls,
        "retries": spent.retries,
        "known": spent.cached,
        "input_tokens": spent.input_tokens,
        "output_tokens": spent.output_tokens,
        "pictures": spent.pictures,
        "cost": spent.cost,
        "currency": spent.currency or None,
        "seconds": round(outcome.tally.seconds, 3),
    }


def print_build(outcome: BuildOutcome, *, as_json: bool) -> None:
    """What became of the items, what it cost, and what to do next."""
    if as_json:
        print_json(build_json(outcome))
        return
    console = stdout_console()
    for one in outcome.previews:
        console.print(f"[bold]{safe(one.source.id)}[/]")
        for entry in one.entries:
            print_decision(console, entry)
        console.print()
    state = "complete" if outcome.complete else "not complete; what is done is kept"
    if outcome.stopped is not None:
        state = "stopped; what is done is kept"
    if outcome.dry:
        state = "what this would take"
    elif outcome.previews:
        state = f"a preview of {len(outcome.previews)}; nothing is released"
    console.print(f"[bold]{safe(str(outcome.folder))}[/]: {state}", soft_wrap=True)
    _print_steps(console, outcome)
    _print_notes(console, outcome)
    if outcome.dry:
        _print_estimate(console, outcome)
        return
    _print_spending(console, outcome)
    _print_next(console, outcome)


def _print_steps(console: Console, outcome: BuildOutcome) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 2))
    for column in ("step", "came", "kept", "dropped", "waiting", "failed"):
        right = "left" if column in ("step", "dropped", "failed") else "right"
        table.add_column(column, justify=right, overflow="fold")  # type: ignore[arg-type]
    for name in ("would ask",) if outcome.dry else ("from cache",):
        table.add_column(name, justify="right")
    for step in outcome.steps:
        table.add_row(
            safe(step.name),
            f"{step.came:,}",
            f"{step.kept:,}",
            format_reasons(step.dropped),
            f"{step.waiting:,}" if step.waiting else "",
            format_reasons(step.failed),
            f"{step.asking:,}" if outcome.dry else f"{step.known:,}",
        )
    console.print(table)


def format_reasons(counts: dict[str, int]) -> str:
    """Counts by reason in one cell, the most frequent first.

    >>> format_reasons({"too-short": 2, "leaks": 5})
    '5 leaks, 2 too-short'
    """
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return ", ".join(f"{count:,} {safe(reason)}" for reason, count in ordered)


def _print_notes(console: Console, outcome: BuildOutcome) -> None:
    undone = sum(step.undone for step in outcome.steps)
    if undone and not outcome.dry:
        console.print(f"  not done: {undone:,} decisions, of steps that were skipped or follow a skipped one")
    if outcome.defects:
        console.print(f"  source: {len(outcome.defects):,} rows make no item, or none of their own")
        for defect in outcome.defects[:5]:
            console.print(f"    {safe(str(defect))}")
    print_failures(console, outcome.tally, outcome.failed, "item")
    if outcome.problem is not None:
        console.print(f"  no release: {safe(outcome.problem)}")


def _print_estimate(console: Console, outcome: BuildOutcome) -> None:
    from overread.runs.estimate import RULE

    calls = sum(step.calls for step in outcome.steps)
    tokens = sum(step.tokens for step in outcome.steps)
    least = "at least " if calls else ""
    console.print(f"  calls           {least}{calls:,}, and {outcome.tally.spent.cached:,} known")
    console.print(f"  tokens read     {least}{tokens:,} ({RULE})")
    if outcome.cost is not None:
        money = format_money(outcome.cost, outcome.tally.spent.currency)
        console.print(f"  cost            {least}{money} for what is read; answers come on top")
    if calls:
        console.print("  steps after an answer that is not cached yet are not counted")


def _print_spending(console: Console, outcome: BuildOutcome) -> None:
    spent = outcome.tally.spent
    if spent.calls or spent.cached:
        again = f", {spent.retries:,} of them repeated" if spent.retries else ""
        console.print(f"  calls           {spent.calls:,}{again}; {spent.cached:,} from cache")
        console.print(f"  tokens          {spent.input_tokens:,} read, {spent.output_tokens:,} written")
    if spent.cost is not None:
        console.print(f"  cost            {format_money(spent.cost, spent.currency)}")
    console.print(f"  seconds         {outcome.tally.seconds:,.1f}")


def _print_next(console: Console, outcome: BuildOutcome) -> None:
    folder = safe(str(outcome.folder))
    if outcome.release is not None:
        state = "written" if outcome.written else "unchanged"
        console.print(
            f"release {state}: {safe(str(outcome.release))} ({len(outcome.items):,} items)", soft_wrap=True
        )
    if outcome.waiting:
        console.print(f"{outcome.waiting:,} wait for people: overread adjudicate {folder}")
    if outcome.failed:
        console.print("retry the failed ones: the same command with --retry-failed")
    if outcome.stopped is not None:
        console.print("resume with the same command")
    elif not outcome.previews:
        console.print(f"history of each case: overread ledger {folder} [CASE]", soft_wrap=True)


# ---- one decision --------------------------------------------------------------------------


def print_decision(console: Console, entry: LedgerEntry, note: str = "") -> None:
    """What a step decided on an item, and everything that it changed."""
    from overread.build.ledger.questions import list_consulted

    because = f" ({safe(entry.reason)})" if entry.reason else ""
    by = f" by {safe(entry.by)}" if entry.by else ""
    console.print(f"  [bold]{safe(entry.step)}[/]: {entry.outcome}{because}{by}{note}")
    if entry.why:
        console.print(f"    {safe(entry.why)}")
    for change in entry.changes:
        why = f": {safe(change.why)}" if change.why else ""
        arrow = f": {_format_value(change.before)} → {_format_value(change.after)}"
        if change.before == change.after:  # a note: found and left as it was, or on nothing at all
            arrow = "" if change.before is None else f": {_format_value(change.before)}"
        console.print(f"    {safe(change.what)}{arrow}, by {safe(change.by)}{why}")
    if entry.outcome == "kept" and entry.data and not entry.changes:
        console.print(f"    new: {', '.join(safe(name) for name in entry.data)}")
    for question, verdict, corrected in list_consulted(entry.verdicts):
        instead = f", in its place {safe(corrected)}" if corrected else ""
        console.print(f"    people on {safe(question)}: {safe(verdict or 'not yet')}{instead}")


def _format_value(value: Any) -> str:
    if value is None:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False)
    return safe(text if len(text) <= 160 else f"{text[:159]}…")
