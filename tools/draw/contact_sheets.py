"""Contact sheets of CTs for the eye: one PNG a CT, to judge a phantom beside real scans.

Usage: python -m tools.draw.contact_sheets ROOT OUT [--split S] [--cases N] [--masks] [--tile PX]

ROOT is a folder in ReXGroundingCT layout. A sheet shows six axial, three coronal and three
sagittal planes in the lung window and the same planes in the mediastinal one, the patient's right
on the left. All tiles have one scale, so that sizes can be compared across planes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

import overread
from overread.core import Geometry
from overread.errors import OverreadError
from overread.pixels.case_overlays import truth_labels
from overread.pixels.draw import COLOURS, draw_outline, draw_title, make_montage, to_rgb
from overread.pixels.encode import encode
from overread.pixels.geometry import ras_geometry, to_ras, voxel_to_world
from overread.pixels.planes import Plane, extract_slice, resample_square
from overread.pixels.windows import apply_window
from overread.storage.atomic import open_atomic

AXES: dict[Plane, int] = {"sagittal": 0, "coronal": 1, "axial": 2}
PLANES: tuple[tuple[Plane, int], ...] = (("axial", 6), ("coronal", 3), ("sagittal", 3))
SETTINGS = ("lung", "mediastinum")
BODY = -300
"""HU above which a voxel counts as body when the planes are spread over it."""


def choose_planes(volume: NDArray[Any], space: Geometry) -> Iterator[tuple[Plane, int]]:
    """Planes spread evenly over the body, so that no tile is spent on the air around it."""
    ras: NDArray[Any] = to_ras(volume, space)
    dense = ras > BODY
    # Opened and then the largest part: neither the table nor clothes are worth a plane.
    parts, count = ndimage.label(ndimage.binary_opening(dense[::2, ::2]))
    largest = int(np.argmax(np.bincount(parts.ravel())[1:])) + 1 if count else 0
    body = np.repeat(np.repeat(parts == largest, 2, axis=0), 2, axis=1)
    body = body[: dense.shape[0], : dense.shape[1]]
    for plane, count in PLANES:
        across = tuple(axis for axis in range(3) if axis != AXES[plane])
        filled = np.flatnonzero(body.mean(axis=across) > 0.02)
        first, last = (filled[0], filled[-1]) if len(filled) else (0, body.shape[AXES[plane]] - 1)
        for number in range(count):
            yield plane, round(first + (last - first) * (number + 0.5) / count)


def draw_tile(
    volume: NDArray[Any],
    space: Geometry,
    plane: Plane,
    index: int,
    *,
    setting: str,
    numbers: NDArray[np.uint8] | None,
    pixels_per_mm: float,
    title: str,
) -> NDArray[Any]:
    """One plane in one window, its findings outlined, its place written in the corner."""
    ras = ras_geometry(space)
    grey = apply_window(extract_slice(volume, space, plane, index), setting)
    # `square` scales by the longer side, so one scale for all tiles needs that side in mm.
    sides = [n * mm for axis, (n, mm) in enumerate(zip(ras.shape, ras.spacing, strict=True))
             if axis != AXES[plane]]  # fmt: skip
    longest = max(1, round(max(sides) * pixels_per_mm))
    picture = to_rgb(resample_square(grey, space, plane, longest=longest, smooth=True))
    if numbers is not None:
        slab = extract_slice(numbers, space, plane, index)
        shown = resample_square(slab, space, plane, longest=longest, smooth=False)
        for number in np.unique(shown[shown > 0]).tolist():
            picture = draw_outline(picture, shown == number, COLOURS[(number - 1) % len(COLOURS)])
    middle = [(n - 1) / 2 for n in ras.shape]
    middle[AXES[plane]] = index
    place = voxel_to_world(ras, (middle[0], middle[1], middle[2]))[AXES[plane]]
    words = f"{plane} {index}/{ras.shape[AXES[plane]]}, {place:.0f} mm, {setting}"
    return draw_title(draw_title(picture, title), f"\n{words}" if title else words)


def contact_sheet(
    volume: NDArray[Any],
    space: Geometry,
    *,
    title: str,
    longest: int,
    numbers: NDArray[np.uint8] | None = None,
) -> NDArray[np.uint8]:
    """The sheet of one CT: two rows a window, the widest tile `longest` pixels."""
    ras = ras_geometry(space)
    scale = longest / max(n * mm for n, mm in zip(ras.shape, ras.spacing, strict=True))
    places = list(choose_planes(volume, space))
    tiles = [
        draw_tile(
            volume, space, plane, index, setting=setting, numbers=numbers, pixels_per_mm=scale, title=title
        )
        for setting in SETTINGS
        for plane, index in places
    ]
    return make_montage(tiles, columns=6)


def write_sheets(root: Path, out: Path, *, splits: list[str], cases: int | None, masks: bool,
           longest: int) -> int:  # fmt: skip
    """Write the sheets of the splits; how many were written."""
    done = 0
    for split in splits:
        release = overread.load("rexgroundingct", root, split)
        for entry in release.entries():
            if cases is not None and done >= cases:
                return done
            volume = entry.case.pictures[0]
            space = release.pictures.geometry(volume)
            sheet = contact_sheet(
                release.pictures.pixels(volume),
                space,
                title=entry.case.id,
                longest=longest,
                numbers=truth_labels(release, entry, space) if masks else None,
            )
            path = out / f"{entry.case.id}.png"
            with open_atomic(path) as stream:
                stream.write(encode(sheet))
            done += 1
            print(f"saved {path}", file=sys.stderr)
    return done


def main() -> int:
    """Parse, draw, say how many."""
    parser = argparse.ArgumentParser(description="Contact sheets of the CTs of a folder.")
    parser.add_argument("root", type=Path, help="a folder in ReXGroundingCT layout")
    parser.add_argument("out", type=Path, help="where the PNGs go")
    parser.add_argument("--split", action="append", choices=("train", "val", "test"))
    parser.add_argument("--cases", type=int, help="stop after so many")
    parser.add_argument("--masks", action="store_true", help="outline the findings")
    parser.add_argument("--tile", type=int, default=340, help="longest side of a tile in pixels")
    given = parser.parse_args()
    try:
        done = write_sheets(
            given.root,
            given.out,
            splits=given.split or ["train", "val", "test"],
            cases=given.cases,
            masks=given.masks,
            longest=given.tile,
        )
    except OverreadError as error:
        print(f"contact_sheets: {error}", file=sys.stderr)
        return 1
    print(f"{done} sheet(s) in {given.out}")
    return 0 if done else 1


if __name__ == "__main__":
    sys.exit(main())
