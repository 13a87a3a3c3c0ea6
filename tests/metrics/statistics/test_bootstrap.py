"""Bootstrap intervals, against scipy.stats.bootstrap and against rows that are really repeated."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import bootstrap

from overread.errors import UsageError
from overread.metrics.sample import Numbers, Sample
from overread.metrics.statistics import bootstrap as module
from overread.metrics.statistics.bootstrap import (
    BootstrapDraws,
    Method,
    breakdown,
    cluster_key,
    draw_weights,
    evaluate,
    interval,
    intervals,
    make_interval,
)

Row = dict[str, Any]


def ratio(sample: Sample) -> Numbers:
    return sample.ratio("top", "bottom")


def made(n: int, seed: int = 0) -> list[Row]:
    random = np.random.default_rng(seed)
    return [{"top": float(random.normal(1, 1)), "bottom": float(random.gamma(2))} for _ in range(n)]


def keys(n: int) -> list[str]:
    return [f"{i:04d}" for i in range(n)]


def plain_ratio(rows: list[Row]) -> float:
    bottom = sum(row["bottom"] for row in rows)
    return sum(row["top"] for row in rows) / bottom if bottom else float("nan")


def repeated(rows: list[Row], clusters: list[str], draws: int, seed: int) -> list[float]:
    """The plain way: pick names of clusters, put all their rows into a list, compute."""
    names = sorted(set(clusters))
    random = np.random.default_rng(seed)
    values = []
    for _ in range(draws):
        picked = [names[i] for i in random.integers(0, len(names), size=len(names))]
        values.append(
            plain_ratio(
                [row for name in picked for row, own in zip(rows, clusters, strict=True) if own == name]
            )
        )
    return values


@pytest.mark.parametrize("method", ["percentile", "bca"])
@pytest.mark.parametrize("n", [2, 7, 60])
@pytest.mark.parametrize("level", [0.95, 0.8])
def test_unclustered_intervals_are_scipys(method: Method, n: int, level: float) -> None:
    """With every row its own cluster, scipy.stats.bootstrap gives the same interval."""
    # Whole numbers, so that draws of the same rows in another order tie exactly there as here.
    rows = [{k: round(abs(v) * 9) + 1 for k, v in row.items()} for row in made(n, seed=n)]
    ours = interval(ratio, rows, keys(n), draws=999, seed=5, level=level, method=method)
    # scipy draws the same places from the same generator, so not only the distribution is equal.
    theirs = bootstrap(
        ([row["top"] for row in rows], [row["bottom"] for row in rows]),
        lambda top, bottom, axis: top.sum(axis=axis) / bottom.sum(axis=axis),
        n_resamples=999,
        paired=True,
        vectorized=True,
        confidence_level=level,
        method="BCa" if method == "bca" else method,
        rng=np.random.default_rng(5),
    ).confidence_interval
    assert ours.method == method
    assert ours.value == pytest.approx(plain_ratio(rows), rel=1e-12)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=1e-9)


@given(
    picks=st.lists(st.sampled_from(["ann", "bob", "cyd", "dee", "eve"]), min_size=2, max_size=30),
    seed=st.integers(0, 1000),
)
def test_clustered_draws_are_rows_really_repeated(picks: list[str], seed: int) -> None:
    """Weights give what lists with the rows of each drawn cluster give, draw by draw."""
    rows = made(len(picks), seed)
    plain = repeated(rows, picks, 20, seed)
    values = evaluate({"": ratio}, rows, draw_weights(picks, 20, seed))[""]
    assert values == pytest.approx(plain, rel=1e-9, nan_ok=True)
    found = interval(ratio, rows, picks, draws=20, seed=seed, method="percentile")
    if len(set(picks)) > 1:
        assert (found.low, found.high) == pytest.approx(tuple(np.quantile(plain, [0.025, 0.975])))
    assert (found.n, found.clusters) == (len(picks), len(set(picks)))


def test_every_draw_draws_as_many_clusters_as_there_are() -> None:
    """Rows of one cluster come together, and the clusters of a draw are as many as there are."""
    clusters = ["b", "a", "b", "c", "c", "b"]
    weights = draw_weights(clusters, 500, 3)
    assert weights.shape == (500, 6)
    assert (weights[:, 0] == weights[:, 2]).all()
    assert (weights[:, 0] == weights[:, 5]).all()
    assert (weights[:, 3] == weights[:, 4]).all()
    assert (weights[:, [0, 1, 3]].sum(axis=1) == 3).all()
    assert len({tuple(line) for line in weights.tolist()}) > 5


def test_order_of_rows_does_not_matter() -> None:
    """Rows in another order have the same weights and so the same interval."""
    rows, clusters = made(50), [f"p{i % 17}" for i in range(50)]
    order = np.random.default_rng(1).permutation(50).tolist()
    weights = draw_weights(clusters, 30, 4)
    assert (draw_weights([clusters[i] for i in order], 30, 4) == weights[:, order]).all()
    one = interval(ratio, rows, clusters, seed=4)
    two = interval(ratio, [rows[i] for i in order], [clusters[i] for i in order], seed=4)
    assert (two.low, two.high) == pytest.approx((one.low, one.high), rel=1e-12)


def test_seed_and_number_of_draws() -> None:
    """The same seed gives the same draws, another one others; more draws begin like fewer."""
    clusters = keys(30)
    assert (draw_weights(clusters, 40, 1) == draw_weights(clusters, 40, 1)).all()
    assert (draw_weights(clusters, 40, 1) != draw_weights(clusters, 40, 2)).any()
    assert (draw_weights(clusters, 40, 1)[:25] == draw_weights(clusters, 25, 1)).all()


@pytest.mark.parametrize("kept", [0, 10**6])
@pytest.mark.parametrize("cells", [1, 333, 1000])
def test_blocks_stay_small_and_change_nothing(monkeypatch: pytest.MonkeyPatch, cells: int, kept: int) -> None:
    """Draws in small blocks, kept or drawn again, are those drawn at once; so are intervals."""
    clusters = [f"p{i % 23}" for i in range(77)]
    whole, rows = draw_weights(clusters, 100, 9), made(77)
    groups = {"all": range(77), "some": [3, 4, 40, 70]}
    expected = breakdown({"r": ratio}, rows, BootstrapDraws(clusters, draws=100), groups, method="bca")
    monkeypatch.setattr(module, "CELLS", cells)
    monkeypatch.setattr(module, "MAX_CACHED_COUNTS", kept)
    draws = BootstrapDraws(clusters, draws=100, seed=9)
    for _ in range(2):
        blocks = list(draws.blocks())
        assert max(block.size for block in blocks) <= max(cells, 77)
        assert (np.concatenate(blocks) == whole).all()
    assert (draws.weights([5, 2]) == whole[:, [5, 2]]).all()
    again = breakdown({"r": ratio}, rows, BootstrapDraws(clusters, draws=100), groups, method="bca")
    for name in groups:
        one, two = expected[name]["r"], again[name]["r"]
        # A product of matrices may round its last bit otherwise in blocks of another size.
        assert (two.low, two.high) == pytest.approx((one.low, one.high), rel=1e-12)
        assert two.undefined == one.undefined


def test_spread_of_clustered_means_is_the_known_one() -> None:
    """For clusters of equal size, draws of the mean vary as the means of clusters do, over √k."""
    random = np.random.default_rng(2)
    means = random.normal(size=40)
    rows: list[Row] = [
        {"top": float(mean + random.normal(0, 0.1)), "bottom": 1.0} for mean in means for _ in range(5)
    ]
    clusters = [f"p{i // 5}" for i in range(200)]
    values = evaluate({"": ratio}, rows, draw_weights(clusters, 4000, 0))[""]
    own = [np.mean([row["top"] for row in rows[i : i + 5]]) for i in range(0, 200, 5)]
    assert np.std(values) == pytest.approx(np.std(own) / np.sqrt(40), rel=0.05)
    # Taking the rows for independent would be far too sure.
    alone = evaluate({"": ratio}, rows, draw_weights(keys(200), 4000, 0))[""]
    assert np.std(values) > 1.8 * np.std(alone)


def test_groups_use_the_draws_of_all_rows() -> None:
    """A group's interval is that of the columns of its rows; several metrics share the draws."""
    rows, clusters = made(60), [f"p{i % 20}" for i in range(60)]
    draws = BootstrapDraws(clusters, draws=300, seed=2)
    groups = {"even": list(range(0, 60, 2)), "few": [7, 8, 9], "none": []}
    combines = {"ratio": ratio, "top": lambda sample: sample.total("top")}
    found = breakdown(combines, rows, draws, groups, method="percentile")
    for name in ("even", "few"):
        part = [rows[i] for i in groups[name]]
        weights = draws.weights()[:, groups[name]]
        values = [
            plain_ratio(
                [
                    r | {"top": w * r["top"], "bottom": w * r["bottom"]}
                    for r, w in zip(part, line, strict=True)
                ]
            )
            for line in weights
        ]
        values = [value for value in values if not np.isnan(value)]
        own = found[name]["ratio"]
        assert own.undefined == 300 - len(values)
        assert (own.low, own.high) == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])))
        assert (own.n, own.clusters) == (len(part), len({clusters[i] for i in groups[name]}))
    assert found["few"]["ratio"].undefined > 0
    assert found["none"]["top"].value is None
    assert found["none"]["top"].low is None
    assert intervals(combines, rows, draws)["top"].value == pytest.approx(sum(r["top"] for r in rows))


