"""The chest wall: skin, fat, muscle, breasts, ribs, cartilage and shoulder blades."""

from __future__ import annotations

import numpy as np

from overread.phantom.body.canvas import ORGAN_NUMBERS, Canvas, Cut
from overread.phantom.body.habitus import Habitus
from overread.phantom.body.noise import NoiseTile
from overread.phantom.body.shapes import (
    Floats,
    ellipsoid_depth,
    interpolate_profile,
    oval_depth,
    soft_cover,
    union_depth,
)

# height: half width, half depth, middle of the body without its fat
_BODY_OUTLINE = (
    (140, 92, 56, -26),
    (128, 122, 62, -24),
    (112, 146, 70, -20),
    (90, 152, 80, -14),
    (60, 148, 90, -9),
    (30, 142, 97, -5),
    (0, 139, 101, -3),
    (-40, 140, 104, -1),
    (-100, 142, 105, -1),
    (-190, 140, 102, -1),
)
RIB_TOP, RIB_GAP = 90.0, 23.3


def body_depth(habitus: Habitus, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats]:
    """Depth under the skin, and under the fat."""
    v = y - interpolate_profile(z, _BODY_OUTLINE, 3)
    a, b = interpolate_profile(z, _BODY_OUTLINE, 1), interpolate_profile(z, _BODY_OUTLINE, 2)
    lean = oval_depth(x, v, a, b, 0.06)
    # More fat in front and at the sides than over the spine and the shoulders.
    far = np.sqrt(x * x + v * v) + np.float32(1)
    side = np.abs(x) / far
    fat = np.float32(habitus.fat) * (0.75 + 0.45 * side + 0.12 * v / far)
    fat = fat * (1 - 0.55 * np.clip((z - 70) / 50, 0, 1)) + 2
    outer: Floats = lean + fat
    # The long muscles of the back on both sides of the groove over the spinous processes.
    ridge = np.exp(-(((np.abs(x) - 36) / 30) ** 2)) * np.clip(-v / 40, 0, 1)
    groove = np.exp(-((x / 15) ** 2)) * np.clip(-v / 40, 0, 1)
    outer = outer + 9 * ridge - 1 * groove
    lean = lean + 11 * ridge - 2 * groove
    if habitus.sex == "female":
        size = 0.8 + habitus.fat / 45
        for sign in (1, -1):
            breast = ellipsoid_depth(
                x, y, z, (sign * 74, 84 + 0.4 * habitus.fat, -48), (52 * size, 34 * size, 52 * size)
            )
            outer = union_depth(outer, breast, blend=14)
    return outer.astype(np.float32), lean.astype(np.float32)


def paint_wall(
    canvas: Canvas,
    cut: Cut,
    habitus: Habitus,
    grain: NoiseTile,
    bellies: NoiseTile,
    xyz: tuple[Floats, Floats, Floats],
    cavity: Floats,
    around: Floats,
) -> None:
    """Everything outside the ribs' inner surface, in one slab."""
    x, y, z = xyz
    outer, lean = body_depth(habitus, x, y, z)
    canvas.paint(cut, outer, 20.0, label=ORGAN_NUMBERS["skin"])
    texture = grain.sample(cut, canvas.grid.shape)
    canvas.paint(cut, outer - np.float32(1.8), habitus.fat_hu + 9 * texture, label=ORGAN_NUMBERS["fat"])
    if habitus.sex == "female":
        _paint_glands(canvas, cut, habitus, xyz, texture, lean)
    outside = -cavity
    thickness = _muscle_thickness(habitus, around, x, z)
    muscle = np.minimum(lean, thickness + 11 - outside)
    # Sheets of fat between the muscles: where a slow random field changes its sign.
    sheet = 0.5 + 0.05 * habitus.fat - 13 * np.abs(bellies.sample(cut, canvas.grid.shape))
    sheet = np.where(outside > 11, sheet, np.float32(-9))
    value = habitus.muscle_hu + 6 * texture
    value = value + (-98 - value) * soft_cover(sheet.astype(np.float32), canvas.grid.blur)
    canvas.paint(cut, muscle.astype(np.float32), value, label=ORGAN_NUMBERS["muscle"])
    _paint_ribs(canvas, cut, habitus, texture, xyz, outside, around)


def _muscle_thickness(habitus: Habitus, around: Floats, x: Floats, z: Floats) -> Floats:
    """Thickness of the muscles over the ribs: pectorals, serratus and latissimus, erectors."""
    chest = 15 * np.exp(-(((around - 0.74) / 0.13) ** 2)) * np.exp(-(((z - 35) / 42) ** 2))
    side = 11 * np.exp(-(((around - 0.44) / 0.16) ** 2))
    back = 30 * np.exp(-(((np.abs(x) - 26) / 30) ** 2)) * (around < 0.4)
    shoulder = 75 * np.clip((z - 42) / 45, 0, 1) + 12 * np.clip((z - 10) / 40, 0, 1)
    thick: Floats = ((4 + chest + side + back) * habitus.muscle + shoulder).astype(np.float32)
    return thick


