"""People check a judge: the sentences of a run that a model judged, as a queue of questions."""

from __future__ import annotations

from fastapi import APIRouter, Depends

from overread.build.adjudication.judge_questions import (
    describe_cases,
    find_judged_run,
    measure_judge_agreement,
    questions_folder,
    write_judge_questions,
)
from overread.build.item import Data
from overread.core import Record
from overread.core.verdicts import StepVerdicts
from overread.errors import OverreadError, UsageError
from overread.runs.judging.verdict_store import select_verdicts
from overread.site.builds.dependencies import AgreementValue, to_agreement_value
from overread.site.builds.open_queues import open_queue
from overread.site.dependencies import OneRun, ShelfDep, require_truth, require_write
from overread.site.shelf import BuildFolder, Run, Shelf

router = APIRouter()


class JudgeAgreementRow(Record):
    """One person, or what people decided, against the judge."""

    kind: str
    who: str
    judge: str
    questions: int
    """Questions on which both said something."""
    cannot_judge: int
    share: AgreementValue
    kappa: AgreementValue


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
def get_judged(run: OneRun, shelf: ShelfDep) -> JudgedRun:
    """Whether a judge's verdicts of a run can be checked by people, and are."""
    cases, who, _ = select_verdicts(run.folder)
    every = [told for own in cases.values() for told in own]
    return JudgedRun(
        judges=sorted({str(told["judge"]) for told in who.values()}),
        steps=sum(len(told.steps) for told in every if isinstance(told, StepVerdicts)),
        sentences=sum(len(told.sentences) for told in every if not isinstance(told, StepVerdicts)),
        build=_find_check_folder(run, shelf),
    )


@router.post("/runs/{run}/judged", dependencies=[Depends(require_write), Depends(require_truth)])
def check_judge(run: OneRun, shelf: ShelfDep) -> JudgedRun:
    """Ask people what the judge was asked; the questions are written beside the run."""
    folder = questions_folder(run.folder)
    write_judge_questions(run.folder, folder, _describe_cases(run, shelf))
    shelf.rescan()
    if _find_check_folder(run, shelf) is None:
        raise UsageError(
            f"the questions were written to {folder.name} beside the run, outside of this page",
            remedy="open the page on the folder above the run",
        )
    return get_judged(run, shelf)


def find_checked_run(build: BuildFolder, shelf: Shelf) -> Run | None:
    """The run on the shelf whose judge is checked in a folder of questions."""
    folder = find_judged_run(build.folder)
    if folder is None:
        return None
    return next((run for run in shelf.runs.values() if run.folder == folder), None)


def judge_rows(build: BuildFolder, shelf: Shelf, *, draws: int) -> list[JudgeAgreementRow]:
    """How far people agree with the judge; empty where no judge is checked."""
    run = find_checked_run(build, shelf)
    if run is None:
        return []
    with open_queue(build.folder) as queue:
        found = measure_judge_agreement(queue, run.folder, draws=draws)
    return [
        JudgeAgreementRow(
            kind=one.kind,
            who=one.who,
            judge=one.judge,
            questions=one.agreement.n,
            cannot_judge=one.cannot_judge,
            share=to_agreement_value(one.agreement.share),
            kappa=to_agreement_value(one.agreement.kappa),
        )
        for one in found
    ]


def _find_check_folder(run: Run, shelf: Shelf) -> str | None:
    folder = questions_folder(run.folder)
    return next((one.id for one in shelf.builds.values() if one.folder == folder), None)


def _describe_cases(run: Run, shelf: Shelf) -> dict[str, Data] | None:
    try:
        return describe_cases(shelf.split_of(run).entries.values())
    except OverreadError:
        return None  # the dataset is not here: new sentences stand alone
