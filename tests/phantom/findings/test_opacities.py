"""Denser lung, lines and mosaic: each kind fits its place, keeps to it, and has the right HU."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from overread.phantom.body.lungs import LOBES
from overread.phantom.findings.lines import draw_lines, draw_septa
from overread.phantom.findings.mosaic import draw_mosaic
from overread.phantom.findings.opacities import draw_consolidation, draw_ground_glass
from overread.phantom.findings.pleura import draw_pneumothorax
from overread.phantom.findings.scan import DrawnFinding, Scan, Target
from tests.phantom.findings.blank_scans import Blank, draw_blank, fresh, painted

Draw = Callable[[Scan, np.random.Generator, str, Target], DrawnFinding | None]

KINDS: list[tuple[Draw, str, tuple[float, float]]] = [
    (draw_consolidation, "consolidation", (650, 1000)),
    (draw_consolidation, "atelectasis", (600, 1000)),
    (draw_ground_glass, "ground-glass", (100, 330)),
    (draw_ground_glass, "crazy-paving", (120, 600)),
    (draw_lines, "band", (450, 950)),
    (draw_lines, "scar", (200, 950)),
    (draw_septa, "interlobular", (4, 300)),
    (draw_septa, "reticulation", (40, 450)),
    (draw_mosaic, "mosaic attenuation", (-105, -35)),
]
"""Function, kind, and by how much the median HU of its mask is above that before."""


@pytest.fixture(scope="module")
def empty() -> Blank:
    return draw_blank(7, 1)


@pytest.mark.parametrize(("draw", "kind", "rise"), KINDS, ids=[kind for _, kind, _ in KINDS])
@pytest.mark.parametrize("lobe", ["RLL", "LUL", "RML"])
def test_it_is_denser_than_the_lung_was(
    empty: Blank, draw: Draw, kind: str, rise: tuple[float, float], lobe: str
) -> None:
    found = 0
    for seed in range(2):
        scan = fresh(empty)
        drawn = draw(scan, np.random.default_rng(seed), kind, Target((lobe,)))
        if drawn is None:
            continue
        found += 1
        mask = painted(scan, drawn)
        after, before = (float(np.median(hu[mask])) for hu in (scan.canvas.hu, empty[1].hu))
        assert rise[0] < after - before < rise[1]
    assert found


@pytest.mark.parametrize("kind", ["consolidation", "atelectasis"])
def test_leaves_the_air_of_a_pneumothorax(empty: Blank, kind: str) -> None:
    met = 0
    for seed in range(4):
        scan, rng = fresh(empty), np.random.default_rng(seed)
        assert draw_pneumothorax(scan, rng, "pneumothorax", Target(("RLL",))) is not None
        taken, before = scan.claimed.copy(), scan.canvas.hu.copy()
        met += draw_consolidation(scan, rng, kind, Target(("RLL",))) is not None
        assert (scan.canvas.hu[taken] == before[taken]).all()
    assert met


def test_ground_glass_leaves_vessels_visible(empty: Blank) -> None:
    scan = fresh(empty)
    before = scan.canvas.hu.copy()
    drawn = draw_ground_glass(scan, np.random.default_rng(4), "ground-glass", Target(("RLL",)))
    assert drawn is not None
    mask = painted(scan, drawn)
    vessel, lung = mask & (before > -400), mask & (before < -800)
    assert float((scan.canvas.hu - before)[mask & (before > -50)].max(initial=0)) < 45
    assert scan.canvas.hu[vessel].mean() - scan.canvas.hu[lung].mean() > 200
    raised = float(np.median((scan.canvas.hu - before)[lung]))
    assert 110 < raised < 350


def test_contrast_follows_the_difficulty(empty: Blank) -> None:
    raised = []
    for level in ("easy", "hard"):
        scan = fresh(empty, level)
        before = scan.canvas.hu.copy()
        drawn = draw_ground_glass(scan, np.random.default_rng(4), "ground-glass", Target(("LLL",)))
        assert drawn is not None
        raised.append(float(np.median((scan.canvas.hu - before)[painted(scan, drawn)])))
    assert raised[0] > 1.5 * raised[1]


def test_air_bronchograms_are_said_only_where_they_show(empty: Blank) -> None:
    said = 0
    for seed in range(6):
        scan = fresh(empty)
        rng = np.random.default_rng(seed)
        drawn = draw_consolidation(scan, rng, "consolidation", Target(("RLL",)))
        if drawn is not None and drawn.traits:
            said += 1
            assert int((scan.canvas.hu[painted(scan, drawn)] < -450).sum()) > 4
    assert said


def test_words_of_place_are_true(empty: Blank) -> None:
    body, canvas = empty
    x, y, z = (np.broadcast_to(a, canvas.grid.shape) for a in canvas.grid.coordinates((slice(None),) * 3))
    for seed in range(5):
        for draw, kind, code in (
            (draw_lines, "scar", "RUL"),
            (draw_lines, "band", "LLL"),
            (draw_septa, "reticulation", "LLL"),
            (draw_septa, "interlobular", "LLL"),
            (draw_consolidation, "atelectasis", "LLL"),
            (draw_ground_glass, "ground-glass", "LLL"),
        ):
            scan = fresh(empty)
            drawn = draw(scan, np.random.default_rng(seed), kind, Target((code,)))
            assert drawn is not None
            mask = painted(scan, drawn)
            lobe = canvas.lobes == LOBES.index(code) + 1
            if "apical" in drawn.spread:
                assert z[mask].mean() > np.quantile(z[lobe], 0.75)
            if "basal" in drawn.spread:
                assert z[mask].max() < z[lobe].min() + 0.55 * np.ptp(z[lobe])
            if "dependent" in drawn.spread:
                assert y[mask].mean() < np.median(y[lobe])
            depth = body.lung_depth(x[mask], y[mask], z[mask])
            if "subpleural" in drawn.spread and kind == "reticulation":
                assert depth.max() < 25
            if "peripheral" in drawn.spread:
                assert depth.max() < 36
