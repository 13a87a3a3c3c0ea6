"""The pictures of a case for a person, with the truth drawn on them where it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.core import Box, Entry, Geometry, Mask, Release, Volume
from overread.pixels.draw import COLOURS, boxes, colour, montage, outline, titled
from overread.pixels.geometry import Array, to_ras
from overread.pixels.masks import read_channel
from overread.pixels.planes import Plane, cut, slices, square
from overread.pixels.windows import window

_AXIS: dict[Plane, int] = {"axial": 2, "coronal": 1, "sagittal": 0}


def case_pictures(
    release: Release, entry: Entry, *, truth: bool
) -> Iterator[tuple[str, NDArray[Any]]]:
    """(name, picture) of each picture of a case; a volume becomes a sheet of planes."""
    for picture in entry.case.pictures:
        if isinstance(picture, Volume):
            volume = release.pictures.pixels(picture)
            space = release.pictures.geometry(picture)
            marked = marked_voxels(release, entry, space) if truth else None
            yield picture.name, sheet(volume, space, marked=marked)
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


def sheet(
    volume: Array,
    space: Geometry,
    *,
    marked: NDArray[np.uint8] | None = None,
    settings: Sequence[str] = ("lung", "mediastinum"),
) -> NDArray[Any]:
    """Three planes of a volume in each window, where most is marked or else in the middle.

    `marked` numbers the voxels of each finding from 1, in the volume's own axes.
    """
    tiles = []
    for setting in settings:
        for plane, axis in _AXIS.items():
            index = slices(space, plane) // 2
            if marked is not None and marked.any():
                across = tuple(other for other in range(3) if other != axis)
                filled: NDArray[Any] = to_ras(marked, space)
                index = int(np.argmax((filled > 0).sum(axis=across)))
            grey = window(cut(volume, space, plane, index), setting)
            tile = colour(square(grey, space, plane, longest=384, smooth=True))
            if marked is not None:
                slab = cut(marked, space, plane, index)
                shown = square(slab, space, plane, longest=384, smooth=False)
                for number in np.unique(shown[shown > 0]).tolist():
                    tile = outline(tile, shown == number, COLOURS[(number - 1) % len(COLOURS)])
            tiles.append(titled(tile, f"{plane} {index}, {setting}"))
    return montage(tiles, columns=3)


def marked_voxels(release: Release, entry: Entry, space: Geometry) -> NDArray[np.uint8]:
    """The number of the finding that each voxel belongs to, 0 where none does."""
    marked = np.zeros(space.shape, np.uint8)
    for number, finding in enumerate(entry.truth.findings if entry.truth else (), 1):
        for region in finding.regions:
            if isinstance(region, Mask):
                source = release.source(region.file)
                labels = read_channel(
                    source, region.channel, space.shape, region.channels, name=region.file
                )
                marked[labels > 0] = number
    return marked
