"""`overread adjudicate`: people decide what rules and models could not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from overread.cli.arguments import AsJson, Draws, Level, NewRoot, Seed, one_option
from overread.cli.numbers import format_interval

if TYPE_CHECKING:
    from overread.build.adjudication import Progress
    from overread.build.adjudication.agreement import GroupAgreement
    from overread.build.adjudication.judge_questions import JudgeAgreement
    from overread.build.rexgroundingct.mask_agreement import MaskAgreement


def adjudicate(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="Folder of `overread build`, or a run that `overread judge` judged."
        ),
    ],
    person: Annotated[str | None, typer.Option("--as", help="Your name or initials.", metavar="NAME")] = None,
    kind: Annotated[str | None, typer.Option(help="Only questions of this kind.")] = None,
    export: Annotated[
        Path | None,
        typer.Option(
            help="Write the verdicts to a new .csv or .jsonl; with --as, that person's sheet.", metavar="FILE"
        ),
    ] = None,
    import_: Annotated[
        Path | None,
        typer.Option("--import", help="Import verdicts from a .csv or .jsonl, all or none.", metavar="FILE"),
    ] = None,
    agreement: Annotated[
        bool, typer.Option("--agreement", help="Print the agreement of the two readings.")
    ] = False,
    progress: Annotated[bool, typer.Option("--progress", help="Print the progress.")] = False,
    verify: Annotated[bool, typer.Option("--verify", help="Verify that the log is unchanged.")] = False,
    head: Annotated[
        str | None, typer.Option(help="With --verify: the last hash as noted earlier.", metavar="HASH")
    ] = None,
    draws: Draws = 1000,
    level: Level = 0.95,
    seed: Seed = 0,
    root: NewRoot = None,
    as_json: AsJson = False,
) -> None:
    """Read the questions of a build, one at a time: two people each, a third where they differ.

    Nobody sees what others said. Verdicts are appended to DIR/adjudication.jsonl, whose lines are
    tied to each other; the next `overread build` goes on with what was decided.

    Of a run, the questions are whether the judge was right; they lie beside it, in
    RUN-judge-checked, and --agreement says how far people agree with the judge, too.
    """
    from overread.errors import UsageError

    flags = {"agreement": agreement, "progress": progress, "verify": verify}
    asked = one_option(**{"export": export, "import": import_}, **flags)
    if head is not None and not verify:
        raise UsageError("--head goes with --verify")
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}")
    if (folder / "spec.json").is_file():
        folder = _judge_questions_folder(folder, root, sits=asked is None)
    if verify:
        _verify(folder, head, as_json=as_json)
    elif agreement:
        _agreement(folder, kind, {"draws": draws, "level": level, "seed": seed}, as_json=as_json)
    elif progress:
        _progress(folder, as_json=as_json)
    elif export is not None:
        _export(folder, export, person, as_json=as_json)
    elif import_ is not None:
        _import(folder, import_, person, as_json=as_json)
    else:
        _ask_person(folder, person, kind, as_json=as_json)


def _judge_questions_folder(run: Path, root: Path | None, *, sits: bool) -> Path:
    """The folder of the questions about a run's judge.

    When a person starts answering (`sits`), questions about everything judged so far are added;
    otherwise the folder is left as it is.
    """
    from overread.build.adjudication import judge_questions
    from overread.cli.console import safe, stderr_console
    from overread.errors import OverreadError, UsageError
    from overread.runs.spec import read_spec

    folder = judge_questions.questions_folder(run)
    if not sits:
        if not folder.is_dir():
            raise UsageError(
                "there are no questions about the judge of this run yet",
                where=str(run),
                remedy=f"begin with: overread adjudicate {run} --as NAME",
            )
        return folder
    place = read_spec(run).current_release_ref(root, None)
    about = None
    try:
        rows = place.open().scan()
        about = judge_questions.describe_cases(row.entry for row in rows if row.entry is not None)
    except OverreadError as error:
        stderr_console().print(f"note: new sentences are shown without their cases: {safe(error.what)}")
    judge_questions.write_judge_questions(run, folder, about)
    return folder


def _ask_person(folder: Path, person: str | None, kind: str | None, *, as_json: bool) -> None:
    import asyncio
    import sys
    from dataclasses import asdict

    from overread.build.adjudication import Queue
    from overread.build.adjudication.terminal_ui import run_terminal
    from overread.cli.console import print_json, safe, stdout_console
    from overread.readers.terminal import Terminal

    queue = Queue(folder)
    found = asyncio.run(run_terminal(queue, Terminal(sys.stdin, sys.stderr), person, kind=kind))
    if as_json:
        print_json(asdict(found) | {"notes": list(queue.progress().notes)})
        return
    for note in queue.progress().notes:
        stdout_console().print(f"note: {safe(note)}", style="dim")
    undone = f", {found.undone:,} taken back" if found.undone else ""
    stdout_console().print(f"{safe(found.person)}: {found.given:,} given{undone}, {found.left:,} left")


def _export(folder: Path, path: Path, person: str | None, *, as_json: bool) -> None:
    from overread.build.adjudication import Queue, export_verdicts
    from overread.cli.console import print_json, safe, stdout_console

    lines = export_verdicts(Queue(folder), path, person=person)
    if as_json:
        print_json({"file": str(path), "lines": lines})
        return
    what = "verdicts" if person is None else f"lines for {person}"
    stdout_console().print(f"{lines:,} {safe(what)} written to {safe(str(path))}")


def _import(folder: Path, path: Path, person: str | None, *, as_json: bool) -> None:
    from dataclasses import asdict

    from overread.build.adjudication import Queue, import_verdicts
    from overread.cli.console import print_json, stdout_console

    found = import_verdicts(Queue(folder), path, person=person)
    if as_json:
        print_json(asdict(found))
        return
    known = f", {found.known:,} were there already" if found.known else ""
    empty = f", {found.empty:,} lines have none" if found.empty else ""
    stdout_console().print(f"{found.new:,} verdicts taken{known}{empty}")


def _verify(folder: Path, head: str | None, *, as_json: bool) -> None:
    from dataclasses import asdict

    from overread.build.adjudication import verify_log
    from overread.cli.console import print_json, safe, stdout_console

    found = verify_log(folder, head=head)
    if as_json:
        print_json(asdict(found) | {"intact": found.intact})
    else:
        if found.broken is not None:
            stdout_console().print(f"line {found.broken:,} does not fit: {safe(found.why)}")
        stdout_console().print(f"{found.lines:,} lines fit; the last has the hash {found.head or '(none)'}")
        if found.torn:
            stdout_console().print(f"note: {safe(found.torn)}")
    if not found.intact:
        raise typer.Exit(1)


def _progress(folder: Path, *, as_json: bool) -> None:
    from rich.table import Table

    from overread.build.adjudication import Queue
    from overread.cli.console import print_json, safe, stdout_console

    found: Progress = Queue(folder).progress()
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    columns = {
        "questions": "questions",
        "settled": "settled",
        "by_third": "by a third",
        "cannot_judge": "cannot judge",
        "first": "unread",
        "second": "wait for a second",
        "third": "wait for a third",
    }
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("kind", *columns.values()):
        table.add_column(column)
    for name, tally in [*found.kinds.items(), ("all", found.all)]:
        table.add_row(safe(name), *(f"{getattr(tally, column):,}" for column in columns))
    console = stdout_console()
    console.print(table)
    for name, given in found.given.items():
        console.print(f"{safe(name)}: {given:,} given, {found.left[name]:,} left")
    if found.outdated:
        console.print(f"{found.outdated:,} verdicts on questions that have changed do not count")


def _agreement(folder: Path, kind: str | None, drawing: dict[str, Any], *, as_json: bool) -> None:
    from overread.build.adjudication import Queue
    from overread.build.adjudication.agreement import measure_agreement
    from overread.build.adjudication.judge_questions import find_judged_run, measure_judge_agreement
    from overread.build.rexgroundingct.mask_agreement import measure_mask_agreement
    from overread.cli.console import print_json, stdout_console

    found = measure_agreement(folder, kind=kind, **drawing)
    run = find_judged_run(folder)
    judged = measure_judge_agreement(Queue(folder), run, **drawing) if run is not None else []
    judged = [one for one in judged if kind is None or one.kind == kind]
    masks = [one for one in measure_mask_agreement(folder, **drawing) if kind in (None, one.kind)]
    if as_json:
        rows = [*found, *judged, *masks]
        print_json([one.as_dict() for one in rows])
        return
    if not found:
        stdout_console().print("no question has two reads yet")
    for group in found:
        _print_group(group)
    for one in judged:
        _print_judged(one)
    for mask in masks:
        _print_masks(mask)


def _print_group(group: GroupAgreement) -> None:
    from overread.cli.console import safe, stdout_console

    console = stdout_console()
    below = f", category {group.category}" if group.category is not None else ""
    console.print(
        f"[bold]{safe(group.kind + below)}[/]: {group.questions:,} questions read twice, "
        f"{group.differ:,} differ"
    )
    numbers = {"agree": group.share, "kappa": group.kappa, "AC1": group.ac1, "alpha": group.alpha}
    for name, span in numbers.items():
        if span is not None:
            console.print(f"  {name:<6} {format_interval(span)}")
    if len(group.pairs) > 1:
        for pair in group.pairs:
            both = f"{pair.first} and {pair.second}"
            found = pair.agreement
            console.print(
                f"  {safe(both)}: {found.n:,} questions, agree {format_interval(found.share)}, "
                f"kappa {format_interval(found.kappa)}"
            )


def _print_masks(one: MaskAgreement) -> None:
    from overread.cli.console import safe, stdout_console

    console = stdout_console()
    below = f", category {one.category}" if one.category is not None else ""
    apart = f", {one.rejected:,} without a mask of both" if one.rejected else ""
    console.print(
        f"[bold]{safe(one.kind + below)}[/], masks: {one.findings:,} findings with two readers, "
        f"{one.edited:,} edited{apart}"
    )
    console.print(f"  Dice between readers   {format_interval(one.dice)}")
    if one.edited:
        console.print(f"  where one was edited   {format_interval(one.edited_dice)}")


def _print_judged(one: JudgeAgreement) -> None:
    from overread.cli.console import safe, stdout_console

    unsure = f", {one.cannot_judge:,} cannot be judged" if one.cannot_judge else ""
    stdout_console().print(
        f"[bold]{safe(one.kind)}[/]: {safe(one.who)} against the judge {safe(one.judge)}, "
        f"{one.agreement.n:,} questions{unsure}"
    )
    for name, span in {"agree": one.agreement.share, "kappa": one.agreement.kappa}.items():
        stdout_console().print(f"  {name:<6} {format_interval(span)}")
