"""`/api/runs`: what a run is, how far it is, and what there is of it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, cast

from fastapi import APIRouter, Header, Response
from pydantic import BaseModel, ConfigDict, JsonValue
from pydantic_core import from_json

from overread import catalog
from overread.core import Benchmark, Record, Usage
from overread.errors import OverreadError
from overread.runs.judging.verdict_store import verdicts_path
from overread.runs.scoring.card import DescribedScore, Score
from overread.runs.sweep.runner import sweep_metrics
from overread.site.dependencies import OneRun, ShelfDep
from overread.site.runs import (
    audits,
    background_scoring,
    comparisons,
    disagreement,
    mask_overlap,
    run_cases,
    scorecards,
    side_by_side,
    sweeps,
)
from overread.site.runs.background_scoring import ScoringStatus
from overread.site.runs.reading_index import index_of_run, is_written_now, modified_at
from overread.site.runs.run_cases import planned_cases
from overread.site.shelf import Run, Shelf
from overread.site.strip_paths import strip_paths_in_json

router = APIRouter(tags=["runs"])
_HEAD_BYTES = 1 << 17
"""Bytes of a scorecard that hold its scores; the statistics of the cases come last."""


class RunSummary(Record):
    """How far a run is, and its headline."""

    id: str
    live: bool
    """Whether another process is writing it now."""
    read: int
    """Readings that are there, failed ones among them."""
    failed: int
    """Readings that failed; a scorecard counts failed cases."""
    metric: str | None
    """The headline, where it is scored."""
    score: Score | None
    better: str | None
    """Which way is good: 'higher' or 'lower'."""


# Apart from RunSpec: that has the dataset's folder.
class RunStatus(Record):
    """What a run is, how far it is, and what there is of it."""

    id: str
    name: str
    benchmark: str
    title: str
    """What people call the benchmark."""
    split: str
    form: str | None
    dataset: str | None
    """Id of the dataset that was read, where it is there."""
    reader: str
    arguments: dict[str, JsonValue]
    """What the reader was made with."""
    identity: dict[str, JsonValue]
    """Everything that changes its answers."""
    workflow: str | None
    """Absent where the reader reads whole cases by itself."""
    settings: dict[str, JsonValue]
    """How pictures are shown and questions asked."""
    seed: int
    repeat: int
    """How many readings of each case."""
    limit: int | None
    """Only so many cases; absent means all."""
    named: int
    """How many cases were named; 0 means all."""
    prompts: dict[str, str]
    """Prompt → digest."""
    versions: dict[str, str]
    purpose: dict[str, JsonValue]
    cases: int | None
    """Cases it is to read; absent where its dataset is not there."""
    asked: int | None
    """Readings there are to be."""
    read: int
    """Readings that are there, failed ones among them."""
    failed: int
    """Readings that failed; a scorecard counts failed cases."""
    damaged: int
    """Lines that cannot be read; their cases are read again when the run goes on."""
    live: bool
    """Whether another process is writing it now."""
    changed: float | None
    """When the last reading was written, in seconds since 1970."""
    usage: Usage
    """What the readings cost together."""
    scored: bool
    stale: bool
    """Whether readings came since it was scored."""
    audited: bool
    judged: bool
    """Whether judges said something of it."""
    scoring: ScoringStatus | None
    """How far the scoring is that was asked for here."""


@router.get("/runs")
def get_runs(shelf: ShelfDep) -> list[RunSummary]:
    """All runs of the shelf, with what can be told of each without opening its dataset."""
    return [_summary(run) for run in list(shelf.runs.values())]


@router.get("/runs/{run}", response_model=RunStatus)
def get_run(
    run: OneRun,
    shelf: ShelfDep,
    response: Response,
    if_none_match: Annotated[str | None, Header(max_length=200)] = None,
) -> RunStatus | Response:
    """One run; cheap enough to be asked every second while it goes on."""
    status = _status(run, shelf)
    tag = f'"{hashlib.sha256(status.model_dump_json().encode()).hexdigest()[:20]}"'
    kept = {"etag": tag, "cache-control": "private, no-cache"}
    if if_none_match is not None and tag in if_none_match:
        return Response(status_code=304, headers=kept)
    response.headers.update(kept)
    return status


def _status(run: Run, shelf: Shelf) -> RunStatus:
    spec = run.spec
    # Whoever asks stops asking once nothing goes on, so that is asked before what was left by it.
    live, scoring = is_written_now(run.folder), background_scoring.scoring_status(run)
    follower = index_of_run(run.folder)
    glances = follower.refresh()
    try:
        cases: int | None = len(planned_cases(run, shelf.split_of(run)))
    except OverreadError:
        cases = None
    changed, scored = (modified_at(run.folder / n) for n in ("readings.jsonl", "card.json"))
    told = strip_paths_in_json(spec.model_dump(mode="json"))
    return RunStatus(
        id=run.id,
        name=run.name,
        benchmark=spec.benchmark,
        title=cast(Benchmark, catalog.find("benchmarks", spec.benchmark)).title,
        split=spec.split,
        form=spec.form,
        dataset=run.dataset,
        reader=spec.reader.name,
        arguments=told["reader"]["arguments"],
        identity=told["reader"]["identity"],
        workflow=spec.workflow.name,
        settings=told["workflow"]["settings"],
        seed=spec.seed,
        repeat=spec.repeat,
        limit=spec.limit,
        named=len(spec.cases),
        prompts=spec.prompts,
        versions=spec.versions,
        purpose=told["purpose"],
        cases=cases,
        asked=None if cases is None else cases * max(spec.repeat, 1),
        read=len(glances),
        failed=sum(one.error is not None for one in glances.values()),
        damaged=follower.damaged,
        live=live,
        changed=changed,
        usage=sum((one.usage for one in glances.values() if one.usage), Usage()),
        scored=scored is not None,
        stale=scored is not None and changed is not None and changed > scored,
        audited=(run.folder / "audit" / "audit.json").is_file(),
        judged=verdicts_path(run.folder).is_file(),
        scoring=scoring,
    )


class _CardHead(BaseModel):
    """The beginning of a scorecard, before the statistics of its cases."""

    model_config = ConfigDict(extra="ignore")

    readings: int | None = None
    failed_readings: int | None = None
    scores: dict[str, DescribedScore]


def _summary(run: Run) -> RunSummary:
    live = is_written_now(run.folder)  # first, as above
    head = _read_card_head(run.folder / "card.json")
    changed, scored = (modified_at(run.folder / n) for n in ("readings.jsonl", "card.json"))
    current = changed is not None and scored is not None and changed <= scored
    if current and head is not None and head.readings is not None:
        read, failed = head.readings, head.failed_readings or 0
    else:
        glances = index_of_run(run.folder).refresh().values()
        read, failed = len(glances), sum(one.error is not None for one in glances)
    metric = next(iter(sweep_metrics(run.spec.benchmark, ())), "")
    own = head.scores.get(metric) if head is not None else None
    return RunSummary(
        id=run.id,
        live=live,
        read=read,
        failed=failed,
        metric=metric if own else None,
        score=Score.model_validate(own.model_dump(include=set(Score.model_fields))) if own else None,
        better=own.better if own else None,
    )


def _read_card_head(card: Path) -> _CardHead | None:
    """The beginning of a scorecard, as far as it is whole."""
    try:
        with card.open("rb") as file:
            return _CardHead.model_validate(from_json(file.read(_HEAD_BYTES), allow_partial=True))
    except (OSError, ValueError):
        return None


for _part in (scorecards, run_cases, audits, sweeps, comparisons, disagreement, mask_overlap, side_by_side):
    router.include_router(_part.router)
