"""What each case of a scorecard scores by itself."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Any

import numpy as np

from overread.metrics import Metric, Sample, Statistics, measure_key
from overread.runs.scoring.aggregation import UnitKey, collect_units
from overread.runs.scoring.card import Card
from overread.runs.scoring.metric_selection import find_metric, with_card_settings


def values_by_case(card: Card, *, within: Container[UnitKey] | None = None) -> Iterator[dict[str, Any]]:
    """Case × metric × value: what each case scores by itself, or the reason there is nothing.

    With `within` only these units count, for instance those of one group of a breakdown.
    """
    for name, told in card.scores.items():
        settings = card.signature["settings"].get(name)
        metric = with_card_settings(find_metric(name), settings)
        rows = collect_units(card.statistics, measure_key(metric)).by_place()
        if within is not None:
            rows = {place: row for place, row in rows.items() if place in within}
        values = score_cases(metric, rows) if rows else {}
        for case, found in card.statistics.items():
            value = values.get(case)
            line: dict[str, Any] = {"case": case, "metric": name, "better": told.better}
            if value is not None and np.isfinite(value):
                yield {**line, "value": value}
            else:
                why = "undefined for this case alone" if case in values else found.state
                yield {**line, "value": None, "reason": why}


def score_cases(metric: Metric, rows: Mapping[UnitKey, Statistics]) -> dict[str, float]:
    """The metric of each case alone."""
    cases = sorted({case for case, _ in rows})
    number = {case: n for n, case in enumerate(cases)}
    weights = np.zeros((len(cases), len(rows)))
    for place, (case, _) in enumerate(rows):
        weights[number[case], place] = 1
    values = metric.combine(Sample(list(rows.values()), weights))
    return dict(zip(cases, values.tolist(), strict=True))
