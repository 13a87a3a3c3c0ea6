"""A reading as it went, step by step, beside the reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, HTTPException, Path, Query
from fastapi.responses import Response

from overread.core import (
    Case,
    Entry,
    Exchange,
    Finding,
    Mask,
    Option,
    Reading,
    Record,
    Region,
    SentImage,
    Step,
    Usage,
)
from overread.core import Query as CaseQuery
from overread.core.submission import FindFile
from overread.errors import NotThere, OverreadError
from overread.pixels.encode import EncodedImage, encode
from overread.site.dependencies import AccessDep, OneRun, PathId, ShelfDep, require_truth
from overread.site.runs.reading_index import ReadingIndex, SampleState, index_of_run
from overread.site.shelf import Run, Split, neighbours
from overread.site.traces.cutouts import TRUTH, CasePixels, Part, Pixels, draw_region
from overread.site.traces.exchanges import ExchangeDetail, redraw_sent_image, sent_images, to_exchange_detail
from overread.site.traces.judgements import Judgement, is_judged, load_judgements
from overread.site.traces.reference import Reference, build_reference, truth_steps
from overread.site.traces.steps import RegionChecker, TraceFinding, TracePicture, TraceStep
from overread.storage.fence import Fence

router = APIRouter(tags=["traces"], prefix="/runs/{run}/cases/{case}")

Number = Annotated[int, Path(ge=0, le=1_000_000)]
Sample = Annotated[int, Query(ge=0, le=1_000_000)]
"""Which of several readings of the case."""
Window = Annotated[Literal["lung", "mediastinum", "bone"], Query()]
"""HU window in which a CT is shown."""
StepsOrFindings = Literal["steps", "findings"]
Against = Annotated[int | None, Query(ge=0, le=1_000_000)]
"""Index of the step of the reading whose mask is drawn on the same slice."""
_CACHE_HEADERS = {"cache-control": "private, max-age=600"}
_LONGEST: dict[Part, int] = {"whole": 1400, "cut": 480}
"""Pixels of the longer side of a look."""


class ExchangeSummary(Record):
    """An exchange in one line."""

    task: str
    problem: str | None
    """Why its answer could not be used."""
    repaired: str | None
    seconds: float
    pictures: int
    """Pictures that were shown."""


class TracedReading(Record):
    """A reading of one case, as it went."""

    run: str
    run_name: str
    benchmark: str
    split: str
    dataset: str | None
    """Id of the dataset, where it is there: without it no picture can be shown."""
    case: str
    reader: str
    workflow: str | None
    place: int
    """Which of the cases of the run it is, counted from 1."""
    count: int
    previous: str | None
    """The case before it in the run."""
    next: str | None
    sample: int
    samples: list[SampleState]
    history: str | None
    instruction: str | None
    options: list[Option]
    queries: list[CaseQuery]
    pictures: list[TracePicture]
    steps: list[TraceStep]
    choice: str | None
    order: list[str] | None
    """The release's letters in the order they were shown in, where that was not its own."""
    probabilities: dict[str, float] | None
    rationale: str | None
    findings: list[TraceFinding]
    report: str | None
    discussion: str | None
    error: str | None
    """Why there is no reading."""
    usage: Usage | None
    exchanges: list[ExchangeSummary]
    exchanges_tell_truth: bool
    """Whether the questions told the reader a part of the truth, as its run was set to."""
    judged: bool
    """Whether a judge spoke of it."""


