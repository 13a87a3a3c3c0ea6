"""Metrics that are shares: one total over another, from 0 to 1, the more the better.

A mean over cases is such a share too: the sum of what each case got, over the number of cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from overread.metrics.contract import Measured, Metric, Subject
from overread.metrics.sample import Sample


def share_metric(
    name: str,
    about: str,
    *,
    needs: tuple[str, ...],
    measure: Callable[[Subject], Measured],
    top: str,
    bottom: str = "cases",
    reference: str,
    settings: Mapping[str, Any] | None = None,
    ceiling: str = "",
    symmetric: bool = False,
    binary: str = "",
) -> Metric:
    """The metric that is the total of one statistic over the total of another.

    >>> told = share_metric(
    ...     "told", "share of cases told", needs=(), measure=lambda _: {}, top="told", reference=""
    ... )
    >>> told.combine(Sample([{"told": 1, "cases": 1}, {"told": 0.5, "cases": 1}]))
    array([0.75])
    """
    return Metric(
        name=name,
        about=about,
        better="higher",
        needs=needs,
        measure=measure,
        combine=partial(Sample.ratio, top=top, bottom=bottom),
        best=1.0,
        worst=0.0,
        reference=reference,
        settings=settings or {},
        ceiling=ceiling,
        symmetric=symmetric,
        binary=binary,
    )


def ceiling_metric(metric: Metric, about: str, measure: Callable[[Subject], Measured]) -> Metric:
    """The ceiling that a metric names: the same number, measured of the reference itself.

    It has no worst value, for it does not depend on what was handed in.
    """
    return replace(metric, name=metric.ceiling, about=about, measure=measure, worst=math.nan)
