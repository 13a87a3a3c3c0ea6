"""People check a judge: the sentences of a run that a model judged, as a queue of questions."""

from __future__ import annotations

from fastapi import APIRouter, Depends

from overread.build.adjudication.judge_questions import (
    about_cases,
    folder_beside,
    judge_agreement,
    judged_run,
    write_judge_questions,
)
from overread.build.item import Data
from overread.core import Record
from overread.core.verdicts import StepVerdicts
from overread.errors import OverreadError, UsageError
from overread.runs.verdict_store import chosen_verdicts
from overread.site.builds.parts import QueueSpan, span
from overread.site.builds.queues import queue_of
from overread.site.parts import OneRun, OnShelf, may_write, sees_truth
from overread.site.shelf import Build, Run, Shelf

router = APIRouter()


class JudgeRow(Record):
    """One person, or what people decided, against the judge."""

    kind: str
    who: str
    judge: str
    questions: int
    """Questions on which both said something."""
    cannot_judge: int
    share: QueueSpan
    kappa: QueueSpan


class JudgedRun(Record):
    """What of a run a model has judged, and where people check it."""

    judges: list[str]
    """Whose verdicts count; empty where nothing was judged."""
    steps: int
    """Steps of explanations that were judged."""
    sentences: int
    """Sentences of discussions that were judged."""
    build: str | None
    """Id of the questions on the shelf, where people check the judge already."""


@router.get("/runs/{run}/judged")
def get_judged(run: OneRun, shelf: OnShelf) -> JudgedRun:
    """Whether a judge's verdicts of a run can be checked by people, and are."""
    cases, who, _ = chosen_verdicts(run.folder)
    every = [told for own in cases.values() for told in own]
    return JudgedRun(
        judges=sorted({str(told["judge"]) for told in who.values()}),
        steps=sum(len(told.steps) for told in every if isinstance(told, StepVerdicts)),
        sentences=sum(len(told.sentences) for told in every if not isinstance(told, StepVerdicts)),
        build=_checking(run, shelf),
    )


@router.post("/runs/{run}/judged", dependencies=[Depends(may_write), Depends(sees_truth)])
def check_judge(run: OneRun, shelf: OnShelf) -> JudgedRun:
    """Ask people what the judge was asked; the questions are written beside the run."""
    folder = folder_beside(run.folder)
    write_judge_questions(run.folder, folder, _about(run, shelf))
    shelf.look_again()
    if _checking(run, shelf) is None:
        raise UsageError(
            f"the questions were written to {folder.name} beside the run, outside of this page",
            remedy="open the page on the folder above the run",
        )
    return get_judged(run, shelf)


def run_of(build: Build, shelf: Shelf) -> Run | None:
    """The run on the shelf whose judge is checked in a folder of questions."""
    folder = judged_run(build.folder)
    if folder is None:
        return None
    return next((run for run in shelf.runs.values() if run.folder == folder), None)


def judge_rows(build: Build, shelf: Shelf, *, draws: int) -> list[JudgeRow]:
    """How far people agree with the judge; empty where no judge is checked."""
    run = run_of(build, shelf)
    if run is None:
        return []
    with queue_of(build.folder) as queue:
        found = judge_agreement(queue, run.folder, draws=draws)
    return [
        JudgeRow(
            kind=one.kind,
            who=one.who,
            judge=one.judge,
            questions=one.agreement.n,
            cannot_judge=one.cannot_judge,
            share=span(one.agreement.share),
            kappa=span(one.agreement.kappa),
        )
        for one in found
    ]


def _checking(run: Run, shelf: Shelf) -> str | None:
    folder = folder_beside(run.folder)
    return next((one.id for one in shelf.builds.values() if one.folder == folder), None)


def _about(run: Run, shelf: Shelf) -> dict[str, Data] | None:
    try:
        return about_cases(shelf.split_of(run).entries.values())
    except OverreadError:
        return None  # the dataset is not here: new sentences stand alone
