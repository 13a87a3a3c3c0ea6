"""Focal findings on a coarse body: nodules, cysts, and what fills the pleural space."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import pytest

from overread.ontology import lungs
from overread.phantom.body.anatomy import Body
from overread.phantom.body.canvas import NUMBER, Canvas
from overread.phantom.body.lungs import LOBES
from overread.phantom.difficulty import difficulty
from overread.phantom.findings.cysts import draw_cysts
from overread.phantom.findings.nodules import draw_nodules
from overread.phantom.findings.pleura import draw_effusion, draw_pneumothorax
from overread.phantom.findings.rounds import Rooms, lump
from overread.phantom.findings.scan import Drawn, Mask, Scan, Target
from overread.phantom.statement import KINDS, SPREADS, TRAITS

Draw = Callable[[Scan, np.random.Generator, str, Target], Drawn | None]

DRAWS: dict[str, Draw] = {
    "2d": draw_nodules,
    "2e": draw_effusion,
    "2g": draw_pneumothorax,
    "2h": draw_cysts,
}
KINDS_HERE = [(code, kind) for code in DRAWS for kind in KINDS[code]]
FOCAL = [(code, kind) for code, kind in KINDS_HERE if code in ("2d", "2h")]
MEDIAN = {
    "solid": (-350, 60),
    "part-solid": (-750, -250),
    "calcified": (-150, 800),
    "spiculated": (-150, 60),
    "mass": (0, 60),
    "effusion": (5, 11),
    "thickening": (0, 620),
    "pneumothorax": (-1001, -995),
    "cavity": (-995, 45),
    "air cyst": (-990, -300),
    "fluid cyst": (0, 20),
}
"""Between which HU the middle of a mask lies, on voxels of 3 mm."""


@pytest.fixture(scope="module")
def plain() -> tuple[Body, Canvas]:
    body = Body(np.random.SeedSequence([5, 1]))
    return body, body.draw(body.grid(3.0))


def fresh(plain: tuple[Body, Canvas]) -> Scan:
    return Scan(plain[0], copy.deepcopy(plain[1]), difficulty("medium"))


def whole(scan: Scan, drawn: Drawn) -> Mask:
    mask = np.zeros(scan.canvas.grid.shape, bool)
    for entity in drawn.entities:
        assert not (mask[entity.cut] & entity.mask).any()
        mask[entity.cut] |= entity.mask
    return mask


def longest(scan: Scan, drawn: Drawn) -> float:
    largest = max(drawn.entities, key=lambda entity: entity.voxels)
    steps = np.array(scan.canvas.grid.step[::-1])
    points = np.argwhere(largest.mask) * steps
    return float(np.linalg.norm(points[:, None] - points[None], axis=2).max())


@pytest.mark.parametrize(("code", "kind"), KINDS_HERE)
@pytest.mark.parametrize("lobes", [("RUL",), ("LLL",), ("RLL", "LLL")])
def test_every_kind_is_drawn_where_it_should_be(
    plain: tuple[Body, Canvas], code: str, kind: str, lobes: tuple[str, ...]
) -> None:
    before = plain[1]
    for seed in (1, 2):
        scan = fresh(plain)
        target = Target(lobes)
        drawn = DRAWS[code](scan, np.random.default_rng(seed), kind, target)
        assert drawn is not None
        assert (drawn.category, drawn.kind) == (code, kind)
        assert all(entity.voxels >= 10 for entity in drawn.entities)
        assert set(drawn.traits) <= set(TRAITS)
        assert set(drawn.spread) <= set(SPREADS)
        mask = whole(scan, drawn)
        assert (scan.taken == mask).all()
        low, high = MEDIAN[kind]
        assert low <= np.median(scan.canvas.hu[mask]) <= high
        own = [LOBES.index(lobe) + 1 for lobe in lobes]
        if drawn.pleural:
            sides = {lungs().by_code[lobe].side for lobe in lobes}
            own = [n for n, code in enumerate(LOBES, 1) if lungs().by_code[code].side in sides]
            assert len(drawn.entities) == len(sides)
            space = {NUMBER[f"{side} pleural space"] for side in sides}
            assert set(np.unique(scan.canvas.organs[mask])) == space
            assert not scan.canvas.lobes[mask].any()
            assert not scan.canvas.segments[mask].any()
        assert np.isin(before.lobes[mask], own).all()
        # Labels change only where the pleural space grew.
        changed = scan.canvas.lobes != before.lobes
        assert (changed == (mask if drawn.pleural else False)).all()


@pytest.mark.parametrize(("code", "kind"), KINDS_HERE)
def test_the_same_seed_draws_the_same_voxels(
    plain: tuple[Body, Canvas], code: str, kind: str
) -> None:
    one, two = fresh(plain), fresh(plain)
    for scan in (one, two):
        DRAWS[code](scan, np.random.default_rng(7), kind, Target(("RLL",)))
    assert (one.canvas.hu == two.canvas.hu).all()
    assert (one.taken == two.taken).all()


@pytest.mark.parametrize(("code", "kind"), KINDS_HERE)
def test_without_room_nothing_is_drawn(plain: tuple[Body, Canvas], code: str, kind: str) -> None:
    scan = fresh(plain)
    scan.taken[:] = scan.canvas.lobes > 0
    assert DRAWS[code](scan, np.random.default_rng(3), kind, Target(("LUL",))) is None
    assert (scan.canvas.hu == plain[1].hu).all()
    assert (scan.canvas.organs == plain[1].organs).all()


@pytest.mark.parametrize(("code", "kind"), KINDS_HERE)
def test_other_findings_stay_as_they_are(plain: tuple[Body, Canvas], code: str, kind: str) -> None:
    scan = fresh(plain)
    z = np.arange(scan.taken.shape[0])[:, None, None]
    earlier = (z % 30 < 6) & (scan.canvas.lobes > 0)
    scan.taken |= earlier
    drawn = DRAWS[code](scan, np.random.default_rng(4), kind, Target(("RLL", "RML", "RUL")))
    assert (scan.canvas.hu[earlier] == plain[1].hu[earlier]).all()
    assert (scan.canvas.lobes[earlier] == plain[1].lobes[earlier]).all()
    if drawn is not None:
        assert not (whole(scan, drawn) & earlier).any()


def test_a_mass_is_over_three_centimetres_and_a_nodule_is_not(plain: tuple[Body, Canvas]) -> None:
    for seed in range(4):
        scan = fresh(plain)
        mass = draw_nodules(scan, np.random.default_rng(seed), "mass", Target(("RLL",)))
        assert mass is not None
        assert longest(scan, mass) >= 28  # between the centres of voxels of 3 mm
        for kind in ("solid", "spiculated", "part-solid"):
            drawn = draw_nodules(scan, np.random.default_rng(seed), kind, Target(("LLL",)))
            assert drawn is not None
            assert drawn.sized
            assert longest(scan, drawn) <= 31
            assert 1 <= len(drawn.entities) <= 5


@pytest.mark.parametrize(("code", "kind"), FOCAL)
def test_a_segment_is_kept_to(plain: tuple[Body, Canvas], code: str, kind: str) -> None:
    scan = fresh(plain)
    target = Target(("RLL",), "RS10")
    drawn = DRAWS[code](scan, np.random.default_rng(2), kind, target)
    if drawn is None:
        assert (scan.canvas.hu == plain[1].hu).all()
        return
    number = list(lungs().segments).index("RS10") + 1
    assert (plain[1].segments[whole(scan, drawn)] == number).all()


def test_a_subpleural_nodule_touches_the_wall(plain: tuple[Body, Canvas]) -> None:
    found = 0
    for seed in range(8):
        scan = fresh(plain)
        drawn = draw_nodules(scan, np.random.default_rng(seed), "solid", Target(("LLL", "RLL")))
        assert drawn is not None
        if "subpleural" not in drawn.spread:
            continue
        found += 1
        for entity in drawn.entities:
            depth = scan.depth(entity.cut)[entity.mask]
            assert depth.min() < 3 * scan.grain
    assert found


def test_fluid_lies_behind_and_air_in_front(plain: tuple[Body, Canvas]) -> None:
    y = plain[1].grid.axes[1][None, :, None]
    z = plain[1].grid.axes[2][:, None, None]
    lung = plain[1].lobes > 0
    middle = np.broadcast_to(y, lung.shape)[lung].mean()
    for seed in range(4):
        fluid, air = fresh(plain), fresh(plain)
        draw_effusion(fluid, np.random.default_rng(seed), "effusion", Target(("RLL",)))
        draw_pneumothorax(air, np.random.default_rng(seed), "pneumothorax", Target(("RLL",)))
        for scan, behind in ((fluid, True), (air, False)):
            assert scan.taken.any()
            at = np.broadcast_to(y, lung.shape)[scan.taken]
            assert ((at < middle) == behind).mean() > 0.7
            height = np.broadcast_to(z, lung.shape)
            assert height[scan.taken].mean() < height[lung].mean() + 15
            # What is left of the lung is denser than it was.
            left = (scan.canvas.lobes > 0) & (plain[1].lobes <= 3) & lung
            assert scan.canvas.hu[left].mean() > plain[1].hu[left].mean()


def test_severity_grows_with_what_is_taken(plain: tuple[Body, Canvas]) -> None:
    order = {"mild": 0, "moderate": 1, "severe": 2}
    for draw, kind in ((draw_effusion, "effusion"), (draw_pneumothorax, "pneumothorax")):
        seen = []
        for seed in range(10):
            scan = fresh(plain)
            drawn = draw(scan, np.random.default_rng(seed), kind, Target(("LLL",)))
            assert drawn is not None
            assert drawn.severity is not None
            seen.append((drawn.entities[0].voxels, order[drawn.severity]))
        levels = [level for _, level in sorted(seen)]
        assert levels == sorted(levels)
        assert set(levels) == {0, 1, 2}


def test_a_cavity_has_a_wall_round_air_and_levels_lie_flat(plain: tuple[Body, Canvas]) -> None:
    level = False
    for seed in range(6):
        scan = fresh(plain)
        drawn = draw_cysts(scan, np.random.default_rng(seed), "cavity", Target(("RUL", "RLL")))
        assert drawn is not None
        assert drawn.traits == ("thick-walled",)
        entity = max(drawn.entities, key=lambda e: e.voxels)
        hu = np.where(entity.mask, scan.canvas.hu[entity.cut], np.nan)
        assert np.nanmin(hu) < -900
        assert np.nanmax(hu) > 0
        air = hu < -800
        rows = np.flatnonzero(air.any(axis=(0, 2)))
        # Air over fluid: its lowest row is broad.
        level |= air[:, rows[-1]].sum() > 0.6 * air.sum(axis=(0, 2)).max()
    assert level


def test_every_calcified_nodule_is_denser_than_any_soft_one(plain: tuple[Body, Canvas]) -> None:
    for seed in range(6):
        scan = fresh(plain)
        drawn = draw_nodules(scan, np.random.default_rng(seed), "calcified", Target(("RUL",)))
        assert drawn is not None
        for entity in drawn.entities:
            assert scan.canvas.hu[entity.cut][entity.mask].max() > 200


def test_a_lump_reaches_as_far_as_it_is_told() -> None:
    axis = np.linspace(-20, 20, 41, dtype=np.float32)
    axes = axis[None, None, :], axis[None, :, None], axis[:, None, None]
    for lobules in (0, 8):
        rng = np.random.default_rng(1)
        depth = lump(rng, axes, (0.0, 0.0, 0.0), 12.0, lobules=lobules)
        far = np.sqrt(axes[0] ** 2 + axes[1] ** 2 + axes[2] ** 2)
        assert 10.5 < far[depth > 0].max() < 13.5
        assert (depth[far < 7] > 0).all()


def test_a_target_that_is_not_there_has_no_rooms(plain: tuple[Body, Canvas]) -> None:
    scan = fresh(plain)
    scan.canvas.lobes[scan.canvas.lobes == 2] = 1
    assert Rooms(scan, Target(("RML",))).find(np.random.default_rng(0), 4.0) == []
