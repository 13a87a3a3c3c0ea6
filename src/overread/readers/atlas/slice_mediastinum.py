"""What a CT slice in the mediastinal window shows: fluid, heart, vessels, chalk, solid parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from overread.readers.atlas.case_kinds import Plane
from overread.readers.atlas.case_signs import CaseSign, sureness
from overread.readers.atlas.slice_body import Bools, Slice, dilated, eroded, opened
from overread.readers.atlas.slice_notes import Notes
from overread.readers.atlas.slice_rind import hernia_sign, wall_signs
from overread.readers.atlas.slice_solid import solid_signs
from overread.readers.atlas.slice_wall import Wall, bone_level


@dataclass(frozen=True)
class Middle:
    """The mediastinum of an axial slice."""

    whole: Bools
    """Everything between the lungs and inside the ribs, spine left out."""
    tissue: Bools
    """What of it is no fat."""
    width: float
    """Its widest row, in widths of the chest inside the ribs."""


def mediastinal_signs(cut: Slice, plane: Plane) -> list[CaseSign]:
    """The signs of one slice in the mediastinal window, those not seen too."""
    hold = Notes(cut, plane, lung_window=False)
    if hold.wall is None:
        return []
    wall_signs(hold, hold.wall)
    middle = find_middle(cut, hold.wall)
    _heart(hold, hold.wall, middle)
    _chalk(hold, middle)
    hernia_sign(hold, hold.wall)
    solid_signs(hold)
    return hold.signs


def find_middle(cut: Slice, wall: Wall) -> Middle:
    """The mediastinum: inside the ribs, not lung, near the middle, in front of the spine."""
    inner = eroded(wall.cavity, cut.pixels_of(5.0))
    dense = inner & ~cut.lungs
    labels, count = ndimage.label(opened(dense, cut.pixels_of(2.0)))
    columns = np.arange(dense.shape[1])[None, :]
    x1, _, x2, _ = cut.frame
    strip = np.broadcast_to(np.abs(columns - cut.middle) < 0.08 * (x2 - x1), dense.shape)
    whole = np.zeros_like(dense)
    if count:
        held = np.bincount(labels[strip], minlength=count + 1)
        held[0] = 0
        if held.max() > 0:
            whole = np.asarray(labels == int(held.argmax()))
    bone = opened(cut.values >= bone_level(cut), cut.pixels_of(4.0))
    spine = np.asarray(dilated(bone, cut.pixels_of(3.0)))
    whole = np.asarray(whole & ~spine)
    tissue = np.asarray(whole & (ndimage.gaussian_filter(cut.values, 1.0) > 0.66 * cut.soft))
    rows = np.flatnonzero(cut.lungs.any(axis=1))
    span = float(np.ptp(np.flatnonzero(wall.cavity.any(axis=0)))) + 1
    upper = whole.copy()
    upper[: rows[0] if rows.size else 0] = False
    wide = max((float(np.ptp(np.flatnonzero(row))) for row in upper if row.any()), default=0.0)
    return Middle(whole, tissue, wide / span)


def _heart(hold: Notes, wall: Wall, middle: Middle) -> None:
    cut = hold.cut
    core = np.asarray(opened(middle.tissue, cut.pixels_of(14.0)))
    labels, count = ndimage.label(core)
    heart = np.zeros_like(core)
    if count:
        sizes = np.bincount(labels.ravel())
        sizes[0] = 0
        heart = np.asarray(labels == int(sizes.argmax()))
    columns = np.flatnonzero(heart.any(axis=0))
    span = float(np.ptp(np.flatnonzero(wall.cavity.any(axis=0)))) + 1
    ratio = (float(np.ptp(columns)) + 1) / span if columns.size else 0.0
    hold.add(
        "large heart",
        sureness(ratio, 0.53, 0.035),
        f"the heart takes {ratio:.0%} of the width inside the ribs",
        heart,
        amount=ratio,
    )
    smooth = ndimage.gaussian_filter(cut.values, cut.pixels_of(1.2))
    inside = float(np.median(smooth[heart])) if heart.any() else cut.soft
    near = dilated(heart, cut.pixels_of(4.0))
    far = dilated(heart, cut.pixels_of(20.0))
    water = np.asarray(
        far & (middle.whole | near) & (smooth < 0.93 * inside) & (smooth > 0.72 * inside)
    )
    water = np.asarray(opened(water & wall.cavity, cut.pixels_of(2.0)))
    rim = float(dilated(heart, 2).sum() - heart.sum()) / 2
    depth = float(water.sum()) / max(rim, 1.0) * cut.mm if heart.any() else 0.0
    hold.add(
        "pericardial effusion",
        sureness(depth, 3.5, 1.2),
        f"a watery layer of {depth:.1f} mm on average around the heart",
        water,
        amount=depth,
    )


def _chalk(hold: Notes, middle: Middle) -> None:
    cut = hold.cut
    bright = (cut.values >= bone_level(cut)) & eroded(
        np.asarray(ndimage.binary_fill_holes(middle.whole)), cut.pixels_of(2.0)
    )
    area = float(bright.sum()) * cut.mm**2
    low = hold.level == "lower"
    for name, here in (("coronary calcium", low), ("aortic calcium", not low)):
        amount = area if here else 0.0
        hold.add(
            name,
            sureness(amount, 8.0, 4.0) if here else 0.1,
            f"{amount:.0f} mm² as bright as bone within the mediastinum",
            np.asarray(bright),
            amount=amount,
        )
