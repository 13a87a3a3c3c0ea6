"""What a question shows: pictures and scans by number, the boxes on them, and the rest in words.

A question names files of its build's source. They are looked for here and served by their place
in the question; no path comes from outside, and none goes out.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Response
from pydantic import JsonValue

from overread.build.item import Question
from overread.catalog import unknown_name
from overread.core import Record
from overread.errors import OverreadError, PictureError
from overread.pixels.encode import encode
from overread.pixels.formats import read_picture, sniff_format
from overread.pixels.image_files import image_size
from overread.pixels.planes import AXES, Plane, slice_count
from overread.site.builds.dependencies import OneBuild, QuestionId
from overread.site.builds.evidence.boxes import EvidenceBox, find_boxes, is_only_boxes
from overread.site.builds.evidence.files import (
    MAX_PICTURES,
    PICTURE_FIELDS,
    EvidenceFile,
    find_evidence_files,
)
from overread.site.builds.evidence.slices import draw_slice, is_volume, load_scan, start_slices
from overread.site.builds.open_queues import open_queue
from overread.site.dependencies import ShelfDep, require_truth
from overread.site.shelf import BuildFolder, Shelf

router = APIRouter(dependencies=[Depends(require_truth)])
_CACHE_CONTROL = "private, max-age=300"

PictureNumber = Annotated[int, Query(ge=0, le=MAX_PICTURES)]
"""Which picture of a question, from 0."""
WindowName = Literal["lung", "mediastinum", "bone"]


class EvidencePicture(Record):
    """One picture of a question."""

    title: str
    kind: Literal["flat", "volume", "none"]
    """'none' where it cannot be shown."""
    problem: str
    """Why it cannot."""
    width: int
    """In pixels, in which boxes are given; 0 for a volume."""
    height: int
    boxes: list[EvidenceBox]


class EvidenceVolume(Record):
    """A scan of a question: how many slices there are, and where to begin."""

    counts: dict[str, int]
    """Plane → slices, counted from 0 at the left, the back or the feet."""
    starts: dict[str, int]
    """Plane → the slice where most is marked, else the middle one."""
    masks: bool
    """Whether the question is about masks, which can be drawn on the slices."""


@dataclass(frozen=True)
class QuestionEvidence:
    """The evidence of one question: its pictures, and the shown data that is not drawn on them."""

    shown: dict[str, JsonValue]
    pictures: list[EvidencePicture]


def collect_evidence(question: Question, build: BuildFolder, shelf: Shelf) -> QuestionEvidence:
    """The pictures of a question, and what is left to be read."""
    try:
        pieces = find_evidence_files(question, build, shelf)
    except OverreadError as error:
        pieces = [EvidenceFile("picture", None, error.what)]
    boxes = find_boxes(question.shown)
    pictures = []
    for piece in pieces:
        told_ = _to_evidence_picture(piece, boxes)
        boxes = [] if told_.kind == "flat" else boxes  # they belong to the first flat picture
        pictures.append(told_)
    drawn = any(picture.boxes for picture in pictures)
    # A name is of no use where the picture is there, and all there is where it is not.
    there = bool(pictures) and all(picture.kind != "none" for picture in pictures)
    hidden = {name for name in PICTURE_FIELDS if name in question.shown} if there else set()
    if drawn:
        hidden |= {n for n in ("box", "boxes") if n in question.shown and is_only_boxes(question.shown[n])}
    shown = {name: value for name, value in question.shown.items() if name not in hidden}
    return QuestionEvidence(shown, pictures)


@router.get("/builds/{build}/queue/picture", response_class=Response)
def get_picture(build: OneBuild, shelf: ShelfDep, question: QuestionId, n: PictureNumber = 0) -> Response:
    """A flat picture of a question as PNG, its pixels as they are stored."""
    source = _find_source(build, shelf, question, n)
    if is_volume(source):
        raise PictureError("this is a scan", remedy="ask for its slices")
    pixels = read_picture(source, name="the picture")
    if pixels.ndim != 2 and pixels.shape[2:] != (3,):
        raise PictureError("this file holds no flat picture")
    return Response(encode(pixels), media_type="image/png", headers={"cache-control": _CACHE_CONTROL})


@router.get("/builds/{build}/queue/volume")
def get_volume(
    build: OneBuild, shelf: ShelfDep, question: QuestionId, n: PictureNumber = 0
) -> EvidenceVolume:
    """How many slices a scan of a question has, and where to begin."""
    asked = _find_question(build, question)
    scan = load_scan(_find_source(build, shelf, question, n), asked, build)
    return EvidenceVolume(
        counts={plane: slice_count(scan.space, plane) for plane in AXES},
        starts={str(plane): at for plane, at in start_slices(scan).items()},
        masks=scan.marked is not None,
    )


@router.get("/builds/{build}/queue/slice", response_class=Response)
def get_slice(
    build: OneBuild,
    shelf: ShelfDep,
    question: QuestionId,
    index: Annotated[int, Query(ge=0, le=100_000)],
    n: PictureNumber = 0,
    plane: Plane = "axial",
    window: WindowName = "lung",
    *,
    masks: bool = True,
) -> Response:
    """One slice of a scan of a question as PNG, with square pixels."""
    asked = _find_question(build, question)
    scan = load_scan(_find_source(build, shelf, question, n), asked, build)
    pixels = draw_slice(scan, plane, index, window, masks=masks)
    return Response(encode(pixels), media_type="image/png", headers={"cache-control": _CACHE_CONTROL})


def _find_question(build: BuildFolder, name: str) -> Question:
    with open_queue(build.folder) as queue:
        found = queue.questions.get(name)
        if found is None:
            raise unknown_name("question", name[:200], queue.questions)
    return found


def _find_source(build: BuildFolder, shelf: Shelf, question: str, number: int) -> Path | bytes:
    pieces = find_evidence_files(_find_question(build, question), build, shelf)
    if number >= len(pieces):
        raise PictureError(f"the question has {len(pieces)} pictures")
    piece = pieces[number]
    if piece.source is None:
        raise PictureError(piece.problem)
    return piece.source


def _to_evidence_picture(piece: EvidenceFile, boxes: list[EvidenceBox]) -> EvidencePicture:
    kind: Literal["flat", "volume", "none"] = "none"
    width = height = 0
    problem = piece.problem
    if piece.source is not None:
        try:
            if is_volume(piece.source):
                kind = "volume"
            else:
                width, height = _picture_size(piece.source)
                kind = "flat"
        except OverreadError as error:
            problem = error.what
    own = boxes if kind == "flat" else []
    return EvidencePicture(
        title=piece.title, kind=kind, problem=problem, width=width, height=height, boxes=own
    )


def _picture_size(source: Path | bytes) -> tuple[int, int]:
    """Width and height of a flat picture, from its header where that tells."""
    if sniff_format(source, name="the picture") in ("png", "jpeg"):
        return image_size(source, name="the picture")
    pixels = read_picture(source, name="the picture")
    if pixels.ndim != 2 and pixels.shape[2:] != (3,):
        raise PictureError("this file holds no flat picture")
    return int(pixels.shape[1]), int(pixels.shape[0])
