"""The path over the radiograph against the reference's: which regions, which order, which boxes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations
from typing import Any

from overread.core import Box
from overread.metrics.boxes.matching import best_pairs
from overread.metrics.boxes.scores import iou_table
from overread.metrics.contract import Measured, Subject, by_name, stored_as
from overread.metrics.shares import share_metric
from overread.metrics.traces.looks import TraceLook, collect_looks, trace_pair


def coverage(looked: Sequence[str], reference: Sequence[str]) -> tuple[float, float, float]:
    """Precision, recall and F1 of the regions looked at; all 0 where nothing is in common.

    >>> coverage(["left lung", "spine", "left lung"], ["left lung", "right lung"])
    (0.5, 0.5, 0.5)
    """
    mine, theirs = set(looked), set(reference)
    common = len(mine & theirs)
    if not common:
        return 0.0, 0.0, 0.0
    return common / len(mine), common / len(theirs), 2 * common / (len(mine) + len(theirs))


def order_agreement(looked: Sequence[str], reference: Sequence[str]) -> float | None:
    """Share of pairs of common regions that are first looked at in the reference's order.

    This is (1 + Kendall's tau) / 2; None with fewer than two common regions.

    >>> order_agreement(["heart", "lungs", "spine"], ["spine", "heart", "lungs"])
    0.3333333333333333
    """
    first = {place: n for n, place in reversed(list(enumerate(looked)))}
    common = [first[place] for place in dict.fromkeys(reference) if place in first]
    pairs = list(combinations(common, 2))
    return sum(a < b for a, b in pairs) / len(pairs) if pairs else None


def step_overlaps(looks: Sequence[TraceLook], reference: Sequence[TraceLook]) -> list[float]:
    """For each reference look with a box, the IoU of the reader's look at the same region, or 0.

    Where the reference looks n times at a region, the reader's first n boxes there are paired with
    them one to one, so that the IoUs add up to most.
    """
    asked: dict[str, list[Box]] = {}
    for look in reference:
        if look.box is not None and look.box.is_proper:
            asked.setdefault(look.place, []).append(look.box)
    out: list[float] = []
    for place, boxes in asked.items():
        own = [k.box for k in looks if k.place == place and k.box is not None and k.box.is_proper]
        table = iou_table(own[: len(boxes)], boxes)
        best = {column: float(table[row, column]) for row, column in best_pairs(table)}
        out += [best.get(n, 0.0) for n in range(len(boxes))]
    return out


@stored_as("traces.path.measure_path")
def measure_path(subject: Subject) -> Measured:
    """One row a case: regions covered, order kept, boxes of the steps. A missing trace scores 0.

    Regions without a name are not asked for and do not count against a reader. The order is judged
    where the reference names two regions or more; who shares fewer than two of them kept none.
    """
    truth, own = trace_pair(subject)
    asked = collect_looks(truth)
    looks = collect_looks(own)
    reference = list(dict.fromkeys(look.place for look in asked if look.place))
    looked = list(dict.fromkeys(look.place for look in looks if look.place))
    row: dict[str, Any] = {}
    if reference:
        precision, recall, f1 = coverage(looked, reference)
        row |= {
            "cases": 1,
            "precision": precision,
            "recall": recall,
            "f1": f1,
            "looked": len(looked),
            "asked": len(reference),
            "missed": [place for place in reference if place not in looked],
            "beside": [place for place in looked if place not in reference],
        }
    if len(reference) > 1:
        row |= {"ordered": 1, "order": order_agreement(looked, reference) or 0.0}
    ious = step_overlaps(looks, asked)
    if ious:
        row |= {"boxed": 1, "iou": sum(ious) / len(ious), "ious": ious}
    return {"": row} if row else {}


_REGIONS: dict[str, Any] = {
    "regions": "labels in the wording of the regions in use; pairs and major regions as they stand",
    "looks without a name": "take the region named last in the words before, else are left out",
    "mean": "cases",
}
_share = partial(
    share_metric,
    needs=("trace",),
    measure=measure_path,
    reference="counted over sets in the tests",
    settings=_REGIONS,
)

TRACE_COVERAGE_PRECISION = _share(
    "trace_coverage_precision",
    "share of the regions a reader looked at that the reference looked at too",
    top="precision",
)
TRACE_COVERAGE_RECALL = _share(
    "trace_coverage_recall", "share of the reference's regions that the reader looked at", top="recall"
)
TRACE_COVERAGE_F1 = _share(
    "trace_coverage_f1",
    "harmonic mean of precision and recall of the regions looked at",
    top="f1",
    symmetric=True,
)
TRACE_ORDER = _share(
    "trace_order",
    "share of pairs of common regions looked at in the reference's order",
    top="order",
    bottom="ordered",
    reference="scipy.stats.kendalltau (tau-b): 2 × order − 1",
    settings={**_REGIONS, "order of": "first looks", "fewer than two in common": 0},
)
TRACE_BOX_IOU = _share(
    "trace_box_iou",
    "IoU of each reference look with the reader's look at the same region; none scores 0",
    top="iou",
    bottom="boxed",
    reference="pycocotools.mask.iou and every pairing tried out",
    settings={**_REGIONS, "repeated looks": "the reader's first ones, paired one to one"},
)

METRICS = by_name(
    TRACE_COVERAGE_PRECISION, TRACE_COVERAGE_RECALL, TRACE_COVERAGE_F1, TRACE_ORDER, TRACE_BOX_IOU
)
