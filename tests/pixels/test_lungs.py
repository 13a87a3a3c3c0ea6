"""Lungs without a model: on chests made of ellipsoids, and on the real CTs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import overread
from overread.core import Entry, Geometry, Mask, Release
from overread.pixels.geometry import from_ras, make_geometry, ras_geometry
from overread.pixels.lungs import LungMasks, find_lungs
from overread.pixels.masks import read_channel

RIGHT, LEFT = (68.0, 0.0, 0.0), (-68.0, 0.0, 0.0)
SIZE = (52.0, 75.0, 110.0)
Point = Sequence[float]


class Chest:
    """A chest of ellipsoids, 340 × 260 × 300 mm, in RAS, the world's origin at its middle."""

    def __init__(self, spacing: tuple[float, float, float], extent: Point = (340, 260, 300)) -> None:
        shape = [round(mm / step) for mm, step in zip(extent, spacing, strict=True)]
        affine = np.diag([*spacing, 1.0])
        affine[:3, 3] = [-(n - 1) / 2 * mm for n, mm in zip(shape, spacing, strict=True)]
        self.space = make_geometry((shape[0], shape[1], shape[2]), affine, where="a test")
        axes = [np.arange(n) * mm + at for n, mm, at in zip(shape, spacing, affine[:3, 3], strict=True)]
        self.grid = np.meshgrid(*axes, indexing="ij", sparse=True)
        self.hu = np.full(shape, -1000, np.float32)
        x, y, _ = self.grid
        self.paint(((x / 150) ** 2 + (y / 110) ** 2 < 1) & np.ones(shape, bool), 40)
        self.right = np.zeros(shape, bool)
        self.left = np.zeros(shape, bool)

    def paint(self, where: NDArray[Any], hu: float) -> None:
        self.hu[where] = hu

    def ellipsoid(self, centre: Point, radii: Point) -> NDArray[np.bool_]:
        parts = [((g - c) / r) ** 2 for g, c, r in zip(self.grid, centre, radii, strict=True)]
        inside: NDArray[np.bool_] = parts[0] + parts[1] + parts[2] < 1
        return inside

    def lungs(self, right: Point = RIGHT, left: Point = LEFT, size: Point = SIZE, hu: float = -850) -> Chest:
        self.right, self.left = self.ellipsoid(right, size), self.ellipsoid(left, size)
        self.paint(self.right | self.left, hu)
        return self

    def scan(self, *, noise: float = 25) -> NDArray[np.int16]:
        grain = np.random.default_rng(7).normal(0, noise, self.hu.shape)
        return np.rint(self.hu + grain).astype(np.int16)


def dice(one: NDArray[np.bool_], two: NDArray[np.bool_]) -> float:
    return float(2 * (one & two).sum() / max(1, one.sum() + two.sum()))


def held(found: LungMasks, chest: Chest, least: float = 0.95) -> None:
    assert dice(found.right, chest.right) > least
    assert dice(found.left, chest.left) > least
    assert not (found.right & found.left).any()


@pytest.mark.parametrize("spacing", [(1.0, 1.0, 1.5), (0.8, 0.8, 5.0), (3.0, 3.0, 3.0), (2.0, 2.0, 10.0)])
def test_two_lungs_in_thick_and_thin_slices(spacing: tuple[float, float, float]) -> None:
    """The air outside is not lung, and each lung is on its side, to a voxel of its border."""
    chest = Chest(spacing).lungs()
    held(find_lungs(chest.scan(), chest.space), chest, 0.97)


@pytest.mark.parametrize("axes", ["LPS", "RAS", "SLA", "PIR"])
def test_right_stays_right_in_every_axis_order(axes: str) -> None:
    """Masks come back in the stored axes of their volume."""
    chest = Chest((2.5, 2.5, 4.0)).lungs(right=(68, 0, 20))
    space = stored(chest.space, axes)
    found = find_lungs(from_ras(chest.scan(), space), space)
    assert found.right.shape == space.shape
    assert dice(found.right, np.asarray(from_ras(chest.right, space), bool)) > 0.95
    assert dice(found.left, np.asarray(from_ras(chest.left, space), bool)) > 0.95


def stored(ras: Geometry, axes: str) -> Geometry:
    """The geometry of a RAS volume stored with other axes."""
    affine = np.asarray(ras.affine)
    order = [next(n for n, pair in enumerate(("LR", "PA", "IS")) if a in pair) for a in axes]
    turned = np.eye(4)
    turned[:3, 3] = affine[:3, 3]
    for stored_axis, (axis, letter) in enumerate(zip(order, axes, strict=True)):
        sign = 1 if letter in "RAS" else -1
        turned[:3, stored_axis] = sign * affine[:3, axis]
        if sign < 0:
            turned[:3, 3] += affine[:3, axis] * (ras.shape[axis] - 1)
    shape = (ras.shape[order[0]], ras.shape[order[1]], ras.shape[order[2]])
    space = make_geometry(shape, turned, where="a test")
    assert space.axes == axes
    np.testing.assert_allclose(ras_geometry(space).affine, ras.affine)
    return space


