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
    Shown,
    Step,
    Usage,
)
from overread.core import Query as Sentence
from overread.errors import NotThere, OverreadError
from overread.pixels.encode import Sent, encode
from overread.pixels.fence import Fence
from overread.site.parts import Allowed, OneRun, OnShelf, Word, sees_truth
from overread.site.runs.following import Following, following
from overread.site.shelf import Run, Shelf, Split
from overread.site.traces.asked import ExchangeTold, as_sent, exchange_told, shown_in
from overread.site.traces.cutouts import TRUTH, Part, Pixels, Sight, drawn
from overread.site.traces.judgements import JudgementTold, is_judged, judgements_of
from overread.site.traces.reference import Reference, reference_of, truth_steps
from overread.site.traces.steps import Eye, Find, FindingTold, PictureTold, StepTold
from overread.site.unplaced import unplaced

router = APIRouter(tags=["traces"], prefix="/runs/{run}/cases/{case}")

Number = Annotated[int, Path(ge=0, le=1_000_000)]
Sample = Annotated[int, Query(ge=0, le=1_000_000)]
"""Which of several readings of the case."""
Window = Annotated[Literal["lung", "mediastinum", "bone"], Query()]
"""HU window in which a CT is shown."""
Of = Literal["steps", "findings"]
Against = Annotated[int | None, Query(ge=0, le=1_000_000)]
"""Index of the step of the reading whose mask is drawn on the same slice."""
_A_WHILE = {"cache-control": "private, max-age=600"}
_LONGEST: dict[Part, int] = {"whole": 1400, "cut": 480}
"""Pixels of the longer side of a look."""


class SampleTold(Record):
    """One of several readings of the case in the run."""

    sample: int
    failed: bool


class ExchangeHead(Record):
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
    samples: list[SampleTold]
    history: str | None
    instruction: str | None
    options: list[Option]
    queries: list[Sentence]
    pictures: list[PictureTold]
    steps: list[StepTold]
    choice: str | None
    order: list[str] | None
    """The release's letters in the order they were shown in, where that was not its own."""
    probabilities: dict[str, float] | None
    rationale: str | None
    findings: list[FindingTold]
    report: str | None
    discussion: str | None
    error: str | None
    """Why there is no reading."""
    usage: Usage | None
    exchanges: list[ExchangeHead]
    exchanges_tell_truth: bool
    """Whether the questions told the reader a part of the truth, as its run was set to."""
    judged: bool
    """Whether a judge spoke of it."""


@dataclass(frozen=True)
class _Opened:
    """A reading, and what is there of its case."""

    run: Run
    file: Following
    reading: Reading
    split: Split | None
    entry: Entry | None

    @property
    def case(self) -> Case | None:
        return self.entry.case if self.entry else None

    def eye(self, *, truth: bool = False) -> Eye:
        """Who measures places: those of the reading, or those of the truth."""
        pictures = self.split.release.pictures if self.split else None
        return Eye(self.case, pictures, self._find(truth=truth))

    def sight(self, *, truth: bool = False) -> Sight:
        """Where places are drawn."""
        if self.split is None or self.entry is None:
            raise NotThere("the dataset of this run is not there, so that nothing can be drawn")
        key = (self.run.folder, self.entry.case.id, self.reading.sample, truth)
        volumes = (self.run.dataset, self.run.spec.split, self.entry.case.id)
        return Sight(
            self.entry.case,
            self.split.release.pictures,
            self._find(truth=truth),
            volumes=volumes,
            masks=key,
        )

    def _find(self, *, truth: bool) -> Find:
        if truth and self.split is not None:
            return self.split.release.source
        return Fence(self.run.folder).path

    def drawn_again(self, shown: Shown) -> tuple[Sent, bool]:
        """A picture as it was sent."""
        if self.split is None or self.case is None:
            raise NotThere("the dataset of this run is not there")
        key = (self.run.dataset, self.run.spec.split, self.case.id)
        return as_sent(shown, self.case, self.split.release.pictures, self.run.spec, key)

    @property
    def tells_truth(self) -> bool:
        """Whether the questions told a part of the truth."""
        return bool(self.run.spec.workflow.settings.get("reveal"))


def _opened(run: OneRun, case: Word, shelf: OnShelf, sample: Sample = 0) -> _Opened:
    file = following(run.folder)
    reading = file.reading(case, sample)
    try:
        split = shelf.split_of(run)
        entry = split.entries.get(case)
    except OverreadError:
        split, entry = None, None
    return _Opened(run, file, reading, split, entry)


Opened = Annotated[_Opened, Depends(_opened)]


@router.get("")
def get_reading(opened: Opened, shelf: OnShelf) -> TracedReading:
    """The reading of a case, step by step, and the cases before and after it."""
    run, reading, case = opened.run, opened.reading, opened.case
    samples = opened.file.cases()
    names = _in_order(list(samples), opened.split)
    place = names.index(reading.case_id)
    eye = opened.eye()
    return TracedReading(
        run=run.id,
        run_name=run.name,
        benchmark=run.spec.benchmark,
        split=run.spec.split,
        dataset=run.dataset if case is not None else None,
        case=reading.case_id,
        reader=reading.reader,
        workflow=run.spec.workflow.name,
        place=place + 1,
        count=len(names),
        previous=names[place - 1] if place else None,
        next=names[place + 1] if place + 1 < len(names) else None,
        sample=reading.sample,
        samples=[SampleTold(sample=s.sample, failed=s.failed) for s in samples[reading.case_id]],
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
        error=_without_paths(reading.error, run, shelf),
        usage=reading.usage,
        exchanges=[_head(exchange) for exchange in reading.exchanges],
        exchanges_tell_truth=opened.tells_truth,
        judged=is_judged(run.folder, reading),
    )


