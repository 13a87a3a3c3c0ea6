"""Combines the statistics of cases to scores: values, intervals, breakdowns."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any

from overread.metrics import Metric, Statistics, measure_key
from overread.metrics.rows import ColumnRows, ListedRows, StatisticRows
from overread.metrics.statistics.bootstrap import BootstrapDraws, Interval, breakdown, cluster_key
from overread.metrics.statistics.interval_rule import FEWEST, MANY, metric_bounds
from overread.runs.scoring.card import CaseStatistics, DescribedScore, GroupScores, Score
from overread.storage.spilled import SpilledMapping

UnitKey = tuple[str, str]
"""(case, unit): what is paired when cards are compared."""
UnitGroups = dict[str, dict[str, tuple[str, ...]]]
"""Unit of a case → breakdown → the groups that it is in."""
RULE = f"Wilson or t over patients, none under {FEWEST}; other than ratios draws from {MANY} on"
"""How intervals are chosen, in the words of a signature."""
_ALL = ("", "")


@dataclass(frozen=True)
class BootstrapSettings:
    """Settings of the intervals; draws are of whole patients, and with 0 of them there are no intervals."""

    draws: int = 1000
    seed: int = 0
    level: float = 0.95

    def as_settings(self) -> dict[str, Any]:
        """What of this changes an interval."""
        return {
            "method": RULE,
            "draws": self.draws,
            "seed": self.seed,
            "level": self.level,
        }


@dataclass(frozen=True)
class UnitRows:
    """Everything that one measure gave, as rows with their case and unit."""

    rows: StatisticRows
    places: list[UnitKey]
    """Where each row is from."""
    clusters: list[str]
    """Whose each row is: the patient where one is known, else the case."""
    members: dict[tuple[str, str], array[int]] = field(default_factory=dict)
    """(breakdown, group) → the rows in it, where groups were asked for."""

    def by_place(self) -> dict[UnitKey, Statistics]:
        """The rows by their case and unit."""
        return dict(zip(self.places, self.rows, strict=True))


def collect_units(statistics: Mapping[str, CaseStatistics], key: str) -> UnitRows:
    """The rows of one measure, in the order of case ids, whatever the order of files was."""
    return collect_measures(statistics, [key])[key]


def collect_measures(
    statistics: Mapping[str, CaseStatistics],
    keys: Iterable[str],
    *,
    groups_of: Mapping[str, UnitGroups] | None = None,
    states: dict[str, str] | None = None,
) -> dict[str, UnitRows]:
    """Measure → its rows; every case is looked at once.

    Of statistics that are not in memory only the numbers come into it. With `groups_of`, the groups of
    each case's units, rows are sorted into them; `states` is filled with what became of each case.
    """
    found = {key: _UnitCollector(statistics, key) for key in keys}
    for case in sorted(statistics):
        own = statistics[case]
        cluster = cluster_key(case, own.patient)
        groups = {} if groups_of is None else groups_of[case]
        places: dict[str, UnitKey] = {}
        if states is not None:
            states[case] = own.state
        for key, collector in found.items():
            for unit, row in own.rows.get(key, {}).items():
                within = groups[unit.partition("@")[0]] if groups else {}
                collector.add(row, places.setdefault(unit, (case, unit)), cluster, within)
    return {key: collector.units for key, collector in found.items()}


class _UnitCollector:
    """The rows of one measure while they are collected."""

    def __init__(self, statistics: Mapping[str, CaseStatistics], key: str) -> None:
        self._statistics, self._key = statistics, key
        self._listed: list[Statistics] = []
        self._columns: ColumnRows | None = None
        if isinstance(statistics, SpilledMapping) and statistics.spills:
            self._columns = ColumnRows(self._fetch_all, self._fetch)
        self.units = UnitRows(ListedRows(self._listed) if self._columns is None else self._columns, [], [])

    def add(
        self, row: Statistics, place: UnitKey, cluster: str, within: Mapping[str, tuple[str, ...]]
    ) -> None:
        for breakdown_name, groups in within.items():
            for group in groups:
                inside = self.units.members.setdefault((breakdown_name, group), array("q"))
                inside.append(len(self.units.places))
        if self._columns is None:
            self._listed.append(row)
        else:
            self._columns.add(row)
        self.units.places.append(place)
        self.units.clusters.append(cluster)

    def _fetch(self, place: int) -> Statistics:
        case, unit = self.units.places[place]
        return self._statistics[case].rows[self._key][unit]

    def _fetch_all(self) -> Iterator[Statistics]:
        # Rows of one case stand together.
        for case, places in groupby(self.units.places, key=itemgetter(0)):
            own = self._statistics[case].rows[self._key]
            yield from (own[unit] for _, unit in places)


def group_by_measure(metrics: Sequence[Metric]) -> dict[str, list[Metric]]:
    """Measure → the metrics that are made of it."""
    found: dict[str, list[Metric]] = {}
    for metric in metrics:
        found.setdefault(measure_key(metric), []).append(metric)
    return found


def compute_scores(
    metrics: Sequence[Metric],
    statistics: Mapping[str, CaseStatistics],
    groups_of: Mapping[str, UnitGroups],
    bootstrap: BootstrapSettings,
) -> tuple[dict[str, DescribedScore], dict[str, dict[str, GroupScores]]]:
    """Every metric over all cases, and over each group of each breakdown.

    `groups_of` has the groups of each case's units.
    """
    scores: dict[str, DescribedScore] = {}
    groups: dict[str, dict[str, dict[str, Score]]] = {}
    sizes: dict[tuple[str, str], int] = {}
    families = group_by_measure(metrics)
    collected = collect_measures(statistics, families, groups_of=groups_of)
    for key, family in families.items():
        units = collected.pop(key)
        if not len(units.rows):
            continue
        members = {_ALL: array("q", range(len(units.rows))), **units.members}
        names = {f"{number}": member for number, member in enumerate(members)}
        draws = BootstrapDraws(units.clusters, draws=bootstrap.draws, seed=bootstrap.seed)
        found = breakdown(
            {metric.name: metric.combine for metric in family},
            units.rows,
            draws,
            {name: members[member] for name, member in names.items()},
            level=bootstrap.level,
            bounds={metric.name: metric_bounds(metric) for metric in family},
        )
        for name, (kind, group) in names.items():
            inside = members[kind, group]
            sizes.setdefault((kind, group), len(inside))  # as the headline counts them
            for metric in family:
                score = _make_score(metric, units, inside, found[name][metric.name])
                if kind and metric.drops_missing and not score.n:
                    # An official scorer's number of nothing is its own; it knows no groups.
                    score = Score(value=None, n=0)
                if not kind:
                    scores[metric.name] = DescribedScore(
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
            group: GroupScores(n=sizes[kind, group], scores=told)
            for group, told in sorted(inside.items(), key=lambda item: _group_sort_key(item[0]))
        }
        for kind, inside in groups.items()
    }


def _make_score(metric: Metric, units: UnitRows, inside: Sequence[int], found: Interval) -> Score:
    judged: Sequence[int] = inside
    if metric.drops_missing:
        counted = units.rows.row_values(_is_judged)
        judged = [place for place in inside if counted[place]]
    n = len({units.places[place][0] for place in judged} if metric.counts == "cases" else judged)
    # Percentiles of no draws: nothing was asked for, or nothing is there.
    made = bool(found.draws) or found.method not in ("percentile", "bca")
    return Score(
        value=found.value,
        low=found.low,
        high=found.high,
        n=n,
        method=found.method if made else "",
        note=found.note if made else "",
    )


def _is_judged(row: Statistics) -> float:
    return float(bool(row.get("judged", 1)))


def _group_sort_key(group: str) -> tuple[float, str]:
    """Groups that begin with a number by that number, before the others."""
    digits = ""
    for letter in group:
        if not letter.isdigit():
            break
        digits += letter
    return (float(digits) if digits else float("inf"), group)
