"""Denser lung, lines and mosaic: each kind fits its place, keeps to it, and has the right HU."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

import numpy as np
import pytest

from overread.phantom.body.anatomy import Body
from overread.phantom.body.canvas import Canvas
from overread.phantom.body.lungs import LOBES, SEGMENTS
from overread.phantom.difficulty import difficulty
from overread.phantom.findings.lines import draw_lines, draw_septa
from overread.phantom.findings.mosaic import draw_mosaic
from overread.phantom.findings.opacities import draw_consolidation, draw_ground_glass
from overread.phantom.findings.pleura import draw_pneumothorax
from overread.phantom.findings.scan import LEAST_VOXELS, Drawn, Mask, Scan, Target
from overread.phantom.statement import SPREADS, TRAITS

Draw = Callable[[Scan, np.random.Generator, str, Target], Drawn | None]

KINDS: list[tuple[str, Draw, str, tuple[float, float]]] = [
    ("2b", draw_consolidation, "consolidation", (650, 1000)),
    ("2b", draw_consolidation, "atelectasis", (600, 1000)),
    ("2c", draw_ground_glass, "ground-glass", (100, 330)),
    ("2c", draw_ground_glass, "crazy-paving", (120, 600)),
    ("2a", draw_lines, "band", (450, 950)),
    ("2a", draw_lines, "scar", (200, 950)),
    ("1d", draw_septa, "interlobular", (4, 300)),
    ("1d", draw_septa, "reticulation", (40, 450)),
    ("1f", draw_mosaic, "mosaic attenuation", (-105, -35)),
]
"""Category, function, kind, and by how much the median HU of its mask is above that before."""
NAMES = [kind for _, _, kind, _ in KINDS]


@pytest.fixture(scope="module")
def empty() -> tuple[Body, Canvas]:
    """A body, and its canvas before any finding."""
    body = Body(np.random.SeedSequence([7, 1]))
    return body, body.draw(body.grid(3.0))


def fresh(empty: tuple[Body, Canvas], level: str = "medium") -> Scan:
    """A scan of the body on which nothing was drawn yet."""
    body, canvas = empty
    own = deepcopy(canvas)
    return Scan(body, own, difficulty(level))


def painted(scan: Scan, drawn: Drawn) -> Mask:
    """All voxels of a finding; no two of its entities share one."""
    mask = np.zeros(scan.canvas.grid.shape, bool)
    for entity in drawn.entities:
        assert not mask[entity.cut][entity.mask].any()
        mask[entity.cut] |= entity.mask
    return mask


@pytest.mark.parametrize(("category", "draw", "kind", "rise"), KINDS, ids=NAMES)
@pytest.mark.parametrize("lobes", [("RLL",), ("LUL",), ("RML",), ("RUL", "LLL")], ids="+".join)
def test_is_drawn_in_its_lobes(
    empty: tuple[Body, Canvas],
    category: str,
    draw: Draw,
    kind: str,
    rise: tuple[float, float],
    lobes: tuple[str, ...],
) -> None:
    drawn_on = 0
    for seed in range(2):
        scan = fresh(empty)
        drawn = draw(scan, np.random.default_rng(seed), kind, Target(lobes))
        if drawn is None:
            continue
        drawn_on += 1
        assert (drawn.category, drawn.kind) == (category, kind)
        assert set(drawn.spread) <= set(SPREADS)
        assert set(drawn.traits) <= set(TRAITS)
        assert all(entity.voxels >= LEAST_VOXELS for entity in drawn.entities)
        mask = painted(scan, drawn)
        assert set(np.unique(scan.canvas.lobes[mask])) <= {LOBES.index(c) + 1 for c in lobes}
        assert (scan.taken == mask).all()
        after, before = (float(np.median(hu[mask])) for hu in (scan.canvas.hu, empty[1].hu))
        assert rise[0] < after - before < rise[1]
    assert drawn_on


@pytest.mark.parametrize(("draw", "kind"), [k[1:3] for k in KINDS], ids=NAMES)
def test_same_seed_same_voxels(empty: tuple[Body, Canvas], draw: Draw, kind: str) -> None:
    one, two = fresh(empty), fresh(empty)
    for scan in (one, two):
        assert draw(scan, np.random.default_rng(5), kind, Target(("LLL",))) is not None
    assert (one.taken == two.taken).all()
    assert (one.canvas.hu == two.canvas.hu).all()


@pytest.mark.parametrize(("draw", "kind"), [k[1:3] for k in KINDS], ids=NAMES)
def test_leaves_other_findings_alone(empty: tuple[Body, Canvas], draw: Draw, kind: str) -> None:
    scan = fresh(empty)
    scan.taken[:, :, ::4] = True
    scan.taken[:, :, 1::4] = True
    before = scan.canvas.hu.copy()
    taken = scan.taken.copy()
    drawn = draw(scan, np.random.default_rng(2), kind, Target(("RLL",)))
    assert (scan.canvas.hu[taken] == before[taken]).all()
    if drawn is not None:
        assert not (painted(scan, drawn) & taken).any()


@pytest.mark.parametrize("kind", ["consolidation", "atelectasis"])
def test_leaves_the_air_of_a_pneumothorax(empty: tuple[Body, Canvas], kind: str) -> None:
    met = 0
    for seed in range(4):
        scan, rng = fresh(empty), np.random.default_rng(seed)
        assert draw_pneumothorax(scan, rng, "pneumothorax", Target(("RLL",))) is not None
        taken, before = scan.taken.copy(), scan.canvas.hu.copy()
        met += draw_consolidation(scan, rng, kind, Target(("RLL",))) is not None
        assert (scan.canvas.hu[taken] == before[taken]).all()
    assert met


@pytest.mark.parametrize(("draw", "kind"), [k[1:3] for k in KINDS], ids=NAMES)
def test_where_there_is_no_room(empty: tuple[Body, Canvas], draw: Draw, kind: str) -> None:
    scan = fresh(empty)
    scan.taken[:] = True
    before = scan.canvas.hu.copy()
    assert draw(scan, np.random.default_rng(1), kind, Target(("RUL",))) is None
    assert (scan.canvas.hu == before).all()


@pytest.mark.parametrize(("draw", "kind"), [k[1:3] for k in KINDS], ids=NAMES)
def test_one_segment(empty: tuple[Body, Canvas], draw: Draw, kind: str) -> None:
    scan = fresh(empty)
    drawn = draw(scan, np.random.default_rng(3), kind, Target(("RLL",), "RS10"))
    assert drawn is None or (
        set(np.unique(scan.canvas.segments[painted(scan, drawn)])) == {SEGMENTS.index("RS10") + 1}
    )


def test_ground_glass_leaves_vessels_visible(empty: tuple[Body, Canvas]) -> None:
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


def test_contrast_follows_the_difficulty(empty: tuple[Body, Canvas]) -> None:
    raised = []
    for level in ("easy", "hard"):
        scan = fresh(empty, level)
        before = scan.canvas.hu.copy()
        drawn = draw_ground_glass(scan, np.random.default_rng(4), "ground-glass", Target(("LLL",)))
        assert drawn is not None
        raised.append(float(np.median((scan.canvas.hu - before)[painted(scan, drawn)])))
    assert raised[0] > 1.5 * raised[1]


def test_air_bronchograms_are_said_only_where_they_show(empty: tuple[Body, Canvas]) -> None:
    said = 0
    for seed in range(6):
        scan = fresh(empty)
        rng = np.random.default_rng(seed)
        drawn = draw_consolidation(scan, rng, "consolidation", Target(("RLL",)))
        if drawn is not None and drawn.traits:
            said += 1
            assert int((scan.canvas.hu[painted(scan, drawn)] < -450).sum()) > 4
    assert said


def test_words_of_place_are_true(empty: tuple[Body, Canvas]) -> None:
    body, canvas = empty
    x, y, z = (np.broadcast_to(a, canvas.grid.shape) for a in canvas.grid.at((slice(None),) * 3))
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
            depth = body.depth(x[mask], y[mask], z[mask])
            if "subpleural" in drawn.spread and kind == "reticulation":
                assert depth.max() < 25
            if "peripheral" in drawn.spread:
                assert depth.max() < 36
