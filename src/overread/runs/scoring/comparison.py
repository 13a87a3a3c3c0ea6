"""Several scorecards of the same split side by side, paired case by case."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from overread import catalog
from overread.core.notebook import html_table
from overread.core.notice import NOTICE
from overread.errors import OverreadError, UnknownName, UsageError
from overread.metrics import Metric, Sample, Statistics, measure_key
from overread.metrics.statistics.bootstrap import cluster_key
from overread.metrics.statistics.interval_rule import metric_bounds
from overread.metrics.statistics.paired_tests import Difference, McNemar, difference, mcnemar
from overread.metrics.statistics.ranks import Ranking, Significance, rank_ranges, significance
from overread.metrics.statistics.unit_pairs import UnitChoice
from overread.runs.scoring.aggregation import BootstrapSettings, UnitKey, collect_units
from overread.runs.scoring.card import Card
from overread.runs.scoring.case_scores import score_cases
from overread.runs.scoring.metric_selection import find_metric, with_card_settings


@dataclass(frozen=True)
class MetricComparison:
    """One metric of several readers: differences from the baseline, ranks, and who beats whom."""

    metric: Metric
    differences: dict[str, Difference]
    """Reader → its number minus the baseline's."""
    mcnemar: dict[str, McNemar]
    """Reader → McNemar's test against the baseline, where the metric counts right and wrong."""
    ranking: Ranking | None
    significance: Significance | None

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "better": self.metric.better,
            "differences": {name: found.as_dict() for name, found in self.differences.items()},
            "mcnemar": {name: found.as_dict() for name, found in self.mcnemar.items()},
            "ranking": self.ranking.as_dict() if self.ranking else None,
            "significance": self.significance.as_dict() if self.significance else None,
        }


@dataclass(frozen=True)
class CardComparison:
    """What came of comparing scorecards."""

    cards: dict[str, Card]
    """Reader → its card, the baseline first."""
    baseline: str
    metrics: dict[str, MetricComparison]
    left_out: dict[str, str]
    """Metric → why it was not compared."""
    bootstrap: BootstrapSettings

    def as_json(self) -> dict[str, Any]:
        """Plain JSON."""
        first = self.cards[self.baseline]
        return {
            "kind": "overread comparison 1",
            "benchmark": first.benchmark,
            "split": first.split,
            "baseline": self.baseline,
            "scores": {
                reader: {name: card.scores[name].model_dump() for name in self.metrics}
                for reader, card in self.cards.items()
            },
            "metrics": {name: compared.as_dict() for name, compared in self.metrics.items()},
            "left_out": self.left_out,
            "signature": {
                "settings": {name: dict(c.metric.settings) for name, c in self.metrics.items()},
                "intervals": self.bootstrap.as_settings(),
                "cards": {reader: card.signature for reader, card in self.cards.items()},
            },
        }

    def _repr_html_(self) -> str:
        """In a notebook: each reader's numbers, and how far they are from the baseline's."""
        rows: list[tuple[object, ...]] = []
        for name, compared in self.metrics.items():
            for reader, card in self.cards.items():
                found = compared.differences.get(reader)
                apart = found.difference if found else None
                told = (apart.value, apart.low, apart.high) if apart else (None, None, None)
                p = found.p if found else None
                rows.append((name, reader, card.scores[name].value, *told, p))
        head = ("metric", "reader", "value", f"minus {self.baseline}", "low", "high", "p")
        first = self.cards[self.baseline]
        return html_table(f"{first.benchmark} {first.split}", rows, head=head, note=NOTICE)


def compare(
    cards: Sequence[Card],
    *,
    names: Sequence[str] = (),
    baseline: str | None = None,
    metrics: Sequence[str] = (),
    units: UnitChoice = "same",
    bootstrap: BootstrapSettings | None = None,
) -> CardComparison:
    """Compare readers on the same cases, each with the baseline (the first one without a name).

    `names` are what to call the readers where their cards' own names are not wanted. Cases that not
    all of them have are refused unless `units` is 'common'.
    """
    bootstrap = bootstrap or BootstrapSettings()
    called = _name_cards(cards, names)
    if len(called) < 2:
        raise UsageError("a comparison needs at least two scorecards")
    _check_same_split(called)
    if baseline is not None and baseline not in called:
        raise catalog.unknown_name("reader", baseline, called)
    first = baseline or next(iter(called))
    ordered = {first: called[first], **called}
    chosen, left_out = common_metrics(ordered, metrics)
    measured = {
        key: {reader: collect_units(card.statistics, key).by_place() for reader, card in ordered.items()}
        for key in dict.fromkeys(map(measure_key, chosen))
    }
    for metric in chosen:
        for reader, own in measured[measure_key(metric)].items():
            _check_score_matches(metric, list(own.values()), ordered[reader], reader)
    for rows in measured.values():
        _check_same_cases(rows, units)
    clusters = {
        place: cluster_key(place[0], card.statistics[place[0]].patient)
        for card in ordered.values()
        for place in _unit_keys(card)
    }
    found = {
        metric.name: _compare_metric(metric, measured[measure_key(metric)], clusters, first, units, bootstrap)
        for metric in chosen
    }
    return CardComparison(ordered, first, found, left_out, bootstrap)


