"""`overread sweep`: one reader under several settings, and the curves of its scores."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overread.cli.arguments import (
    AllowRemote,
    AsJson,
    Benchmark,
    Cache,
    Concurrency,
    Draws,
    DryRun,
    Form,
    GiveUp,
    Level,
    MaxRetries,
    MaxWait,
    Metrics,
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
    Workers,
    Workflow,
    parse_duration,
    parse_pairs,
    reader_arguments,
    refuse_two_caches,
)

if TYPE_CHECKING:
    from overread.runs.estimate import Estimate
    from overread.runs.sweep.axes import SweepPoint
    from overread.runs.sweep.runner import PointResult, SweepResult


def sweep(
    benchmark: Benchmark,
    root: Root,
    reader: ReaderName,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="DIR", help="Folder of the runs; an existing sweep is resumed."),
    ],
    vary: Annotated[
        list[str],
        typer.Option(
            help="What is varied: a setting of the session, the workflow or an argument of the "
            "reader, and its values; repeat for a cross product. 'a+b' is one value of a setting "
            "of several words, 'none' an empty one.",
            metavar="K=V,V,…",
        ),
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
    metric: Metrics = None,
    draws: Draws = 1000,
    level: Level = 0.95,
    workers: Workers = None,
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
    as_json: AsJson = False,
) -> None:
    """Have a reader read the cases once for each combination of values, and draw the curves.

    Each point is a run in a folder of its own, scored with intervals and set against the first
    point, case by case. Writes sweep.json, sweep.csv, sweep.png and sweep.svg. The same command
    again goes on where it was stopped, and more values may be added.
    """
    from functools import partial

    from overread.cli.console import print_json, progress_bar
    from overread.cli.run import parse_prices
    from overread.cli.run_output import live_progress
    from overread.cli.scorecard import expand_metrics
    from overread.runs.engine import RunPlan
    from overread.runs.scoring.aggregation import BootstrapSettings
    from overread.runs.settings import session_settings
    from overread.runs.sweep.axes import parse_axes
    from overread.runs.sweep.files import sweep_to_json as in_json
    from overread.runs.sweep.files import write_sweep
    from overread.runs.sweep.runner import estimate_points
    from overread.runs.sweep.runner import sweep as swept

    refuse_two_caches(cache, no_cache=no_cache)
    settings = parse_pairs(setting or [], "--setting")
    axes = parse_axes(vary)
    plan = RunPlan(
        benchmark=benchmark,
        root=root,
        reader=reader,
        arguments=reader_arguments(reader_arg, allow_remote=allow_remote),
        workflow=workflow,
        split=split,
        form=form,
        pictures=pictures,
        limit=limit,
        cases=tuple(case or ()),
        repeat=repeat,
        concurrency=concurrency,
        seed=seed,
        settings=session_settings(settings),
        cache=cache,
        use_cache=not no_cache,
        prices=parse_prices(prices, price_in, price_out),
        retry_failed=retry_failed,
        max_retries=max_retries,
        max_wait=parse_duration(max_wait, "--max-wait"),
        give_up=give_up,
    )
    if dry_run:
        _print_estimates(estimate_points(plan, axes, out, fixed=tuple(settings)), as_json=as_json)
        return
    found = swept(
        plan,
        axes,
        out,
        metrics=expand_metrics(benchmark, metric or []),
        fixed=tuple(settings),
        bootstrap=BootstrapSettings(draws=draws, level=level),
        workers=workers or os.cpu_count() or 1,
        watching=partial(live_progress, quiet=as_json),
        scoring=partial(progress_bar, quiet=as_json),
    )
    files = write_sweep(found) if found.points else []
    if as_json:
        print_json({**in_json(found), "folder": str(found.folder)})
    else:
        _print(found, files)
    if found.stopped is not None:
        raise typer.Exit(128 + found.stopped)


def _print(found: SweepResult, files: list[Path]) -> None:
    from overread.cli.console import safe, stdout_console

    console = stdout_console()
    if found.points:
        card = found.points[0].card
        title = f"[bold]{safe(card.benchmark)} {safe(card.split)}[/], {safe(card.reader)}"
        console.print(f"{title}: {len(found.points)} of {found.total} points")
        console.print()
    for metric in found.metrics:
        _print_metric(found, metric)
    for metric, why in found.not_compared.items():
        console.print(f"no differences of {safe(metric)}: {safe(why)}")
    notes = dict.fromkeys(
        note for one in found.points for apart in one.differences.values() for note in apart.notes
    )
    for note in notes:
        console.print(f"note: {safe(note)}", style="dim")
    if found.stopped is not None:
        console.print("stopped; resume with the same command")
    failed = sum(one.failed_readings for one in found.points)
    if failed:
        console.print(f"{failed:,} readings failed; retry them with --retry-failed")
    if files:
        names = ", ".join(file.name for file in files)
        console.print(f"written to {safe(str(found.folder))}: {safe(names)}", soft_wrap=True)


def _print_metric(found: SweepResult, metric: str) -> None:
    """One line a point: its values, its score, how far that is from the first point's."""
    from overread.cli.console import stdout_console
    from overread.cli.scorecard import Column, format_scores, print_columns

    points = found.points
    scores = [found.score(one, metric) for one in points]
    if not any(scores):
        _print_unscored(points, metric)
        return
    columns = [Column(axis.name, [one.point.values[axis.name] for one in points]) for axis in found.axes]
    better = next(score.better for score in scores if score)
    columns.append(Column(f"{metric} {'↑' if better == 'higher' else '↓'}", format_scores(scores)))
    columns.append(Column("n", [f"{score.n:,}" if score else "" for score in scores], "right"))
    columns.append(Column("against the first", [_format_difference(one, metric) for one in points]))
    if any(one.agreement for one in points):
        told = [one.agreement and f"{one.agreement.value:.3f}" for one in points]
        columns.append(Column("agreement", [text or "" for text in told], "right"))
    columns.append(Column("failed", [f"{one.failed_readings:,}" for one in points], "right", spare=1))
    print_columns(stdout_console(), columns)
    _print_unscored(points, metric)


