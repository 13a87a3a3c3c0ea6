"""`overread report`: runs, their scores and some cases in one file to hand on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from overread.cli.arguments import Moved


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Scored runs on one split.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The file.", metavar="FILE.html")],
    case: Annotated[
        list[str] | None, typer.Option(help="Show this case; repeat for several.", metavar="ID")
    ] = None,
    cases: Annotated[
        int | None, typer.Option(help="Show the first so many cases; 0 for none.", min=0, max=500)
    ] = None,
    worst: Annotated[int, typer.Option(help="Show so many of the worst.", min=0, max=500)] = 0,
    best: Annotated[int, typer.Option(help="Show so many of the best.", min=0, max=500)] = 0,
    random: Annotated[int, typer.Option(help="Show so many drawn at random.", min=0, max=500)] = 0,
    seed: Annotated[int, typer.Option(help="Of the draw.", min=0)] = 0,
    title: Annotated[str | None, typer.Option(help="Title of the report.", metavar="TEXT")] = None,
    no_truth: Annotated[
        bool, typer.Option("--no-truth", help="Leave out the truth of the cases.")
    ] = False,
    no_pictures: Annotated[
        bool, typer.Option("--no-pictures", help="Leave out the pictures of the cases.")
    ] = False,
    moved: Moved = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write one self-contained HTML file: scorecard, charts, comparison and a few cases.

    It opens in any browser without a server or a network. Without a choice it shows three of the
    worst cases, two of the best and two drawn at random; the choice is told in the report.
    """
    from overread.cli.console import out as screen
    from overread.cli.console import safe
    from overread.errors import UsageError
    from overread.site.report.choosing import Wanted
    from overread.site.report.writing import ReportPlan, make_report

    if out.exists() and not force:
        raise UsageError(f"{out} is there already", remedy="give another --out, or --force")
    wanted = Wanted(tuple(case or ()), cases, worst, best, random, seed)
    plan = ReportPlan(
        runs, wanted, title=title, truth=not no_truth, pictures=not no_pictures, root=moved
    )
    made = make_report(plan)
    size = made.write(out, force=force)
    console = screen()
    console.print(
        f"{safe(str(out))}: {_sized(size)}, {made.cases} cases, {made.pictures} pictures",
        soft_wrap=True,
    )
    console.print(f"cases: {safe(made.chosen)}")
    for warning in made.warnings:
        console.print(f"[yellow]{safe(warning)}[/]")


def _sized(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"
