"""`overread run`: a reader reads every case of a benchmark, step by step, and nothing is lost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overread.cli.arguments import (
    AllowRemote,
    AsJson,
    Benchmark,
    Cache,
    Concurrency,
    DryRun,
    Form,
    GiveUp,
    LogTo,
    MaxRetries,
    MaxWait,
    NoCache,
    OnlyCases,
    OnlyFirst,
    Pictures,
    PriceIn,
    PriceList,
    PriceOut,
    ReaderArgs,
    ReaderName,
    Repeat,
    RetryFailed,
    Root,
    RunSeed,
    SessionSetting,
    Split,
    Workflow,
    parse_duration,
    parse_pairs,
    reader_arguments,
    refuse_two_caches,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from overread.runs.requests.prices import Prices


def run(
    benchmark: Benchmark,
    root: Root,
    reader: ReaderName,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="RUN", help="Folder of the run; an existing run is resumed."),
    ],
    reader_arg: ReaderArgs = None,
    workflow: Workflow = "direct",
    split: Split = "test",
    form: Form = None,
    pictures: Pictures = None,
    limit: OnlyFirst = None,
    case: OnlyCases = None,
    repeat: Repeat = 1,
    concurrency: Concurrency = 16,
    seed: RunSeed = 0,
    setting: SessionSetting = None,
    cache: Cache = None,
    no_cache: NoCache = False,
    prices: PriceList = None,
    price_in: PriceIn = None,
    price_out: PriceOut = None,
    max_retries: MaxRetries = 5,
    max_wait: MaxWait = "10m",
    give_up: GiveUp = None,
    retry_failed: RetryFailed = False,
    allow_remote: AllowRemote = False,
    dry_run: DryRun = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit code 1 where any case failed.")] = False,
    log_to: LogTo = None,
    as_json: AsJson = False,
) -> None:
    """Have a reader read every case, and keep every question, answer and look.

    The same command again goes on where it was stopped, whatever stopped it; more cases (--limit)
    and more readings of each (--repeat) may be asked for. What fails is kept as a failed reading
    and scores worst.
    """
    from overread.cli.run_output import live_progress, print_estimate, print_outcome
    from overread.runs.engine import RunPlan
    from overread.runs.engine import run as run_all
    from overread.runs.settings import session_settings

    trackers = None
    if log_to:  # told before the work begins where one cannot be had
        from overread.bridges.trackers.tracker import Trackers

        trackers = Trackers(log_to)
    refuse_two_caches(cache, no_cache=no_cache)
    arguments = reader_arguments(reader_arg, allow_remote=allow_remote)
    plan = RunPlan(
        benchmark=benchmark,
        root=root,
        reader=reader,
        arguments=arguments,
        workflow=workflow,
        split=split,
        form=form,
        pictures=pictures,
        limit=limit,
        cases=tuple(case or ()),
        repeat=repeat,
        concurrency=concurrency,
        seed=seed,
        settings=session_settings(parse_pairs(setting or [], "--setting")),
        cache=cache,
        use_cache=not no_cache,
        prices=parse_prices(prices, price_in, price_out),
        retry_failed=retry_failed,
        max_retries=max_retries,
        max_wait=parse_duration(max_wait, "--max-wait"),
        give_up=give_up,
    )
    if dry_run:
        from overread.runs.estimate import estimate

        print_estimate(estimate(plan, out), plan, as_json=as_json)
        return
    with live_progress(f"{benchmark} {split}", quiet=as_json) as watch:
        outcome = run_all(plan, out, watch=watch)
    print_outcome(outcome, as_json=as_json)
    if outcome.stopped is not None:
        raise typer.Exit(128 + outcome.stopped)
    if trackers is not None:
        from overread.bridges.trackers.tracked_results import track_run
        from overread.cli.console import print_logged

        print_logged(trackers.log(track_run(outcome)), quiet=as_json)
    failed = outcome.tally.failed + outcome.tally.failed_before
    if strict and failed:
        raise typer.Exit(1)


def parse_prices(
    file: Path | None, into: float | None, out: float | None
) -> Prices | Callable[[str], Prices] | None:
    """Prices as they were given: a list by model, or two numbers; None without any."""
    from functools import partial

    from overread.errors import UsageError
    from overread.runs.requests.prices import Prices, read_prices

    if file is not None:
        if into is not None or out is not None:
            raise UsageError("--prices and --price-in or --price-out were both given")
        return partial(read_prices, file)
    if into is None and out is None:
        return None
    return Prices(into or 0.0, out or 0.0)
