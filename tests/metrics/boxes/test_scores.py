"""Boxes of readings against those of the truth: what is asked, what is found, what is missing."""

from __future__ import annotations

import contextlib
import io
import json
import pickle
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from pycocotools import mask as coco_mask
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from overread.core import Box, Case, Entry, Finding, Image, Reading, Step, Trace, Truth
from overread.metrics.boxes.scores import (
    BOX_IOU,
    BOX_POINTING,
    BOX_REWARD,
    MAP_50,
    MAP_50_95,
    MAP_75,
    collect_boxes,
)
from overread.metrics.contract import Metric, Subject
from overread.metrics.sample import Sample

METRICS = (BOX_IOU, BOX_POINTING, BOX_REWARD, MAP_50, MAP_75, MAP_50_95)
PLACES = ("left lung", "right lung", "heart", "spine")


def box(*edges: float, label: str | None = None, picture: str = "xray") -> Box:
    x1, y1, x2, y2 = edges
    return Box(picture=picture, x1=x1, y1=y1, x2=x2, y2=y2, label=label)


def trace(*boxes: Box, kind: Any = "look") -> Trace:
    return Trace(steps=tuple(Step(kind=kind, regions=(one,)) for one in boxes))


def subject(truth: Trace | None, own: Trace | None, *, error: str | None = None) -> Subject:
    pictures = (Image(name="xray", file="x.png"), Image(name="xray-2", file="y.png"))
    case = Case(id="c", benchmark="mmrad", split="test", pictures=pictures)
    reading = Reading(case_id="c", reader="r", trace=own, error=error)
    return Subject(Entry(case=case, truth=Truth(trace=truth)), reading)


def value(metric: Metric, *subjects: Subject) -> float:
    rows = [row for one in subjects for row in metric.measure(one).values()]
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows
    return float(metric.combine(Sample(rows))[0])


def random_boxes(rng: np.random.Generator, count: int) -> list[Box]:
    low = rng.integers(0, 40, (count, 2))
    edges = np.hstack([low, low + rng.integers(5, 60, (count, 2))]).tolist()
    return [box(*e, label=PLACES[rng.integers(0, len(PLACES))]) for e in edges]


def moved(rng: np.random.Generator, boxes: list[Box]) -> list[Box]:
    out = []
    for one in boxes:
        a, b, c, d = rng.integers(-4, 5, 4).tolist()
        out.append(box(one.x1 + a, one.y1 + b, one.x2 + c, one.y2 + d, label=one.label))
    return out


def coco_boxes(boxes: list[Box]) -> Any:
    return np.array([(b.x1, b.y1, b.x2 - b.x1, b.y2 - b.y1) for b in boxes], np.float64)


def coco_map(found: list[Box], truth: list[Box]) -> dict[str, float]:
    """One picture by COCOeval, the n-th found box with the score 1/n."""
    names = sorted({one.label or "" for one in (*found, *truth)})
    sides = []
    with contextlib.redirect_stdout(io.StringIO()):
        for boxes in (truth, found):
            annotations = [
                {
                    "id": n,
                    "image_id": 1,
                    "category_id": names.index(one.label or ""),
                    "bbox": edges.tolist(),
                    "area": float(edges[2] * edges[3]),
                    "iscrowd": 0,
                    "score": 1 / n,
                }
                for n, (one, edges) in enumerate(zip(boxes, coco_boxes(boxes), strict=True), 1)
            ]
            side = COCO()
            kinds = [{"id": n} for n in range(len(names))]
            side.dataset = {"images": [{"id": 1}], "categories": kinds, "annotations": annotations}
            side.createIndex()
            sides.append(side)
        judge = COCOeval(*sides, "bbox")
        judge.evaluate()
        judge.accumulate()
    table = judge.eval["precision"][:, :, :, 0, -1]
    parts = {"map_50": table[0], "map_75": table[5], "map_50_95": table}
    return {name: float(part[part > -1].mean()) for name, part in parts.items()}


@pytest.mark.parametrize("seed", range(12))
def test_one_case_is_that_of_pycocotools_and_brute_force(seed: int) -> None:
    """Mean IoU and reward by pycocotools and all pairings, mAP by COCOeval, for random cases."""
    rng = np.random.default_rng(seed)
    truth = random_boxes(rng, int(rng.integers(1, 5)))
    found = moved(rng, truth)
    if seed % 3 == 0:
        found = found[1:]
    elif seed % 3 == 1:
        found = [found[n] for n in rng.permutation(len(found))] + random_boxes(rng, 1)
    one = subject(trace(*truth), trace(*found))
    table = np.zeros((len(found), len(truth)))
    if found:
        table = np.asarray(coco_mask.iou(coco_boxes(found), coco_boxes(truth), [0] * len(truth)))
    small, large = sorted(table.shape)
    wide = table if table.shape[0] == small else table.T
    best = max(sum(wide[n, c] for n, c in enumerate(way)) for way in permutations(range(large), small))
    assert value(BOX_IOU, one) == pytest.approx(best / large)
    assert value(BOX_REWARD, one) == (small == large and best / large > 0.75)
    for metric in (MAP_50, MAP_75, MAP_50_95):
        expected = coco_map(found, truth)[metric.name]
        assert value(metric, one) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("metric", METRICS, ids=lambda m: m.name)
