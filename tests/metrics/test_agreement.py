"""Agreement of raters, against scikit-learn, nltk, published examples and a plain double loop."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.metrics.agreement import AnnotationTask
from nltk.metrics.distance import binary_distance, interval_distance
from sklearn.metrics import cohen_kappa_score, confusion_matrix, matthews_corrcoef

from overread.errors import UsageError
from overread.metrics.agreement import (
    Level,
    agree,
    alpha,
    kappa,
    krippendorff_alpha,
    mcc,
    pair_statistics,
    share_agreed,
)
from overread.metrics.sample import Sample
from overread.metrics.statistics.bootstrap import draw_weights

LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval")

# Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011): four observers, twelve units.
OBSERVERS = """
1 2 3 3 2 1 4 1 2 . . .
1 2 3 3 2 2 4 1 2 5 . 3
. 3 3 3 2 3 4 2 2 5 1 .
1 2 3 3 2 4 4 1 2 5 1 .
"""


def krippendorff() -> list[list[int | None]]:
    lines = [line.split() for line in OBSERVERS.strip().splitlines()]
    return [[None if mark == "." else int(mark) for mark in unit] for unit in zip(*lines, strict=True)]


def distance(one: float, two: float, level: Level, flat: list[float]) -> float:
    """How far two ratings are apart, straight from the definition."""
    if level == "nominal":
        return float(one != two)
    if level == "interval":
        return (one - two) ** 2
    low, high = min(one, two), max(one, two)
    between = sum(low <= value <= high for value in flat)
    return float((between - (flat.count(low) + flat.count(high)) / 2) ** 2) if low != high else 0.0


def plain_alpha(table: list[list[Any]], level: Level) -> float:
    """Alpha by looking at every pair of ratings; NaN where it is 0/0."""
    units = [[v for v in line if v is not None] for line in table]
    units = [unit for unit in units if len(unit) > 1]
    flat = [value for unit in units for value in unit]
    n = len(flat)
    observed = sum(
        distance(unit[i], unit[j], level, flat) / (len(unit) - 1)
        for unit in units
        for i in range(len(unit))
        for j in range(len(unit))
        if i != j
    )
    expected = sum(distance(flat[i], flat[j], level, flat) for i in range(n) for j in range(n) if i != j)
    return 1 - (n - 1) * observed / expected if expected else math.nan


def pairs(n: int, labels: int, seed: int) -> tuple[list[int], list[int]]:
    random = np.random.default_rng(seed)
    first = random.integers(0, labels, n)
    second = np.where(random.random(n) < 0.6, first, random.integers(0, labels, n))
    return first.tolist(), second.tolist()


CODES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=40)


@given(CODES)
def test_two_raters_are_scikit_learns(items: list[tuple[int, int]]) -> None:
    """Confusion, share, the three kappas and MCC agree with scikit-learn wherever defined."""
    first, second = [a for a, _ in items], [b for _, b in items]
    found = agree(first, second, draws=0)
    if len({*first, *second}) > 1:
        # Of a single label scikit-learn warns.
        assert np.array(found.confusion).tolist() == confusion_matrix(first, second).tolist()
    assert found.share.value == pytest.approx(np.mean(np.array(first) == second))
    for ours, weights in [
        (found.kappa, None),
        (found.kappa_linear, "linear"),
        (found.kappa_quadratic, "quadratic"),
    ]:
        assert ours is not None
        if len({*first, *second}) == 1:
            assert ours.value is None
        else:
            assert ours.value == pytest.approx(cohen_kappa_score(first, second, weights=weights))
    if len(set(first)) == 1 or len(set(second)) == 1:
        # scikit-learn says 0 here; 0/0 is undefined.
        assert found.mcc.value is None
        assert len({*first, *second}) == 1 or matthews_corrcoef(first, second) == 0
    else:
        assert found.mcc.value == pytest.approx(matthews_corrcoef(first, second))


def test_labels_that_nobody_gave_keep_their_place() -> None:
    """With labels told, weights go by their order, unused ones included, as in scikit-learn."""
    order = ["none", "mild", "moderate", "severe"]
    first = ["none", "severe", "none", "mild", "severe", "none"]
    second = ["none", "mild", "mild", "mild", "severe", "severe"]
    found = agree(first, second, labels=order, draws=0)
    assert found.labels == tuple(order)
    assert np.array(found.confusion).tolist() == confusion_matrix(first, second, labels=order).tolist()
    for ours, weights in [(found.kappa_linear, "linear"), (found.kappa_quadratic, "quadratic")]:
        assert ours is not None
        theirs = cohen_kappa_score(first, second, labels=order, weights=weights)
        assert ours.value == pytest.approx(theirs)
        # In alphabetical order it would be another number.
        assert ours.value != pytest.approx(cohen_kappa_score(first, second, weights=weights))
    assert agree(first, second).kappa_linear is None


def test_cohens_own_example() -> None:
    """Cohen (1968), 200 patients in three diagnoses: 70 % agree, kappa .492."""
    table = [[88, 10, 2], [14, 40, 6], [18, 10, 12]]
    first = [i for i in range(3) for j in range(3) for _ in range(table[i][j])]
    second = [j for i in range(3) for j in range(3) for _ in range(table[i][j])]
    found = agree(first, second)
    assert found.confusion == tuple(tuple(line) for line in table)
    assert found.share.value == pytest.approx(0.7)
    assert found.kappa.value == pytest.approx(0.29 / 0.59)
    # Fleiss, Cohen and Everitt's large-sample error of this table's kappa is about .05.
    assert found.kappa.low == pytest.approx(0.492 - 1.96 * 0.05, abs=0.02)
    assert found.kappa.high == pytest.approx(0.492 + 1.96 * 0.05, abs=0.02)


def test_draws_of_two_raters_are_items_really_repeated() -> None:
    """Every draw's number is scikit-learn's of the repeated items; undefined where it is 0/0."""
    first, second = pairs(15, 3, 0)
    clusters = [f"p{i % 6}" for i in range(15)]
    weights = draw_weights(clusters, 60, 3)
    sample = Sample([pair_statistics(a, b) for a, b in zip(first, second, strict=True)], weights)
    shares, correlations = share_agreed(sample), mcc(sample)
    kappas = {name: kappa(sample, weighting=name) for name in ("none", "linear", "quadratic")}
    for draw, line in enumerate(weights.astype(int)):
        one, two = np.repeat(first, line), np.repeat(second, line)
        assert shares[draw] == pytest.approx(np.mean(one == two))
        for name, values in kappas.items():
            theirs = cohen_kappa_score(one, two, labels=[0, 1, 2], weights=None if name == "none" else name)
            assert values[draw] == pytest.approx(theirs, nan_ok=True)
        if len(set(one)) > 1 and len(set(two)) > 1:
            assert correlations[draw] == pytest.approx(matthews_corrcoef(one, two))
        else:
            assert np.isnan(correlations[draw])
    found = agree(first, second, clusters=clusters, draws=60, seed=3, method="percentile")
    known = kappas["none"][~np.isnan(kappas["none"])]
    assert (found.kappa.low, found.kappa.high) == pytest.approx(tuple(np.quantile(known, [0.025, 0.975])))
    assert (found.kappa.clusters, found.kappa.n) == (6, 15)


def test_perfect_and_opposite_raters() -> None:
    """Equal labels give 1 for all; opposite ones give 0 % and -1."""
    first = [0, 1, 1, 0, 1, 0, 0, 1]
    same = agree(first, first)
    for own in (same.share, same.kappa, same.kappa_linear, same.kappa_quadratic, same.mcc):
        assert own is not None
        assert own.value == 1
    opposite = agree(first, [1 - label for label in first])
    assert (opposite.share.value, opposite.kappa.value, opposite.mcc.value) == (0, -1, -1)


def test_raters_may_change_places_and_labels_their_names() -> None:
    """Share, kappa and MCC are symmetric, and do not depend on what labels are called."""
    first, second = pairs(60, 4, 1)
    one, two = agree(first, second), agree(second, first)
    names = ["pear", "apple", "fig", "date"]
    third = agree([names[i] for i in first], [names[i] for i in second])
    for other in (two, third):
        for field in ("share", "kappa", "mcc"):
            assert getattr(other, field).value == pytest.approx(getattr(one, field).value)
    assert np.array(two.confusion).tolist() == np.array(one.confusion).T.tolist()


def test_one_label_only_is_undefined() -> None:
    """All agree on one label: 100 %, and coefficients that chance alone would decide are None."""
    found = agree(["a"] * 5, ["a"] * 5)
    assert found.share.value == 1
    assert (found.kappa.value, found.mcc.value) == (None, None)
    assert "undefined" in found.kappa.note
    half = agree(["a"] * 4, ["a", "b", "a", "b"])
    assert (half.kappa.value, half.mcc.value) == (0, None)
    json.dumps(found.as_dict(), allow_nan=False)


def test_no_item_and_one_item() -> None:
    """Without items nothing is defined; one item has a share and no interval."""
    nothing = agree([], [])
    assert (nothing.n, nothing.share.value, nothing.kappa.value) == (0, None, None)
    single = agree(["a"], ["b"])
    assert (single.share.value, single.share.low) == (0, None)
    assert single.kappa.value == 0
    assert alpha([]).alpha.value is None
    assert alpha([["a", None]]).alpha.value is None


@pytest.mark.parametrize(
    ("first", "second", "settings", "message"),
    [
        (["a"], ["a", "b"], {}, "1 labels of the first rater and 2"),
        (["a", None], ["a", "b"], {}, "alpha"),
        ([1.0, float("nan")], [1.0, 2.0], {}, "nan is no label"),
        ([1, 2], ["1", "2"], {}, "one kind"),
        (["a", "x"], ["a", "b"], {"labels": ["a", "b"]}, "'x' is not among"),
        (["a", "b"], ["a", "b"], {"labels": ["a", "b", "a"]}, "twice"),
        (["a", "b"], ["a", "b"], {"clusters": ["p"]}, "2 rows came with 1"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    first: Any, second: Any, settings: dict[str, Any], message: str
) -> None:
    """Missing, mixed, unknown and unequal labels are errors that name themselves."""
    with pytest.raises(UsageError, match=message):
        agree(first, second, **settings)


def test_arrays_are_taken_and_stored_plainly() -> None:
    """Labels from numpy give the same numbers, and a result that JSON takes."""
    first, second = pairs(30, 3, 2)
    found = agree(np.array(first), np.array(second), labels=np.arange(3))  # type: ignore[arg-type]
    plain = agree(first, second, labels=[0, 1, 2])
    assert json.dumps(found.as_dict(), allow_nan=False) == json.dumps(plain.as_dict())
    assert "kappa" in str(found)


@pytest.mark.parametrize(("level", "value"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_krippendorffs_own_example(level: Level, value: float) -> None:
    """The four observers of Krippendorff (2011): .743, .815 and .849."""
    found = alpha(krippendorff(), level)
    assert found.alpha.value == pytest.approx(value, abs=5e-4)
    assert (found.items, found.pairable) == (12, 40)


RATINGS = st.lists(st.lists(st.none() | st.integers(-2, 3), min_size=0, max_size=4), min_size=1, max_size=12)


@given(RATINGS, st.sampled_from(LEVELS))
def test_alpha_is_that_of_all_pairs(table: list[list[int | None]], level: Level) -> None:
    """Alpha is what a double loop over all pairs of ratings gives, missing ones left out."""
    value = alpha(table, level, draws=0).alpha.value
    expected = plain_alpha(table, level)
    assert (math.nan if value is None else value) == pytest.approx(expected, nan_ok=True, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_alpha_is_nltks(seed: int) -> None:
    """nltk's AnnotationTask gives the same nominal and interval alpha, ratings missing."""
    random = np.random.default_rng(seed)
    truth = random.integers(0, 5, 25)
    table: list[list[int | None]] = [
        [
            None if random.random() < 0.2 else int(t) if random.random() < 0.6 else int(random.integers(0, 5))
            for _ in range(3)
        ]
        for t in truth
    ]
    triples = [
        (f"rater{r}", f"item{i}", value)
        for i, line in enumerate(table)
        for r, value in enumerate(line)
        if value is not None
    ]
    for level, apart in (("nominal", binary_distance), ("interval", interval_distance)):
        theirs = AnnotationTask(data=triples, distance=apart).alpha()
        assert alpha(table, level, draws=0).alpha.value == pytest.approx(theirs)  # type: ignore[arg-type]


