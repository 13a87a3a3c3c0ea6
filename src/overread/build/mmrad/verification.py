"""Verification in three stages: the generator's own reflection, a cross-audit, people.

Every verdict of every stage and attempt is kept with the item and in the ledger. Rules judge at
the first two stages whoever else does, and alone where there is no model. What somebody objects to
goes back to the generator with the reasons; what is still objected to after that goes to people.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

from overread.build.adjudication.reads import CANNOT_JUDGE
from overread.build.item import Change, Data, Drop, Item, Keep, Question, StepResult, Wait
from overread.build.mmrad.model_verdicts import ask_audit, ask_reflection
from overread.build.mmrad.pairs import boxes_of, pairs_of
from overread.build.mmrad.rejections import apply_rejections
from overread.build.mmrad.rule_verdicts import TraceVerdict, audit_by_rules, reflect_by_rules
from overread.build.mmrad.trace_looks import RegionLook, ask_revision, looks_of
from overread.build.step import StepContext, answer_or_note
from overread.errors import BadReply, UsageError

KIND = "verify-trace"

Judge = Callable[[Sequence[RegionLook], int], Awaitable[list[TraceVerdict]]]


@dataclass
class _StageResult:
    """What came of one stage."""

    looks: list[RegionLook]
    verdicts: list[TraceVerdict] = field(default_factory=list)
    standing: list[TraceVerdict] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)


async def reflect(item: Item, context: StepContext) -> StepResult:
    """Stage 1: each sentence is traced back to the report, by rules and by the generator itself."""
    pairs = pairs_of(item)

    async def judge(looks: Sequence[RegionLook], attempt: int) -> list[TraceVerdict]:
        found = reflect_by_rules(pairs, looks, attempt)
        if context.has("reader"):
            try:
                found += await ask_reflection(item, looks, attempt, context)
            except BadReply as error:
                found.append(_unjudged_verdict(1, attempt, error, context.name("reader")))
        return found

    done = await _judge_and_revise(item, looks_of(item), judge, context)
    return _keep_item(item, done, done.standing)


async def audit(item: Item, context: StepContext) -> StepResult:
    """Stage 2: each look is held against report and boxes, by rules and by a second model."""
    pairs, boxes, size = pairs_of(item), boxes_of(item), size_of(item)
    before = looks_of(item)

    async def judge(looks: Sequence[RegionLook], attempt: int) -> list[TraceVerdict]:
        found = audit_by_rules(pairs, looks, boxes, size, attempt)
        if context.has("auditor"):
            try:
                found += await ask_audit(item, looks, attempt, context)
            except BadReply as error:
                found.append(_unjudged_verdict(2, attempt, error, context.name("auditor")))
        if attempt > 1:
            # What was written anew must pass the first stage's rules as well.
            found += [one for one in reflect_by_rules(pairs, looks, attempt) if one.verdict == "reject"]
        return found

    done = await _judge_and_revise(item, before, judge, context)
    kept = [] if done.looks != before else disputed_of(item)
    return _keep_item(item, done, [*kept, *done.standing])


async def ask_people(item: Item, context: StepContext) -> StepResult:
    """Stage 3: people decide on what is still objected to; nothing is asked where nothing is."""
    disputed = disputed_of(item)
    if not disputed:
        return Keep(data={})
    if context.settings.get("people", "ask") == "drop":
        why = f"{len(disputed)} objections stood: {disputed[0].reason}"
        return Drop(reason="disputed", why=why, by=disputed[0].by)
    looks = looks_of(item)
    questions = _make_questions(item, looks, disputed)
    answers = {one.id: context.verdict(one.id) for one, _ in questions}
    unanswered = [one for one, _ in questions if answers[one.id] is None]
    if unanswered:
        return Wait(questions=tuple(unanswered))
    verdicts = [_people_verdict(one, asked, answers[asked.id]) for asked, one in questions]
    changes = _verdict_changes(verdicts)
    unsure = next((one for one, _ in questions if answers[one.id] == CANNOT_JUDGE), None)
    if unsure is not None:
        why = f"people could not judge: {unsure.text}"
        return Drop(reason="people-cannot-judge", why=why, by="people", changes=tuple(changes))
    rejected = [one for one in verdicts if one.verdict == "reject"]
    made = apply_rejections(item, looks, rejected, context)
    if made.questions:
        return Wait(questions=tuple(made.questions), changes=tuple(changes))
    changes += made.changes
    mended = made.looks
    if mended is None:
        why = f"people rejected the trace: {rejected[0].reason}"
        return Drop(reason="rejected-by-people", why=why, by="people", changes=tuple(changes))
    if mended != looks:
        why = "what people rejected was put in the report's own words, where they belong"
        changes.append(
            Change(
                what="trace", before=_looks_as_json(looks), after=_looks_as_json(mended), by="people", why=why
            )
        )
    data: Data = {
        "pairs": [one.model_dump(mode="json") for one in made.pairs],
        "trace": _looks_as_json(mended),
        "verdicts": [*_stored_list(item, "verdicts"), *(one.model_dump(mode="json") for one in verdicts)],
        "disputed": [],
    }
    return Keep(data=data, changes=tuple(changes))


def size_of(item: Item) -> tuple[int, int]:
    """Width and height of the film."""
    return int(str(item.data["width"])), int(str(item.data["height"]))


def disputed_of(item: Item) -> list[TraceVerdict]:
    """The objections that stand."""
    return [TraceVerdict.model_validate(one) for one in _stored_list(item, "disputed")]


def verdicts_of(item: Item) -> list[TraceVerdict]:
    """Every verdict on an item so far."""
    return [TraceVerdict.model_validate(one) for one in _stored_list(item, "verdicts")]


def max_revisions(context: StepContext) -> int:
    """How often the generator may mend its trace at each stage."""
    told = context.settings.get("revisions", "1")
    if not told.isdecimal() or int(told) > 9:
        raise UsageError(f"revisions={told} is no number from 0 to 9")
    return int(told)


async def _judge_and_revise(
    item: Item, looks: list[RegionLook], judge: Judge, context: StepContext
) -> _StageResult:
    """Judge a trace; where there are objections let the generator mend it, and judge again."""
    done = _StageResult(looks)
    most = max_revisions(context) if context.has("reader") else 0
    for attempt in range(1, most + 2):
        found = await judge(done.looks, attempt)
        done.verdicts += found
        done.changes += _verdict_changes(found)
        done.standing = [one for one in found if one.verdict == "reject"]
        mendable = [one for one in done.standing if one.problem != "unjudged"]
        if not mendable or attempt > most:
            break
        why = "the reader did not mend its trace: {problem}"
        note = Change(what="trace", by=context.name("reader"), why=why)
        asking = ask_revision(item, done.looks, _format_objections(mendable), context)
        again = await answer_or_note(asking, done.changes, note)
        if again is None:
            break
        done.changes.append(
            Change(
                what="trace",
                before=_looks_as_json(done.looks),
                after=_looks_as_json(again),
                by=context.name("reader"),
                why="; ".join(_format_objections(mendable))[:2000],
            )
        )
        done.looks = again
    return done


def _format_objections(standing: Sequence[TraceVerdict]) -> list[str]:
    """What is wrong, in words for whoever is to mend it; each once."""
    told = []
    for one in standing:
        where = f"look {one.look}" if one.look is not None else "the trace"
        quoted = f', "{one.sentence}"' if one.sentence else ""
        told.append(f"{where}{quoted}: {one.problem or 'wrong'}: {one.reason}")
    return list(dict.fromkeys(told))


def _verdict_changes(found: Sequence[TraceVerdict]) -> list[Change]:
    """Verdicts as the ledger has them."""
    return [
        Change(
            what=f"verdict, stage {one.stage}", after=one.model_dump(mode="json"), by=one.by, why=one.reason
        )
        for one in found
    ]


def _keep_item(item: Item, done: _StageResult, standing: Sequence[TraceVerdict]) -> Keep:
    return Keep(
        data={
            "trace": _looks_as_json(done.looks),
            "verdicts": [
                *_stored_list(item, "verdicts"),
                *(one.model_dump(mode="json") for one in done.verdicts),
            ],
            "disputed": [one.model_dump(mode="json") for one in standing],
        },
        changes=tuple(done.changes),
    )


def _unjudged_verdict(stage: Literal[1, 2], attempt: int, error: BadReply, by: str) -> TraceVerdict:
    """A rejecting verdict for a judgement that cannot be read: what nobody judged does not pass."""
    return TraceVerdict(
        stage=stage,
        attempt=attempt,
        verdict="reject",
        problem="unjudged",
        reason=f"no judgement could be read: {error.what}",
        by=by,
    )


def _make_questions(
    item: Item, looks: Sequence[RegionLook], disputed: Sequence[TraceVerdict]
) -> list[tuple[Question, TraceVerdict]]:
    """A question for each thing objected to, whoever objects, with the first objection to it."""
    made: dict[str, tuple[Question, TraceVerdict]] = {}
    for one in disputed:
        look = looks[one.look - 1] if one.look is not None and one.look <= len(looks) else None
        text = _question_text(one, look)
        about = [look] if look is not None else [] if one.problem == "box" else looks
        seen: Data = {
            "image": item.data["image"],
            "report": item.data["report"],
            "boxes": item.data["boxes"],
            "looks": [each.model_dump(mode="json", exclude={"by"}) for each in about],
            "sentence": one.sentence,
        }
        digest = hashlib.sha256(json.dumps([text, seen], sort_keys=True).encode()).hexdigest()
        key = f"{item.id}:people:{digest[:12]}"
        asked = Question(id=key, item=item.id, kind=KIND, text=text, shown=seen)
        made.setdefault(key, (asked, one))
    return list(made.values())


def _question_text(one: TraceVerdict, look: RegionLook | None) -> str:
    """The question in words; it tells neither who objects nor how the others judge."""
    if one.problem == "left-out":
        return f'May the trace do without this sentence of the report? "{one.sentence}"'
    if look is None and one.problem == "box":
        return f"Can the boxes of this film be used? {one.reason}"
    if look is None and one.sentence:
        return f'Does the trace tell this sentence of the report as it is? "{one.sentence}"'
    if look is None:
        return "Does the report bear out this trace, look by look?"
    if one.problem == "box":
        return f"Is {list(look.box)} the right box for {', '.join(look.regions)}?"
    words = one.sentence or look.text
    return f'Does the report bear this out, of {", ".join(look.regions)}? "{words}"'


def _people_verdict(one: TraceVerdict, asked: Question, said: str | None) -> TraceVerdict:
    return one.model_copy(
        update={
            "stage": 3,
            "verdict": "accept" if said == "accept" else "reject",
            "reason": asked.text,
            "by": "people",
        }
    )


def _looks_as_json(looks: Sequence[RegionLook]) -> list[JsonValue]:
    return [one.model_dump(mode="json") for one in looks]


def _stored_list(item: Item, name: str) -> list[JsonValue]:
    given = item.data.get(name)
    return list(given) if isinstance(given, list) else []
