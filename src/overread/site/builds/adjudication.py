"""Routes of the adjudication queue for one person: next question, give a verdict, undo it.

All of it goes through `overread.build.adjudication.Queue` and its log, as in the terminal.
Nothing of other people's verdicts is sent. A verdict that is sent twice is stored once.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Query
from pydantic import Field, JsonValue

from overread.build.adjudication import PersonVerdict, Queue
from overread.build.adjudication.queue import VerdictInput
from overread.build.adjudication.reads import person_key
from overread.build.item import Question
from overread.core import Record
from overread.errors import UsageError
from overread.site.builds.dependencies import LONGEST_ID, OneBuild, Person, resolve_person
from overread.site.builds.evidence.routes import EvidencePicture, QuestionEvidence, collect_evidence
from overread.site.builds.open_queues import open_queue
from overread.site.dependencies import CurrentUser, ShelfDep, require_truth, require_write

router = APIRouter()
TRUTH_ONLY = [Depends(require_truth)]
"""Questions show reports and findings: what will be the truth of the benchmark that is built."""
WRITE_AND_TRUTH = [Depends(require_write), Depends(require_truth)]

QuestionIdField = Annotated[str, Field(min_length=1, max_length=LONGEST_ID)]


class ReasonCode(Record):
    """Why a verdict is given, in a word that can be counted."""

    code: str
    about: str


class OpenQuestion(Record):
    """One question as a reader sees it: nothing of what others said."""

    id: str
    asked: str
    """Digest of these words: it goes back with the verdict, which belongs to them."""
    item: str
    kind: str
    text: str
    choices: list[str]
    """'cannot judge' may always be said besides."""
    reasons: list[ReasonCode]
    shown: dict[str, JsonValue]
    """Texts and numbers that one needs to see; pictures and their boxes stand apart."""
    pictures: list[EvidencePicture]


# Less than PersonVerdict: whose it is and what was asked is known to who asks.
class OwnVerdict(Record):
    """A verdict of the person who asks."""

    question: str
    item: str
    kind: str
    verdict: str
    reasons: list[str]
    note: str
    corrected: dict[str, JsonValue] | None
    at: str


class NextQuestion(Record):
    """The next question for a person, and how far that person is."""

    person: str
    """As the log has the name."""
    question: OpenQuestion | None
    """Absent where nothing is left to read."""
    left: int
    """Questions that this person can read yet, this one among them."""
    given: int
    """Verdicts of this person that stand."""
    last: OwnVerdict | None
    """The last of them: what undoing takes back."""


class VerdictBody(Record):
    """A verdict as the page hands it in."""

    person: str = Field(default="", max_length=200)
    """Who reads; not needed by who is logged in, who reads as nobody else."""
    question: QuestionIdField
    asked: str = Field(max_length=100)
    """Digest of the words that were shown."""
    verdict: str = Field(max_length=1000)
    reasons: list[Annotated[str, Field(max_length=200)]] = Field(default=[], max_length=100)
    note: str = Field(default="", max_length=20_000)
    corrected: dict[str, JsonValue] | None = None
    """What is right instead: `box`, `boxes` in pixels of the picture, `slices` from 0."""


class VerdictSaved(Record):
    """A verdict that is in the log."""

    kept: OwnVerdict
    again: bool
    """Whether it was there already, word for word."""


class UndoInput(Record):
    """A verdict that its giver takes back."""

    person: str = Field(default="", max_length=200)
    question: QuestionIdField
    """Named, so that asking twice takes back one."""


class VerdictUndone(Record):
    """A verdict that was taken back."""

    undone: OwnVerdict | None
    """Absent where it had been taken back already."""


@router.get("/builds/{build}/queue/next", dependencies=TRUTH_ONLY)
def next_question(
    build: OneBuild,
    shelf: ShelfDep,
    person: Person,
    kind: Annotated[str | None, Query(max_length=200)] = None,
    after: Annotated[str | None, Query(max_length=LONGEST_ID)] = None,
    question: Annotated[str | None, Query(max_length=LONGEST_ID)] = None,
) -> NextQuestion:
    """The next question that this person can read.

    `after` is the question that was put off or answered: the search goes on behind it and comes
    back to the beginning in the end. `question` asks for one by its id, if it can be read.
    """
    with open_queue(build.folder) as queue:
        waiting = queue.open_questions(person, kind=kind or None)
        own = _own_verdicts(queue, person)
        asked = _choose_question(queue, waiting, after, question)
        found = None
        if asked is not None:
            reasons = [ReasonCode(code=c, about=a) for c, a in queue.reason_codes(asked.kind).items()]
            digest = queue.question_digest(asked.id)
    if asked is not None:
        seen = collect_evidence(asked, build, shelf)
        found = _to_open_question(asked, digest, reasons, seen)
    return NextQuestion(
        person=own[-1].person if own else person,
        question=found,
        left=len(waiting),
        given=len(own),
        last=_to_own_verdict(own[-1]) if own else None,
    )


@router.post("/builds/{build}/queue/verdicts", dependencies=WRITE_AND_TRUTH)
def give_verdict(build: OneBuild, user: CurrentUser, offered: VerdictBody) -> VerdictSaved:
    """Keep one verdict: from the answer on, nothing loses it."""
    person = resolve_person(user, offered.person)
    with open_queue(build.folder) as queue:
        if offered.question in queue.questions and queue.question_digest(offered.question) != offered.asked:
            raise HTTPException(409, "the question has changed since it was shown: read it again")
        try:
            given = queue.submit(
                person,
                offered.question,
                offered.verdict,
                reasons=offered.reasons,
                note=offered.note,
                corrected=offered.corrected,
            )
        except UsageError:
            before = _find_same_verdict(queue, person, offered)
            if before is None:
                raise
            return VerdictSaved(kept=_to_own_verdict(before), again=True)
    return VerdictSaved(kept=_to_own_verdict(given), again=False)


@router.post("/builds/{build}/queue/undo", dependencies=WRITE_AND_TRUTH)
def undo_verdict(build: OneBuild, user: CurrentUser, offered: UndoInput) -> VerdictUndone:
    """Take back one's own verdict on a question; the log keeps the verdict and the undoing."""
    person = resolve_person(user, offered.person)
    with open_queue(build.folder) as queue:
        standing = any(one.question == offered.question for one in _own_verdicts(queue, person))
        if offered.question in queue.questions and not standing:
            return VerdictUndone(undone=None)
        return VerdictUndone(undone=_to_own_verdict(queue.undo(person, offered.question)))


