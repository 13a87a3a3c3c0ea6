"""Volumes of a case, whole or cropped and coarser; single slices; masks and facts over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from overread.core import Entry, Geometry, Record, Volume
from overread.errors import UsageError
from overread.pixels.geometry import ras_geometry
from overread.pixels.planes import Plane
from overread.site.dependencies import OneDataset, OneEntry, OneSplit, PathId, ShelfDep, require_truth
from overread.site.runs.reading_index import index_of_run
from overread.site.shelf import Run
from overread.site.strip_paths import strip_paths
from overread.site.volumes.byte_responses import LazyBytes, respond
from overread.site.volumes.cache import CACHE, OpenVolume
from overread.site.volumes.mask_facts import (
    FindingFacts,
    MarkedSentence,
    SurfaceDistances,
    list_finding_facts,
    list_marked_sentences,
    measure_distances,
)
from overread.site.volumes.overlays import FindingMask, Layer, load_run_masks, load_truth_masks, select_layer
from overread.site.volumes.slices import slice_png
from overread.site.volumes.voxel_blocks import MAX_STEP, Frame, nifti_header, parse_block
from overread.storage.digests import digest

router = APIRouter(tags=["volumes"])
NIFTI = "application/x-nifti"
_FILES: dict[int | str, dict[str, Any]] = {
    200: {"content": {NIFTI: {"schema": {"type": "string", "format": "binary"}}}},
    206: {"description": "The range of bytes that was asked for."},
    304: {"description": "Not modified."},
    416: {"description": "Range not satisfiable."},
}
_VOLUME_PATH = "/volumes/{dataset}/{split}/{case}/{name}"
_TRUTH = [Depends(require_truth)]

OneRunName = Annotated[str, Query(max_length=200, pattern=r"^[A-Za-z0-9_.#-]+$")]
"""Id of the run whose masks are meant."""
Sample = Annotated[int, Query(ge=0, le=9999)]
"""Which of several readings of the case."""


class VolumeGeometry(Record):
    """Where the voxels of a volume lie, in both frames, and how bright they are."""

    stored: Geometry
    """As in the file."""
    patient: Geometry
    """With the axes turned to the right, the front and the head."""
    low: int | None
    high: int | None
    """Least and greatest HU; absent until the volume was inflated, which asking begins."""


class VolumeFindings(Record):
    """What is true of a volume, and how a run met it."""

    findings: tuple[FindingFacts, ...]
    failed: str = ""
    """Why the run has nothing for this case, where that is so."""


class VolumeMarks(Record):
    """What a run marked in a volume; holds nothing of the truth."""

    marks: tuple[MarkedSentence, ...]
    failed: str = ""
    """Why the run has nothing for this case, where that is so."""


def _volume(entry: OneEntry, split: OneSplit, name: PathId) -> OpenVolume:
    picture = _picture(entry, name)
    return CACHE.open(split.release.pictures.data(picture), name=picture.name)


def _space(entry: OneEntry, split: OneSplit, name: PathId) -> Geometry:
    return split.release.pictures.geometry(_picture(entry, name))


def _picture(entry: Entry, name: str) -> Volume:
    picture = entry.case.picture(name)
    if not isinstance(picture, Volume):
        raise UsageError(f"{name} is no volume", remedy="flat pictures have routes of their own")
    return picture


OneVolume = Annotated[OpenVolume, Depends(_volume)]
OneSpace = Annotated[Geometry, Depends(_space)]


def _run_masks(
    entry: OneEntry,
    dataset: OneDataset,
    shelf: ShelfDep,
    name: PathId,
    space: OneSpace,
    run: OneRunName,
    sample: Sample = 0,
) -> tuple[dict[str, FindingMask], str]:
    """What a run marked in a volume, and why there is nothing where that is so."""
    found: Run = shelf.run(run)
    if (found.dataset, found.spec.split) != (dataset.id, entry.case.split):
        raise UsageError(f"the run {found.name} did not read this dataset and split")
    reading = index_of_run(found.folder).find(entry.case.id, sample)
    if reading is None:
        return {}, "the run has no reading of this case"
    if reading.error is not None:
        return {}, f"the reading failed: {strip_paths(reading.error)}"
    return load_run_masks(found, reading, name, space), ""


def _truth_masks(entry: OneEntry, split: OneSplit, name: PathId, space: OneSpace) -> dict[str, FindingMask]:
    return load_truth_masks(split, entry, name, space)


RunMasks = Annotated[tuple[dict[str, FindingMask], str], Depends(_run_masks)]
"""What the run of `?run=` marked, and why there is nothing where that is so."""
TruthMasks = Annotated[dict[str, FindingMask], Depends(_truth_masks)]
"""What is true of the volume; only for routes that may tell it."""


@dataclass(frozen=True)
class LabelGrid:
    """The voxels on which labels were asked for, and by whom."""

    request: Request
    space: Geometry
    frame: Frame
    step: int

    def labels(self, layer: Layer) -> Response:
        """A layer as NIfTI, cut to the box around it."""
        cut = layer.block(self.space, frame=self.frame, step=self.step)
        head = nifti_header(cut.shape, np.uint8, cut.affine(self.space))

        def make() -> list[memoryview]:
            labels = np.asfortranarray(layer.label_array(self.space, cut))
            return [memoryview(head), labels.T.data.cast("B")]

        length = len(head) + int(np.prod(cut.shape, dtype=np.int64))
        tag = digest(layer.tag, cut.key, self.space.model_dump())
        return respond(self.request, LazyBytes(tag, NIFTI, length, make, compressible=True))


def _grid(
    request: Request,
    space: OneSpace,
    frame: Frame = "stored",
    step: Annotated[int, Query(ge=1, le=MAX_STEP)] = 1,
) -> LabelGrid:
    return LabelGrid(request, space, frame, step)


OneGrid = Annotated[LabelGrid, Depends(_grid)]
"""The grid of `?frame=&step=`."""


@router.get(f"{_VOLUME_PATH}/geometry")
def volume_geometry(entry: OneEntry, split: OneSplit, name: PathId, space: OneSpace) -> VolumeGeometry:
    """The geometry of a volume, at once; its voxels are inflated meanwhile."""
    source = split.release.pictures.data(_picture(entry, name))
    CACHE.preload(source, name=name)
    held = CACHE.get_open(source)
    return VolumeGeometry(
        stored=space,
        patient=ras_geometry(space),
        low=held.low if held else None,
        high=held.high if held else None,
    )


@router.head(_VOLUME_PATH, include_in_schema=False)
@router.get(_VOLUME_PATH, response_class=Response, responses=_FILES)
def volume(
    request: Request,
    held: OneVolume,
    bbox: Annotated[str, Query(max_length=150)] = "",
    frame: Frame = "stored",
    step: Annotated[str, Query(max_length=12)] = "1",
) -> Response:
    """The voxels as NIfTI (int16 HU): all, those of a box, or every so-many-th.

    `bbox` is from and to along each axis (the end excluded in voxels, included in millimetres);
    `frame` says whether it counts voxels of the file or millimetres of the patient, and which axes
    the answer has; `step` is one number from 1 to 16, or one for each axis.
    """
    cut = parse_block(held.space, bbox=bbox, frame=frame, step=step)
    head = nifti_header(cut.shape, np.int16, cut.affine(held.space), low=held.low, high=held.high)

    def make() -> list[memoryview]:
        voxels = np.asfortranarray(cut.extract(held.voxels, held.space))
        return [memoryview(head), voxels.T.data.cast("B")]

    length = len(head) + 2 * int(np.prod(cut.shape, dtype=np.int64))
    return respond(request, LazyBytes(f"{held.key}-{cut.key}", NIFTI, length, make))


@router.head(f"{_VOLUME_PATH}/slice", include_in_schema=False)
@router.get(
    f"{_VOLUME_PATH}/slice",
    response_class=Response,
    responses={200: {"content": {"image/png": {}}}, 304: _FILES[304]},
)
def volume_slice(
    request: Request,
    held: OneVolume,
    plane: Plane = "axial",
    index: Annotated[int | None, Query(ge=0, le=100_000)] = None,
    window: Annotated[str, Query(max_length=40)] = "lung",
    slab: Annotated[float, Query(ge=0, le=500, allow_inf_nan=False)] = 0,
    box: Annotated[str, Query(max_length=80)] = "",
    longest: Annotated[int, Query(ge=16, le=2048)] = 512,
) -> Response:
    """One slice as a PNG, as a radiologist sees it: the patient's right on the left.

    `index` counts from the left, the back or the feet (the middle where absent); `window` is lung,
    mediastinum, bone or centre,width in HU; `slab` takes the brightest voxel over that many
    millimetres around the slice; `box` is left,top,right,bottom in the slice's own voxels.
    """
    asked = digest(plane, index, window, slab, box, longest)

    def make() -> list[memoryview]:
        png = slice_png(held, plane=plane, index=index, setting=window, slab=slab, box=box, longest=longest)
        return [memoryview(png)]

    return respond(request, LazyBytes(f"{held.key}-{asked}", "image/png", None, make))


@router.get(f"{_VOLUME_PATH}/findings", dependencies=_TRUTH)
def volume_findings(
    entry: OneEntry,
    dataset: OneDataset,
    split: OneSplit,
    shelf: ShelfDep,
    name: PathId,
    space: OneSpace,
    run: OneRunName | None = None,
    sample: Sample = 0,
) -> VolumeFindings:
    """The findings of the truth: text, size, entities and where they lie; how a run met them."""
    true = load_truth_masks(split, entry, name, space)
    if run is None:
        return VolumeFindings(findings=list_finding_facts(entry, true, None, space))
    made, failed = _run_masks(entry, dataset, shelf, name, space, run, sample)
    return VolumeFindings(findings=list_finding_facts(entry, true, made, space), failed=failed)


@router.get(f"{_VOLUME_PATH}/marks")
def volume_marks(entry: OneEntry, space: OneSpace, marked: RunMasks) -> VolumeMarks:
    """What a run marked for each sentence of the case; says nothing of the truth."""
    made, failed = marked
    texts = {query.id: query.text for query in entry.case.queries}
    return VolumeMarks(marks=list_marked_sentences(texts, made, space), failed=failed)


@router.get(f"{_VOLUME_PATH}/distances/{{query}}", dependencies=_TRUTH)
def volume_distances(query: PathId, space: OneSpace, true: TruthMasks, marked: RunMasks) -> SurfaceDistances:
    """How far what a run marked is from one finding of the truth, in millimetres."""
    layer = select_layer("compare", query, true, marked[0])
    found = None
    if layer.truth is not None and layer.predicted is not None:
        found = measure_distances(query, layer.truth, layer.predicted, space)
    if found is None:
        raise UsageError("both masks are needed to measure distances")
    return found


@router.head(f"{_VOLUME_PATH}/truth/{{query}}", dependencies=_TRUTH, include_in_schema=False)
@router.get(f"{_VOLUME_PATH}/truth/{{query}}", dependencies=_TRUTH, response_class=Response, responses=_FILES)
def truth_mask(query: PathId, grid: OneGrid, true: TruthMasks) -> Response:
    """One finding of the truth as NIfTI labels (its entities), cut to the box around it."""
    return grid.labels(select_layer("truth", query, true, {}))


@router.head(f"{_VOLUME_PATH}/prediction/{{query}}", include_in_schema=False)
@router.get(f"{_VOLUME_PATH}/prediction/{{query}}", response_class=Response, responses=_FILES)
def predicted_mask(query: PathId, grid: OneGrid, marked: RunMasks) -> Response:
    """What a run marked for one sentence as NIfTI labels, cut to the box around it."""
    return grid.labels(select_layer("prediction", query, {}, marked[0]))


@router.head(f"{_VOLUME_PATH}/compare/{{query}}", dependencies=_TRUTH, include_in_schema=False)
@router.get(
    f"{_VOLUME_PATH}/compare/{{query}}", dependencies=_TRUTH, response_class=Response, responses=_FILES
)
def compared_mask(query: PathId, grid: OneGrid, true: TruthMasks, marked: RunMasks) -> Response:
    """Truth and prediction of one finding as NIfTI labels: 1 in both, 2 missed, 3 false alarm."""
    return grid.labels(select_layer("compare", query, true, marked[0]))
