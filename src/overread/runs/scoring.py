"""From statistics of cases to scores: point values, intervals, breakdowns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from overread.core import Entry
from overread.metrics import Metric, Statistics
from overread.metrics.groups import groups_of
from overread.metrics.statistics.bootstrap import Draws, Interval, breakdown, cluster_key
from overread.runs.card import CaseStatistics, Described, Group, Score, measure_key

_ALL = ("", "")


@dataclass(frozen=True)
class Drawing:
    """How intervals are made: bootstrap draws of whole patients."""

    draws: int = 1000
    seed: int = 0
    level: float = 0.95

    def as_settings(self) -> dict[str, Any]:
        """What of this changes an interval."""
        return {
            "method": "percentile bootstrap over patients",
            "draws": self.draws,
            "seed": self.seed,
            "level": self.level,
        }


@dataclass(frozen=True)
class Units:
    """Everything that one measure gave, as rows with their case and unit."""

    rows: list[Statistics]
    places: list[tuple[str, str]]
    """(case, unit) of each row."""
    clusters: list[str]
    """Whose each row is: the patient where one is known, else the case."""


def units_of(statistics: Mapping[str, CaseStatistics], key: str) -> Units:
    """The rows of one measure, in the order of case ids, whatever the order of files was."""
    units = Units([], [], [])
    for case in sorted(statistics):
        found = statistics[case]
        for unit, row in found.rows.get(key, {}).items():
            units.rows.append(row)
            units.places.append((case, unit))
            units.clusters.append(cluster_key(case, found.patient))
    return units


def families(metrics: Sequence[Metric]) -> dict[str, list[Metric]]:
    """Measure → the metrics that are made of it."""
    found: dict[str, list[Metric]] = {}
    for metric in metrics:
        found.setdefault(measure_key(metric), []).append(metric)
    return found


def scores_of(
    metrics: Sequence[Metric],
    statistics: Mapping[str, CaseStatistics],
    entries: Mapping[str, Entry],
    drawing: Drawing,
) -> tuple[dict[str, Described], dict[str, dict[str, Group]]]:
    """Every metric over all cases, and over each group of each breakdown."""
    scores: dict[str, Described] = {}
    groups: dict[str, dict[str, dict[str, Score]]] = {}
    sizes: dict[tuple[str, str], int] = {}
    for key, family in families(metrics).items():
        units = units_of(statistics, key)
        if not units.rows:
            continue
        members = {_ALL: list(range(len(units.rows))), **_members(units, entries)}
        names = {f"{number}": member for number, member in enumerate(members)}
        draws = Draws(units.clusters, draws=drawing.draws, seed=drawing.seed)
        found = breakdown(
            {metric.name: metric.combine for metric in family},
            units.rows,
            draws,
            {name: members[member] for name, member in names.items()},
            level=drawing.level,
        )
        for name, (kind, group) in names.items():
            inside = members[kind, group]
            sizes.setdefault((kind, group), len(inside))  # as the headline counts them
            for metric in family:
                score = _score(metric, units, inside, found[name][metric.name])
                if not kind:
                    scores[metric.name] = Described(
                        **score.model_dump(),
                        better=metric.better,
                        about=metric.about,
                        reference=metric.reference,
                    )
                else:
                    groups.setdefault(kind, {}).setdefault(group, {})[metric.name] = score
    ordered = {metric.name: scores[metric.name] for metric in metrics if metric.name in scores}
    return ordered, {
        kind: {
            group: Group(n=sizes[kind, group], scores=told)
            for group, told in sorted(inside.items(), key=lambda item: _in_order(item[0]))
        }
        for kind, inside in groups.items()
    }


def _score(metric: Metric, units: Units, inside: Sequence[int], found: Interval) -> Score:
    judged = [
        place for place in inside if not metric.drops_missing or units.rows[place].get("judged", 1)
    ]
    n = len({units.places[place][0] for place in judged} if metric.counts == "cases" else judged)
    return Score(value=found.value, low=found.low, high=found.high, n=n)


def _members(units: Units, entries: Mapping[str, Entry]) -> dict[tuple[str, str], list[int]]:
    """(breakdown, group) → the rows in it."""
    found: dict[tuple[str, str], list[int]] = {}
    for place, (case, unit) in enumerate(units.places):
        for name, groups in groups_of(entries[case], unit.partition("@")[0]).items():
            for group in groups:
                found.setdefault((name, group), []).append(place)
    return found


def _in_order(group: str) -> tuple[float, str]:
    """Groups that begin with a number by that number, before the others."""
    digits = ""
    for letter in group:
        if not letter.isdigit():
            break
        digits += letter
    return (float(digits) if digits else float("inf"), group)