def _print_unscored(points: tuple[PointResult, ...], metric: str) -> None:
    """Why points have no such score, those with the same reason in one line."""
    from overread.cli.console import safe, stdout_console

    alike: dict[str, list[str]] = {}
    for one in points:
        if metric not in one.card.scores:
            why = one.card.not_attempted.get(metric, "there is nothing to score")
            alike.setdefault(why, []).append(one.point.name)
    for why, names in alike.items():
        where = "" if len(names) == len(points) else f" at {'; '.join(names)}"
        stdout_console().print(f"{safe(metric)} not scored{safe(where)}: {safe(why)}")
    if alike:
        stdout_console().print()


def _format_difference(one: PointResult, metric: str) -> str:
    found = one.differences.get(metric)
    if found is None or found.difference.value is None:
        return "–"
    span = found.difference
    between = f"  {span.note.partition(':')[0]}".rstrip()
    if span.low is not None:
        between = f"  {span.low:+.3f} to {span.high:+.3f}"
    return f"{span.value:+.3f}{between}"


def _print_estimates(found: list[tuple[SweepPoint, Estimate]], *, as_json: bool) -> None:
    """What the points would take, and all of them together."""
    from dataclasses import asdict

    from overread.cli.console import print_json, safe, stdout_console
    from overread.cli.numbers import format_money
    from overread.cli.scorecard import Column, print_columns

    counts = ("readings", "before", "calls", "cached", "pictures", "input_tokens")
    total: dict[str, object] = {
        name: sum(getattr(estimate, name) for _, estimate in found) for name in counts
    }
    costs = [estimate.cost for _, estimate in found if estimate.cost is not None]
    total["cost"] = sum(costs) if costs else None
    total["currency"] = found[0][1].currency
    total["at_least"] = any(estimate.at_least for _, estimate in found)
    if as_json:
        points = [{"name": point.name, **asdict(estimate)} for point, estimate in found]
        print_json({"points": points, "total": total})
        return
    console = stdout_console()
    least = "at least " if total["at_least"] else ""
    console.print(f"what these {len(found)} points would take ({found[0][1].rule})")
    columns = [Column("point", [*(point.name for point, _ in found), "all"])]
    for name in counts:
        cells = [f"{getattr(estimate, name):,}" for _, estimate in found]
        columns.append(Column(_HEADINGS[name], [*cells, f"{total[name]:,}"], "right"))
    print_columns(console, columns)
    if costs:
        money = format_money(sum(costs), found[0][1].currency)
        console.print(f"cost: {least}{money} for what is read; answers come on top")
    elif least:
        console.print("there may be more calls: a workflow could not be followed to its end")
    for point, estimate in found:
        for case, why in estimate.failing[:3]:
            console.print(f"  will fail: {safe(point.name)}: {safe(case)}: {safe(why)}")


_HEADINGS = {
    "readings": "to read",
    "before": "there",
    "calls": "calls",
    "cached": "known",
    "pictures": "pictures",
    "input_tokens": "tokens read",
}