@pytest.mark.parametrize("level", LEVELS)
def test_draws_of_alpha_are_items_really_repeated(level: Level) -> None:
    """Every draw's alpha is the double loop's of the repeated items."""
    table = krippendorff()
    clusters = [f"p{i % 5}" for i in range(12)]
    weights = draw_weights(clusters, 40, 1).astype(int)
    rows = [
        {"ratings": [v - 1 for v in line if v is not None], "values": [v for v in line if v is not None]}
        for line in table
    ]
    values = krippendorff_alpha(Sample(rows, weights), level=level)
    plain = [
        plain_alpha([line for line, count in zip(table, counts, strict=True) for _ in range(count)], level)
        for counts in weights
    ]
    assert values == pytest.approx(plain, nan_ok=True)
    found = alpha(table, level, clusters=clusters, draws=40, seed=1, method="percentile").alpha
    known = [value for value in plain if not math.isnan(value)]
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(known, [0.025, 0.975])))


def test_what_alpha_does_not_look_at() -> None:
    """Names of nominal labels, monotone changes of ordinal values, scale and shift of intervals."""
    table = krippendorff()

    def changed(change: Any) -> list[list[Any]]:
        return [[None if value is None else change(value) for value in line] for line in table]

    assert alpha(changed(lambda v: "edcba"[v - 1])).alpha == alpha(table).alpha
    assert alpha(changed(lambda v: v**3), "ordinal").alpha == alpha(table, "ordinal").alpha
    moved = alpha(changed(lambda v: 1e6 + v / 10), "interval").alpha
    assert moved.value == pytest.approx(alpha(table, "interval").alpha.value, rel=1e-6)
    words = changed(lambda v: ["no", "unlikely", "maybe", "likely", "yes"][v - 1])
    order = ["no", "unlikely", "maybe", "likely", "yes"]
    assert alpha(words, "ordinal", labels=order).alpha == alpha(table, "ordinal").alpha
    # Raters may stand in any column.
    assert alpha([line[::-1] for line in table], "ordinal").alpha == alpha(table, "ordinal").alpha


