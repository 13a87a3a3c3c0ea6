"""What is as dense as tissue inside the ribs and is neither heart nor vessel, in either window.

Two views of the same thing: from the wall inwards along rays (fluid, thickened pleura, plaques),
and as parts that stand free in the lung or are ragged at its border (nodules, masses, airspace
disease).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from overread.readers.atlas.slice.body import CtSlice
from overread.readers.atlas.slice.lung import roundness
from overread.readers.atlas.slice.morphology import Bools, close_mask, dilate, erode, open_mask
from overread.readers.atlas.slice.wall import ChestWall, bone_level, right_rays, sector_rays


@dataclass(frozen=True)
class DensePart:
    """One dense part that stands free of heart and mediastinum."""

    size: float
    """Millimetres of a circle as large."""
    round: float
    ragged: float
    """Outline squared over area, 1 for a circle."""
    wall: float
    """Share of its outline that lies at the ribs."""
    calcified: float
    """Share of it that is as bright as bone."""
    hollow: float
    """Share of it, holes filled, that is air."""
    edge: float
    """Millimetres over which its border fades; large where a dome runs through the slice."""
    mask: Bools = field(repr=False, compare=False)


@dataclass
class DenseMeasures:
    """Numbers and parts of one slice."""

    numbers: dict[str, float] = field(default_factory=dict)
    masks: dict[str, Bools] = field(default_factory=dict)
    parts: list[DensePart] = field(default_factory=list)


def tissue_mask(cut: CtSlice, *, lung_window: bool) -> Bools:
    """What is denser than air-filled lung."""
    if lung_window:
        return np.asarray(ndimage.gaussian_filter(cut.hu, 0.6) > -350)
    return np.asarray(cut.values > max(cut.air + 25, 0.45 * cut.soft))


def measure_dense(cut: CtSlice, wall: ChestWall | None, *, lung_window: bool) -> DenseMeasures:
    """Dense parts inside the ribs; without a ring of ribs, inside the closed lungs."""
    found = DenseMeasures()
    if not cut.lungs.any():
        return found
    cavity = wall.cavity if wall is not None else np.asarray(close_mask(cut.lungs, cut.to_pixels(14.0)))
    # Muscle between ribs reaches a few millimetres into the ring.
    inner = np.asarray(erode(cavity, cut.to_pixels(4.0)))
    tissue = tissue_mask(cut, lung_window=lung_window) & inner
    _measure_free_parts(cut, inner, tissue, wall, found, lung_window=lung_window)
    if wall is not None:
        _measure_wall_gaps(cut, wall, found)
        _measure_outer(cut, wall, tissue_mask(cut, lung_window=lung_window), found)
    return found


def _measure_free_parts(
    cut: CtSlice,
    cavity: Bools,
    tissue: Bools,
    wall: ChestWall | None,
    found: DenseMeasures,
    *,
    lung_window: bool,
) -> None:
    solid = np.asarray(open_mask(tissue, cut.to_pixels(2.2)))
    x1, _, x2, _ = cut.frame
    columns = np.arange(solid.shape[1])[None, :]
    strip = np.abs(columns - cut.middle) < 0.05 * (x2 - x1)
    labels, count = ndimage.label(solid)
    if not count:
        return
    inner = np.unique(labels[np.broadcast_to(strip, solid.shape) & (labels > 0)])
    central = np.isin(labels, inner) & (labels > 0)
    core = open_mask(central, cut.to_pixels(9.0))
    core = dilate(core, cut.to_pixels(3.0))
    spare = np.asarray(
        open_mask(central & ~core, cut.to_pixels(2.2))
    )  # what hangs on the heart and is too thin for it
    rest = np.asarray((solid & ~central) | spare)
    marks, count = ndimage.label(rest)
    ring = cavity & ~erode(cavity, cut.to_pixels(4.0))
    bone = bone_level(cut)
    slope = ndimage.gaussian_gradient_magnitude(cut.values, 1.0)
    total = 0.0
    everything = np.zeros_like(rest)
    for number, place in enumerate(ndimage.find_objects(marks), start=1):
        box = tuple(
            slice(max(0, part.start - 4), min(part.stop + 4, length))
            for part, length in zip(place, rest.shape, strict=True)
        )
        part = np.asarray(marks[box] == number)
        filled = np.asarray(ndimage.binary_fill_holes(close_mask(part, cut.to_pixels(2.5))))
        area = float(filled.sum())
        size = 2 * np.sqrt(area / np.pi) * cut.mm
        if size < 4.5:
            continue
        border = filled & ~ndimage.binary_erosion(filled)
        length = float(border.sum()) * 1.12
        away = border & ~ring[box]
        steep = float(np.median(slope[box][away])) if away.any() else 0.0
        span = max(cut.soft - (cut.lung if lung_window else cut.air), 20.0)
        mask = np.zeros_like(rest)
        mask[box] = part
        found.parts.append(
            DensePart(
                float(size),
                roundness(filled),
                length**2 / (4 * np.pi * area),
                float((border & ring[box]).sum()) / max(float(border.sum()), 1.0),
                float((cut.values[box][part] >= bone).mean()),
                1 - float(part.sum()) / area,
                span / max(steep, 1.0) * cut.mm,
                mask,
            )
        )
        total += area
        everything |= mask
    found.masks["free"] = everything
    found.numbers["free"] = total / float(cavity.sum())


def _measure_wall_gaps(cut: CtSlice, wall: ChestWall, found: DenseMeasures) -> None:
    """Depth of what lies between ribs and lung, behind, at the side and in front, on each side."""
    usual = float(np.median(wall.gap[sector_rays(35, 145)]))
    right = right_rays()
    for side, rays in (("right", right), ("left", ~right)):
        behind, beside, front = (
            wall.gap[sector_rays(low, high) & rays] for low, high in ((118, 152), (75, 118), (32, 75))
        )
        found.numbers[f"behind {side}"] = float(np.median(behind))
        found.numbers[f"beside {side}"] = float(np.median(beside))
        found.numbers[f"front {side}"] = float(np.median(front))
        part = wall.gap[sector_rays(35, 150) & rays]
        found.numbers[f"thick {side}"] = float(np.mean((part > usual + 2.5) & (part < usual + 18)))
        shine = wall.bright[sector_rays(35, 150) & rays]
        found.numbers[f"shine {side}"] = float(np.mean((shine > 0.6) & (part > usual + 1.2)))
        bumps = np.abs(np.diff(part, 2))
        found.numbers[f"bumpy {side}"] = float(np.mean(np.minimum(bumps, 10)))
    for name in ("behind", "beside", "front", "thick", "shine"):
        pair = [found.numbers[f"{name} right"], found.numbers[f"{name} left"]]
        found.numbers[f"{name} most"] = max(pair)
        found.numbers[f"{name} least"] = min(pair)
    found.numbers["usual gap"] = usual
    found.masks["rind"] = rind_mask(cut, wall)


def _measure_outer(cut: CtSlice, wall: ChestWall, tissue: Bools, found: DenseMeasures) -> None:
    """Dense areas in the outer lung, and how ragged their border is: fluid and liver are smooth."""
    far = ndimage.distance_transform_edt(wall.cavity) * cut.mm
    ys, xs = np.indices(cut.body.shape)
    turn = np.abs(np.arctan2(xs - wall.centre[1], -(ys - wall.centre[0]))) * 180 / np.pi
    zone = (far > 4) & (far < 34) & (turn > 32) & (turn < 150)
    dense = open_mask(np.asarray(tissue & zone), cut.to_pixels(2.0))
    labels, _ = ndimage.label(dense)
    ragged = np.zeros_like(dense)
    worst = 0.0
    for number, place in enumerate(ndimage.find_objects(labels), start=1):
        part = labels[place] == number
        area = float(part.sum()) * cut.mm**2
        if area < 150:
            continue
        padded = np.pad(part, 6)
        smooth = ndimage.gaussian_filter(padded.astype(np.float32), cut.to_pixels(3.5)) > 0.5
        rough = float(_edge_length(padded)) / max(float(_edge_length(np.asarray(smooth))), 1.0)
        deep = float((far[place][part]).max())
        if rough > 1.25 and deep > 10:
            ragged[place] |= part
        worst = max(worst, rough)
    whole = float(max(zone.sum(), 1))
    found.numbers["outer dense"] = float(dense.sum()) / whole
    found.numbers["outer ragged"] = float(ragged.sum()) / whole
    found.numbers["rough"] = worst
    found.masks["outer ragged"] = ragged


def _edge_length(mask: Bools) -> int:
    return int((mask & ~ndimage.binary_erosion(mask)).sum())


def rind_mask(cut: CtSlice, wall: ChestWall) -> Bools:
    """What lies between ribs and lung."""
    lungs = close_mask(cut.lungs, 3)
    outer = wall.cavity & ~lungs
    reach = ndimage.distance_transform_edt(wall.cavity) * cut.mm
    return np.asarray(outer & (reach < 60))


def rays_mask(cut: CtSlice, wall: ChestWall, rays: NDArray[np.bool_], least: float) -> Bools:
    """The part of the rind that chosen rays cross where it is at least so many millimetres deep."""
    ys, xs = np.indices(cut.body.shape)
    dy, dx = ys - wall.centre[0], xs - wall.centre[1]
    turn = np.mod(np.arctan2(dx, -dy) / (2 * np.pi), 1.0) * rays.size
    ray = np.minimum(turn.astype(int), rays.size - 1)
    chosen = rays & (wall.gap > least)
    far = np.hypot(dy, dx)
    return np.asarray(chosen[ray] & (far >= wall.lung[ray]) & (far <= wall.ribs[ray]) & wall.cavity)
