"""Which found thing takes which true one, as COCO has it: surest first, each the best that is free."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.metrics.sample import Numbers


def match_by_score(
    overlap: Numbers, scores: ArrayLike, thresholds: ArrayLike, *, most: int | None = None
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Found things by falling score, and at which thresholds each is a hit.

    `overlap` has one line a found thing and one column a true one. Gives the order (indices, at most
    `most`) and one line a threshold. Equal scores keep their order, and of two equally good true
    things the later one is taken.

    >>> order, hit = match_by_score(np.array([[0.3, 0.6], [0.0, 0.9]]), [0.9, 0.8], [0.5])
    >>> order.tolist(), hit.tolist()
    ([0, 1], [[True, False]])
    """
    order = np.argsort(-np.asarray(scores, np.float64), kind="stable")[:most]
    bars = np.minimum(np.asarray(thresholds, np.float64), 1 - 1e-10)
    count = overlap.shape[1]
    hit = np.zeros((len(bars), len(order)), bool)
    if not count:
        return order, hit
    free = np.ones((len(bars), count), bool)
    lines = np.arange(len(bars))
    for n, box in enumerate(order.tolist()):
        fits = np.where(free & (overlap[box] >= bars[:, None]), overlap[box], -1.0)
        best = count - 1 - np.argmax(fits[:, ::-1], axis=1)
        hit[:, n] = fits[lines, best] >= 0
        free[lines[hit[:, n]], best[hit[:, n]]] = False
    return order, hit
