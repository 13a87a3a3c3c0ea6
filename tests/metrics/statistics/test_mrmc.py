"""Groups of readers on the same cases: published numbers, formulas written again, and simulations.

The published numbers are those of the Van Dyke study (two modalities, five readers, 114 cases) by the OR
analysis with jackknife covariances, as the RJafroc book prints them: areas and covariances in, test and
intervals out.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as student

from overread.errors import UsageError
from overread.metrics.option_auroc import AUROC
from overread.metrics.sample import Sample
from overread.metrics.statistics.auroc import auroc_covariance
from overread.metrics.statistics.mrmc import compare_groups, jackknife_covariance, obuchowski_rockette

VAN_DYKE = {
    "spin echo": {"0": 0.91964573, "1": 0.85877617, "2": 0.90386473, "3": 0.97310789, "4": 0.82979066},
    "cine": {"0": 0.94782609, "1": 0.90531401, "2": 0.92173913, "3": 0.99935588, "4": 0.92995169},
}
VARIANCE, COV2 = (0.00101410277, 0.00059047376), (0.00048396180, 0.00020418785)
COV1, COV3 = 0.00034661371, 0.00023902837


def van_dyke_covariance() -> Any:
    """A covariance matrix that has the published means."""
    table = np.full((10, 10), COV3)
    for side in (0, 1):
        part = slice(5 * side, 5 * side + 5)
        table[part, part] = COV2[side]
    table[range(10), range(10)] = np.repeat(VARIANCE, 5)
    table[range(5), range(5, 10)] = table[range(5, 10), range(5)] = COV1
    return table


def test_van_dyke_as_published() -> None:
    """Difference, standard error, Hillis's degrees of freedom, p and intervals as printed."""
    found = obuchowski_rockette(VAN_DYKE, van_dyke_covariance(), paired=True)
    assert found.variance == pytest.approx(0.00080228827, rel=1e-7)
    assert found.covariances["same reader"] == pytest.approx(COV1)
    assert found.covariances["same group"] == pytest.approx(0.00034407483, rel=1e-7)
    assert found.covariances["neither"] == pytest.approx(COV3)
    apart = found.difference
    assert (apart.value, apart.se) == pytest.approx((-0.043800322, 0.020748618), abs=1e-8)
    assert apart.df == pytest.approx(15.259675, abs=1e-4)
    assert found.t == pytest.approx(-2.1109995, abs=1e-5)
    assert found.t is not None
    assert found.t**2 == pytest.approx(4.4563187, abs=1e-4)  # their F
    assert found.p == pytest.approx(0.051665686, abs=1e-6)
    assert (apart.low, apart.high) == pytest.approx((-0.087959499, 0.00035885444), abs=1e-7)
    for name, told in (
        ("spin echo", (0.89703704, 0.033173597, 12.744648, 0.82522360, 0.96885048)),
        ("cine", (0.94083736, 0.021566368, 12.710190, 0.89413783, 0.98753689)),
    ):
        own = found.means[name]
        assert (own.value, own.se, own.df, own.low, own.high) == pytest.approx(told, rel=1e-6)


def test_van_dyke_with_fixed_readers_as_published() -> None:
    """Fixed readers: the printed standard errors and normal intervals of the two means."""
    found = obuchowski_rockette(VAN_DYKE, van_dyke_covariance(), paired=True, readers="fixed")
    for name, told in (
        ("spin echo", (0.02428971, 0.84943008, 0.94464399)),
        ("cine", (0.01677632, 0.90795637, 0.97371835)),
    ):
        own = found.means[name]
        assert (own.se, own.low, own.high) == pytest.approx(told, abs=1e-7)
        assert own.df is None
    expected = 2 / 5 * (found.variance - COV1 + 4 * ((found.covariances["same group"] or 0) - COV3))
    assert found.difference.se == pytest.approx(math.sqrt(expected))


def answers(rng: np.random.Generator, readers: int, cases: int = 80, skill: float = 0.3) -> Any:
    """Right or wrong for readers of different skill on cases of different difficulty."""
    hard = rng.normal(0, 1, cases)
    return (rng.normal(0, skill, (readers, 1)) + hard + rng.normal(0, 1, (readers, cases))) > 0


def rows_of(right: Any) -> list[list[dict[str, int]]]:
    return [[{"right": int(one), "asked": 1} for one in own] for own in right]


def accuracy(sample: Sample) -> Any:
    return sample.ratio("right", "asked")


def as_groups(right: Any, first: int) -> dict[str, dict[str, dict[int, Any]]]:
    """The readers up to `first` as people, the others as models."""
    named = [(f"r{n}", dict(enumerate(own))) for n, own in enumerate(rows_of(right))]
    return {"people": dict(named[:first]), "models": dict(named[first:])}


