"""Combines the statistics of cases to scores: values, intervals, breakdowns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from overread.core import Entry
from overread.metrics import Metric, Statistics, measure_key
from overread.metrics.groups import find_groups
from overread.metrics.statistics.bootstrap import BootstrapDraws, Interval, breakdown, cluster_key
from overread.metrics.statistics.interval_rule import FEWEST, MANY, metric_bounds
from overread.runs.scoring.card import CaseStatistics, DescribedScore, GroupScores, Score

UnitKey = tuple[str, str]
"""(case, unit): what is paired when cards are compared."""
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

    rows: list[Statistics]
    places: list[UnitKey]
    """Where each row is from."""
    clusters: list[str]
    """Whose each row is: the patient where one is known, else the case."""

    def by_place(self) -> dict[UnitKey, Statistics]:
        """The rows by their case and unit."""
        return dict(zip(self.places, self.rows, strict=True))


def collect_units(statistics: Mapping[str, CaseStatistics], key: str) -> UnitRows:
    """The rows of one measure, in the order of case ids, whatever the order of files was."""
    units = UnitRows([], [], [])
    for case in sorted(statistics):
        found = statistics[case]
        for unit, row in found.rows.get(key, {}).items():
            units.rows.append(row)
            units.places.append((case, unit))
            units.clusters.append(cluster_key(case, found.patient))
    return units


def group_by_measure(metrics: Sequence[Metric]) -> dict[str, list[Metric]]:
    """Measure → the metrics that are made of it."""
    found: dict[str, list[Metric]] = {}
    for metric in metrics:
        found.setdefault(measure_key(metric), []).append(metric)
    return found


def compute_scores(
    metrics: Sequence[Metric],
    statistics: Mapping[str, CaseStatistics],
    entries: Mapping[str, Entry],
    bootstrap: BootstrapSettings,
) -> tuple[dict[str, DescribedScore], dict[str, dict[str, GroupScores]]]:
    """Every metric over all cases, and over each group of each breakdown."""
    scores: dict[str, DescribedScore] = {}
    groups: dict[str, dict[str, dict[str, Score]]] = {}
    sizes: dict[tuple[str, str], int] = {}
    for key, family in group_by_measure(metrics).items():
        units = collect_units(statistics, key)
        if not units.rows:
            continue
        members = {_ALL: list(range(len(units.rows))), **_group_members(units, entries)}
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
    judged = [place for place in inside if not metric.drops_missing or units.rows[place].get("judged", 1)]
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


def _group_members(units: UnitRows, entries: Mapping[str, Entry]) -> dict[tuple[str, str], list[int]]:
    """(breakdown, group) → the rows in it."""
    found: dict[tuple[str, str], list[int]] = {}
    for place, (case, unit) in enumerate(units.places):
        for name, groups in find_groups(entries[case], unit.partition("@")[0]).items():
            for group in groups:
                found.setdefault((name, group), []).append(place)
    return found


def _group_sort_key(group: str) -> tuple[float, str]:
    """Groups that begin with a number by that number, before the others."""
    digits = ""
    for letter in group:
        if not letter.isdigit():
            break
        digits += letter
    return (float(digits) if digits else float("inf"), group)
