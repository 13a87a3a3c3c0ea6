"""`overread grade`: a submission in the official format, scored in one step."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overread.cli.arguments import (
    AsJson,
    Benchmark,
    Draws,
    Form,
    Fresh,
    Level,
    Limit,
    LogTo,
    Metrics,
    Pictures,
    Root,
    Seed,
    Settings,
    Split,
    Table,
    Workers,
)

if TYPE_CHECKING:
    from overread.runs.scoring.card import Card


def grade(
    benchmark: Benchmark,
    root: Root,
    predictions: Annotated[
        Path,
        typer.Argument(
            metavar="PREDICTIONS",
            help="A submission: JSONL, or a folder or zip of NIfTIs, as the benchmark has it.",
        ),
    ],
    split: Split = "test",
    as_json: AsJson = False,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the scorecard there; `overread compare` reads it.", metavar="FILE"),
    ] = None,
    metric: Metrics = None,
    setting: Settings = None,
    draws: Draws = 1000,
    level: Level = 0.95,
    seed: Seed = 0,
    reader: Annotated[
        str | None, typer.Option(help="Name of the reader; default: the file's name.", metavar="NAME")
    ] = None,
    workers: Workers = None,
    form: Form = None,
    pictures: Pictures = None,
    fresh: Fresh = False,
    no_statistics: Annotated[
        bool,
        typer.Option(
            "--no-statistics",
            help="Leave the statistics of single cases out of what is written: for a board whose "
            "truth is private. Such a card cannot be compared.",
        ),
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit code 1 where anything was wrong.")] = False,
    table: Table = None,
    log_to: LogTo = None,
    limit: Limit = 20,
) -> None:
    """Score predictions against a copy of a benchmark, with intervals.

    What is missing or broken scores worst and is named. Grading masks that was interrupted goes on
    where it stopped.
    """
    from overread.cli.console import print_logged, print_text, progress_bar, stderr_console, tell_waiting
    from overread.cli.scorecard import expand_metrics, parse_settings, print_card
    from overread.runs.scoring.aggregation import BootstrapSettings
    from overread.runs.scoring.from_submission import grade as graded
    from overread.storage.atomic import open_atomic

    trackers = None
    if log_to:  # told before the work begins where one cannot be had
        from overread.bridges.trackers.tracker import Trackers

        trackers = Trackers(log_to)
    target = _check_target(out) if out is not None else None
    if table is not None:
        from overread.errors import UsageError
        from overread.runs.scoring.case_scores import values_by_case
        from overread.runs.scoring.result_table import check_table_path, write_table

        if no_statistics:
            raise UsageError(
                "--table tells of single cases, and --no-statistics leaves them out",
                remedy="leave one of them out",
            )
        check_table_path(table)
    try:
        with progress_bar(f"grading {benchmark} {split}", quiet=as_json) as told:
            card: Card = graded(
                benchmark,
                root,
                predictions,
                split,
                form=form,
                pictures=pictures,
                metrics=expand_metrics(benchmark, metric or []),
                settings=parse_settings(setting or []),
                bootstrap=BootstrapSettings(draws=draws, seed=seed, level=level),
                reader=reader,
                workers=workers or os.cpu_count() or 1,
                fresh=fresh,
                progress=told,
                tell=tell_waiting,
            )
    except KeyboardInterrupt:
        # What was measured of masks is kept; a user who does not know that starts again from zero.
        stderr_console().print("overread: stopped; resume with the same command")
        raise typer.Exit(130) from None
    if target is not None:
        with open_atomic(target, compress=False, tidy=True) as file:
            for piece in card.iter_json(statistics=not no_statistics):
                file.write(piece.encode())
            file.write(b"\n")
    if table is not None:
        write_table(card, values_by_case(card), table)
    if as_json:
        print_text(card.iter_json(statistics=not no_statistics, indent=2))
    else:
        print_card(card, limit=limit, saved=out)
    if trackers is not None:
        from overread.bridges.trackers.tracked_results import run_key, track_card

        tracked = track_card(card, run_key(predictions, benchmark, split), predictions.resolve().name)
        print_logged(trackers.log(tracked), quiet=as_json)
    if strict and card.problems:
        raise typer.Exit(1)


def _check_target(out: Path) -> Path:
    """The path for the scorecard; raises before grading starts if it cannot be written."""
    from overread.errors import UsageError

    target = out.resolve()  # a link is followed, and never replaced by a file
    if target.exists() and not target.is_file():
        kind = "a folder" if target.is_dir() else "no regular file"
        raise UsageError(f"{out} is {kind}", remedy="name a file for the scorecard: --out FILE")
    folder = next(place for place in target.parents if place.exists())
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        raise UsageError(f"nothing can be written to {folder}", remedy="choose another --out FILE")
    return target
