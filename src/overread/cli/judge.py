"""`overread judge`: verdicts on what a reader wrote, and how far people agree with them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from overread.cli.arguments import (
    AsJson,
    Cache,
    Draws,
    GiveUp,
    Level,
    MaxRetries,
    MaxWait,
    NewRoot,
    NoCache,
    ReaderArgs,
    Seed,
    one_option,
    parse_duration,
    reader_arguments,
    refuse_two_caches,
)
from overread.cli.numbers import format_interval

if TYPE_CHECKING:
    from overread.metrics.agreement import Agreement
    from overread.metrics.human.agreement import HumanAgreement, PairAgreement
    from overread.runs.judging.runner import JudgeOutcome


def judge(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder that `overread run` wrote.")],
    kind: Annotated[
        str | None, typer.Option("--judge", help="What is judged: steps (of explanations) or discussion.")
    ] = None,
    reader: Annotated[
        str | None, typer.Option("--reader", "-r", help="Reader that judges: one of `overread list readers`.")
    ] = None,
    reader_arg: ReaderArgs = None,
    root: NewRoot = None,
    limit: Annotated[int | None, typer.Option(help="Only the first readings.", min=1)] = None,
    concurrency: Annotated[
        int, typer.Option("--concurrency", "-j", help="Readings at once.", min=1, max=4096)
    ] = 16,
    prompts: Annotated[Path | None, typer.Option(help="Folder of your own prompts.", metavar="DIR")] = None,
    cache: Cache = None,
    no_cache: NoCache = False,
    max_retries: MaxRetries = 5,
    max_wait: MaxWait = "10m",
    give_up: GiveUp = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Retry readings that the judge failed on.")
    ] = False,
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Readings and the truth may be sent to another machine.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print how much is left; ask and write nothing.")
    ] = False,
    agreement: Annotated[
        Path | None, typer.Option(help="Compare stored verdicts on steps with people's.", metavar="CSV")
    ] = None,
    sheet: Annotated[
        Path | None, typer.Option(help="Write the judged steps there, for people to rate.", metavar="CSV")
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="Whose verdicts, where several judged: name or rule.", metavar="JUDGE")
    ] = None,
    draws: Draws = 1000,
    level: Level = 0.95,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Have a model judge explanations or discussions, sentence by sentence, beside the truth.

    Verdicts are kept in RUN/judge_verdicts.jsonl and counted by `overread score`. The same command
    again judges what is left. --sheet writes the steps for people, and --agreement says how far
    they and the judge agree.
    """
    from overread.errors import UsageError

    if one_option(judge=kind, agreement=agreement, sheet=sheet) is None:
        raise UsageError(
            "there is nothing to do",
            remedy="give one of --judge steps, --judge discussion, --agreement CSV, --sheet CSV",
        )
    if agreement is not None:
        _print_agreement(run, agreement, by, {"draws": draws, "level": level, "seed": seed}, as_json=as_json)
        return
    if sheet is not None:
        _write_sheet(run, sheet, by)
        return
    if reader is None:
        raise UsageError("no judge was given", remedy="add --reader, for instance openai")
    refuse_two_caches(cache, no_cache=no_cache)
    arguments = reader_arguments(reader_arg, allow_remote=allow_remote)

    from overread.cli.run_output import live_progress
    from overread.runs.judging.runner import JudgePlan
    from overread.runs.judging.runner import judge as judge_run
    from overread.session import SessionSettings

    plan = JudgePlan(
        run=run,
        judge=str(kind),
        reader=reader,
        arguments=arguments,
        root=root,
        limit=limit,
        concurrency=concurrency,
        settings=SessionSettings(prompts=_prompts_folder(prompts)),
        cache=cache,
        use_cache=not no_cache,
        retry_failed=retry_failed,
        max_retries=max_retries,
        max_wait=parse_duration(max_wait, "--max-wait"),
        give_up=give_up,
    )
    with live_progress(f"judging {kind}", quiet=as_json or dry_run) as watch:
        outcome = judge_run(plan, watch=watch, dry_run=dry_run)
    _print_outcome(run, str(kind), outcome, dry_run=dry_run, as_json=as_json)
    if outcome.stopped is not None:
        raise typer.Exit(128 + outcome.stopped)


def _prompts_folder(prompts: Path | None) -> str | None:
    from overread.errors import UsageError

    if prompts is not None and not prompts.is_dir():
        raise UsageError(f"{prompts} is no folder of prompts")
    return str(prompts.resolve()) if prompts is not None else None


