"""COULD THAT BE CHANCE? Intervals, paired comparison, power and ranks, with patients kept whole.

All of it works on stored statistics (what `measure` gave) and draws those again; nothing is
measured twice. Seeds are arguments, and the order of rows does not matter.
"""

from overread.metrics.statistics.bootstrap import (
    Draws,
    Interval,
    breakdown,
    cluster_key,
    draw_weights,
    interval,
    intervals,
)
from overread.metrics.statistics.paired import Difference, McNemar, difference, differences, mcnemar
from overread.metrics.statistics.ranks import Ranking, Significance, rank_ranges, significance

__all__ = [
    "Difference",
    "Draws",
    "Interval",
    "McNemar",
    "Ranking",
    "Significance",
    "breakdown",
    "cluster_key",
    "difference",
    "differences",
    "draw_weights",
    "interval",
    "intervals",
    "mcnemar",
    "rank_ranges",
    "significance",
]
