"""Slices of the scan of a question, with the masks that it is about drawn on them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.build.item import Item, Question
from overread.build.ledger_reading import history
from overread.build.rexgroundingct.annotation import returned_masks
from overread.build.rexgroundingct.tasks import targets_of
from overread.core import Geometry
from overread.errors import OverreadError, PictureError
from overread.pixels.draw import COLOURS, colour, outline
from overread.pixels.formats import told
from overread.pixels.geometry import Array, to_ras
from overread.pixels.nifti import read_volume
from overread.pixels.planes import Plane, cut, slices, square
from overread.pixels.windows import window
from overread.site.builds.evidence_files import desk_of
from overread.site.shelf import Build

AXES: dict[Plane, int] = {"sagittal": 0, "coronal": 1, "axial": 2}
LONGEST = 768
"""Pixels of the longer side of a slice."""
_KEPT = 2
"""Scans that stay in memory: one is read while another one's slices are still asked for."""


@dataclass(frozen=True)
class Scan:
    """A scan in memory."""

    volume: Array
    space: Geometry
    marked: NDArray[np.uint8] | None
    """Number of the finding that each voxel belongs to; None where no mask is asked about."""


_scans: OrderedDict[object, Scan] = OrderedDict()
_turn = threading.Lock()


def scan_of(source: Path | bytes, question: Question, build: Build) -> Scan:
    """The scan of a question, read once and kept for its slices."""
    mark = hash(source) if isinstance(source, bytes) else (source, _stamp(source))
    key = (mark, build.folder, question.id)
    with _turn:  # one at a time: two readers of the same scan would read it twice
        found = _scans.get(key)
        if found is None:
            volume, space = read_volume(source, name="the scan")
            found = Scan(volume, space, _marked(question, build, space))
            _scans[key] = found
            while len(_scans) > _KEPT:
                _scans.popitem(last=False)
        _scans.move_to_end(key)
        return found


def is_volume(source: Path | bytes) -> bool:
    """Whether a file is a volume, by its first bytes."""
    return told(source, name="the picture") in ("gzip", "nifti")


def starts(scan: Scan) -> dict[Plane, int]:
    """The slice of each plane to begin with: where most is marked, else the middle."""
    found: dict[Plane, int] = {}
    ras = to_ras(scan.marked, scan.space) != 0 if scan.marked is not None else None
    for plane, axis in AXES.items():
        found[plane] = slices(scan.space, plane) // 2
        if ras is not None and ras.any():
            across = tuple(other for other in range(3) if other != axis)
            found[plane] = int(np.argmax(ras.sum(axis=across)))
    return found


def slice_picture(
    scan: Scan, plane: Plane, index: int, setting: str, *, masks: bool
) -> NDArray[Any]:
    """One slice in a window, its masks outlined."""
    count = slices(scan.space, plane)
    if not 0 <= index < count:
        raise PictureError(
            f"there is no {plane} slice {index}", remedy=f"they are counted from 0 to {count - 1}"
        )
    grey = window(cut(scan.volume, scan.space, plane, index), setting)
    tile = square(grey, scan.space, plane, longest=LONGEST, smooth=True)
    if not masks or scan.marked is None:
        return tile
    slab = cut(scan.marked, scan.space, plane, index)
    shown = square(slab, scan.space, plane, longest=LONGEST, smooth=False)
    drawn: NDArray[Any] = colour(tile)
    for number in np.unique(shown[shown > 0]).tolist():
        drawn = outline(drawn, shown == number, COLOURS[(number - 1) % len(COLOURS)], fill=0.0)
    return drawn


def _marked(question: Question, build: Build, space: Geometry) -> NDArray[np.uint8] | None:
    """The masks that a question of the CT recipe is about, as they came back from annotators."""
    parts = question.id.removeprefix(f"{question.item}/").split("/")
    if len(parts) != 3 or (parts[0] != "chain" and parts[:2] != ["masks", "orientation"]):
        return None
    try:
        desk = desk_of(build)
        if desk is None:
            return None
        item = Item.model_validate(
            {"id": question.item, "data": history(build.folder, question.item).now}
        )
        keys = tuple(targets_of(item))
        masks = returned_masks(item, desk, keys)
        if masks is None or masks.problems:
            return None
        marked = np.zeros(space.shape, np.uint8)
        for number, key in enumerate(keys if parts[0] == "masks" else [parts[1]], 1):
            marked[masks.labels(key) != 0] = min(number, 255)
    except (OverreadError, KeyError, AssertionError, ValueError):
        return None  # the scan is shown without: the question's own words say what is doubted
    return marked


def _stamp(path: Path) -> object:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns
