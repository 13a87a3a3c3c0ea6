"""The masks of one case: every finding of the truth held against what the reader marked.

Each file is read once. A row holds the honest statistics, those of the worst where a prediction is
missing or cannot be used, and beside them what turns them into the official ones:

- `judged`: whether the official scorer has the finding at all; it leaves out scans without a file;
- `stops`: whether it stops at this scan's file, so that there is no official number;
- `official_change_…`: what is added to a statistic where the scorer sees another mask than we do,
  since it casts values to bytes, and takes a finding without a mask for an empty one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.core import Finding, Geometry, Mask, Volume
from overread.errors import NotThere, OverreadError, PictureError, UsageError
from overread.metrics.contract import Files, Measured, Subject, stored_as
from overread.metrics.masks.components import coordinates, entities
from overread.metrics.masks.distances import match_by_distance
from overread.metrics.masks.instances import MaskMatch, match_finding
from overread.metrics.masks.orientation import LOW_DICE, find_better_turn
from overread.metrics.masks.settings import MaskSettings
from overread.metrics.masks.voxel_runs import MaskFile, VoxelRuns, read_mask_file, unite_masks
from overread.ontology import finding_tree as ontology
from overread.pixels.masks import Shape
from overread.pixels.nifti import read_header

DEFAULT = MaskSettings()
COUNTED = (
    *("dice", "hit", "raw_dice", "raw_hit", "tp", "fp", "fn", "matched_dice_sum"),
    *("distance_tp", "distance_fp", "distance_fn"),
)
"""What the official numbers add up of a finding."""


@dataclass(frozen=True)
class _TruthMask:
    """One finding of the truth."""

    unit: str
    finding: Finding
    region: Mask

    @property
    def focal(self) -> bool:
        """Whether such a finding has one place; taken for granted where the category is unknown."""
        category = ontology().categories.get(self.finding.category or "")
        return category is None or bool(category.focal)


@stored_as("masks.measure.measure_masks")
def measure_masks(subject: Subject, *, settings: MaskSettings = DEFAULT, surfaces: bool = False) -> Measured:
    """What the mask scores add up, for every finding of the truth that has a mask.

    Without the CT there is no spacing: what is measured in millimetres is left out, and
    `no_spacing` is 1. With `surfaces` the surface statistics of each finding are there too.
    """
    asked = _truth_masks(subject)
    if not asked:
        return {}
    if subject.truth_files is None:
        raise UsageError("this subject came without the files of its release")
    space = _ct_geometry(subject, asked[0].region)
    shape = space.shape if space is not None else _ct_shape(subject, asked[0].region)
    truth = _MaskFiles(subject.truth_files, shape, binary=False)
    predicted = _PredictedMasks(subject, shape)
    rows: dict[str, dict[str, Any]] = {}
    for one in asked:
        runs = truth.runs(one.region)
        found, problem = predicted.runs(one)
        row = _row(runs, found, one, space, settings)
        official, stop = predicted.official_runs(one, found)
        row["judged"] = int(official is not None)
        if problem:
            row["problem"] = problem
        if stop:
            row |= {"stops": 1, "official_stop": stop}
        if official is not None and official is not found:
            other = _row(runs, official, one, space, settings)
            changes = {name: other[name] - row[name] for name in COUNTED if name in row}
            row |= {f"official_change_{name}": change for name, change in changes.items() if change}
        turn = find_better_turn(runs, found) if found is not None and row["raw_dice"] < LOW_DICE else None
        if turn is not None:
            row["turn"], row["turn_dice"] = turn
        if surfaces and space is not None:
            row |= _surface_row(runs, found, space)
        rows[one.unit] = row
    _add_case_shares(rows)
    return rows


@dataclass(frozen=True)
class MarkedFinding:
    """One finding of the truth that has a mask, and what the reader marked for it."""

    unit: str
    truth: VoxelRuns
    predicted: VoxelRuns | None
    """All that was marked; None where nothing was, or nothing that can be used."""
    marks: tuple[tuple[VoxelRuns, float | None], ...]
    """The same mark by mark, each with how sure the reader is of it."""
    problem: str
    """What is wrong with the prediction, in a sentence; empty where nothing is."""


def read_marked_findings(subject: Subject) -> Iterator[MarkedFinding]:
    """The masks of a case finding by finding, for what is scored beside the official numbers."""
    asked = _truth_masks(subject)
    if not asked:
        return
    if subject.truth_files is None:
        raise UsageError("this subject came without the files of its release")
    space = _ct_geometry(subject, asked[0].region)
    shape = space.shape if space is not None else _ct_shape(subject, asked[0].region)
    truth = _MaskFiles(subject.truth_files, shape, binary=False)
    predicted = _PredictedMasks(subject, shape)
    for one in asked:
        found, problem = predicted.runs(one)
        marks = _single_marks(predicted, one) if found is not None else ()
        yield MarkedFinding(one.unit, truth.runs(one.region), found, marks, problem)


def _single_marks(
    predicted: _PredictedMasks, asked: _TruthMask
) -> tuple[tuple[VoxelRuns, float | None], ...]:
    """What was marked for a finding, mark by mark, with how sure the reader is of each."""
    reader, regions = predicted._reader, predicted._regions.get(asked.unit, [])
    return tuple((reader.runs(region), region.confidence) for region in regions) if reader else ()


def _truth_masks(subject: Subject) -> list[_TruthMask]:
    """The findings of the truth that have a mask."""
    found = []
    for place, finding in enumerate(subject.entry.truth.findings if subject.entry.truth else ()):
        masks = [region for region in finding.regions if isinstance(region, Mask)]
        if len(masks) > 1:
            raise PictureError(
                f"finding {finding.query or place} of the truth has {len(masks)} masks",
                where=masks[0].file,
                remedy="a finding has one channel, and entities are its labels",
            )
        if masks:
            found.append(_TruthMask(finding.query or str(place), finding, masks[0]))
    return found


def _ct_geometry(subject: Subject, region: Mask) -> Geometry | None:
    """The geometry of the CT; None where it is not there. Mask headers are not believed."""
    try:
        return subject.geometry(subject.entry.case.picture(region.picture))
    except PictureError:
        return None


def _ct_shape(subject: Subject, region: Mask) -> Shape:
    """The shape of a CT that is not there: as the release states it, or as the mask has it."""
    picture = subject.entry.case.picture(region.picture)
    if isinstance(picture, Volume) and picture.shape is not None:
        return picture.shape
    assert subject.truth_files is not None
    found = read_header(subject.truth_files.source(region.file), name=region.file).shape
    if len(found) == 4 and found[0] == region.channels:
        return (found[1], found[2], found[3])
    raise PictureError(
        f"the shape of the CT is unknown, and cannot be taken from a mask of shape {found}",
        where=region.file,
        remedy="name the folder of the CTs",
    )


class _MaskFiles:
    """Runs of mask channels; a file is read when it is first asked for, and once."""

    def __init__(self, files: Files, shape: Shape, *, binary: bool, official: bool = False) -> None:
        self._files, self._shape, self._binary, self._official = files, shape, binary, official
        self._read: dict[tuple[str, int], MaskFile | OverreadError] = {}

    def runs(self, region: Mask) -> VoxelRuns:
        """The runs of one region; raises again what was raised when its file was read."""
        key = (region.file, region.channels)
        if key not in self._read:
            try:
                source = self._files.source(region.file)
                self._read[key] = read_mask_file(
                    source,
                    self._shape,
                    region.channels,
                    name=region.file,
                    binary=self._binary,
                    official=self._official,
                )
            except OverreadError as error:
                self._read[key] = error
        found = self._read[key]
        if isinstance(found, OverreadError):
            raise found
        if not 0 <= region.channel < len(found.runs):
            raise PictureError(f"channel {region.channel} was asked of {len(found.runs)}", where=region.file)
        runs = found.runs[region.channel]
        return runs if region.entity is None else runs.select(runs.label == region.entity)

    def is_plain(self, region: Mask) -> bool:
        """Whether a file that was read is stored as the official ones are."""
        found = self._read.get((region.file, region.channels))
        return isinstance(found, MaskFile) and found.plain


class _PredictedMasks:
    """What the reader marked for each finding, or why there is nothing that can be judged."""

    def __init__(self, subject: Subject, shape: Shape) -> None:
        # A submission's file that cannot be used is named by its failed reading: the scorer sees it.
        reading = subject.reading
        self._answered = subject.usable_reading is not None
        self._regions: dict[str, list[Mask]] = {}
        for finding in (reading.findings or ()) if reading else ():
            masks = [region for region in finding.regions if isinstance(region, Mask)]
            self._regions.setdefault(finding.query or "", []).extend(masks)
        known = [region for regions in self._regions.values() for region in regions]
        files = subject.reading_files
        if known and files is None:
            raise UsageError("this subject came without the files of its reading")
        binary = all(region.entity is None for region in known)
        self._reader = _MaskFiles(files, shape, binary=binary) if files is not None else None
        self._scorer = _MaskFiles(files, shape, binary=True, official=True) if files is not None else None
        self._empty = VoxelRuns(shape, *(np.zeros(0, dtype=np.int32) for _ in range(3)))
        self._handed_in = bool(known)

    def runs(self, asked: _TruthMask) -> tuple[VoxelRuns | None, str]:
        """The runs marked for a finding; or None, and a sentence where something is wrong."""
        if not self._answered:
            return None, ""
        regions = self._regions.get(asked.unit, [])
        if not regions or self._reader is None:
            return None, f"finding {asked.unit} was given no mask"
        strange = [r.picture for r in regions if r.picture != asked.region.picture]
        if strange:
            return None, f"finding {asked.unit} was marked in '{strange[0]}', where it is not"
        try:
            return unite_masks([self._reader.runs(region) for region in regions]), ""
        except OverreadError as error:
            return None, str(error)

    def official_runs(self, asked: _TruthMask, honest: VoxelRuns | None) -> tuple[VoxelRuns | None, str]:
        """What the official scorer sees for a finding; None where it leaves it out, with a sentence
        where it stops. `honest` is given back where it is the same.
        """
        regions = self._regions.get(asked.unit, [])
        if not self._handed_in or self._reader is None or self._scorer is None:
            return None, ""
        if not regions:
            return (self._empty if self._answered else None), ""
        if len(regions) > 1 or regions[0].entity is not None:
            return honest, ""  # a run's own masks: handed in, they are written as we read them
        if honest is not None and self._reader.is_plain(regions[0]):
            return honest, ""
        try:
            runs = self._scorer.runs(regions[0])
        except NotThere:
            return None, ""
        except OverreadError as error:
            return None, error.what
        # A reading that failed on the way is not handed in, whatever it had drawn by then.
        return (runs if self._answered else None), ""


def _row(
    truth: VoxelRuns,
    predicted: VoxelRuns | None,
    asked: _TruthMask,
    space: Geometry | None,
    settings: MaskSettings,
) -> dict[str, Any]:
    """The statistics of one finding, but for the share it has in its case."""
    drawn = entities(truth)
    best = match_finding(drawn, truth, settings)
    row: dict[str, Any] = {"findings": 1}
    if predicted is None:
        row |= _worst_counts(len(drawn))
        row |= {"predicted_voxels": 0, "shared_voxels": 0}
    else:
        ours = match_finding(drawn, predicted, settings)
        row |= _official_counts(ours, settings)
        row |= {"predicted_voxels": predicted.voxels, "shared_voxels": ours.raw_shared}
    row |= {"truth_voxels": truth.voxels, "truth_instances": len(drawn)}
    row |= {f"ceiling_{name}": value for name, value in _official_counts(best, settings).items()}
    row["no_spacing"] = int(space is None)
    if space is None:
        return row
    row |= {"spaced": 1, "focal": int(asked.focal)}
    ceiling = _distance_counts(best, space, settings, focal=asked.focal)
    row |= {f"ceiling_{name}": value for name, value in ceiling.items()}
    if predicted is None:
        return row | {"distance_tp": 0, "distance_fp": 0, "distance_fn": len(drawn)}
    return row | _distance_counts(ours, space, settings, focal=asked.focal)


def _official_counts(ours: MaskMatch, settings: MaskSettings) -> dict[str, Any]:
    """What the official rule says of one finding."""
    true = len(ours.matches)
    shared = sum(dice for _, _, dice in ours.matches)
    nothing = not len(ours.truth) and not len(ours.predicted)
    counted = not nothing and (true > 0 or settings.unmatched_dice is not None)
    mean = shared / true if true else (settings.unmatched_dice or 0.0)
    return {
        "dice": ours.dice,
        "hit": int(ours.dice >= settings.hit_threshold),
        "raw_dice": ours.raw_dice,
        "raw_hit": int(ours.raw_dice >= settings.hit_threshold),
        "tp": true,
        "fp": len(ours.predicted) - true,
        "fn": len(ours.truth) - true,
        "matched_dice_sum": shared,
        "matched_dice": mean if counted else 0.0,
        "matched_counted": int(counted),
    }


def _worst_counts(instances: int) -> dict[str, Any]:
    """What is said of a finding that cannot be judged: nothing could be worse."""
    worst: dict[str, Any] = dict.fromkeys(("dice", "raw_dice", "matched_dice_sum"), 0.0)
    worst |= dict.fromkeys(("hit", "raw_hit", "tp", "fp"), 0)
    return worst | {"fn": instances, "matched_dice": 0.0, "matched_counted": 1}


def _distance_counts(
    ours: MaskMatch, space: Geometry, settings: MaskSettings, *, focal: bool
) -> dict[str, Any]:
    """What the challenge's distances say of one finding."""
    pairs = match_by_distance(ours.truth, ours.predicted, ours.shared, space.spacing, settings, focal=focal)
    return {
        "distance_tp": len(pairs),
        "distance_fp": len(ours.predicted) - len(pairs),
        "distance_fn": len(ours.truth) - len(pairs),
    }


