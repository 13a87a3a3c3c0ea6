"""Round things in the lung: nodules and masses, micronodules."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from overread.readers.atlas.ct.chest import ChestCt
from overread.readers.atlas.ct.detectors.search import DetectorResult, Search
from overread.readers.atlas.ct.morphology import (
    Bools,
    Floats,
    blur,
    bounding_box,
    dilate,
    erode,
    label_parts,
    open_mask,
)

SCALES = (2.0, 2.8, 4.0, 5.6, 8.0, 11.3, 16.0)
"""Millimetres of the Gaussians whose differences show blobs: of a ball, at its radius over 1.7."""
MAX_TRIED = 150
"""Blobs of a chest that are looked at more closely, the clearest first."""


@dataclass(frozen=True)
class NoduleCandidate:
    """One round thing: where, how large, how round, how free-standing."""

    at: tuple[int, int, int]
    radius: float
    """Millimetres, by the scale at which it is clearest."""
    contrast: float
    """HU by which it stands out, by the difference of Gaussians."""
    round: float
    """Least curvature over the greatest: 1 a ball, near 0 a tube or a sheet."""
    free: float
    """Share of its surroundings that is air-holding lung."""


def find_candidates(
    chest: ChestCt, search: Search, *, scales: tuple[float, ...] = SCALES, tried: int = MAX_TRIED
) -> list[NoduleCandidate]:
    """Round dense things in the rooms of the lungs, the clearest first."""
    from scipy import ndimage

    mm = chest.mm
    # Gaussians reach three times as far as the widest is wide; half of that is enough here.
    box = bounding_box(search.nearby, int(1.5 * scales[-1] / min(mm)))
    room = chest.lung_spaces[box]
    # Outside the rooms the lung goes on, as it were, so that the chest wall makes no blobs.
    hu = np.where(room, np.clip(chest.hu[box], -1000, 60), chest.normal_hu).astype(np.float32)
    where = search.nearby[box]
    smooth = [blur(hu, mm_, mm) for mm_ in scales]
    stack = np.stack([a - b for a, b in pairwise(smooth)])
    # A blob is clearest among its neighbours at its own scale and the next ones.
    best = ndimage.maximum_filter(stack, size=(3, 3, 3, 3), mode="nearest")
    peaks = np.argwhere((stack == best) & (stack > 25) & where[None])
    strength = stack[tuple(peaks.T)]
    order = np.argsort(-strength, kind="stable")[:tried]
    found = []
    for n in order:
        level, i, j, k = (int(one) for one in peaks[n])
        scale = scales[level]
        curved = _curvatures(smooth[level], (i, j, k), mm)
        roundness = float(max(0.0, -curved[2]) / max(1e-6, -curved[0]))
        radius = scale * 1.7
        free = _free_share(hu, room, (i, j, k), radius, mm, chest.normal_hu)
        at = (i + box[0].start, j + box[1].start, k + box[2].start)
        found.append(NoduleCandidate(at, radius, float(strength[n]), roundness, free))
    return found


def _curvatures(
    volume: Floats, at: tuple[int, int, int], mm: tuple[float, float, float]
) -> NDArray[np.float64]:
    """Principal second derivatives at a voxel, the most negative first."""
    padded = [min(max(index, 1), size - 2) for index, size in zip(at, volume.shape, strict=True)]
    cube = volume[tuple(slice(index - 1, index + 2) for index in padded)].astype(float)
    matrix = np.zeros((3, 3))
    for a in range(3):
        line = np.moveaxis(cube, a, 0)[:, 1, 1]
        matrix[a, a] = (line[0] - 2 * line[1] + line[2]) / mm[a] ** 2
        for b in range(a + 1, 3):
            plane = np.moveaxis(cube, (a, b), (0, 1))[:, :, 1]
            cross = plane[2, 2] - plane[2, 0] - plane[0, 2] + plane[0, 0]
            matrix[a, b] = matrix[b, a] = cross / (4 * mm[a] * mm[b])
    values: NDArray[np.float64] = np.asarray(np.linalg.eigvalsh(matrix), float)
    return values


def _free_share(
    hu: Floats,
    room: Bools,
    at: tuple[int, int, int],
    radius: float,
    mm: tuple[float, float, float],
    normal: float,
) -> float:
    """Share of a shell around a blob that is no denser than lung; the chest wall does not count."""
    inner, outer = radius + 1.5 * max(mm), radius + 3.5 * max(mm)
    cut, distance = _box_around(hu.shape, at, outer, mm)
    shell = (distance > inner) & (distance <= outer) & room[cut]
    if not shell.any():
        return 0.0
    return float((hu[cut][shell] < normal + 250).mean())


def _box_around(
    shape: tuple[int, ...], at: tuple[int, int, int], reach: float, mm: tuple[float, float, float]
) -> tuple[tuple[slice, ...], NDArray[np.float64]]:
    """The box around a voxel, and millimetres from it of each of its voxels."""
    cut = tuple(
        slice(max(0, index - int(reach / one) - 1), min(size, index + int(reach / one) + 2))
        for index, size, one in zip(at, shape, mm, strict=True)
    )
    axes = np.ogrid[cut]
    squares = [((axis - i) * one) ** 2 for axis, i, one in zip(axes, at, mm, strict=True)]
    return cut, np.sqrt(squares[0] + squares[1] + squares[2])


def candidate_mask(
    chest: ChestCt, blob: NoduleCandidate, reach: float, *, hazy: bool = False
) -> tuple[Bools, tuple[slice, ...]]:
    """The voxels of a blob: denser than half way between it and the lung, and joined to it."""
    cut, distance = _box_around(chest.hu.shape, blob.at, reach, chest.mm)
    hu = np.clip(chest.hu[cut], -1000, 100)
    near = distance <= max(2.1, 0.5 * blob.radius)
    peak = float(np.percentile(hu[near], 75))
    # What is part solid is marked with its haze.
    level = chest.normal_hu + 120 if hazy else (peak + chest.normal_hu) / 2
    region = ((chest.smoothed[cut] if hazy else hu) > level) & (distance <= reach) & chest.lung_spaces[cut]
    labels, _ = label_parts(region)
    own = labels[near & region]
    if not own.size:
        return region & False, cut
    mask = labels == np.bincount(own).argmax()
    # Vessels that enter it are thinner than it is: cut them off where it is large enough.
    if blob.radius >= 4.5:
        thin = min(0.45 * blob.radius, 6.0)
        padded = np.pad(mask, 2)
        core = dilate(erode(padded, thin, chest.mm), thin + 0.8, chest.mm) & padded
        core = core[2:-2, 2:-2, 2:-2]
        mask = core if core.sum() > 0.4 * mask.sum() else mask
    return mask, cut


def mark_nodules(search: Search) -> DetectorResult:
    """Round, dense, free-standing things whose size, number and place fit the sentence."""
    chest, wanted = search.chest, search.target
    # A mass is more than 3 cm wide; a tumour that is called small is a nodule.
    little = bool(wanted.small or "small" in wanted.kinds)
    if wanted.observation == "lung mass" and not (wanted.size_mm or little):
        mass = _mark_mass(search) if wanted.severity != "mild" else None
        if mass is not None:
            return mass
    found = find_candidates(chest, search)
    core = search.focus
    scored: list[tuple[float, NoduleCandidate]] = []
    for blob in found:
        score = min(1.0, blob.contrast / 150) * blob.round * blob.free**2
        score *= 1.0 if core[blob.at] else 0.75 if search.place[blob.at] else 0.5
        if wanted.size_mm:
            ratio = 2 * blob.radius / wanted.size_mm
            score *= float(np.exp(-((np.log(ratio) / 0.45) ** 2) / 2))
        elif wanted.small:
            score *= 1.0 if blob.radius <= 5.5 else 0.4
        elif wanted.observation == "lung mass" and little:
            score *= 1.0 if 3.5 <= blob.radius <= 15 else 0.4
        elif wanted.observation == "lung mass":
            score *= min(1.0, blob.radius / 15) ** 2
        if wanted.spread & {"subpleural", "peripheral"}:
            score *= 1.0 if search.depth[blob.at] < 15 else 0.5
        scored.append((score, blob))
    scored.sort(key=lambda one: -one[0])
    if not scored:
        return search.empty_result(f"No round dense thing stands out in {search.place_name}.")
    count = wanted.count or 0
    chosen = _choose_best(scored, count, several=wanted.many or wanted.plural)
    mask = np.zeros(chest.hu.shape, bool)
    reach = 0.75 * wanted.size_mm + 3 if wanted.size_mm else 0.0
    words = []
    hazy = bool(wanted.kinds & {"part-solid", "ground-glass"})
    for score, blob in chosen:
        own, cut = candidate_mask(chest, blob, reach or 1.5 * blob.radius + 3, hazy=hazy)
        mask[cut] |= own
        words.append(_describe_candidate(blob, chest.volume(own), score))
    rest = [_describe_candidate(blob, None, score) for score, blob in scored[len(chosen) : len(chosen) + 3]]
    measured = [
        f"{len(found)} round dense things stand out in {search.place_name}.",
        "Best: " + "; ".join(words) + ".",
    ]
    if rest:
        measured.append("Next: " + "; ".join(rest) + ".")
    why = f"{len(chosen)} marked: the roundest and most free-standing"
    why += f", near {wanted.size_mm:g} mm" if wanted.size_mm else ""
    return DetectorResult(mask, measured, why + f", {chest.volume(mask):.2f} ml.")


def _mark_mass(search: Search) -> DetectorResult | None:
    """The largest dense part that is thick in every direction; None where there is no large one."""
    chest = search.chest
    dense = chest.lung_spaces & (chest.smoothed > -300)
    labels, sizes = label_parts(open_mask(dense, 6.0, chest.mm))
    here = np.bincount(labels[search.nearby], minlength=len(sizes))
    score = np.where(here >= 0.5 * sizes, sizes, 0)
    best = int(score.argmax())
    if score[best] * chest.voxel_ml < 4:
        return None
    mask = dilate(labels == best, 3.0, chest.mm) & dense
    volumes = np.sort(score)[::-1][:4] * chest.voxel_ml
    told = "; ".join(f"{volume:.0f} ml" for volume in volumes if volume > 1)
    measured = [f"Dense parts of {search.place_name} thicker than 12 mm: {told}."]
    return DetectorResult(mask, measured, f"The largest is marked: {chest.volume(mask):.0f} ml.")


def _describe_candidate(blob: NoduleCandidate, volume: float | None, score: float) -> str:
    size = f", {volume:.2f} ml" if volume is not None else ""
    return (
        f"{2 * blob.radius:.0f} mm at {blob.at}{size}, {blob.contrast:.0f} HU over its "
        f"surroundings, roundness {blob.round:.2f}, {blob.free:.0%} free, score {score:.2f}"
    )


def _choose_best(
    scored: list[tuple[float, NoduleCandidate]], count: int, *, several: bool
) -> list[tuple[float, NoduleCandidate]]:
    """The best, as many as are said, none of them within another."""
    most = count or (12 if several else 1)
    best = scored[0][0]
    kept: list[tuple[float, NoduleCandidate]] = []
    for score, blob in scored:
        if len(kept) >= most:
            break
        if not count and score < 0.5 * best:
            break
        apart = all(
            np.linalg.norm(np.subtract(blob.at, other.at)) * 2.0 > blob.radius + other.radius
            for _, other in kept
        )
        if apart:
            kept.append((score, blob))
    return kept