def _print_outcome(run: Path, kind: str, found: JudgeOutcome, *, dry_run: bool, as_json: bool) -> None:
    from overread.cli.console import print_json, safe, stdout_console

    tally, spent = found.tally, found.tally.spent
    left = (tally.total or 0) - tally.done
    if as_json:
        print_json(
            {
                "run": str(run),
                "kind": kind,
                "judge": found.judge,
                "rule": found.rule,
                "readings": tally.total,
                "judged_before": tally.before,
                "judged_now": tally.read,
                "complete": not left,
                "left": left,
                "calls_left": found.calls if dry_run else 0,
                "failed": tally.failed + tally.failed_before,
                "missing_verdicts": found.missing,
                "nothing_to_judge": found.nothing_to_judge,
                "truth_withheld": found.truth_withheld,
                "reasons": [{"case": case, "why": why} for case, why in tally.reasons],
                "calls": spent.calls,
                "cached": spent.cached,
                "retries": spent.retries,
                "input_tokens": spent.input_tokens,
                "output_tokens": spent.output_tokens,
                "notes": found.notes,
            }
        )
        return
    console = stdout_console()
    console.print(f"[bold]{safe(str(run))}[/]: {kind} judged by {safe(found.judge)}")
    console.print(f"  readings        {tally.done:,} of {tally.total or 0:,} judged")
    if dry_run:
        console.print(f"  left            {left:,}, about {found.calls:,} calls at least")
    else:
        console.print(f"  calls           {spent.calls:,}, and {spent.cached:,} from cache")
        console.print(f"  missing         {found.missing:,} verdicts; they count against")
    for note in found.notes:
        console.print(f"  note: {safe(note)}")
    failed = tally.failed + tally.failed_before
    if failed:
        console.print(f"  failed          {failed:,}; try them again with --retry-failed")
    for case, why in tally.reasons[:5]:
        console.print(f"    {safe(case)}: {safe(why)}")
    for number, what in (
        (found.nothing_to_judge, "nothing to judge"),
        (found.truth_withheld, "truth withheld"),
    ):
        if number:
            console.print(f"  {what:<15} {number:,}")
    if found.stopped is not None:
        console.print("stopped; verdicts are saved: resume with the same command")
    elif not dry_run:
        console.print(f"count them: overread score {safe(str(run))}")


# ---- people --------------------------------------------------------------------------------


def _step_verdicts(run: Path, by: str | None) -> tuple[list[Any], list[str]]:
    from overread.core.verdicts import StepVerdicts
    from overread.errors import UsageError
    from overread.runs.judging.verdict_store import select_verdicts
    from overread.runs.spec import read_spec

    read_spec(run)
    cases, _, notes = select_verdicts(run, (by,) if by else ())
    found = [told for own in cases.values() for told in own if isinstance(told, StepVerdicts)]
    if not found:
        raise UsageError(
            "no steps of this run were judged yet",
            where=str(run),
            remedy="judge them first: overread judge RUN --judge steps --reader …",
        )
    found.sort(key=lambda told: (told.case_id, told.sample))
    return found, [note for note in notes if note.startswith("steps ")]


def _write_sheet(run: Path, sheet: Path, by: str | None) -> None:
    from overread.cli.console import safe, stdout_console
    from overread.errors import UsageError
    from overread.metrics.human.verdicts import rating_sheet
    from overread.storage.atomic import open_atomic

    verdicts, _ = _step_verdicts(run, by)
    if sheet.exists():
        raise UsageError(
            f"there is a file {sheet} already, perhaps with somebody's verdicts", remedy="give another name"
        )
    with open_atomic(sheet, compress=False, tidy=True) as file:
        # With a mark of order, without which spreadsheets take UTF-8 for something else.
        file.write(rating_sheet(verdicts).encode("utf-8-sig", "replace"))
    steps = sum(len(told.steps) for told in verdicts)
    stdout_console().print(f"{steps:,} steps of {len(verdicts):,} readings written to {safe(str(sheet))}")


def _print_agreement(
    run: Path, file: Path, by: str | None, drawing: dict[str, Any], *, as_json: bool
) -> None:
    from overread.cli.console import print_json, safe, stdout_console
    from overread.metrics.human.agreement import human_agreement
    from overread.metrics.human.verdicts import read_human_verdicts

    human = read_human_verdicts(file)
    verdicts, notes = _step_verdicts(run, by)
    found: HumanAgreement = human_agreement(verdicts, human, where=str(file), **drawing)
    if as_json:
        print_json({**found.as_dict(), "notes": [*found.notes, *notes]})
        return
    console = stdout_console()
    console.print(f"[bold]{safe(str(file))}[/] against {safe(found.judge)}")
    console.print()
    _print_pairs([*found.with_judge, *found.between_humans])
    for note in (*found.notes, *notes):
        console.print(f"note: {safe(note)}", style="dim")


def _print_pairs(pairs: list[PairAgreement]) -> None:
    from rich.table import Table

    from overread.cli.console import safe, stdout_console

    console = stdout_console()
    for pair in pairs:
        names = (pair.first, pair.second)
        console.print(
            f"[bold]{safe(names[0])} and {safe(names[1])}[/]: {pair.steps:,} steps of {pair.cases:,} cases"
        )
        parts = {"factual": pair.factual, "critical": pair.critical}
        told = {name: _agreement_cells(found, names) for name, found in parts.items() if found is not None}
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 2))
        for column in ("", *told):
            table.add_column(column, overflow="fold")
        for row in told["factual"]:
            table.add_row(safe(row), *(cells[row] for cells in told.values()))
        console.print(table)
        for name, span in pair.critical_ratio.items():
            console.print(f"  critical steps by {safe(name)}: {format_interval(span)}")
        for code, number in pair.errors.items():
            counts = f"{number['first']:,} and {number['second']:,}, {number['both']:,} in common"
            console.print(f"  {code} errors: {counts}")
        console.print()


def _agreement_cells(found: Agreement, names: tuple[str, str]) -> dict[str, str]:
    """The rows of one column."""
    (no_no, no_yes), (yes_no, yes_yes) = found.confusion
    return {
        "agree": format_interval(found.share),
        "kappa": format_interval(found.kappa),
        "MCC": format_interval(found.mcc),
        "yes by both": f"{yes_yes:,}",
        f"yes by {names[0]} only": f"{yes_no:,}",
        f"yes by {names[1]} only": f"{no_yes:,}",
        "yes by neither": f"{no_no:,}",
    }
