"""Airways, micronodules, emphysema and honeycombing, as they are drawn on a coarse body."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from overread.phantom.body.anatomy import Body
from overread.phantom.body.canvas import Canvas
from overread.phantom.body.lungs import LOBES, SEGMENTS
from overread.phantom.difficulty import difficulty
from overread.phantom.findings.airways import (
    draw_bronchiectasis,
    draw_mucus_plugging,
    draw_wall_thickening,
)
from overread.phantom.findings.emphysema import draw_emphysema
from overread.phantom.findings.honeycomb import draw_honeycombing
from overread.phantom.findings.micronodules import draw_micronodules
from overread.phantom.findings.scan import LEAST_VOXELS, Drawn, Scan, Target
from overread.phantom.statement import KINDS, SPREADS, TRAITS

Draw = Callable[[Scan, np.random.Generator, str, Target], Drawn | None]

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
def bare() -> tuple[Body, Canvas]:
    """A body on voxels of 2.5 mm; copied before it is drawn on."""
    body = Body(np.random.SeedSequence([9, 4]))
    return body, body.draw(body.grid(2.5))


def fresh(bare: tuple[Body, Canvas], level: str = "medium") -> Scan:
    body, clean = bare
    canvas = Canvas(clean.grid)
    canvas.hu = clean.hu.copy()
    canvas.organs, canvas.lobes, canvas.segments = clean.organs, clean.lobes, clean.segments
    return Scan(body, canvas, difficulty(level))


def whole(scan: Scan, drawn: Drawn) -> np.ndarray:
    labels = np.zeros(scan.canvas.grid.shape, np.uint8)
    for number, entity in enumerate(drawn.entities, 1):
        assert not labels[entity.cut][entity.mask].any()
        labels[entity.cut][entity.mask] = number
    return labels


@EACH
@pytest.mark.parametrize("lobes", [("RLL",), ("RML", "LUL"), LOBES])
def test_every_kind_is_drawn_in_its_lobes(
    bare: tuple[Body, Canvas], category: str, kind: str, draw: Draw, lobes: tuple[str, ...]
) -> None:
    scan = fresh(bare)
    drawn = draw(scan, np.random.default_rng(len(lobes)), kind, Target(lobes))
    assert drawn is not None
    assert (drawn.category, drawn.kind) == (category, kind)
    assert set(drawn.spread) <= set(SPREADS)
    assert set(drawn.traits) <= set(TRAITS)
    assert not drawn.pleural
    assert all(entity.voxels >= LEAST_VOXELS for entity in drawn.entities)
    mask = whole(scan, drawn) > 0
    numbers = [LOBES.index(code) + 1 for code in lobes]
    assert np.isin(scan.canvas.lobes[mask], numbers).all()
    assert (scan.taken == mask).all()
    changed = scan.canvas.hu != bare[1].hu
    assert np.isin(scan.canvas.lobes[changed], numbers).all()


@EACH
@pytest.mark.parametrize("seed", [1, 2])
def test_it_looks_like_what_it_is(
    bare: tuple[Body, Canvas], category: str, kind: str, draw: Draw, seed: int
) -> None:
    scan = fresh(bare)
    drawn = draw(scan, np.random.default_rng(seed), kind, Target(("RUL", "RLL")))
    assert drawn is not None
    mask = whole(scan, drawn) > 0
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


@EACH
def test_the_same_numbers_give_the_same_voxels(
    bare: tuple[Body, Canvas], category: str, kind: str, draw: Draw
) -> None:
    one, two = fresh(bare), fresh(bare)
    for scan in (one, two):
        draw(scan, np.random.default_rng(7), kind, Target(("LLL",)))
    assert (one.canvas.hu == two.canvas.hu).all()
    assert (one.taken == two.taken).all()


@EACH
def test_without_room_nothing_is_drawn(
    bare: tuple[Body, Canvas], category: str, kind: str, draw: Draw
) -> None:
    scan = fresh(bare)
    scan.taken[:] = True
    assert draw(scan, np.random.default_rng(1), kind, Target(("RUL",))) is None
    assert (scan.canvas.hu == bare[1].hu).all()


@EACH
def test_another_finding_is_left_alone(
    bare: tuple[Body, Canvas], category: str, kind: str, draw: Draw
) -> None:
    scan = fresh(bare)
    # Every second slab is somebody else's.
    scan.taken[(np.arange(len(scan.taken)) // 12) % 2 == 0] = True
    others = scan.taken.copy()
    drawn = draw(scan, np.random.default_rng(2), kind, Target(("RUL", "RLL", "LLL")))
    assert (scan.canvas.hu[others] == bare[1].hu[others]).all()
    if drawn is not None:
        assert not (whole(scan, drawn).astype(bool) & others).any()


@EACH
def test_one_segment_may_be_asked_for(
    bare: tuple[Body, Canvas], category: str, kind: str, draw: Draw
) -> None:
    scan = fresh(bare)
    drawn = draw(scan, np.random.default_rng(3), kind, Target(("LLL",), "LS10"))
    assert drawn is not None
    inside = scan.canvas.segments[whole(scan, drawn) > 0]
    assert (inside == SEGMENTS.index("LS10") + 1).all()


@EACH
@pytest.mark.parametrize("level", ["easy", "hard"])
def test_every_difficulty_can_be_drawn(
    bare: tuple[Body, Canvas], category: str, kind: str, draw: Draw, level: str
) -> None:
    assert draw(fresh(bare, level), np.random.default_rng(1), kind, Target(("RLL",))) is not None


def test_subpleural_is_under_the_pleura(bare: tuple[Body, Canvas]) -> None:
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
            depth = scan.depth(entity.cut)[entity.mask]
            assert np.percentile(depth, 95) < deepest
            assert np.percentile(depth, 5) < 4


def test_honeycombing_is_at_the_base(bare: tuple[Body, Canvas]) -> None:
    scan = fresh(bare)
    drawn = draw_honeycombing(scan, np.random.default_rng(5), "honeycombing", Target(("RLL",)))
    assert drawn is not None
    assert "basal" in drawn.spread
    lobe = np.flatnonzero((scan.canvas.lobes == 3).any(axis=(1, 2)))
    held = np.flatnonzero((whole(scan, drawn) > 0).any(axis=(1, 2)))
    assert held.mean() < (lobe[0] + lobe[-1]) / 2
    upper = draw_honeycombing(scan, np.random.default_rng(5), "honeycombing", Target(("RUL",)))
    assert upper is not None
    assert "basal" not in upper.spread


def test_bullae_are_counted_and_measured(bare: tuple[Body, Canvas]) -> None:
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


def test_clusters_are_few(bare: tuple[Body, Canvas]) -> None:
    for kind in KINDS["1e"]:
        for seed in range(4):
            scan = fresh(bare)
            drawn = draw_micronodules(scan, np.random.default_rng(seed), kind, Target(("RUL",)))
            assert drawn is not None
            assert 1 <= len(drawn.entities) <= 5