@pytest.mark.parametrize("seed", range(3))
def test_the_jackknife_of_a_share_is_the_covariance_of_its_cases(seed: int) -> None:
    """Of a mean the jackknife is exact: the covariance of cases over their number."""
    right = answers(np.random.default_rng(seed), 4)
    ours = jackknife_covariance(accuracy, rows_of(right), [str(n) for n in range(80)])
    assert ours == pytest.approx(np.cov(right.astype(float)) / 80, abs=1e-14)


def test_the_jackknife_of_areas_is_near_delongs_and_that_of_loops() -> None:
    """AUROC of options: leaving out each case by hand gives the same numbers."""
    rng = np.random.default_rng(4)
    rows = [
        [{"right": float(rng.random()), "wrong": rng.random(3).round(2).tolist()} for _ in range(25)]
        for _ in range(3)
    ]
    clusters = [f"p{n // 2}" for n in range(25)]
    ours = jackknife_covariance(AUROC.combine, rows, clusters)
    names = sorted(set(clusters))
    bared = np.array(
        [
            [
                float(AUROC.combine(Sample([r for r, c in zip(own, clusters, strict=True) if c != name]))[0])
                for name in names
            ]
            for own in rows
        ]
    )
    count = len(names)
    assert ours == pytest.approx(np.cov(bared) * (count - 1) ** 2 / count, abs=1e-12)
    labels = np.tile([1, 0, 0, 0], 25)
    scores = [[v for row in own for v in (row["right"], *row["wrong"])] for own in rows]
    _, delong = auroc_covariance(labels, scores, clusters=np.repeat(clusters, 4).tolist())
    assert np.diag(delong) == pytest.approx(np.diag(ours), rel=0.25)


@pytest.mark.parametrize("people", [2, 3, 6])
@pytest.mark.parametrize("seed", range(3))
def test_one_model_against_people_by_differences(seed: int, people: int) -> None:
    """The analysis of one model: each person's difference from it, as one group against zero."""
    right = answers(np.random.default_rng(seed), people + 1)
    found = compare_groups(accuracy, as_groups(right, people))
    apart = right[:people].mean(axis=1) - right[people].mean()
    cases = np.cov(right[:people].astype(float) - right[people]) / 80
    own = np.cov(right[:people].astype(float)) / 80
    least = np.diag(own).mean() - np.mean([own[i, j] for i in range(people) for j in range(people) if i != j])
    square = max(float(np.var(apart, ddof=1)), float(least))
    cov2 = float(np.mean([cases[i, j] for i in range(people) for j in range(people) if i != j]))
    variance = (square + people * max(cov2, 0)) / people
    df = (people - 1) * ((square + people * max(cov2, 0)) / square) ** 2
    assert found.difference.value == pytest.approx(apart.mean())
    assert found.difference.se == pytest.approx(math.sqrt(variance), abs=1e-12)
    assert found.difference.df == pytest.approx(df)
    assert found.p == pytest.approx(2 * student.sf(abs(apart.mean()) / math.sqrt(variance), df), abs=1e-12)
    assert any("'models' is one reader" in note for note in found.notes)


