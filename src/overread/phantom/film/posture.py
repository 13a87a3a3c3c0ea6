"""Neck, shoulders, shoulder blades and arms, as they are while a film is taken.

The scan has the arms raised and ends below the chin. Before the detector the arms hang down; for a
PA film the shoulders are rolled forward, which takes the blades off the lungs, for a supine film
they are not, and for a lateral one the arms are lifted out of the way.
"""

from __future__ import annotations

import numpy as np

from overread.phantom.body.anatomy import Body
from overread.phantom.body.boxes import template_box
from overread.phantom.body.canvas import ORGAN_NUMBERS, Canvas
from overread.phantom.body.shapes import (
    Floats,
    Point,
    capsule_distance,
    ellipsoid_depth,
    soft_cover,
    union_depth,
)
from overread.phantom.body.wall import bone_hu
from overread.phantom.film.film_body import breast_depth, rod_depths
from overread.phantom.film.sign import View

# How high the shoulder reaches at a distance from the midline: the neck, then the slope down.
_SLOPE_X = (0, 50, 56, 62, 72, 90, 115, 145, 170, 190, 205)
_SLOPE_Z = (400, 400, 196, 172, 156, 142, 130, 120, 112, 98, 70)


def shape_neck(canvas: Canvas, body: Body) -> None:
    """Cut the neck and the slope of the shoulders out of the scan's trunk, which ends squarely."""
    for cut, (x, _, z) in template_box(canvas.grid, body.habitus, (-300, -250, 88), (300, 250, 400)):
        top = np.interp(np.abs(x), _SLOPE_X, _SLOPE_Z).astype(np.float32)
        rise = (np.interp(np.abs(x) + 1, _SLOPE_X, _SLOPE_Z) - top).astype(np.float32)
        above = (z - top) / np.sqrt(1 + rise * rise)
        above = above.astype(np.float32)
        view = canvas.hu[cut]
        view += (-1000 - view) * soft_cover(above, canvas.grid.blur)
        canvas.organs[cut][above > 0] = 0


def paint_posture(canvas: Canvas, body: Body, hu: Floats, view: View) -> None:
    """Paint shoulder blades and arms for a view on `hu`, a copy of the canvas' own."""
    stage = object.__new__(Canvas)
    stage.grid, stage.hu, stage.organs = canvas.grid, hu, canvas.organs.copy()
    stage.lobes = canvas.lobes
    if view == "PA":
        blades = stage.organs == ORGAN_NUMBERS["scapulae"]
        hu[blades] = 45.0
    if body.habitus.sex == "female" and view != "AP supine":
        _paint_breasts(stage, body)
    for sign in (1, -1):
        if view != "lateral":
            _paint_arm(stage, body, sign, wide=view == "PA")
        if view == "PA":
            _paint_blade(stage, body, sign)


def _paint_breasts(canvas: Canvas, body: Body) -> None:
    """Breasts as they hang in a woman who stands: lower than on the scan, with a lower border."""
    glands = -75 + 0.8 * max(0, 70 - body.habitus.age)
    for cut, (x, y, z) in template_box(canvas.grid, body.habitus, (-150, 20, -190), (150, 200, 0)):
        depth = np.where(canvas.lobes[cut] == 0, breast_depth(body, x, y, z), np.float32(-9))
        hu = canvas.hu[cut]
        hu += np.maximum(glands - hu, 0) * soft_cover(depth.astype(np.float32), canvas.grid.blur)


def _paint_arm(canvas: Canvas, body: Body, sign: int, *, wide: bool) -> None:
    """A shoulder with its muscle, and an arm that hangs beside the trunk."""
    fat = body.habitus.fat
    out = 60.0 if wide else 22.0
    joint: Point = (sign * 172, -10, 84)
    elbow: Point = (sign * (172 + out), -6, -150)
    thick = 44 + 0.5 * fat
    low = (min(joint[0], elbow[0]) - 80, -110, -240)
    high = (max(joint[0], elbow[0]) + 80, 90, 150)
    for cut, (x, y, z) in template_box(canvas.grid, body.habitus, low, high):
        far, t = capsule_distance(x, y, z, joint, elbow)
        limb = thick - 6 * t - far
        hu = canvas.hu[cut]
        chest = canvas.organs[cut] > 0
        skin = np.where(chest, np.float32(-9), limb).astype(np.float32)
        hu += np.maximum(-80 - hu, 0) * soft_cover(skin, canvas.grid.blur)
        flesh = np.where(chest, np.float32(-9), limb - 4 - 0.35 * fat).astype(np.float32)
        hu += np.maximum(45 - hu, 0) * soft_cover(flesh, canvas.grid.blur)
        # The deltoid bridges to the shoulder, so that the armpit is no slit.
        bridge = ellipsoid_depth(x, y, z, (sign * 146, -12, 76), (44, 44, 44))
        bridge = np.where(canvas.lobes[cut] == 0, bridge, np.float32(-9))
        hu += np.where(hu < -150, (45 - hu) * soft_cover(bridge.astype(np.float32), canvas.grid.blur), 0)
        head = ellipsoid_depth(x, y, z, (sign * 166, -8, 86), (23, 23, 24))
        shaft = 11.5 - 2.5 * np.minimum(t * 4, 1) - far
        bone = union_depth(head, shaft.astype(np.float32), blend=8)
        rim = body.habitus.bone * bone_hu(bone, 2.2, 640, 200, canvas.grid.blur)
        hu += np.maximum(rim - hu, 0) * soft_cover(bone, canvas.grid.blur)


def _paint_blade(canvas: Canvas, body: Body, sign: int) -> None:
    """A shoulder blade rolled to the side: its plate seen edge on, beside the ribs."""
    plate = (
        ((sign * 150, -30, 84), 9.0),
        ((sign * 150, -44, 40), 5.0),
        ((sign * 141, -52, -8), 4.5),
        ((sign * 133, -54, -52), 3.0),
    )
    spine = (((sign * 118, -74, 78), 5.0), ((sign * 140, -60, 92), 5.5), ((sign * 166, -22, 110), 8.0))
    coracoid = (((sign * 152, -18, 94), 7.0), ((sign * 142, 4, 90), 6.5))
    for line in (plate, spine, coracoid):
        for cut, depth in rod_depths(canvas, body, line):
            depth = np.where(canvas.lobes[cut] == 0, depth, np.float32(-9))
            rim = body.habitus.bone * bone_hu(depth, 1.8, 560, 130, canvas.grid.blur)
            hu = canvas.hu[cut]
            hu += np.maximum(rim - hu, 0) * soft_cover(depth, canvas.grid.blur)
