"""`/api/cases`: one case as a reader may see it, and apart from it what is true of it."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Depends
from pydantic import Field, JsonValue

from overread.core import (
    Box,
    ChainLevel,
    Entry,
    Finding,
    Image,
    Mask,
    Option,
    Picture,
    Pictures,
    Query,
    Record,
    Region,
    Slices,
    VoxelBox,
    Whole,
)
from overread.core.case import captions_of
from overread.errors import OverreadError
from overread.ontology.findings import finding_tree
from overread.pixels.voxel_boxes import to_shown
from overread.site.cases.picture_info import load_picture_info
from overread.site.dependencies import AccessDep, OneEntry, OneSplit, PathId, ShelfDep, require_truth
from overread.site.runs.reading_index import index_of_run
from overread.site.shelf import Run, neighbours
from overread.site.volumes.cache import CACHE

router = APIRouter(tags=["cases"])


# Less than core's pictures: these name files.
class CasePicture(Record):
    """A picture of a case."""

    name: str
    kind: Literal["image", "volume"]
    timepoint: int | None
    """Which examination of the patient it belongs to, 1 the earliest; absent where not stated."""
    width: int | None = None
    """Pixels across a flat picture as it is stored: the frame in which boxes are given."""
    height: int | None = None
    deep: bool = False
    """Whether its greys have more than 8 bits, and `…/values` tells them."""
    shape: tuple[int, int, int] | None = None
    """Voxels of a volume, as the release states them."""
    problem: str | None = None
    """Why it cannot be shown; it need not be asked for then."""


# Less than core's Case: that has the patient and the files of its pictures.
class CaseDetail(Record):
    """What a reader may see of a case."""

    id: str
    benchmark: str
    split: str
    pictures: list[CasePicture]
    history: str | None
    instruction: str | None
    asks: Literal["answer", "report"] | None
    """What the instruction asks for: an answer in a few words, or a report."""
    options: list[Option]
    queries: list[Query]
    place: int
    """Which case of the split it is, counted from 1."""
    count: int
    """How many cases the split has."""
    previous: str | None
    next: str | None
    truth: Literal["there", "withheld", "absent"]
    """Whether its truth may be asked for, is withheld on this page, or was never released."""


# Less than core's regions, findings and steps: masks name files.
class TruePlace(Record):
    """Where something lies, without the name of any file."""

    kind: Literal["box", "mask", "slices", "whole"]
    picture: str
    x1: float | None = None
    y1: float | None = None
    x2: float | None = None
    y2: float | None = None
    label: str | None = None
    axis: str | None = None
    first: int | None = None
    last: int | None = None


class TrueFinding(Record):
    """A finding of the truth."""

    text: str
    places: list[TruePlace]
    category: str | None
    """Code of the finding's category, where it has one."""
    category_name: str | None
    """What the category covers."""
    parent_name: str | None
    """What the category's parent covers."""
    query: str | None
    """The query that it answers."""
    entities: int | None
    voxels: int | None


class TrueStep(Record):
    """A step of the reference reading."""

    kind: Literal["say", "look", "ask", "conclude"]
    text: str
    places: list[TruePlace]
    level: ChainLevel | None = None
    """How near its finding it is, where it is a link of an anatomical chain of thought."""
    query: str | None = None
    """The query that the chain leads to."""


# Less than core's PictureNote: its id may tell.
class TrueNote(Record):
    """What the release says of a picture."""

    picture: str
    modality: str | None
    sub_modality: str | None


class CaseTruth(Record):
    """What is true of a case. Absent fields were not released."""

    released: bool
    """Whether the release tells the truth of this case at all."""
    title: str | None = None
    answer: str | None = None
    answer_text: str | None = None
    captions: dict[str, str] = Field(default_factory=dict)
    """Picture → what is said of all of it."""
    findings: list[TrueFinding] = Field(default_factory=list)
    """Those that are no caption."""
    report: str | None = None
    discussion: str | None = None
    steps: list[TrueStep] = Field(default_factory=list)
    """The reference reading, step by step, where there is one."""
    notes: list[TrueNote] = Field(default_factory=list)
    longitudinal: bool | None = None
    timepoints: int | None = None
    interval: str | None = None
    icd: list[str] = Field(default_factory=list)
    """ICD-10 chapter, block and category of the diagnosis, as far as they are told."""
    protocol: str | None = None
    extra: dict[str, str] = Field(default_factory=dict)
    """Columns that are no part of the benchmark, where they are words or numbers."""


class CaseReader(Record):
    """A run that read the case."""

    run: str
    name: str
    reader: str
    who: str
    """Who read, in words: a person by name, a reader by its catalog name."""


@router.get("/cases/{dataset}/{split}/{case}")
def get_case(one: OneSplit, case: PathId, access: AccessDep) -> CaseDetail:
    """A case without its truth."""
    entry = one.entry(case)
    seen = entry.case
    absent: Literal["withheld", "absent"] = "absent" if access.truth else "withheld"
    return CaseDetail(
        id=seen.id,
        benchmark=seen.benchmark,
        split=seen.split,
        pictures=[_picture(one.release.pictures, picture) for picture in seen.pictures],
        history=seen.history,
        instruction=seen.instruction,
        asks=seen.asks,
        options=list(seen.options),
        queries=list(seen.queries),
        **neighbours(list(one.entries), case),
        truth="there" if access.truth and entry.truth is not None else absent,
    )