def test_groups_of_the_same_rows_are_computed_once() -> None:
    """Releases that are all alike have such groups in every breakdown; another order is another group."""
    asked: list[int] = []

    def spread(sample: Sample) -> Numbers:
        asked.append(len(sample.rows))
        return np.sqrt(sample.ratio("top", "bottom") ** 2)

    rows, drawn = made(60), BootstrapDraws(keys(60), draws=50)
    once = breakdown({"m": spread}, rows, drawn, {"": range(60)})
    alone, asked[:] = len(asked), []
    groups: dict[str, list[int]] = {
        "": [*range(60)],
        "all": [*range(60)],
        "few": [3, 1, 2],
        "same": [3, 1, 2],
    }
    found = breakdown({"m": spread}, rows, drawn, groups)
    assert found["all"] == found[""] == once[""]
    assert found["same"] == found["few"]
    assert list(found) == list(groups)
    assert asked.count(60) == alone
    turned = breakdown({"m": spread}, rows, drawn, {"": [1, 2, 3], "turned": [3, 2, 1]})
    assert list(turned) == ["", "turned"]


def test_bca_of_a_group_counts_clusters_outside() -> None:
    """Leaving out a cluster that is not in the group changes nothing, and counts as that."""
    rows = made(12)
    zeros: list[Row] = [{"top": 0.0, "bottom": 0.0} for _ in range(5)]
    draws = BootstrapDraws(keys(17), draws=400)
    group = breakdown({"r": ratio}, rows + zeros, draws, {"g": range(12)}, method="bca")["g"]["r"]
    whole = intervals({"r": ratio}, rows + zeros, draws, method="bca")["r"]
    assert (group.low, group.high) == pytest.approx((whole.low, whole.high))


