"""Status of an adjudication for the person who runs it: progress, agreement, integrity of the log.

Nothing here shows anybody's verdict on a single question.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import Field

from overread.build import adjudication
from overread.build.adjudication.agreement import GroupAgreement, measure_agreement
from overread.build.adjudication.progress import QuestionTally
from overread.core import Record
from overread.site.builds.dependencies import AgreementValue, OneBuild, to_agreement_value
from overread.site.builds.judge_checks import JudgeAgreementRow, judge_rows
from overread.site.builds.open_queues import open_queue
from overread.site.dependencies import ShelfDep, require_truth

router = APIRouter()


class QueuePerson(Record):
    """How far one person is."""

    name: str
    given: int
    left: int


class QueueProgress(Record):
    """How far the work is. For who runs it."""

    all: QuestionTally
    kinds: dict[str, QuestionTally]
    people: list[QueuePerson]
    outdated: int
    """Verdicts on questions that have changed since; they do not count."""
    notes: list[str]
    """What was mended in the log."""


class AgreementPair(Record):
    """Two people who read the same questions."""

    first: str
    second: str
    questions: int
    share: AgreementValue
    kappa: AgreementValue


class AgreementGroup(Record):
    """How far the two blinded reads agree on the questions of a kind, or of a category of it."""

    kind: str
    category: str | None
    """Absent for the whole kind."""
    questions: int
    """Questions with two reads."""
    differ: int
    share: AgreementValue
    kappa: AgreementValue | None
    """Cohen's; absent where more than two people read."""
    ac1: AgreementValue
    """Gwet's AC1."""
    alpha: AgreementValue
    """Krippendorff's alpha."""
    pairs: list[AgreementPair]


class QueueAgreement(Record):
    """How far people agree with each other, and with a judge where they check one."""

    groups: list[AgreementGroup]
    judge: list[JudgeAgreementRow] = Field(default=[])
    """Each person, and what was decided, against the judge; empty where no judge is checked."""


# LogCheck with `intact`, which is reckoned there.
class ChainCheck(Record):
    """Whether the log of verdicts is as it was written."""

    intact: bool
    lines: int
    """Lines that fit."""
    head: str
    """Hash of the last of them: note it, to find out later whether an end was cut off."""
    broken: int | None
    """The first line that does not fit."""
    why: str
    torn: str
    """What a kill did to the last line; the next verdict mends that."""


@router.get("/builds/{build}/queue/progress")
def get_progress(build: OneBuild) -> QueueProgress:
    """How far the work is, by kind and by person."""
    with open_queue(build.folder) as queue:
        found = queue.progress()
    return QueueProgress(
        all=found.all,
        kinds=found.kinds,
        people=[
            QueuePerson(name=name, given=found.given[name], left=found.left[name]) for name in found.given
        ],
        outdated=found.outdated,
        notes=list(found.notes),
    )


@router.get("/builds/{build}/queue/agreement", dependencies=[Depends(require_truth)])
def get_agreement(
    build: OneBuild, shelf: ShelfDep, draws: Annotated[int, Query(ge=0, le=2000)] = 1000
) -> QueueAgreement:
    """How far the two blinded reads agree; third reads do not count."""
    with open_queue(build.folder) as queue:
        questions = list(queue.questions.values())
    found = measure_agreement(build.folder, questions, draws=draws)
    return QueueAgreement(groups=_to_agreement_groups(found), judge=judge_rows(build, shelf, draws=draws))


@router.get("/builds/{build}/queue/verify")
def verify_log(
    build: OneBuild, head: Annotated[str | None, Query(max_length=64, pattern="^[0-9a-f]+$")] = None
) -> ChainCheck:
    """Go through the whole log; `head` is a hash noted earlier, which must occur."""
    found = adjudication.verify_log(build.folder, head=head)
    return ChainCheck.model_validate(found, from_attributes=True)


def _to_agreement_groups(found: Sequence[GroupAgreement]) -> list[AgreementGroup]:
    return [
        AgreementGroup(
            kind=group.kind,
            category=group.category,
            questions=group.questions,
            differ=group.differ,
            share=to_agreement_value(group.share),
            kappa=to_agreement_value(group.kappa) if group.kappa is not None else None,
            ac1=to_agreement_value(group.ac1),
            alpha=to_agreement_value(group.alpha),
            pairs=[
                AgreementPair(
                    first=pair.first,
                    second=pair.second,
                    questions=pair.agreement.n,
                    share=to_agreement_value(pair.agreement.share),
                    kappa=to_agreement_value(pair.agreement.kappa),
                )
                for pair in group.pairs
            ],
        )
        for group in found
    ]
