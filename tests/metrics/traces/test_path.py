"""Looks of traces, and the path over the radiograph: coverage, order, boxes of the steps."""

from __future__ import annotations

import json
import pickle
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycocotools import mask as coco_mask
from scipy.stats import kendalltau

from overread.core import Box, Case, Entry, Image, Reading, Step, Trace, Truth
from overread.metrics.contract import Metric, Subject
from overread.metrics.sample import Sample
from overread.metrics.traces.looks import collect_looks, step_words
from overread.metrics.traces.path import (
    TRACE_BOX_IOU,
    TRACE_COVERAGE_F1,
    TRACE_COVERAGE_PRECISION,
    TRACE_COVERAGE_RECALL,
    TRACE_ORDER,
    coverage,
    order_agreement,
)

METRICS = (TRACE_COVERAGE_PRECISION, TRACE_COVERAGE_RECALL, TRACE_COVERAGE_F1, TRACE_ORDER, TRACE_BOX_IOU)
PLACES = ["left lung", "right lung", "trachea", "spine", "carina", "svc"]
WALKS = st.lists(st.sampled_from(PLACES), max_size=8)


def look(label: str | None, edges: tuple[float, ...] | None = (0, 0, 9, 9)) -> Step:
    if edges is None:
        return Step(kind="look", text="<image>")
    x1, y1, x2, y2 = edges
    box = Box(picture="xray", x1=x1, y1=y1, x2=x2, y2=y2, label=label)
    return Step(kind="look", text="<image>", regions=(box,))


def say(words: str) -> Step:
    return Step(kind="say", text=words)


def walk(*labels: str | None) -> Trace:
    return Trace(steps=tuple(look(label) for label in labels))


def subject(truth: Trace | None, own: Trace | None, **more: Any) -> Subject:
    pictures = (Image(name="xray", file="x.png"),)
    case = Case(id="c", benchmark="mmrad", split="test", pictures=pictures)
    reading = Reading(case_id="c", reader="r", trace=own, **more)
    return Subject(Entry(case=case, truth=Truth(trace=truth)), reading)


def value(metric: Metric, *subjects: Subject) -> float:
    rows = [row for one in subjects for row in metric.measure(one).values()]
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows
    return float(metric.combine(Sample(rows))[0])


def test_looks_carry_place_box_and_following_words() -> None:
    """A look has its region in our wording, its first box, and the next step's words without box."""
    steps = (
        say("First, I need to analyze the lungs. "),
        look("lungs", (1, 2, 3, 4)),
        say(" The box of this area is [1, 2, 3.5, 4] . No effusion.<image>"),
        say("I will look at the heart next."),
        look("heart"),
        look("spine"),
        Step(kind="conclude", text="In summary: "),
    )
    first, second, third = collect_looks(Trace(steps=steps))
    assert (first.place, first.label) == ("lung region", "lungs")
    assert first.words.split() == "The box of this area is . No effusion.".split()
    assert first.box is not None
    assert first.box.y2 == 4
    assert (second.words, third.words) == ("", "")
    words = step_words(Trace(steps=steps))
    assert "[" not in words
    assert "<image>" not in words
    assert "In summary" not in words
    assert "heart next" in words


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ("Now the lung region, then the left lower lung zone of this film.", "left lower lung zone"),
        (
            "Second, I need to analyze the heart and the mediastinal region.",
            "heart and the mediastinal region",
        ),
        ("Let me see.", ""),
        ("", ""),
    ],
)
def test_looks_without_label_take_the_region_named_last(words: str, place: str) -> None:
    """The words before a nameless look name its region, also where it has no box."""
    for step in (look(None), look(None, None)):
        (found,) = collect_looks(Trace(steps=(say(words), step)))
        assert found.place == place


@given(WALKS, WALKS)
def test_coverage_is_counted_over_sets(looked: list[str], reference: list[str]) -> None:
    """Precision, recall and F1 are those of the sets of regions; 0 where nothing is shared."""
    both = set(looked) & set(reference)
    precision, recall, f1 = coverage(looked, reference)
    assert precision == (len(both) / len(set(looked)) if looked else 0)
    assert recall == (len(both) / len(set(reference)) if reference else 0)
    harmonic = 2 * precision * recall / (precision + recall) if both else 0
    assert f1 == pytest.approx(harmonic)


@given(WALKS, WALKS)
def test_order_is_kendalls_tau(looked: list[str], reference: list[str]) -> None:
    """The share of pairs in order is (1 + scipy's tau-b) / 2; None with fewer than two common."""
    common = [place for place in dict.fromkeys(reference) if place in looked]
    kept = order_agreement(looked, reference)
    if len(common) < 2:
        assert kept is None
        return
    tau = kendalltau(range(len(common)), [looked.index(place) for place in common]).statistic
    assert kept == pytest.approx((1 + tau) / 2)


