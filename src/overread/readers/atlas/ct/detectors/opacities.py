"""Dense lung: consolidation and ground glass."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread.readers.atlas.ct.detectors.search import DetectorResult, Search, select_parts
from overread.readers.atlas.ct.lung_spaces import BONE
from overread.readers.atlas.ct.morphology import (
    Bools,
    Spacing,
    ball_element,
    close_mask,
    dilate,
    label_parts,
    open_mask,
)

SOLID = -400.0
"""HU over which smoothed lung has no air to speak of."""
AIRLESS, CORE_SHARE = -150.0, 0.25
"""HU of lung that holds no air, and the share of a part that is that dense; haze is less so."""
FLUID = 14.0
"""HU under which dense parts of 20 ml and more are fluid."""
BORDER = 4.1
"""Millimetres around a dense part that are its surroundings."""
WALL = 10.0
"""Millimetres from bone within which tissue is chest wall."""
HAZE = 90.0
"""HU by which hazy tissue is denser than the patient's healthy lung."""


def mark_consolidation(search: Search) -> DetectorResult:
    """Lung without air: dense over more than a vessel's width, with the airways in it."""
    chest = search.chest
    dense = chest.lung_spaces & (chest.smoothed > SOLID) & (np.minimum(chest.smoothed, chest.hu) < 120)
    core = open_mask(dense, 3.5, chest.mm)
    dense = close_mask(dilate(core, 4.0, chest.mm) & dense, 4.0, chest.mm) & chest.lung_spaces
    fluid = _find_fluid(search, dense)
    dense = _keep_in_lung(search, dense & ~fluid)
    mask, parts = select_parts(search, dense, least_ml=0.5, share=0.2)
    if not parts:
        return search.empty_result(f"Nothing in {search.place_name} is denser than {SOLID:.0f} HU over 7 mm.")
    measured = [
        f"Dense parts in {search.place_name}, over {SOLID:.0f} HU and wider than 7 mm: {'; '.join(parts)}."
    ]
    if fluid.any():
        measured.append(f"{chest.volume(fluid):.0f} ml are no denser than fluid and left out.")
    return DetectorResult(mask, measured, f"All of them are marked: {chest.volume(mask):.1f} ml.")


def _keep_in_lung(search: Search, dense: Bools) -> Bools:
    """The dense parts without air in their core that border on lung more than on other organs.

    What replaces lung lies in it and against the chest wall. A piece of heart or stomach that was
    taken into the room of a lung has most of its surface within the mediastinum or the belly.
    """
    chest = search.chest
    labels, sizes = label_parts(dense)
    shell = dilate(dense, BORDER, chest.mm) & ~dense
    # Each voxel of the shell belongs to the part that is nearest to it.
    owner = _nearest_part(labels, shell, chest.mm)
    lung = (chest.air & (chest.smoothed < -500))[shell]
    organ = (~chest.lung_spaces & ~dilate(chest.hu > BONE, WALL, chest.mm))[shell]
    borders = [np.bincount(owner[one], minlength=len(sizes)) for one in (lung, organ)]
    core = np.bincount(labels[dense & (chest.smoothed > AIRLESS)], minlength=len(sizes))
    keep = (borders[0] > borders[1]) & (core > CORE_SHARE * sizes)
    keep[0] = False
    kept: Bools = keep[labels]
    return kept


def _nearest_part(labels: NDArray[np.int32], where: Bools, mm: Spacing) -> NDArray[np.int32]:
    """The part nearest to each voxel of a mask that lies within the border of the parts."""
    element = np.argwhere(ball_element(BORDER, mm)) - np.array(ball_element(BORDER, mm).shape) // 2
    nearest = np.argsort((element**2 * np.array(mm) ** 2).sum(axis=1), kind="stable")
    at = np.argwhere(where)
    owner: NDArray[np.int32] = np.zeros(len(at), np.int32)
    for move in element[nearest]:
        todo = np.flatnonzero(owner == 0)
        moved = np.clip(at[todo] + move, 0, np.array(labels.shape) - 1)
        owner[todo] = labels[tuple(moved.T)]
    return owner


def _find_fluid(search: Search, dense: Bools) -> Bools:
    """Large parts of dense lung that are no denser than fluid: an effusion, told elsewhere."""
    chest = search.chest
    labels, sizes = label_parts(open_mask(dense & (chest.tissue < FLUID), 4.0, chest.mm))
    keep = sizes * chest.voxel_ml > 20
    keep[0] = False
    # Its rim against ribs and lung is mixed with these, and thin.
    fluid = dilate(keep[labels], 4.1, chest.mm) & dense
    rest = open_mask(dense & ~fluid, 3.5, chest.mm)
    fluid |= dense & ~dilate(rest, 4.0, chest.mm) & dilate(fluid, 10.0, chest.mm)
    return fluid


def mark_ground_glass(search: Search) -> DetectorResult:
    """Hazy lung: tissue between the vessels denser than healthy, and not yet solid."""
    chest = search.chest
    density, _, share = chest.vessel_free_density
    hazy = chest.lung_spaces & (density > chest.normal_hu + HAZE) & (density < -250) & (share > 0.25)
    hazy = open_mask(hazy, 3.0, chest.mm)
    mask, parts = select_parts(search, hazy, least_ml=0.5)
    level = chest.normal_hu + HAZE
    if not parts:
        return search.empty_result(f"No tissue in {search.place_name} is denser than {level:.0f} HU.")
    measured = [
        f"Healthy lung of this patient has {chest.normal_hu:.0f} HU.",
        f"Hazy parts in {search.place_name}, tissue over {level:.0f} HU: {'; '.join(parts)}.",
    ]
    return DetectorResult(mask, measured, f"They are marked: {chest.volume(mask):.1f} ml.")
