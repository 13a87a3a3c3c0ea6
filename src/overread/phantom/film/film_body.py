"""The body of the scan, drawn again for a film.

Anatomy and breath are those of the scan. What differs is the posture of shoulders and arms, the
neck above the scan, and the resolution: fine across the beam and coarse along it, where values are
summed anyway. Small vessels are not drawn as voxels; `vessels` projects them onto the film.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from overread.phantom.body.anatomy import Body
from overread.phantom.body.bones import paint_spine, paint_sternum
from overread.phantom.body.boxes import template_box
from overread.phantom.body.canvas import ORGAN_NUMBERS, Canvas, Cut, Grid
from overread.phantom.body.lungs import SPINE_CURVE
from overread.phantom.body.noise import NoiseTile
from overread.phantom.body.organs import paint_belly, paint_heart, paint_vessels
from overread.phantom.body.shapes import (
    Floats,
    Point,
    capsule_distance,
    ellipsoid_depth,
    interpolate_profile,
    soft_cover,
    union_depth,
)
from overread.phantom.body.tubes import paint_branches
from overread.phantom.body.wall import RIB_GAP, RIB_TOP, body_depth, bone_hu, paint_wall

_RIB_DENSITY = 2.3
"""How much more than on the scan the ribs weigh: their cortex is thinner than a scan's voxel."""

_MARROW_SHARE, _SPINE_SHARE = 0.5, 0.5
"""Share of the scan's density of marrow and of the whole vertebrae."""


@dataclass(frozen=True)
class FilmGrid(Grid):
    """A grid that is fine across the beam and coarse along it."""

    edge: float = 1.5
    """Millimetres over which an edge is soft."""

    @property
    def blur(self) -> float:
        """Width of a soft edge: that of the fine steps, for the coarse one is summed over."""
        return self.edge


def skin_extent(body: Body) -> tuple[float, float]:
    """How far back and how far in front the skin lies while a film is taken, in millimetres."""
    back, front = trunk_extent(body)
    if body.habitus.sex == "female":
        (_, ahead, _), (_, deep, _) = _breast_shape(body, 1)
        front = max(front, (ahead + deep) * body.habitus.deep + 3)
    return back, front


def trunk_extent(body: Body) -> tuple[float, float]:
    """How far back and how far in front the skin of the scan's body lies, in millimetres."""
    h = body.habitus
    x = np.linspace(-150, 150, 61, dtype=np.float32)[None, :]
    y = np.linspace(-200, 220, 211, dtype=np.float32)[:, None]
    inside = np.zeros((211, 61), bool)
    for level in (-150.0, -100.0, -48.0, 0.0, 40.0, 70.0):
        inside |= body_depth(h, x, y, np.full((1, 1), level, np.float32))[0] > 0
    rows, columns = np.nonzero(inside)
    corners = h.to_patient(np.stack([x[0, columns], y[rows, 0], np.zeros(len(rows))], axis=-1))
    return float(corners[:, 1].min()) - 2, float(corners[:, 1].max()) + 2


def breast_depth(body: Body, x: Floats, y: Floats, z: Floats) -> Floats:
    """Depth in the breasts of a woman who stands; points of the template."""
    return np.maximum(*(ellipsoid_depth(x, y, z, *_breast_shape(body, sign)) for sign in (1, -1)))


def _breast_shape(body: Body, sign: int) -> tuple[Point, Point]:
    """Middle and radii of one breast of a woman who stands: lower than on the scan."""
    fat = body.habitus.fat
    size = 0.85 + fat / 50
    return (sign * 76, 78 + 0.55 * fat, -58 - 34 * size), (54 * size, 38 * size, 46 * size)


