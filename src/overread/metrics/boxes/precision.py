"""Mean average precision of boxes, as COCO defines it, for many draws at once.

Boxes of a class are ranked by their scores over all pictures. In each picture a box is a hit at a
threshold when it takes the best true box of its class that reaches the threshold and is still free,
higher scores first. Precision, never falling towards lower recall, is read at 101 levels of recall
and averaged; classes without a true box are left out.

Scores that are equal rank nothing. COCO then keeps the order of the files (`ties="order"`); we take
equal scores as one step (`ties="together"`), so that no number hangs on the order of files. Between
what the luckiest order would give (`ties="best"`, hits first) and the unluckiest (`ties="worst"`,
misses first) lies what COCO gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.metrics.boxes.overlap import iou
from overread.metrics.contract import Statistics
from overread.metrics.ranked_matching import match_by_score
from overread.metrics.sample import Numbers, Sample

Ties = Literal["together", "order", "worst", "best"]
TIES: tuple[Ties, ...] = get_args(Ties)

THRESHOLDS: Numbers = np.linspace(0.5, 0.95, 10)
"""The IoUs at which a box is a hit: .50, .55, …, .95."""
LEVELS: Numbers = np.linspace(0.0, 1.0, 101)
"""The levels of recall at which precision is read."""
MAX_BOXES = 100
"""Boxes of a class that count in one picture, the highest scores first."""
_AT_ONCE = 4_000_000
"""Numbers that are held at once: draws are taken in blocks of this size."""


@dataclass(frozen=True)
class RankedBoxes:
    """All found boxes of one class, the highest score first."""

    rows: NDArray[np.intp]
    """Which row (picture) each is from."""
    hits: NDArray[np.bool_]
    """One line a threshold: whether it is a hit."""
    places: NDArray[np.intp] | None
    """One line a threshold: the boxes in the order that they count in, where that hangs on hits."""
    ends: NDArray[np.intp]
    """The boxes at which precision is read: all of them, or the last of equal scores."""
    truths: Numbers
    """For every row, how many true boxes of the class there are."""


def match_hits(
    found: ArrayLike, scores: ArrayLike, truth: ArrayLike, thresholds: ArrayLike = THRESHOLDS
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """The found boxes of one class in one picture by falling score, and where each is a hit.

    Gives the order (indices, at most `MAX_BOXES`) and one line a threshold. As in COCO, equal
    scores keep their order, and of two equally good true boxes the later one is taken.

    >>> boxes = [[0, 0, 10, 10], [0, 0, 10, 9]]
    >>> order, hit = match_hits(boxes, [0.2, 0.9], [[0, 0, 10, 10]], [0.5, 0.95])
    >>> order.tolist(), hit.tolist()
    ([1, 0], [[True, False], [False, True]])
    """
    return match_by_score(iou(found, truth), scores, thresholds, most=MAX_BOXES)


def rank_boxes(rows: Sequence[Statistics], *, ties: Ties) -> dict[str, RankedBoxes]:
    """Class → its found boxes over all rows, for classes that have a true box anywhere.

    A row has 'truths' {class: number} and 'found' {class: [[score, hits], …]}, where bit n of
    `hits` says whether the box is a hit at the n-th of `THRESHOLDS`.
    """
    rows = list(rows)  # gone through once a class
    classes = sorted({name for row in rows for name, count in row["truths"].items() if count})
    out = {}
    for name in classes:
        truths = np.array([row["truths"].get(name, 0) for row in rows], np.float64)
        boxes = [(n, *box) for n, row in enumerate(rows) for box in row["found"].get(name, ())]
        scores = np.array([box[1] for box in boxes], np.float64)
        order = np.argsort(-scores, kind="stable")
        bits = np.array([box[2] for box in boxes], np.int64)[order]
        hits = (bits[None] >> np.arange(len(THRESHOLDS))[:, None] & 1).astype(bool)
        ends = np.arange(len(order))
        if ties == "together" and len(order):
            ends = np.flatnonzero(np.append(np.diff(scores[order]) != 0, True))
        places = None
        if ties in ("worst", "best"):
            later = hits if ties == "worst" else ~hits
            places = np.array([np.lexsort((line, -scores[order])) for line in later], np.intp)
        out[name] = RankedBoxes(
            rows=np.array([box[0] for box in boxes], np.intp)[order],
            hits=hits,
            places=places,
            ends=ends,
            truths=truths,
        )
    return out


def average_precision(boxes: RankedBoxes, weights: Numbers, thresholds: Sequence[int]) -> Numbers:
    """Average precision of one class: a line a draw, a column a threshold; NaN without truth.

    `weights` says how often each draw (a line) has drawn each row (a column).
    """
    truths = weights @ boxes.truths
    out = np.zeros((len(weights), len(thresholds)))
    step = max(1, _AT_ONCE // max(1, len(boxes.rows)))
    for first in range(0, len(weights), step):
        block = slice(first, first + step)
        places = _cumulate(boxes, weights[block], np.ones(len(boxes.rows)))
        for column, threshold in enumerate(thresholds):
            ranked, worth = boxes, boxes.hits[threshold].astype(np.float64)
            if boxes.places is not None:
                order = boxes.places[threshold]
                ranked, worth = replace(boxes, rows=boxes.rows[order]), worth[order]
                places = _cumulate(ranked, weights[block], np.ones(len(boxes.rows)))
            right = _cumulate(ranked, weights[block], worth)
            out[block, column] = _mean_precision(right, places, truths[block])
    out[truths == 0] = np.nan
    return out


def _cumulate(boxes: RankedBoxes, weights: Numbers, worth: Numbers) -> Numbers:
    """What the boxes up to each end are worth together, a line a draw."""
    steps = len(boxes.ends)
    if steps * 4 > len(boxes.rows):
        return np.asarray(np.cumsum(weights[:, boxes.rows] * worth, axis=1)[:, boxes.ends])
    # Few different scores: add up within each row first, and leave the draws to one product.
    table = np.zeros((len(boxes.truths), steps))
    np.add.at(table, (boxes.rows, np.searchsorted(boxes.ends, np.arange(len(boxes.rows)))), worth)
    return np.asarray((weights @ table).cumsum(axis=1))


def _mean_precision(right: Numbers, places: Numbers, truths: Numbers) -> Numbers:
    """Precision averaged over the levels of recall, from running counts of hits and of boxes."""
    precision = np.zeros(right.shape)
    np.divide(right, places, out=precision, where=places > 0)
    precision = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
    recall = np.zeros(right.shape)
    np.divide(right, truths[:, None], out=recall, where=truths[:, None] > 0)
    # A level is read at the first box that reaches it: count the levels that each box adds.
    reached = np.searchsorted(LEVELS, recall, side="right")
    added = np.diff(reached, axis=1, prepend=0)
    return np.asarray((added * precision).sum(axis=1) / len(LEVELS))


def mean_average_precision(
    sample: Sample, *, thresholds: Sequence[int] = tuple(range(10)), ties: Ties = "together"
) -> Numbers:
    """Mean over classes and thresholds (places in `THRESHOLDS`); NaN where no class has truth.

    >>> row = {"truths": {"heart": 1}, "found": {"heart": [[0.9, 0b11], [0.5, 0b1100]]}}
    >>> mean_average_precision(Sample([row]), thresholds=[0])
    array([1.])
    >>> mean_average_precision(Sample([row]), thresholds=[0, 3])
    array([0.75])
    """
    total, classes = np.zeros(sample.draws), np.zeros(sample.draws)
    for boxes in rank_boxes(sample.rows, ties=ties).values():
        # The mean over thresholds is NaN for a draw without this class: such draws leave it out.
        one = average_precision(boxes, sample.weights, thresholds).mean(axis=1)
        there = ~np.isnan(one)
        total[there] += one[there]
        classes += there
    out = np.full(sample.draws, np.nan)
    np.divide(total, classes, out=out, where=classes > 0)
    return out