@router.get("/builds/{build}/queue/given", dependencies=TRUTH_ONLY)
def given_verdicts(
    build: OneBuild, person: Person, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> list[OwnVerdict]:
    """One's own verdicts that stand, the last one first."""
    with open_queue(build.folder) as queue:
        own = _own_verdicts(queue, person)
    return [_to_own_verdict(given) for given in reversed(own[-limit:])]


def _own_verdicts(queue: Queue, person: str) -> list[PersonVerdict]:
    who = person_key(person)
    return [given for given in queue.current_verdicts() if person_key(given.person) == who]


def _choose_question(
    queue: Queue, waiting: list[Question], after: str | None, wanted: str | None
) -> Question | None:
    """The question that was asked for, else the first behind `after`, else the first."""
    if wanted is not None:
        return next((one for one in waiting if one.id == wanted), None)
    if after is None:
        return waiting[0] if waiting else None
    places = {id_: place for place, id_ in enumerate(queue.questions)}
    behind = places.get(after, -1)
    later = (one for one in waiting if places[one.id] > behind)
    return next(later, waiting[0] if waiting else None)


def _find_same_verdict(queue: Queue, person: str, offered: VerdictBody) -> PersonVerdict | None:
    """The same verdict, where it is there already; a refusal where it is another one."""
    before = [one for one in _own_verdicts(queue, person) if one.question == offered.question]
    if not before:
        return None
    offer = VerdictInput(
        person=before[0].person,
        question=offered.question,
        verdict=offered.verdict,
        reasons=tuple(offered.reasons),
        note=offered.note,
        corrected=offered.corrected,
    )
    if queue.validate(offer, at=before[0].at) == before[0]:
        return before[0]
    raise HTTPException(409, "you have read this question already: undo that verdict first")


def _to_open_question(
    asked: Question, digest: str, reasons: list[ReasonCode], seen: QuestionEvidence
) -> OpenQuestion:
    return OpenQuestion(
        id=asked.id,
        asked=digest,
        item=asked.item,
        kind=asked.kind,
        text=asked.text,
        choices=list(asked.choices),
        reasons=reasons,
        shown=seen.shown,
        pictures=list(seen.pictures),
    )


def _to_own_verdict(given: PersonVerdict) -> OwnVerdict:
    return OwnVerdict.model_validate(given, from_attributes=True)
