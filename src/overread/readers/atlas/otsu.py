"""Otsu's criterion: how well each level parts a histogram into two groups."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def separations(counts: NDArray[Any], middles: NDArray[Any]) -> NDArray[np.float64]:
    """For each bin, the variance between what is up to it and what is above it, unscaled."""
    below = np.cumsum(counts)
    above = below[-1] - below
    sums = np.cumsum(counts * middles)
    with np.errstate(divide="ignore", invalid="ignore"):
        gaps = sums / below - (sums[-1] - sums) / above
        apart: NDArray[np.float64] = np.nan_to_num(below * above * gaps**2)
    return apart
