"""Lines in the lung: bands and scars, septa and reticulation, honeycombing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread.readers.atlas.ct.detectors.search import DetectorResult, Search, select_parts
from overread.readers.atlas.ct.morphology import (
    Bools,
    Spacing,
    blur,
    close_mask,
    dilate,
    label_parts,
    open_mask,
)

OUTER = 20.0
"""Millimetres from the pleura within which vessels are too thin to be seen."""


def _find_sheets(search: Search) -> tuple[Bools, Bools]:
    """Voxels of sheets, and all dense voxels of the lungs near the place."""
    chest = search.chest
    where = search.nearby & chest.lung_spaces
    fine = blur(chest.hu, 1.6, chest.mm)
    dense = where & (chest.hu > chest.normal_hu + 200) & (search.depth > 2.1)
    i, j, k = np.nonzero(dense)
    inner = [(a > 0) & (a < n - 1) for a, n in zip((i, j, k), dense.shape, strict=True)]
    fits = inner[0] & inner[1] & inner[2]
    i, j, k = i[fits], j[fits], k[fits]
    matrix = np.zeros((len(i), 3, 3))
    unit = np.eye(3, dtype=int)

    def at(offset: NDArray[np.int_]) -> NDArray[np.float32]:
        values: NDArray[np.float32] = fine[i + offset[0], j + offset[1], k + offset[2]]
        return values

    for a in range(3):
        matrix[:, a, a] = (at(unit[a]) - 2 * at(0 * unit[a]) + at(-unit[a])) / chest.mm[a] ** 2
        for b in range(a + 1, 3):
            cross = at(unit[a] + unit[b]) - at(unit[a] - unit[b])
            cross = cross - at(unit[b] - unit[a]) + at(-unit[a] - unit[b])
            matrix[:, a, b] = matrix[:, b, a] = cross / (4 * chest.mm[a] * chest.mm[b])
    curved = np.linalg.eigvalsh(matrix) if len(i) else np.zeros((0, 3))
    flat = (curved[:, 0] < -8) & (np.abs(curved[:, 1]) < 0.4 * -curved[:, 0])
    sheet = np.zeros(dense.shape, bool)
    sheet[i[flat], j[flat], k[flat]] = True
    return sheet, dense


def mark_bands(search: Search) -> DetectorResult:
    """Plates and strands that no vessel explains, the best where the sentence says.

    A band of atelectasis is a plate: as dense as tissue, long and wide and thin. A scar is a tuft
    of strands at the pleura, where healthy lung has no vessel that could be seen.
    """
    from scipy import ndimage

    chest, wanted = search.chest, search.target
    scar = "fibrotic" in wanted.observation or "scar" in wanted.text.lower()
    sheet, dense = _find_sheets(search)
    if scar:
        parts, touching = dense & chest.air & (search.depth < OUTER), 2
    else:
        parts, touching = sheet & (chest.smoothed > chest.normal_hu + 250), 1
    labels, sizes = label_parts(parts, touching=touching)
    volume = sizes * chest.voxel_ml
    here = np.bincount(labels[search.place], minlength=len(sizes))
    tried = (here >= 0.5 * sizes) & (volume > 0.15) & (volume < (8 if scar else 15))
    tried[0] = False
    place = _named_levels(search)
    scored: list[tuple[float, int]] = []
    boxes = ndimage.find_objects(labels)
    for n in sorted(np.flatnonzero(tried), key=lambda one: -volume[one])[:60]:
        # Whatever is around it is within a centimetre of it.
        cut = tuple(
            slice(max(0, one.start - int(10 / mm) - 1), one.stop + int(10 / mm) + 1)
            for one, mm in zip(boxes[n - 1], chest.mm, strict=True)
        )
        part = labels[cut] == n
        score = float(volume[n]) ** 0.5 * (1.0 if place[cut][part].mean() > 0.5 else 0.3)
        around = dilate(part, 10.0, chest.mm) & chest.lung_spaces[cut] & ~dilate(part, 4.0, chest.mm)
        free = float((chest.smoothed[cut][around] < chest.normal_hu + 120).mean()) if around.any() else 0.0
        if scar:
            score *= free * (0.2 + float((search.depth[cut][part] < 8).mean()))
        else:
            score *= free * _flatness(part, chest.mm)
        scored.append((score, int(n)))
    scored.sort(reverse=True)
    if not scored or scored[0][0] <= 0:
        return search.empty_result(f"No plate or strand is seen in {search.place_name}.")
    count = wanted.count or (3 if wanted.many or wanted.plural else 1)
    sides = wanted.side == "both" or len({code[0] for code in wanted.lobes}) > 1
    kept = [n for fits, n in scored[: max(count, 2 if sides else 1)] if fits > 0.3 * scored[0][0]]
    mask = np.isin(labels, kept)
    mask = dilate(mask, 2.9 if scar else 2.1, chest.mm) & dense & search.nearby | mask
    told = "; ".join(f"{volume[n]:.2f} ml (score {fits:.2f})" for fits, n in scored[:5])
    name = "Tufts of strands at the pleura" if scar else "Plates (curved across, flat along)"
    measured = [f"{name} in {search.place_name}: {told}."]
    return DetectorResult(mask, measured, f"{len(kept)} of them marked: the best that fit the place.")


def _named_levels(search: Search) -> Bools:
    """The named segments; of them the top or the foot of the lung where the sentence says so."""
    core, spread = search.focus, search.target.spread
    levels = np.flatnonzero(search.chest.lung_spaces.any(axis=(0, 1)))
    low, height = int(levels[0]), len(levels)
    out = core.copy()
    if "apical" in spread:
        out[:, :, : low + round(0.7 * height)] = False
    elif "basal" in spread:
        out[:, :, low + round(0.45 * height) :] = False
    return out


def _flatness(part: Bools, mm: Spacing) -> float:
    """How much of a plate a part is: 1 wide in two directions and thin, 0 a strand or a ball."""
    at = np.argwhere(part) * np.array(mm)
    spread = np.sqrt(np.maximum(np.linalg.eigvalsh(np.cov(at.T)), 0.0))
    thin, wide, long = (float(one) for one in spread)
    return max(0.0, 1 - 1.5 * thin / max(wide, 1e-6)) * min(1.0, 2.5 * wide / max(long, 1e-6))


def mark_reticulation(search: Search) -> DetectorResult:
    """Lung in which dense and air-holding voxels alternate closely."""
    chest, wanted = search.chest, search.target
    lines = (chest.hu > chest.normal_hu + 130) & (chest.hu < 0) & chest.lung_spaces
    room = np.maximum(blur(chest.lung_spaces, 5.0, chest.mm), 0.05)
    share = blur(lines, 5.0, chest.mm) / room
    spread = chest.vessel_free_density[1]
    region = chest.lung_spaces & (share > 0.28) & (spread > 45)
    if wanted.category == "2f":
        dark = blur((chest.hu < chest.normal_hu) & chest.lung_spaces, 5.0, chest.mm) / room
        region &= dark > 0.02
    region = close_mask(open_mask(region, 4.0, chest.mm), 4.0, chest.mm) & chest.lung_spaces
    mask, parts = select_parts(search, region, least_ml=1.5)
    if not parts:
        return search.empty_result(f"No net of lines is seen in {search.place_name}.")
    listed = "; ".join(parts)
    told = f"Parts of {search.place_name} with lines in more than 28 % of the voxels: {listed}."
    return DetectorResult(mask, [told], f"They are marked: {chest.volume(mask):.0f} ml.")
