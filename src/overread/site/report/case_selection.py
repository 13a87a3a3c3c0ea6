"""Which cases a report shows, and how they were chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from overread.catalog import unknown_name
from overread.runs.scoring.card import Card
from overread.runs.scoring.case_scores import values_by_case

DEFAULT_COUNTS = (3, 2, 2)
"""How many of the worst, of the best and at random are shown unless somebody says otherwise."""


@dataclass(frozen=True)
class CaseSelection:
    """Which cases the user asked for; by default some worst, best and random ones."""

    named: tuple[str, ...] = ()
    """These cases."""
    first: int | None = None
    """The first so many of the run; 0 shows none."""
    worst: int = 0
    best: int = 0
    random: int = 0
    seed: int = 0

    @property
    def is_default(self) -> bool:
        """Whether nothing was asked for."""
        return not (self.named or self.worst or self.best or self.random or self.first is not None)


def select_cases(
    wanted: CaseSelection, cases: Sequence[str], card: Card, metric: str | None, *, truth: bool
) -> tuple[dict[str, str], str]:
    """Case → why it is shown, and the rule in words.

    Without the truth, cases are drawn and never ranked: a rank would tell who was wrong.
    """
    if wanted.is_default and len(cases) <= sum(DEFAULT_COUNTS):
        return dict.fromkeys(cases, "one of all cases of the run"), f"all {len(cases)} of the run"
    if wanted.is_default:
        worst, best, random = DEFAULT_COUNTS if truth else (0, 0, 5)
        wanted = replace(wanted, worst=worst, best=best, random=random)
    found: dict[str, str] = {}
    rules: list[str] = []
    for name in wanted.named:
        if name not in cases:
            raise unknown_name("case of the run", name, cases)
        found[name] = "chosen by hand"
    if wanted.named:
        rules.append("some by hand")
    for name in cases[: wanted.first or 0]:
        found.setdefault(name, "among the first of the run")
    if wanted.first:
        rules.append(f"the first {wanted.first}")
    values = _values(card, metric) if metric and (wanted.worst or wanted.best) else {}
    ranked = sorted((name for name in cases if name in values), key=lambda name: values[name])
    for count, word, order in ((wanted.worst, "worst", ranked), (wanted.best, "best", ranked[::-1])):
        own = [name for name in order if name not in found][:count]
        found |= dict.fromkeys(own, f"among the {word} by {metric}" if truth else "chosen")
        if own:
            rules.append(f"the {word} {len(own)} by {metric}" if truth else f"{len(own)} by rank")
    left = [name for name in cases if name not in found]
    count = min(wanted.random, len(left))
    if count:
        drawn = np.random.default_rng(wanted.seed).choice(len(left), count, replace=False)
        found |= {left[n]: "drawn at random" for n in sorted(drawn.tolist())}
        rules.append(f"{count} drawn at random from the rest (seed {wanted.seed})")
    return found, ", ".join(rules) or "none"


def _values(card: Card, metric: str) -> Mapping[str, float]:
    """Case → its score, signed so that less is worse; failed and missing ones are worst."""
    found = {}
    for line in values_by_case(card):
        if line["metric"] == metric:
            value = line["value"]
            sign = 1 if line["better"] == "higher" else -1
            if value is not None:
                found[line["case"]] = sign * value
            elif line.get("reason") in ("failed", "missing"):
                found[line["case"]] = float("-inf")
    return found