@pytest.mark.parametrize(
    ("rows", "clusters", "draws", "note"),
    [
        ([], [], 100, "no rows"),
        (made(1), ["a"], 100, "only 1 cluster: no interval under 5"),
        (made(3), ["a", "a", "a"], 100, "only 1 cluster"),
        (made(4), ["a", "b", "c", "d"], 100, "only 4 clusters"),
        (made(3), ["a", "b", "c"], 0, "nothing was drawn"),
        ([{"top": 1, "bottom": 0}] * 3, ["a", "b", "c"], 100, "undefined"),
    ],
)
def test_where_there_is_no_interval_it_is_said(
    rows: list[Row], clusters: list[str], draws: int, note: str
) -> None:
    """Too little to draw from gives None, and the note says why."""
    found = interval(ratio, rows, clusters, draws=draws)
    assert (found.low, found.high) == (None, None)
    assert note in found.note
    assert note in str(found)
    value = plain_ratio(rows)
    assert found.value == (None if np.isnan(value) else pytest.approx(value))
    json.dumps(found.as_dict(), allow_nan=False)


def test_all_equal_rows_give_a_point_and_say_so() -> None:
    """An interval without width is marked as such, by either method."""
    for method in ("percentile", "bca"):
        found = interval(ratio, [{"top": 3, "bottom": 4}] * 9, keys(9), method=method)
        assert (found.value, found.low, found.high) == (0.75, 0.75, 0.75)
        assert "same number" in found.note


