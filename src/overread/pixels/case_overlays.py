"""The pictures of a case for a person, with the truth or a reading drawn on them if asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.core import (
    Box,
    Case,
    Entry,
    Finding,
    Geometry,
    Mask,
    Pictures,
    Reading,
    Region,
    Release,
    Volume,
)
from overread.core.submission import FindFile
from overread.pixels.draw import COLOURS, draw_boxes, draw_outline, draw_title, make_montage, to_rgb
from overread.pixels.geometry import Array, to_ras
from overread.pixels.masks import read_channel
from overread.pixels.planes import AXES, Plane, extract_slice, resample_square, slice_count
from overread.pixels.windows import apply_window


def draw_case(release: Release, entry: Entry, *, truth: bool) -> Iterator[tuple[str, NDArray[Any]]]:
    """(name, picture) of each picture of a case; a volume becomes a sheet of planes."""
    told = entry.truth if truth else None
    steps = told.trace.steps if told and told.trace else ()
    places = [region for step in steps for region in step.regions]
    findings = told.findings if told else None
    yield from _draw_pictures(entry.case, release.pictures, places, findings, release.source)


def draw_reading(
    release: Release, entry: Entry, reading: Reading, folder: Path
) -> Iterator[tuple[str, NDArray[Any]]]:
    """(name, picture) of each picture of a case, with what a reading of the run `folder` marks.

    These are the regions of its findings, or where they have none, those of its steps.
    """
    from overread.storage.fence import Fence

    findings = reading.findings or ()
    steps = reading.trace.steps if reading.trace else ()
    places = [region for finding in findings for region in finding.regions]
    places = places or [region for step in steps for region in step.regions]
    yield from _draw_pictures(entry.case, release.pictures, places, findings, Fence(folder).path)


def _draw_pictures(
    case: Case,
    pictures: Pictures,
    places: Iterable[Region],
    findings: Sequence[Finding] | None,
    find: FindFile,
) -> Iterator[tuple[str, NDArray[Any]]]:
    """Each picture with boxes drawn on it, and each volume with what is marked in it."""
    shown = dict.fromkeys(region for region in places if isinstance(region, Box))
    for picture in case.pictures:
        pixels = pictures.pixels(picture)
        if isinstance(picture, Volume):
            space = pictures.geometry(picture)
            marked = None if findings is None else _finding_labels(findings, space, find)
            yield picture.name, draw_planes(pixels, space, marked=marked)
            continue
        own = [box for box in shown if box.picture == picture.name]
        yield picture.name, draw_boxes(pixels, own) if own else pixels


def draw_planes(
    volume: Array,
    space: Geometry,
    *,
    marked: NDArray[np.uint8] | None = None,
    settings: Sequence[str] = ("lung", "mediastinum"),
) -> NDArray[Any]:
    """Three planes of a volume in each window, where most is marked or else in the middle.

    `marked` numbers the voxels of each finding from 1, in the volume's own axes.
    """
    tiles = [
        draw_plane(volume, space, plane, marked=marked, setting=setting)
        for setting in settings
        for plane in reversed(AXES)
    ]
    return make_montage(tiles, columns=3)


def draw_plane(
    volume: Array,
    space: Geometry,
    plane: Plane,
    *,
    marked: NDArray[np.uint8] | None = None,
    setting: str = "lung",
    longest: int = 384,
) -> NDArray[np.uint8]:
    """The slice of a plane where most is marked, or the middle one, with outlines and a title."""
    index = slice_count(space, plane) // 2
    if marked is not None and marked.any():
        across = tuple(other for other in range(3) if other != AXES[plane])
        filled: NDArray[Any] = to_ras(marked, space)
        index = int(np.argmax((filled > 0).sum(axis=across)))
    grey = apply_window(extract_slice(volume, space, plane, index), setting)
    tile = to_rgb(resample_square(grey, space, plane, longest=longest, smooth=True))
    if marked is not None:
        slab = extract_slice(marked, space, plane, index)
        shown = resample_square(slab, space, plane, longest=longest, smooth=False)
        for number in np.unique(shown[shown > 0]).tolist():
            tile = draw_outline(tile, shown == number, COLOURS[(number - 1) % len(COLOURS)])
    return draw_title(tile, f"{plane} {index}, {setting}")


def truth_labels(release: Release, entry: Entry, space: Geometry) -> NDArray[np.uint8]:
    """The number of the finding that each voxel belongs to, 0 where none does."""
    return _finding_labels(entry.truth.findings if entry.truth else (), space, release.source)


def _finding_labels(findings: Sequence[Finding], space: Geometry, find: FindFile) -> NDArray[np.uint8]:
    marked = np.zeros(space.shape, np.uint8)
    for number, finding in enumerate(findings, 1):
        for region in finding.regions:
            if isinstance(region, Mask):
                labels = read_channel(
                    find(region.file), region.channel, space.shape, region.channels, name=region.file
                )
                marked[labels > 0] = number
    return marked
