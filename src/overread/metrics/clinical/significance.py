"""What the errors of a report weigh, from a file: ours (`significance.toml`), or one of the user's."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from overread.core import Record
from overread.errors import UsageError
from overread.metrics.clinical.errors import BETWEEN, Kind
from overread.ontology.terms import load_toml

Level: TypeAlias = Literal["urgent", "significant", "minor"]
"""How much hangs on a finding."""
Weight: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False)]

OURS = "overread"
"""What the setting `weights` says where the file is ours."""
DOUBTS: frozenset[Kind] = frozenset(("certainty", "wording", "unread"))
"""Kinds of error that may as well be a wording that was not understood."""
_WITHOUT_FINDING: dict[Kind, Level] = {"unread": "minor", "no text": "urgent"}
"""Kinds of error that are about no finding → their level."""


class WeightsFile(Record):
    """A file of weights; what it leaves out stays as in ours."""

    levels: dict[Level, Weight] = Field(default_factory=dict)
    """What a finding weighs."""
    kinds: dict[Kind, Weight] = Field(default_factory=dict)
    """What an error weighs by its kind."""
    score: dict[Literal["prior", "echo", "doubt"], Weight] = Field(default_factory=dict)
    """How the score is made of the errors."""
    observations: dict[Level, tuple[str, ...]] = Field(default_factory=dict)
    """Level → observations of the vocabulary."""


@dataclass(frozen=True)
class Significance:
    """What everything weighs."""

    levels: Mapping[Level, float]
    kinds: Mapping[Kind, float]
    prior: float
    doubt: float
    """More than what `DOUBTS` of one pair weigh together."""
    echo: float
    """What is left of an error that repeats another one of its sentence."""
    level_of: Mapping[str, Level]
    """Observation → its level; one that is not here is significant."""

    @property
    def digest(self) -> str:
        """A short name of all these numbers: other numbers have another."""
        told = [self.levels, self.kinds, self.prior, self.echo, self.doubt, self.level_of]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:12]

    def finding_weight(self, observation: str) -> float:
        """What a finding weighs; of two that were mistaken for each other, the heavier."""
        named = (self.level_of.get(name, "significant") for name in observation.split(BETWEEN))
        return max(self.levels[level] for level in named)

    def error_weight(self, row: Mapping[str, Any]) -> float:
        """The weighed errors of one pair; NaN for a row of an old card, which does not have them."""
        if "errors" not in row:
            return math.nan
        plain = self._weigh({kind: told for kind, told in row["errors"].items() if kind not in DOUBTS})
        doubts = self._weigh({kind: told for kind, told in row["errors"].items() if kind in DOUBTS})
        doubts += self.echo * self._weigh(row.get("echoes", {}))
        return plain + (self.doubt * doubts / (self.doubt + doubts) if doubts else 0.0)

    def _weigh(self, errors: Mapping[Kind, Mapping[str, float]]) -> float:
        total = 0.0
        for kind, about in errors.items():
            level = _WITHOUT_FINDING.get(kind)
            for name, amount in about.items():
                weight = self.levels[level] if level is not None else self.finding_weight(name)
                total += self.kinds[kind] * weight * amount
        return total

    def matched_weight(self, row: Mapping[str, Any]) -> float:
        """What the findings weigh that both sides say are there."""
        matched: Mapping[str, int] = row.get("matched", {})
        return sum(self.finding_weight(name) * n for name, n in matched.items())

    def score(self, row: Mapping[str, Any]) -> float:
        """The score of one pair, 0 to 1; 0 where there is no text."""
        wrong = self.error_weight(row)
        if "no text" in row.get("errors", {}):
            return 0.0
        if wrong == 0:
            return 1.0
        kept = self.matched_weight(row) + self.prior
        return kept / (kept + wrong)


@cache
def load_significance(weights: str = OURS) -> Significance:
    """The weights of our file, or of the user's laid over ours.

    >>> load_significance().finding_weight("pneumothorax")
    1.25
    """
    ours = load_toml("overread.metrics", "clinical", WeightsFile, "significance.toml")
    theirs = WeightsFile() if weights == OURS else _load_own(Path(weights))
    level_of = {name: level for level, names in ours.observations.items() for name in names}
    named = [name for names in theirs.observations.values() for name in names]
    twice = next((name for name in named if named.count(name) > 1), None)
    if twice is not None:
        raise UsageError(
            f"'{twice}' has two levels", where=weights, remedy="name each observation under one of them"
        )
    level_of |= {name: level for level, names in theirs.observations.items() for name in names}
    return Significance(
        levels={**ours.levels, **theirs.levels},
        kinds={**ours.kinds, **theirs.kinds},
        prior=theirs.score.get("prior", ours.score["prior"]),
        echo=theirs.score.get("echo", ours.score["echo"]),
        doubt=theirs.score.get("doubt", ours.score["doubt"]),
        level_of=level_of,
    )


def _load_own(path: Path) -> WeightsFile:
    if not path.is_file():
        raise UsageError(
            "there is no such file of weights",
            where=str(path),
            remedy="take metrics/clinical/significance.toml as an example",
        )
    return load_toml("overread.metrics", "clinical", WeightsFile, path)
