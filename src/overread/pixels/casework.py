"""The pictures of a case for a person, with the truth drawn on them where it is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.core import Box, Entry, Mask, Release, Volume
from overread.pixels.draw import COLOURS, boxes, colour, montage, outline, titled
from overread.pixels.geometry import to_ras
from overread.pixels.masks import read_channel
from overread.pixels.planes import Plane, cut, slices, square
from overread.pixels.windows import window

_PLANES: tuple[Plane, ...] = ("axial", "coronal", "sagittal")
_AXIS = {"sagittal": 0, "coronal": 1, "axial": 2}


def case_pictures(
    release: Release, entry: Entry, *, truth: bool
) -> Iterator[tuple[str, NDArray[Any]]]:
    """(name, picture) of each picture of a case; a volume becomes a sheet of planes."""
    for picture in entry.case.pictures:
        if isinstance(picture, Volume):
            yield picture.name, _sheet(release, entry, picture, truth=truth)
            continue
        pixels = release.pictures.pixels(picture)
        steps = entry.truth.trace.steps if truth and entry.truth and entry.truth.trace else ()
        places = {
            region: None
            for step in steps
            for region in step.regions
            if isinstance(region, Box) and region.picture == picture.name
        }
        yield picture.name, boxes(pixels, list(places)) if places else pixels


def _sheet(release: Release, entry: Entry, picture: Volume, *, truth: bool) -> NDArray[Any]:
    """Three planes in the lung and the mediastinal window, where most is marked."""
    volume, space = release.pictures.pixels(picture), release.pictures.geometry(picture)
    marked = np.zeros(space.shape, np.uint8)
    for number, finding in enumerate(entry.truth.findings if truth and entry.truth else (), 1):
        for region in finding.regions:
            if isinstance(region, Mask):
                source = release.source(region.file)
                labels = read_channel(
                    source, region.channel, space.shape, region.channels, name=region.file
                )
                marked[labels > 0] = number
    ras: NDArray[Any] = to_ras(marked, space)
    tiles = []
    for setting in ("lung", "mediastinum"):
        for plane in _PLANES:
            across = tuple(axis for axis in range(3) if axis != _AXIS[plane])
            filled = (ras > 0).sum(axis=across)
            index = int(np.argmax(filled)) if filled.any() else slices(space, plane) // 2
            grey = window(cut(volume, space, plane, index), setting)
            tile = colour(square(grey, space, plane, longest=384, smooth=True))
            slab = cut(marked, space, plane, index)
            shown = square(slab, space, plane, longest=384, smooth=False)
            for number in np.unique(shown[shown > 0]).tolist():
                tile = outline(tile, shown == number, COLOURS[(number - 1) % len(COLOURS)])
            tiles.append(titled(tile, f"{plane} {index}, {setting}"))
    return montage(tiles, columns=3)
