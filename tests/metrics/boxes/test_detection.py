"""Boxes as detections: hits as COCOeval counts them, confidences, and how equal ones are taken."""

from __future__ import annotations

import contextlib
import io
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from overread.core import Box, Reading, Region
from overread.errors import UsageError
from overread.metrics.boxes.detection import detection_metrics
from overread.metrics.boxes.precision import TIES
from overread.metrics.boxes.scores import MAP_50, box_scores, precision_metrics
from overread.metrics.contract import Metric, Subject
from overread.metrics.sample import Sample
from overread.runs.scoring.metric_selection import select_metrics
from tests.metrics.boxes.test_scores import box, moved, random_boxes, subject, trace, value

Pair = tuple[list[Box], list[Box]]


def metric(name: str, **settings: Any) -> Metric:
    return next(one for one in detection_metrics(**settings) if one.name == name)


def sure(rng: np.random.Generator, boxes: list[Box], levels: int | None = None) -> list[Box]:
    """The boxes with confidences, equal ones among them where there are few levels."""
    told = rng.integers(1, levels, len(boxes)) / levels if levels else rng.random(len(boxes))
    return [b.model_copy(update={"confidence": float(c)}) for b, c in zip(boxes, told, strict=True)]


def pairs(seed: int, count: int = 5, levels: int | None = None) -> list[Pair]:
    """Found and true boxes of several cases: some moved, some missing, some too many."""
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(count):
        truth = random_boxes(rng, int(rng.integers(1, 6)))
        found = [*moved(rng, truth)[int(rng.integers(0, 2)) :], *random_boxes(rng, int(rng.integers(0, 3)))]
        order = rng.permutation(len(found))
        out.append((sure(rng, [found[n] for n in order], levels), truth))
    return out


def subjects(cases: list[Pair]) -> list[Subject]:
    return [subject(trace(*truth), trace(*found)) for found, truth in cases]


def coco(cases: list[Pair], *, labels: bool = True) -> COCOeval:
    """All cases judged by COCOeval, each found box with its confidence."""
    names = sorted({b.label or "" for pair in cases for side in pair for b in side}) if labels else [""]
    sides = []
    for which in (1, 0):
        annotations: list[dict[str, Any]] = []
        for image, pair in enumerate(cases, 1):
            for b in pair[which]:
                wide, high = b.x2 - b.x1, b.y2 - b.y1
                annotations.append(
                    {
                        "id": len(annotations) + 1,
                        "image_id": image,
                        "category_id": names.index(b.label or "") if labels else 0,
                        "bbox": [b.x1, b.y1, wide, high],
                        "area": wide * high,
                        "iscrowd": 0,
                        "score": b.confidence,
                    }
                )
        side = COCO()
        images = [{"id": n} for n in range(1, len(cases) + 1)]
        side.dataset = {
            "images": images,
            "categories": [{"id": n} for n in range(len(names))],
            "annotations": annotations,
        }
        with contextlib.redirect_stdout(io.StringIO()):
            side.createIndex()
        sides.append(side)
    with contextlib.redirect_stdout(io.StringIO()):
        judge = COCOeval(*sides, "bbox")
        judge.params.areaRng, judge.params.areaRngLbl = [[-1e12, 1e12]], ["all"]
        judge.evaluate()
        judge.accumulate()
    return judge


def coco_counts(judge: COCOeval, place: int) -> tuple[int, int, int]:
    """True, false and missed boxes by COCOeval at the threshold of that place."""
    told = [one for one in judge.evalImgs if one is not None]
    true = sum(int((one["dtMatches"][place] > 0).sum()) for one in told)
    return true, sum(len(one["dtIds"]) for one in told) - true, sum(len(one["gtIds"]) for one in told) - true


@pytest.mark.parametrize("labels", ["agree", "aside"])
@pytest.mark.parametrize(("place", "iou"), [(0, 0.5), (5, 0.75)])
@pytest.mark.parametrize("seed", range(6))
def test_precision_recall_and_f1_are_counted_from_cocoeval(
    seed: int, place: int, iou: float, labels: str
) -> None:
    """Matches of COCOeval give the same precision, recall and F1, labels in force or not."""
    cases = pairs(seed)
    tp, fp, fn = coco_counts(coco(cases, labels=labels == "agree"), place)
    assert tp
    assert fp
    expected = {
        "box_precision": tp / (tp + fp),
        "box_recall": tp / (tp + fn),
        "box_f1": 2 * tp / (2 * tp + fp + fn),
    }
    for name, number in expected.items():
        ours = value(metric(name, iou_threshold=iou, labels=labels), *subjects(cases))
        assert ours == pytest.approx(number, abs=1e-12), name


@pytest.mark.parametrize("levels", [None, 4])
@pytest.mark.parametrize("seed", range(6))
def test_map_ranks_by_confidences_as_cocoeval_does(seed: int, levels: int | None) -> None:
    """With confidences on the boxes all three are COCOeval's, equal ones in its order."""
    cases = pairs(20 + seed, levels=levels)
    table = coco(cases).eval["precision"][:, :, :, 0, -1]
    parts = {"map_50": table[0], "map_75": table[5], "map_50_95": table}
    for one in precision_metrics("order"):
        part = parts[one.name]
        assert value(one, *subjects(cases)) == pytest.approx(part[part > -1].mean(), abs=1e-12)