def _compare_metric(
    metric: Metric,
    rows: Mapping[str, Mapping[UnitKey, Statistics]],
    clusters: Mapping[UnitKey, str],
    first: str,
    units: UnitChoice,
    drawing: BootstrapSettings,
) -> MetricComparison:
    how: dict[str, Any] = {"clusters": clusters, "units": units, "level": drawing.level}
    drawn: dict[str, Any] = {"draws": drawing.draws, "seed": drawing.seed}
    apart, tests = {}, {}
    for reader, own in rows.items():
        if reader == first:
            continue
        apart[reader] = difference(
            metric.combine, own, rows[first], bounds=metric_bounds(metric), **how, **drawn
        )
        if metric.binary:
            judged = _judged_units(metric, rows[reader], rows[first])
            right = {
                name: {place: _is_right(metric, rows[name][place]) for place in places}
                for name, places in zip((reader, first), judged, strict=True)
            }
            tests[reader] = mcnemar(right[reader], right[first], clusters=clusters, units=units)
    if any(found.first is None or found.second is None for found in apart.values()):
        return MetricComparison(metric, apart, tests, None, None)
    ranking = rank_ranges(metric.combine, rows, better=metric.better, **how, **drawn)
    scores = {reader: score_cases(metric, own) for reader, own in rows.items()}
    # A case that leaves one reader's number undefined says nothing about who is better on it.
    defined = [{case for case, score in own.items() if np.isfinite(score)} for own in scores.values()]
    usable = set.intersection(*defined)
    beaten = None
    if usable:
        beaten = significance(
            {reader: {c: s[c] for c in usable} for reader, s in scores.items()},
            better=metric.better,
            clusters={case: clusters[case, unit] for case, unit in clusters},
            level=drawing.level,
        )
    return MetricComparison(metric, apart, tests, ranking, beaten)


def honest_twin(name: str, names: Container[str]) -> str:
    """What readers are ranked by instead of a score: its honest variant where there is one, since an
    official number that leaves out missing cases is of other cases for each reader.
    """
    return f"honest_{name}" if f"honest_{name}" in names else name


def _is_right(metric: Metric, row: Statistics) -> int:
    """A metric's 0 or 1 of one unit; by an official rule, what the official scorer makes of it."""
    right = row.get(metric.binary, 0)
    return int(right + row.get(f"official_change_{metric.binary}", 0) if metric.drops_missing else right)


def _judged_units(
    metric: Metric, one: Mapping[UnitKey, Statistics], other: Mapping[UnitKey, Statistics]
) -> tuple[set[UnitKey], set[UnitKey]]:
    """The units of two readers; where a rule leaves out the missing, without those of either."""
    if not metric.drops_missing:
        return set(one), set(other)
    lost = {place for rows in (one, other) for place, row in rows.items() if not row.get("judged", 1)}
    return set(one) - lost, set(other) - lost


def _name_cards(cards: Sequence[Card], names: Sequence[str]) -> dict[str, Card]:
    """Cards by the name of their reader; equal names get a number."""
    if names and len(names) != len(cards):
        raise UsageError(f"{len(names)} names were given for {len(cards)} scorecards")
    found: dict[str, Card] = {}
    for place, card in enumerate(cards):
        name = wanted = names[place] if names else card.reader
        count = 1
        while name in found:
            count += 1
            name = f"{wanted} ({count})"
        found[name] = card
    return found


