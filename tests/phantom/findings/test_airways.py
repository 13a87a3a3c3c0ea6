"""Airways, micronodules, emphysema and honeycombing, as they are drawn on a coarse body."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from overread.phantom.findings.airways import draw_bronchiectasis, draw_mucus_plugging, draw_wall_thickening
from overread.phantom.findings.emphysema import draw_emphysema
from overread.phantom.findings.honeycomb import draw_honeycombing
from overread.phantom.findings.micronodules import draw_micronodules
from overread.phantom.findings.scan import DrawnFinding, Scan, Target
from overread.phantom.statement import KINDS
from tests.phantom.findings.blank_scans import Blank, draw_blank, fresh, painted

Draw = Callable[[Scan, np.random.Generator, str, Target], DrawnFinding | None]

DRAWN: list[tuple[str, str, Draw]] = [
    *(("1a", kind, draw_wall_thickening) for kind in KINDS["1a"]),
    *(("1b", kind, draw_bronchiectasis) for kind in KINDS["1b"]),
    *(("1c", kind, draw_emphysema) for kind in KINDS["1c"]),
    *(("1e", kind, draw_micronodules) for kind in KINDS["1e"]),
    ("1f", "mucus plugging", draw_mucus_plugging),
    *(("2f", kind, draw_honeycombing) for kind in KINDS["2f"]),
]
EACH = pytest.mark.parametrize(
    ("category", "kind", "draw"), DRAWN, ids=[f"{code} {kind}" for code, kind, _ in DRAWN]
)
DARKER = {("1c", kind) for kind in KINDS["1c"]}


@pytest.fixture(scope="module")
def bare() -> Blank:
    return draw_blank(9, 4, step=2.5)


@EACH
@pytest.mark.parametrize("seed", [1, 2])
def test_it_looks_like_what_it_is(bare: Blank, category: str, kind: str, draw: Draw, seed: int) -> None:
    scan = fresh(bare)
    drawn = draw(scan, np.random.default_rng(seed), kind, Target(("RUL", "RLL")))
    assert drawn is not None
    mask = painted(scan, drawn)
    before, after = bare[1].hu[mask], scan.canvas.hu[mask]
    assert np.isfinite(after).all()
    assert after.min() >= -1000
    if (category, kind) in DARKER:
        assert np.median(after) < np.median(before) - 5
        assert np.percentile(after, 5) < -930
    elif kind == "mucus plugging":
        assert np.median(after) > -300
    else:
        assert np.percentile(after, 60) > np.percentile(before, 60) + 60
    if kind in ("cylindrical", "varicose", "cystic", "honeycombing"):
        assert np.percentile(after, 2) < -880


def test_subpleural_is_under_the_pleura(bare: Blank) -> None:
    cases: list[tuple[Draw, str, float]] = [
        (draw_emphysema, "paraseptal", 17.0),
        (draw_honeycombing, "honeycombing", 26.0),
    ]
    for draw, kind, deepest in cases:
        scan = fresh(bare)
        drawn = draw(scan, np.random.default_rng(5), kind, Target(("LLL",)))
        assert drawn is not None
        assert "subpleural" in drawn.spread
        for entity in drawn.entities:
            depth = scan.lung_depth(entity.cut)[entity.mask]
            assert np.percentile(depth, 95) < deepest
            assert np.percentile(depth, 5) < 4


def test_honeycombing_is_at_the_base(bare: Blank) -> None:
    scan = fresh(bare)
    drawn = draw_honeycombing(scan, np.random.default_rng(5), "honeycombing", Target(("RLL",)))
    assert drawn is not None
    assert "basal" in drawn.spread
    lobe = np.flatnonzero((scan.canvas.lobes == 3).any(axis=(1, 2)))
    held = np.flatnonzero((painted(scan, drawn)).any(axis=(1, 2)))
    assert held.mean() < (lobe[0] + lobe[-1]) / 2
    upper = draw_honeycombing(scan, np.random.default_rng(5), "honeycombing", Target(("RUL",)))
    assert upper is not None
    assert "basal" not in upper.spread


def test_bullae_are_counted_and_measured(bare: Blank) -> None:
    scan = fresh(bare)
    drawn = draw_emphysema(scan, np.random.default_rng(2), "bullous", Target(("RUL",)))
    assert drawn is not None
    assert drawn.countable
    assert drawn.sized
    assert 1 <= len(drawn.entities) <= 4
    for entity in drawn.entities:
        # No vessel is left inside, and nothing is as dense as one but the pleura beside it.
        inside = scan.canvas.hu[entity.cut][entity.mask]
        assert np.percentile(inside, 20) < -950
        assert np.percentile(inside, 95) < -500


def test_clusters_are_few(bare: Blank) -> None:
    for kind in KINDS["1e"]:
        for seed in range(4):
            scan = fresh(bare)
            drawn = draw_micronodules(scan, np.random.default_rng(seed), kind, Target(("RUL",)))
            assert drawn is not None
            assert 1 <= len(drawn.entities) <= 5
