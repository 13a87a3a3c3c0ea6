"""`overread report`: runs, their scores and some cases in one file to hand on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from overread.cli.arguments import NewRoot


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Scored runs on one split.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The file.", metavar="FILE.html")],
    case: Annotated[
        list[str] | None, typer.Option(help="Show this case; repeat for several.", metavar="ID")
    ] = None,
    cases: Annotated[
        int | None, typer.Option(help="Show the first so many cases; 0 for none.", min=0, max=500)
    ] = None,
    worst: Annotated[int, typer.Option(help="Number of worst cases to show.", min=0, max=500)] = 0,
    best: Annotated[int, typer.Option(help="Number of best cases to show.", min=0, max=500)] = 0,
    random: Annotated[int, typer.Option(help="Number of random cases to show.", min=0, max=500)] = 0,
    seed: Annotated[int, typer.Option(help="Random seed of the draw.", min=0)] = 0,
    title: Annotated[str | None, typer.Option(help="Title of the report.", metavar="TEXT")] = None,
    no_truth: Annotated[bool, typer.Option("--no-truth", help="Leave out the truth of the cases.")] = False,
    no_pictures: Annotated[
        bool, typer.Option("--no-pictures", help="Leave out the pictures of the cases.")
    ] = False,
    moved: NewRoot = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Write one self-contained HTML file: scorecard, charts, comparison and a few cases.

    It opens in any browser without a server or a network. Without a choice it shows three of the
    worst cases, two of the best and two drawn at random; the choice is told in the report.
    """
    from overread.cli.console import safe
    from overread.cli.console import stdout_console as screen
    from overread.site.report.case_selection import CaseSelection
    from overread.site.report.document import ReportPlan, make_report

    wanted = CaseSelection(tuple(case or ()), cases, worst, best, random, seed)
    plan = ReportPlan(runs, wanted, title=title, truth=not no_truth, pictures=not no_pictures, root=moved)
    made = make_report(plan)
    size = made.write(out, force=force)
    console = screen()
    console.print(
        f"{safe(str(out))}: {_format_size(size)}, {made.cases} cases, {made.pictures} pictures",
        soft_wrap=True,
    )
    console.print(f"cases: {safe(made.chosen)}")
    for warning in made.warnings:
        console.print(f"[yellow]{safe(warning)}[/]")


def _format_size(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"
