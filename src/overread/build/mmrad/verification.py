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

from overread.build.item import Change, Data, Dropped, Item, Kept, Outcome, Question, Waits
from overread.build.mmrad.asking import cross_audited, reflected
from overread.build.mmrad.pairs import boxes_of, pairs_of
from overread.build.mmrad.tracing import Look, asked_again, looks_of, looks_of_pairs
from overread.build.mmrad.verdicts import Verdict, audited, traced_back
from overread.build.step import Desk
from overread.errors import BadReply, UsageError

KIND = "verify-trace"
_NEVER = "cannot judge"

Judge = Callable[[Sequence[Look], int], Awaitable[list[Verdict]]]


@dataclass
class _Round:
    """What came of one stage."""

    looks: list[Look]
    verdicts: list[Verdict] = field(default_factory=list)
    standing: list[Verdict] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)


async def reflect(item: Item, desk: Desk) -> Outcome:
    """Stage 1: each sentence is traced back to the report, by rules and by the generator itself."""
    pairs = pairs_of(item)

    async def judge(looks: Sequence[Look], attempt: int) -> list[Verdict]:
        found = traced_back(pairs, looks, attempt)
        if desk.has("reader"):
            try:
                found += await reflected(item, looks, attempt, desk)
            except BadReply as error:
                found.append(_unjudged(1, attempt, error, desk.name("reader")))
        return found

    done = await _judged(item, looks_of(item), judge, desk)
    return _kept(item, done, done.standing)


async def audit(item: Item, desk: Desk) -> Outcome:
    """Stage 2: each look is held against report and boxes, by rules and by a second model."""
    pairs, boxes, size = pairs_of(item), boxes_of(item), size_of(item)
    before = looks_of(item)

    async def judge(looks: Sequence[Look], attempt: int) -> list[Verdict]:
        found = audited(pairs, looks, boxes, size, attempt)
        if desk.has("auditor"):
            try:
                found += await cross_audited(item, looks, attempt, desk)
            except BadReply as error:
                found.append(_unjudged(2, attempt, error, desk.name("auditor")))
        if attempt > 1:
            # What was written anew must pass the first stage's rules as well.
            found += [one for one in traced_back(pairs, looks, attempt) if one.verdict == "reject"]
        return found

    done = await _judged(item, before, judge, desk)
    kept = [] if done.looks != before else disputed_of(item)
    return _kept(item, done, [*kept, *done.standing])


async def people(item: Item, desk: Desk) -> Outcome:
    """Stage 3: people decide on what is still objected to; nothing is asked where nothing is."""
    disputed = disputed_of(item)
    if not disputed:
        return Kept(data={})
    if desk.settings.get("people", "ask") == "drop":
        why = f"{len(disputed)} objections stood: {disputed[0].reason}"
        return Dropped(reason="disputed", why=why, by=disputed[0].by)
    looks = looks_of(item)
    questions = _questions(item, looks, disputed)
    answers = {one.id: desk.verdict(one.id) for one, _ in questions}
    unanswered = [one for one, _ in questions if answers[one.id] is None]
    if unanswered:
        return Waits(questions=tuple(unanswered))
    verdicts = [_answer(one, asked, answers[asked.id]) for asked, one in questions]
    changes = _told(verdicts)
    unsure = next((one for one, _ in questions if answers[one.id] == _NEVER), None)
    if unsure is not None:
        why = f"people could not judge: {unsure.text}"
        return Dropped(reason="people-cannot-judge", why=why, by="people", changes=tuple(changes))
    rejected = [one for one in verdicts if one.verdict == "reject"]
    mended = _mended(item, looks, rejected)
    if mended is None:
        why = f"people rejected the trace: {rejected[0].reason}"
        return Dropped(reason="rejected-by-people", why=why, by="people", changes=tuple(changes))
    if mended != looks:
        why = "what people rejected was put in the report's own words"
        changes.append(
            Change(what="trace", before=_plain(looks), after=_plain(mended), by="people", why=why)
        )
    data: Data = {
        "trace": _plain(mended),
        "verdicts": [*_list(item, "verdicts"), *(one.model_dump(mode="json") for one in verdicts)],
        "disputed": [],
    }
    return Kept(data=data, changes=tuple(changes))


def size_of(item: Item) -> tuple[int, int]:
    """Width and height of the film."""
    return int(str(item.data["width"])), int(str(item.data["height"]))


def disputed_of(item: Item) -> list[Verdict]:
    """The objections that stand."""
    return [Verdict.model_validate(one) for one in _list(item, "disputed")]


def verdicts_of(item: Item) -> list[Verdict]:
    """Every verdict on an item so far."""
    return [Verdict.model_validate(one) for one in _list(item, "verdicts")]