@pytest.mark.parametrize("seed", range(3))
def test_two_groups_by_loops(seed: int) -> None:
    """Unpaired groups: Welch's variance of readers, and covariances summed by loops."""
    right = answers(np.random.default_rng(10 + seed), 7)
    found = compare_groups(accuracy, as_groups(right, 4))
    values, table = right.mean(axis=1), np.cov(right.astype(float)) / 80
    within = [
        np.mean([table[i, j] for i in part for j in part if i != j]) for part in (range(4), range(4, 7))
    ]
    across = np.mean([table[i, j] for i in range(4) for j in range(4, 7)])
    spread = [np.var(values[:4], ddof=1) / 4, np.var(values[4:], ddof=1) / 3]
    variance = sum(spread) + max(sum(within) - 2 * across, 0)
    df = variance**2 / (spread[0] ** 2 / 3 + spread[1] ** 2 / 2)
    assert found.difference.se == pytest.approx(math.sqrt(variance), abs=1e-12)
    assert found.difference.df == pytest.approx(df)
    # With equal numbers the variance is that of the nested design of the books.
    even = compare_groups(accuracy, as_groups(right[:6], 3))
    pooled = (np.var(values[:3], ddof=1) + np.var(values[3:6], ddof=1)) / 2
    parts = [np.mean([table[i, j] for i in part for j in part if i != j]) for part in (range(3), range(3, 6))]
    cross = np.mean([table[i, j] for i in range(3) for j in range(3, 6)])
    nested = 2 / 3 * (pooled + 3 * max(np.mean(parts) - cross, 0))
    assert even.difference.se == pytest.approx(math.sqrt(nested), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_paired_groups_by_the_table_of_squares(seed: int) -> None:
    """Mean squares of treatment and interaction by loops give the same F and p."""
    rng = np.random.default_rng(20 + seed)
    right = answers(rng, 8)
    found = compare_groups(accuracy, as_groups(right, 4), paired=True)
    values = right.mean(axis=1).reshape(2, 4)
    table = (np.cov(right.astype(float)) / 80).reshape(2, 4, 2, 4)
    grand, rows, columns = values.mean(), values.mean(axis=1), values.mean(axis=0)
    ms_t = 4 * sum((row - grand) ** 2 for row in rows)
    ms_tr = sum((values[i, j] - rows[i] - columns[j] + grand) ** 2 for i in range(2) for j in range(4)) / 3
    pairs = [(i, j, k, m) for i in range(2) for j in range(4) for k in range(2) for m in range(4)]
    cov2 = np.mean([table[i, j, k, m] for i, j, k, m in pairs if i == k and j != m])
    cov3 = np.mean([table[i, j, k, m] for i, j, k, m in pairs if i != k and j != m])
    below = ms_tr + 4 * max(cov2 - cov3, 0)
    assert found.t is not None
    assert found.t**2 == pytest.approx(ms_t / below)
    assert found.difference.df == pytest.approx(below**2 / (ms_tr**2 / 3))


@pytest.mark.parametrize(("people", "paired"), [(2, False), (4, False), (3, True)])
def test_p_is_not_too_bold(people: int, paired: bool) -> None:
    """Groups that are equally good: p is below .05 in about five of a hundred samples."""
    rng = np.random.default_rng(5)
    bold, runs = 0, 1500
    for _ in range(runs):
        hard = rng.normal(0, 1, 60)
        skills = rng.normal(0, 0.3, people)
        everyone = np.append(skills, skills + rng.normal(0, 0.2, people) if paired else 0.0)
        right = everyone[:, None] + hard + rng.normal(0, 1, (len(everyone), 60)) > 0
        values = [float(own.mean()) for own in right]
        groups = {
            "people": {f"p{n}": value for n, value in enumerate(values[:people])},
            "others": {f"o{n}": value for n, value in enumerate(values[people:])},
        }
        p = obuchowski_rockette(groups, np.cov(right.astype(float)) / 60, paired=paired).p
        bold += p is not None and p < 0.05
    assert 0.02 <= bold / runs <= 0.07


def test_what_cannot_be_compared_is_refused() -> None:
    """One sentence for groups, readers and numbers that do not fit."""
    right = answers(np.random.default_rng(0), 4)
    groups = as_groups(right, 2)
    with pytest.raises(UsageError, match="two with readers in both"):
        compare_groups(accuracy, {"people": groups["people"]})
    with pytest.raises(UsageError, match="not the same two readers"):
        compare_groups(accuracy, as_groups(right, 3), paired=True)
    with pytest.raises(UsageError, match="readers cannot be"):
        compare_groups(accuracy, groups, readers="some")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="undefined"):
        compare_groups(lambda sample: sample.ratio("no", "such"), groups)
    with pytest.raises(UsageError, match="too few"):
        compare_groups(accuracy, groups, clusters=dict.fromkeys(range(80), "ann"))
    lost = {name: dict(own) for name, own in groups.items()}
    lost["people"]["r0"] = {n: row for n, row in lost["people"]["r0"].items() if n}
    with pytest.raises(UsageError, match="not with every reader"):
        compare_groups(accuracy, lost)
    assert compare_groups(accuracy, lost, units="common").cases == 79


def test_readers_that_do_not_differ() -> None:
    """The same answers on both sides differ by nothing, and there is no p."""
    right = answers(np.random.default_rng(0), 2)
    same = compare_groups(accuracy, as_groups(np.concatenate((right, right)), 2), paired=True)
    assert (same.difference.value, same.difference.se, same.p) == (0, 0, None)
    two = compare_groups(accuracy, as_groups(right, 1))  # one against one: the cases alone
    z = (right[0].mean() - right[1].mean()) / np.sqrt(np.var(right[0].astype(float) - right[1], ddof=1) / 80)
    assert two.p == pytest.approx(2 * norm.sf(abs(z)), abs=1e-9)
    assert two.as_dict()["covariances"]["same reader"] is None
