"""Two scorecards as the pilot of a larger study: how far apart the readers are, and how widely."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from overread.errors import UsageError
from overread.metrics.statistics.result import Result
from overread.runs.scoring.aggregation import BootstrapSettings
from overread.runs.scoring.card import Card
from overread.runs.scoring.case_scores import values_by_case
from overread.runs.scoring.comparison import compare


@dataclass(frozen=True)
class Pilot(Result):
    """What the power calculation needs to know of two readers on the same cases."""

    metric: str
    first: str
    second: str
    cases: int
    difference: float
    """The score of the second reader less that of the first."""
    discordant: float | None = None
    """Share of cases on which one reader alone is right, where a case is right or wrong."""
    sd: float | None = None
    """Else the standard deviation of the case-wise differences."""


def read_pilot(first: Card, second: Card, metric: str | None = None) -> Pilot:
    """Pair two scorecards case by case; without a name by the first metric that both have."""
    names = [metric] if metric else []
    found = compare([first, second], metrics=names, bootstrap=BootstrapSettings(draws=0))
    name, compared = next(iter(found.metrics.items()))
    reader = next(iter(compared.differences))
    values = [
        {line["case"]: line["value"] for line in values_by_case(card) if line["metric"] == name}
        for card in found.cards.values()
    ]
    pairs = [
        (one, two)
        for one, two in ((values[0][case], values[1].get(case)) for case in values[0])
        if one is not None and two is not None
    ]
    if len(pairs) < 2:
        raise UsageError(f"{len(pairs)} case(s) have a {name} of both readers: too few to plan with")
    apart = np.array([two - one for one, two in pairs])
    shown = (name, found.baseline, reader, len(pairs), float(apart.mean()))
    # A share of units is a share of cases only where each case is one unit.
    if compared.metric.binary and set(np.unique(pairs)) <= {0.0, 1.0}:
        return Pilot(*shown, discordant=float(np.mean(apart != 0)))
    return Pilot(*shown, sd=float(apart.std(ddof=1)))
