"""CheXbert F1 from labels, held to scikit-learn's f1_score."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import f1_score

from overread.errors import UsageError
from overread.language.labels import CHEXPERT
from overread.metrics import Sample
from overread.metrics.clinical.chexbert import (
    CLASSES,
    FIVE,
    chexbert_f1,
    labels_f1,
    positives,
    reference_class_share,
)


def drawn(seed: int, n: int, rare: float) -> Any:
    """Random labels in CheXbert's encoding; positives are rare, so that classes stay empty."""
    dice = np.random.default_rng(seed)
    chances = [1 - 3 * rare, rare, rare, rare]
    labels = dice.choice(4, size=(n, 14), p=chances)
    labels[:, 13] = np.minimum(labels[:, 13], 1)
    return labels


def as_marks(labels: Any, classes: int) -> Any:
    marks = ((labels == 1) | (labels == 3)).astype(int)
    if classes == 14:
        return marks
    return marks[:, [CLASSES.index(name) for name in FIVE]]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("classes", [14, 5])
def test_micro_and_macro_are_scikit_learns(seed: int, classes: int) -> None:
    """Both ways to treat a class that nobody has are scikit-learn's zero_division 0 and nan."""
    ours, theirs = drawn(seed, 12, 0.05), drawn(seed + 100, 12, 0.05)
    a, b = as_marks(ours, classes), as_marks(theirs, classes)
    given = [row.tolist() for row in ours], [row.tolist() for row in theirs]
    for average, absent, division in (
        ("micro", "zero", 0.0),
        ("macro", "zero", 0.0),
        ("macro", "left out", np.nan),
    ):
        expected = f1_score(a, b, average=average, zero_division=division)
        got = chexbert_f1(*given, classes=classes, average=average, absent=absent)  # type: ignore[arg-type]
        assert got == pytest.approx(expected, abs=1e-12)


def test_some_of_these_have_classes_that_nobody_has() -> None:
    """So that the two treatments of such a class are really told apart above."""
    for classes in (14, 5):
        drawn_pairs = [(drawn(seed, 12, 0.05), drawn(seed + 100, 12, 0.05)) for seed in range(6)]
        marks = [as_marks(a, classes).sum(0) + as_marks(b, classes).sum(0) for a, b in drawn_pairs]
        assert any((both == 0).any() for both in marks)


def test_draws_are_scored_at_once() -> None:
    """A draw that holds a row twice scores as if the row were there twice."""
    ours, theirs = drawn(1, 8, 0.15), drawn(2, 8, 0.15)
    rows = [
        {"reference_labels": positives(a.tolist()), "labels": positives(b.tolist())}
        for a, b in zip(ours, theirs, strict=True)
    ]
    weights = np.random.default_rng(3).integers(0, 3, (5, 8))
    for average in ("micro", "macro"):
        got = labels_f1(Sample(rows, weights), average=average)
        for line, value in zip(weights, got, strict=True):
            a, b = np.repeat(as_marks(ours, 14), line, 0), np.repeat(as_marks(theirs, 14), line, 0)
            assert value == pytest.approx(f1_score(a, b, average=average, zero_division=0.0))


def test_order_and_classes_are_the_published_ones() -> None:
    """13 conditions, then 'No Finding'; the five of the competition."""
    assert CLASSES[0] == "Enlarged Cardiomediastinum"
    assert CLASSES[-2:] == ("Support Devices", "No Finding")
    assert sorted(CLASSES) == sorted(CHEXPERT)
    assert [CLASSES.index(name) for name in FIVE] == [1, 4, 5, 7, 9]


def test_uncertain_is_positive_and_denied_is_not() -> None:
    """3 counts as 1; 2 and 0 do not."""
    assert positives([3, 2, 1, 0, *[0] * 10])[:4] == [1, 0, 1, 0]
    one = [[1, *[0] * 13]]
    assert chexbert_f1(one, [[3, *[0] * 13]]) == 1.0
    assert chexbert_f1(one, [[2, *[0] * 13]]) == 0.0


def test_a_perfect_macro_reader_gets_the_ceiling() -> None:
    """With classes that no reference has, macro F1 of the references themselves is their share."""
    ours = drawn(5, 6, 0.05)
    rows = [dict.fromkeys(("reference_labels", "labels"), positives(r.tolist())) for r in ours]
    for classes in (14, 5):
        ceiling = reference_class_share(Sample(rows), classes=classes)[0]
        assert labels_f1(Sample(rows), classes=classes, average="macro")[0] == ceiling
        assert 0 < ceiling < 1
    assert labels_f1(Sample(rows), average="macro", absent="left out")[0] == 1.0


def test_nothing_positive_is_undefined() -> None:
    """Where neither side has a positive, micro F1 and the macro mean of no class are NaN."""
    blank = [{"reference_labels": [0] * 14, "labels": [0] * 14}]
    assert math.isnan(labels_f1(Sample(blank))[0])
    assert math.isnan(labels_f1(Sample(blank), average="macro", absent="left out")[0])
    assert labels_f1(Sample(blank), average="macro", absent="zero")[0] == 0.0
    assert math.isnan(labels_f1(Sample([]), average="macro")[0])
    assert math.isnan(reference_class_share(Sample([]))[0])


@pytest.mark.parametrize("labels", [[0] * 13, [0] * 15, [4, *[0] * 13], [-1, *[0] * 13]])
def test_wrong_labels_are_refused(labels: list[int]) -> None:
    """Too few, too many, or a number that is none of the four."""
    with pytest.raises(UsageError, match="14 numbers from 0 to 3"):
        positives(labels)
