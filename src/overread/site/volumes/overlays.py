"""Masks over a volume: what is true, what a run marked, and where the two meet.

Masks are read as runs of voxels and kept so, which is small; an array exists only of the box that
is asked for.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from overread.catalog import unknown_name
from overread.core import Entry, Finding, Geometry, Mask, Reading
from overread.errors import NotThere, OverreadError, Refused, UsageError
from overread.metrics.masks.components import Instances, coordinates, entities
from overread.metrics.masks.instances import MaskMatch, match_finding, select_components
from overread.metrics.masks.settings import MaskSettings
from overread.metrics.masks.voxel_runs import VoxelRuns, read_runs, unite_masks
from overread.pixels.geometry import to_ras
from overread.runs.reading_files import RunFiles
from overread.site.shelf import Run, Split
from overread.site.volumes.voxel_blocks import Frame, VoxelBlock
from overread.storage.digests import digest, file_identity

Labels = NDArray[np.uint8]
Kind = Literal["truth", "prediction", "compare"]
SETTINGS = MaskSettings()
HIT, MISS, ALARM = 1, 2, 3
"""Values of a comparison: in both, only in the truth, only in the prediction."""
_MAX_RUNS = 20_000_000
"""Runs of all masks that are kept together: some hundred megabytes."""


class MaskCache:
    """Mask files that were read lately, as runs."""

    def __init__(self) -> None:
        """Begin empty."""
        self._lock = threading.Lock()
        self._read: OrderedDict[str, list[VoxelRuns]] = OrderedDict()

    def channel(self, source: Path | bytes, region: Mask, shape: tuple[int, int, int]) -> VoxelRuns:
        """The runs of one region."""
        key = digest(*file_identity(source), shape, region.channels)
        with self._lock:
            found = self._read.get(key)
        if found is None:
            found = read_runs(source, shape, region.channels, name=f"the mask of {region.picture}")
            with self._lock:
                self._read[key] = found
                while len(self._read) > 1 and self._total() > _MAX_RUNS:
                    self._read.popitem(last=False)
        if not 0 <= region.channel < len(found):
            raise UsageError(f"a mask of {len(found)} channels has none numbered {region.channel}")
        runs = found[region.channel]
        return runs if region.entity is None else runs.select(runs.label == region.entity)

    def _total(self) -> int:
        return sum(len(runs) for runs_of in self._read.values() for runs in runs_of)


MASKS = MaskCache()
"""The one that the page uses."""


@dataclass(frozen=True)
class FindingMask:
    """The mask of one sentence as runs of voxels, or why it cannot be read."""

    runs: VoxelRuns | None
    tag: str
    """Changes when the files do."""
    problem: str = ""

    @cached_property
    def lesions(self) -> Instances | None:
        """The connected lesions that count in the official scores."""
        return select_components(self.runs, SETTINGS)[1] if self.runs is not None else None


def load_truth_masks(split: Split, entry: Entry, picture: str, space: Geometry) -> dict[str, FindingMask]:
    """Sentence → its mask in the truth, where it has one in this picture."""
    found: dict[str, FindingMask] = {}
    for place, finding in enumerate(entry.truth.findings if entry.truth else ()):
        regions = _regions(finding, picture)
        if regions:
            found[finding.query or str(place)] = _load_mask(split.release, regions, space)
    return found


def load_run_masks(
    run: Run, reading: Reading | None, picture: str, space: Geometry
) -> dict[str, FindingMask]:
    """Sentence → what a reading marked for it in this picture."""
    found: dict[str, list[Mask]] = {}
    for finding in (reading.findings or ()) if reading is not None else ():
        found.setdefault(finding.query or "", []).extend(_regions(finding, picture))
    files = RunFiles(run.folder)
    return {query: _load_mask(files, own, space) for query, own in found.items() if own}


def _regions(finding: Finding, picture: str) -> list[Mask]:
    return [one for one in finding.regions if isinstance(one, Mask) and one.picture == picture]


def _load_mask(files: Any, regions: list[Mask], space: Geometry) -> FindingMask:
    try:
        sources = [files.source(region.file) for region in regions]
        tag = digest(*(file_identity(source) for source in sources), [r.model_dump() for r in regions])
        read = [
            MASKS.channel(source, region, space.shape)
            for source, region in zip(sources, regions, strict=True)
        ]
    except NotThere:
        return FindingMask(None, "absent", "the mask is missing")
    except Refused:
        return FindingMask(None, "refused", "the mask was refused: `overread check` says why")
    except OverreadError as error:
        return FindingMask(None, digest(error.what), error.what)
    return FindingMask(read[0] if len(read) == 1 else unite_masks(read), tag)


def match_masks(truth: FindingMask, predicted: FindingMask | None) -> MaskMatch | None:
    """The official rule on one finding; None where one of both cannot be read or is not there."""
    if truth.runs is None or predicted is None or predicted.runs is None:
        return None
    return match_finding(entities(truth.runs), predicted.runs, SETTINGS)


# ---- the voxels of a mask ------------------------------------------------------------------


def select_layer(
    kind: Kind, query: str, truth: dict[str, FindingMask], made: dict[str, FindingMask]
) -> Layer:
    """The mask that is asked for, ready to be cut."""
    if kind == "truth":
        return Layer(_find_mask(truth, query), None, kind)
    if kind == "prediction":
        return Layer(None, _find_mask(made, query), kind)
    return Layer(_find_mask(truth, query), made.get(query), kind)


def _find_mask(masks: dict[str, FindingMask], query: str) -> FindingMask:
    if query not in masks:
        raise unknown_name("mask", query, masks)
    found = masks[query]
    if found.runs is None:
        raise UsageError(found.problem)
    return found


@dataclass(frozen=True)
class Layer:
    """Labels of one finding: entities of the truth, a prediction, or a comparison of both."""

    truth: FindingMask | None
    predicted: FindingMask | None
    kind: Kind

    @property
    def tag(self) -> str:
        """Changes when the files do."""
        return digest(self.kind, *(one.tag for one in (self.truth, self.predicted) if one))

    @property
    def _runs(self) -> list[VoxelRuns | None]:
        return [one.runs if one is not None else None for one in (self.truth, self.predicted)]

    def block(self, space: Geometry, *, frame: Frame, step: int) -> VoxelBlock:
        """The box around all of them, on the same grid as a volume of that frame and step."""
        boxes = [_bounds(runs) for runs in self._runs if runs is not None and len(runs)]
        low = np.min([one[0] for one in boxes], axis=0) if boxes else np.zeros(3, np.int64)
        stop = np.max([one[1] for one in boxes], axis=0) if boxes else np.ones(3, np.int64)
        whole = VoxelBlock("stored", _triple(low), _triple(stop), (1, 1, 1))
        if frame == "patient":
            whole = _change_frame(whole, space)
        # From the last point of the coarser grid before the box, so that no answer is empty.
        first = _triple(np.array(whole.first) // step * step)
        return VoxelBlock(frame, first, whole.stop, (step, step, step))

    def label_array(self, space: Geometry, cut: VoxelBlock) -> Labels:
        """The labels within a cut that `cut` gave."""
        stored = VoxelBlock(cut.frame, cut.first, cut.stop, (1, 1, 1))
        if cut.frame == "patient":
            stored = _change_frame(stored, space, back=True)
        made = self._paint(stored)
        if cut.frame == "patient":
            small = space.model_copy(update={"shape": made.shape})
            made = cast(Labels, to_ras(made, small))
        return made[tuple(slice(None, None, step) for step in cut.step)]

    def _paint(self, box: VoxelBlock) -> Labels:
        truth, predicted = (paint_runs(runs, box) if runs is not None else None for runs in self._runs)
        if self.kind == "truth" and truth is not None:
            return truth
        if self.kind == "prediction" and predicted is not None:
            return predicted
        made = np.zeros(box.shape, np.uint8, order="F")
        if truth is not None:
            made[truth > 0] = MISS
        if predicted is not None:
            marked = predicted > 0
            made[marked] = np.where(made[marked] == MISS, HIT, ALARM)
        return made


def paint_runs(runs: VoxelRuns, box: VoxelBlock) -> Labels:
    """Runs as an array of the stored voxels of a box that holds them all; labels end at 255."""
    low, size = np.array(box.first), np.array(box.shape)
    h, w, d = (axis.astype(np.int64) for axis in coordinates(runs))
    many = (runs.stop - runs.start).astype(np.int64)
    flat: Labels = np.zeros(int(np.prod(size)), np.uint8)
    first = (h - low[0]) + size[0] * ((w - low[1]) + size[1] * (d - low[2]))
    within = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
    flat[np.repeat(first, many) + within] = np.repeat(np.minimum(runs.label, 255), many)
    return flat.reshape(box.shape, order="F")


def _bounds(runs: VoxelRuns) -> tuple[NDArray[Any], NDArray[Any]]:
    h, w, d = coordinates(runs)
    low = np.array([h.min(), w.min(), d.min()])
    stop = np.array([(h + (runs.stop - runs.start)).max(), w.max() + 1, d.max() + 1])
    return low, stop


def _change_frame(cut: VoxelBlock, space: Geometry, *, back: bool = False) -> VoxelBlock:
    """The same box in the patient's axes, or back in the stored ones."""
    letters = ("LR", "PA", "IS")
    order = [next(i for i, own in enumerate(space.axes) if own in pair) for pair in letters]
    flips = [space.axes[stored] == pair[0] for stored, pair in zip(order, letters, strict=True)]
    first, stop = [0, 0, 0], [0, 0, 0]
    for axis, (stored, flipped) in enumerate(zip(order, flips, strict=True)):
        source, target = (axis, stored) if back else (stored, axis)
        size = space.shape[stored]
        ends = cut.first[source], cut.stop[source]
        first[target], stop[target] = (size - ends[1], size - ends[0]) if flipped else ends
    frame: Frame = "stored" if back else "patient"
    return VoxelBlock(frame, _triple(np.array(first)), _triple(np.array(stop)), (1, 1, 1))


def _triple(numbers: NDArray[Any]) -> tuple[int, int, int]:
    return int(numbers[0]), int(numbers[1]), int(numbers[2])
