"""The mask metrics: statistics of many findings combined, held against plain loops."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import overread
from overread import catalog
from overread.core import Reading
from overread.errors import UsageError
from overread.metrics import Metric, Sample, Subject
from overread.metrics.masks import scores
from overread.metrics.masks.scores import METRICS, mask_metrics, retune_masks
from overread.metrics.masks.settings import MaskSettings
from tests.sketches.release import write_sketch

OFFICIAL = (
    "mean_global_dice_per_finding",
    "mean_global_dice_per_case",
    "hit_rate",
    "overall_instance_precision",
    "overall_instance_recall",
    "overall_instance_f1",
    "mean_matched_dice_per_finding",
)
OURS = sorted(name for name, metric in METRICS.items() if metric.ceiling)
"""Those that follow the official rule; the others speak of surfaces."""


def cases(seed: int, *, missing: bool = True) -> list[list[dict[str, Any]]]:
    """Statistics as `measure_masks` gives them, of cases with one to four findings."""
    dice = np.random.default_rng(seed)
    found = []
    for _ in range(12):
        rows = []
        size = int(dice.integers(1, 5))
        gone = missing and dice.random() < 0.3
        for _ in range(size):
            judged = int(not gone)
            true, fp, fn = (int(n) for n in dice.integers(0, 4, 3))
            fn = fn if judged else fn + true
            true, fp = true * judged, fp * judged
            value, raw = (float(n) * judged for n in dice.uniform(0, 1, 2))
            matched = float(dice.uniform(0.2, 1)) if true else 0.0
            row = {
                "findings": 1,
                "judged": judged,
                "dice": value,
                "hit": int(value >= 0.5),
                "raw_dice": raw,
                "raw_hit": int(raw >= 0.5),
                "tp": true,
                "fp": fp,
                "fn": fn,
                "fn_judged": fn * judged,
                "matched_dice": matched,
                "matched_counted": 1,
                "matched_dice_sum": matched * true,
                "case_share": 1 / size,
                "judged_share": judged / size,
                "spaced": 1,
                "spaced_judged": judged,
            }
            for name in ("dice", "raw_dice"):
                row[f"{name}_share"] = row[name] / size
                row[f"{name}_judged_share"] = row[name] * judged / size
            for name in ("tp", "fp", "fn", "fn_judged"):
                row[f"distance_{name}"] = row[name]
            rows.append(row)
        found.append(rows)
    return found


def value(metric: Metric, rows: list[Any]) -> float:
    (number,) = metric.combine(Sample(rows))
    return float(number)


def expected(found: list[list[dict[str, Any]]], *, zero: float) -> dict[str, float]:
    """The official numbers by plain loops over cases and findings, but for the matched Dice."""
    rows = [row for case in found for row in case]
    true, fp, fn = (sum(row[name] for row in rows) for name in ("tp", "fp", "fn"))
    precision = true / (true + fp) if true + fp else zero
    recall = true / (true + fn) if true + fn else zero
    both = precision + recall
    return {
        "mean_global_dice_per_finding": float(np.mean([row["dice"] for row in rows])),
        "mean_global_dice_per_case": float(
            np.mean([np.mean([row["dice"] for row in case]) for case in found])
        ),
        "hit_rate": float(np.mean([row["hit"] for row in rows])),
        "overall_instance_precision": precision,
        "overall_instance_recall": recall,
        "overall_instance_f1": 2 * precision * recall / both if both else 0.0,
        "global_only_mean_global_dice_per_finding": float(np.mean([r["raw_dice"] for r in rows])),
        "global_only_mean_global_dice_per_case": float(
            np.mean([np.mean([row["raw_dice"] for row in case]) for case in found])
        ),
        "global_only_hit_rate": float(np.mean([row["raw_hit"] for row in rows])),
        "distance_precision": precision,
        "distance_recall": recall,
        "distance_f1": 2 * precision * recall / both if both else 0.0,
    }


@pytest.mark.parametrize("seed", range(5))
def test_numbers_are_those_of_plain_loops(seed: int) -> None:
    """Official numbers leave the missing out, honest ones count it; both as loops would."""
    found = cases(seed)
    rows = [row for case in found for row in case]
    there = [case for case in found if case[0]["judged"]]
    assert 0 < len(there) < len(found)
    for name, number in expected(there, zero=1.0).items():
        assert value(METRICS[name], rows) == pytest.approx(number, abs=1e-12), name
    for name, number in expected(found, zero=0.0).items():
        assert value(METRICS[f"honest_{name}"], rows) == pytest.approx(number, abs=1e-12), name
    pairs = sum(row["tp"] for row in rows if row["judged"])
    pooled = sum(row["matched_dice"] * row["tp"] for row in rows if row["judged"]) / pairs
    assert value(METRICS["mean_matched_dice_per_finding"], rows) == pytest.approx(pooled, abs=1e-12)
    honest = float(np.mean([row["matched_dice"] for row in rows]))
    assert value(METRICS["honest_mean_matched_dice_per_finding"], rows) == pytest.approx(honest, abs=1e-12)


def test_nothing_to_divide_by() -> None:
    """The official scorer says 1 of precision and recall, and 0 of means; honesty says 0 or nothing."""
    empty = cases(0, missing=False)[0][0] | dict.fromkeys(("tp", "fp", "fn", "fn_judged"), 0)
    gone = [row for case in cases(1) for row in case if not row["judged"]]
    for kind in ("precision", "recall", "f1"):
        name = f"overall_instance_{kind}"
        assert value(METRICS[name], [empty]) == value(METRICS[name], gone) == 1.0
        assert value(METRICS[f"honest_{name}"], [empty]) == 0.0
        assert math.isnan(value(METRICS[f"honest_{name}"], []))
        (set_,) = (m for m in mask_metrics(MaskSettings(zero_denominator=0.25)) if m.name == f"honest_{name}")
        assert value(set_, [empty]) == 0.25
    for name in OFFICIAL:
        assert value(METRICS[name], gone) == float(name.startswith("overall_instance"))
        assert value(METRICS[f"honest_{name}"], gone) == 0.0


def test_a_file_that_stops_the_scorer_leaves_no_official_number() -> None:
    """Not even of the other cases; the honest numbers are there."""
    rows = [row for case in cases(3) for row in case]
    stopped = [{**rows[0], "stops": 1}, *rows[1:]]
    for name in OFFICIAL:
        assert math.isnan(value(METRICS[name], stopped))
        assert value(METRICS[f"honest_{name}"], stopped) == value(METRICS[f"honest_{name}"], rows)


def test_findings_without_spacing_are_in_no_distance() -> None:
    """Where no CT was there, distances are undefined rather than 0."""
    rows = [row for case in cases(2) for row in case]
    bare = [{k: v for k, v in row.items() if "distance" not in k and "spaced" not in k} for row in rows]
    for name in ("distance_precision", "honest_distance_recall", "distance_f1"):
        assert math.isnan(value(METRICS[name], bare))
        assert value(METRICS[name], rows + bare) == value(METRICS[name], rows)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """Statistics of the sketched scans: read perfectly, or not at all."""
    root = tmp_path_factory.mktemp("sketch")
    write_sketch(root, seed=5)
    release = overread.load("rexgroundingct", root / "rexgroundingct", "test")
    found: dict[str, list[Any]] = {"perfect": [], "missing": []}
    for entry in release.entries():
        assert entry.truth is not None
        perfect = Reading(case_id=entry.case.id, reader="p", findings=entry.truth.findings)
        for kind, reading in (("perfect", perfect), ("missing", None)):
            one = Subject(entry, reading, release, release)
            found[kind] += METRICS["hit_rate"].measure(one).values()
    assert found["perfect"]
    return found


@pytest.mark.parametrize("name", OURS)
def test_perfect_is_at_the_ceiling_and_missing_is_worst(name: str, rows: dict[str, Any]) -> None:
    """The truth handed in gets what the ceiling says, nothing gets 0 or is left out."""
    metric = METRICS[name]
    ceiling = value(METRICS[metric.ceiling], rows["perfect"])
    assert value(metric, rows["perfect"]) == pytest.approx(ceiling)
    assert 0 < ceiling <= 1
    if name.startswith("ceiling_"):
        assert value(metric, rows["missing"]) == pytest.approx(ceiling)
    elif name.startswith("distance_"):
        assert math.isnan(value(metric, rows["missing"]))
    elif metric.drops_missing:
        # Nothing handed in: the official scorer's precision and recall of nothing are 1.
        assert value(metric, rows["missing"]) == float(name.startswith("overall_instance"))
    else:
        assert value(metric, rows["missing"]) == metric.worst == 0


def test_the_catalog_knows_them() -> None:
    """Each metric is found under its own name, and the official names are among them."""
    for name, metric in METRICS.items():
        assert metric.name == name
        assert catalog.find("metrics", name) is metric
    assert set(OFFICIAL) < set(OURS)
    assert len(OURS) == 3 * len(scores.ABOUT) + 1  # the honest matched Dice has a ceiling of its own


def test_metrics_share_one_measure_that_can_be_sent_away() -> None:
    """Files are read once for all of them, and workers get measure and combine whole."""
    family = mask_metrics(MaskSettings(min_voxels=3))
    assert len({id(metric.measure) for metric in family}) == 1
    for metric in family:
        again = pickle.loads(pickle.dumps(metric))
        assert again.name == metric.name
        assert metric.name not in OURS or again.settings["min_voxels"] == 3


def test_settings_can_be_changed() -> None:
    """A metric gives its family with other constants, and refuses what cannot be."""
    changed = {**METRICS["hit_rate"].settings, "connectivity": 26, "hit_threshold": 0.3}
    family = {metric.name: metric for metric in retune_masks(changed)}
    assert family.keys() == METRICS.keys()
    assert family["hit_rate"].settings["connectivity"] == 26
    assert family["hit_rate"].measure is family["distance_f1"].measure
    with pytest.raises(UsageError):
        retune_masks({"connectivity": 7})


def test_a_finding_without_a_match(tmp_path: Path) -> None:
    """It brings 0 into the mean matched Dice, or is left out, as the settings say."""
    from overread.metrics.masks.components import entities
    from overread.metrics.masks.instances import match_finding
    from overread.metrics.masks.measure import _official_counts
    from overread.metrics.masks.voxel_runs import VoxelRuns

    one = np.ones(1, dtype=int)
    here, there = (VoxelRuns((40, 1, 1), one * n, one * n + 12, one) for n in (0, 20))
    for unmatched, counted in ((0.0, 1), (0.5, 1), (None, 0)):
        settings = MaskSettings(unmatched_dice=unmatched)
        row = _official_counts(match_finding(entities(here), there, settings), settings)
        assert (row["tp"], row["matched_counted"]) == (0, counted)
        assert row["matched_dice"] == (unmatched or 0.0)
