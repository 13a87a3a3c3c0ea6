"""Verdicts of models on a trace: the generator on its own, an auditor on somebody else's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast, get_args

from pydantic import BaseModel

from overread.build.item import Item
from overread.build.mmrad.pairs import RegionPair, boxes_of, pairs_of
from overread.build.mmrad.rule_verdicts import Problem, TraceVerdict
from overread.build.mmrad.trace_looks import RegionLook, format_boxes, format_looks
from overread.build.step import StepContext
from overread.prompts.replies import json_parser

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


async def ask_reflection(
    item: Item, looks: Sequence[RegionLook], attempt: int, context: StepContext
) -> list[TraceVerdict]:
    """Stage 1 by the reader; raises `BadReply` where its answers judge nothing."""
    spots = [(n, look, text) for n, look in enumerate(looks, 1) for text in look.sentences]
    evidence = _evidence(item)

    def wrong(reply: ReflectReply) -> str | None:
        numbers = [one.number for one in reply.sentences]
        fault = _count_problem(numbers, len(spots), "sentence") or _unknown_sentence(reply.left_out, evidence)
        for one in reply.sentences if fault is None else ():
            if one.supported and not one.source:
                return f"sentence {one.number} is said to be supported: by which sentence?"
            fault = fault or _unknown_sentence(one.source, evidence)
        return fault

    values = {
        "report": _number_sentences(evidence),
        "trace": "\n".join(
            f"{n}. [{', '.join(look.regions)}] {text}" for n, (_, look, text) in enumerate(spots, 1)
        ),
    }
    reply = await context.ask(REFLECT, values, json_parser(ReflectReply), check=wrong)
    found = []
    for one in sorted(reply.sentences, key=lambda judged: judged.number):
        number, _, text = spots[one.number - 1]
        found.append(
            _make_verdict(1, attempt, number, text, one.supported, "invented", one.reason, context, "reader")
        )
    return found + _left_out_verdicts(1, attempt, reply.left_out, evidence, context, "reader")


async def ask_audit(
    item: Item, looks: Sequence[RegionLook], attempt: int, context: StepContext
) -> list[TraceVerdict]:
    """Stage 2 by the auditor; raises `BadReply` where its answers judge nothing."""
    evidence = _evidence(item)
    known = set(get_args(Problem)) - {"", "unjudged"}

    def wrong(reply: AuditReply) -> str | None:
        numbers = [one.number for one in reply.looks]
        fault = _count_problem(numbers, len(looks), "look") or _unknown_sentence(reply.left_out, evidence)
        for one in reply.looks if fault is None else ():
            if not one.right and one.problem not in known:
                return f"look {one.number} needs a problem: one of {', '.join(sorted(known))}"
            if not one.right and not one.reason.strip():
                return f"look {one.number} is said to be wrong: say why"
        return fault

    values = {
        "report": _number_sentences(evidence),
        "boxes": format_boxes(boxes_of(item)),
        "size": f"{item.data['width']} × {item.data['height']}",
        "trace": format_looks(looks),
    }
    reply = await context.ask(AUDIT, values, json_parser(AuditReply), role="auditor", check=wrong)
    found = []
    for one in sorted(reply.looks, key=lambda judged: judged.number):
        problem = cast(Problem, one.problem)
        found.append(
            _make_verdict(2, attempt, one.number, "", one.right, problem, one.reason, context, "auditor")
        )
    return found + _left_out_verdicts(2, attempt, reply.left_out, evidence, context, "auditor")


def _evidence(item: Item) -> dict[int, RegionPair]:
    """The sentences that a trace may rest on, by their numbers."""
    return {one.number: one for one in pairs_of(item) if one.role != "around"}


def _number_sentences(evidence: dict[int, RegionPair]) -> str:
    return "\n".join(f"{number}. {one.text}" for number, one in evidence.items())


def _count_problem(numbers: Sequence[int], many: int, what: str) -> str | None:
    lacking = [n for n in range(1, many + 1) if n not in numbers]
    if lacking:
        return f"{what} {', '.join(map(str, lacking))} is not judged; judge every {what}"
    if len(numbers) != many:
        return f"there are {many} {what}s, and each is judged once"
    return None


def _unknown_sentence(numbers: Sequence[int], evidence: dict[int, RegionPair]) -> str | None:
    odd = [n for n in numbers if n not in evidence]
    return f"the report has no sentence {odd[0]}" if odd else None


def _make_verdict(
    stage: Literal[1, 2],
    attempt: int,
    look: int,
    sentence: str,
    right: bool,  # noqa: FBT001 - it is what the model answers, handed on
    problem: Problem,
    reason: str,
    context: StepContext,
    role: str,
) -> TraceVerdict:
    return TraceVerdict(
        stage=stage,
        attempt=attempt,
        look=look,
        sentence=sentence,
        verdict="accept" if right else "reject",
        problem="" if right else problem,
        reason=" ".join(reason.split())[:400],
        by=context.name(role),
    )


def _left_out_verdicts(
    stage: Literal[1, 2],
    attempt: int,
    numbers: Sequence[int],
    evidence: dict[int, RegionPair],
    context: StepContext,
    role: str,
) -> list[TraceVerdict]:
    # What only sums up, or has no box, has no place in a trace: that it is not there is no fault.
    told = [evidence[n] for n in dict.fromkeys(numbers) if evidence[n].role == "told"]
    return [
        TraceVerdict(
            stage=stage,
            attempt=attempt,
            sentence=one.text,
            verdict="reject",
            problem="left-out",
            reason="the trace does not tell it",
            by=context.name(role),
        )
        for one in told
    ]
