"""The pleura: fluid and thickening."""

from __future__ import annotations

import numpy as np

from overread.readers.atlas.ct.chest import SIDES
from overread.readers.atlas.ct.detectors.search import DetectorResult, Search
from overread.readers.atlas.ct.morphology import Bools, dilate, label_parts, open_mask

FLUID = (-25.0, 24.0)
"""HU of fluid in the pleural space, smoothed; blood in it has more."""


def _named_sides(search: Search) -> tuple[str, ...]:
    return (search.target.side,) if search.target.side in SIDES else SIDES


def mark_pleura(search: Search) -> DetectorResult:
    """Fluid, or a thick pleura where the sentence says so."""
    if search.target.observation == "pleural thickening":
        return _mark_thickening(search)
    return _mark_fluid(search)


def _mark_fluid(search: Search) -> DetectorResult:
    chest = search.chest
    density, cage = chest.tissue, chest.cage
    fluid = cage & (density > FLUID[0]) & (density < min(FLUID[1], chest.tissue_of_heart - 10))
    fluid &= (chest.smoothed > -350) & ~aerated_lung(search)
    fluid = open_mask(fluid, 4.0, chest.mm)
    labels, sizes = label_parts(fluid)
    near = np.bincount(labels[dilate(chest.air, 8.0, chest.mm)], minlength=len(sizes))
    mask = np.zeros(fluid.shape, bool)
    told = []
    middle = float(np.median(np.nonzero(chest.air.any(axis=(1, 2)))[0]))
    xs = np.bincount(labels.ravel(), np.repeat(np.arange(fluid.shape[0]), fluid[0].size), len(sizes))
    centre = xs / np.maximum(sizes, 1)
    for side in _named_sides(search):
        own = (centre > middle) if side == "right" else (centre <= middle)
        score = np.where(own & (near > 0.1 * sizes), sizes, 0)
        score[0] = 0
        best = int(score.argmax())
        if score[best] * chest.voxel_ml < 8:
            continue
        keep = score >= 0.2 * score[best]
        mask |= keep[labels]
        told.append(
            f"{side} {score[best] * chest.voxel_ml:.0f} ml at {np.median(density[labels == best]):.0f} HU"
        )
    if not told:
        return search.empty_result("No fluid lies between ribs and lung on the side that is named.")
    # To the lung's own edge and to the wall, a voxel further.
    mask = dilate(mask, 2.1, chest.mm) & cage & (chest.smoothed > -450) & (density < 30)
    return DetectorResult(
        mask, [f"Fluid beside the lung: {'; '.join(told)}."], f"It is marked: {chest.volume(mask):.0f} ml."
    )


def aerated_lung(search: Search) -> Bools:
    """Air-holding lung without what of it is dense."""
    chest = search.chest
    lung: Bools = chest.air & (chest.smoothed < -350)
    return lung


def _mark_thickening(search: Search) -> DetectorResult:
    chest = search.chest
    density = chest.tissue
    beside = dilate(chest.air, 12.0, chest.mm) & ~chest.air & chest.cage
    plate = beside & (density > -20) & (density < chest.tissue_of_muscle + 10) & (chest.smoothed > -450)
    plate &= search.side_space | beside
    plate = open_mask(plate, 2.9, chest.mm)
    labels, sizes = label_parts(plate)
    rooms = np.zeros(plate.shape, bool)
    for side in _named_sides(search):
        rooms |= dilate(chest.aerated[side], 12.0, chest.mm)
    here = np.bincount(labels[rooms], minlength=len(sizes))
    score = np.where(here > 0.8 * sizes, sizes, 0)
    best = int(score.argmax())
    if not best or score[best] * chest.voxel_ml < 0.5:
        return search.empty_result("The pleura is nowhere seen to be thick.")
    keep = score >= 0.4 * score[best]
    keep[0] = False
    mask = keep[labels]
    return DetectorResult(
        mask,
        [f"Plates between lung and ribs: {int(keep.sum())}, {chest.volume(mask):.1f} ml."],
        "The largest are marked.",
    )
