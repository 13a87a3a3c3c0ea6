"""`overread score`: the readings of a run against the truth."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overread.cli.arguments import (
    AsJson,
    Draws,
    Fresh,
    Level,
    Limit,
    LogTo,
    Metrics,
    NewRoot,
    Pictures,
    Seed,
    Settings,
    Table,
    Workers,
)

if TYPE_CHECKING:
    from overread.runs.scoring.card import Card


def score(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder that `overread run --out` wrote.")],
    as_json: AsJson = False,
    metric: Metrics = None,
    judge: Annotated[
        list[str] | None, typer.Option(help="Whose verdicts count, where several judged.", metavar="NAME")
    ] = None,
    setting: Settings = None,
    draws: Draws = 1000,
    level: Level = 0.95,
    seed: Seed = 0,
    workers: Workers = None,
    fresh: Fresh = False,
    root: NewRoot = None,
    pictures: Pictures = None,
    table: Table = None,
    log_to: LogTo = None,
    limit: Limit = 20,
) -> None:
    """Score a run, with intervals; writes scores.jsonl and card.json into its folder.

    No reader is asked again, and masks that were measured before are not measured again. A case
    that failed or was not read scores worst, and is named.
    """
    from overread.cli.console import print_logged, print_text, progress_bar, tell_waiting
    from overread.cli.scorecard import expand_metrics, parse_settings, print_card
    from overread.runs.scoring.aggregation import BootstrapSettings
    from overread.runs.scoring.from_run import score as scored
    from overread.runs.spec import read_spec

    trackers = None
    if log_to:  # told before the work begins where one cannot be had
        from overread.bridges.trackers.tracker import Trackers

        trackers = Trackers(log_to)
    if table is not None:
        from overread.runs.scoring.result_table import check_table_path, read_case_lines, write_table

        check_table_path(table)
    spec = read_spec(run)
    with progress_bar(f"scoring {run.name}", quiet=as_json) as told:
        card: Card = scored(
            run,
            metrics=expand_metrics(spec.benchmark, metric or []),
            judges=judge or (),
            settings=parse_settings(setting or []),
            bootstrap=BootstrapSettings(draws=draws, seed=seed, level=level),
            workers=workers or os.cpu_count() or 1,
            fresh=fresh,
            root=root,
            pictures=pictures,
            progress=told,
            tell=tell_waiting,
        )
    if table is not None:
        write_table(card, read_case_lines(run / "scores.jsonl"), table)
    if as_json:
        print_text(card.iter_json(indent=2))
    else:
        print_card(card, limit=limit, saved=run / "card.json")
    if trackers is not None:
        from overread.bridges.trackers.tracked_results import run_key, track_card

        tracked = track_card(card, run_key(run), run.resolve().name)
        print_logged(trackers.log(tracked), quiet=as_json)
