"""HOW GOOD is a reading? The metrics, each held to somebody else's implementation, and statistics.

A metric is two pure functions: `measure` takes one case and what a reader made of it to statistics,
`combine` takes the statistics of many cases to a number. So means, micro-averages, corpus scores
and rank scores fit alike, and bootstraps resample statistics without measuring anything again.
"""

from overread.metrics.contract import Measured, Metric, Statistics, Subject, measure_key
from overread.metrics.sample import Sample

__all__ = ["Measured", "Metric", "Sample", "Statistics", "Subject", "measure_key"]
