"""Heart, great vessels, gullet, thyroid, and what lies under the diaphragm."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from overread.phantom.body.boxes import template_box
from overread.phantom.body.canvas import ORGAN_NUMBERS, Canvas
from overread.phantom.body.lungs import HEART_AXIS, HEART_CENTRE, LungShape
from overread.phantom.body.noise import NoiseTile
from overread.phantom.body.shapes import Floats, Point, capsule_distance, ellipsoid_depth, soft_cover

BLOOD_HU = 41.0


def paint_tube(
    canvas: Canvas,
    lungs: LungShape,
    points: Sequence[Point],
    radii: Sequence[float],
    hu: float,
    label: int | None = None,
) -> None:
    """A tube through template points, its radius changing from one to the next."""
    for (start, end), (r0, r1) in zip(pairwise(points), pairwise(radii), strict=True):
        pad = max(r0, r1) + 3
        low = tuple(min(a, b) - pad for a, b in zip(start, end, strict=True))
        high = tuple(max(a, b) + pad for a, b in zip(start, end, strict=True))
        for cut, (x, y, z) in template_box(canvas.grid, lungs.habitus, low, high):
            far, t = capsule_distance(x, y, z, start, end)
            canvas.paint(cut, (r0 + (r1 - r0) * t - far).astype(np.float32), hu, label=label)


def paint_heart(canvas: Canvas, lungs: LungShape, grain: NoiseTile) -> None:
    """The heart in its fat, with the groove in which the coronaries run."""
    s = lungs.habitus.heart
    for cut, (x, y, z) in template_box(canvas.grid, lungs.habitus, (-110, -70, -150), (85, 95, 25)):
        depth = lungs.heart_depth(x, y, z)
        texture = grain.sample(cut, canvas.grid.shape)
        # A hairline of pericardium, then fat: little of it over the ventricles, more in front.
        front = np.clip((y - 25) / 25, 0, 1)
        canvas.paint(cut, depth + 3.2, 12.0)
        canvas.paint(cut, depth + 1.2 + 1.2 * front, -98 + 6 * texture)
        canvas.paint(cut, depth, BLOOD_HU + 4 * texture, label=ORGAN_NUMBERS["heart"])
        # The wall of the left ventricle is a touch denser than blood.
        ax, ay, az = HEART_AXIS
        cx, cy, cz = (c + 12 * a for c, a in zip(HEART_CENTRE, HEART_AXIS, strict=True))
        along = (x - cx) * ax + (y - cy) * ay + (z - cz) * az
        across = np.sqrt(np.maximum((x - cx) ** 2 + (y - cy) ** 2 + (z - cz) ** 2 - along * along, 0))
        wall = 5 * s - np.abs(np.sqrt((along * 0.62) ** 2 + across**2) - 27 * s)
        canvas.paint(cut, np.minimum(wall, depth - 2).astype(np.float32), 50.0)
        base = (x - 2) * ax + (y - 12) * ay + (z + 58) * az
        groove = np.minimum(3.4 - 0.25 * np.maximum(depth, 0) - np.abs(base), depth + 3)
        canvas.paint(cut, groove.astype(np.float32), -95.0)
        septum = np.minimum(1.5 - 0.12 * np.maximum(depth, 0) - np.abs(x + 10 + 0.55 * (y - 60)), depth + 3)
        septum = np.minimum(septum, along + 6)
        canvas.paint(cut, septum.astype(np.float32), -88.0)


def paint_vessels(canvas: Canvas, lungs: LungShape) -> None:
    """Aorta, pulmonary trunk, great veins, neck vessels, and the gullet with the windpipe's bed."""
    w = lungs.habitus.aorta
    n = ORGAN_NUMBERS
    aorta = [
        (2, 16, -48), (14, 22, -25), (17, 24, 0), (13, 18, 20), (2, 5, 30), (-12, -12, 32),
        (-21, -30, 24), (-23, -43, 5), (-23, -46, -40), (-19, -45, -90), (-10, -38, -130),
        (-4, -28, -190),
    ]  # fmt: skip
    widths = [15, 16, 15.5, 14.5, 13.5, 13, 12.5, 12.3, 12, 11.5, 11, 10.5]
    paint_tube(canvas, lungs, aorta, [r * w for r in widths], BLOOD_HU + 2, n["aorta"])
    trunk = [(-12, 40, -42), (-18, 32, -20), (-18, 18, -8)]
    paint_tube(canvas, lungs, trunk, [13.5, 13.5, 12.5], BLOOD_HU, n["pulmonary artery"])
    right = [(-18, 18, -8), (0, 4, -12), (22, -2, -14), (40, -8, -18)]
    paint_tube(canvas, lungs, right, [11.5, 10.5, 10.5, 8.5], BLOOD_HU, n["pulmonary artery"])
    left = [(-18, 18, -8), (-30, -2, -3), (-40, -16, -6), (-46, -26, -18)]
    paint_tube(canvas, lungs, left, [12, 11, 10, 8], BLOOD_HU, n["pulmonary artery"])
    for sign in (1, -1):
        veins = [(sign * 8, -24, -50), (sign * 34, -22, -42), (sign * 46, -14, -34)]
        paint_tube(canvas, lungs, veins, [9, 7, 5], BLOOD_HU)
        lower = [(sign * 10, -26, -56), (sign * 36, -32, -62), (sign * 48, -38, -72)]
        paint_tube(canvas, lungs, lower, [8.5, 7, 5], BLOOD_HU)
    cava = [(26, 20, 62), (28, 16, 40), (28, 14, 10), (28, 12, -30), (24, 8, -50)]
    paint_tube(canvas, lungs, cava, [7.5, 8.5, 9.5, 10, 11], BLOOD_HU - 1, n["superior vena cava"])
    arch = [(28, 6, 10), (24, -16, 14), (14, -36, 10), (10, -44, -10), (8, -44, -120), (8, -36, -190)]
    paint_tube(canvas, lungs, arch, [4.5, 4.5, 4, 3.5, 3.5, 3.5], BLOOD_HU)
    paint_tube(
        canvas, lungs, [(26, 20, 60), (5, 30, 52), (-22, 30, 64), (-34, 22, 84)], [7, 6.5, 6.5, 6], BLOOD_HU
    )
    paint_tube(canvas, lungs, [(26, 20, 60), (32, 22, 84)], [7, 6], BLOOD_HU)
    neck = (
        [(6, 16, 32), (14, 14, 55), (22, 8, 80), (26, 8, 130)],
        [(-5, 4, 34), (-12, 6, 60), (-22, 4, 90), (-26, 6, 130)],
        [(-14, -10, 33), (-22, -10, 60), (-34, -12, 92), (-64, -2, 116)],
    )
    for line in neck:
        paint_tube(canvas, lungs, line, [6.5, 5.5, 4.5, 4], BLOOD_HU)
    for sign in (1, -1):
        vein = [(sign * 32, 22, 84), (sign * 62, 20, 94), (sign * 100, 14, 92), (sign * 125, 8, 84)]
        paint_tube(canvas, lungs, vein, [6, 5.5, 5, 4.5], BLOOD_HU)
        paint_tube(
            canvas,
            lungs,
            [(sign * 34, -4, 90), (sign * 66, 6, 104), (sign * 122, 0, 92)],
            [4.5, 4.2, 4],
            BLOOD_HU,
        )
        paint_tube(canvas, lungs, [(sign * 32, 16, 95), (sign * 30, 10, 135)], [6, 5.5], BLOOD_HU)
        for cut, (x, y, z) in template_box(canvas.grid, lungs.habitus, (-40, -20, 95), (40, 40, 160)):
            lobe = ellipsoid_depth(x, y, z, (sign * 15, 12, 122), (8, 10, 19))
            canvas.paint(cut, lobe, 98.0, label=n["thyroid"])
    gullet = [
        (-4, -14, 135),
        (-6, -24, 60),
        (-4, -32, 10),
        (-4, -36, -40),
        (-12, -30, -100),
        (-22, -16, -128),
    ]
    paint_tube(canvas, lungs, gullet, [6.5, 6.5, 6.5, 7, 7.5, 8], 38.0, n["oesophagus"])
    paint_tube(canvas, lungs, gullet[:4], [1.6, 1.2, 1.5, 0.8], -500.0)


