"""`overread mrmc`: two groups of readers on the same cases, readers and cases both taken as samples."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overread.cli.arguments import AsJson, Level

if TYPE_CHECKING:
    from overread.metrics.statistics.mrmc import Estimate
    from overread.runs.scoring.card import Card
    from overread.runs.scoring.group_comparison import CardGroupComparison


def mrmc(
    members: Annotated[
        list[str],
        typer.Argument(
            metavar="GROUP=CARD...",
            help="Scorecards or scored runs, each with its group: people=runs/ann people=runs/bob "
            "model=runs/model. Two groups.",
        ),
    ],
    metric: Annotated[
        str | None,
        typer.Option(help="Compare by this one; default: the first that all have.", metavar="NAME"),
    ] = None,
    paired: Annotated[
        bool,
        typer.Option(
            "--paired", help="The n-th card of each group is the same reader, without and with help."
        ),
    ] = False,
    fixed: Annotated[
        bool, typer.Option("--fixed", help="Say nothing of other readers than these; only cases vary.")
    ] = False,
    common: Annotated[
        bool, typer.Option("--common", help="Use only cases that all of them were graded on.")
    ] = False,
    level: Level = 0.95,
    as_json: AsJson = False,
) -> None:
    """Compare two groups of readers: do people read better than models, or with help than without?

    Another day other cases would have come and other readers would have been asked: both are taken
    into account by the analysis of Obuchowski and Rockette, with the degrees of freedom of Hillis. It
    takes any metric. A group of one reader stands for itself.
    """
    from overread.cli.console import print_json
    from overread.runs.scoring.group_comparison import compare_card_groups

    found = compare_card_groups(
        _read_groups(members),
        metric=metric,
        paired=paired,
        readers="fixed" if fixed else "random",
        units="common" if common else "same",
        level=level,
    )
    if as_json:
        print_json(found.as_json())
    else:
        _print(found)


def _read_groups(members: list[str]) -> dict[str, list[Card]]:
    """Group → its cards, in the order typed."""
    from overread.errors import UsageError
    from overread.runs.scoring.card import read_card

    groups: dict[str, list[Card]] = {}
    for word in members:
        group, equals, path = word.partition("=")
        if not equals or not group.strip() or not path:
            raise UsageError(
                f"'{word}' names no group", remedy="write GROUP=CARD, for instance people=runs/ann"
            )
        groups.setdefault(group.strip(), []).append(read_card(Path(path)))
    return groups


def _print(told: CardGroupComparison) -> None:
    from rich.table import Table

    from overread import catalog
    from overread.cli.console import safe, stdout_console
    from overread.metrics.statistics.result import format_p

    console, found = stdout_console(), told.found
    title = catalog.find("benchmarks", told.benchmark).title
    arrow = "↑" if told.metric.better == "higher" else "↓"
    console.print(
        f"[bold]{title} {told.split}[/]: {safe(told.metric.name)} {arrow}, {found.cases:,} patients or cases"
    )
    console.print()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("group", "reader", told.metric.name, f"{100 * found.level:g} % interval"):
        table.add_column(column, justify="right" if column == told.metric.name else "left")
    for group, own in found.groups.items():
        mean = found.means[group]
        table.add_row(f"[bold]{safe(group)}[/]", f"mean of {len(own)}", f"{mean.value:.3f}", _between(mean))
        for reader, value in own.items():
            table.add_row("", safe(reader), f"{value:.3f}", "")
    console.print(table)
    console.print()
    one, two = found.groups
    apart = found.difference
    df = "" if apart.df is None else f" on {apart.df:.1f} degrees of freedom"
    statistic = "" if found.t is None else f", {'z' if not df else 't'} = {found.t:.2f}{df}"
    console.print(
        f"{safe(one)} minus {safe(two)}: {apart.value:+.3f}, {_between(apart, sign='+')}"
        f"{statistic}, {format_p(found.p)}",
        soft_wrap=True,
    )
    for note in found.notes:
        console.print(f"note: {safe(note)}", style="dim", soft_wrap=True)


def _between(told: Estimate, sign: str = "") -> str:
    return f"{told.low:{sign}.3f} to {told.high:{sign}.3f}"