def _add_case_shares(rows: Mapping[str, dict[str, Any]]) -> None:
    """Add what makes a mean of case means a ratio of sums: each finding's share in its case."""
    number = sum(row["judged"] for row in rows.values())
    for row in rows.values():
        row["case_share"] = 1 / len(rows)
        row["judged_share"] = row["judged"] / number if number else 0.0
        for name in ("dice", "raw_dice"):
            row[f"{name}_share"] = row[name] / len(rows)
            row[f"{name}_judged_share"] = row[name] * row["judged_share"]
            if f"official_change_{name}" in row:
                change = row[f"official_change_{name}"]
                row[f"official_change_{name}_judged_share"] = change * row["judged_share"]
            row[f"ceiling_{name}_share"] = row[f"ceiling_{name}"] / len(rows)
        for name in ("fn", "distance_fn"):
            if name in row:
                row[f"{name}_judged"] = row[name] * row["judged"]
            if f"official_change_{name}" in row:
                row[f"official_change_{name}_judged"] = row[f"official_change_{name}"]
        if "spaced" in row:
            row["spaced_judged"] = row["judged"]


def _surface_row(truth: VoxelRuns, predicted: VoxelRuns | None, space: Geometry) -> dict[str, Any]:
    """The surface statistics of one finding, on the box around both masks."""
    from overread.metrics.masks.surface.statistics import surface_statistics, worst_statistics

    diagonal = float(np.linalg.norm(np.multiply(space.shape, space.spacing)))
    if predicted is None:
        millilitres = truth.voxels * float(np.prod(space.spacing)) / 1000
        return worst_statistics(diagonal, truth_ml=millilitres)
    one, other = crop_masks(truth, predicted)
    return surface_statistics(one, other, space.spacing, diagonal=diagonal)