def test_undefined_draws_are_left_out_and_counted() -> None:
    """A draw without anything to divide by, or that gives infinity, does not enter the percentiles."""
    rows: list[Row] = [{"top": 1, "bottom": 1}, {"top": 0, "bottom": 0}, {"top": 0, "bottom": 2}]
    weights = draw_weights(["a", "b", "c"], 500, 0)
    empty = int(((weights[:, 0] + weights[:, 2]) == 0).sum())
    found = interval(ratio, rows, ["a", "b", "c"], draws=500, method="percentile")
    assert found.undefined == empty > 0
    assert f"{empty} of them undefined" in str(found)

    def endless(sample: Sample) -> Numbers:
        with np.errstate(divide="ignore", invalid="ignore"):
            return sample.total("bottom") / sample.total("top")

    again = interval(endless, rows, ["a", "b", "c"], draws=500, method="percentile")
    assert again.undefined == int((weights[:, 0] == 0).sum())
    json.dumps(again.as_dict(), allow_nan=False)


def test_metrics_never_see_an_empty_draw() -> None:
    """A draw in which a group has no row is not handed to the metric."""

    def counting(sample: Sample) -> Numbers:
        sizes = [len(rows) for rows in sample.each()]
        assert all(sizes)
        return np.array(sizes, dtype=float)

    rows = made(4)
    draws = BootstrapDraws(keys(4))
    found = breakdown({"n": counting}, rows, draws, {"g": [0, 1]}, method="percentile")["g"]["n"]
    assert found.undefined > 0
    assert found.low == 1


def test_bca_counts_equal_draws_as_ties() -> None:
    """Tenths round where whole numbers do not, and still give a tenth of the interval."""
    whole: list[Row] = [{"top": top, "bottom": 1} for top in (1, 2, 3, 4, 5, 6, 13)]
    tenths: list[Row] = [{"top": row["top"] / 10, "bottom": 1} for row in whole]
    one = interval(ratio, whole, keys(7), method="bca")
    two = interval(ratio, tenths, keys(7), method="bca")
    assert (two.low, two.high) == pytest.approx(((one.low or 0) / 10, (one.high or 0) / 10), rel=1e-9)


def test_bca_that_cannot_be_made_is_declared() -> None:
    """Where every draw lies on one side, plain percentiles come with a note."""
    found = make_interval(0.0, np.linspace(1, 2, 100), n=5, clusters=5, level=0.9, left_out=np.arange(5.0))
    assert found.method == "percentile"
    assert "BCa" in found.note
    assert (found.low, found.high) == pytest.approx((1.05, 1.95))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_statistics_that_are_no_numbers_are_refused(value: float) -> None:
    """NaN or infinity among the statistics is an error with the row's place."""
    with pytest.raises(UsageError, match="'top' of row 1"):
        interval(ratio, [{"top": 1, "bottom": 1}, {"top": value, "bottom": 1}], ["a", "b"])


@pytest.mark.parametrize(
    ("clusters", "settings", "message"),
    [
        (["a"], {}, "2 rows came with 1 clusters"),
        (["a", None], {}, "None is no text"),
        (["a", "b"], {"level": 95}, "level of 95"),
        (["a", "b"], {"level": float("nan")}, "level of nan"),
        (["a", "b"], {"method": "basic"}, "'basic'"),
        (["a", "b"], {"draws": -1}, "negative"),
        (["a", "b"], {"seed": -1}, "negative"),
    ],
)
def test_what_cannot_be_asked_is_refused(clusters: Any, settings: dict[str, Any], message: str) -> None:
    """Wrong lengths, kinds and settings are errors that name themselves."""
    with pytest.raises(UsageError, match=message):
        interval(ratio, made(2), clusters, **settings)


def test_a_patient_is_never_taken_for_a_case() -> None:
    """A patient called like a case is another cluster; an empty patient is none."""
    assert cluster_key("1", "2") == cluster_key("3", "2")
    assert cluster_key("1", None) == cluster_key("1", "")
    assert cluster_key("1", None) != cluster_key("2", "1")


def test_results_are_plain_json() -> None:
    """An interval can be stored and read back whole."""
    found = interval(ratio, made(20), keys(20))
    assert json.loads(json.dumps(found.as_dict(), allow_nan=False)) == found.as_dict()
    assert found.as_dict()["high"] == found.high