def draw_film_body(
    body: Body, grid: FilmGrid, rng: np.random.Generator, *, spurs: float, from_side: bool = False
) -> Canvas:
    """HU and labels of a patient for a film, without couch, small vessels, arms and blades."""
    canvas, h = Canvas(grid), body.habitus
    steps = (grid.step[2], grid.step[1], grid.step[0])
    fine, slow = (NoiseTile(rng, (32, 32, 64), steps, coarse=c) for c in (4.0, 20.0))
    # Ribs and muscles lie slantwise in the beam: as soft as the coarse step, or they show stairs.
    canvas.grid = replace(grid, edge=0.8 * max(grid.step))
    wide, (back, front) = 160 + 1.3 * h.fat, trunk_extent(body)
    low, high = (-wide, back / h.deep - 8, -400.0), (wide, front / h.deep + 8, 400.0)
    for cut, xyz in template_box(grid, h, low, high):
        cavity, around = body.lungs.cavity_depth(*xyz)
        paint_wall(canvas, cut, h, fine, slow, xyz, cavity, around)
        _harden_ribs(canvas, cut, xyz, around)
    canvas.grid = grid
    for cut, xyz in template_box(grid, h, (-137, -100, -260), (137, 100, 126)):
        _paint_lungs(body, canvas, cut, xyz, body.lungs.cavity_depth(*xyz)[0])
    paint_belly(canvas, body.lungs, fine)
    _fill_belly(canvas, body)
    paint_heart(canvas, body.lungs, fine)
    paint_vessels(canvas, body.lungs)
    if from_side:
        paint_spine(canvas, body.lungs, 1.6 * (250 - 1.3 * h.age), spurs)
    else:
        paint_spine(canvas, body.lungs, _MARROW_SHARE * (250 - 1.3 * h.age), spurs)
        _soften_spine(canvas, body)
        _paint_pedicles(canvas, body)
    paint_sternum(canvas, body.lungs)
    _paint_heart_corners(canvas, body)
    _paint_hila(canvas, body)
    large = [b for b in body.trees.airways if b.radius > 1.6]
    paint_branches(canvas, h, large, 10.0, widen=(0.35, 0.12), walls=True)
    paint_branches(canvas, h, large, -700.0, label=ORGAN_NUMBERS["trachea and bronchi"])
    # From the side the beam runs along the collar bones, which are lifted with the arms.
    _paint_collar_bones(canvas, body, 400 if from_side else 1250)
    return canvas


def _paint_lungs(
    body: Body, canvas: Canvas, cut: Cut, xyz: tuple[Floats, Floats, Floats], cavity: Floats
) -> None:
    """Fat between the lungs, then the lungs with their lobes and fissures."""
    x, y, z = xyz
    lungs, h, blur = body.lungs, body.habitus, canvas.grid.blur
    between = lungs.mediastinum_depth(x, y, z)
    height, cosine = lungs.diaphragm_height(x, y)
    # Above the arch the lungs meet the vessels through loose fat: no straight edge on a film.
    loose = np.clip((z - 34) / 20, 0, 1) * np.clip(1 - between / 15, 0, 1)
    filled = np.float32(-40) - np.float32(700) * loose
    canvas.paint(cut, np.minimum(cavity - 1, between + 2), filled, label=ORGAN_NUMBERS["mediastinum"])
    depth = np.minimum(np.minimum(cavity - 1, -between), (z - height) * cosine)
    inside = depth > 0
    if not inside.any():
        return
    value = np.float32(h.lung) - np.float32(0.25) * (z + 25)
    # Beside the spine and the gullet a film shows no edge as sharp as the template's.
    spine = np.clip((-y - 5) / 20, 0, 1) * np.clip((25 - z) / 20, 0, 1)
    value = value + np.float32(480) * spine * np.exp(np.minimum(between, 0) / np.float32(9))
    major, minor = lungs.fissure_distances(x, y, z)
    line = soft_cover(np.float32(0.55) - np.abs(major), blur)
    over = np.where((x > 0) & (major > 0), soft_cover(np.float32(0.55) - np.abs(minor), blur), 0)
    line = np.maximum(line, over) * np.float32(0.30 * min(1.0, 1.1 / blur))
    canvas.paint(cut, depth, value + (-250 - value) * line)
    right = np.broadcast_to(x > 0, depth.shape)
    lobe = np.where(major < 0, np.where(right, 3, 5), np.where(right, np.where(minor > 0, 1, 2), 4)).astype(
        np.uint8
    )
    canvas.lobes[cut][inside] = lobe[inside]
    canvas.organs[cut][inside] = np.where(right, ORGAN_NUMBERS["right lung"], ORGAN_NUMBERS["left lung"])[
        inside
    ]