def _paint_glands(
    canvas: Canvas,
    cut: Cut,
    habitus: Habitus,
    xyz: tuple[Floats, Floats, Floats],
    texture: Floats,
    lean: Floats,
) -> None:
    """Strands of glandular tissue in the breasts, fewer with age."""
    x, y, z = xyz
    if float(np.max(z)) < -100 or float(np.min(z)) > 20:
        return
    for sign in (1, -1):
        place = ellipsoid_depth(x, y, z, (sign * 78, 98 + 0.3 * habitus.fat, -50), (34, 20, 32))
        strands = np.minimum(place, 3 * (texture - 0.2 - 0.012 * (habitus.age - 50)))
        strands = np.minimum(strands, -lean - 4)
        canvas.paint(cut, strands.astype(np.float32), 28.0)


def _paint_ribs(
    canvas: Canvas,
    cut: Cut,
    habitus: Habitus,
    texture: Floats,
    xyz: tuple[Floats, Floats, Floats],
    outside: Floats,
    around: Floats,
) -> None:
    """Ribs, their cartilages and the shoulder blades lie in a shell around the cavity."""
    x, _, z = xyz
    shell = (outside > -1) & (outside < 27)
    if not shell.any():
        return
    full = outside.shape
    xs, zs, far, h = (np.broadcast_to(a, full)[shell] for a in (x, z, outside, around))
    # A rib leaves the spine at one height and falls as it comes round, lower ribs more than upper
    # ones; so its number is a linear function of height, and the nearest whole number is the rib.
    gap = RIB_GAP + 7.5 * h
    number = (RIB_TOP - zs - 46 * h) / gap
    rib = np.clip(np.rint(number), 0, 11)
    tilt = 0.88 - 0.08 * np.sin(np.pi * h)
    up = (number - rib) * gap * tilt
    high, thick = 6.2 - 1.0 * h, 3.8 - 0.3 * h
    depth = (1 - np.sqrt((up / high) ** 2 + ((far - 5.2) / thick) ** 2)) * thick
    end = np.where(rib >= 11, 0.36, np.where(rib >= 10, 0.5, 0.79 - 0.014 * rib))
    # No rib crosses the midline behind the spine: it ends at the tip of its transverse process.
    bone = np.minimum(np.minimum(depth, (end - h) * 250), np.abs(xs) - 24)
    gristle = np.minimum(depth, (h - end) * 250)
    gristle = np.where((rib < 10) & (np.abs(xs) > 12), gristle, -9)
    hu = canvas.hu[cut]
    values, labels = hu[shell], canvas.organs[cut][shell]
    blur = canvas.grid.blur
    dense = habitus.bone * (1 + 0.16 * texture[shell])
    edge = dense * bone_hu(bone, 1.6, 620, 110, blur)
    values += (edge - values) * soft_cover(bone.astype(np.float32), blur)
    values += (105 - values) * soft_cover(gristle.astype(np.float32), blur)
    labels[bone > 0] = ORGAN_NUMBERS["ribs"]
    labels[gristle > 0] = ORGAN_NUMBERS["costal cartilage"]
    # The blade: a thin plate over the upper ribs, a triangle that points down.
    span = np.clip((zs + 38) / 120, 0, 1)
    inner, outer = 0.36 - 0.17 * span, 0.36 + 0.14 * span
    blade = np.minimum((h - inner) * 230, (outer - h) * 230)
    blade = np.minimum(blade, np.minimum((zs + 38) * 0.8, (88 - zs) * 0.8))
    rim = np.clip(3 - blade * 0.25, 0, 3) * 0.5
    blade = np.minimum(blade, 2.0 + rim - np.abs(far - 17 - 3 * np.sin(h * 9)))
    blade = np.where(np.abs(xs) > 40, blade, -9)
    values += (dense * bone_hu(blade, 1.2, 580, 150, blur) - values) * soft_cover(
        blade.astype(np.float32), blur
    )
    labels[blade > 0] = ORGAN_NUMBERS["scapulae"]
    hu[shell] = values
    canvas.organs[cut][shell] = labels


def bone_hu(depth: Floats, thick: float, hard: float, marrow: float, blur: float) -> Floats:
    """HU of a bone at a depth: a hard rim, marrow within."""
    inner = np.clip((depth - thick) / max(blur, 0.8) + 0.5, 0, 1)
    value: Floats = (hard + (marrow - hard) * inner).astype(np.float32)
    return value
