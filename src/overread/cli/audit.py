"""`overread audit`: does an answer rest on what its reader says it saw?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from overread.cli.arguments import (
    AllowRemote,
    AsJson,
    Cache,
    Concurrency,
    Draws,
    DryRun,
    GiveUp,
    Level,
    MaxRetries,
    MaxWait,
    NewRoot,
    NoCache,
    Pictures,
    PriceIn,
    PriceList,
    PriceOut,
    ReaderArgs,
    RetryFailed,
    Workers,
    parse_duration,
    reader_arguments,
    refuse_two_caches,
)
from overread.cli.numbers import format_interval, format_money

if TYPE_CHECKING:
    from overread.metrics.statistics import Difference
    from overread.runs.audit.runner import Audit
    from overread.runs.audit.shares import AuditShares
    from overread.runs.estimate import Estimate

_MAX_NAMED = 5


def audit(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder that `overread run --out` wrote.")],
    arms: Annotated[
        str,
        typer.Option(help="Which of hidden, other, swapped, only, with commas; the null is always asked."),
    ] = "hidden,other,swapped,only",
    limit: Annotated[
        int | None, typer.Option(help="Only the first readings that cite something.", min=1)
    ] = None,
    seed: Annotated[
        int, typer.Option(help="Random seed of other regions, other patients and bootstrap draws.", min=0)
    ] = 0,
    reader_arg: ReaderArgs = None,
    allow_remote: AllowRemote = False,
    root: NewRoot = None,
    pictures: Pictures = None,
    concurrency: Concurrency = 16,
    cache: Cache = None,
    no_cache: NoCache = False,
    prices: PriceList = None,
    price_in: PriceIn = None,
    price_out: PriceOut = None,
    max_retries: MaxRetries = 5,
    max_wait: MaxWait = "10m",
    give_up: GiveUp = None,
    retry_failed: RetryFailed = False,
    draws: Draws = 1000,
    level: Level = 0.95,
    workers: Workers = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Ask again with the cited regions hidden, and see whether the answers move.

    Each reading is asked for again unchanged (the null), with the regions that it cites hidden,
    with as large other regions hidden, with another patient's in their place, and with nothing
    else shown. The same command again goes on where it was stopped. docs/audit.md tells what this
    shows and what it cannot.
    """
    from overread.cli.run import parse_prices
    from overread.cli.run_output import live_progress
    from overread.runs.audit.runner import AuditPlan, estimate_audit
    from overread.runs.audit.runner import audit as audit_all

    refuse_two_caches(cache, no_cache=no_cache)
    plan = AuditPlan(
        run=run,
        arms=tuple(arm.strip() for arm in arms.split(",") if arm.strip()),
        limit=limit,
        seed=seed,
        root=root,
        pictures=pictures,
        arguments=reader_arguments(reader_arg, allow_remote=allow_remote),
        cache=cache,
        use_cache=not no_cache,
        prices=parse_prices(prices, price_in, price_out),
        concurrency=concurrency,
        max_retries=max_retries,
        max_wait=parse_duration(max_wait, "--max-wait"),
        give_up=give_up,
        retry_failed=retry_failed,
        draws=draws,
        level=level,
        workers=workers,
    )
    if dry_run:
        _print_estimates(*estimate_audit(plan), as_json=as_json)
        return
    found = audit_all(plan, watching=lambda arm: live_progress(f"audit: {arm}", quiet=as_json))
    if found.stopped is not None:
        from overread.cli.console import stderr_console

        stderr_console().print("stopped; progress is saved: resume with the same command")
        raise typer.Exit(128 + found.stopped)
    _print_audit(found, as_json=as_json)


# ---- what is printed -----------------------------------------------------------------------


def _print_audit(found: Audit, *, as_json: bool) -> None:
    from overread.cli.console import print_json, safe, stdout_console

    if as_json:
        print_json(found.as_dict())
        return
    console = stdout_console()
    _print_header(found)
    if found.shares is not None:
        console.print()
        _print_arms(found.shares)
        _print_shares(found.shares)
    if found.shares_uncited is not None:
        console.print()
        console.print(
            f"[bold]{len(found.uncited):,} readings that cite nothing[/], with all their pictures "
            f"hidden: {_format_cases(found.uncited)}"
        )
        _print_arms(found.shares_uncited)
    console.print()
    _print_notes(found)
    told = f"files: {safe(str(found.folder))}/audit.json, edits.jsonl, one run an arm"
    console.print(told, soft_wrap=True)