@pytest.mark.parametrize("metric", METRICS, ids=lambda m: m.name)
def test_perfect_is_best_and_missing_is_worst(metric: Metric) -> None:
    """The reference's own trace scores best, repeated and nameless looks too; a missing one 0."""
    truth = Trace(
        steps=(
            look("lungs", (0, 0, 50, 50)),
            look("heart", (5, 5, 20, 20)),
            look("lungs", (0, 0, 50, 40)),
            look(None, (7, 7, 9, 9)),
            look("spine", (9, 9, 7, 7)),
            look("spine", None),
        )
    )
    assert value(metric, subject(truth, truth)) == metric.best == 1
    for own in (None, Trace(), Trace(steps=(say("Nothing."),))):
        assert value(metric, subject(truth, own)) == metric.worst == 0
    assert value(metric, subject(truth, truth, error="it broke")) == 0
    assert value(metric, subject(truth, truth), subject(truth, None)) == 0.5
    assert pickle.loads(pickle.dumps(metric.measure)) is metric.measure


@pytest.mark.parametrize("metric", METRICS, ids=lambda m: m.name)
def test_nothing_to_judge_gives_no_number(metric: Metric) -> None:
    """Without a reference trace, or without looks in it, no row counts."""
    own = walk("heart", "spine")
    assert metric.measure(subject(None, own)) == {}
    assert metric.measure(subject(Trace(steps=(say("Normal heart."),)), own)) == {}
    assert metric.measure(Subject(Entry(case=Case(id="c", benchmark="m", split="t")), None)) == {}


def test_order_is_undefined_for_one_region_and_worst_for_one_in_common() -> None:
    """A reference with one region has no order; a reader who shares one of two kept none of it."""
    assert np.isnan(value(TRACE_ORDER, subject(walk("heart"), walk("heart"))))
    assert value(TRACE_ORDER, subject(walk("heart", "spine"), walk("heart", "carina"))) == 0
    assert value(TRACE_ORDER, subject(walk("heart", "spine"), walk("spine", "heart"))) == 0
    three = walk("heart", "spine", "carina")
    assert value(TRACE_ORDER, subject(three, walk("carina", "heart", "spine"))) == pytest.approx(1 / 3)


def test_coverage_takes_names_as_they_stand() -> None:
    """Aliases are the same region, a part is not its major region; nameless looks do not count."""
    truth = walk("lung region", "heart")
    row = TRACE_COVERAGE_F1.measure(subject(truth, walk("Lungs", "left lung", None)))[""]
    assert (row["precision"], row["recall"], row["f1"]) == (0.5, 0.5, 0.5)
    assert (row["missed"], row["beside"]) == (["cardiac silhouette"], ["left lung"])
    swapped = value(TRACE_COVERAGE_F1, subject(walk("Lungs", "left lung"), truth))
    assert TRACE_COVERAGE_F1.symmetric
    assert swapped == 0.5


@pytest.mark.parametrize("seed", range(8))
def test_step_boxes_are_those_of_pycocotools_and_brute_force(seed: int) -> None:
    """Per region the reader's first boxes, paired in every way; regions not looked at score 0."""
    rng = np.random.default_rng(seed)

    def random_looks(count: int) -> list[Step]:
        made = []
        for _ in range(count):
            x, y = rng.integers(0, 20, 2).tolist()
            w, h = rng.integers(5, 40, 2).tolist()
            made.append(look(["left lung", "spine"][rng.integers(0, 2)], (x, y, x + w, y + h)))
        return made

    def boxes(steps: list[Step], label: str) -> Any:
        rows = [r for s in steps for r in s.regions if isinstance(r, Box) and r.label == label]
        return np.array([(r.x1, r.y1, r.x2 - r.x1, r.y2 - r.y1) for r in rows], np.float64)

    asked, own = random_looks(4), random_looks(int(rng.integers(0, 6)))
    total = 0.0
    for label in ("left lung", "spine"):
        true, found = boxes(asked, label), boxes(own, label)
        found = found[: len(true)]
        if len(true) and len(found):
            table = np.asarray(coco_mask.iou(found, true, [0] * len(true)))
            ways = permutations(range(len(true)), len(found))
            total += max(sum(table[n, c] for n, c in enumerate(way)) for way in ways)
    one = subject(Trace(steps=tuple(asked)), Trace(steps=tuple(own)))
    assert value(TRACE_BOX_IOU, one) == pytest.approx(total / len(asked))


def test_more_looks_at_a_region_do_not_help() -> None:
    """Only as many of the reader's boxes count as the reference has there, the first ones."""
    truth = Trace(steps=(look("spine", (0, 0, 10, 10)),))
    wrong, right = look("spine", (50, 50, 60, 60)), look("spine", (0, 0, 10, 10))
    assert value(TRACE_BOX_IOU, subject(truth, Trace(steps=(right, wrong)))) == 1
    assert value(TRACE_BOX_IOU, subject(truth, Trace(steps=(wrong, right)))) == 0


def test_looks_without_boxes_leave_box_iou_out() -> None:
    """A reference that names regions without boxes is judged for coverage, not for boxes."""
    truth = Trace(steps=(say("The heart."), look(None, None)))
    assert np.isnan(value(TRACE_BOX_IOU, subject(truth, truth)))
    assert value(TRACE_COVERAGE_F1, subject(truth, truth)) == 1
