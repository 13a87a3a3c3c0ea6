"""Two groups of scorecards on the same cases: people against models, or people without and with help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from overread.errors import UsageError
from overread.metrics import Metric, measure_key
from overread.metrics.statistics.bootstrap import cluster_key
from overread.metrics.statistics.mrmc import GroupComparison, Readers, compare_groups
from overread.metrics.statistics.unit_pairs import UnitChoice
from overread.runs.scoring.aggregation import BootstrapSettings, collect_units
from overread.runs.scoring.card import Card
from overread.runs.scoring.comparison import compare


@dataclass(frozen=True)
class CardGroupComparison:
    """What came of comparing two groups of scorecards by one metric."""

    metric: Metric
    benchmark: str
    split: str
    found: GroupComparison

    def as_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "kind": "overread group comparison 1",
            "benchmark": self.benchmark,
            "split": self.split,
            "metric": self.metric.name,
            "better": self.metric.better,
            "settings": dict(self.metric.settings),
            "method": "Obuchowski-Rockette, jackknife over patients, degrees of freedom of Hillis",
            **self.found.as_dict(),
        }


def compare_card_groups(
    groups: Mapping[str, Sequence[Card]],
    *,
    metric: str | None = None,
    paired: bool = False,
    readers: Readers = "random",
    units: UnitChoice = "same",
    level: float = 0.95,
) -> CardGroupComparison:
    """Compare two groups of readers; without a name by the first metric that all cards have.

    The cards must be of the same cases, and pass every check of `compare`.
    """
    if len(groups) != 2 or not all(groups.values()):
        raise UsageError(
            f"{len(groups)} group(s) were given, and two are compared",
            remedy="name two groups, for instance people=runs/ann people=runs/bob model=runs/model",
        )
    places = [(group, card) for group, cards in groups.items() for card in cards]
    names = _name_readers(places)
    checked = compare(
        [card for _, card in places],
        names=[f"{group}: {name}" for (group, _), name in zip(places, names, strict=True)],
        metrics=[metric] if metric else [],
        units=units,
        bootstrap=BootstrapSettings(draws=0, level=level),
    )
    chosen = next(iter(checked.metrics.values())).metric
    rows: dict[str, dict[str, Any]] = {group: {} for group in groups}
    clusters: dict[Any, str] = {}
    for (group, card), name in zip(places, names, strict=True):
        own = collect_units(card.statistics, measure_key(chosen)).by_place()
        rows[group][name] = own
        clusters |= {place: cluster_key(place[0], card.statistics[place[0]].patient) for place in own}
    found = compare_groups(
        chosen.combine, rows, clusters=clusters, paired=paired, readers=readers, units=units, level=level
    )
    first = places[0][1]
    return CardGroupComparison(chosen, first.benchmark, first.split, found)


def _name_readers(places: Sequence[tuple[str, Card]]) -> list[str]:
    """What each reader is called: people of one group are all the reader 'person', and then the
    runs' own names tell them apart; what is still equal gets a number.
    """
    names: list[str] = []
    used: set[tuple[str, str]] = set()
    for group, card in places:
        alike = [other for own, other in places if own == group and other.reader == card.reader]
        told = card.predictions if len({other.predictions for other in alike}) > 1 else card.reader
        name, count = told, 1
        while (group, name) in used:
            count += 1
            name = f"{told} ({count})"
        used.add((group, name))
        names.append(name)
    return names
