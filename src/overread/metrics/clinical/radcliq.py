"""RadCliQ v0 and v1: four scores of a report in, one number out; lower is better.

The number is a linear function of its components, fitted to the errors that radiologists counted.
It is positive for bad reports and negative for very good ones, so 1/RadCliQ jumps from minus to
plus infinity on the way: only a positive mean may be inverted, never the value of a case.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from overread.errors import UsageError
from overread.metrics.sample import Numbers, Sample, safe_divide

COMPONENTS = ("radgraph_combined", "bertscore", "sembscore", "bleu2")
"""The order in which the published models take their inputs."""


@dataclass(frozen=True)
class Radcliq:
    """The constants of one published version; one value a component, in their order."""

    mean: tuple[float, ...]
    scale: tuple[float, ...]
    coef: tuple[float, ...]
    intercept: float

    def value(self, components: Mapping[str, float]) -> float:
        """The value of one report.

        >>> round(V1.value(dict.fromkeys(COMPONENTS, 1.0)), 4)
        -1.4407
        >>> round(V1.value(dict.fromkeys(COMPONENTS, 0.0)), 4)
        2.4501
        """
        missing = [name for name in COMPONENTS if name not in components]
        if missing:
            raise UsageError(f"RadCliQ needs {', '.join(COMPONENTS)}; {missing[0]} is not given")
        parts = zip(COMPONENTS, self.mean, self.scale, self.coef, strict=True)
        return self.intercept + sum(
            coef * (components[name] - mean) / scale for name, mean, scale, coef in parts
        )

    def sample_mean(self, sample: Sample) -> Numbers:
        """The mean over cases, one number a draw: the value of the mean components."""
        cases = sample.weights.sum(axis=1)
        total = np.full(sample.draws, self.intercept)
        for name, mean, scale, coef in zip(COMPONENTS, self.mean, self.scale, self.coef, strict=True):
            total += coef * (safe_divide(sample.total(name), cases) - mean) / scale
        return total


V0 = Radcliq(
    mean=(0.5398376019082272, 0.6312549595000001, 0.7716797866672277, 0.4607372064809605),
    scale=(0.3018344440559102, 0.22466950746141123, 0.24750333805236252, 0.30336670936092264),
    coef=(-0.4796252644863446, -0.6762170542369337, -0.46366575161751994, 0.2165861905287535),
    intercept=1.641666666666666,
)
"""The first version. More BLEU-2 makes it worse: its fourth coefficient is positive."""
V1 = Radcliq(
    mean=(0.5379231241355762, 0.6175725628125001, 0.7647942121140658, 0.44738335396242174),
    scale=(0.3028258411486429, 0.22430938459304575, 0.2539439110169773, 0.2989271671041838),
    coef=(-0.37708368261038905, -0.37030009974480316, -0.25261621789593225, 4.315048405024756e-12),
    intercept=2.466552561323256e-10,
)
"""The second version, in which BLEU-2 counts for nothing."""
VERSIONS = {"v0": V0, "v1": V1}


def inverse_of_mean(cases: Sequence[float]) -> float:
    """1 over the mean RadCliQ, as leaderboards print it; refused where the mean is not positive.

    >>> inverse_of_mean([0.5, 1.5])
    1.0
    >>> inverse_of_mean([0.5, -1.5])
    Traceback (most recent call last):
        ...
    overread.errors.UsageError: the mean RadCliQ is -0.5, and 1/RadCliQ means nothing at or below \
0: report RadCliQ itself, lower is better
    """
    if not cases:
        raise UsageError("there is no RadCliQ of no case")
    mean = math.fsum(cases) / len(cases)
    if mean <= 0:
        raise UsageError(
            f"the mean RadCliQ is {mean:.4g}, and 1/RadCliQ means nothing at or below 0",
            remedy="report RadCliQ itself, lower is better",
        )
    return 1 / mean
