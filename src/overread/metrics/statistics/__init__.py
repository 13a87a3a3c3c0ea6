"""Statistics on stored measurements: intervals, paired comparison, power and ranks; patients are
resampled whole.

Nothing is measured again. Seeds are arguments, and the order of rows does not matter.
"""

from overread.metrics.statistics.bootstrap import (
    BootstrapDraws,
    Interval,
    breakdown,
    cluster_key,
    draw_weights,
    interval,
    intervals,
)
from overread.metrics.statistics.paired_tests import Difference, McNemar, difference, differences, mcnemar
from overread.metrics.statistics.ranks import Ranking, Significance, rank_ranges, significance

__all__ = [
    "BootstrapDraws",
    "Difference",
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
