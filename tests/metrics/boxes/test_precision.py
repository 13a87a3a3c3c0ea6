"""Mean average precision against pycocotools' COCOeval, and against plain loops for ties."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import numpy as np
import pytest
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from overread.metrics.boxes.precision import LEVELS, THRESHOLDS, match_hits, mean_average_precision
from overread.metrics.sample import Sample

Boxes = list[list[float]]
Picture = dict[str, tuple[Boxes, list[float], Boxes]]
"""Class → found boxes, their scores, true boxes."""


def picture(rng: np.random.Generator, classes: str, *, levels: int | None) -> Picture:
    """Random boxes of each class, many of them near a true one; `levels` makes scores equal."""
    made: Picture = {}
    for name in classes:
        low = rng.integers(0, 40, (rng.integers(0, 4), 2))
        truth = np.hstack([low, low + rng.integers(5, 40, low.shape)]).astype(float)
        near = truth[rng.integers(0, len(truth), rng.integers(0, 5))] if len(truth) else truth
        near = near + rng.integers(-3, 4, near.shape)
        far = rng.integers(0, 30, (rng.integers(0, 3), 2))
        away = np.hstack([far, far + rng.integers(0, 30, far.shape)]).astype(float)
        found = np.vstack([near, away])[rng.permutation(len(near) + len(away))]
        scores = rng.random(len(found))
        if levels:
            scores = np.floor(scores * levels) / levels
        made[name] = found.tolist(), scores.tolist(), truth.tolist()
    return made


def row(one: Picture) -> dict[str, Any]:
    """The statistics of a picture, as the metrics keep them."""
    listed = {}
    for name, (found, scores, truth) in one.items():
        order, hit = match_hits(np.array(found).reshape(-1, 4), scores, np.array(truth).reshape(-1, 4))
        bits = [sum(int(h) << n for n, h in enumerate(column)) for column in hit.T]
        listed[name] = [[scores[n], bit] for n, bit in zip(order.tolist(), bits, strict=True)]
    return {"truths": {name: len(told[2]) for name, told in one.items()}, "found": listed}


def coco(pictures: list[Picture], classes: str) -> dict[str, float]:
    """map_50, map_75, map_50_95 by COCOeval; -1 where no class has a true box."""
    numbers = {name: n for n, name in enumerate(classes, 1)}
    common = {
        "images": [{"id": n} for n in range(1, len(pictures) + 1)],
        "categories": [{"id": n, "name": name} for name, n in numbers.items()],
    }
    true: list[dict[str, Any]] = []
    found: list[dict[str, Any]] = []
    for image, one in enumerate(pictures, 1):
        for name, (boxes, scores, truth) in one.items():
            shared = {"image_id": image, "category_id": numbers[name], "iscrowd": 0}
            for x1, y1, x2, y2 in truth:
                area = (x2 - x1) * (y2 - y1)
                box = [x1, y1, x2 - x1, y2 - y1]
                true.append({**shared, "id": len(true) + 1, "bbox": box, "area": area})
            for (x1, y1, x2, y2), score in zip(boxes, scores, strict=True):
                area = (x2 - x1) * (y2 - y1)
                box = [x1, y1, x2 - x1, y2 - y1]
                one_found = {**shared, "bbox": box, "area": area, "score": score}
                found.append({**one_found, "id": len(found) + 1})
    with contextlib.redirect_stdout(io.StringIO()):
        sides = []
        for annotations in (true, found):
            side = COCO()
            side.dataset = {**common, "annotations": annotations}
            side.createIndex()
            sides.append(side)
        judge = COCOeval(*sides, "bbox")
        # Areas are not told apart here: every true and every found box counts.
        judge.params.areaRng, judge.params.areaRngLbl = [[-1e12, 1e12]], ["all"]
        judge.evaluate()
        judge.accumulate()
    table = judge.eval["precision"][:, :, :, 0, -1]

    def mean(part: Any) -> float:
        return float(part[part > -1].mean()) if (part > -1).any() else -1.0

    return {"map_50": mean(table[0]), "map_75": mean(table[5]), "map_50_95": mean(table)}


def ours(rows: list[dict[str, Any]], weights: Any = None, **settings: Any) -> dict[str, Any]:
    sample = Sample(rows, weights)
    chosen = {"map_50": [0], "map_75": [5], "map_50_95": list(range(10))}
    return {
        name: mean_average_precision(sample, thresholds=places, **settings) for name, places in chosen.items()
    }


@pytest.mark.parametrize("levels", [None, 3])
@pytest.mark.parametrize("seed", range(8))
def test_map_is_that_of_cocoeval(seed: int, levels: int | None) -> None:
    """Random boxes, with and without equal scores, give COCOeval's numbers."""
    rng = np.random.default_rng(seed)
    pictures = [picture(rng, "abcd", levels=levels) for _ in range(6)]
    for one in pictures:
        one["d"] = (one["d"][0], one["d"][1], [])  # a class that has no true box anywhere
    theirs = coco(pictures, "abcd")
    mine = ours([row(one) for one in pictures], ties="order")
    assert 0 < theirs["map_50_95"] < theirs["map_50"] < 1
    for name, value in theirs.items():
        assert mine[name][0] == pytest.approx(value, abs=1e-12), name