def _harden_ribs(canvas: Canvas, cut: Cut, xyz: tuple[Floats, Floats, Floats], around: Floats) -> None:
    """Give ribs and blades the density that their thin cortex has before a scanner blurs it."""
    own = np.isin(canvas.organs[cut], (ORGAN_NUMBERS["ribs"], ORGAN_NUMBERS["scapulae"]))
    if own.any():
        # Less towards the joints with the spine, where the template's ribs are cut off squarely,
        # in the belly, which hides them, and at the side, where the beam runs along them.
        x, z = (np.broadcast_to(a, own.shape)[own] for a in (xyz[0], xyz[2]))
        aside = np.clip((np.abs(x) - 20) / 26, 0, 1) * np.clip((z + 175) / 60, 0, 1)
        flank = np.exp(-(((around[own] - 0.5) / 0.12) ** 2))
        more = np.float32(_RIB_DENSITY - 1) * aside * (1 - flank) - np.float32(0.4) * flank
        hu = canvas.hu[cut]
        bone = hu[own]
        hu[own] = bone * (1 + more) + (1 - flank) * aside * np.maximum(bone - 260, 0)


def _soften_spine(canvas: Canvas, body: Body) -> None:
    """Take from the vertebrae what makes them a white band instead of a spine behind the heart."""
    for cut, _ in template_box(canvas.grid, body.habitus, (-60, -130, -240), (60, -10, 400)):
        own = canvas.organs[cut] == ORGAN_NUMBERS["vertebrae"]
        hu = canvas.hu[cut]
        hu[own] -= np.float32(1 - _SPINE_SHARE) * np.maximum(hu[own] - 40, 0)


def _fill_belly(canvas: Canvas, body: Body) -> None:
    """Bowel and vessels where the scan has plain fat: a belly is white on a film of the chest."""
    for cut, xyz in template_box(canvas.grid, body.habitus, (-130, -95, -320), (130, 100, -60)):
        inside = body.lungs.cavity_depth(*xyz)[0] > 4
        hu = canvas.hu[cut]
        hu += np.where(inside & (canvas.organs[cut] == ORGAN_NUMBERS["fat"]), np.float32(118), 0)


def _paint_pedicles(canvas: Canvas, body: Body) -> None:
    """The roots of the vertebral arches, which a film shows end on as pairs of rings."""
    for cut, (x, y, z) in template_box(canvas.grid, body.habitus, (-30, -90, -240), (30, -40, 180)):
        u = np.abs(x - body.lungs.spine_offset(z)) - 13.0
        v = y - interpolate_profile(z, SPINE_CURVE, 1) + 15
        level = np.mod(RIB_TOP + RIB_GAP / 2 - 4 - z, RIB_GAP) - 9.5
        root = 4.6 - np.sqrt((1.25 * u) ** 2 + (0.8 * level) ** 2)
        root = np.minimum(root, 7 - np.abs(v)).astype(np.float32)
        rim = body.habitus.bone * bone_hu(root, 1.4, 320, 80, canvas.grid.blur)
        canvas.paint(cut, root, rim)


