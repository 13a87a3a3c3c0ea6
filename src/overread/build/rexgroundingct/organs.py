"""Organ masks of a scan: lobes, segments and pleural spaces, with the box of each."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.build.rexgroundingct.scan_paths import LABELLED_PARTS, LOBE_FILES
from overread.core import Geometry
from overread.errors import PictureError, UsageError
from overread.ontology import lung_anatomy
from overread.pixels.masks import read_channel
from overread.pixels.nifti import read_header

VoxelBox = tuple[int, int, int, int, int, int]
"""i0, j0, k0, i1, j1, k1 in the stored array, upper ends not included."""
_SIDES = ("right", "left")


@dataclass
class Organs:
    """What is known of one scan's anatomy; arrays hold numbers, and `codes` say which they are."""

    space: Geometry
    lobes: NDArray[np.uint8] | None = None
    """1, 2, … as the lobes of the ontology."""
    segments: NDArray[np.uint8] | None = None
    """1, 2, … as the segments of the ontology."""
    pleura: NDArray[np.uint8] | None = None
    """1 right pleural space, 2 left."""
    lungs: NDArray[np.uint8] | None = None
    """1 right lung, 2 left, where organs were given."""
    boxes: dict[str, VoxelBox] = field(default_factory=dict)
    """Name of a structure → its box."""

    @property
    def scan_box(self) -> VoxelBox:
        """The box of the scan."""
        return (0, 0, 0, *self.space.shape)

    def lung_box(self, side: str) -> VoxelBox | None:
        """A lung's box: that of the organ and of its lobes together."""
        names = [lobe.name for lobe in lung_anatomy().lobes if lobe.side == side]
        return join_boxes([self.boxes.get(f"{side} lung"), *(self.boxes.get(n) for n in names)])

    def pleura_box(self, side: str) -> VoxelBox | None:
        """The box of a pleural space and of the lung in it."""
        return join_boxes([self.boxes.get(f"{side} pleural space"), self.lung_box(side)])


def join_boxes(boxes: Iterable[VoxelBox | None]) -> VoxelBox | None:
    """The smallest box that holds all of them; None where there is none.

    >>> join_boxes([(0, 0, 0, 2, 2, 2), None, (1, 1, 1, 5, 3, 2)])
    (0, 0, 0, 5, 3, 2)
    """
    there = [box for box in boxes if box is not None]
    if not there:
        return None
    low = [min(box[n] for box in there) for n in range(3)]
    high = [max(box[n] for box in there) for n in range(3, 6)]
    return low[0], low[1], low[2], high[0], high[1], high[2]


def box_of(mask: NDArray[np.bool_]) -> VoxelBox | None:
    """The box of what is marked; None where nothing is."""
    low, high = [], []
    for axis in range(3):
        others = tuple(n for n in range(3) if n != axis)
        at = np.flatnonzero(mask.any(axis=others))
        if not at.size:
            return None
        low.append(int(at[0]))
        high.append(int(at[-1]) + 1)
    return low[0], low[1], low[2], high[0], high[1], high[2]


def label_boxes(labels: NDArray[Any], count: int) -> list[VoxelBox | None]:
    """The boxes of the labels 1 to `count`; None where one has no voxel."""
    from scipy.ndimage import find_objects

    found = find_objects(labels, max_label=count)
    return [None if cut is None else (*(s.start for s in cut), *(s.stop for s in cut)) for cut in found]


@cache
def segment_names() -> tuple[str, ...]:
    """The segments in full, in the ontology's order.

    >>> segment_names()[9]
    'posterior basal segment of the right lower lobe'
    """
    return tuple(
        f"{segment.name} segment of the {lobe.name}"
        for lobe in lung_anatomy().lobes
        for segment in lobe.segments
    )


def lobe_names() -> tuple[str, ...]:
    """The lobes, in the ontology's order."""
    return tuple(lobe.name for lobe in lung_anatomy().lobes)


def read_organs(paths: dict[str, Path], folder: Path | None, space: Geometry) -> Organs:
    """The organ masks of a scan, numbered as the ontology numbers lobes and segments."""
    found = Organs(space)
    if not paths or folder is None:
        return found
    if set(paths) & set(LABELLED_PARTS):
        names = _label_names(folder)
        for part, path in paths.items():
            labels = _read_labels(path, space)
            given = names.get(part, {})
            if part == "lobes":
                found.lobes = _renumber(labels, given, lobe_names())
            elif part == "segments":
                found.segments = _renumber(labels, given, segment_names())
            else:
                spaces = tuple(f"{side} pleural space" for side in _SIDES)
                found.pleura = _renumber(labels, given, spaces)
                found.lungs = _renumber(labels, given, tuple(f"{side} lung" for side in _SIDES))
    else:
        found.lobes = np.zeros(space.shape, np.uint8)
        for part, path in paths.items():
            number = lobe_names().index(LOBE_FILES[part]) + 1
            found.lobes[_read_labels(path, space) > 0] = number
    _add_boxes(found)
    return found


def _add_boxes(found: Organs) -> None:
    spaces = tuple(f"{side} pleural space" for side in _SIDES)
    sides = tuple(f"{side} lung" for side in _SIDES)
    for labels, names in (
        (found.lobes, lobe_names()),
        (found.segments, segment_names()),
        (found.pleura, spaces),
        (found.lungs, sides),
    ):
        if labels is not None:
            boxes = zip(names, label_boxes(labels, len(names)), strict=True)
            found.boxes |= {name: box for name, box in boxes if box is not None}


def _label_names(folder: Path) -> dict[str, dict[int, str]]:
    """What the numbers of labelled volumes mean."""
    place = folder / "labels.json"
    try:
        told = json.loads(place.read_text("utf-8"))
        return {
            part: {int(number): str(name) for number, name in names.items()} for part, names in told.items()
        }
    except (OSError, ValueError, AttributeError) as error:
        raise UsageError(
            f"the numbers of the organ masks have no names ({type(error).__name__})",
            where=str(place),
            remedy='expected {"lobes": {"1": "right upper lobe", …}, "segments": {…}}',
        ) from None


def _read_labels(path: Path, space: Geometry) -> NDArray[Any]:
    header = read_header(path, name=path.name)
    if header.shape != space.shape or not np.allclose(header.affine, space.affine, rtol=1e-3, atol=0.05):
        raise PictureError(
            f"the organ mask of shape {header.shape} does not lie in the space of its CT of shape "
            f"{space.shape}",
            where=str(path),
            remedy="segment the CT itself, or resample the masks to it",
        )
    return read_channel(path, 0, space.shape, 1, name=path.name)


def _renumber(labels: NDArray[Any], given: dict[int, str], names: tuple[str, ...]) -> NDArray[np.uint8]:
    """The labels as the ontology numbers them; what it has no name for is nothing."""
    table = np.zeros(max(int(labels.max(initial=0)), max(given, default=0)) + 1, np.uint8)
    for number, name in given.items():
        if name in names:
            table[number] = names.index(name) + 1
    return np.asarray(table[labels], np.uint8)