def _check_same_split(cards: Mapping[str, Card]) -> None:
    (first, one), *others = cards.items()
    for name, card in cards.items():
        if not card.statistics:
            raise UsageError(
                f"the scorecard of '{name}' was written without the statistics of its cases",
                remedy="grade again without --no-statistics",
            )
    for name, card in others:
        if (card.benchmark, card.split) != (one.benchmark, one.split):
            raise UsageError(
                f"'{first}' read {one.benchmark} {one.split}, '{name}' {card.benchmark} {card.split}",
                remedy="compare readers of one split",
            )
        if card.signature["release"].get("digest") != one.signature["release"].get("digest"):
            raise UsageError(
                f"'{first}' and '{name}' were graded against different copies of "
                f"{one.benchmark} {one.split}: the truth of some case differs",
                remedy="grade both against the same copy",
            )


def _check_score_matches(metric: Metric, rows: Sequence[Statistics], card: Card, reader: str) -> None:
    """Refuse a card whose score does not equal what its own statistics give: then nothing can be
    paired.
    """
    told = card.scores[metric.name].value
    try:
        with np.errstate(all="ignore"):
            value = float(metric.combine(Sample(rows))[0]) if rows else np.nan
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        pass  # what was written by hand may be anything
    else:
        if told is None and not np.isfinite(value):
            return
        if told is not None and np.isclose(value, told, rtol=1e-9, atol=1e-12):
            return
    raise OverreadError(
        f"the {metric.name} of '{reader}' does not follow from the statistics on its card: the "
        "card was changed, or another version of overread wrote it",
        remedy="grade again",
    )


def _check_same_cases(rows: Mapping[str, Mapping[UnitKey, Statistics]], units: UnitChoice) -> None:
    """Refuse readers who were not measured on the same units, or against another truth."""
    (first, mine), *others = rows.items()
    for reader, own in others:
        one, two = (reader, first) if own.keys() - mine.keys() else (first, reader)
        lost = sorted(rows[one].keys() - rows[two].keys())
        if lost and units == "same":
            cases = list(dict.fromkeys(case for case, _ in lost))
            few = ", ".join(cases[:5]) + ", …" * (len(cases) > 5)
            raise UsageError(
                f"{len(lost):,} unit(s) of '{one}' were not measured of '{two}' ({few})",
                remedy="grade both against the same copy, or leave them out with --common",
            )
        for place in mine.keys() & own.keys():
            if _truth_statistics(mine[place]) != _truth_statistics(own[place]):
                raise UsageError(
                    f"'{first}' and '{reader}' were graded against another truth of {place[0]}",
                    remedy="grade both against the same copy",
                )


def _truth_statistics(row: Statistics) -> dict[str, Any]:
    """The statistics that depend on the truth only, and so are the same for all readers."""
    return {key: value for key, value in row.items() if key.startswith(("truth_", "ceiling_"))}


def common_metrics(cards: Mapping[str, Card], wanted: Sequence[str]) -> tuple[list[Metric], dict[str, str]]:
    """Metrics that all cards were scored by in the same way, and why the others were not."""
    chosen: list[Metric] = []
    left_out: dict[str, str] = {}
    names = wanted or list(dict.fromkeys(name for card in cards.values() for name in card.scores))
    for name in names:
        try:
            metric = find_metric(name)
        except UnknownName:
            if wanted:
                raise
            left_out[name] = "no metric of that name is installed"
            continue
        without = [reader for reader, card in cards.items() if name not in card.scores]
        settings = [card.signature["settings"].get(name) for card in cards.values()]
        if name.startswith("ceiling_"):
            left_out[name] = "it says nothing about the reader"
        elif without:
            left_out[name] = f"no score of {', '.join(without)}"
        elif any(other != settings[0] for other in settings):
            left_out[name] = f"scored with different settings: {_format_differences(settings)}"
        else:
            chosen.append(with_card_settings(metric, settings[0]))
    if not chosen:
        why = next((w for n, w in left_out.items() if not n.startswith("ceiling_")), "")
        raise UsageError(
            f"the scorecards have no metric in common ({why})" if why else "nothing can be compared",
            remedy="grade them alike",
        )
    return chosen, left_out


def _format_differences(settings: Sequence[Mapping[str, Any] | None]) -> str:
    """Which settings differ, with the values that they have."""
    known = [own or {} for own in settings]
    names = sorted({name for own in known for name in own})
    told = []
    for name in names:
        values = list(dict.fromkeys(str(own.get(name)) for own in known))
        if len(values) > 1:
            told.append(f"{name} {' and '.join(values)}")
    return ", ".join(told)


def _unit_keys(card: Card) -> set[UnitKey]:
    return {
        (case, unit)
        for case, found in card.statistics.items()
        for units in found.rows.values()
        for unit in units
    }
