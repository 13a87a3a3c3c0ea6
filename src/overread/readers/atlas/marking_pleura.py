"""The pleura: fluid and thickening."""

from __future__ import annotations

import numpy as np

from overread.readers.atlas.anatomy import SIDES, Bools
from overread.readers.atlas.marking import Marked, Search
from overread.readers.atlas.textures import grown, labelled, opened

FLUID = (-25.0, 24.0)
"""HU of fluid in the pleural space, smoothed; blood in it has more."""


def _sides(search: Search) -> tuple[str, ...]:
    return (search.wanted.side,) if search.wanted.side in SIDES else SIDES


def mark_pleura(search: Search) -> Marked:
    """Fluid, or a thick pleura where the sentence says so."""
    if search.wanted.observation == "pleural thickening":
        return _thick(search)
    return _fluid(search)


def _fluid(search: Search) -> Marked:
    chest = search.chest
    density, cage = chest.tissue, chest.cage
    fluid = cage & (density > FLUID[0]) & (density < min(FLUID[1], chest.tissue_of_heart - 10))
    fluid &= (chest.soft > -350) & ~shrunk_air(search)
    fluid = opened(fluid, 4.0, chest.mm)
    labels, sizes = labelled(fluid)
    near = np.bincount(labels[grown(chest.air, 8.0, chest.mm)], minlength=len(sizes))
    mask = np.zeros(fluid.shape, bool)
    told = []
    middle = float(np.median(np.nonzero(chest.air.any(axis=(1, 2)))[0]))
    xs = np.bincount(
        labels.ravel(), np.repeat(np.arange(fluid.shape[0]), fluid[0].size), len(sizes)
    )
    centre = xs / np.maximum(sizes, 1)
    for side in _sides(search):
        own = (centre > middle) if side == "right" else (centre <= middle)
        score = np.where(own & (near > 0.1 * sizes), sizes, 0)
        score[0] = 0
        best = int(score.argmax())
        if score[best] * chest.voxel_ml < 8:
            continue
        keep = score >= 0.2 * score[best]
        mask |= keep[labels]
        told.append(
            f"{side} {score[best] * chest.voxel_ml:.0f} ml at "
            f"{np.median(density[labels == best]):.0f} HU"
        )
    if not told:
        return search.nothing("No fluid lies between ribs and lung on the side that is named.")
    # To the lung's own edge and to the wall, a voxel further.
    mask = grown(mask, 2.1, chest.mm) & cage & (chest.soft > -450) & (density < 30)
    return Marked(
        mask,
        [f"Fluid beside the lung: {'; '.join(told)}."],
        f"It is marked: {chest.volume(mask):.0f} ml.",
    )


def shrunk_air(search: Search) -> Bools:
    """Air-holding lung without what of it is dense."""
    chest = search.chest
    lung: Bools = chest.air & (chest.soft < -350)
    return lung


def _thick(search: Search) -> Marked:
    chest = search.chest
    density = chest.tissue
    beside = grown(chest.air, 12.0, chest.mm) & ~chest.air & chest.cage
    plate = beside & (density > -20) & (density < chest.tissue_of_muscle + 10) & (chest.soft > -450)
    plate &= search.side_room | beside
    plate = opened(plate, 2.9, chest.mm)
    labels, sizes = labelled(plate)
    rooms = np.zeros(plate.shape, bool)
    for side in _sides(search):
        rooms |= grown(chest.aerated[side], 12.0, chest.mm)
    here = np.bincount(labels[rooms], minlength=len(sizes))
    score = np.where(here > 0.8 * sizes, sizes, 0)
    best = int(score.argmax())
    if not best or score[best] * chest.voxel_ml < 0.5:
        return search.nothing("The pleura is nowhere seen to be thick.")
    keep = score >= 0.4 * score[best]
    keep[0] = False
    mask = keep[labels]
    return Marked(
        mask,
        [f"Plates between lung and ribs: {int(keep.sum())}, {chest.volume(mask):.1f} ml."],
        "The largest are marked.",
    )
