"""Boxes as detections: precision, recall and F1 at one IoU, and FROC.

A found box is a hit as in COCO: surest first, each takes the best true box that is still free and
reaches the IoU, of its own picture and (unless labels are set aside) of its own class. So at IoU .5
the hits are those of which `map_50` is made. All boxes of all cases count alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

import numpy as np

from overread.errors import UsageError
from overread.metrics.boxes.region_names import canonical_place
from overread.metrics.boxes.scores import (
    CLASSES,
    RANKED_BY,
    WHOSE,
    box_scores,
    iou_table,
    true_and_found_boxes,
)
from overread.metrics.contract import Measured, Metric, Subject, by_name, stored_as
from overread.metrics.froc import froc_metrics
from overread.metrics.ranked_matching import match_by_score
from overread.metrics.sample import Numbers, Sample, safe_divide

Labels = Literal["agree", "aside"]
Share = Literal["precision", "recall", "f1"]


@stored_as("boxes.detection.measure_detections")
def measure_detections(subject: Subject, *, iou_threshold: float = 0.5, labels: Labels = "agree") -> Measured:
    """One row a case: how many boxes are true, and each found one with its score and its hit.

    >>> from overread.core import Box, Case, Entry, Image, Reading, Step, Trace, Truth
    >>> box = Box(picture="xray", x1=0, y1=0, x2=10, y2=10, label="heart")
    >>> def trace(box): return Trace(steps=(Step(kind="look", regions=(box,)),))
    >>> case = Case(id="c", benchmark="mmrad", split="test", pictures=(Image(name="xray", file="x.png"),))
    >>> entry = Entry(case=case, truth=Truth(trace=trace(box)))
    >>> near = trace(box.model_copy(update={"x2": 8, "confidence": 0.7}))
    >>> measure_detections(Subject(entry, Reading(case_id="c", reader="r", trace=near)))[""]
    {'cases': 1, 'truths': 1, 'found': [[0.7, 1]], 'tp': 1, 'fp': 0, 'fn': 0}
    """
    told = true_and_found_boxes(subject)
    if told is None:
        return {}
    truth, found = told
    table, scores = iou_table(found, truth), box_scores(found)
    if labels == "agree":
        for row, box in enumerate(found):
            for column, other in enumerate(truth):
                if canonical_place(box.label) != canonical_place(other.label):
                    table[row, column] = -1.0
    order, hit = match_by_score(table, scores, [iou_threshold])
    true = int(hit.sum())
    return {
        "": {
            "cases": 1,
            "truths": len(truth),
            "found": [[scores[n], int(h)] for n, h in zip(order.tolist(), hit[0].tolist(), strict=True)],
            "tp": true,
            "fp": len(found) - true,
            "fn": len(truth) - true,
        }
    }


def detection_share(sample: Sample, *, share: Share) -> Numbers:
    """Precision, recall or F1 over the boxes of all cases together.

    0 where there is nothing to divide by, though there are cases; NaN without cases or true boxes.

    >>> rows = [{"cases": 1, "truths": 2, "tp": 1, "fp": 2, "fn": 1}]
    >>> [round(float(detection_share(Sample(rows), share=s)[0]), 3) for s in ("precision", "recall", "f1")]
    [0.333, 0.5, 0.4]
    """
    true, surplus, missed = (sample.total(name) for name in ("tp", "fp", "fn"))
    wrong = {"precision": surplus, "recall": missed, "f1": (surplus + missed) / 2}[share]
    value = np.where(true + wrong > 0, safe_divide(true, true + wrong), 0.0)
    return np.where(sample.total("truths") > 0, value, np.nan)


_SHARES: dict[Share, str] = {
    "precision": "share of found boxes that take a true one",
    "recall": "share of true boxes that a found one takes",
    "f1": "harmonic mean of the precision and recall of boxes",
}


def detection_metrics(iou_threshold: float = 0.5, labels: Labels = "agree") -> tuple[Metric, ...]:
    """All metrics of boxes as detections, at one IoU.

    >>> [metric.name for metric in detection_metrics()][:4]
    ['box_precision', 'box_recall', 'box_f1', 'box_froc']
    """
    if isinstance(iou_threshold, bool) or not isinstance(iou_threshold, int | float):
        raise UsageError(
            f"iou_threshold cannot be {iou_threshold!r}", remedy="give a number above 0, up to 1"
        )
    if not 0 < iou_threshold <= 1:
        raise UsageError(f"iou_threshold cannot be {iou_threshold}", remedy="give a number above 0, up to 1")
    if labels not in ("agree", "aside"):
        raise UsageError(f"labels cannot be '{labels}'", remedy="use agree or aside")
    measure = partial(measure_detections, iou_threshold=float(iou_threshold), labels=labels)
    settings: dict[str, Any] = {
        **WHOSE,
        "iou_threshold": iou_threshold,
        "labels": labels,
        "classes": CLASSES,
        "score": RANKED_BY,
    }
    shares = tuple(
        Metric(
            name=f"box_{share}",
            about=f"{about}, over all cases",
            better="higher",
            needs=("boxes",),
            measure=measure,
            combine=partial(detection_share, share=share),
            best=1.0,
            worst=0.0,
            reference="pycocotools COCOeval, its matches counted",
            settings={**settings, "zero_denominator": 0.0},
            retune=retune_detection,
        )
        for share, about in _SHARES.items()
    )
    curves = froc_metrics(
        "box_", "true boxes", needs=("boxes",), measure=measure, settings=settings, retune=retune_detection
    )
    return (*shares, *curves)


def retune_detection(settings: Mapping[str, Any]) -> tuple[Metric, ...]:
    """These metrics with the settings of one, some of them changed."""
    return detection_metrics(settings["iou_threshold"], settings["labels"])


METRICS = by_name(*detection_metrics())
