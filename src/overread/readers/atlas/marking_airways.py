"""Bronchi: thick walls, wide lumina, plugs; and other hollow things, cavities and cysts."""

from __future__ import annotations

import numpy as np

from overread.readers.atlas.airways import WALL, hollows
from overread.readers.atlas.anatomy import Bools
from overread.readers.atlas.marking import Marked, Search
from overread.readers.atlas.marking_round import mark_nodules
from overread.readers.atlas.textures import box_of, grown, labelled, opened


def _tubes(search: Search, *, largest: float, thick: float) -> tuple[Bools, Bools]:
    """Lumina in the place with their walls, and the lumina alone."""
    chest = search.chest
    lumen, wall = hollows(chest, search.about & chest.rooms, largest=largest)
    labels, sizes = labelled(lumen, touching=3)
    dark = np.bincount(labels.ravel(), np.where(lumen, chest.hu, 0).ravel(), len(sizes))
    mean = dark / np.maximum(sizes, 1)
    # Three voxels and darker than lung: the rest are chance gaps.
    keep = (sizes >= 3) & (mean < chest.normal + 120)
    keep[0] = False
    lumen = keep[labels]
    tube = lumen | (grown(lumen, thick, chest.mm) & wall)
    return tube, lumen


def mark_bronchi(search: Search) -> Marked:
    """Bronchi whose lumen and wall can be seen, which healthy ones of that size seldom can."""
    chest = search.chest
    thick = 4.0 if search.wanted.category == "1a" else 3.0
    tube, lumen = _tubes(search, largest=260, thick=thick)
    labels, sizes = labelled(tube, touching=3)
    here = np.bincount(labels[search.place], minlength=len(sizes))
    core = np.bincount(labels[search.core], minlength=len(sizes))
    least = 0.15 / chest.voxel_ml
    keep = (here >= 0.5 * sizes) & (sizes >= least)
    if search.wanted.segments and (keep & (core >= 0.4 * sizes)).any():
        keep &= core >= 0.4 * sizes
    keep[0] = False
    if not keep.any():
        return search.nothing(f"No lumen with a wall around it is seen in {search.where}.")
    mask = keep[labels]
    parts = sorted((sizes[keep] * chest.voxel_ml).tolist(), reverse=True)
    told = "; ".join(f"{part:.1f} ml" for part in parts[:6])
    measured = [
        f"{len(parts)} hollow tubes in {search.where} (air ringed by more than "
        f"{chest.normal + WALL:.0f} HU): {told}.",
        f"Their lumina hold {chest.volume(mask & lumen):.1f} ml of {chest.volume(mask):.1f} ml.",
    ]
    return Marked(mask, measured, "Lumen and wall of all of them are marked.")


def mark_plugs(search: Search) -> Marked:
    """Plugged bronchi: dense, longer than wide, wider than the vessels beside them."""
    chest = search.chest
    dense = chest.air & (chest.soft > -350) & (search.depth > 6)
    thick = opened(dense, 2.9, chest.mm)
    thick = grown(thick, 2.1, chest.mm) & dense
    labels, sizes = labelled(thick)
    here = np.bincount(labels[search.place], minlength=len(sizes))
    volume = sizes * chest.voxel_ml
    keep = (here >= 0.5 * sizes) & (volume > 0.1) & (volume < 8)
    keep[0] = False
    if not keep.any():
        return search.nothing(f"No dense tube wider than a vessel is seen in {search.where}.")
    mask = keep[labels]
    measured = [
        f"{int(keep.sum())} dense parts wider than 6 mm in {search.where}, "
        f"{chest.volume(mask):.1f} ml."
    ]
    return Marked(mask, measured, "All of them are marked.")


def mark_cavity(search: Search) -> Marked:
    """A round hole in the lung with its wall: the largest of those that fit."""
    chest, wanted = search.chest, search.wanted
    if "fluid" in wanted.kinds:
        return mark_nodules(search)
    gas = (chest.soft < chest.normal - 60) & chest.rooms & search.about
    holes, _ = hollows(chest, search.about & chest.rooms, largest=3000)
    gas = opened((gas | (holes & (chest.soft < -700))), 2.9, chest.mm)
    labels, sizes = labelled(gas)
    scored: list[tuple[float, int]] = []
    told = []
    for n in np.argsort(-sizes)[:12]:
        if sizes[n] * chest.voxel_ml < 0.2:
            continue
        part = labels == n
        cut = box_of(part, 3)
        own = part[cut]
        ring = grown(own, 3.0, chest.mm) & ~own
        walled = float((chest.hu[cut][ring] > chest.normal + 150).mean())
        sides = [one * (c.stop - c.start - 6) for one, c in zip(chest.mm, cut, strict=True)]
        filled = own.sum() * float(np.prod(chest.mm)) / max(1e-6, float(np.prod(sides)))
        fits = walled * min(1.0, filled / 0.5) * (1.0 if (part & search.core).any() else 0.4)
        if wanted.size_mm:
            fits *= float(np.exp(-((np.log((max(sides) + 4) / wanted.size_mm) / 0.5) ** 2) / 2))
        told.append(f"{max(sides):.0f} mm, wall around {walled:.0%}")
        scored.append((fits, int(n)))
    scored.sort(reverse=True)
    if not scored:
        return search.nothing(f"No round hole is seen in {search.where}.")
    several = wanted.many or wanted.plural
    most = wanted.count or (4 if several else 1)
    kept = [n for fits, n in scored[:most] if fits >= 0.25 * scored[0][0]]
    part = np.isin(labels, kept)
    # The edge of a hole is half wall, and darker than lung all the same.
    part |= grown(part, 2.1, chest.mm) & chest.rooms & (chest.hu < chest.normal)
    # Its wall is what is dense around it, some millimetres wide.
    wall = grown(part, 3.0, chest.mm) & chest.rooms & (chest.hu > chest.normal + 150)
    if "cavity" in wanted.kinds or "cavitary" in wanted.traits or "thick-walled" in wanted.traits:
        wide = grown(part, 12.0, chest.mm) & chest.rooms & (chest.soft > chest.normal + 300)
        wall |= opened(wide | part, 3.0, chest.mm) & wide
    mask = part | wall
    return Marked(
        mask,
        [f"Holes in {search.where}: {'; '.join(told)}."],
        f"Those with the best wall, roundness and size ({len(kept)}) are marked with their walls: "
        f"{chest.volume(mask):.1f} ml.",
    )
