"""The boxes of a reading against those of the truth, as metrics.

Whose boxes: those of the conclusion, where an answer names its places; else those of the looks;
else those of the findings. The same box of the same place, given twice, is one box. True boxes
without area cannot be found and are not asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.core import Box, Finding, Trace
from overread.errors import UsageError
from overread.metrics.boxes.matching import REWARD_IOU, best_pairs, is_rewarded, mean_overlap
from overread.metrics.boxes.overlap import centres, contains_points, corners, iou
from overread.metrics.boxes.precision import (
    MAX_BOXES,
    THRESHOLDS,
    TIES,
    Ties,
    match_hits,
    mean_average_precision,
)
from overread.metrics.boxes.region_names import canonical_place
from overread.metrics.contract import Measured, Metric, Subject, by_name, stored_as
from overread.metrics.shares import share_metric


def collect_boxes(trace: Trace | None, findings: Iterable[Finding]) -> list[Box]:
    """The boxes that a reading or a truth commits to, in their order, each once."""
    steps = trace.steps if trace else ()
    for regions in (
        [region for step in steps if step.kind == "conclude" for region in step.regions],
        [region for step in steps if step.kind == "look" for region in step.regions],
        [region for finding in findings for region in finding.regions],
    ):
        boxes = [region for region in regions if isinstance(region, Box)]
        if boxes:
            once: dict[tuple[object, ...], Box] = {}
            for box in boxes:
                known = once.setdefault(_key(box), box)
                if (box.confidence or 0) > (known.confidence or 0):
                    once[_key(box)] = box  # in the place of the first, as sure as the surest
            return list(once.values())
    return []


def _key(box: Box) -> tuple[object, ...]:
    return box.picture, box.x1, box.y1, box.x2, box.y2, canonical_place(box.label)


def true_and_found_boxes(subject: Subject) -> tuple[list[Box], list[Box]] | None:
    """The true boxes and the reader's; None where the truth tells no places of any sort."""
    truth, reading = subject.entry.truth, subject.usable_reading
    if truth is None:
        return None
    told = collect_boxes(truth.trace, truth.findings)
    steps = truth.trace.steps if truth.trace else None
    if not told and (steps is None or any(step.link for step in steps)):
        return None  # no trace, or chains of thought, whose places are boxes of voxels
    found = collect_boxes(reading.trace, reading.findings or ()) if reading else []
    # A reader that repeats a broken true box is not to blame for it.
    broken = {_key(box) for box in told if not box.is_proper}
    return [box for box in told if box.is_proper], [b for b in found if _key(b) not in broken]


def box_scores(found: Sequence[Box]) -> list[float]:
    """What the boxes of one reading are ranked by: their confidences where every box has one.

    Else the first one that is told is the surest, and the n-th has 1/n.

    >>> sure = Box(picture="xray", x1=0, y1=0, x2=1, y2=1, confidence=0.3)
    >>> box_scores([sure, sure]), box_scores([sure, sure.model_copy(update={"confidence": None})])
    ([0.3, 0.3], [1.0, 0.5])
    """
    told = [box.confidence for box in found if box.confidence is not None]
    return told if len(told) == len(found) else [1 / n for n in range(1, len(found) + 1)]


def iou_table(found: Sequence[Box], truth: Sequence[Box]) -> NDArray[np.float64]:
    """IoU of every found box (a row) with every true one; 0 in different pictures."""
    table = iou(corners(found), corners(truth))
    for row, box in enumerate(found):
        for column, other in enumerate(truth):
            if box.picture != other.picture:
                table[row, column] = 0.0
    return table


def point_hits(found: Sequence[Box], truth: Sequence[Box], *, margin: float = 0.0) -> dict[str, bool]:
    """Place → whether the centre of the first box found for it lies in a true box of it.

    >>> heart = Box(picture="xray", x1=4, y1=4, x2=8, y2=8, label="heart")
    >>> near = Box(picture="xray", x1=3, y1=3, x2=7, y2=7, label="cardiac silhouette")
    >>> point_hits([near], [heart])
    {'cardiac silhouette': True}
    """
    first: dict[str, Box] = {}
    for box in found:
        first.setdefault(canonical_place(box.label), box)
    out: dict[str, bool] = {}
    for box in truth:
        place = canonical_place(box.label)
        own = first.get(place)
        there = own is not None and own.is_proper and own.picture == box.picture
        inside = there and own is not None and _centre_inside(box, own, margin)
        out[place] = out.get(place, False) or inside
    return out


def _centre_inside(box: Box, other: Box, margin: float) -> bool:
    return bool(contains_points(corners([box]), centres(corners([other])), margin=margin)[0, 0])


@stored_as("boxes.scores.measure_boxes")
def measure_boxes(subject: Subject) -> Measured:
    """One row a case: the mean IoU of the best partners, the reward, the points that hit."""
    told = true_and_found_boxes(subject)
    if told is None or not told[0]:
        return {}
    truth, found = told
    table = iou_table(found, truth)
    points = point_hits(found, truth)
    return {
        "": {
            "cases": 1,
            "iou": mean_overlap(table),
            "reward": int(is_rewarded(table)),
            "true_boxes": len(truth),
            "found_boxes": len(found),
            "ious": [float(table[pair]) for pair in best_pairs(table)],
            "places": len(points),
            "pointed": sum(points.values()),
            "missed": [place for place, hit in points.items() if not hit],
        }
    }


