"""Slices of the scan of a question, with the masks that it is about drawn on them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.build.item import Item, Question
from overread.build.ledger.last_run import load_last_context
from overread.build.ledger.queries import load_history
from overread.build.rexgroundingct.mask_step import load_masks
from overread.build.rexgroundingct.tasks import targets_of
from overread.core import Geometry
from overread.errors import OverreadError, PictureError
from overread.pixels.draw import COLOURS, draw_outline, to_rgb
from overread.pixels.formats import VOLUME_FORMATS, sniff_format
from overread.pixels.geometry import Array, to_ras
from overread.pixels.nifti import read_volume
from overread.pixels.planes import AXES, Plane, extract_slice, resample_square, slice_count
from overread.pixels.windows import apply_window
from overread.site.lru_cache import LruCache, file_stamp
from overread.site.shelf import BuildFolder

MAX_SIDE = 768
"""Pixels of the longer side of a slice."""


@dataclass(frozen=True)
class EvidenceScan:
    """A scan in memory."""

    volume: Array
    space: Geometry
    marked: NDArray[np.uint8] | None
    """Number of the finding that each voxel belongs to; None where no mask is asked about."""


_scans: LruCache[EvidenceScan] = LruCache(2)
"""One is read while another one's slices are still asked for."""


def load_scan(source: Path | bytes, question: Question, build: BuildFolder) -> EvidenceScan:
    """The scan of a question, read once and kept for its slices."""

    def read() -> EvidenceScan:
        volume, space = read_volume(source, name="the scan")
        return EvidenceScan(volume, space, _load_masks(question, build, space))

    mark = hash(source) if isinstance(source, bytes) else source
    stamp = None if isinstance(source, bytes) else file_stamp(source)
    return _scans.get((mark, build.folder, question.id), read, stamp=stamp)


def is_volume(source: Path | bytes) -> bool:
    """Whether a file is a volume, by its first bytes."""
    return sniff_format(source, name="the picture") in VOLUME_FORMATS


def start_slices(scan: EvidenceScan) -> dict[Plane, int]:
    """The slice of each plane to begin with: where most is marked, else the middle."""
    found: dict[Plane, int] = {}
    ras = to_ras(scan.marked, scan.space) != 0 if scan.marked is not None else None
    for plane, axis in AXES.items():
        found[plane] = slice_count(scan.space, plane) // 2
        if ras is not None and ras.any():
            across = tuple(other for other in range(3) if other != axis)
            found[plane] = int(np.argmax(ras.sum(axis=across)))
    return found


def draw_slice(scan: EvidenceScan, plane: Plane, index: int, setting: str, *, masks: bool) -> NDArray[Any]:
    """One slice in a window, its masks outlined."""
    count = slice_count(scan.space, plane)
    if not 0 <= index < count:
        raise PictureError(
            f"there is no {plane} slice {index}", remedy=f"they are counted from 0 to {count - 1}"
        )
    grey = apply_window(extract_slice(scan.volume, scan.space, plane, index), setting)
    tile = resample_square(grey, scan.space, plane, longest=MAX_SIDE, smooth=True)
    if not masks or scan.marked is None:
        return tile
    slab = extract_slice(scan.marked, scan.space, plane, index)
    shown = resample_square(slab, scan.space, plane, longest=MAX_SIDE, smooth=False)
    drawn: NDArray[Any] = to_rgb(tile)
    for number in np.unique(shown[shown > 0]).tolist():
        drawn = draw_outline(drawn, shown == number, COLOURS[(number - 1) % len(COLOURS)], fill=0.0)
    return drawn


def _load_masks(question: Question, build: BuildFolder, space: Geometry) -> NDArray[np.uint8] | None:
    """The masks that a question of the CT recipe is about, as they came back from annotators."""
    parts = question.id.removeprefix(f"{question.item}/").split("/")
    if len(parts) != 3 or (parts[0] not in ("chain", "qa") and parts[:2] != ["masks", "orientation"]):
        return None
    asked = parts[1].partition("-")[0]
    try:
        context = load_last_context(build.folder)
        if context is None:
            return None
        item = Item.model_validate(
            {"id": question.item, "data": load_history(build.folder, question.item).now}
        )
        keys = tuple(targets_of(item))
        masks = load_masks(item, context, keys)
        if masks is None or masks.problems:
            return None
        marked = np.zeros(space.shape, np.uint8)
        for number, key in enumerate(keys if parts[0] == "masks" else [asked], 1):
            marked[masks.labels(key) != 0] = min(number, 255)
    except (OverreadError, KeyError, AssertionError, ValueError):
        return None  # the scan is shown without: the question's own words say what is doubted
    return marked
