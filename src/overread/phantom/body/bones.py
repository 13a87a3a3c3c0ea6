"""Spine, sternum, collar bones and the heads of the arms."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from overread.phantom.body.boxes import template_box
from overread.phantom.body.canvas import ORGAN_NUMBERS, Canvas
from overread.phantom.body.lungs import SPINE_CURVE, LungShape
from overread.phantom.body.shapes import capsule_distance, ellipsoid_depth, interpolate_profile, union_depth
from overread.phantom.body.wall import RIB_GAP, RIB_TOP, bone_hu


def paint_spine(canvas: Canvas, lungs: LungShape, marrow: float, spurs: float) -> None:
    """Vertebrae with discs, arches and processes; one for each rib, and the next ones."""
    for cut, (x, y, z) in template_box(canvas.grid, lungs.habitus, (-52, -125, -240), (52, -15, 180)):
        back = interpolate_profile(z, SPINE_CURVE, 1)
        u, v = x - lungs.spine_offset(z), y - back
        # A rib joins the upper edge of its vertebra; the disc lies between two of them.
        level = np.mod(RIB_TOP + RIB_GAP / 2 - 4 - z, RIB_GAP)
        to_disc = np.minimum(level, RIB_GAP - level)
        waist = np.clip(to_disc, 0, 8) / 8
        wide = 17.5 - 2.2 * waist - 0.012 * z + spurs * (1 - waist)
        deep = 14.5 - 1.2 * waist - 0.015 * z + 0.7 * spurs * (1 - waist)
        r = np.sqrt((u / wide) ** 2 + (v / deep) ** 2)
        body = ((1 - r) * deep).astype(np.float32)
        disc = np.minimum(body - 1, 2.4 - to_disc)
        blur = canvas.grid.blur
        value = lungs.habitus.bone * bone_hu(np.minimum(body, to_disc - 2), 1.2, 480, marrow, blur)
        canvas.paint(cut, body, value, label=ORGAN_NUMBERS["vertebrae"])
        canvas.paint(cut, disc.astype(np.float32), 82.0)
        # The arch: a ring round the canal, a spine to the back, wings to the sides.
        ring = np.sqrt((u / 1.2) ** 2 + (v + 22) ** 2)
        arch = np.minimum(2.6 - np.abs(ring - 9.6), to_disc - 1.0)
        # Each spine slants down over the next vertebra.
        spinous = np.minimum(2.6 - np.abs(u), np.minimum(-(v + 29), v + 53))
        spinous = np.minimum(spinous, 6.0 - np.abs(np.mod(level + 0.5 * (v + 29), RIB_GAP) - 12))
        wings = np.minimum(
            3.2 - 0.8 * np.abs(v + 17 + 0.8 * np.abs(u)), np.minimum(np.abs(u) - 9, 33 - np.abs(u))
        )
        wings = np.minimum(wings, 5 - np.abs(level - 7.5))
        # They lie behind the pleura, however far round the lungs reach.
        wings = np.where(canvas.lobes[cut] == 0, wings, np.float32(-9))
        joints = union_depth(
            arch.astype(np.float32), union_depth(spinous.astype(np.float32), wings.astype(np.float32))
        )
        canvas.paint(
            cut,
            joints,
            lungs.habitus.bone * bone_hu(joints, 1.3, 540, 180, blur),
            label=ORGAN_NUMBERS["vertebrae"],
        )
        cord = (8.0 - ring).astype(np.float32)
        canvas.paint(cut, cord, 22.0)
        canvas.paint(cut, (4.4 - np.sqrt((u / 1.3) ** 2 + (v + 22) ** 2)).astype(np.float32), 38.0)


def paint_sternum(canvas: Canvas, lungs: LungShape) -> None:
    """The sternum: handle, body and tip."""
    for cut, (x, y, z) in template_box(canvas.grid, lungs.habitus, (-40, 20, -110), (40, 130, 100)):
        # It rides on the front of the cavity.
        cavity, _ = lungs.cavity_depth(np.zeros_like(x), y, z)
        ahead = -cavity - 8
        half = np.interp(z, [-85, -62, -30, 30, 38, 44, 62, 68], [3, 12, 17, 13, 13, 22, 26, 20])
        plate = (1 - np.sqrt((x / half) ** 2 + (ahead / 6.2) ** 2)) * 6.2
        plate = np.minimum(plate, np.minimum(z + 88, 68 - z) * 0.7)
        joint = np.abs(z - 40) - 1.5
        plate = np.minimum(plate, joint).astype(np.float32)
        rim = bone_hu(plate, 1.6, 420, 50, canvas.grid.blur)
        canvas.paint(cut, plate, rim, label=ORGAN_NUMBERS["sternum"])


def paint_shoulders(canvas: Canvas, lungs: LungShape) -> None:
    """Collar bones, and the heads of raised arms."""
    for sign in (1, -1):
        curve = ((sign * 21, 63, 64), (sign * 56, 58, 82), (sign * 95, 28, 98), (sign * 138, 4, 108))
        for start, end in pairwise(curve):
            low = tuple(min(a, b) - 12 for a, b in zip(start, end, strict=True))
            high = tuple(max(a, b) + 12 for a, b in zip(start, end, strict=True))
            for cut, (x, y, z) in template_box(canvas.grid, lungs.habitus, low, high):
                far, _ = capsule_distance(x, y, z, start, end)
                depth = 6.3 - far
                rim = bone_hu(depth, 1.8, 680, 140, canvas.grid.blur)
                canvas.paint(cut, depth, rim, label=ORGAN_NUMBERS["clavicles"])
        for cut, (x, y, z) in template_box(
            canvas.grid, lungs.habitus, (sign * 148 - 34, -60, 80), (sign * 148 + 34, 30, 160)
        ):
            depth = ellipsoid_depth(x, y, z, (sign * 148, -18, 120), (23, 23, 26))
            rim = bone_hu(depth, 1.6, 520, 110, canvas.grid.blur)
            canvas.paint(cut, depth, rim, label=ORGAN_NUMBERS["humeri"])