@router.get("/exchanges/{number}")
def get_exchange(opened: Opened, number: Number, access: Allowed) -> ExchangeTold:
    """What was said and shown in one exchange, and the answer as it came."""
    exchange = _exchange(opened, number, truth=access.truth)
    steps = opened.reading.trace.steps if opened.reading.trace else ()
    return exchange_told(
        exchange,
        number=number,
        count=len(opened.reading.exchanges),
        steps=[n for n, step in enumerate(steps) if step.exchange == number],
        draw=opened.drawn_again,
    )


@router.get("/exchanges/{number}/pictures/{picture}", response_class=Response)
def get_sent(opened: Opened, number: Number, picture: Number, access: Allowed) -> Response:
    """A picture that an exchange showed, drawn again as it was sent."""
    pictures = shown_in(_exchange(opened, number, truth=access.truth))
    if picture >= len(pictures):
        raise NotThere(f"the exchange shows {len(pictures)} pictures")
    (data, media, _), _ = opened.drawn_again(pictures[picture])
    return Response(data, media_type=media, headers=_A_WHILE)


@router.get("/verdicts", dependencies=[Depends(sees_truth)])
def get_verdicts(opened: Opened) -> list[JudgementTold]:
    """What judges said of the reading, the latest first; judges are shown the truth."""
    return judgements_of(opened.run.folder, opened.reading)


@router.get("/reference", dependencies=[Depends(sees_truth)])
def get_reference(opened: Opened) -> Reference:
    """The reference in the shape of a reading, and which steps correspond."""
    if opened.entry is None:
        raise NotThere(
            "the dataset of this run is not there",
            remedy="start the page with --root and the folder it lies in now",
        )
    entry = opened.entry
    return reference_of(entry.truth, entry.case, opened.reading, opened.eye(truth=True))


@router.get("/{of}/{number}/look/{place}", response_class=Response)
def get_look(
    opened: Opened,
    of: Of,
    number: Number,
    place: Number,
    part: Part = "whole",
    window: Window = "lung",
) -> Response:
    """What a step or a finding of the reading looks at: all of the picture, or the place alone."""
    reading = opened.reading
    steps = reading.trace.steps if reading.trace else ()
    region = _region(steps if of == "steps" else reading.findings or (), number, place)
    return _look(drawn(opened.sight(), region, part=part, window=window), part)


@router.get(
    "/reference/{of}/{number}/look/{place}",
    response_class=Response,
    dependencies=[Depends(sees_truth)],
)
def get_reference_look(
    opened: Opened,
    of: Of,
    number: Number,
    place: Number,
    part: Part = "whole",
    window: Window = "lung",
    against: Against = None,
) -> Response:
    """What a step or a finding of the reference looks at; masks with the reader's beside them."""
    truth = opened.entry.truth if opened.entry else None
    if truth is None:
        raise NotThere("the truth of this case is not there")
    region = _region(truth_steps(truth) if of == "steps" else truth.findings, number, place)
    also = _mask_of(opened, against) if against is not None else None
    sight = opened.sight(truth=True)
    return _look(drawn(sight, region, part=part, window=window, tint=TRUTH, also=also), part)


def _look(pixels: Pixels, part: Part) -> Response:
    data = encode(pixels, kind="png", longest=_LONGEST[part])
    return Response(data, media_type="image/png", headers=_A_WHILE)


def _region(things: tuple[Step, ...] | tuple[Finding, ...], number: int, place: int) -> Region:
    if number >= len(things):
        raise NotThere(f"there are {len(things)} of them")
    regions = things[number].regions
    if place >= len(regions):
        raise NotThere(f"it names {len(regions)} places")
    return regions[place]


def _mask_of(opened: _Opened, step: int) -> tuple[Sight, Mask] | None:
    """The mask that a step of the reading drew, where it drew one that can be read."""
    steps = opened.reading.trace.steps if opened.reading.trace else ()
    if step >= len(steps):
        raise NotThere(f"there are {len(steps)} steps")
    eye = opened.eye()
    for region in steps[step].regions:
        if isinstance(region, Mask) and eye.region(region).drawable:
            return opened.sight(), region
    return None


def _exchange(opened: _Opened, number: int, *, truth: bool) -> Exchange:
    exchanges = opened.reading.exchanges
    if number >= len(exchanges):
        raise NotThere(f"the reading has {len(exchanges)} exchanges")
    if opened.tells_truth and not truth:
        raise HTTPException(403, "the questions of this run tell the truth, which is withheld")
    return exchanges[number]


def _head(exchange: Exchange) -> ExchangeHead:
    return ExchangeHead(
        task=exchange.task,
        problem=exchange.problem,
        repaired=exchange.repaired,
        seconds=exchange.reply.usage.seconds if exchange.reply else 0.0,
        pictures=len(shown_in(exchange)),
    )


def _in_order(cases: list[str], split: Split | None) -> list[str]:
    """The cases of a run in the order of the release; those it has no more come last."""
    if split is None:
        return cases
    own = set(cases)
    return [case for case in split.entries if case in own] + [
        case for case in cases if case not in split.entries
    ]


def _without_paths(error: str | None, run: Run, shelf: Shelf) -> str | None:
    """Why a reading failed, without saying where on this machine things lie."""
    if error is None:
        return None
    error = error.replace(str(run.folder), "the run")
    for root in (run.spec.root, run.spec.pictures, *(str(d.root) for d in shelf.datasets.values())):
        if root and len(root) > 1:
            error = error.replace(root, "the dataset")
    return unplaced(error)