@pytest.mark.parametrize("seed", range(4))
def test_without_equal_scores_both_ways_with_ties_agree(seed: int) -> None:
    """Taking equal scores together changes nothing where there are none."""
    rng = np.random.default_rng(100 + seed)
    rows = [row(picture(rng, "ab", levels=None)) for _ in range(5)]
    assert ours(rows, ties="order") == ours(rows, ties="together")


@pytest.mark.parametrize("seed", range(4))
def test_draws_are_that_of_cocoeval_on_repeated_pictures(seed: int) -> None:
    """Weights say how often a picture was drawn: the same as COCOeval on the repeated ones."""
    rng = np.random.default_rng(200 + seed)
    pictures = [picture(rng, "abc", levels=None) for _ in range(6)]
    weights = rng.multinomial(6, [1 / 6] * 6, size=5)
    mine = ours([row(one) for one in pictures], weights, ties="order")
    for draw, counts in enumerate(weights):
        drawn = [one for one, n in zip(pictures, counts, strict=True) for _ in range(n)]
        for name, value in coco(drawn, "abc").items():
            assert mine[name][draw] == pytest.approx(value, abs=1e-12), (draw, name)


def by_hand(rows: list[dict[str, Any]], threshold: int) -> float:
    """Average precision with equal scores as one step, by loops over scores and levels."""
    classes = sorted({name for one in rows for name, n in one["truths"].items() if n})
    each = []
    for name in classes:
        truths = sum(one["truths"].get(name, 0) for one in rows)
        boxes = [box for one in rows for box in one["found"].get(name, [])]
        points = []
        for bar in sorted({score for score, _ in boxes}, reverse=True):
            kept = [bits >> threshold & 1 for score, bits in boxes if score >= bar]
            points.append((sum(kept) / truths, sum(kept) / len(kept)))
        best = [max((p for r, p in points if r >= level), default=0.0) for level in LEVELS]
        each.append(sum(best) / len(best))
    return sum(each) / len(each)


@pytest.mark.parametrize("seed", range(6))
def test_equal_scores_taken_together_do_not_hang_on_the_order(seed: int) -> None:
    """Equal scores are one step: the number of plain loops, whatever the order of the files."""
    rng = np.random.default_rng(300 + seed)
    rows = [row(picture(rng, "ab", levels=2)) for _ in range(6)]
    expected = by_hand(rows, 0)
    assert 0 < expected < 1
    assert ours(rows)["map_50"][0] == pytest.approx(expected)
    assert ours(rows[::-1])["map_50"][0] == pytest.approx(expected)


def test_edges_of_map_are_those_of_cocoeval() -> None:
    """Nothing found is 0, nothing true is undefined, perfect is 1, over 100 boxes are cut off."""
    box, other = [0.0, 0.0, 10.0, 10.0], [50.0, 50.0, 60.0, 60.0]
    perfect: Picture = {"a": ([box], [0.5], [box])}
    nothing: Picture = {"a": ([], [], [box])}
    beside: Picture = {"a": ([box], [0.5], [])}
    crowd: Picture = {"a": ([other] * 100 + [box], [0.9] * 100 + [0.1], [box])}
    twice: Picture = {"a": ([box, box], [0.9, 0.8], [box])}
    for pictures in ([perfect], [nothing], [perfect, nothing], [perfect, beside], [crowd], [twice]):
        mine = ours([row(one) for one in pictures], ties="order")
        for name, value in coco(pictures, "a").items():
            assert mine[name][0] == pytest.approx(value, abs=1e-12)
    assert ours([row(perfect)])["map_50_95"][0] == 1
    assert coco([beside], "a")["map_50"] == -1
    assert np.isnan(ours([row(beside)])["map_50"][0])
    assert np.isnan(ours([])["map_50"][0])
    assert ours([row(crowd)])["map_50"][0] == 0


def test_of_equally_good_true_boxes_the_later_one_is_taken_as_in_cocoeval() -> None:
    """Which of two true boxes a found one takes decides whether the next found one is a hit."""
    one, two = [0.0, 0.0, 10.0, 10.0], [2.0, 0.0, 12.0, 10.0]
    between, left = [1.0, 0.0, 11.0, 10.0], [-1.0, 0.0, 9.0, 10.0]
    scores = []
    for truth in ([one, two], [two, one]):
        both: Picture = {"a": ([between, left], [0.9, 0.5], truth)}
        scores.append(ours([row(both)])["map_75"][0])
        assert scores[-1] == pytest.approx(coco([both], "a")["map_75"], abs=1e-12)
    assert scores[0] == 1
    assert scores[1] < 0.6


def test_draws_in_blocks_are_the_same_as_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many draws are taken at once does not change a number."""
    rng = np.random.default_rng(7)
    rows = [row(picture(rng, "ab", levels=4)) for _ in range(8)]
    weights = rng.multinomial(8, [1 / 8] * 8, size=20)
    whole = ours(rows, weights)["map_50_95"]
    monkeypatch.setattr("overread.metrics.boxes.precision._AT_ONCE", 30)
    assert ours(rows, weights)["map_50_95"].tolist() == whole.tolist()


def test_thresholds_are_those_of_coco() -> None:
    """The ten thresholds and 101 levels are COCO's own numbers."""
    params = COCOeval(iouType="bbox").params
    assert THRESHOLDS.tolist() == params.iouThrs.tolist()
    assert LEVELS.tolist() == params.recThrs.tolist()
