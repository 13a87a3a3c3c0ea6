"""The cases behind the numbers of a build, and all that is on record of one of them."""

from __future__ import annotations

import math
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from pydantic import JsonValue, ValidationError

from overread.build.ledger.queries import HistoryEntry, ModelAnswer, load_history, load_item_statuses
from overread.build.ledger.questions import list_consulted
from overread.build.ledger.store import OutcomeName
from overread.core import Record, SentImage
from overread.site.builds.dependencies import LONGEST_ID, OneBuild
from overread.site.dependencies import require_truth
from overread.site.strip_paths import strip_paths
from overread.site.traces.steps import describe_region

# A case of a build has what will be the truth of a benchmark in it.
router = APIRouter(dependencies=[Depends(require_truth)])
CaseIdQuery = Annotated[str, Query(min_length=1, max_length=LONGEST_ID)]


# Apart from the ledger's own records: every text goes out without paths.
class BuildCase(Record):
    """Where one case stands, or what one step decided on it."""

    case: str
    patient: str | None
    step: str
    """Empty where no step has come to it yet."""
    outcome: str
    goes_on: bool
    """Whether this is where it stands now, and more steps follow."""
    reason: str
    why: str
    by: str
    changes: int
    """Alterations that the step made."""


class BuildChange(Record):
    """Something that a step altered."""

    what: str
    before: JsonValue
    after: JsonValue
    by: str
    why: str


class BuildMessage(Record):
    """What somebody said to a model."""

    role: str
    parts: list[str]
    """Words as they were; pictures are told."""


class BuildAnswer(Record):
    """One answer of a model that a decision rests on."""

    role: str
    reader: str
    prompt: str
    known: bool
    """Whether it was there already when the decision was made."""
    problem: str
    """Why it could not be used; empty where it could."""
    repaired: str
    """What had to be mended before it could be read."""
    asked: list[BuildMessage]
    reply: str
    reasoning: str


class PeopleVerdict(Record):
    """A question to people that a step looked up."""

    question: str
    verdict: str | None
    """What they had decided by then."""
    corrected: str | None
    """What they put in the place of what they were shown, as JSON."""


class BuildDecision(Record):
    """What one step decided on the case."""

    step: str
    outcome: str
    reason: str
    why: str
    by: str
    at: str
    current: bool
    """Whether the build as it stands rests on it."""
    new: list[str]
    """Fields that it added or replaced."""
    changes: list[BuildChange]
    people: list[PeopleVerdict]
    answers: list[BuildAnswer]


class BuildHistory(Record):
    """All that is on record of one case."""

    case: str
    patient: str | None
    source: dict[str, JsonValue]
    """The fields with which it came."""
    now: dict[str, JsonValue]
    """What is known of it in the end."""
    defects: list[str]
    decisions: list[BuildDecision]


@router.get("/builds/{build}/cases")
def get_cases(
    build: OneBuild,
    step: Annotated[str | None, Query(max_length=200)] = None,
    outcome: OutcomeName | None = None,
    reason: Annotated[str | None, Query(max_length=LONGEST_ID)] = None,
) -> list[BuildCase]:
    """The cases that came to a step, by what it decided; without one, where every case stands."""
    return [
        BuildCase(
            case=_valid_unicode(one.item),
            patient=_clean_or_none(one.patient),
            step=one.step,
            outcome=one.outcome,
            goes_on=one.goes_on,
            reason=_clean_text(one.reason),
            why=_clean_text(one.why),
            by=_clean_text(one.by),
            changes=one.changes,
        )
        for one in load_item_statuses(build.folder, step)
        if outcome in (None, one.outcome) and reason in (None, one.reason)
    ]


@router.get("/builds/{build}/history")
def get_history(build: OneBuild, case: CaseIdQuery) -> BuildHistory:
    """What each step decided on a case and why, with every answer of a model."""
    found = load_history(build.folder, case)
    return BuildHistory(
        case=_valid_unicode(found.item),
        patient=_clean_or_none(found.patient),
        source={_clean_text(key): _clean_json(value) for key, value in found.source.items()},
        now={_clean_text(key): _clean_json(value) for key, value in found.now.items()},
        defects=[_clean_text(defect) for defect in found.defects],
        decisions=[_decision(one) for one in found.decisions],
    )


def _decision(one: HistoryEntry) -> BuildDecision:
    entry = one.entry
    return BuildDecision(
        step=entry.step,
        outcome=entry.outcome,
        reason=_clean_text(entry.reason),
        why=_clean_text(entry.why),
        by=_clean_text(entry.by),
        at=entry.at,
        current=one.current,
        new=[_clean_text(name) for name in entry.data],
        changes=[
            BuildChange(
                what=_clean_text(change.what),
                before=_clean_json(change.before),
                after=_clean_json(change.after),
                by=_clean_text(change.by),
                why=_clean_text(change.why),
            )
            for change in entry.changes
        ],
        people=[
            PeopleVerdict(
                question=_clean_text(question),
                verdict=_clean_or_none(verdict),
                corrected=_clean_or_none(corrected),
            )
            for question, verdict, corrected in list_consulted(entry.verdicts)
        ],
        answers=[_answer(call) for call in one.asked],
    )


def _answer(call: ModelAnswer) -> BuildAnswer:
    return BuildAnswer(
        role=_clean_text(call.role),
        reader=_clean_text(call.reader),
        prompt=_clean_text(call.prompt),
        known=call.known,
        problem=_clean_text(call.problem or ""),
        repaired=_clean_text(call.repaired or ""),
        asked=[_message(message) for message in call.asked],
        reply=_clean_text(call.reply.text) if call.reply else "",
        reasoning=_clean_text(call.reply.reasoning or "") if call.reply else "",
    )


def _message(message: dict[str, Any]) -> BuildMessage:
    parts = message.get("parts")
    return BuildMessage(
        role=_clean_text(str(message.get("role", ""))),
        parts=[_part(part) for part in parts] if isinstance(parts, list) else [],
    )


def _part(part: object) -> str:
    """Words, or which picture was shown."""
    if isinstance(part, str):
        return _clean_text(part)
    try:
        shown = SentImage.model_validate(part)
    except ValidationError:
        return "[unreadable part]"
    return f"[{_clean_text(describe_region(shown.region))}, {shown.width} × {shown.height} pixels]"


def _valid_unicode(text: str) -> str:
    """The text with invalid Unicode replaced, so that it can be sent as JSON."""
    return text.encode("utf-8", "replace").decode()


def _clean_text(text: str) -> str:
    """The text as it can be sent: no path of this machine, only valid Unicode."""
    return strip_paths(_valid_unicode(text))


def _clean_or_none(text: str | None) -> str | None:
    return None if text is None else _clean_text(text)


def _clean_json(value: JsonValue) -> JsonValue:
    """Any JSON as it can be sent; numbers that are none are left out."""
    if isinstance(value, str):
        return _clean_text(value)
    if isinstance(value, dict):
        return {_clean_text(key): _clean_json(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_clean_json(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