def crop_masks(*masks: VoxelRuns) -> list[NDArray[np.bool_]]:
    """Masks as arrays, cut to the box around all of them.

    >>> whole = VoxelRuns((9, 9, 9), np.array([40]), np.array([42]), np.array([1]))
    >>> [array.shape for array in crop_masks(whole, whole.select(np.array([], int)))]
    [(2, 1, 1), (2, 1, 1)]
    """
    places = [coordinates(runs) for runs in masks]
    lengths = [runs.stop - runs.start for runs in masks]
    lows = [[int(axis.min()) for axis in axes] for axes in places if len(axes[0])]
    low = np.min(lows, axis=0) if lows else np.zeros(3, dtype=np.int64)
    highs = [
        [int((h + length).max()), int(w.max()) + 1, int(d.max()) + 1]
        for (h, w, d), length in zip(places, lengths, strict=True)
        if len(h)
    ]
    size = (np.max(highs, axis=0) if highs else np.ones(3, dtype=np.int64)) - low
    arrays = []
    for (h, w, d), length in zip(places, lengths, strict=True):
        flat = np.zeros(int(np.prod(size)), dtype=bool)
        first = (h - low[0]) + size[0] * ((w - low[1]) + size[1] * (d - low[2]))
        many = length.astype(np.int64)
        within = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
        flat[np.repeat(first, many) + within] = True
        arrays.append(flat.reshape(size, order="F"))
    return arrays
