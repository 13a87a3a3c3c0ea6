"""`overread compare`: several graded submissions side by side, paired."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overread.cli.arguments import AsJson, Draws, Level, Seed

if TYPE_CHECKING:
    from rich.console import Console

    from overread.runs.scoring.comparison import CardComparison, MetricComparison


def compare(
    cards: Annotated[
        list[Path],
        typer.Argument(
            metavar="CARD...", help="Scorecards that `overread grade --out` wrote, or scored runs."
        ),
    ],
    as_json: AsJson = False,
    baseline: Annotated[
        str | None, typer.Option(help="Reader to compare the others with; default: the first.")
    ] = None,
    name: Annotated[
        list[str] | None, typer.Option(help="What to call the readers, once for each card.", metavar="NAME")
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option(help="Compare by this one only; repeat for several.", metavar="NAME")
    ] = None,
    common: Annotated[
        bool, typer.Option("--common", help="Use only cases that all of them were graded on.")
    ] = False,
    draws: Draws = 1000,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Set readers of the same split side by side: scores, paired differences, ranks.

    Differences come with an interval over whole patients, and a p from swapping the readers within
    patients; right-or-wrong scores with McNemar's test too, exact and mid-p. Ranks come with sets that
    hold for all readers at once, with the range that draws leave open, and pairs are tested by
    Wilcoxon's signed-rank test with Holm's correction.
    """
    from overread.cli.console import print_json
    from overread.runs.scoring.aggregation import BootstrapSettings
    from overread.runs.scoring.card import read_card
    from overread.runs.scoring.comparison import compare as compared

    found = compared(
        [read_card(path) for path in cards],
        names=name or (),
        baseline=baseline,
        metrics=metric or (),
        units="common" if common else "same",
        bootstrap=BootstrapSettings(draws=draws, seed=seed, level=level),
    )
    if as_json:
        print_json(found.as_json())
    else:
        _print(found, chosen=bool(metric))


def _print(found: CardComparison, *, chosen: bool) -> None:
    from overread import catalog
    from overread.cli.console import safe, stdout_console
    from overread.cli.scorecard import HONEST, is_twin, print_reasons
    from overread.runs.scoring.comparison import honest_twin

    console = stdout_console()
    first = found.cards[found.baseline]
    title = catalog.find("benchmarks", first.benchmark).title
    console.print(f"[bold]{title} {first.split}[/]: {len(found.cards)} readers")
    for reader, card in found.cards.items():
        lost = [f"{n} {w}" for n, w in ((card.missing, "missing"), (card.failed, "failed")) if n]
        console.print(f"  {safe(reader)}: {card.cases:,} cases{', ' * bool(lost)}{', '.join(lost)}")
    console.print()
    # Where something is missing the official numbers are of different cases, and favour whoever
    # left out the hard ones: the honest ones belong beside them.
    lacking = any(card.missing or card.failed for card in found.cards.values())
    shown = [m for m in found.metrics if chosen or not is_twin(m) or (lacking and m.startswith(HONEST))]
    _print_scores(console, found, shown)
    _print_differences(console, found, shown)
    if len(found.cards) > 2 and shown:
        ranked = shown[0] if chosen else honest_twin(shown[0], found.metrics)
        _print_ranks(console, found.metrics[ranked])
    print_reasons(console, "not compared", found.left_out)


def _print_scores(console: Console, found: CardComparison, shown: list[str]) -> None:
    """One column a reader; where they do not all fit, one table below the other."""
    from overread.cli.scorecard import Column, format_scores, print_columns

    arrows = ["↑" if found.metrics[m].metric.better == "higher" else "↓" for m in shown]
    readers = [
        Column(reader, format_scores([card.scores[metric] for metric in shown]))
        for reader, card in found.cards.items()
    ]
    longest = max(map(len, shown), default=0)
    beside = max(1, (console.width - min(longest, 30) - 5) // _READER_WIDTH)
    for start in range(0, len(readers), beside):
        part = readers[start : start + beside]
        print_columns(console, [Column("score", shown), Column("", arrows), *part])


_READER_WIDTH = 24
"""Width of a reader's column: a number, its interval, and some room."""


def _print_differences(console: Console, found: CardComparison, shown: list[str]) -> None:
    from rich.table import Table

    from overread.cli.console import safe

    console.print(f"[bold]against {safe(found.baseline)}[/]")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("reader", "score", "difference", "interval", "p", "McNemar's p", "mid-p"):
        table.add_column(column, justify="right" if column == "difference" else "left")
    notes: dict[str, None] = {}
    for metric in shown:
        compared = found.metrics[metric]
        for reader, apart in compared.differences.items():
            span = apart.difference
            between = span.note.partition(":")[0] if found.bootstrap.draws else ""
            if span.low is not None:
                between = f"{span.low:+.3f} to {span.high:+.3f}"
            test = compared.mcnemar.get(reader)
            table.add_row(
                safe(reader),
                safe(metric),
                "–" if span.value is None else f"{span.value:+.3f}",
                between,
                _format_p(apart.p),
                _format_p(test.exact_p) if test else "",
                _format_p(test.mid_p) if test else "",
            )
            notes |= dict.fromkeys((*apart.notes, *(test.notes if test else ())))
            if any(apart.left_out):
                notes |= {f"{reader}: {sum(apart.left_out)} units left out": None}
    console.print(table)
    for note in notes:
        console.print(f"note: {safe(note)}", style="dim")
    console.print()


def _format_p(value: float | None) -> str:
    """A p below the heading that says so."""
    from overread.metrics.statistics.result import format_p

    return "–" if value is None else format_p(value).removeprefix("p ").removeprefix("= ")


def _print_ranks(console: Console, compared: MetricComparison) -> None:
    from rich.table import Table

    from overread.cli.console import safe
    from overread.cli.scorecard import format_number

    if compared.ranking is None:
        return
    console.print(f"[bold]ranks by {safe(compared.metric.name)}[/]")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("rank", "reader", "score", "sure set", "by draws", "first in", "by Wilcoxon"):
        table.add_column(column)
    for rank in compared.ranking.ranks:
        between = "" if rank.low is None else f"{rank.low:g} – {rank.high:g}"
        share = "" if rank.first is None else f"{rank.first:.0%} of draws"
        tested = compared.significance
        left = "{} – {}".format(*tested.ranges[rank.reader]) if tested else ""
        sure = "" if rank.best is None else f"{rank.best} – {rank.worst}"
        value = format_number(rank.value)
        table.add_row(f"{rank.rank:g}", safe(rank.reader), value, sure, between, share, left)
    console.print(table)
    if compared.ranking.ranks[0].best is not None:
        level = compared.ranking.level
        console.print(f"sure sets hold for all readers at once, in {level:.0%} of samples", style="dim")
    console.print()