@stored_as("boxes.scores.measure_ranked_boxes")
def measure_ranked_boxes(subject: Subject) -> Measured:
    """One row a case: true boxes a class, and every found box with its score and its hits."""
    told = true_and_found_boxes(subject)
    if told is None:
        return {}
    truth, found = told
    truths: dict[str, int] = {}
    for box in truth:
        place = canonical_place(box.label)
        truths[place] = truths.get(place, 0) + 1
    # One (picture, class) at a time: boxes of different pictures or classes never meet.
    groups: dict[tuple[str, str], tuple[list[Box], list[float]]] = {}
    for box, score in zip(found, box_scores(found), strict=True):
        boxes, scores = groups.setdefault((box.picture, canonical_place(box.label)), ([], []))
        boxes.append(box)
        scores.append(score)
    listed: dict[str, list[list[Any]]] = {}
    for (picture, place), (boxes, scores) in groups.items():
        own = [b for b in truth if b.picture == picture and canonical_place(b.label) == place]
        order, hit = match_hits(corners(boxes), scores, corners(own))
        bits = (hit * (1 << np.arange(len(THRESHOLDS)))[:, None]).sum(axis=0)
        pairs = zip(order.tolist(), bits.tolist(), strict=True)
        listed.setdefault(place, []).extend([scores[n], bit] for n, bit in pairs)
    return {"": {"truths": truths, "found": listed}}


WHOSE: dict[str, Any] = {
    "boxes": "of the conclusion, else of the looks, else of the findings; repeated ones once",
    "without area": "true: not asked for; found: overlaps nothing",
}
CLASSES = "labels in the wording of the regions in use; boxes without label are a class"

_share = partial(share_metric, needs=("boxes",), measure=measure_boxes)

BOX_IOU = _share(
    "box_iou",
    "mean IoU of boxes paired one to one, labels aside; one too many costs as one missing",
    top="iou",
    reference="pycocotools.mask.iou and every pairing tried out",
    settings={**WHOSE, "pairs": "optimal", "divided by": "the larger number", "mean": "cases"},
    symmetric=True,
)
BOX_POINTING = _share(
    "box_pointing",
    "share of true places in whose box lies the centre of the reader's first box for them",
    top="pointed",
    bottom="places",
    reference="the pointing game of Zhang et al. 2016, counted by hand in the tests",
    settings={**WHOSE, "classes": CLASSES, "margin": 0, "mean": "places of all cases"},
)
BOX_REWARD = _share(
    "box_reward",
    "share of cases with the right number of boxes and a mean IoU above .75",
    top="reward",
    reference="GEMeX-ThinkVG's grounding reward, every pairing tried out",
    settings={**WHOSE, "pairs": "optimal", "above": REWARD_IOU, "mean": "cases"},
    symmetric=True,
)


RANKED_BY = "confidences where all boxes of a reading have one, else 1/n for the n-th that is told"

_PRECISIONS: dict[str, tuple[str, tuple[int, ...]]] = {
    "map_50": ("mean average precision of boxes at IoU .5", (0,)),
    "map_75": ("mean average precision of boxes at IoU .75", (5,)),
    "map_50_95": ("mean average precision of boxes over IoU .50 to .95", tuple(range(10))),
}


def precision_metrics(ties: Ties = "together") -> tuple[Metric, ...]:
    """The mean average precisions, with equal scores taken one way or another.

    >>> [metric.settings["ties"] for metric in precision_metrics("order")]
    ['order', 'order', 'order']
    """
    if ties not in TIES:
        raise UsageError(f"equal scores cannot be taken '{ties}'", remedy=f"use {', '.join(TIES)}")
    return tuple(
        Metric(
            name=name,
            about=about,
            better="higher",
            needs=("boxes",),
            measure=measure_ranked_boxes,
            combine=partial(mean_average_precision, thresholds=thresholds, ties=ties),
            best=1.0,
            worst=0.0,
            reference="pycocotools COCOeval (101 levels of recall, 100 boxes a picture and class)",
            settings={
                **WHOSE,
                "classes": CLASSES,
                "iou": [round(float(THRESHOLDS[n]), 2) for n in thresholds],
                "score": RANKED_BY,
                "ties": ties,
                "boxes a picture and class": MAX_BOXES,
            },
            retune=retune_precision,
        )
        for name, (about, thresholds) in _PRECISIONS.items()
    )


def retune_precision(settings: Mapping[str, Any]) -> tuple[Metric, ...]:
    """The mean average precisions with the settings of one, some of them changed."""
    return precision_metrics(settings["ties"])


MAP_50, MAP_75, MAP_50_95 = precision_metrics()

METRICS = by_name(BOX_IOU, BOX_POINTING, BOX_REWARD, MAP_50, MAP_75, MAP_50_95)