@pytest.mark.parametrize("sheet", [0.0, 2.0], ids=["no pleura", "a thin pleura"])
def test_lungs_that_touch_are_parted(sheet: float) -> None:
    """At the anterior junction the lungs share a border as wide as a hand."""
    chest = Chest((1.5, 1.5, 2.5)).lungs(right=(48, 0, 0), left=(-48, 0, 0))
    x, y, z = chest.grid
    chest.right &= x > 0
    chest.left &= x <= 0
    assert (chest.right[1:] & chest.left[:-1]).sum() > 300
    chest.paint((np.abs(x) < sheet / 2) & (y < 500) & (z < 500) & (chest.right | chest.left), -500)
    held(find_lungs(chest.scan(), chest.space), chest)


def test_vessels_belong_to_the_lung_and_airways_do_not() -> None:
    """Trachea and main bronchi hang on both lungs, and are taken off; an artery stays in."""
    chest = Chest((1.2, 1.2, 2.0)).lungs()
    x, y, z = chest.grid
    artery = ((y - 5) ** 2 + (z - 10) ** 2 < 3**2) & (np.abs(x - 68) < 40)
    chest.paint(artery, 60)
    bronchi = (y**2 + (z - 25 + np.abs(x) * 0.3) ** 2 < 6**2) & (np.abs(x) < 30)
    trachea = (x**2 + y**2 < 8.5**2) & (z > 20)
    chest.paint(bronchi | trachea, -1000)
    chest.right &= ~bronchi
    chest.left &= ~bronchi
    found = find_lungs(chest.scan(noise=10), chest.space)
    held(found, chest)
    assert (found.right & artery).sum() > 0.95 * artery.sum()
    assert (found.both & trachea).sum() < 0.02 * trachea.sum()


def test_a_lung_that_runs_out_of_the_picture() -> None:
    """Half a chest: the lung touches four sides of the picture, the outside none of it."""
    whole = Chest((1.5, 1.5, 2.5)).lungs()
    part = (slice(110, 200), slice(60, 150), slice(30, 80))
    cut = np.asarray(whole.space.affine).copy()
    cut[:3, 3] += [110 * 1.5, 60 * 1.5, 30 * 2.5]
    hu = whole.scan()[part]
    found = find_lungs(hu, make_geometry((90, 90, 50), cut, where="a test"))
    assert dice(found.right, whole.right[part]) > 0.97
    assert not found.left.any()


def test_a_picture_cut_out_of_a_lung_is_lung() -> None:
    """Nothing but lung, in every corner."""
    whole = Chest((2.0, 2.0, 2.0)).lungs()
    part = (slice(104, 134), slice(50, 80), slice(50, 100))
    cut = np.asarray(whole.space.affine).copy()
    cut[:3, 3] += [208, 100, 100]
    found = find_lungs(whole.scan()[part], make_geometry((30, 30, 50), cut, where="a test"))
    assert found.right.mean() > 0.99


def test_mattress_bowel_and_padding_are_no_lung() -> None:
    """Foam as light as lung, gas under the diaphragm, and -3024 outside the scanner's circle."""
    chest = Chest((2.0, 2.0, 4.0)).lungs(right=(68, 0, 30), left=(-68, 0, 30), size=(52, 75, 90))
    x, y, z = chest.grid
    chest.paint((y < -112) & (x < 500) & (z < 500), -920)
    chest.paint(chest.ellipsoid((-60, 40, -110), (40, 30, 25)), -1000)
    chest.paint((x**2 + y**2 > 165**2) & (z < 500), -3024)
    held(find_lungs(chest.scan(), chest.space), chest)


@pytest.mark.parametrize("hu", [-1000.0, 40.0])
def test_where_there_is_no_lung_the_masks_are_empty(hu: float) -> None:
    """A belly with gas, or nothing but air."""
    chest = Chest((3.0, 3.0, 5.0))
    chest.paint(chest.ellipsoid((0, 40, 0), (60, 30, 30)), hu)
    found = find_lungs(chest.scan(), chest.space)
    assert not found.both.any()
    assert found.left.shape == chest.space.shape
    empty = np.full(chest.space.shape, hu)
    assert not find_lungs(empty, chest.space).both.any()


def real_lungs(release: Release, entry: Entry) -> dict[str, NDArray[np.bool_]]:
    """What findings of the case draw as lung, by their words."""
    space = release.pictures.geometry(entry.case.pictures[0])
    drawn = {}
    for finding in entry.truth.findings if entry.truth else ():
        words = finding.text.lower()
        for region in finding.regions:
            if isinstance(region, Mask) and "lung" in words and "tumour" not in words:
                if "cancer" in words:
                    continue
                source = release.source(region.file)
                labels = read_channel(source, region.channel, space.shape, region.channels)
                drawn[words] = labels > 0
    return drawn


@pytest.mark.shared
def test_real_lungs(shared: Path) -> None:
    """Dice over 0.95 with every real mask of a lung, on the right side.

    A lobe is less than a lung, so there only how much of it is inside can be held; its border is
    a large part of the thin crescents that are in the picture.
    """
    release = overread.load("rexgroundingct", shared / "ct", "val")
    seen = 0
    for entry in release.entries():
        volume = entry.case.pictures[0]
        drawn = real_lungs(release, entry)
        if not drawn:
            continue
        found = find_lungs(release.pictures.pixels(volume), release.pictures.geometry(volume))
        for words, mask in drawn.items():
            side = found.right if "right" in words else found.left if "left" in words else found.both
            if "lobe" in words:
                assert (side & mask).sum() > 0.95 * mask.sum(), (entry.case.id, words)
            else:
                assert dice(side, mask) > 0.95, (entry.case.id, words)
            seen += 1
    assert seen >= 4
