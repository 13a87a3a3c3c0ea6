"""What the lung of one CT slice shows: density, holes, lines, spots, dense parts.

Everything is measured in HU as far as the window tells them, and in millimetres as far as the
width of the chest does.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import ndimage

from overread.readers.atlas.slice.body import CtSlice
from overread.readers.atlas.slice.morphology import Bools, Floats, close_mask, disk, erode, open_mask


@dataclass
class LungMeasures:
    """Numbers and masks of one slice in the lung window."""

    numbers: dict[str, float] = field(default_factory=dict)
    masks: dict[str, Bools] = field(default_factory=dict)


@dataclass(frozen=True)
class Hole:
    """A dark spot in the lung."""

    size: float
    """Millimetres of a circle as large."""
    wall: float
    """HU around it."""
    around: float
    """HU a little farther out."""
    dark: float
    """HU inside."""
    round: float
    """1 for a circle, less for what is long or ragged."""
    rim: float
    """Millimetres from it to the nearest border of the lung."""
    column: float
    label: int


def measure_lung(cut: CtSlice) -> LungMeasures:
    """All measurements of a slice in the lung window."""
    found = LungMeasures()
    lungs = cut.lungs
    area = float(lungs.sum())
    if area < 200:
        return found
    hu = np.asarray(ndimage.gaussian_filter(cut.hu, 0.6), np.float32)
    rim = np.asarray(ndimage.distance_transform_edt(lungs) * cut.mm, np.float32)
    deep = lungs & (rim > 5.0)
    base = _measure_density(cut, hu, deep, found)
    _measure_holes(cut, hu, lungs, rim, base, found)
    _measure_lines(cut, hu, lungs, rim, found)
    return found


def _measure_density(cut: CtSlice, hu: Floats, deep: Bools, found: LungMeasures) -> Floats:
    """Density of the lung between its vessels: a median over six millimetres."""
    step = 2
    size = max(3, round(6.0 / cut.mm / step)) | 1
    small = ndimage.median_filter(hu[::step, ::step], size=size, mode="nearest")
    base = np.repeat(np.repeat(small, step, 0), step, 1)[: hu.shape[0], : hu.shape[1]]
    lung = base[deep]
    n = max(lung.size, 1)
    usual = float(np.percentile(lung, 35)) if lung.size else -850.0
    glass = deep & (base > max(-770.0, usual + 85)) & (base < -300)
    glass = np.asarray(open_mask(glass, cut.to_pixels(4.5)))
    dark = deep & (base < min(-925.0, usual - 45))
    dark = np.asarray(open_mask(dark, cut.to_pixels(1.5)))
    gas = np.asarray(open_mask(deep & (base < -965), cut.to_pixels(2.5)))
    found.masks |= {"glass": glass, "dark": dark}
    found.numbers |= {"usual": usual, "glass": float(glass.sum()) / n, "dark": float(dark.sum()) / n}
    wide = np.asarray(ndimage.gaussian_filter(base, cut.to_pixels(3.0)), np.float32)[deep]
    if wide.size:
        calm = wide[(wide > -970) & (wide < -650)]
        found.numbers["patchy"] = (
            float(np.percentile(calm, 90) - np.percentile(calm, 10)) if (calm.size > 100) else 0.0
        )
    labels, count = ndimage.label(gas)
    largest, touch = 0.0, 0.0
    if count:
        sizes = np.bincount(labels.ravel())
        sizes[0] = 0
        number = int(sizes.argmax())
        part = labels == number
        largest = float(sizes[number]) / n
        edge = ~erode(cut.lungs, cut.to_pixels(9.0))
        touch = float((part & edge).sum()) / float(max((cut.lungs & edge).sum(), 1))
        found.masks["largest gas"] = np.asarray(part)
    found.numbers["largest gas"] = largest
    found.numbers["gas at wall"] = touch
    return np.asarray(base, np.float32)


def roundness(mask: Bools) -> float:
    """1 for a circle, less for what is long or ragged."""
    rows, columns = np.nonzero(mask)
    if rows.size < 4:
        return 1.0
    spread = np.cov(np.stack([rows, columns]).astype(float)) + np.eye(2) * 0.1
    long = float(np.linalg.eigvalsh(spread)[-1])
    return float(min(1.0, rows.size / (4 * np.pi * long)))


def _measure_holes(
    cut: CtSlice, hu: Floats, lungs: Bools, rim: Floats, base: Floats, found: LungMeasures
) -> None:
    """Dark spots with a wall: bronchi, cysts, cavities, honeycombs."""
    inside = close_mask(lungs, 3)
    dark = inside & (hu < np.minimum(base - 55, -880))
    large = inside & (hu < -940)
    labels, _ = ndimage.label(dark | large)
    holes: list[Hole] = []
    keep = np.zeros_like(lungs)
    for number, place in enumerate(ndimage.find_objects(labels), start=1):
        box = tuple(
            slice(max(0, part.start - 9), min(part.stop + 9, length))
            for part, length in zip(place, hu.shape, strict=True)
        )
        part = labels[box] == number
        pixels = int(part.sum())
        size = 2 * np.sqrt(pixels / np.pi) * cut.mm
        if pixels < 4 or size > 90:
            continue
        one = ndimage.binary_dilation(part, iterations=1)
        three = ndimage.binary_dilation(one, iterations=2)
        far = ndimage.binary_dilation(three, iterations=4)
        wall = hu[box][three & ~part]
        about = hu[box][far & ~three]
        hole = Hole(
            float(size),
            float(np.percentile(wall, 60)),
            float(np.median(about)),
            float(hu[box][part].mean()),
            roundness(np.asarray(part)),
            float(rim[box][part].mean()),
            (place[1].start + place[1].stop) / 2,
            number,
        )
        holes.append(hole)
    rings = [h for h in holes if h.wall > -680 and 1.5 < h.size < 14 and h.round > 0.45]
    walled = [h for h in holes if h.wall > -700 and h.round > 0.5]
    cysts = [h for h in holes if h.size >= 5 and h.round > 0.55 and h.wall > -860]
    caves, tubes = _find_enclosed_air(cut, hu, inside, found)
    labelled = {"rings": rings, "cysts": cysts, "outer rings": [h for h in rings if h.rim < 22]}
    for name, group in labelled.items():
        mask = np.isin(labels, [h.label for h in group]) if group else np.zeros_like(lungs)
        found.masks[name] = np.asarray(mask)
        found.numbers[name] = float(len(group))
        found.numbers[f"{name} mm"] = max((h.size for h in group), default=0.0)
        keep |= mask
    found.numbers["cavities"] = float(len(caves))
    found.numbers["cavities mm"] = max(caves, default=0.0)
    found.numbers["rings"] = max(found.numbers["rings"], float(len(tubes)))
    found.numbers["rings mm"] = max(found.numbers["rings mm"], max(tubes, default=0.0))
    found.masks["rings"] = found.masks["rings"] | found.masks["tubes"]
    # Honeycombs: holes wall to wall.
    comb = np.isin(labels, [h.label for h in walled if 2 < h.size < 16])
    near = np.asarray(ndimage.uniform_filter(comb.astype(np.float32), cut.to_pixels(16.0)))
    dense = np.asarray(ndimage.uniform_filter(hu, cut.to_pixels(16.0)))
    comby = lungs & (near > 0.16) & (dense > -800)
    found.masks["comb"] = np.asarray(comby)
    found.numbers["comb"] = float(comby.sum()) / float(lungs.sum())
    found.numbers["walled"] = float(len(walled))


def _find_enclosed_air(
    cut: CtSlice, hu: Floats, inside: Bools, found: LungMeasures
) -> tuple[list[float], list[float]]:
    """Air that a dense wall closes in: sizes of cavities, and of bronchi with their walls."""
    dense = inside & (hu > -520)
    holes = np.asarray(ndimage.binary_fill_holes(dense) & ~dense & (hu < -700))
    labels, _ = ndimage.label(holes)
    caves: list[float] = []
    tubes: list[float] = []
    masks = {"cavities": np.zeros_like(inside), "tubes": np.zeros_like(inside)}
    reach = 0.13 * (cut.frame[2] - cut.frame[0])
    for number, place in enumerate(ndimage.find_objects(labels), start=1):
        part = labels[place] == number
        size = 2 * np.sqrt(float(part.sum()) / np.pi) * cut.mm
        column = (place[1].start + place[1].stop) / 2
        if size < 1.8 or size > 80 or float(hu[place][part].mean()) > -780:
            continue
        if size >= 9 and abs(column - cut.middle) > reach:
            caves.append(float(size))
            masks["cavities"][place] |= part
        elif size < 9 and abs(column - cut.middle) > 0.7 * reach:
            tubes.append(float(size))
            masks["tubes"][place] |= part
    found.masks |= masks
    return caves, tubes


def _measure_lines(cut: CtSlice, hu: Floats, lungs: Bools, rim: Floats, found: LungMeasures) -> None:
    """Thin bright structures away from the hila: lines and spots."""
    lift = hu - ndimage.grey_opening(hu, footprint=disk(cut.to_pixels(2.6)))
    thin = lungs & (lift > 130) & (rim > 2.0)
    outer = lungs & (rim > 2.0) & (rim < 20.0)
    found.numbers["outer thin"] = float((thin & outer).sum()) / float(max(outer.sum(), 1))
    found.numbers["thin"] = float(thin.sum()) / float(lungs.sum())
    fine = thin & (rim < 32.0)
    room = ndimage.uniform_filter((lungs & (rim > 2.0) & (rim < 32.0)).astype(np.float32), 28)
    crowd = ndimage.uniform_filter(fine.astype(np.float32), 28) / np.maximum(room, 0.35)
    crowd = np.where(lungs & (rim < 30.0), crowd, 0)
    found.numbers["crowd"] = float(np.percentile(crowd[lungs], 97))
    found.masks["crowd"] = np.asarray(crowd > max(0.09, 0.8 * found.numbers["crowd"]))
    labels, _ = ndimage.label(thin, np.ones((3, 3)))
    places = ndimage.find_objects(labels)
    spots = np.zeros_like(lungs)
    lines = np.zeros_like(lungs)
    counts = {"spots": 0, "lines": 0}
    for number, place in enumerate(places, start=1):
        part = labels[place] == number
        pixels = float(part.sum())
        if pixels < 3:
            continue
        rows, columns = np.nonzero(part)
        centre = (int(rows.mean()) + place[0].start, int(columns.mean()) + place[1].start)
        long = float(np.hypot(np.ptp(rows) + 1, np.ptp(columns) + 1)) * cut.mm
        wide = pixels * cut.mm**2 / max(long, 1.0)
        near = float(rim[centre]) < 24 or float(rim[place][part].min()) < 8
        if long < 7 and wide > 0.35 * long and near:
            spots[place] |= part
            counts["spots"] += 1
        elif long > 9 and wide < 0.3 * long and near:
            lines[place] |= part
            counts["lines"] += 1
    for name, value in counts.items():
        found.numbers[name] = float(value)
    found.masks |= {"thin": np.asarray(thin & outer), "spots": spots, "lines": lines}
    square = float(lungs.sum()) * cut.mm**2 / 1e4
    found.numbers["spots each dm2"] = counts["spots"] / max(square, 0.3)
    found.numbers["lines each dm2"] = counts["lines"] / max(square, 0.3)
