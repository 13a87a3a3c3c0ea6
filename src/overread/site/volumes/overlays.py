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

from overread.catalog import unknown
from overread.core import Entry, Finding, Geometry, Mask, Reading
from overread.errors import NotThere, OverreadError, Refused, UsageError
from overread.metrics.masks.components import Instances, coordinates, entities
from overread.metrics.masks.instances import Judged, counting, judged
from overread.metrics.masks.runs import Runs, read_runs, united
from overread.metrics.masks.settings import MaskSettings
from overread.pixels.geometry import to_ras
from overread.runs.kept import digest, identity
from overread.runs.score import RunFiles
from overread.site.shelf import Run, Split
from overread.site.volumes.cuts import Cut, Frame

Labels = NDArray[np.uint8]
Kind = Literal["truth", "prediction", "compare"]
SETTINGS = MaskSettings()
HIT, MISS, ALARM = 1, 2, 3
"""Values of a comparison: in both, only in the truth, only in the prediction."""
_MOST_RUNS = 20_000_000
"""Runs of all masks that are kept together: some hundred megabytes."""


class MaskShelf:
    """Mask files that were read lately, as runs."""

    def __init__(self) -> None:
        """Begin empty."""
        self._lock = threading.Lock()
        self._read: OrderedDict[str, list[Runs]] = OrderedDict()

    def channel(self, source: Path | bytes, region: Mask, shape: tuple[int, int, int]) -> Runs:
        """The runs of one region."""
        key = digest(*identity(source), shape, region.channels)
        with self._lock:
            found = self._read.get(key)
        if found is None:
            found = read_runs(source, shape, region.channels, name=f"the mask of {region.picture}")
            with self._lock:
                self._read[key] = found
                while len(self._read) > 1 and self._total() > _MOST_RUNS:
                    self._read.popitem(last=False)
        if not 0 <= region.channel < len(found):
            raise UsageError(f"a mask of {len(found)} channels has none numbered {region.channel}")
        runs = found[region.channel]
        return runs if region.entity is None else runs.taken(runs.label == region.entity)

    def _total(self) -> int:
        return sum(len(runs) for runs_of in self._read.values() for runs in runs_of)


MASKS = MaskShelf()
"""The one that the page uses."""


@dataclass(frozen=True)
class Marked:
    """What was marked for one sentence, or why that cannot be told."""

    runs: Runs | None
    tag: str
    """Changes when the files do."""
    problem: str = ""

    @cached_property
    def lesions(self) -> Instances | None:
        """The connected lesions that count in the official scores."""
        return counting(self.runs, SETTINGS)[1] if self.runs is not None else None


def true_masks(split: Split, entry: Entry, picture: str, space: Geometry) -> dict[str, Marked]:
    """Sentence → its mask in the truth, where it has one in this picture."""
    found: dict[str, Marked] = {}
    for place, finding in enumerate(entry.truth.findings if entry.truth else ()):
        regions = _regions(finding, picture)
        if regions:
            found[finding.query or str(place)] = _united(split.release, regions, space)
    return found


def predicted_masks(
    run: Run, reading: Reading | None, picture: str, space: Geometry
) -> dict[str, Marked]:
    """Sentence → what a reading marked for it in this picture."""
    found: dict[str, list[Mask]] = {}
    for finding in (reading.findings or ()) if reading is not None else ():
        found.setdefault(finding.query or "", []).extend(_regions(finding, picture))
    files = RunFiles(run.folder)
    return {query: _united(files, own, space) for query, own in found.items() if own}


def _regions(finding: Finding, picture: str) -> list[Mask]:
    return [one for one in finding.regions if isinstance(one, Mask) and one.picture == picture]


def _united(files: Any, regions: list[Mask], space: Geometry) -> Marked:
    try:
        sources = [files.source(region.file) for region in regions]
        tag = digest(*(identity(source) for source in sources), [r.model_dump() for r in regions])
        read = [
            MASKS.channel(source, region, space.shape)
            for source, region in zip(sources, regions, strict=True)
        ]
    except NotThere:
        return Marked(None, "absent", "the mask is not there")
    except Refused:
        return Marked(None, "refused", "the mask was refused: `overread check` says why")
    except OverreadError as error:
        return Marked(None, digest(error.what), error.what)
    return Marked(read[0] if len(read) == 1 else united(read), tag)


def held_against(truth: Marked, predicted: Marked | None) -> Judged | None:
    """The official rule on one finding; None where one of both cannot be read or is not there."""
    if truth.runs is None or predicted is None or predicted.runs is None:
        return None
    return judged(entities(truth.runs), predicted.runs, SETTINGS)