def _print_header(found: Audit) -> None:
    from overread.cli.console import safe, stdout_console

    console = stdout_console()
    spec = found.spec
    console.print(
        f"[bold]{safe(str(found.folder.parent))}[/]: {safe(spec.reader.name)} on "
        f"{safe(spec.benchmark)} {safe(spec.split)}, {len(found.audited):,} of "
        f"{found.readings:,} readings audited",
        soft_wrap=True,
    )
    if found.cited:
        names = {"box": "boxes", "mask": "masks", "slices": "slice ranges", "whole": "pictures"}
        counts = ", ".join(f"{names[kind]} {n:,}" for kind, n in sorted(found.cited.items()))
        console.print(f"  cited: {counts}")
    for why, cases in (("cite nothing", found.uncited), ("had failed", found.failed)):
        if cases:
            console.print(f"  {len(cases):,} {why}: {_format_cases(cases)}")
    for case, why in list(found.refused.items())[:_MAX_NAMED]:
        console.print(f"  not audited: {safe(case)}: {safe(why)}")
    if len(found.refused) > _MAX_NAMED:
        console.print(f"  … {len(found.refused) - _MAX_NAMED:,} more not audited")
    for arm, cases_why in found.without.items():
        for why in dict.fromkeys(cases_why.values()):
            own = [case for case, told in cases_why.items() if told == why]
            console.print(f"  without '{arm}', since {safe(why)}: {_format_cases(own)}")


def _print_arms(shares: AuditShares) -> None:
    from rich.table import Table

    from overread.cli.console import stdout_console

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("arm", "answers", "moved", "beyond the null", "how far", "beyond the null"):
        table.add_column(title, overflow="fold")
    for arm, own in shares.arms.items():
        table.add_row(
            arm,
            f"{own.moved.n:,}",
            format_interval(own.moved),
            _format_difference(own.moved_beyond),
            format_interval(own.far),
            _format_difference(own.far_beyond),
        )
    stdout_console().print(table)


def _print_shares(shares: AuditShares) -> None:
    from overread.cli.console import stdout_console

    console = stdout_console()
    console.print()
    apart = (shares.cited_over_other_moved, shares.cited_over_other_far)
    if apart[0] is not None:
        console.print(f"cited hidden minus other hidden: moved {_format_difference(apart[0])}")
        console.print(f"                                 how far {_format_difference(apart[1])}")
    if shares.rests is not None:
        console.print(
            f"[bold]answers that rest on the cited evidence: {format_interval(shares.rests)}[/] "
            f"of {shares.rests.n:,}"
        )
    elif shares.rests_on_shown is not None:
        console.print(
            "nothing was left to compare with, so that no answer can be said to rest on what it cites"
        )
    if shares.rests_on_shown is not None:
        moved = shares.rests_on_shown
        console.print(
            f"answers that hiding it moves, beyond the null: {format_interval(moved)} of {moved.n:,}"
        )


def _print_notes(found: Audit) -> None:
    from overread.cli.console import safe, stdout_console

    console = stdout_console()
    if "null" in found.outcomes and found.null_equal == len(found.audited):
        console.print("asked again unchanged, every reading is the same, word for word")
    for rule in found.rules:
        console.print(f"what moved is: {safe(rule)}")
    for arm, outcome in found.outcomes.items():
        failed = outcome.tally.failed + outcome.tally.failed_before
        if failed:
            console.print(f"{failed:,} failed in '{arm}', which counts as moved; try --retry-failed")
        for case, why in outcome.tally.reasons[:2]:
            console.print(f"  {safe(case)}: {safe(why)}")


def _format_cases(cases: list[str]) -> str:
    from overread.cli.console import safe

    more = f" and {len(cases) - _MAX_NAMED:,} more" if len(cases) > _MAX_NAMED else ""
    return safe(", ".join(cases[:_MAX_NAMED])) + more


def _format_difference(found: Difference | None) -> str:
    return "" if found is None else format_interval(found.difference, sign="+")


def _print_estimates(found: Audit, arms: dict[str, Estimate], *, as_json: bool) -> None:
    from dataclasses import asdict

    from rich.table import Table

    from overread.cli.console import print_json, stdout_console

    if as_json:
        told: dict[str, Any] = {arm: asdict(own) for arm, own in arms.items()}
        print_json({"audited": len(found.audited), "uncited": found.uncited, "arms": told})
        return
    console = stdout_console()
    _print_header(found)
    console.print()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("arm", "readings", "calls", "known", "pictures", "tokens read", "cost"):
        table.add_column(title, overflow="fold")
    for arm, own in arms.items():
        least = "≥ " if own.at_least else ""
        cost = "" if own.cost is None else f"{least}{format_money(own.cost, own.currency)}"
        table.add_row(
            arm,
            f"{own.readings:,}",
            f"{least}{own.calls:,}",
            f"{own.cached:,}",
            f"{least}{own.pictures:,}",
            f"{least}{own.input_tokens:,}",
            cost,
        )
    console.print(table)
    calls = sum(own.calls for own in arms.values())
    costs = [own.cost for own in arms.values() if own.cost is not None]
    currency = next((own.currency for own in arms.values() if own.currency), "")
    price = f", {format_money(sum(costs), currency)} for what is read" if costs else ""
    console.print(f"together {calls:,} questions{price}; nothing was asked")
