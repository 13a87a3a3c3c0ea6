"""Holds synthetic CTs to real ones: the same tissues, sampled the same way in both.

Usage: python -m tools.compare.real_cts REAL_ROOT [PHANTOM_ROOT] [--save FOLDER] [--json]

Both are folders in ReXGroundingCT layout. One classical procedure, which knows neither of the
two, samples lung, outside air, subcutaneous fat, chest wall muscle, bone and (where a finding
draws it) liver. Printed are their HU for each CT, its noise, the volume of the lungs and the size
of the body; then, for each tissue, the range over the real CTs beside the range over the phantom,
and how much of the two histograms is common.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow
from PIL import ImageDraw, ImageFont
from scipy import ndimage

import overread
from overread.core import Entry, Geometry, Mask, Release
from overread.errors import OverreadError
from overread.pixels.draw import COLOURS
from overread.pixels.geometry import ras_geometry, to_ras
from overread.pixels.lungs import find_lungs
from overread.pixels.masks import read_channel

Bools = NDArray[np.bool_]

TISSUES = ("lung", "air", "fat", "muscle", "bone", "liver")
BINS = np.arange(-1100, 1610, 10)
SLICES = 60
"""Slices looked at: more of them change no median."""
MIN_VOXELS = 300
"""Voxels under which a tissue was not seen."""


@dataclass
class CTMeasurement:
    """What was measured in one CT."""

    name: str
    lung_litres: float
    width_mm: float
    depth_mm: float
    cropped: bool
    """Whether the body runs out of the picture, which makes all sizes lower bounds."""
    tissues: dict[str, dict[str, float]] = field(default_factory=dict)
    shares: dict[str, NDArray[np.float64]] = field(default_factory=dict, repr=False)


def mm_to_voxels(mm: float, spacing: float) -> int:
    """Millimetres as steps of one voxel, at least one."""
    return max(1, round(mm / spacing))


def fill_between(mask: Bools) -> Bools:
    """The mask with all that lies between two of its pixels in the same row or column."""
    out = mask.copy()
    for axis in (0, 1):
        before = np.logical_or.accumulate(mask, axis=axis)
        after = np.flip(np.logical_or.accumulate(np.flip(mask, axis), axis=axis), axis)
        out |= before & after
    return out


def find_trunk(hu: NDArray[Any], lungs: Bools, pixel: float) -> Bools:
    """The trunk in one axial slice: the largest part, without table, clothes and arms."""
    dense = (hu > -300) | lungs
    # Opened so that a table that touches the skin comes off.
    parts, count = ndimage.label(ndimage.binary_opening(dense, iterations=mm_to_voxels(4, pixel)))
    if not count:
        return np.zeros(hu.shape, bool)
    largest = int(np.argmax(np.bincount(parts.ravel())[1:])) + 1
    return np.asarray(ndimage.binary_fill_holes(parts == largest), bool)


def find_tissues(hu: NDArray[Any], lungs: Bools, body: Bools, pixel: float) -> dict[str, Bools]:
    """Where each tissue is in one axial slice, well inside its borders."""
    mean = ndimage.uniform_filter(hu.astype(np.float32), 3)
    inner = fill_between(lungs)
    chest = ndimage.binary_dilation(inner, iterations=mm_to_voxels(8, pixel))
    wall = body & ~chest
    deep = ndimage.binary_erosion(wall, iterations=mm_to_voxels(3, pixel), border_value=1)

    def core(mask: Bools, mm: float) -> Bools:
        return np.asarray(ndimage.binary_erosion(mask, iterations=mm_to_voxels(mm, pixel)), bool)

    away = ~ndimage.binary_dilation(body, iterations=mm_to_voxels(15, pixel))
    # In front of the body only: behind it are the table and its mattress.
    away[:, : int(np.flatnonzero(body.any(axis=0)).mean())] = False
    dense, count = ndimage.label((hu > 150) & body & ~lungs)
    size = np.bincount(dense.ravel(), minlength=count + 1)
    outside = np.bincount(dense[~inner], minlength=count + 1)
    # Contrast in heart and vessels is as dense as bone, but lies between the lungs altogether.
    bony = (size * pixel**2 >= 30) & (outside >= 0.25 * size)
    bony[0] = False
    return {
        "lung": core(lungs, 4) & (hu < -500),
        # Under -1100 is padding, over -900 are clothes and foam.
        "air": away & (hu > -1100) & (hu < -900),
        "fat": deep & core((mean > -150) & (mean < -30), 1.5),
        "muscle": deep & core((mean > 0) & (mean < 100), 1.5),
        "bone": np.asarray(ndimage.binary_fill_holes(bony[dense]), bool),
    }


def noise_differences(hu: NDArray[Any], mask: Bools, lag: int) -> list[NDArray[np.float64]]:
    """Differences between pixels of the mask that lie `lag` apart, along both axes."""
    found = []
    for axis in (0, 1):
        a, b = [slice(None)] * 2, [slice(None)] * 2
        a[axis], b[axis] = slice(None, -lag), slice(lag, None)
        both = mask[tuple(a)] & mask[tuple(b)]
        found.append((hu[tuple(a)].astype(np.float64) - hu[tuple(b)])[both])
    return found


def liver_mask(release: Release, entry: Entry, space: Geometry) -> Bools | None:
    """The liver, where a finding of the case draws it."""
    for finding in entry.truth.findings if entry.truth else ():
        for region in finding.regions:
            if isinstance(region, Mask) and finding.text.strip().lower() == "liver":
                source = release.source(region.file)
                drawn = read_channel(source, region.channel, space.shape, region.channels)
                return np.asarray(to_ras(drawn > 0, space), bool)
    return None


def measure(release: Release, entry: Entry) -> CTMeasurement:
    """All that is measured in one CT."""
    volume = entry.case.pictures[0]
    space = release.pictures.geometry(volume)
    stored = release.pictures.pixels(volume)
    hu: NDArray[Any] = to_ras(stored, space)
    lungs: NDArray[Any] = to_ras(find_lungs(stored, space).both, space)
    liver = liver_mask(release, entry, space)
    spacing = ras_geometry(space).spacing
    pixel = float(np.sqrt(spacing[0] * spacing[1]))
    area = lungs.sum(axis=(0, 1)) * pixel**2
    levels = np.flatnonzero(area > 500)
    if len(levels) * spacing[2] < 50:  # hardly a chest: the wall of the belly is a wall too
        levels = np.arange(hu.shape[2])
    levels = levels[np.linspace(0, len(levels) - 1, min(SLICES, len(levels))).round().astype(int)]
    seen: dict[str, list[NDArray[Any]]] = {tissue: [] for tissue in TISSUES}
    steps: dict[int, list[NDArray[np.float64]]] = {1: [], 3: []}
    width = depth = 0.0
    cropped = False
    for level in levels.tolist():
        slab, inside = hu[:, :, level], lungs[:, :, level]
        body = find_trunk(slab, inside, pixel)
        if not body.any():
            continue
        if area[level] >= area.max() / 2:  # the chest, without the shoulders
            across, along = np.flatnonzero(body.any(axis=1)), np.flatnonzero(body.any(axis=0))
            width = max(width, (across[-1] - across[0] + 1) * spacing[0])
            depth = max(depth, (along[-1] - along[0] + 1) * spacing[1])
            rim = body[[0, -1]].any() or body[:, [0, -1]].any()
            cropped |= bool(rim)
        masks = find_tissues(slab, inside, body, pixel)
        if liver is not None:
            inner = ndimage.binary_erosion(liver[:, :, level], iterations=mm_to_voxels(4, pixel))
            masks["liver"] = np.asarray(inner, bool)
        for tissue, mask in masks.items():
            seen[tissue].append(slab[mask])
        for lag, found in steps.items():
            found.extend(noise_differences(slab, masks["muscle"], lag))
    out = CTMeasurement(entry.case.id, float(lungs.sum() * np.prod(spacing) / 1e6), width, depth, cropped)
    for tissue, parts in seen.items():
        values = np.concatenate(parts).astype(np.float64) if parts else np.zeros(0)
        if len(values) < MIN_VOXELS:
            continue
        low, middle, high = np.percentile(values, [5, 50, 95])
        line = {"median": middle, "p5": low, "p95": high, "sd": values.std()}
        if tissue == "muscle":
            for lag, differences in steps.items():
                line[f"noise_{lag}px"] = np.concatenate(differences).std() / np.sqrt(2)
        out.tissues[tissue] = {name: round(float(value), 1) for name, value in line.items()}
        counts = np.histogram(np.clip(values, BINS[0], BINS[-1]), BINS)[0]
        out.shares[tissue] = counts / counts.sum()
    return out


def measure_folder(root: Path, splits: list[str]) -> Iterator[CTMeasurement]:
    """Each CT of a folder, told on stderr as it is done."""
    for split in splits:
        release = overread.load("rexgroundingct", root, split)
        for entry in release.entries():
            print(f"measuring {entry.case.id}", file=sys.stderr)
            yield measure(release, entry)


def mean_histogram(rows: list[CTMeasurement], tissue: str) -> NDArray[np.float64] | None:
    """The mean histogram of a tissue: every CT counts the same, however large it is."""
    shares = [row.shares[tissue] for row in rows if tissue in row.shares]
    return np.mean(shares, axis=0) if shares else None


def histogram_overlap(one: NDArray[np.float64], two: NDArray[np.float64]) -> float:
    """The share that two histograms have in common."""
    return round(float(np.minimum(one, two).sum()), 3)


def summary(real: list[CTMeasurement], phantom: list[CTMeasurement]) -> dict[str, dict[str, Any]]:
    """For each tissue the range of medians and spreads in both, and their common histogram."""
    out: dict[str, dict[str, Any]] = {}
    for tissue in TISSUES:
        line: dict[str, Any] = {}
        for side, rows in (("real", real), ("phantom", phantom)):
            for key in ("median", "sd", "noise_1px", "noise_3px"):
                values = [row.tissues.get(tissue, {}).get(key) for row in rows]
                known = [value for value in values if value is not None]
                if known:
                    line[f"{side}_{key}"] = [min(known), max(known)]
        a, b = mean_histogram(real, tissue), mean_histogram(phantom, tissue)
        if a is not None and b is not None:
            line["overlap"] = histogram_overlap(a, b)
        # Real CTs differ too: one of them against the others is what a phantom can hope for.
        alone = [
            histogram_overlap(row.shares[tissue], others)
            for row in real
            if tissue in row.shares
            and (others := mean_histogram([one for one in real if one is not row], tissue)) is not None
        ]
        if alone:
            line["overlap_one_real_with_the_others"] = [min(alone), max(alone)]
        if line:
            out[tissue] = line
    return out


def draw_histograms(real: list[CTMeasurement], phantom: list[CTMeasurement]) -> Pillow.Image:
    """One panel a tissue: each CT as a thin line, the mean of each side as a filled one."""
    wide, tall, gap = 560, 220, 34
    page = Pillow.new("RGB", (2 * (wide + gap) + gap, 3 * (tall + gap) + gap), (255, 255, 255))
    pen, font = ImageDraw.Draw(page), ImageFont.load_default(size=14)
    tints = {"real": COLOURS[4], "phantom": COLOURS[5]}
    for number, tissue in enumerate(TISSUES):
        left = gap + (number % 2) * (wide + gap)
        top = gap + (number // 2) * (tall + gap)
        sides = {"real": mean_histogram(real, tissue), "phantom": mean_histogram(phantom, tissue)}
        known = [shares for shares in sides.values() if shares is not None]
        pen.rectangle((left, top, left + wide, top + tall), outline=(190, 190, 190))
        pen.text((left, top - 20), tissue, fill=(0, 0, 0), font=font)
        if not known:
            continue
        filled = np.flatnonzero(np.max(known, axis=0) > 1e-3)
        first, last = int(filled[0]), int(filled[-1]) + 1
        highest = max(float(shares.max()) for shares in known) * 1.5
        for place, (side, shares) in enumerate(sides.items()):
            if shares is None:
                continue
            pen.text((left + 90 + 90 * place, top - 20), side, fill=tints[side], font=font)
            rows = real if side == "real" else phantom
            lines = [(row.shares[tissue], 1) for row in rows if tissue in row.shares]
            for line, thick in [*lines, (shares, 4)]:
                pale = tuple((255 + 2 * part) // 3 if thick > 1 else (510 + part) // 3
                             for part in tints[side])  # fmt: skip
                points = [
                    (
                        left + wide * (at - first + 0.5) / (last - first),
                        top + tall * (1 - min(1.0, float(line[at]) / highest)),
                    )
                    for at in range(first, last)
                ]
                pen.line(points, fill=tints[side] if thick > 1 else pale, width=thick)
        for share in (0, 0.5, 1):
            label = f"{BINS[first] + share * (BINS[last] - BINS[first]):.0f} HU"
            pen.text((left + share * (wide - 60), top + tall + 2), label, (90, 90, 90), font)
    return page


def print_tables(real: list[CTMeasurement], phantom: list[CTMeasurement]) -> None:
    """The tables for a person."""
    for side, rows in (("real", real), ("phantom", phantom)):
        for row in rows:
            mark = "≥" if row.cropped else " "
            print(
                f"\n{side}: {row.name}  lungs {row.lung_litres:.2f} l, "
                f"width {mark}{row.width_mm:.0f} mm, depth {mark}{row.depth_mm:.0f} mm"
            )
            for tissue, line in row.tissues.items():
                words = "  ".join(f"{key} {value:7.1f}" for key, value in line.items())
                print(f"  {tissue:7s} {words}")
    print("\nranges over the CTs, and the common share of the pooled histograms")
    for tissue, found in summary(real, phantom).items():
        print(f"  {tissue:7s} " + "  ".join(f"{key} {value}" for key, value in found.items()))


def to_json(row: CTMeasurement) -> dict[str, Any]:
    """One CT for JSON, without its histograms."""
    return {
        "name": row.name,
        "lung_litres": round(row.lung_litres, 3),
        "width_mm": round(row.width_mm, 1),
        "depth_mm": round(row.depth_mm, 1),
        "cropped": row.cropped,
        "tissues": row.tissues,
    }


def main() -> int:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description="Tissues of synthetic CTs beside real ones.")
    parser.add_argument("real", type=Path, help="real CTs, a folder in ReXGroundingCT layout")
    parser.add_argument("phantom", type=Path, nargs="?", help="synthetic CTs, the same layout")
    parser.add_argument("--split", action="append", choices=("train", "val", "test"))
    parser.add_argument("--save", type=Path, help="folder for a picture of the histograms")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    given = parser.parse_args()
    splits = given.split or ["train", "val", "test"]
    try:
        real = list(measure_folder(given.real, splits))
        phantom = list(measure_folder(given.phantom, splits)) if given.phantom else []
    except OverreadError as error:
        print(f"compare_with_real: {error}", file=sys.stderr)
        return 1
    if given.json:
        sides = {"real": real, "phantom": phantom}
        told: dict[str, Any] = {side: [to_json(row) for row in rows] for side, rows in sides.items()}
        print(json.dumps({**told, "summary": summary(real, phantom)}, indent=2))
    else:
        print_tables(real, phantom)
    if given.save:
        given.save.mkdir(parents=True, exist_ok=True)
        path = given.save / "histograms.png"
        draw_histograms(real, phantom).save(path)
        print(f"saved {path}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