def reading_of(run: Run, case: str, sample: int) -> Reading | None:
    """The last reading of a case in a run; the others are not parsed, since runs are long."""
    from pydantic import ValidationError

    mark = f'"{case}"'.encode()
    found = None
    try:
        with (run.folder / "readings.jsonl").open("rb") as file:
            for line in file:
                if mark not in line[:400] or not line.endswith(b"\n"):
                    continue
                try:
                    reading = Reading.model_validate_json(line)
                except ValidationError:
                    continue  # damaged: as if it had not been read
                if (reading.case_id, reading.sample) == (case, sample):
                    found = reading
    except OSError:
        raise NotThere(f"the readings of the run {run.name} are not there") from None
    return found


# ---- the voxels of a mask ------------------------------------------------------------------


def chosen(kind: Kind, query: str, truth: dict[str, Marked], made: dict[str, Marked]) -> Layer:
    """The mask that is asked for, ready to be cut."""
    if kind == "truth":
        return Layer(_known(truth, query), None, kind)
    if kind == "prediction":
        return Layer(None, _known(made, query), kind)
    return Layer(_known(truth, query), made.get(query), kind)


def _known(masks: dict[str, Marked], query: str) -> Marked:
    if query not in masks:
        raise unknown("mask", query, masks)
    found = masks[query]
    if found.runs is None:
        raise UsageError(found.problem)
    return found


@dataclass(frozen=True)
class Layer:
    """Labels of one finding: entities of the truth, a prediction, or a comparison of both."""

    truth: Marked | None
    predicted: Marked | None
    kind: Kind

    @property
    def tag(self) -> str:
        """Changes when the files do."""
        return digest(self.kind, *(one.tag for one in (self.truth, self.predicted) if one))

    @property
    def _runs(self) -> list[Runs | None]:
        return [one.runs if one is not None else None for one in (self.truth, self.predicted)]

    def cut(self, space: Geometry, *, frame: Frame, step: int) -> Cut:
        """The box around all of them, on the same grid as a volume of that frame and step."""
        boxes = [_ends(runs) for runs in self._runs if runs is not None and len(runs)]
        low = np.min([one[0] for one in boxes], axis=0) if boxes else np.zeros(3, np.int64)
        stop = np.max([one[1] for one in boxes], axis=0) if boxes else np.ones(3, np.int64)
        whole = Cut("stored", _three(low), _three(stop), (1, 1, 1))
        if frame == "patient":
            whole = _turned(whole, space)
        # From the last point of the coarser grid before the box, so that no answer is empty.
        first = _three(np.array(whole.first) // step * step)
        return Cut(frame, first, whole.stop, (step, step, step))

    def array(self, space: Geometry, cut: Cut) -> Labels:
        """The labels within a cut that `cut` gave."""
        stored = Cut(cut.frame, cut.first, cut.stop, (1, 1, 1))
        if cut.frame == "patient":
            stored = _turned(stored, space, back=True)
        made = self._painted(stored)
        if cut.frame == "patient":
            small = space.model_copy(update={"shape": made.shape})
            made = cast(Labels, to_ras(made, small))
        return made[tuple(slice(None, None, step) for step in cut.step)]

    def _painted(self, box: Cut) -> Labels:
        truth, predicted = (painted(runs, box) if runs is not None else None for runs in self._runs)
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


def painted(runs: Runs, box: Cut) -> Labels:
    """Runs as an array of the stored voxels of a box that holds them all; labels end at 255."""
    low, size = np.array(box.first), np.array(box.shape)
    h, w, d = (axis.astype(np.int64) for axis in coordinates(runs))
    many = (runs.stop - runs.start).astype(np.int64)
    flat: Labels = np.zeros(int(np.prod(size)), np.uint8)
    first = (h - low[0]) + size[0] * ((w - low[1]) + size[1] * (d - low[2]))
    within = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
    flat[np.repeat(first, many) + within] = np.repeat(np.minimum(runs.label, 255), many)
    return flat.reshape(box.shape, order="F")


def _ends(runs: Runs) -> tuple[NDArray[Any], NDArray[Any]]:
    h, w, d = coordinates(runs)
    low = np.array([h.min(), w.min(), d.min()])
    stop = np.array([(h + (runs.stop - runs.start)).max(), w.max() + 1, d.max() + 1])
    return low, stop


def _turned(cut: Cut, space: Geometry, *, back: bool = False) -> Cut:
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
    return Cut(frame, _three(np.array(first)), _three(np.array(stop)), (1, 1, 1))


def _three(numbers: NDArray[Any]) -> tuple[int, int, int]:
    return int(numbers[0]), int(numbers[1]), int(numbers[2])
