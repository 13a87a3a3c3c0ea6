"""What is drawn besides the findings: beyond the lung, and what only looks like something."""

from __future__ import annotations

import numpy as np
import pytest

from overread.phantom.body.anatomy import Body
from overread.phantom.body.canvas import ORGAN_NUMBERS
from overread.phantom.difficulty import find_difficulty
from overread.phantom.findings.extrapulmonary import draw_extrapulmonary
from overread.phantom.findings.lookalikes import draw_lookalikes
from overread.phantom.findings.scan import Scan
from overread.phantom.statement import EXTRAPULMONARY

STEP = 3.0
# What the body itself shows by its build, before anything is drawn on it.
BUILT = {"cardiomegaly", "aortic ectasia", "osteophytes", "steatosis"}


def scan_of(level: str = "medium") -> Scan:
    body = Body(np.random.SeedSequence([5, 1]))
    return Scan(body, body.draw(body.make_grid(STEP)), find_difficulty(level))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(EXTRAPULMONARY))
def test_it_is_stated_and_seen_outside_the_lungs(name: str) -> None:
    scan = scan_of()
    before, lobes = scan.canvas.hu.copy(), scan.canvas.lobes.copy()
    (made,) = draw_extrapulmonary(scan, np.random.default_rng(4), [name])
    assert (made.statement.kind, made.statement.category) == (name, EXTRAPULMONARY[name])
    changed = np.abs(scan.canvas.hu - before) > 20
    assert changed.any() == (name not in BUILT)
    if name != "hiatal hernia":  # which takes a little room from the lung
        assert (scan.canvas.lobes == lobes).all()
        assert not changed[lobes > 0].any()
    bright = {"coronary calcification", "aortic calcification"}
    if name in bright:
        assert float(scan.canvas.hu[changed].max()) > 250


@pytest.mark.parametrize(
    ("field", "usual", "other", "organ"), [("heart", 1.0, 1.3, "heart"), ("aorta", 1.0, 1.4, "aorta")]
)
def test_a_large_organ_is_larger(field: str, usual: float, other: float, organ: str) -> None:
    sizes = []
    for value in (usual, other):
        body = Body(np.random.SeedSequence([5, 1]), {field: value})
        sizes.append(int((body.draw(body.make_grid(STEP)).organs == ORGAN_NUMBERS[organ]).sum()))
    assert sizes[1] > 1.3 * sizes[0]


def test_a_fatty_liver_is_darker_than_the_spleen() -> None:
    body = Body(np.random.SeedSequence([5, 1]), {"liver": 20.0})
    canvas = body.draw(body.make_grid(STEP))
    liver, spleen = (
        float(np.median(canvas.hu[canvas.organs == ORGAN_NUMBERS[name]])) for name in ("liver", "spleen")
    )
    assert liver < spleen - 15


def test_look_alikes_grow_with_difficulty_and_take_no_voxel() -> None:
    changed = []
    for level in ("easy", "hard"):
        scan = scan_of(level)
        before = scan.canvas.hu.copy()
        draw_lookalikes(scan, np.random.default_rng(3))
        assert not scan.claimed.any()
        changed.append(int((np.abs(scan.canvas.hu - before) > 15).sum()))
    assert changed[1] > 2 * changed[0]
