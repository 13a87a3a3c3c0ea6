"""What each case of a scorecard scores by itself."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.metrics import Metric, Sample, Statistics, measure_key
from overread.metrics.rows import ListedRows, Numbers, StatisticRows
from overread.metrics.statistics.bootstrap import CELLS
from overread.runs.scoring.aggregation import UnitKey, collect_measures
from overread.runs.scoring.card import Card
from overread.runs.scoring.metric_selection import find_metric, with_card_settings

_CASES_AT_ONCE = 256


def values_by_case(card: Card, *, within: Container[UnitKey] | None = None) -> Iterator[dict[str, Any]]:
    """Case × metric × value: what each case scores by itself, or the reason there is nothing.

    With `within` only these units count, for instance those of one group of a breakdown.
    """
    chosen = {
        name: with_card_settings(find_metric(name), card.signature["settings"].get(name))
        for name in card.scores
    }
    states: dict[str, str] = dict.fromkeys(card.statistics, "")
    keys = dict.fromkeys(map(measure_key, chosen.values()))
    collected = collect_measures(card.statistics, keys, states=states)
    for name, metric in chosen.items():
        units = collected[measure_key(metric)]
        inside = np.arange(len(units.places))
        if within is not None:
            inside = np.array([n for n in inside.tolist() if units.places[n] in within], np.int64)
        places = [units.places[n] for n in inside.tolist()] if within is not None else units.places
        values = _score_places(metric, units.rows.part(inside), places) if places else {}
        for case, state in states.items():
            value = values.get(case)
            line: dict[str, Any] = {"case": case, "metric": name, "better": card.scores[name].better}
            if value is not None and np.isfinite(value):
                yield {**line, "value": value}
            else:
                why = "undefined for this case alone" if case in values else state
                yield {**line, "value": None, "reason": why}


def score_cases(metric: Metric, rows: Mapping[UnitKey, Statistics]) -> dict[str, float]:
    """The metric of each case alone."""
    return _score_places(metric, ListedRows(list(rows.values())), list(rows))


def _score_places(metric: Metric, rows: StatisticRows, places: Sequence[UnitKey]) -> dict[str, float]:
    """The metric of each case alone; `places` says which case each row is of."""
    cases = sorted({case for case, _ in places})
    number = {case: n for n, case in enumerate(cases)}
    owner = np.array([number[case] for case, _ in places], np.int64)
    if len(cases) * len(places) <= CELLS:
        values = _combine_each(metric, rows, owner, len(cases))
    else:
        # A draw for each case, over all rows, would be a square: a few cases with their rows at a time.
        order = np.argsort(owner, kind="stable")
        starts = np.searchsorted(owner[order], np.arange(0, len(cases) + _CASES_AT_ONCE, _CASES_AT_ONCE))
        parts = []
        for block, (start, end) in enumerate(pairwise(starts.tolist())):
            first = block * _CASES_AT_ONCE
            own = order[start:end]
            count = min(_CASES_AT_ONCE, len(cases) - first)
            parts.append(_combine_each(metric, rows.part(own, among_all=True), owner[own] - first, count))
        values = np.concatenate(parts)
    return dict(zip(cases, values.tolist(), strict=True))


def _combine_each(metric: Metric, rows: StatisticRows, owner: NDArray[np.int64], cases: int) -> Numbers:
    """The metric of the rows of each owner."""
    weights = np.zeros((cases, len(rows)))
    weights[owner, np.arange(len(rows))] = 1
    return metric.combine(Sample(rows, weights))
