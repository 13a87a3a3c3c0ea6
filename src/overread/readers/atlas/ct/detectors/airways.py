"""Bronchi: thick walls, wide lumina, plugs; and other hollow things, cavities and cysts."""

from __future__ import annotations

import numpy as np

from overread.readers.atlas.ct.airways import WALL_HU, find_hollows
from overread.readers.atlas.ct.detectors.nodules import mark_nodules
from overread.readers.atlas.ct.detectors.search import DetectorResult, Search
from overread.readers.atlas.ct.morphology import Bools, bounding_box, dilate, label_parts, open_mask


def _find_tubes(search: Search, *, largest: float, thick: float) -> tuple[Bools, Bools]:
    """Lumina in the place with their walls, and the lumina alone."""
    chest = search.chest
    lumen, wall = find_hollows(chest, search.nearby & chest.lung_spaces, largest=largest)
    labels, sizes = label_parts(lumen, touching=3)
    dark = np.bincount(labels.ravel(), np.where(lumen, chest.hu, 0).ravel(), len(sizes))
    mean = dark / np.maximum(sizes, 1)
    # Three voxels and darker than lung: the rest are chance gaps.
    keep = (sizes >= 3) & (mean < chest.normal_hu + 120)
    keep[0] = False
    lumen = keep[labels]
    tube = lumen | (dilate(lumen, thick, chest.mm) & wall)
    return tube, lumen


def mark_bronchi(search: Search) -> DetectorResult:
    """Bronchi whose lumen and wall can be seen, which healthy ones of that size seldom can."""
    chest = search.chest
    thick = 4.0 if search.target.category == "1a" else 3.0
    tube, lumen = _find_tubes(search, largest=260, thick=thick)
    labels, sizes = label_parts(tube, touching=3)
    here = np.bincount(labels[search.place], minlength=len(sizes))
    core = np.bincount(labels[search.focus], minlength=len(sizes))
    least = 0.15 / chest.voxel_ml
    keep = (here >= 0.5 * sizes) & (sizes >= least)
    if search.target.segments and (keep & (core >= 0.4 * sizes)).any():
        keep &= core >= 0.4 * sizes
    keep[0] = False
    if not keep.any():
        return search.empty_result(f"No lumen with a wall around it is seen in {search.place_name}.")
    mask = keep[labels]
    parts = sorted((sizes[keep] * chest.voxel_ml).tolist(), reverse=True)
    told = "; ".join(f"{part:.1f} ml" for part in parts[:6])
    measured = [
        f"{len(parts)} hollow tubes in {search.place_name} (air ringed by more than "
        f"{chest.normal_hu + WALL_HU:.0f} HU): {told}.",
        f"Their lumina hold {chest.volume(mask & lumen):.1f} ml of {chest.volume(mask):.1f} ml.",
    ]
    return DetectorResult(mask, measured, "Lumen and wall of all of them are marked.")


def mark_plugs(search: Search) -> DetectorResult:
    """Plugged bronchi: dense, longer than wide, wider than the vessels beside them."""
    chest = search.chest
    dense = chest.air & (chest.smoothed > -350) & (search.depth > 6)
    thick = open_mask(dense, 2.9, chest.mm)
    thick = dilate(thick, 2.1, chest.mm) & dense
    labels, sizes = label_parts(thick)
    here = np.bincount(labels[search.place], minlength=len(sizes))
    volume = sizes * chest.voxel_ml
    keep = (here >= 0.5 * sizes) & (volume > 0.1) & (volume < 8)
    keep[0] = False
    if not keep.any():
        return search.empty_result(f"No dense tube wider than a vessel is seen in {search.place_name}.")
    mask = keep[labels]
    measured = [
        f"{int(keep.sum())} dense parts wider than 6 mm in {search.place_name}, {chest.volume(mask):.1f} ml."
    ]
    return DetectorResult(mask, measured, "All of them are marked.")


def mark_cavity(search: Search) -> DetectorResult:
    """A round hole in the lung with its wall: the largest of those that fit."""
    chest, wanted = search.chest, search.target
    if "fluid" in wanted.kinds:
        return mark_nodules(search)
    gas = (chest.smoothed < chest.normal_hu - 60) & chest.lung_spaces & search.nearby
    holes, _ = find_hollows(chest, search.nearby & chest.lung_spaces, largest=3000)
    gas = open_mask((gas | (holes & (chest.smoothed < -700))), 2.9, chest.mm)
    labels, sizes = label_parts(gas)
    scored: list[tuple[float, int]] = []
    told = []
    for n in np.argsort(-sizes)[:12]:
        if sizes[n] * chest.voxel_ml < 0.2:
            continue
        part = labels == n
        cut = bounding_box(part, 3)
        own = part[cut]
        ring = dilate(own, 3.0, chest.mm) & ~own
        walled = float((chest.hu[cut][ring] > chest.normal_hu + 150).mean())
        sides = [one * (c.stop - c.start - 6) for one, c in zip(chest.mm, cut, strict=True)]
        filled = own.sum() * float(np.prod(chest.mm)) / max(1e-6, float(np.prod(sides)))
        fits = walled * min(1.0, filled / 0.5) * (1.0 if (part & search.focus).any() else 0.4)
        if wanted.size_mm:
            fits *= float(np.exp(-((np.log((max(sides) + 4) / wanted.size_mm) / 0.5) ** 2) / 2))
        told.append(f"{max(sides):.0f} mm, wall around {walled:.0%}")
        scored.append((fits, int(n)))
    scored.sort(reverse=True)
    if not scored:
        return search.empty_result(f"No round hole is seen in {search.place_name}.")
    several = wanted.many or wanted.plural
    most = wanted.count or (4 if several else 1)
    kept = [n for fits, n in scored[:most] if fits >= 0.25 * scored[0][0]]
    part = np.isin(labels, kept)
    # The edge of a hole is half wall, and darker than lung all the same.
    part |= dilate(part, 2.1, chest.mm) & chest.lung_spaces & (chest.hu < chest.normal_hu)
    # Its wall is what is dense around it, some millimetres wide.
    wall = dilate(part, 3.0, chest.mm) & chest.lung_spaces & (chest.hu > chest.normal_hu + 150)
    if "cavity" in wanted.kinds or "cavitary" in wanted.traits or "thick-walled" in wanted.traits:
        wide = dilate(part, 12.0, chest.mm) & chest.lung_spaces & (chest.smoothed > chest.normal_hu + 300)
        wall |= open_mask(wide | part, 3.0, chest.mm) & wide
    mask = part | wall
    return DetectorResult(
        mask,
        [f"Holes in {search.place_name}: {'; '.join(told)}."],
        f"Those with the best wall, roundness and size ({len(kept)}) are marked with their walls: "
        f"{chest.volume(mask):.1f} ml.",
    )