def paint_belly(canvas: Canvas, lungs: LungShape, grain: NoiseTile) -> None:
    """Diaphragm, liver, spleen, stomach and the fat around them."""
    h = lungs.habitus
    for cut, (x, y, z) in template_box(canvas.grid, h, (-140, -100, -260), (140, 110, -60 - h.breath)):
        cavity, _ = lungs.cavity_depth(x, y, z)
        height, cosine = lungs.diaphragm_height(x, y)
        under = np.minimum((height - z) * cosine, cavity).astype(np.float32)
        texture = grain.sample(cut, canvas.grid.shape)
        canvas.paint(cut, under, 48.0, label=ORGAN_NUMBERS["muscle"])
        inner = under - 3
        canvas.paint(cut, inner, -108 + 7 * texture, label=ORGAN_NUMBERS["fat"])
        # The liver fills the right dome and thins out towards the left one.
        edge = x + 46 + 0.9 * (z + 114 + h.breath) + 0.25 * np.maximum(y - 20, 0)
        liver = np.minimum(inner, edge * 0.7)
        back = np.sqrt((x - 2) ** 2 + (y + 50) ** 2) - 38
        liver = np.minimum(liver, back)
        canvas.paint(cut, liver.astype(np.float32), h.liver + 3 * texture, label=ORGAN_NUMBERS["liver"])
        inner = inner - (1 + 0.1 * h.fat)
        stomach = ellipsoid_depth(x, y, z, (-52, 24, -150 - h.breath), (40, 44, 36))
        stomach = np.minimum(np.minimum(stomach, inner + 1), -liver - 2).astype(np.float32)
        canvas.paint(cut, stomach, 44.0, label=ORGAN_NUMBERS["stomach"])
        lumen = stomach - 4 + np.clip(2 * texture, -2, 1.5)
        canvas.paint(cut, lumen, 24 + 12 * texture)
        # Supine: the gas lies in front, its level is flat.
        gas = np.minimum(lumen, y - 34)
        canvas.paint(cut, gas.astype(np.float32), -985.0)
        spleen = ellipsoid_depth(x, y, z, (-92, -36, -150 - h.breath), (30, 46, 44))
        spleen = np.minimum(spleen, np.minimum(inner, -stomach - 3)).astype(np.float32)
        canvas.paint(cut, spleen, 49 + 3 * texture, label=ORGAN_NUMBERS["spleen"])
        for sign, low in ((1, -192), (-1, -182)):
            kidney = ellipsoid_depth(x, y, z, (sign * 58, -48, low - h.breath - 14), (26, 24, 40))
            canvas.paint(cut, np.minimum(kidney, inner), 33.0)
            crus = 5.5 - np.abs(np.sqrt((x - sign * 2) ** 2 + (y + 36) ** 2) - 25)
            crus = np.minimum(crus, np.minimum(sign * x - 4, y + 44))
            canvas.paint(cut, np.minimum(crus, inner).astype(np.float32), 50.0)
    for line in (
        ((26, 0, -175), (40, 20, -150), (70, 24, -138)),
        ((26, 0, -170), (50, -24, -146), (84, -20, -140)),
    ):
        paint_tube(canvas, lungs, line, [5, 4, 2.5], h.liver - 16)
    paint_tube(
        canvas,
        lungs,
        [(20, 6, -52), (18, 2, -112), (18, -8, -190)],
        [11, 12, 12],
        BLOOD_HU,
        ORGAN_NUMBERS["inferior vena cava"],
    )
    paint_tube(
        canvas,
        lungs,
        [(-10, -38, -130), (-4, -28, -190)],
        [11 * h.aorta, 10.5 * h.aorta],
        BLOOD_HU,
        ORGAN_NUMBERS["aorta"],
    )


def paint_table(canvas: Canvas, skin_back: float) -> None:
    """The couch: two thin shells with foam between, under the patient."""
    x, y, _ = canvas.grid.coordinates((slice(None), slice(None), slice(None)))
    sag = skin_back - 5 + 0.0011 * x * x
    flat: Floats = np.full(np.broadcast_shapes(x.shape, y.shape), -1000, np.float32)
    for depth, hu in (
        (np.minimum(sag - y, y - sag + 34), -960.0),
        (1.4 - np.abs(y - sag), -300.0),
        (1.2 - np.abs(y - sag + 34), -420.0),
    ):
        flat = flat + (hu - flat) * soft_cover(depth, canvas.grid.blur)
    canvas.hu[:] = flat
