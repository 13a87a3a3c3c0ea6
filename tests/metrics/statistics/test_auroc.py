"""AUROC, DeLong's interval and test: held to scikit-learn, to all pairs, and to pROC's example.

pROC's documentation compares two markers of 113 patients (its `aSAH` data: Z = 2.209, p = .02718, the
interval of S100B .6301 to .8326). The data are not ours to copy; on them the functions below gave 2.2090,
.027176 and .63012 to .83262. What is tested here is the same arithmetic by loops over all pairs.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from overread.core import Case, Entry, Option, Reading, Truth
from overread.errors import UsageError
from overread.metrics.contract import Subject
from overread.metrics.option_auroc import AUROC
from overread.metrics.sample import Sample
from overread.metrics.statistics.auroc import auroc, auroc_covariance, auroc_difference


def ratings(seed: int, cases: int = 40, levels: int | None = None, readers: int = 2) -> tuple[Any, Any]:
    """Labels, and the scores of readers that are better than chance and agree in part."""
    rng = np.random.default_rng(seed)
    positive = rng.random(cases) < 0.4
    positive[:3], positive[3:6] = True, False
    seen = positive + rng.normal(0, 1, cases)
    scores = seen + rng.normal(0, 0.7, (readers, cases))
    return positive, np.round(scores * levels) if levels else scores


def by_pairs(positive: Any, scores: Any) -> tuple[Any, Any, Any]:
    """Areas, and DeLong's covariance, from structural components by loops over all pairs."""
    areas, above, below = [], [], []
    for own in scores:
        psi = np.array(
            [[1.0 if a > b else 0.5 if a == b else 0.0 for b in own[~positive]] for a in own[positive]]
        )
        areas.append(psi.mean())
        above.append(psi.mean(axis=1))
        below.append(psi.mean(axis=0))
    m, n = positive.sum(), (~positive).sum()
    return np.array(areas), (np.cov(above) / m + np.cov(below) / n), (above, below)


@pytest.mark.parametrize("levels", [None, 1])
@pytest.mark.parametrize("seed", range(6))
def test_area_and_interval(seed: int, levels: int | None) -> None:
    """The area is scikit-learn's, the variance DeLong's by all pairs, with and without ties."""
    positive, scores = ratings(seed, levels=levels)
    areas, covariance, _ = by_pairs(positive, scores)
    found, ours = auroc_covariance(positive, scores)
    assert found == pytest.approx(areas, abs=1e-12)
    assert ours == pytest.approx(covariance, abs=1e-14)
    one = auroc(positive, scores[0], scale="plain")
    assert one.value == pytest.approx(roc_auc_score(positive, scores[0]), abs=1e-12)
    assert one.se == pytest.approx(math.sqrt(covariance[0, 0]))
    assert one.low is not None
    assert one.high is not None
    assert one.low == pytest.approx(max(0, areas[0] - 1.959963984540054 * math.sqrt(covariance[0, 0])))
    assert one.positives + one.negatives == len(positive)
    area, se = areas[0], math.sqrt(covariance[0, 0])
    ends = np.log(area / (1 - area)) + np.array([-1, 1]) * 1.959963984540054 * se / (area * (1 - area))
    better = auroc(positive, scores[0])
    assert [better.low, better.high] == pytest.approx((1 / (1 + np.exp(-ends))).tolist())


@pytest.mark.parametrize("seed", range(6))
def test_delongs_test(seed: int) -> None:
    """z and p of two areas on the same cases."""
    positive, scores = ratings(20 + seed, levels=2)
    areas, covariance, _ = by_pairs(positive, scores)
    se = math.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    found = auroc_difference(positive, *scores)
    assert found.z == pytest.approx((areas[0] - areas[1]) / se, abs=1e-10)
    assert found.p == pytest.approx(2 * (1 - norm.cdf(abs(found.z or 0))), abs=1e-12)
    turned = auroc_difference(positive, scores[1], scores[0])
    assert turned.p == pytest.approx(found.p)
    assert turned.difference == -found.difference


@pytest.mark.parametrize("seed", range(4))
def test_scores_of_one_patient_are_taken_together(seed: int) -> None:
    """Obuchowski's variance, from sums by patient in loops; alone in their clusters it is DeLong's."""
    positive, scores = ratings(40 + seed, readers=1)
    clusters = [f"p{n % 13}" for n in range(len(positive))]
    areas, plain, (above, below) = by_pairs(positive, scores)
    area, m, n = areas[0], int(positive.sum()), int((~positive).sum())
    ones, others = (
        {
            name: [v for v, c in zip(values[0], np.array(clusters)[side], strict=True) if c == name]
            for name in set(np.array(clusters)[side])
        }
        for values, side in ((above, positive), (below, ~positive))
    )
    every = set(clusters)
    s10 = sum((sum(v) - len(v) * area) ** 2 for v in ones.values()) * len(ones) / (len(ones) - 1) / m
    s01 = sum((sum(v) - len(v) * area) ** 2 for v in others.values()) * len(others) / (len(others) - 1) / n
    s11 = sum(
        (sum(ones.get(c, [])) - len(ones.get(c, [])) * area)
        * (sum(others.get(c, [])) - len(others.get(c, [])) * area)
        for c in every
    )
    s11 *= len(every) / (len(every) - 1)
    expected = s10 / m + s01 / n + 2 * s11 / (m * n)
    ours = auroc(positive, scores[0], clusters=clusters)
    assert ours.value == pytest.approx(area)
    assert ours.se == pytest.approx(math.sqrt(expected), abs=1e-12)
    alone = auroc(positive, scores[0], clusters=[str(n) for n in range(len(positive))])
    assert alone.se == pytest.approx(math.sqrt(float(plain)), abs=1e-12)