def test_confidences_change_the_number() -> None:
    """The same boxes, the wrong one surer than the right one: half the precision."""
    right, wrong = box(0, 0, 10, 10, label="heart"), box(50, 50, 60, 60, label="heart")
    truth = trace(right)
    told = [[0.9, 0.1], [0.1, 0.9]]
    found = [
        trace(*(b.model_copy(update={"confidence": c}) for b, c in zip((right, wrong), own, strict=True)))
        for own in told
    ]
    assert [value(MAP_50, subject(truth, one)) for one in found] == [1.0, 0.5]
    assert value(MAP_50, subject(truth, trace(wrong, right))) == 0.5  # none told: the first is surest
    mixed = trace(wrong.model_copy(update={"confidence": 0.1}), right)
    assert value(MAP_50, subject(truth, mixed)) == 0.5  # not all told: the same
    assert box_scores([]) == []


@pytest.mark.parametrize("seed", range(4))
def test_ties_are_between_the_worst_and_the_best_order(seed: int) -> None:
    """With equal scores, worst and best are the ends of what all orders of the cases give."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = [
        {"truths": {"a": 1 + int(rng.integers(0, 2))}, "found": {"a": [[0.5, int(rng.integers(0, 2))]]}}
        for _ in range(5)
    ]
    rows[0]["found"]["a"] = [[0.9, 0], [0.5, 1]]
    rows[1]["found"]["a"] = [[0.5, 0]]
    found: dict[str, float] = {
        one.settings["ties"]: float(one.combine(Sample(rows))[0])
        for ties in TIES
        for one in precision_metrics(ties)[:1]
    }
    (by_order,) = (one for one in precision_metrics("order") if one.name == "map_50")
    everything = [float(by_order.combine(Sample(list(way)))[0]) for way in permutations(rows)]
    assert min(everything) == pytest.approx(found["worst"], abs=1e-12)
    assert max(everything) == pytest.approx(found["best"], abs=1e-12)
    assert found["worst"] < found["best"]
    assert found["worst"] <= found["order"] <= found["best"]
    assert found["worst"] <= found["together"] <= found["best"]


@pytest.mark.parametrize("ties", ["worst", "best"])
def test_draws_with_sorted_ties_are_those_of_repeated_cases(ties: Any) -> None:
    """A row drawn twice counts as two, whichever way equal scores are taken."""
    rows = [row for one in subjects(pairs(3, levels=3)) for row in MAP_50.measure(one).values()]
    weights = np.random.default_rng(1).integers(0, 3, (6, len(rows)))
    for one in precision_metrics(ties):
        together = one.combine(Sample(rows, weights))
        for draw, counts in enumerate(weights):
            again = [row for row, n in zip(rows, counts, strict=True) for _ in range(n)]
            assert together[draw] == pytest.approx(one.combine(Sample(again))[0], nan_ok=True)


def test_settings_can_be_asked_for_and_wrong_ones_are_refused() -> None:
    """`ties`, `iou_threshold` and `labels` are settings; what they cannot be is one sentence."""
    (chosen,) = select_metrics(["map_50"], {"ties": "worst"})
    assert chosen.settings["ties"] == "worst"
    precision, froc = select_metrics(["box_precision", "box_froc"], {"iou_threshold": 0.3, "labels": "aside"})
    assert precision.settings["iou_threshold"] == froc.settings["iou_threshold"] == 0.3
    assert precision.measure is froc.measure
    for name, wrong in (
        ("map_50", {"ties": "random"}),
        ("box_f1", {"iou_threshold": 0}),
        ("box_f1", {"iou_threshold": "half"}),
        ("box_f1", {"labels": "maybe"}),
    ):
        with pytest.raises(UsageError) as caught:
            select_metrics([name], wrong)
        assert caught.value.remedy


def test_edges_of_detection() -> None:
    """Nothing found is 0, nothing handed in is 0, boxes where there are none cost precision."""
    heart = box(0, 0, 10, 10, label="heart")
    nothing, perfect = subject(trace(heart), trace()), subject(trace(heart), trace(heart))
    surplus = subject(trace(), trace(heart))
    failed = subject(trace(heart), trace(heart), error="lost")
    for name in ("box_precision", "box_recall", "box_f1", "box_froc", "box_froc_0.125"):
        assert value(metric(name), perfect) == 1, name
        assert value(metric(name), nothing) == 0, name
        assert value(metric(name), failed) == 0, name
        assert np.isnan(value(metric(name), surplus)), name
    assert value(metric("box_precision"), perfect, surplus) == 0.5
    assert value(metric("box_recall"), perfect, surplus) == 1
    elsewhere = subject(trace(heart), trace(heart.model_copy(update={"picture": "xray-2"})))
    assert value(metric("box_recall"), elsewhere) == 0
    many = [box(n, 50, n + 5, 60, label="heart") for n in range(150)]
    crowd = subject(trace(heart), trace(*many, heart))
    assert value(metric("box_precision"), crowd) == pytest.approx(1 / 151)  # no limit of a hundred


def test_a_confidence_is_kept_in_json() -> None:
    """A box and a mask carry how sure a reader is; readings without it look as before."""
    one = box(0, 0, 1, 1).model_copy(update={"confidence": 0.25})
    reading = Reading(case_id="c", reader="r", trace=trace(one))
    assert Reading.model_validate_json(reading.model_dump_json(exclude_none=True)) == reading
    assert "confidence" not in box(0, 0, 1, 1).model_dump_json(exclude_none=True)
    regions: list[Region] = [box(0, 0, 1, 1)]
    assert regions[0].model_dump()["confidence"] is None
    with pytest.raises(ValueError, match="less than or equal to 1"):
        Box.model_validate({**one.model_dump(), "confidence": 1.5})
