"""Scorecards as tables in the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from overread.cli.arguments import parse_pairs

if TYPE_CHECKING:
    from rich.console import Console

    from overread.runs.scoring.card import Card, DescribedScore, GroupScores, Score

HONEST = "honest_"
CEILING = "ceiling_"
_TWINS = {HONEST: "missing = worst", CEILING: "ceiling"}
_GAP = 2
_HEADING_WIDTH = 20
"""Letters of a name above a column, as wide as a number with its interval."""
_NAME_ROOM = 24
"""Letters that names in the first column should have; columns that can be spared make way."""


class Column(NamedTuple):
    """One column of a table."""

    head: str
    texts: list[str]
    side: Literal["left", "right"] = "left"
    spare: int = 0
    """Whether it may be left out where the terminal is narrow; the highest number goes first."""


def print_card(card: Card, *, limit: int, saved: Path | None) -> None:
    """The scores of one reader, their breakdowns, and what was wrong."""
    from overread import catalog
    from overread.cli.console import safe, stdout_console
    from overread.runs.scoring.card import short_signature

    console = stdout_console()
    part = catalog.find("benchmarks", card.benchmark)
    console.print(f"[bold]{part.title} {card.split}[/], {safe(card.predictions)}: {_format_counts(card)}")
    console.print()
    plain = {name: score for name, score in card.scores.items() if not is_twin(name)}
    official = {name: score for name, score in plain.items() if HONEST + name in card.scores}
    _print_scores(console, card, official)
    _print_scores(console, card, {n: s for n, s in plain.items() if n not in official})
    for name in card.breakdowns:
        _print_breakdown(console, card, name)
    print_reasons(console, "not scored", card.not_attempted)
    _print_problems(console, card, limit)
    if saved is not None:
        console.print(f"written to {safe(str(saved))}")
    console.print(f"{safe(short_signature(card))}", style="dim")


def _format_counts(card: Card) -> str:
    parts = [f"{card.cases:,} cases"]
    for count, word, colour in (
        (card.missing, "missing", "red"),
        (card.failed, "failed", "red"),
        (card.not_judged, "not judged", "red"),
    ):
        if count:
            parts.append(f"[{colour}]{count:,} {word}[/]")
    return ", ".join(parts)


def _print_scores(console: Console, card: Card, scores: Mapping[str, DescribedScore]) -> None:
    """One line per score, with its honest variant and its ceiling beside it if it has them."""
    if not scores:
        return
    columns = [
        Column("score", list(scores)),
        Column("", ["↑" if score.better == "higher" else "↓" for score in scores.values()]),
    ]
    twins = {prefix: [card.scores.get(prefix + name) for name in scores] for prefix in _TWINS}
    head = "official" if any(twins[HONEST]) else "value"
    columns += _score_columns(head, list(scores.values()))
    if any(twins[HONEST]):
        value, *between = _score_columns(_TWINS[HONEST], twins[HONEST])
        columns += [value, *(column._replace(spare=3) for column in between)]
    if any(twins[CEILING]):
        best = [format_score(score)[0] if score else "" for score in twins[CEILING]]
        columns.append(Column(_TWINS[CEILING], best, "right", spare=1))
    columns.append(Column("n", [f"{score.n:,}" for score in scores.values()], "right"))
    print_columns(console, columns)


def _score_columns(head: str, scores: Iterable[Score | None]) -> list[Column]:
    """Numbers, and their intervals where there are any."""
    pairs = [format_score(score) for score in scores]
    between = [text for _, text in pairs]
    values = Column(head, [value for value, _ in pairs], "right")
    return [values, Column("interval", between, spare=2)] if any(between) else [values]


def _print_breakdown(console: Console, card: Card, name: str) -> None:
    """The groups of one breakdown, with the first few scores of the benchmark."""
    groups = card.breakdowns[name]
    shown = _headline_scores([m for m in card.scores if any(m in g.scores for g in groups.values())], card)
    if not shown or len(groups) < 2:
        return
    columns = [
        Column(name, [_group_name(name, group) for group in groups]),
        Column("n", [f"{_group_size(group, shown[0]):,}" for group in groups.values()], "right"),
    ]
    for place, metric in enumerate(shown):
        told = format_scores([group.scores.get(metric) for group in groups.values()])
        columns.append(Column(metric, told, spare=place))
    print_columns(console, columns)


def _headline_scores(names: list[str], card: Card) -> list[str]:
    """The few scores that stand for a card where there is no room for all."""
    shown = [name for name in names if not is_twin(name)]
    # Means over cases say nothing about a group that is in part of a case.
    shown = [name for name in shown if not name.endswith("_per_case")]
    shown = [name for name in shown if name in card.official] or shown
    # An F1 says more than its two halves.
    halves = re.compile(r"_(precision|recall)$")
    return [n for n in shown if halves.sub("_f1", n) == n or halves.sub("_f1", n) not in shown][:3]


def _group_name(breakdown: str, group: str) -> str:
    """A group as people call it: codes of categories come with their names."""
    from overread.ontology import finding_tree

    known = finding_tree().categories.get(group) if breakdown == "category" else None
    return f"{group} {known.name}" if known else group


def _group_size(group: GroupScores, metric: str) -> int:
    """How many units a score of the group rests on."""
    score = group.scores.get(metric)
    return score.n if score else group.n


def is_twin(name: str) -> bool:
    """Whether a score only stands beside another one."""
    return name.startswith(tuple(_TWINS))


def format_score(score: Score | None) -> list[str]:
    """A score and its interval as text, all to the same places; a few words where it has none."""
    if score is None or score.value is None:
        return ["–", ""]
    if score.low is None:
        return [format_number(score.value), score.note.partition(":")[0]]
    known = [value for value in (score.value, score.low, score.high) if value is not None]
    value, *ends = (format_number(value, among=known) for value in known)
    return [value, " – ".join(ends)]


def format_scores(scores: Iterable[Score | None]) -> list[str]:
    """Scores with their intervals, each as one text, the numbers below each other."""
    pairs = [format_score(score) for score in scores]
    width = max((len(value) for value, _ in pairs), default=0)
    return [f"{value:>{width}}{' ' * _GAP}{between}".rstrip() for value, between in pairs]


def format_number(value: float | None, *, among: Iterable[float] = ()) -> str:
    """A number to three places; large ones, or those among large ones, to two or one."""
    if value is None:
        return "–"
    largest = max(map(abs, (value, *among)))
    return f"{value:.{3 if largest < 10 else 2 if largest < 100 else 1}f}"


def print_columns(console: Console, columns: list[Column]) -> None:
    """A table; where room is short, columns are spared and names broken at their underscores."""
    from rich.table import Table

    from overread.cli.console import safe

    names, *others = columns
    longest = max(map(len, (names.head, *names.texts)))
    while (room := console.width - sum(_width(c) + _GAP for c in others)) < min(longest, _NAME_ROOM):
        least = max(others, key=lambda column: column.spare, default=names)
        if not least.spare:
            break
        others.remove(least)
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0))
    table.add_column(safe(names.head), overflow="fold")
    for column in others:
        head = safe(fold_name(column.head, _width(column)))
        table.add_column(head, justify=column.side, no_wrap=True, overflow="fold")
    first = [fold_name(text, max(room, 12)) for text in names.texts]
    for line in zip(first, *(column.texts for column in others), strict=True):
        table.add_row(*map(safe, line))
    console.print(table)
    console.print()


def _width(column: Column) -> int:
    """How wide a column is, its heading broken where that is longer than what is below."""
    inside = max(map(len, column.texts), default=0)
    return max(inside, *map(len, fold_name(column.head, max(inside, _HEADING_WIDTH)).split("\n")))


def fold_name(name: str, width: int) -> str:
    """A name broken after underscores, or anywhere where it has none, so that it fits.

    >>> fold_name("mean_global_dice_per_finding", 20)
    'mean_global_dice_\\nper_finding'
    """
    lines = [""]
    for part in re.findall(rf"[^_]{{1,{width}}}_?|_", name):
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def print_reasons(console: Console, what: str, reasons: Mapping[str, str]) -> None:
    """Names with why they are not there, those with the same reason in one line."""
    from rich.padding import Padding

    from overread.cli.console import safe

    alike: dict[str, list[str]] = {}
    for name, why in reasons.items():
        if not is_twin(name):
            alike.setdefault(why, []).append(name)
    for why, names in alike.items():
        console.print(f"{what}, {safe(why)}:", style="dim")
        console.print(Padding(safe(", ".join(names)), (0, 0, 0, _GAP), expand=False), style="dim")
    if alike:
        console.print()


def _print_problems(console: Console, card: Card, limit: int) -> None:
    from rich.padding import Padding

    from overread.cli.console import safe

    if not card.problems:
        return
    console.print(f"[yellow]{len(card.problems):,} note(s) on the predictions:[/]")
    for problem in card.problems[:limit]:
        console.print(Padding(safe(problem), (0, 0, 0, _GAP), expand=False))
    if len(card.problems) > limit:
        console.print(f"  … and {len(card.problems) - limit:,} more (--limit N, or --json for all)")
    console.print()


def expand_metrics(benchmark: str, words: list[str]) -> list[str]:
    """The metrics that somebody asked for; 'own' stands for the benchmark's, 'all' for all its."""
    from overread import catalog

    part = catalog.find("benchmarks", benchmark)
    groups = {"own": part.metrics, "all": (*part.metrics, *part.slower_metrics)}
    return [name for word in words for name in groups.get(word, (word,))]


def parse_settings(words: list[str]) -> dict[str, Any]:
    """'connectivity=26' as a name and a plain value, for each word."""
    import json

    found: dict[str, Any] = {}
    for name, value in parse_pairs(words, "--setting").items():
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found