def test_intervals_cover() -> None:
    """Of 600 samples of 20 cases, logit intervals hold the true area in 94 or more of a hundred."""
    rng = np.random.default_rng(1)
    true, inside = float(norm.cdf(1 / math.sqrt(2))), {"logit": 0, "plain": 0}
    positive = np.arange(20) < 10
    for _ in range(600):
        scores = positive + rng.normal(0, 1, 20)
        for scale in inside:
            found = auroc(positive, scores, scale=scale)  # type: ignore[arg-type]
            low, high = (0, 1) if found.low is None or found.high is None else (found.low, found.high)
            inside[scale] += low <= true <= high
    assert inside["logit"] / 600 >= 0.94
    assert inside["plain"] < inside["logit"]


def test_delongs_test_is_not_too_bold() -> None:
    """Two readers that are equally good: p is below .05 in about five of a hundred samples."""
    rng = np.random.default_rng(2)
    bold = 0
    for _ in range(500):
        positive = np.arange(80) < 30
        seen = positive + rng.normal(0, 0.7, 80)
        p = auroc_difference(positive, *(seen + rng.normal(0, 0.7, (2, 80)))).p
        bold += p is not None and p < 0.05
    assert 0.02 <= bold / 500 <= 0.08


def test_no_interval_without_width() -> None:
    """Sides that do not overlap, and too few cases: no interval, and a sentence why."""
    apart = auroc([0, 0, 1, 1], [1, 2, 3, 4])
    assert (apart.value, apart.low, apart.high) == (1.0, None, None)
    assert "no width" in apart.note
    assert "no interval" in str(apart)
    assert auroc([0, 1, 1], [1, 2, 0]).low is None
    same = auroc_difference([0, 1, 0, 1], [1, 2, 3, 4], [1, 2, 3, 4])
    assert (same.difference, same.p) == (0, None)


@pytest.mark.parametrize(
    ("positive", "scores", "told"),
    [
        ([1, 1], [1, 2], "only one of them"),
        ([0, 2], [1, 2], "labels 0 and 1"),
        ([0, 1], [1, math.nan], "finite"),
        ([0, 1], [1, 2, 3], "3 scores were given for 2 cases"),
    ],
)
def test_what_has_no_curve_is_refused(positive: Any, scores: Any, told: str) -> None:
    """One sentence for what cannot be."""
    with pytest.raises(UsageError, match=told):
        auroc(positive, scores)


def case_rows(seed: int, cases: int = 30) -> list[Any]:
    """Cases with five options, some readings without probabilities."""
    rng = np.random.default_rng(seed)
    options = tuple(Option(letter=letter, text=letter) for letter in "ABCDE")
    rows: list[Any] = []
    for n in range(cases):
        key = "ABCDE"[rng.integers(0, 5)]
        told = {letter: float(v) for letter, v in zip("ABCDE", rng.integers(1, 9, 5), strict=True)}
        told[key] += 3
        case = Case(id=f"c{n}", benchmark="medthinkvqa", split="test", options=options)
        chances = None if n % 7 == 0 else told
        reading = Reading(case_id=case.id, reader="r", choice="A", probabilities=chances)
        rows += AUROC.measure(Subject(Entry(case=case, truth=Truth(answer=key)), reading)).values()
    return rows


@pytest.mark.parametrize("seed", range(5))
def test_options_by_scikit_learn(seed: int) -> None:
    """Right options against wrong ones of all cases, those without probabilities among them."""
    rows = case_rows(seed)
    labels = [n == 0 for row in rows for n in range(1 + len(row["wrong"]))]
    scores = [p for row in rows for p in (row["right"], *row["wrong"])]
    ours = float(AUROC.combine(Sample(rows))[0])
    assert ours == pytest.approx(roc_auc_score(labels, scores), abs=1e-12)
    assert 0.5 < ours < 1
    weights = np.random.default_rng(seed).integers(0, 3, (4, len(rows)))
    for counts, value in zip(weights, AUROC.combine(Sample(rows, weights)), strict=True):
        times = [c for row, c in zip(rows, counts, strict=True) for _ in range(1 + len(row["wrong"]))]
        assert value == pytest.approx(roc_auc_score(labels, scores, sample_weight=times), abs=1e-12)


def test_options_do_not_hang_on_letters() -> None:
    """What is missing is sure and wrong; a case whose truth is no option is not asked."""
    assert case_rows(0)[0]["right"] == 0
    assert case_rows(0)[0]["wrong"] == [1, 1, 1, 1]
    case = Case(id="c", benchmark="mmrad", split="test")
    assert AUROC.measure(Subject(Entry(case=case, truth=Truth(answer_text="yes")), None)) == {}
