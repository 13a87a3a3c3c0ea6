"""Draws what the embedded reader marked on real CTs: its marks filled, the reference outlined.

.venv/bin/python -m tools.draw.atlas_marks docs/atlas-ct.png --data FOLDER [--pixels]

FOLDER is laid out as ReXGroundingCT is. Every finding of lung or pleura gets a picture of the slice
that shows most of the reference: what atlas takes for lung in grey, its mark, and the outline of
the reference. With --pixels the CT itself is shown too: for your own eyes, since CTs have terms of
their own. Dice and volumes are printed.
"""

from __future__ import annotations

import argparse
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from scipy import ndimage

import overread
from overread.core import Geometry, Mask
from overread.pixels.geometry import ras_geometry, to_ras
from overread.pixels.masks import read_channel
from overread.readers.atlas import make
from overread.readers.atlas.ct.chest import find_chest
from overread.readers.atlas.ct.target import parse_target

MARK, TRUTH = np.array([230, 70, 50]), np.array([90, 220, 120])
SIDE, TITLE = 300, 62
"""Pixels of one picture, and of the words above it."""
MARGIN_MM = 45.0
"""Millimetres that are shown around mark and reference."""
LUNG_WINDOW = (-1100.0, 300.0)


@dataclass(frozen=True)
class MarkedFinding:
    """One finding as it is to be drawn, in the axes of the patient."""

    name: str
    text: str
    hu: NDArray[Any]
    lungs: NDArray[np.bool_]
    """What atlas takes for lung."""
    own: NDArray[np.bool_]
    truth: NDArray[np.bool_]
    spacing: tuple[float, float, float]

    @property
    def dice(self) -> float:
        """Twice what mark and reference share over what both have."""
        both = int(self.own.sum()) + int(self.truth.sum())
        return 2 * int((self.own & self.truth).sum()) / max(1, both)

    def millilitres(self, mask: NDArray[np.bool_]) -> float:
        """Volume of a mask."""
        return float(mask.sum()) * float(np.prod(self.spacing)) / 1000


def read_findings(folder: Path) -> list[MarkedFinding]:
    """The findings of lung and pleura of a release, read by the embedded reader."""
    release = overread.load("rexgroundingct", folder, "val")
    out = []
    for entry in release.entries():
        if entry.truth is None or not any(parse_target(q.text) for q in entry.case.queries):
            continue
        picture = entry.case.pictures[0]
        space: Geometry = release.pictures.geometry(picture)
        _, masks = make({}).compute_reading(entry.case, release.pictures, seed=0)
        stored = release.pictures.pixels(picture)
        hu = to_ras(stored, space)
        chest = find_chest(stored, space)
        found = chest.lungs if chest is not None else None
        lungs = found.both if found is not None else np.zeros(space.shape, bool)
        for mask, finding in zip(masks, entry.truth.findings or (), strict=True):
            (region,) = finding.regions
            if parse_target(finding.text) is None or mask is None or not isinstance(region, Mask):
                continue
            source = release.source(region.file)
            truth = read_channel(source, region.channel, space.shape, region.channels) > 0
            out.append(
                MarkedFinding(
                    entry.case.id,
                    finding.text,
                    hu,
                    np.asarray(to_ras(lungs, space), bool),
                    np.asarray(to_ras(mask, space), bool),
                    np.asarray(to_ras(truth, space), bool),
                    ras_geometry(space).spacing,
                )
            )
    return out


def draw_finding(shown: MarkedFinding, *, pixels: bool) -> Image.Image:
    """The slice that shows most of the reference, with mark and outline."""
    level = int(shown.truth.sum(axis=(0, 1)).argmax())
    both = shown.own[:, :, level] | shown.truth[:, :, level]
    cut = []
    for axis in range(2):
        there = np.flatnonzero(both.any(axis=1 - axis))
        margin = round(MARGIN_MM / shown.spacing[axis])
        cut.append(slice(max(0, int(there[0]) - margin), int(there[-1]) + margin + 1))
    of = (shown.hu, shown.lungs, shown.own, shown.truth)
    # As radiologists look at it: the patient's front above, his right on the left.
    hu, *masks = (np.ascontiguousarray(one[cut[0], cut[1], level].T[::-1, ::-1]) for one in of)
    times = max(1, round(2 * SIDE / max(hu.shape)))
    lungs, inside, edge = (one.repeat(times, axis=0).repeat(times, axis=1) for one in masks)
    edge = edge & ~ndimage.binary_erosion(edge, iterations=max(2, times // 2))
    low, high = LUNG_WINDOW
    grey = np.clip((hu.astype(float) - low) / (high - low) * 255, 0, 255)
    plain = ndimage.zoom(np.repeat(grey[..., None], 3, axis=2), (times, times, 1), order=1)
    if not pixels:
        plain = np.where(lungs[..., None], 70.0, 200.0) * np.ones(3)
    marked = plain.copy()
    marked[inside] = 0.4 * marked[inside] + 0.6 * MARK
    marked[edge] = TRUTH
    rows = (plain, marked) if pixels else (marked,)
    sheet = Image.new("RGB", (SIDE, TITLE + len(rows) * SIDE))
    for row, colours in enumerate(rows):
        picture = Image.fromarray(np.clip(colours, 0, 255).astype(np.uint8))
        picture.thumbnail((SIDE, SIDE))
        at = (SIDE - picture.width) // 2, TITLE + row * SIDE + (SIDE - picture.height) // 2
        sheet.paste(picture, at)
    words = [*textwrap.wrap(f"{shown.name}: {shown.text}", 46)[:3], f"Dice {shown.dice:.2f}"]
    ImageDraw.Draw(sheet).text((6, 3), "\n".join(words), fill=(255, 230, 120))
    return sheet


def main() -> None:
    """Draw and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--pixels", action="store_true")
    args = parser.parse_args()
    found = read_findings(args.data)
    rows = 2 if args.pixels else 1
    sheet = Image.new("RGB", (len(found) * SIDE, TITLE + rows * SIDE))
    for place, shown in enumerate(found):
        sheet.paste(draw_finding(shown, pixels=args.pixels), (place * SIDE, 0))
        print(
            f"{shown.name}: {shown.text!r}: marked {shown.millilitres(shown.own):.1f} ml, "
            f"reference {shown.millilitres(shown.truth):.1f} ml, Dice {shown.dice:.3f}"
        )
    sheet.save(args.out, optimize=True)
    print(f"{args.out}: {args.out.stat().st_size // 1024} KB; marks filled, reference outlined")


if __name__ == "__main__":
    main()
