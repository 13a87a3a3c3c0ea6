"""Two readers on the same cases, against scipy's paired bootstrap and statsmodels' McNemar."""

from __future__ import annotations

import json
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import bootstrap
from statsmodels.stats.contingency_tables import mcnemar as their_mcnemar

from overread.errors import UsageError
from overread.metrics.sample import Numbers, Sample
from overread.metrics.statistics.bootstrap import Method
from overread.metrics.statistics.paired_tests import centred_p, difference, differences, mcnemar

Reader = dict[str, dict[str, Any]]


def mean(sample: Sample) -> Numbers:
    return sample.ratio("score", "one")


def reader(scores: Any) -> Reader:
    return {f"{i:04d}": {"score": float(score), "one": 1} for i, score in enumerate(scores)}


def pair(n: int, seed: int = 0, shift: float = 0.2) -> tuple[Reader, Reader]:
    random = np.random.default_rng(seed)
    base = random.normal(size=n)
    return reader(base + random.normal(shift, 0.5, n)), reader(base + random.normal(0, 0.5, n))


def answers(table: tuple[int, int, int, int]) -> tuple[dict[int, bool], dict[int, bool]]:
    """Two readers with so many units both right, first alone, second alone, neither."""
    kinds = [(True, True), (True, False), (False, True), (False, False)]
    units = [kind for kind, count in zip(kinds, table, strict=True) for _ in range(count)]
    return {i: a for i, (a, _) in enumerate(units)}, {i: b for i, (_, b) in enumerate(units)}


@pytest.mark.parametrize("method", ["percentile", "bca"])
@pytest.mark.parametrize("n", [8, 64])
def test_difference_is_scipys_paired_bootstrap(n: int, method: Method) -> None:
    """scipy.stats.bootstrap with paired=True gives the same interval of the difference."""
    # Whole numbers over a power of two, so that draws of the same rows in another order tie exactly there as here.
    first, second = (
        {u: row | {"score": round(9 * row["score"])} for u, row in own.items()} for own in pair(n)
    )
    ours = difference(mean, first, second, draws=999, seed=3, method=method)
    # The same generator and the names in order of the rows: the same draws.
    theirs = bootstrap(
        tuple([row["score"] for row in own.values()] for own in (first, second)),
        lambda one, two, axis: one.mean(axis=axis) - two.mean(axis=axis),
        n_resamples=999,
        paired=True,
        vectorized=True,
        method="BCa" if method == "bca" else method,
        rng=np.random.default_rng(3),
    )
    interval = theirs.confidence_interval
    assert (ours.difference.low, ours.difference.high) == pytest.approx((interval.low, interval.high))
    assert ours.difference.method == method
    value = ours.difference.value
    assert value is not None
    far = sum(abs(draw - value) >= abs(value) for draw in theirs.bootstrap_distribution)
    assert ours.p == pytest.approx((1 + far) / 1000)


def test_clusters_are_drawn_whole() -> None:
    """With clusters, the draws are those of lists in which whole patients are repeated."""
    first, second = pair(30, seed=1)
    clusters = {unit: f"p{int(unit) % 7}" for unit in first}
    ours = difference(mean, first, second, clusters=clusters, draws=400, seed=8, method="percentile")
    random, values = np.random.default_rng(8), []
    for _ in range(400):
        units = [u for i in random.integers(0, 7, size=7) for u in first if clusters[u] == f"p{i}"]
        values.append(
            np.mean([first[u]["score"] for u in units]) - np.mean([second[u]["score"] for u in units])
        )
    assert (ours.difference.low, ours.difference.high) == pytest.approx(
        tuple(np.quantile(values, [0.025, 0.975]))
    )
    assert ours.difference.clusters == 7
    assert "only 7 clusters" in str(ours)


def test_swapped_readers_swap_the_sign() -> None:
    """Second minus first is minus first minus second, with the same p."""
    first, second = pair(40)
    one, two = difference(mean, first, second), difference(mean, second, first)
    assert (one.difference.low, one.difference.high) == pytest.approx(
        (-(two.difference.high or 0), -(two.difference.low or 0))
    )
    assert one.p == two.p
    assert (one.first, one.second) == (two.second, two.first)


def test_a_reader_does_not_differ_from_itself() -> None:
    """The same rows twice: difference 0 and p = 1, and no interval of no width."""
    first, _ = pair(40)
    found = difference(mean, first, first)
    assert (found.difference.value, found.difference.low, found.difference.high) == (0, None, None)
    assert found.p == 1
    assert "alike" in str(found)
    drawn = difference(mean, first, first, method="percentile")
    assert (drawn.difference.value, drawn.difference.low, drawn.difference.high) == (0, 0, 0)
    assert drawn.p == 1


def test_order_of_units_does_not_matter() -> None:
    """Readers whose files list the units in another order give the same result."""
    first, second = pair(40)
    shuffled = dict(sorted(second.items(), key=lambda item: item[1]["score"]))
    assert difference(mean, first, shuffled) == difference(mean, first, second)


def test_p_is_about_uniform_where_readers_are_equal() -> None:
    """Of 400 pairs of equal readers, about one in twenty comes out at p < 0.05."""
    small = []
    for seed in range(400):
        first, second = pair(50, seed=seed, shift=0)
        small.append((difference(mean, first, second, draws=199, seed=seed).p or 0) < 0.05)
    assert 0.025 < np.mean(small) < 0.09


def test_p_counts_ties_whatever_the_last_bit() -> None:
    """Draws exactly as far away as zero count, although 0.1 + 0.2 is not 0.3."""
    assert centred_p(0.3, np.array([0.3, 0.6, 0.0, 0.1 + 0.2 + 0.3, np.nan])) == pytest.approx(4 / 5)
    assert centred_p(0.5, np.full(99, 0.5)) == pytest.approx(0.01)


