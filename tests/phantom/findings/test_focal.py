"""Focal findings on a coarse body: nodules, cysts, and what fills the pleural space."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from overread.phantom.findings.cysts import draw_cysts
from overread.phantom.findings.nodules import draw_nodules
from overread.phantom.findings.pleura import draw_effusion, draw_pneumothorax, draw_thickening
from overread.phantom.findings.round_lesions import LesionSites, lump_depth
from overread.phantom.findings.scan import DrawnFinding, Scan, Target
from overread.phantom.statement import KINDS
from tests.phantom.findings.blank_scans import Blank, draw_blank, fresh, painted

Draw = Callable[[Scan, np.random.Generator, str, Target], DrawnFinding | None]

DRAWS: dict[str, Draw] = {
    **dict.fromkeys(KINDS["2d"], draw_nodules),
    **dict.fromkeys(KINDS["2h"], draw_cysts),
    "effusion": draw_effusion,
    "thickening": draw_thickening,
    "pneumothorax": draw_pneumothorax,
}
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
def plain() -> Blank:
    return draw_blank(5, 1)


def longest(scan: Scan, drawn: DrawnFinding) -> float:
    largest = max(drawn.entities, key=lambda entity: entity.voxels)
    steps = np.array(scan.canvas.grid.step[::-1])
    points = np.argwhere(largest.mask) * steps
    return float(np.linalg.norm(points[:, None] - points[None], axis=2).max())


@pytest.mark.parametrize("kind", MEDIAN)
@pytest.mark.parametrize("lobe", ["RUL", "LLL"])
def test_it_is_as_dense_as_it_should_be(plain: Blank, kind: str, lobe: str) -> None:
    low, high = MEDIAN[kind]
    for seed in (1, 2):
        scan = fresh(plain)
        drawn = DRAWS[kind](scan, np.random.default_rng(seed), kind, Target((lobe,)))
        assert drawn is not None
        assert low <= np.median(scan.canvas.hu[painted(scan, drawn)]) <= high


def test_a_mass_is_over_three_centimetres_and_a_nodule_is_not(plain: Blank) -> None:
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


def test_a_subpleural_nodule_touches_the_wall(plain: Blank) -> None:
    found = 0
    for seed in range(8):
        scan = fresh(plain)
        drawn = draw_nodules(scan, np.random.default_rng(seed), "solid", Target(("LLL", "RLL")))
        assert drawn is not None
        if "subpleural" not in drawn.spread:
            continue
        found += 1
        for entity in drawn.entities:
            depth = scan.lung_depth(entity.cut)[entity.mask]
            assert depth.min() < 3 * scan.voxel_mm
    assert found


def test_fluid_lies_behind_and_air_in_front(plain: Blank) -> None:
    y = plain[1].grid.axes[1][None, :, None]
    z = plain[1].grid.axes[2][:, None, None]
    lung = plain[1].lobes > 0
    middle = np.broadcast_to(y, lung.shape)[lung].mean()
    for seed in range(4):
        fluid, air = fresh(plain), fresh(plain)
        draw_effusion(fluid, np.random.default_rng(seed), "effusion", Target(("RLL",)))
        draw_pneumothorax(air, np.random.default_rng(seed), "pneumothorax", Target(("RLL",)))
        for scan, behind in ((fluid, True), (air, False)):
            assert scan.claimed.any()
            at = np.broadcast_to(y, lung.shape)[scan.claimed]
            assert ((at < middle) == behind).mean() > 0.7
            height = np.broadcast_to(z, lung.shape)
            assert height[scan.claimed].mean() < height[lung].mean() + 15
            # What is left of the lung is denser than it was.
            left = (scan.canvas.lobes > 0) & (plain[1].lobes <= 3) & lung
            assert scan.canvas.hu[left].mean() > plain[1].hu[left].mean()


def test_severity_grows_with_what_is_taken(plain: Blank) -> None:
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


def test_a_cavity_has_a_wall_round_air_and_levels_lie_flat(plain: Blank) -> None:
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


def test_every_calcified_nodule_is_denser_than_any_soft_one(plain: Blank) -> None:
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
        depth = lump_depth(rng, axes, (0.0, 0.0, 0.0), 12.0, lobules=lobules)
        far = np.sqrt(axes[0] ** 2 + axes[1] ** 2 + axes[2] ** 2)
        assert 10.5 < far[depth > 0].max() < 13.5
        assert (depth[far < 7] > 0).all()


def test_a_target_that_is_not_there_has_no_rooms(plain: Blank) -> None:
    scan = fresh(plain)
    scan.canvas.lobes[scan.canvas.lobes == 2] = 1
    assert LesionSites(scan, Target(("RML",))).find(np.random.default_rng(0), 4.0) == []