def revisions(desk: Desk) -> int:
    """How often the generator may mend its trace at each stage."""
    told = desk.settings.get("revisions", "1")
    if not told.isdecimal() or int(told) > 9:
        raise UsageError(f"revisions={told} is no number from 0 to 9")
    return int(told)


async def _judged(item: Item, looks: list[Look], judge: Judge, desk: Desk) -> _Round:
    """Judge a trace; where there are objections let the generator mend it, and judge again."""
    done = _Round(looks)
    most = revisions(desk) if desk.has("reader") else 0
    for attempt in range(1, most + 2):
        found = await judge(done.looks, attempt)
        done.verdicts += found
        done.changes += _told(found)
        done.standing = [one for one in found if one.verdict == "reject"]
        mendable = [one for one in done.standing if one.problem != "unjudged"]
        if not mendable or attempt > most:
            break
        try:
            again = await asked_again(item, done.looks, _objections(mendable), desk)
        except BadReply as error:
            why = f"the reader did not mend its trace: {error.what}"
            done.changes.append(Change(what="trace", by=desk.name("reader"), why=why))
            break
        done.changes.append(
            Change(
                what="trace",
                before=_plain(done.looks),
                after=_plain(again),
                by=desk.name("reader"),
                why="; ".join(_objections(mendable))[:2000],
            )
        )
        done.looks = again
    return done


def _objections(standing: Sequence[Verdict]) -> list[str]:
    """What is wrong, in words for whoever is to mend it; each once."""
    told = []
    for one in standing:
        where = f"look {one.look}" if one.look is not None else "the trace"
        quoted = f', "{one.sentence}"' if one.sentence else ""
        told.append(f"{where}{quoted}: {one.problem or 'wrong'}: {one.reason}")
    return list(dict.fromkeys(told))


def _told(found: Sequence[Verdict]) -> list[Change]:
    """Verdicts as the ledger has them."""
    return [
        Change(
            what=f"verdict, stage {one.stage}",
            after=one.model_dump(mode="json"),
            by=one.by,
            why=one.reason,
        )
        for one in found
    ]


def _kept(item: Item, done: _Round, standing: Sequence[Verdict]) -> Kept:
    return Kept(
        data={
            "trace": _plain(done.looks),
            "verdicts": [
                *_list(item, "verdicts"),
                *(one.model_dump(mode="json") for one in done.verdicts),
            ],
            "disputed": [one.model_dump(mode="json") for one in standing],
        },
        changes=tuple(done.changes),
    )


def _unjudged(stage: Literal[1, 2], attempt: int, error: BadReply, by: str) -> Verdict:
    """A judgement that cannot be read is none, and what nobody judged does not pass."""
    return Verdict(
        stage=stage,
        attempt=attempt,
        verdict="reject",
        problem="unjudged",
        reason=f"no judgement could be read: {error.what}",
        by=by,
    )


def _questions(
    item: Item, looks: Sequence[Look], disputed: Sequence[Verdict]
) -> list[tuple[Question, Verdict]]:
    """A question for each thing objected to, whoever objects, with the first objection to it."""
    made: dict[str, tuple[Question, Verdict]] = {}
    for one in disputed:
        look = looks[one.look - 1] if one.look is not None and one.look <= len(looks) else None
        text = _asked(one, look)
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


def _asked(one: Verdict, look: Look | None) -> str:
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
    words = one.sentence or look.words
    return f'Does the report bear this out, of {", ".join(look.regions)}? "{words}"'


def _answer(one: Verdict, asked: Question, said: str | None) -> Verdict:
    return one.model_copy(
        update={
            "stage": 3,
            "verdict": "accept" if said == "accept" else "reject",
            "reason": asked.text,
            "by": "people",
        }
    )


def _mended(item: Item, looks: list[Look], rejected: Sequence[Verdict]) -> list[Look] | None:
    """The trace in the report's own words where people rejected it; None where that is no help."""
    if not rejected:
        return looks
    own = looks_of_pairs(pairs_of(item), boxes_of(item))
    majors = set()
    for one in rejected:
        if one.look is None and one.sentence:
            majors |= {look.major for look in own if one.sentence in look.sentences}
        elif one.problem == "unjudged" and looks != own:
            return own
        elif one.look is None or looks[one.look - 1] in own:
            return None
        else:
            majors.add(looks[one.look - 1].major)
    kept = [look for look in looks if look.major not in majors]
    return kept + [look for look in own if look.major in majors]


def _plain(looks: Sequence[Look]) -> list[JsonValue]:
    return [one.model_dump(mode="json") for one in looks]


def _list(item: Item, name: str) -> list[JsonValue]:
    given = item.data.get(name)
    return list(given) if isinstance(given, list) else []
