"""The numbers of an audit: how often and how far answers moved, beyond what they move anyway.

Every answer is compared with itself, so everything is paired; patients are drawn whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from overread.metrics.sample import Numbers, Sample, safe_divide
from overread.metrics.statistics import BootstrapDraws, Difference, Interval, differences, intervals
from overread.metrics.statistics.interval_rule import Bounds
from overread.metrics.statistics.result import Result
from overread.runs.audit.shifts import AnswerShift

AnswerKey = tuple[str, str]
"""Case and, where sentences were to be found, the sentence."""
Shifts = Mapping[AnswerKey, AnswerShift]
_UNIT = Bounds(0.0, 1.0)


@dataclass(frozen=True)
class ArmShifts(Result):
    """How the answers moved in one arm."""

    moved: Interval
    """Share of answers that are others."""
    far: Interval
    """Mean of how far they moved."""
    words: Interval | None
    """Mean share of words that changed, for answers in words."""
    moved_beyond: Difference | None
    """Share that moved, minus that of the null, on the answers that both have."""
    far_beyond: Difference | None
    """How far, minus how far in the null."""


@dataclass(frozen=True)
class AuditShares(Result):
    """What an audit found."""

    arms: dict[str, ArmShifts]
    """Arm → how the answers moved in it."""
    cited_over_other_moved: Difference | None
    """Share moved by hiding what is cited, minus that by hiding as much elsewhere."""
    cited_over_other_far: Difference | None
    """The same for how far."""
    rests: Interval | None
    """Share of answers that rest on the cited evidence."""
    rests_on_shown: Interval | None
    """Share of answers that hiding what is cited moves beyond the null, wherever else they rest."""


RESTS_RULE = (
    "(moved with the cited regions hidden − moved with other regions hidden) / "
    "(1 − moved with nothing changed)"
)
"""The share of answers that rest on the cited evidence, in words."""


def compute_shares(
    moved: Mapping[str, Shifts],
    clusters: Mapping[AnswerKey, str],
    *,
    draws: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> AuditShares:
    """All numbers of an audit, from how far each answer moved in each arm."""
    drawing: dict[str, Any] = {"draws": draws, "seed": seed, "level": level}
    rows = {arm: {key: _row(move) for key, move in own.items()} for arm, own in moved.items()}
    arms = {}
    for arm, own in rows.items():
        keys = sorted(own)
        drawn = BootstrapDraws([clusters[key] for key in keys], draws=draws, seed=seed)
        combines = {"moved": _mean("moved"), "far": _mean("far"), "words": _mean("words")}
        found = intervals(
            combines, [own[key] for key in keys], drawn, level=level, bounds=dict.fromkeys(combines, _UNIT)
        )
        beyond = None
        if arm != "null" and "null" in rows:
            beyond = _arm_differences(own, rows["null"], clusters, drawing)
        spoken = any(move.words is not None for move in moved[arm].values())
        arms[arm] = ArmShifts(
            moved=found["moved"],
            far=found["far"],
            words=found["words"] if spoken else None,
            moved_beyond=beyond["moved"] if beyond else None,
            far_beyond=beyond["far"] if beyond else None,
        )
    both = None
    if "hidden" in rows and "other" in rows:
        both = _arm_differences(rows["hidden"], rows["other"], clusters, drawing)
    return AuditShares(
        arms=arms,
        cited_over_other_moved=both["moved"] if both else None,
        cited_over_other_far=both["far"] if both else None,
        rests=resting_interval(moved, clusters, against="other", **drawing),
        rests_on_shown=resting_interval(moved, clusters, against="null", **drawing),
    )


def resting_share(sample: Sample) -> Numbers:
    """Estimated share of answers that depend on what was hidden; NaN where all answers change by
    noise.

    An answer that depends on it always changes when it is hidden, and by noise alone when something
    else is; any other answer changes equally often in both arms. So the difference of the two arms,
    divided by the share that noise leaves unchanged, is that share.
    """
    # With little left that noise leaves alone, the quotient of two noisy numbers may leave a share.
    found: Numbers = np.clip(_resting_quotient(sample), -1, 1)
    return found


def _resting_quotient(sample: Sample) -> Numbers:
    """The same before it is cut: only so does its spread show near the ends."""
    all_of = sample.total("one")
    apart = safe_divide(sample.total("hidden") - sample.total("against"), all_of)
    return safe_divide(apart, 1 - safe_divide(sample.total("null"), all_of))


def resting_interval(
    moved: Mapping[str, Shifts],
    clusters: Mapping[AnswerKey, str],
    *,
    against: str,
    draws: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> Interval | None:
    """That share with its interval, of the answers that all arms have; None without an arm."""
    if any(name not in moved for name in ("hidden", against, "null")):
        return None
    hidden, other, null = (moved[name] for name in ("hidden", against, "null"))
    keys = sorted(hidden.keys() & other.keys() & null.keys())
    rows = [
        {
            "one": 1,
            "hidden": int(hidden[key].moved),
            "against": int(other[key].moved),
            "null": int(null[key].moved),
        }
        for key in keys
    ]
    drawn = BootstrapDraws([clusters[key] for key in keys], draws=draws, seed=seed)
    found = intervals({"": _resting_quotient}, rows, drawn, level=level)[""]
    if found.low is None and found.value is not None:
        # Without any spread the bounds alone say something: all of them, or none.
        ends = {"": Bounds(-1.0, 1.0)}
        found = intervals({"": _resting_quotient}, rows, drawn, level=level, bounds=ends)[""]
    value, low, high = (
        None if one is None else min(1.0, max(-1.0, one)) for one in (found.value, found.low, found.high)
    )
    return replace(found, value=value, low=low, high=high)


def _row(move: AnswerShift) -> dict[str, float]:
    return {"one": 1, "moved": int(move.moved), "far": move.far, "words": move.words or 0.0}


def _mean(name: str) -> Callable[[Sample], Numbers]:
    def combine(sample: Sample) -> Numbers:
        return sample.ratio(name, "one")

    return combine


def _arm_differences(
    one: Mapping[AnswerKey, dict[str, float]],
    two: Mapping[AnswerKey, dict[str, float]],
    clusters: Mapping[AnswerKey, str],
    drawing: Mapping[str, Any],
) -> dict[str, Difference] | None:
    """One arm minus another on the answers that both have."""
    common = one.keys() & two.keys()
    if not common:
        return None
    combines = {"moved": _mean("moved"), "far": _mean("far")}
    return differences(
        combines,
        {key: one[key] for key in common},
        {key: two[key] for key in common},
        clusters=clusters,
        bounds=dict.fromkeys(combines, _UNIT),
        **drawing,
    )
