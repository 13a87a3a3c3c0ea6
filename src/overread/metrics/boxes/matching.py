"""Which found box goes with which true one, and how well they fit then."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

REWARD_IOU = 0.75
"""The mean IoU above which GEMeX-ThinkVG rewards the boxes of an answer."""


def best_pairs(likeness: ArrayLike) -> list[tuple[int, int]]:
    """The one-to-one partners (row, column) whose likenesses add up to most; none of likeness 0.

    >>> best_pairs([[0.6, 0.5], [0.5, 0.0]])
    [(0, 1), (1, 0)]
    """
    table = np.asarray(likeness, np.float64)
    if table.ndim != 2 or not table.size:
        return []
    if 1 in table.shape:
        row, column = np.unravel_index(int(table.argmax()), table.shape)
        return [(int(row), int(column))] if table[row, column] > 0 else []
    from scipy.optimize import linear_sum_assignment

    chosen = zip(*linear_sum_assignment(table, maximize=True), strict=True)
    return [(int(row), int(column)) for row, column in chosen if table[row, column] > 0]


def greedy_pairs(likeness: ArrayLike) -> list[tuple[int, int]]:
    """The likest two become partners, then the likest two of the rest; equal ones in their order.

    >>> greedy_pairs([[0.6, 0.5], [0.5, 0.0]])
    [(0, 0)]
    """
    table = np.asarray(likeness, np.float64)
    if table.ndim != 2 or not table.size:
        return []
    rows: set[int] = set()
    columns: set[int] = set()
    pairs = []
    for flat in np.argsort(-table, axis=None, kind="stable").tolist():
        row, column = divmod(flat, table.shape[1])
        if table[row, column] <= 0:
            break
        if row not in rows and column not in columns:
            rows.add(row)
            columns.add(column)
            pairs.append((row, column))
    return sorted(pairs)


def mean_overlap(likeness: ArrayLike) -> float:
    """The likenesses of the best partners over the larger number of boxes; 1 without any box.

    So a box that is missing and a box too many cost the same.

    >>> mean_overlap([[0.5, 0.0]])
    0.25
    """
    table = np.asarray(likeness, np.float64)
    most = max(table.shape)
    if not most:
        return 1.0
    return float(sum(table[pair] for pair in best_pairs(table)) / most)


def is_rewarded(likeness: ArrayLike, *, above: float = REWARD_IOU) -> bool:
    """Whether there are as many boxes as there should be, and their mean IoU is above the bar.

    >>> is_rewarded([[0.8]]), is_rewarded([[0.75]]), is_rewarded([[0.8], [0.0]])
    (True, False, False)
    """
    table = np.asarray(likeness, np.float64)
    found, truth = table.shape
    return found == truth > 0 and mean_overlap(table) > above