def test_units_of_one_reader_are_refused_or_left_out_aloud() -> None:
    """Missing units raise; asked for the common ones, the result says how many went."""
    first, second = pair(30)
    del second["0003"]
    del second["0011"]
    second["extra"] = {"score": 1.0, "one": 1}
    with pytest.raises(UsageError, match=r"2 units of 'first' .* '0003'.*units='common'"):
        difference(mean, first, second)
    found = difference(mean, first, second, units="common")
    assert found.left_out == (2, 1)
    assert found.difference.n == 28
    kept = {unit: row for unit, row in first.items() if unit in second}
    assert found.first == pytest.approx(np.mean([row["score"] for row in kept.values()]))
    del second["extra"]
    assert difference(mean, kept, second).difference == found.difference


def test_several_metrics_share_the_draws() -> None:
    """differences() gives for each metric what difference() gives for it alone."""
    first, second = pair(25)
    combines = {"mean": mean, "sum": lambda sample: sample.total("score")}
    found = differences(combines, first, second, method="bca")
    for name, combine in combines.items():
        assert found[name] == difference(combine, first, second, method="bca")


def test_too_little_gives_no_p() -> None:
    """No units, one cluster or an undefined metric: no interval, no p, and a reason."""
    nothing = difference(mean, reader([]), reader([]))
    assert (nothing.first, nothing.p, nothing.difference.low) == (None, None, None)
    assert "no rows" in nothing.difference.note
    single = difference(mean, reader([1]), reader([0]))
    assert (single.difference.value, single.p) == (1, None)
    assert "one cluster" in str(single)
    undefined = difference(lambda s: s.ratio("score", "no"), reader([1, 0]), reader([0, 1]))
    assert (undefined.difference.value, undefined.p) == (None, None)
    for found in (nothing, single, undefined):
        json.dumps(found.as_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"units": "any"}, "'any'"),
        ({"clusters": {"0000": "a"}}, "'0001' has no cluster"),
        ({"level": 0}, "level"),
    ],
)
def test_what_cannot_be_compared_is_refused(change: dict[str, Any], message: str) -> None:
    """Unknown choices and missing clusters are errors that name themselves."""
    first, second = pair(3)
    with pytest.raises(UsageError, match=message):
        difference(mean, first, second, **change)
    first["0001"]["score"] = float("nan")
    with pytest.raises(UsageError, match="is nan"):
        difference(mean, first, second)


@given(st.tuples(*[st.integers(0, 60)] * 4))
def test_mcnemar_is_statsmodels(table: tuple[int, int, int, int]) -> None:
    """Counts, exact p and corrected chi-square agree with statsmodels; equal counts give 0."""
    both, alone, other, neither = table
    found = mcnemar(*answers(table))
    assert (found.both, found.first_only, found.second_only, found.neither) == table
    assert found.n == sum(table)
    cells = [[both, alone], [other, neither]]
    if alone + other:
        assert found.exact_p == pytest.approx(their_mcnemar(cells, exact=True).pvalue)
        assert found.mid_p == pytest.approx(plain_mid_p(alone, other))
        assert found.mid_p < found.exact_p
    else:
        assert (found.exact_p, found.chi_square, found.chi_square_p) == (1, None, None)
    if alone != other:
        theirs = their_mcnemar(cells, exact=False, correction=True)
        assert found.chi_square == pytest.approx(theirs.statistic)
        assert found.chi_square_p == pytest.approx(theirs.pvalue)
    elif alone:
        assert (found.chi_square, found.chi_square_p) == (0, 1)


def plain_mid_p(alone: int, other: int) -> float:
    """All outcomes further from a half than the counts found, and half of those as far."""
    whole = Fraction(1, 2 ** (alone + other))
    found, far = Fraction(0), abs(alone - other)
    for count in range(alone + other + 1):
        own = abs(2 * count - alone - other)
        part = Fraction(int(own > far)) + Fraction(int(own == far), 2)
        found += comb(alone + other, count) * whole * part
    return float(found)


def test_mcnemar_known_answer() -> None:
    """Ten against none is 2 · 2⁻¹⁰, half of it the mid-p, and the corrected chi-square is 81 / 10."""
    found = mcnemar(*answers((70, 10, 0, 20)))
    assert found.mid_p == pytest.approx(2**-10)
    assert found.exact_p == pytest.approx(2**-9)
    assert found.chi_square == pytest.approx(8.1)


def test_mcnemar_says_when_clusters_repeat() -> None:
    """Two units of one patient are not independent, and the result says so."""
    first, second = answers((3, 2, 1, 1))
    assert not mcnemar(first, second, clusters={unit: str(unit) for unit in first}).notes
    found = mcnemar(first, second, clusters={unit: str(unit // 2) for unit in first})
    assert "independent" in str(found)
    json.dumps(found.as_dict(), allow_nan=False)


@pytest.mark.parametrize("value", [0.5, float("nan"), 2, "A"])
def test_mcnemar_wants_right_or_wrong(value: Any) -> None:
    """A score that is neither 0 nor 1 is refused, and so are other units."""
    with pytest.raises(UsageError, match="neither right nor wrong"):
        mcnemar({"a": True, "b": value}, {"a": True, "b": False})
    with pytest.raises(UsageError, match="1 units of 'second'"):
        mcnemar({"a": True}, {"a": True, "b": False})
    assert mcnemar({"a": True}, {"a": 1, "b": 0}, units="common").left_out == (0, 1)