@router.get("/cases/{dataset}/{split}/{case}/truth", dependencies=[Depends(require_truth)])
def get_truth(entry: OneEntry, one: OneSplit) -> CaseTruth:
    """What is true of a case."""
    if entry.truth is None:
        return CaseTruth(released=False)
    truth = entry.truth
    return CaseTruth(
        released=True,
        title=truth.title,
        answer=truth.answer,
        answer_text=truth.answer_text,
        captions=captions_of(truth),
        findings=[_finding(finding) for finding in truth.findings if not _is_caption(finding)],
        report=truth.report,
        discussion=truth.discussion,
        steps=[
            TrueStep(
                kind=step.kind,
                text=step.text,
                places=[*_places(step.regions), *_voxel_places(step.regions, entry, one.release.pictures)],
                level=step.link.level if step.link else None,
                query=step.link.query if step.link else None,
            )
            for step in (truth.trace.steps if truth.trace else ())
        ],
        notes=[
            TrueNote(picture=n.picture, modality=n.modality, sub_modality=n.sub_modality) for n in truth.notes
        ],
        longitudinal=truth.longitudinal,
        timepoints=truth.timepoints,
        interval=truth.interval,
        icd=[icd for icd in (truth.icd_chapter, truth.icd_block, truth.icd_category) if icd],
        protocol=truth.protocol,
        extra=_extra(entry),
    )


@router.get("/cases/{dataset}/{split}/{case}/readers")
def get_readers(entry: OneEntry, dataset: PathId, split: PathId, shelf: ShelfDep) -> list[CaseReader]:
    """The runs on the shelf that read this case; not what they said."""
    runs = [r for r in shelf.runs.values() if r.dataset == dataset and r.spec.split == split]
    return [
        CaseReader(
            run=run.id,
            name=run.name,
            reader=run.spec.reader.name,
            who=str(run.spec.reader.arguments.get("name") or run.spec.reader.name),
        )
        for run in runs
        if _has_read(run, entry.case.id)
    ]


def _has_read(run: Run, case: str) -> bool:
    try:
        return case in index_of_run(run.folder).cases()
    except OverreadError:  # readings that cannot be opened hide no other run
        return False


def _picture(pictures: Pictures, picture: Picture) -> CasePicture:
    if isinstance(picture, Image):
        looked = load_picture_info(pictures, picture)
        return CasePicture(
            name=picture.name,
            kind="image",
            timepoint=picture.timepoint,
            width=looked.width,
            height=looked.height,
            deep=looked.deep,
            problem=looked.problem,
        )
    problem = None
    try:
        # It will be asked for next: inflated while the page is still loading.
        CACHE.preload(pictures.data(picture), name=picture.name)
    except OverreadError as error:
        problem = error.what
    return CasePicture(
        name=picture.name, kind="volume", timepoint=picture.timepoint, shape=picture.shape, problem=problem
    )


def _is_caption(finding: Finding) -> bool:
    return bool(finding.regions) and all(isinstance(one, Whole) for one in finding.regions)


def _finding(finding: Finding) -> TrueFinding:
    tree = finding_tree()
    known = tree.categories.get(finding.category or "")
    return TrueFinding(
        text=finding.text,
        places=_places(finding.regions),
        category=finding.category,
        category_name=known.name if known else None,
        parent_name=tree.parent_of(known.code).name if known else None,
        query=finding.query,
        entities=finding.entities,
        voxels=finding.voxels,
    )


def _places(regions: tuple[Region, ...]) -> list[TruePlace]:
    found = []
    for region in regions:
        match region:
            case Box():
                told = region.model_dump(include={"x1", "y1", "x2", "y2", "label"})
                found.append(TruePlace(kind="box", picture=region.picture, **told))
            case Slices():
                told = region.model_dump(include={"axis", "first", "last"})
                found.append(TruePlace(kind="slices", picture=region.picture, **told))
            case Mask():
                found.append(TruePlace(kind="mask", picture=region.picture))
            case Whole():
                found.append(TruePlace(kind="whole", picture=region.picture))
    return found


def _voxel_places(regions: tuple[Region, ...], entry: Entry, pictures: Pictures) -> list[TruePlace]:
    """Boxes of voxels as the slices that they go through; none where the CT is not there."""
    found = []
    for region in (region for region in regions if isinstance(region, VoxelBox)):
        try:
            shown = to_shown(region, pictures.geometry(entry.case.picture(region.picture)))
        except OverreadError:
            continue
        span = {"axis": "axial", "first": shown.first, "last": shown.last, "label": region.label}
        found.append(TruePlace(kind="slices", picture=region.picture, **span))
    return found


def _extra(entry: Entry) -> dict[str, str]:
    def to_text(value: JsonValue) -> str | None:
        if isinstance(value, str):
            return value if len(value) <= 2000 else f"{value[:1999]}…"
        return str(value) if isinstance(value, bool | int | float) else None

    return {name: text for name, value in entry.extra.items() if (text := to_text(value)) is not None}