@pytest.mark.parametrize("level", LEVELS)
def test_alpha_without_variation_is_undefined(level: Level) -> None:
    """One value everywhere is 0/0, not 1, also where rounding would make a number of it."""
    found = alpha([[0.1, 0.1, 0.1]] * 7, level)
    assert found.alpha.value is None
    assert "undefined" in found.alpha.note
    # Only one item differs: draws without it are undefined and counted.
    varied = alpha([[0.1, 0.1]] * 6 + [[0.7, 0.7]], level, draws=400, method="percentile")
    missed = int((draw_weights([str(i) for i in range(7)], 400, 0)[:, 6] == 0).sum())
    assert varied.alpha.value == pytest.approx(1)
    all_same = int((draw_weights([str(i) for i in range(7)], 400, 0)[:, :6].sum(axis=1) == 0).sum())
    assert varied.alpha.undefined == missed + all_same > 0


@pytest.mark.parametrize(
    ("table", "settings", "message"),
    [
        ([["a", "b"]], {"level": "ordinal"}, "or the order as labels"),
        ([["a", "b"]], {"level": "interval"}, "give numbers"),
        ([["a", "b"]], {"level": "ratio"}, "'ratio'"),
        ([[1, float("nan")]], {}, "write None"),
        ([[1, "1"]], {}, "one kind"),
        ([["a", "x"]], {"labels": ["a", "b"]}, "'x' is not among"),
        ([[1, 2], [1, 2]], {"clusters": ["p"]}, "2 rows came with 1"),
    ],
)
def test_what_has_no_alpha_is_refused(table: Any, settings: dict[str, Any], message: str) -> None:
    """Values without the order they need, NaN and mixtures are errors that name themselves."""
    with pytest.raises(UsageError, match=message):
        alpha(table, **settings)
