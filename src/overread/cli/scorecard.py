"""Scorecards as tables in the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from overread.runs.card import Card, Group, Score

HONEST = "honest_"
CEILING = "ceiling_"
_TWINS = {HONEST: "missing = worst", CEILING: "ceiling"}


def print_card(card: Card, *, limit: int, saved: Path | None) -> None:
    """The scores of one reader, their breakdowns, and what was wrong."""
    from overread import catalog
    from overread.cli.console import out, safe
    from overread.runs.card import short_signature

    console = out()
    part = catalog.find("benchmarks", card.benchmark)
    console.print(f"[bold]{part.title} {card.split}[/], {safe(card.predictions)}: {_counts(card)}")
    console.print()
    _print_scores(console, card)
    for name, groups in card.breakdowns.items():
        _print_breakdown(console, card, name, groups.keys())
    for name, why in card.not_attempted.items():
        console.print(f"not scored: {safe(name)} ({safe(why)})", style="dim")
    _print_problems(console, card, limit)
    if saved is not None:
        console.print(f"written to {safe(str(saved))}")
    console.print(f"{safe(short_signature(card))}", style="dim")


def _counts(card: Card) -> str:
    parts = [f"{card.cases:,} cases"]
    for count, word, colour in (
        (card.missing, "missing", "red"),
        (card.failed, "failed", "red"),
        (card.not_judged, "not judged", "red"),
    ):
        if count:
            parts.append(f"[{colour}]{count:,} {word}[/]")
    return ", ".join(parts)


def _print_scores(console: Console, card: Card) -> None:
    """One line a score; where the official rule hides something, its twins stand beside it."""
    from rich.table import Table

    from overread.cli.console import safe

    twins = [p for p in _TWINS if any(name.startswith(p) for name in card.scores)]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("score", overflow="fold")
    table.add_column("")
    table.add_column("official" if HONEST in twins else "value", justify="right")
    table.add_column("interval", no_wrap=True)
    for prefix in twins:
        table.add_column(_TWINS[prefix], justify="right")
        if prefix == HONEST:
            table.add_column("interval", no_wrap=True)
    table.add_column("n", justify="right")
    for name, score in card.scores.items():
        if is_twin(name):
            continue
        line = [safe(name), "↑" if score.better == "higher" else "↓", *cells(score)]
        for prefix in twins:
            twin = card.scores.get(prefix + name)
            shown = cells(twin) if twin else ["", ""]
            line += shown if prefix == HONEST else shown[:1]
        table.add_row(*line, f"{score.n:,}")
    console.print(table)
    console.print()


def _print_breakdown(console: Console, card: Card, name: str, groups: Iterable[str]) -> None:
    """The groups of one breakdown, with the first few scores of the benchmark."""
    from rich.table import Table

    from overread.cli.console import safe

    found = card.breakdowns[name]
    measured = {metric for group in found.values() for metric in group.scores}
    shown = [m for m in card.scores if m in measured and not is_twin(m)]
    # Means over cases say nothing about a group that is in part of a case.
    shown = [m for m in shown if not m.endswith("_per_case")]
    shown = [m for m in shown if m in card.official][:3] or shown[:3]
    if not shown or len(found) < 2:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(name, overflow="fold")
    table.add_column("n", justify="right")
    for metric in shown:
        table.add_column(safe(metric), justify="right", overflow="fold")
        table.add_column("interval", no_wrap=True)
    for group in groups:
        line = [c for m in shown for c in cells(found[group].scores.get(m))]
        table.add_row(safe(group), f"{_size(found[group], shown[0]):,}", *line)
    console.print(table)
    console.print()


def _size(group: Group, metric: str) -> int:
    """How many units a score of the group rests on."""
    score = group.scores.get(metric)
    return score.n if score else group.n


def is_twin(name: str) -> bool:
    """Whether a score only stands beside another one."""
    return name.startswith(tuple(_TWINS))


def cells(score: Score | None) -> list[str]:
    """A score and its interval as text."""
    if score is None or score.value is None:
        return ["–", ""]
    between = "" if score.low is None else f"{number(score.low)} – {number(score.high)}"
    return [number(score.value), between]


def number(value: float | None) -> str:
    """A number to three places; large ones to one."""
    if value is None:
        return "–"
    return f"{value:.3f}" if abs(value) < 100 else f"{value:.1f}"


def _print_problems(console: Console, card: Card, limit: int) -> None:
    from overread.cli.console import safe

    if not card.problems:
        return
    console.print(f"[yellow]{len(card.problems):,} thing(s) to know of the predictions:[/]")
    for problem in card.problems[:limit]:
        console.print(f"  {safe(problem)}")
    if len(card.problems) > limit:
        console.print(f"  … and {len(card.problems) - limit:,} more (--limit N, or --json for all)")
    console.print()


def chosen_names(benchmark: str, words: list[str]) -> list[str]:
    """The metrics that somebody asked for; 'own' stands for the benchmark's, 'all' for all its."""
    from overread import catalog

    part = catalog.find("benchmarks", benchmark)
    groups = {"own": part.metrics, "all": (*part.metrics, *part.slower_metrics)}
    return [name for word in words for name in groups.get(word, (word,))]


def parsed_settings(words: list[str]) -> dict[str, Any]:
    """'connectivity=26' as a name and a plain value, for each word."""
    import json

    from overread.errors import UsageError

    found: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise UsageError(f"'{word}' is no setting", remedy="write it as NAME=VALUE")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found
