"""FROC: MONAI's numbers, kept from a run of MONAI 1.6.1 and made again where it is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from overread.metrics.froc import RATES, froc
from overread.metrics.sample import Sample

KEPT = {
    0: (
        0.038461538461538464,
        0.07692307692307693,
        0.21153846153846154,
        0.4076923076923077,
        0.6538461538461539,
    )
    + (0.7307692307692307, 0.7307692307692307, 0.40714285714285714),
    1: (0.0, 0.125, 0.125, 0.375, 0.375, 0.375, 0.375, 0.25),
    2: (0.027777777777777776, 0.05555555555555555, 0.25, 0.375, 0.5416666666666666, 0.5416666666666666)
    + (0.5416666666666666, 0.3333333333333333),
    3: (0.18181818181818182, 0.18181818181818182, 0.2727272727272727, 0.45454545454545453)
    + (0.45454545454545453, 0.45454545454545453, 0.45454545454545453, 0.35064935064935066),
}
"""Seed → MONAI's sensitivity at each rate, and the mean of them."""


def marked_cases(seed: int) -> list[dict[str, Any]]:
    """Cases with marks, hits among them; with an even seed many confidences are equal."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(int(rng.integers(3, 9))):
        count = int(rng.integers(0, 7))
        sure = rng.random(count) if seed % 2 else rng.integers(1, 6, count) / 8
        hit = rng.integers(0, 2, count)
        truths = int(hit.sum() + rng.integers(0, 3))
        found = [[float(s), int(h)] for s, h in zip(sure, hit, strict=True)]
        rows.append({"cases": 1, "truths": truths, "found": found})
    return rows


def ours(rows: list[dict[str, Any]]) -> list[float]:
    each = [froc(Sample(rows), rates=(rate,))[0] for rate in RATES]
    return [*map(float, each), float(froc(Sample(rows))[0])]


@pytest.mark.parametrize("seed", KEPT)
def test_froc_is_what_monai_gave(seed: int) -> None:
    """Sensitivity at each rate, and the mean, are the numbers that MONAI 1.6.1 gave."""
    assert ours(marked_cases(seed)) == pytest.approx(KEPT[seed], abs=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_froc_is_that_of_monai(seed: int) -> None:
    """The same by MONAI itself, where it is installed."""
    monai = pytest.importorskip("monai.metrics")
    rows = marked_cases(seed)
    marks = np.array([mark for row in rows for mark in row["found"]]).reshape(-1, 2)
    false, true = (marks[marks[:, 1] == hit, 0] for hit in (0, 1))
    truths = sum(row["truths"] for row in rows)
    # MONAI has no operating point at the least confidence of all: one mark below it makes room.
    curve = monai.compute_froc_curve_data(np.append(false, -1.0), true, truths, len(rows))
    each = [monai.compute_froc_score(*curve, (rate,)) for rate in RATES]
    expected = [*map(float, each), float(monai.compute_froc_score(*curve, RATES))]
    assert ours(rows) == pytest.approx(expected, abs=1e-12)


def by_hand(rows: list[dict[str, Any]], rate: float) -> float:
    """The curve from loops over thresholds, read off on straight lines."""
    marks = [mark for row in rows for mark in row["found"]]
    truths = sum(row["truths"] for row in rows)
    points = [(0.0, 0.0)]
    for bar in sorted({sure for sure, _ in marks}, reverse=True):
        kept = [hit for sure, hit in marks if sure >= bar]
        points.append(((len(kept) - sum(kept)) / len(rows), sum(kept) / truths))
    before = max(point for point in points if point[0] <= rate)
    after = [point for point in points if point[0] > rate]
    if not after:
        return before[1]
    x, y = min(after)
    return before[1] + (y - before[1]) * (rate - before[0]) / (x - before[0])


@pytest.mark.parametrize("seed", range(12))
def test_froc_is_the_curve_drawn_by_loops(seed: int) -> None:
    """The same from plain loops."""
    rows = marked_cases(seed)
    for rate in RATES:
        assert froc(Sample(rows), rates=(rate,))[0] == pytest.approx(by_hand(rows, rate), abs=1e-12)


def test_draws_are_those_of_repeated_cases() -> None:
    """A case drawn twice counts as two; a draw of cases in which nothing is to be found has none."""
    rows = [*marked_cases(4), {"cases": 1, "truths": 0, "found": [[0.4, 0]]}]
    weights = np.random.default_rng(2).integers(0, 3, (8, len(rows)))
    weights[0] = 0
    weights[0, -1] = 1
    together = froc(Sample(rows, weights))
    assert np.isnan(together[0])
    for counts, value in zip(weights[1:], together[1:], strict=True):
        again = [row for row, n in zip(rows, counts, strict=True) for _ in range(n)]
        assert value == pytest.approx(froc(Sample(again))[0], abs=1e-12)


def test_being_equally_sure_of_everything_is_one_point() -> None:
    """One operating point: all marks count, and their false ones are what it costs."""
    rows = [{"cases": 1, "truths": 2, "found": [[0.5, 1], [0.5, 0]]}]
    assert froc(Sample(rows), rates=(1,))[0] == 0.5
    assert froc(Sample(rows), rates=(0.5,))[0] == 0.25
    assert np.isnan(froc(Sample([]))[0])