@dataclass(frozen=True)
class _LoadedReading:
    """A reading, and what is there of its case."""

    run: Run
    file: ReadingIndex
    reading: Reading
    split: Split | None
    entry: Entry | None

    @property
    def case(self) -> Case | None:
        return self.entry.case if self.entry else None

    def checker(self, *, truth: bool = False) -> RegionChecker:
        """Who measures places: those of the reading, or those of the truth."""
        pictures = self.split.release.pictures if self.split else None
        return RegionChecker(self.case, pictures, self._mask_locator(truth=truth))

    def pixels(self, *, truth: bool = False) -> CasePixels:
        """Where places are drawn."""
        if self.split is None or self.entry is None:
            raise NotThere("the dataset of this run was not found, so nothing can be drawn")
        key = (self.run.folder, self.entry.case.id, self.reading.sample, truth)
        volumes = (self.run.dataset, self.run.spec.split, self.entry.case.id)
        return CasePixels(
            self.entry.case,
            self.split.release.pictures,
            self._mask_locator(truth=truth),
            volumes=volumes,
            masks=key,
        )

    def _mask_locator(self, *, truth: bool) -> FindFile:
        if truth and self.split is not None:
            return self.split.release.source
        return Fence(self.run.folder).path

    def redraw(self, shown: SentImage) -> tuple[EncodedImage, bool]:
        """A picture as it was sent."""
        if self.split is None or self.case is None:
            raise NotThere("the dataset of this run was not found")
        key = (self.run.dataset, self.run.spec.split, self.case.id)
        return redraw_sent_image(shown, self.case, self.split.release.pictures, self.run.spec, key)

    @property
    def reveals_truth(self) -> bool:
        """Whether the questions told a part of the truth."""
        return bool(self.run.spec.workflow.settings.get("reveal"))


def _load_reading(run: OneRun, case: PathId, shelf: ShelfDep, sample: Sample = 0) -> _LoadedReading:
    file = index_of_run(run.folder)
    reading = file.reading(case, sample)
    try:
        split = shelf.split_of(run)
        entry = split.entries.get(case)
    except OverreadError:
        split, entry = None, None
    return _LoadedReading(run, file, reading, split, entry)


LoadedReading = Annotated[_LoadedReading, Depends(_load_reading)]


@router.get("")
def get_reading(opened: LoadedReading, shelf: ShelfDep) -> TracedReading:
    """The reading of a case, step by step, and the cases before and after it."""
    run, reading, case = opened.run, opened.reading, opened.case
    samples = opened.file.cases()
    names = _in_release_order(list(samples), opened.split)
    eye = opened.checker()
    return TracedReading(
        run=run.id,
        run_name=run.name,
        benchmark=run.spec.benchmark,
        split=run.spec.split,
        dataset=run.dataset if case is not None else None,
        case=reading.case_id,
        reader=reading.reader,
        workflow=run.spec.workflow.name,
        **neighbours(names, reading.case_id),
        sample=reading.sample,
        samples=samples[reading.case_id],
        history=case.history if case else None,
        instruction=case.instruction if case else None,
        options=list(case.options) if case else [],
        queries=list(case.queries) if case else [],
        pictures=eye.pictures(),
        steps=eye.steps(reading.trace.steps if reading.trace else ()),
        choice=reading.choice,
        order=list(reading.order) if reading.order else None,
        probabilities=reading.probabilities,
        rationale=reading.rationale,
        findings=eye.findings(reading.findings or ()),
        report=reading.report,
        discussion=reading.discussion,
        error=shelf.strip_paths(reading.error) if reading.error is not None else None,
        usage=reading.usage,
        exchanges=[_summarize_exchange(exchange) for exchange in reading.exchanges],
        exchanges_tell_truth=opened.reveals_truth,
        judged=is_judged(run.folder, reading),
    )


@router.get("/exchanges/{number}")
def get_exchange(opened: LoadedReading, number: Number, access: AccessDep) -> ExchangeDetail:
    """What was said and shown in one exchange, and the answer as it came."""
    exchange = _exchange(opened, number, truth=access.truth)
    steps = opened.reading.trace.steps if opened.reading.trace else ()
    return to_exchange_detail(
        exchange,
        number=number,
        count=len(opened.reading.exchanges),
        steps=[n for n, step in enumerate(steps) if step.exchange == number],
        draw=opened.redraw,
    )


@router.get("/exchanges/{number}/pictures/{picture}", response_class=Response)
def get_sent(opened: LoadedReading, number: Number, picture: Number, access: AccessDep) -> Response:
    """A picture that an exchange showed, drawn again as it was sent."""
    pictures = sent_images(_exchange(opened, number, truth=access.truth))
    if picture >= len(pictures):
        raise NotThere(f"the exchange shows {len(pictures)} pictures")
    (data, media, _), _ = opened.redraw(pictures[picture])
    return Response(data, media_type=media, headers=_CACHE_HEADERS)


