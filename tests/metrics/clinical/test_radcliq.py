"""RadCliQ: its constants by the published anchors, its BLEU-2 against nltk."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

from overread.errors import UsageError
from overread.metrics import Sample
from overread.metrics.clinical.model_scores import METRICS
from overread.metrics.clinical.radcliq import COMPONENTS, V0, V1, VERSIONS, inverse_of_mean
from overread.metrics.words import radcliq_bleu2

WORDS = "No effusion small Left right nodule . lung is seen Opacity. a  ..".split(" ")


@pytest.mark.parametrize(("version", "ones", "zeros"), [("v0", -0.2421, 5.5162), ("v1", -1.4407, 2.4501)])
def test_published_anchors(version: str, ones: float, zeros: float) -> None:
    """All components 1, and all 0, give the published values."""
    constants = VERSIONS[version]
    assert constants.value(dict.fromkeys(COMPONENTS, 1.0)) == pytest.approx(ones, abs=5e-5)
    assert constants.value(dict.fromkeys(COMPONENTS, 0.0)) == pytest.approx(zeros, abs=5e-5)


def test_components_are_taken_in_the_published_order() -> None:
    """Each component alone moves the value by its own coefficient over its own scale."""
    assert COMPONENTS == ("radgraph_combined", "bertscore", "sembscore", "bleu2")
    nothing = dict.fromkeys(COMPONENTS, 0.0)
    slopes = [V1.value({**nothing, name: 1.0}) - V1.value(nothing) for name in COMPONENTS]
    assert slopes == pytest.approx([-1.245216, -1.650845, -0.994771, 1.4435e-11], abs=1e-6)
    assert V0.value({**nothing, "bleu2": 1.0}) > V0.value(nothing)


@pytest.mark.parametrize(
    ("version", "metric"), [("v0", METRICS["radcliq_v0"]), ("v1", METRICS["radcliq_v1"])]
)
def test_mean_over_cases_is_the_mean_of_case_values(version: str, metric: object) -> None:
    """For every draw, the metric is the mean of the values of its cases, drawn ones twice."""
    dice = np.random.default_rng(4)
    rows = [dict(zip(COMPONENTS, dice.uniform(-1, 1, 4).tolist(), strict=True)) for _ in range(9)]
    weights = dice.integers(0, 3, (6, 9))
    weights[0] = 1
    values = np.array([VERSIONS[version].value(row) for row in rows])
    expected = [np.average(values, weights=line) for line in weights]
    got = metric.combine(Sample(rows, weights))  # type: ignore[attr-defined]
    assert got == pytest.approx(expected, abs=1e-12)
    assert math.isnan(metric.combine(Sample([]))[0])  # type: ignore[attr-defined]


def test_a_missing_component_is_named() -> None:
    """Without BERTScore there is no RadCliQ."""
    with pytest.raises(UsageError, match="bertscore is not given"):
        V1.value({"radgraph_combined": 1, "sembscore": 1, "bleu2": 1})


def test_only_a_positive_mean_is_inverted() -> None:
    """1/RadCliQ is of the mean, not of cases, and refused at or below 0."""
    assert inverse_of_mean([-1.0, 2.0]) == 2.0
    for cases in ([-1.0, 0.5], [1.0, -1.0], []):
        with pytest.raises(UsageError):
            inverse_of_mean(cases)


@pytest.mark.parametrize("seed", range(4))
def test_bleu2_is_nltks_with_its_first_smoothing(seed: int) -> None:
    """On random texts, some of one word, some with nothing in common."""
    dice = random.Random(seed)
    zeros = 0
    for _ in range(150):
        reference = " ".join(dice.choice(WORDS) for _ in range(dice.randint(1, 12)))
        written = " ".join(dice.choice(WORDS) for _ in range(dice.randint(1, 9)))
        ours = [w for w in reference.lower().replace(".", " .").split(" ") if w]
        theirs = [w for w in written.lower().replace(".", " .").split(" ") if w]
        if not theirs or not ours:
            continue
        smooth = SmoothingFunction().method1
        expected = sentence_bleu([ours], theirs, weights=(0.5, 0.5), smoothing_function=smooth)
        assert radcliq_bleu2(reference, written) == pytest.approx(expected, abs=1e-12)
        zeros += expected == 0
    assert zeros


def test_bleu2_of_nothing_is_zero() -> None:
    """An empty text, on either side, has no BLEU."""
    assert (
        radcliq_bleu2("small effusion", "")
        == radcliq_bleu2("small effusion", "   ")
        == radcliq_bleu2("", "effusion")
        == 0
    )


def test_an_equal_text_has_full_bleu2() -> None:
    """A text of two words or more equals itself."""
    assert radcliq_bleu2("No effusion.", "no EFFUSION .") == 1.0