def _paint_hila(canvas: Canvas, body: Body) -> None:
    """Nodes, fat and small vessels around the roots of the lungs: a haze about the hila."""
    for centre, radii in (
        ((43, -14, -20), (15, 20, 24)),
        ((-47, -18, -14), (15, 20, 24)),
        ((50, -24, -46), (11, 16, 24)),
        ((-53, -28, -42), (11, 16, 24)),
    ):
        low, high = (
            tuple(c + sign * (r + 4) for c, r in zip(centre, radii, strict=True)) for sign in (-1, 1)
        )
        for cut, (x, y, z) in template_box(canvas.grid, body.habitus, low, high):
            depth = ellipsoid_depth(x, y, z, centre, radii)
            lung = canvas.lobes[cut] > 0
            hu = canvas.hu[cut]
            haze = np.float32(0.3) * np.clip(depth / 12, 0, 1)
            hu += np.where(lung & (hu > -960), np.maximum(0 - hu, 0) * haze, 0)


def _paint_heart_corners(canvas: Canvas, body: Body) -> None:
    """Fat and vessels in the corners that the heart makes with the vessels above and the domes.

    Without them its outline is that of a ball; the lungs keep their labels there.
    """
    lungs, h = body.lungs, body.habitus
    for cut, (x, y, z) in template_box(canvas.grid, h, (-125, -45, -165 - h.breath), (100, 100, 45)):
        heart = lungs.heart_depth(x, y, z)
        stem = (23 - np.sqrt((x - 1) ** 2 + ((y - 12) / 1.1) ** 2)).astype(np.float32)
        stem = np.minimum(stem, 40 - z)
        atrium = 25 - capsule_distance(x, y, z, (11, 20, -12), (20, 16, -58))[0]
        stem = union_depth(stem, atrium, blend=12)
        foot = ellipsoid_depth(x, y, z, (-6, 2, -138 - h.breath), (50, 52, 40))
        trunk = 17 - capsule_distance(x, y, z, (-14, 30, -40), (-21, 16, -4))[0]
        height, cosine = lungs.diaphragm_height(x, y)
        under = (height - z) * cosine
        shape = union_depth(union_depth(heart - 1, stem, blend=34), trunk, blend=20)
        shape = union_depth(union_depth(shape, foot, blend=30), under, blend=34)
        # Only the corners: the domes and the heart are there already.
        near = np.minimum(shape, np.maximum(heart + 32, foot + 6))
        inner = (canvas.lobes[cut] > 0) & (near > -2)
        if inner.any():
            depth = np.where(inner, near, np.float32(-9)).astype(np.float32)
            canvas.paint(cut, depth, -30.0)


def _paint_collar_bones(canvas: Canvas, body: Body, hard: float) -> None:
    """Collar bones of a patient whose arms hang down: nearly level, bent like an S."""
    for sign in (1, -1):
        curve = (
            ((sign * 17, 66, 60), 9.0),
            ((sign * 34, 68, 68), 7.0),
            ((sign * 58, 60, 78), 6.0),
            ((sign * 84, 40, 86), 5.6),
            ((sign * 108, 16, 92), 5.8),
            ((sign * 128, 0, 95), 6.8),
            ((sign * 150, -6, 94), 7.0),
        )
        for cut, depth in rod_depths(canvas, body, curve):
            rim = body.habitus.bone * bone_hu(depth, 1.8, hard, 0.2 * hard, canvas.grid.blur)
            canvas.paint(cut, depth, rim, label=ORGAN_NUMBERS["clavicles"])


def rod_depths(
    canvas: Canvas, body: Body, curve: Sequence[tuple[Point, float]]
) -> Iterator[tuple[Cut, Floats]]:
    """Depth in a bent rod through template points with their radii, in the parts that hold it."""
    points = np.array([point for point, _ in curve])
    pad = max(radius for _, radius in curve) + 4
    low, high = points.min(axis=0) - pad, points.max(axis=0) + pad
    for cut, (x, y, z) in template_box(canvas.grid, body.habitus, low, high):
        depths = []
        for (start, r0), (end, r1) in pairwise(curve):
            far, t = capsule_distance(x, y, z, start, end)
            depths.append((r0 + (r1 - r0) * t - far).astype(np.float32))
        yield cut, np.maximum.reduce(depths)