def test_perfect_is_best_and_missing_is_worst(metric: Metric) -> None:
    """The truth's own boxes score best, also with a repeated or a broken one; nothing scores 0."""
    truth = trace(
        box(1, 1, 30, 30, label="heart"),
        box(40, 5, 90, 80, label="left lung"),
        box(1, 1, 30, 30, label="heart"),
        box(9, 9, 3, 3, label="spine"),
    )
    assert value(metric, subject(truth, truth)) == metric.best == 1
    for worst in (
        subject(truth, None),
        subject(truth, Trace()),
        subject(truth, truth, error="it broke"),
        Subject(subject(truth, None).entry, None),
    ):
        assert value(metric, worst) == metric.worst == 0
    half = value(metric, subject(truth, truth), subject(truth, None))
    assert half == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("metric", METRICS, ids=lambda m: m.name)
def test_cases_without_places_are_not_judged(metric: Metric) -> None:
    """Without truth, trace or boxes there is no number; the metric can be sent to a worker."""
    own = trace(box(1, 1, 9, 9, label="heart"))
    case = Case(id="c", benchmark="mmrad", split="test")
    reading = Reading(case_id="c", reader="r", trace=own)
    assert metric.measure(Subject(Entry(case=case), reading)) == {}
    assert metric.measure(Subject(Entry(case=case, truth=Truth(report="Normal.")), reading)) == {}
    assert np.isnan(value(metric, subject(Trace(), own)))
    assert pickle.loads(pickle.dumps(metric.measure)) is metric.measure
    assert pickle.loads(pickle.dumps(metric)).name == metric.name


def test_false_boxes_count_in_pictures_without_truth() -> None:
    """A surer box of a class in a case whose trace shows none lowers average precision."""
    heart = trace(box(1, 1, 30, 30, label="heart"))
    late = trace(box(40, 5, 90, 80, label="spine"), box(1, 1, 30, 30, label="heart"))
    right, beside = subject(heart, late), subject(Trace(), heart)
    assert value(MAP_50, right) == 1
    assert value(MAP_50, right, beside) == pytest.approx(0.5)


def test_boxes_come_from_the_conclusion_then_looks_then_findings() -> None:
    """An answer's places go before looks, looks before findings, and repeated boxes are one."""
    look, end = box(1, 1, 5, 5, label="heart"), box(2, 2, 9, 9, label="spine")
    told = Finding(text="A nodule.", regions=(box(3, 3, 4, 4),))
    both = Trace(steps=(*trace(look).steps, *trace(end, kind="conclude").steps))
    assert collect_boxes(both, [told]) == [end]
    assert collect_boxes(trace(look, end, look), [told]) == [look, end]
    assert collect_boxes(None, [told]) == list(told.regions)
    assert collect_boxes(Trace(steps=(Step(kind="say", regions=(look,)),)), []) == []
    same = box(1, 1, 5, 5, label="cardiac silhouette")
    assert collect_boxes(trace(look, same), []) == [look]


def test_boxes_in_different_pictures_never_meet() -> None:
    """The right box in the wrong picture is a miss for every metric."""
    truth = trace(box(1, 1, 30, 30, label="heart"))
    other = trace(box(1, 1, 30, 30, label="heart", picture="xray-2"))
    assert [value(metric, subject(truth, other)) for metric in METRICS] == [0] * len(METRICS)


def test_labels_matter_for_pointing_and_map_only() -> None:
    """A right box with a wrong label overlaps, but points at nothing; an alias is no wrong label."""
    truth = trace(box(1, 1, 30, 30, label="heart"))
    wrong = trace(box(1, 1, 30, 30, label="spine"))
    alias = trace(box(1, 1, 30, 30, label="The cardiac silhouette"))
    scores = {metric.name: value(metric, subject(truth, wrong)) for metric in METRICS}
    assert scores == {
        "box_iou": 1,
        "box_reward": 1,
        "box_pointing": 0,
        "map_50": 0,
        "map_75": 0,
        "map_50_95": 0,
    }
    assert all(value(metric, subject(truth, alias)) == 1 for metric in METRICS)


def test_pointing_takes_the_first_box_of_a_place() -> None:
    """The first box points; later ones, boxes without area and outside centres do not count."""
    truth = trace(box(0, 0, 10, 10, label="heart"), box(20, 20, 30, 30, label="heart"))
    inside, outside = box(24, 24, 26, 26, label="heart"), box(12, 12, 18, 18, label="heart")
    edge, line = box(5, 5, 15, 15, label="heart"), box(5, 5, 5, 9, label="heart")
    assert value(BOX_POINTING, subject(truth, trace(inside, outside))) == 1
    assert value(BOX_POINTING, subject(truth, trace(outside, inside))) == 0
    assert value(BOX_POINTING, subject(truth, trace(edge))) == 1
    assert value(BOX_POINTING, subject(truth, trace(line))) == 0
    two = trace(box(0, 0, 10, 10, label="heart"), box(20, 20, 30, 30, label="spine"))
    row = BOX_POINTING.measure(subject(two, trace(box(0, 0, 9, 9, label="heart"))))[""]
    assert (row["pointed"], row["places"], row["missed"]) == (1, 2, ["spine"])


def test_overlap_and_reward_are_symmetric() -> None:
    """Truth and reading may change places where the metric says so."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        a, b = (random_boxes(rng, int(rng.integers(1, 5))), random_boxes(rng, int(rng.integers(1, 5))))
        for metric in METRICS:
            if metric.symmetric:
                there = value(metric, subject(trace(*a), trace(*b)))
                assert value(metric, subject(trace(*b), trace(*a))) == pytest.approx(there)


def test_order_of_cases_changes_nothing() -> None:
    """Every metric gives the same number for the cases in another order."""
    rng = np.random.default_rng(6)
    truths = [random_boxes(rng, 3) for _ in range(8)]
    cases = [subject(trace(*t), trace(*moved(rng, t)[:2])) for t in truths]
    for metric in METRICS:
        assert value(metric, *cases) == pytest.approx(value(metric, *cases[::-1]), abs=1e-12)
