"""What a CT slice in the mediastinal window shows: fluid, heart, vessels, calcifications, solid
parts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from overread.readers.atlas.slice.body import CtSlice
from overread.readers.atlas.slice.morphology import Bools, dilate, erode, open_mask
from overread.readers.atlas.slice.pleura import add_hernia_sign, add_wall_signs
from overread.readers.atlas.slice.sign_collector import SignCollector
from overread.readers.atlas.slice.signs import PictureSign, Plane, confidence_from
from overread.readers.atlas.slice.solid import add_solid_signs
from overread.readers.atlas.slice.wall import ChestWall, bone_level


@dataclass(frozen=True)
class Mediastinum:
    """The mediastinum of an axial slice."""

    whole: Bools
    """Everything between the lungs and inside the ribs, spine left out."""
    tissue: Bools
    """What of it is no fat."""
    width: float
    """Its widest row, in widths of the chest inside the ribs."""


def mediastinal_signs(cut: CtSlice, plane: Plane) -> list[PictureSign]:
    """The signs of one slice in the mediastinal window, those not seen too."""
    hold = SignCollector(cut, plane, lung_window=False)
    if hold.wall is None:
        return []
    add_wall_signs(hold, hold.wall)
    middle = find_mediastinum(cut, hold.wall)
    _add_heart_signs(hold, hold.wall, middle)
    _add_calcium_signs(hold, middle)
    add_hernia_sign(hold, hold.wall)
    add_solid_signs(hold)
    return hold.signs


def find_mediastinum(cut: CtSlice, wall: ChestWall) -> Mediastinum:
    """The mediastinum: inside the ribs, not lung, near the middle, in front of the spine."""
    inner = erode(wall.cavity, cut.to_pixels(5.0))
    dense = inner & ~cut.lungs
    labels, count = ndimage.label(open_mask(dense, cut.to_pixels(2.0)))
    columns = np.arange(dense.shape[1])[None, :]
    x1, _, x2, _ = cut.frame
    strip = np.broadcast_to(np.abs(columns - cut.middle) < 0.08 * (x2 - x1), dense.shape)
    whole = np.zeros_like(dense)
    if count:
        held = np.bincount(labels[strip], minlength=count + 1)
        held[0] = 0
        if held.max() > 0:
            whole = np.asarray(labels == int(held.argmax()))
    bone = open_mask(cut.values >= bone_level(cut), cut.to_pixels(4.0))
    spine = np.asarray(dilate(bone, cut.to_pixels(3.0)))
    whole = np.asarray(whole & ~spine)
    tissue = np.asarray(whole & (ndimage.gaussian_filter(cut.values, 1.0) > 0.66 * cut.soft))
    rows = np.flatnonzero(cut.lungs.any(axis=1))
    span = float(np.ptp(np.flatnonzero(wall.cavity.any(axis=0)))) + 1
    upper = whole.copy()
    upper[: rows[0] if rows.size else 0] = False
    wide = max((float(np.ptp(np.flatnonzero(row))) for row in upper if row.any()), default=0.0)
    return Mediastinum(whole, tissue, wide / span)


def _add_heart_signs(hold: SignCollector, wall: ChestWall, middle: Mediastinum) -> None:
    cut = hold.cut
    core = np.asarray(open_mask(middle.tissue, cut.to_pixels(14.0)))
    labels, count = ndimage.label(core)
    heart = np.zeros_like(core)
    if count:
        sizes = np.bincount(labels.ravel())
        sizes[0] = 0
        heart = np.asarray(labels == int(sizes.argmax()))
    columns = np.flatnonzero(heart.any(axis=0))
    span = float(np.ptp(np.flatnonzero(wall.cavity.any(axis=0)))) + 1
    ratio = (float(np.ptp(columns)) + 1) / span if columns.size else 0.0
    hold.add_sign(
        "large heart",
        confidence_from(ratio, 0.53, 0.035),
        f"the heart takes {ratio:.0%} of the width inside the ribs",
        heart,
        amount=ratio,
    )
    smooth = ndimage.gaussian_filter(cut.values, cut.to_pixels(1.2))
    inside = float(np.median(smooth[heart])) if heart.any() else cut.soft
    near = dilate(heart, cut.to_pixels(4.0))
    far = dilate(heart, cut.to_pixels(20.0))
    water = np.asarray(far & (middle.whole | near) & (smooth < 0.93 * inside) & (smooth > 0.72 * inside))
    water = np.asarray(open_mask(water & wall.cavity, cut.to_pixels(2.0)))
    rim = float(dilate(heart, 2).sum() - heart.sum()) / 2
    depth = float(water.sum()) / max(rim, 1.0) * cut.mm if heart.any() else 0.0
    hold.add_sign(
        "pericardial effusion",
        confidence_from(depth, 3.5, 1.2),
        f"a watery layer of {depth:.1f} mm on average around the heart",
        water,
        amount=depth,
    )


def _add_calcium_signs(hold: SignCollector, middle: Mediastinum) -> None:
    cut = hold.cut
    bright = (cut.values >= bone_level(cut)) & erode(
        np.asarray(ndimage.binary_fill_holes(middle.whole)), cut.to_pixels(2.0)
    )
    area = float(bright.sum()) * cut.mm**2
    low = hold.level == "lower"
    for name, here in (("coronary calcium", low), ("aortic calcium", not low)):
        amount = area if here else 0.0
        hold.add_sign(
            name,
            confidence_from(amount, 8.0, 4.0) if here else 0.1,
            f"{amount:.0f} mm² as bright as bone within the mediastinum",
            np.asarray(bright),
            amount=amount,
        )