@router.get("/verdicts", dependencies=[Depends(require_truth)])
def get_verdicts(opened: LoadedReading) -> list[Judgement]:
    """What judges said of the reading, the latest first; judges are shown the truth."""
    return load_judgements(opened.run.folder, opened.reading)


@router.get("/reference", dependencies=[Depends(require_truth)])
def get_reference(opened: LoadedReading) -> Reference:
    """The reference in the shape of a reading, and which steps correspond."""
    if opened.entry is None:
        raise NotThere(
            "the dataset of this run was not found",
            remedy="start the page with --root and its current folder",
        )
    entry = opened.entry
    return build_reference(entry.truth, entry.case, opened.reading, opened.checker(truth=True))


@router.get("/{of}/{number}/look/{place}", response_class=Response)
def get_look(
    opened: LoadedReading,
    of: StepsOrFindings,
    number: Number,
    place: Number,
    part: Part = "whole",
    window: Window = "lung",
) -> Response:
    """What a step or a finding of the reading looks at: all of the picture, or the place alone."""
    reading = opened.reading
    steps = reading.trace.steps if reading.trace else ()
    region = _region(steps if of == "steps" else reading.findings or (), number, place)
    return _png_response(draw_region(opened.pixels(), region, part=part, window=window), part)


@router.get(
    "/reference/{of}/{number}/look/{place}", response_class=Response, dependencies=[Depends(require_truth)]
)
def get_reference_look(
    opened: LoadedReading,
    of: StepsOrFindings,
    number: Number,
    place: Number,
    part: Part = "whole",
    window: Window = "lung",
    against: Against = None,
) -> Response:
    """What a step or a finding of the reference looks at; masks with the reader's beside them."""
    truth = opened.entry.truth if opened.entry else None
    if truth is None:
        raise NotThere("the release has no truth of this case")
    region = _region(truth_steps(truth) if of == "steps" else truth.findings, number, place)
    other = _mask_of(opened, against) if against is not None else None
    sight = opened.pixels(truth=True)
    return _png_response(
        draw_region(sight, region, part=part, window=window, colour=TRUTH, other_mask=other), part
    )


def _png_response(pixels: Pixels, part: Part) -> Response:
    data = encode(pixels, kind="png", longest=_LONGEST[part])
    return Response(data, media_type="image/png", headers=_CACHE_HEADERS)


def _region(things: tuple[Step, ...] | tuple[Finding, ...], number: int, place: int) -> Region:
    if number >= len(things):
        raise NotThere(f"there are {len(things)} of them")
    regions = things[number].regions
    if place >= len(regions):
        raise NotThere(f"it names {len(regions)} places")
    return regions[place]


def _mask_of(opened: _LoadedReading, step: int) -> tuple[CasePixels, Mask] | None:
    """The mask that a step of the reading drew, where it drew one that can be read."""
    steps = opened.reading.trace.steps if opened.reading.trace else ()
    if step >= len(steps):
        raise NotThere(f"there are {len(steps)} steps")
    eye = opened.checker()
    for region in steps[step].regions:
        if isinstance(region, Mask) and eye.region(region).drawable:
            return opened.pixels(), region
    return None


def _exchange(opened: _LoadedReading, number: int, *, truth: bool) -> Exchange:
    exchanges = opened.reading.exchanges
    if number >= len(exchanges):
        raise NotThere(f"the reading has {len(exchanges)} exchanges")
    if opened.reveals_truth and not truth:
        raise HTTPException(403, "the questions of this run tell the truth, which is withheld")
    return exchanges[number]


def _summarize_exchange(exchange: Exchange) -> ExchangeSummary:
    return ExchangeSummary(
        task=exchange.task,
        problem=exchange.problem,
        repaired=exchange.repaired,
        seconds=exchange.reply.usage.seconds if exchange.reply else 0.0,
        pictures=len(sent_images(exchange)),
    )


def _in_release_order(cases: list[str], split: Split | None) -> list[str]:
    """The cases of a run in the order of the release; those it has no more come last."""
    if split is None:
        return cases
    own = set(cases)
    return [case for case in split.entries if case in own] + [
        case for case in cases if case not in split.entries
    ]
