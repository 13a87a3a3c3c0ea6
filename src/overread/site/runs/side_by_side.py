"""One case as several runs read it, side by side."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Depends

from overread.core import Entry, Option, Reading, Record, Usage, Volume
from overread.errors import NotThere, OverreadError
from overread.site.dependencies import AccessDep, PathId, ShelfDep, require_truth
from overread.site.runs.chosen_runs import ChosenRuns
from overread.site.runs.mask_overlap import compare_masks
from overread.site.runs.reading_index import index_of_run
from overread.site.runs.run_cases import case_values
from overread.site.runs.scorecards import load_card
from overread.site.shelf import Run, Shelf, Split
from overread.site.strip_paths import strip_paths

router = APIRouter()


# Less than core's findings and steps: masks name files.
class ComparedFinding(Record):
    """One observation, in the reader's words."""

    text: str
    query: str | None
    """The sentence of the case that it answers."""
    places: int
    """How many regions it names."""
    pictures: list[str]
    """Names of the pictures these are in."""


class ComparedStep(Record):
    """One move of a reader."""

    kind: Literal["say", "look", "ask", "conclude"]
    text: str
    places: int


class ComparedReading(Record):
    """What one run made of the case."""

    run: str
    name: str
    reader: str
    workflow: str | None
    state: Literal["read", "failed", "missing"]
    steps: list[ComparedStep]
    values: dict[str, float]
    """Metric → what the case scores by itself; empty where the truth is withheld."""
    error: str | None = None
    choice: str | None = None
    probabilities: dict[str, float] | None = None
    rationale: str | None = None
    report: str | None = None
    discussion: str | None = None
    findings: list[ComparedFinding] | None = None
    usage: Usage | None = None


class MetricInfo(Record):
    """A metric that some of the runs have a value of."""

    name: str
    better: Literal["higher", "lower"]
    about: str


class SideBySide(Record):
    """One case as several runs read it."""

    case: str
    dataset: str | None
    benchmark: str
    split: str
    history: str | None
    instruction: str | None
    options: tuple[Option, ...]
    queries: list[str]
    """The sentences to be found."""
    query_ids: list[str]
    pictures: list[str]
    """Names of its pictures."""
    volume: bool
    """Whether one of them is a CT."""
    asks: str | None
    readings: list[ComparedReading]
    metrics: list[MetricInfo]


class ComparedTruth(Record):
    """What is true of the case, as far as readings can be held to it."""

    answer: str | None
    answer_text: str | None
    report: str | None
    findings: list[str]
    discussion: str | None


class MaskOverlap(Record):
    """How two runs mark one sentence."""

    query: str
    text: str
    dice: float
    """1 where both mark the same voxels, or none."""


@router.get("/compare/cases/{case}")
def get_side_by_side(case: PathId, runs: ChosenRuns, shelf: ShelfDep, access: AccessDep) -> SideBySide:
    """The readings of one case by several runs; what they score only where truth may be seen."""
    own, _ = _entry(case, runs, shelf)
    metrics: dict[str, MetricInfo] = {}
    readings = []
    for run in runs:
        values: dict[str, float] = {}
        if access.truth:
            try:
                card = load_card(run)
            except OverreadError:
                pass
            else:
                values = dict(case_values(card).get(case, {}))
                for name, score in card.scores.items():
                    if name in values:
                        metrics[name] = MetricInfo(name=name, better=score.better, about=score.about)
        readings.append(_to_compared_reading(run, index_of_run(run.folder).find(case), values))
    shown = own.case
    return SideBySide(
        case=case,
        dataset=next((run.dataset for run in runs if run.dataset), None),
        benchmark=shown.benchmark,
        split=shown.split,
        history=shown.history,
        instruction=shown.instruction,
        options=shown.options,
        queries=[query.text for query in shown.queries],
        query_ids=[query.id for query in shown.queries],
        pictures=[picture.name for picture in shown.pictures],
        volume=any(isinstance(picture, Volume) for picture in shown.pictures),
        asks=shown.asks,
        readings=readings,
        metrics=list(metrics.values()),
    )


@router.get("/compare/cases/{case}/truth", dependencies=[Depends(require_truth)])
def get_truth_beside(case: PathId, runs: ChosenRuns, shelf: ShelfDep) -> ComparedTruth:
    """What is true of the case."""
    own, _ = _entry(case, runs, shelf)
    if own.truth is None:
        raise NotThere("the release withholds the truth of this case")
    truth = own.truth
    return ComparedTruth(
        answer=truth.answer,
        answer_text=truth.answer_text,
        report=truth.report,
        findings=[finding.text for finding in truth.findings],
        discussion=truth.discussion,
    )


@router.get("/compare/cases/{case}/masks")
def get_masks_apart(case: PathId, runs: ChosenRuns, shelf: ShelfDep) -> list[MaskOverlap]:
    """How far the masks of the first two runs overlap, sentence by sentence."""
    own, split = _entry(case, runs, shelf)
    shown = own.case
    found = compare_masks(shown, split, *runs[:2])
    texts = {query.id: query.text for query in shown.queries}
    return [
        MaskOverlap(query=query, text=texts.get(query, ""), dice=1 - move.far)
        for query, move in found.items()
    ]


def _entry(case: str, runs: list[Run], shelf: Shelf) -> tuple[Entry, Split]:
    run = next((run for run in runs if run.dataset is not None), runs[0])
    split = shelf.split_of(run)
    return split.entry(case), split


def _to_compared_reading(run: Run, reading: Reading | None, values: dict[str, float]) -> ComparedReading:
    spec = run.spec
    head = {"run": run.id, "name": run.name, "reader": spec.reader.name}
    if reading is None or reading.error is not None:
        told = strip_paths(reading.error) if reading is not None and reading.error else None
        return ComparedReading(
            **head,
            workflow=spec.workflow.name,
            state="missing" if reading is None else "failed",
            error=told,
            steps=[],
            values=values,
        )
    return ComparedReading(
        **head,
        workflow=spec.workflow.name,
        state="read",
        choice=reading.choice,
        probabilities=reading.probabilities,
        rationale=reading.rationale,
        report=reading.report,
        discussion=reading.discussion,
        findings=None
        if reading.findings is None
        else [
            ComparedFinding(
                text=one.text,
                query=one.query,
                places=len(one.regions),
                pictures=list(dict.fromkeys(region.picture for region in one.regions)),
            )
            for one in reading.findings
        ],
        steps=[
            ComparedStep(kind=step.kind, text=step.text, places=len(step.regions))
            for step in (reading.trace.steps if reading.trace else ())
        ],
        usage=reading.usage,
        values=values,
    )
