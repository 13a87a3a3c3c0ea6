"""What models say of a trace: the generator of its own, an auditor of somebody else's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast, get_args

from pydantic import BaseModel

from overread.build.item import Item
from overread.build.mmrad.pairs import Pair, boxes_of, pairs_of
from overread.build.mmrad.tracing import Look, shown, shown_boxes
from overread.build.mmrad.verdicts import Problem, Verdict
from overread.build.step import Desk
from overread.prompts.replies import json_object

REFLECT, AUDIT = "build-mmrad-reflect", "build-mmrad-audit"


class _Judged(BaseModel):
    number: int
    supported: bool
    source: list[int] = []
    reason: str = ""


class ReflectReply(BaseModel):
    """What the generator answers about its own sentences."""

    sentences: list[_Judged]
    left_out: list[int] = []


class _Audited(BaseModel):
    number: int
    right: bool
    problem: str = ""
    reason: str = ""


class AuditReply(BaseModel):
    """What the auditor answers about the looks."""

    looks: list[_Audited]
    left_out: list[int] = []


async def reflected(item: Item, looks: Sequence[Look], attempt: int, desk: Desk) -> list[Verdict]:
    """Stage 1 by the reader; raises `BadReply` where its answers judge nothing."""
    spots = [(n, look, text) for n, look in enumerate(looks, 1) for text in look.sentences]
    evidence = _evidence(item)

    def wrong(reply: ReflectReply) -> str | None:
        numbers = [one.number for one in reply.sentences]
        fault = _uncounted(numbers, len(spots), "sentence") or _unknown(reply.left_out, evidence)
        for one in reply.sentences if fault is None else ():
            if one.supported and not one.source:
                return f"sentence {one.number} is said to be supported: by which sentence?"
            fault = fault or _unknown(one.source, evidence)
        return fault

    values = {
        "report": _numbered(evidence),
        "trace": "\n".join(
            f"{n}. [{', '.join(look.regions)}] {text}" for n, (_, look, text) in enumerate(spots, 1)
        ),
    }
    reply = await desk.ask(REFLECT, values, json_object(ReflectReply), check=wrong)
    found = []
    for one in sorted(reply.sentences, key=lambda judged: judged.number):
        number, _, text = spots[one.number - 1]
        found.append(
            _verdict(
                1, attempt, number, text, one.supported, "invented", one.reason, desk, "reader"
            )
        )
    return found + _lost(1, attempt, reply.left_out, evidence, desk, "reader")


async def cross_audited(
    item: Item, looks: Sequence[Look], attempt: int, desk: Desk
) -> list[Verdict]:
    """Stage 2 by the auditor; raises `BadReply` where its answers judge nothing."""
    evidence = _evidence(item)
    known = set(get_args(Problem)) - {"", "unjudged"}

    def wrong(reply: AuditReply) -> str | None:
        numbers = [one.number for one in reply.looks]
        fault = _uncounted(numbers, len(looks), "look") or _unknown(reply.left_out, evidence)
        for one in reply.looks if fault is None else ():
            if not one.right and one.problem not in known:
                return f"look {one.number} needs a problem: one of {', '.join(sorted(known))}"
            if not one.right and not one.reason.strip():
                return f"look {one.number} is said to be wrong: say why"
        return fault

    values = {
        "report": _numbered(evidence),
        "boxes": shown_boxes(boxes_of(item)),
        "size": f"{item.data['width']} × {item.data['height']}",
        "trace": shown(looks),
    }
    reply = await desk.ask(AUDIT, values, json_object(AuditReply), role="auditor", check=wrong)
    found = []
    for one in sorted(reply.looks, key=lambda judged: judged.number):
        problem = cast(Problem, one.problem)
        found.append(
            _verdict(2, attempt, one.number, "", one.right, problem, one.reason, desk, "auditor")
        )
    return found + _lost(2, attempt, reply.left_out, evidence, desk, "auditor")


def _evidence(item: Item) -> dict[int, Pair]:
    """The sentences that a trace may rest on, by their numbers."""
    return {one.number: one for one in pairs_of(item) if one.role != "around"}


def _numbered(evidence: dict[int, Pair]) -> str:
    return "\n".join(f"{number}. {one.text}" for number, one in evidence.items())


def _uncounted(numbers: Sequence[int], many: int, what: str) -> str | None:
    lacking = [n for n in range(1, many + 1) if n not in numbers]
    if lacking:
        return f"{what} {', '.join(map(str, lacking))} is not judged; judge every {what}"
    if len(numbers) != many:
        return f"there are {many} {what}s, and each is judged once"
    return None


def _unknown(numbers: Sequence[int], evidence: dict[int, Pair]) -> str | None:
    odd = [n for n in numbers if n not in evidence]
    return f"the report has no sentence {odd[0]}" if odd else None


def _verdict(
    stage: Literal[1, 2],
    attempt: int,
    look: int,
    sentence: str,
    right: bool,  # noqa: FBT001 - it is what the model answers, handed on
    problem: Problem,
    reason: str,
    desk: Desk,
    role: str,
) -> Verdict:
    return Verdict(
        stage=stage,
        attempt=attempt,
        look=look,
        sentence=sentence,
        verdict="accept" if right else "reject",
        problem="" if right else problem,
        reason=" ".join(reason.split())[:400],
        by=desk.name(role),
    )


def _lost(
    stage: Literal[1, 2],
    attempt: int,
    numbers: Sequence[int],
    evidence: dict[int, Pair],
    desk: Desk,
    role: str,
) -> list[Verdict]:
    # What only sums up, or has no box, has no place in a trace: that it is not there is no fault.
    told = [evidence[n] for n in dict.fromkeys(numbers) if evidence[n].role == "told"]
    return [
        Verdict(
            stage=stage,
            attempt=attempt,
            sentence=one.text,
            verdict="reject",
            problem="left-out",
            reason="the trace does not tell it",
            by=desk.name(role),
        )
        for one in told
    ]
