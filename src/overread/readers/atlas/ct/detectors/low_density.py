"""Lung that is too dark: emphysema, mosaic attenuation, pneumothorax."""

from __future__ import annotations

import numpy as np

from overread.readers.atlas.ct.detectors.search import DetectorResult, Search, select_parts
from overread.readers.atlas.ct.morphology import blur, close_mask, dilate, label_parts, open_mask
from overread.readers.atlas.otsu import separations

HOLE_HU = 75.0
"""HU by which a hole in the lung is darker than healthy lung, as far as a voxel holds it."""


def mark_emphysema(search: Search) -> DetectorResult:
    """Bullae one by one; else the region in which low attenuation is frequent."""
    chest, wanted = search.chest, search.target
    if "bullous" in wanted.kinds or wanted.size_mm:
        marked = _mark_bullae(search)
        if marked is not None:
            return marked
    edge = chest.normal_hu - HOLE_HU
    low = (chest.hu < edge) & chest.air
    outer = "paraseptal" in wanted.kinds or bool(wanted.spread & {"subpleural", "peripheral"})
    reach, level = (4.0, 0.12) if outer else (9.0, 0.045)
    room = np.maximum(blur(chest.air, reach, chest.mm), 0.05)
    share = blur(low, reach, chest.mm) / room
    region = chest.lung_spaces & (share > level)
    if outer:
        region &= search.depth < 10
    else:
        region = close_mask(open_mask(region, 3.0, chest.mm), 5.0, chest.mm) & chest.lung_spaces
    mask, parts = select_parts(search, region, least_ml=2.0)
    if not parts:
        return search.empty_result(f"Low attenuation is nowhere frequent in {search.place_name}.")
    told = (
        f"Where more than {level:.1%} of the lung is under {edge:.0f} HU in {search.place_name}: "
        f"{'; '.join(parts)}."
    )
    return DetectorResult(mask, [told], f"That region is marked: {chest.volume(mask):.0f} ml.")


def _mark_bullae(search: Search) -> DetectorResult | None:
    chest = search.chest
    gas = (chest.smoothed < chest.normal_hu - 65) & chest.lung_spaces
    gas = open_mask(gas, 3.5, chest.mm)
    labels, sizes = label_parts(gas)
    here = np.bincount(labels[search.place], minlength=len(sizes))
    keep = (here >= 0.5 * sizes) & (sizes * chest.voxel_ml > 0.15)
    keep[0] = False
    if not keep.any():
        return None
    mask = keep[labels]
    mask = dilate(mask, 2.9, chest.mm) & chest.lung_spaces & ((chest.smoothed < chest.normal_hu + 60) | mask)
    told = "; ".join(f"{one * chest.voxel_ml:.1f} ml" for one in np.sort(sizes[keep])[::-1][:6])
    return DetectorResult(
        mask, [f"Pockets of bare gas in {search.place_name}: {told}."], "All are marked to their walls."
    )


def mark_mosaic(search: Search) -> DetectorResult:
    """The darker of two populations of lung tissue, in patches as large as lobules and larger."""
    chest = search.chest
    density = chest.vessel_free_density[0]
    inside = density[search.place & chest.air]
    if inside.size < 500:
        return search.empty_result(f"Too little air-holding lung in {search.place_name}.")
    level = _otsu_level(inside)
    dark = chest.lung_spaces & chest.air & (density < level)
    dark = open_mask(dark, 5.0, chest.mm)
    mask, parts = select_parts(search, dark, least_ml=1.0)
    if not parts:
        return search.empty_result(f"No darker patches are seen in {search.place_name}.")
    told = (
        f"Tissue in {search.place_name} falls into two groups at {level:.0f} HU; darker: {'; '.join(parts)}."
    )
    return DetectorResult(mask, [told], f"The darker patches are marked: {chest.volume(mask):.0f} ml.")


def _otsu_level(values: np.ndarray[tuple[int], np.dtype[np.float32]]) -> float:
    """The level that parts values best into two groups (Otsu)."""
    counts, edges = np.histogram(values, bins=120, range=(-1000, -640))
    middle = (edges[:-1] + edges[1:]) / 2
    return float(middle[separations(counts, middle).argmax()])


def mark_pneumothorax(search: Search) -> DetectorResult:
    """Bare gas between lung and chest wall: no vessel in it, and the wall beside it."""
    chest = search.chest
    # Half way from lung to gas, smoothed so far that hardly any lung is as empty as that.
    level = (chest.normal_hu - 1000) / 2
    gas = open_mask((chest.smoothed < level) & search.side_space, 2.1, chest.mm)
    labels, sizes = label_parts(gas)
    edge = np.bincount(labels[search.depth <= 5.0], minlength=len(sizes))
    best = int(np.argmax(np.where(edge > 0, sizes, 0)))
    if not best or sizes[best] * chest.voxel_ml < 1:
        return search.empty_result(f"No bare gas lies beside the lung in {search.place_name}.")
    keep = (sizes >= 0.15 * sizes[best]) & (edge > 0)
    keep[0] = False
    mask = keep[labels]
    # As far as the chest wall, whose share of the outermost voxels makes them denser than gas.
    near = dilate(mask, 4.1, chest.mm) & search.side_space
    mask |= near & ((search.depth <= 4.1) | (chest.hu < level))
    told = f"Gas without any vessel along the chest wall: {chest.volume(mask):.0f} ml."
    return DetectorResult(mask, [told], "It is marked.")
