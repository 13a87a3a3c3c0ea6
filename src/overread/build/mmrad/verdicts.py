"""What rules say of a trace: is each sentence traced back, is it told as the report tells it?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from overread.build.mmrad.films import overlap
from overread.build.mmrad.major import Corners, union
from overread.build.mmrad.pairs import Pair
from overread.build.mmrad.told import regions_told
from overread.build.mmrad.tracing import Look
from overread.core import Record
from overread.language.compare import Comparison, Conflict, compare_statements
from overread.language.findings import Finding, is_there, sides_fit
from overread.language.statements import Statement, statements
from overread.prompts.replies import normalised

Problem = Literal[
    "", "invented", "left-out", "wrong-region", "side", "told-otherwise", "box", "other", "unjudged"
]

SAME_BOX = 0.75
"""Share of two boxes' union in common from which GEMeX-ThinkVG counts them as the same."""
_TELLING = ("presence", "side", "lobes", "segments", "zones", "size", "count")
_SHADOWS = ("lung opacity", "lung lesion", "infiltrate", "linear opacity", "volume loss")
"""Observations that say no more than that a lung is less clear."""
_LUNG_SHARE, _LEAST, _MOST = 0.03, 0.0002, 0.9
"""Shares of the film: a lung has more than the first, every region lies between the others."""


class Verdict(Record):
    """What somebody says of a sentence, a look or a whole trace, at one of the three stages."""

    stage: Literal[1, 2, 3]
    """1 the generator looks at its own trace, 2 somebody else does, 3 people do."""
    attempt: int = 1
    """How often the trace had been written when it was given."""
    look: int | None = None
    """Which look, counted from 1; None for what is not in the trace, or all of it."""
    sentence: str = ""
    """Which sentence of it, or of the report; empty where it is about the box or the whole look."""
    verdict: Literal["accept", "reject"]
    """Whether it may stay."""
    problem: Problem = ""
    """What is wrong, as a code."""
    reason: str = ""
    """Why, in one sentence."""
    by: str = "rules"
    """Who says so."""


def traced_back(pairs: Sequence[Pair], looks: Sequence[Look], attempt: int = 1) -> list[Verdict]:
    """Stage 1 by rules: every sentence has a source, and everything that is told has a look.

    A sentence has a source when it is one of the report's, or when the report tells of every
    finding that it says is there; whether it tells it the same way is asked at stage 2.
    """
    evidence = statements("\n".join(one.text for one in pairs if one.role != "around"))
    found: list[Verdict] = []
    for number, look in enumerate(looks, 1):
        for sentence in look.sentences:
            problem, reason = _untraced(sentence, look, pairs, evidence)
            found.append(
                Verdict(
                    stage=1,
                    attempt=attempt,
                    look=number,
                    sentence=sentence,
                    verdict="reject" if problem else "accept",
                    problem=problem,
                    reason=reason,
                )
            )
    for problem_text, reason in _left_out(pairs, looks):
        found.append(
            Verdict(
                stage=1,
                attempt=attempt,
                sentence=problem_text,
                verdict="reject",
                problem="left-out",
                reason=reason,
            )
        )
    return found


def _untraced(
    sentence: str, look: Look, pairs: Sequence[Pair], evidence: Sequence[Statement]
) -> tuple[Problem, str]:
    """Why a sentence has no source; ('', where it comes from) where it has one."""
    same = [one for one in pairs if normalised(one.text) == normalised(sentence)]
    here = [one for one in same if look.major in one.told]
    if here:
        return "", f"sentence {here[0].number}, word by word"
    placed = [one for one in same if one.told]
    if placed:
        where = ", ".join(placed[0].told)
        return "wrong-region", f"it is said of the {look.major}, and speaks of the {where}"
    said = statements(sentence)
    invented = _invented(compare_statements(evidence, said), evidence)
    if invented:
        return "invented", f"the report tells of no {_named(invented)}"
    told = regions_told(sentence)
    if told and look.major not in told:
        return "wrong-region", f"it is said of the {look.major}, and speaks of the {_list(told)}"
    if not said and not any(look.major in one.told for one in pairs):
        return "invented", f"no sentence of the report speaks of the {look.major}"
    return "", "the report tells of it"


def _invented(compared: Comparison, evidence: Sequence[Statement]) -> list[Finding]:
    """What is only in the trace; a word for any shadow is borne out by whatever casts one there."""
    lungs = [one for one in evidence if one.region == "L" and is_there(one)]
    return [
        one
        for one in compared.additions
        if one.statement.observation not in _SHADOWS
        or not any(sides_fit(one.statement.side, other.side) for other in lungs)
    ]


def _left_out(pairs: Sequence[Pair], looks: Sequence[Look]) -> Iterator[tuple[str, str]]:
    """What is told and nowhere in the trace: (sentence, why that is a fault)."""
    seen = {look.major for look in looks}
    told = [one for one in pairs if one.role == "told"]
    gone: set[str] = set()
    for one in told:
        for major in one.told:
            if major not in seen and major not in gone:
                gone.add(major)
                yield one.text, f"nothing is said of the {major}, of which the report speaks"
    texts = [one for one in told if not gone & set(one.told)]
    words = {normalised(sentence) for look in looks for sentence in look.sentences}
    missing = [one for one in texts if normalised(one.text) not in words]
    if not missing:
        return
    said = statements(" ".join(look.words for look in looks))
    for one in missing:
        lost = compare_statements(statements(one.text), said).omissions
        if lost:
            yield one.text, f"the trace tells of no {_named(lost)}"


def audited(
    pairs: Sequence[Pair],
    looks: Sequence[Look],
    boxes: Mapping[str, Corners],
    size: tuple[int, int],
    attempt: int = 1,
) -> list[Verdict]:
    """Stage 2 by rules: told as the report tells it, in the box of its regions, a plausible one."""
    evidence = statements("\n".join(one.text for one in pairs if one.role != "around"))
    verbatim = {normalised(one.text) for one in pairs}
    found: list[Verdict] = []
    for number, look in enumerate(looks, 1):
        faults = [("box", "", reason) for reason in _box_faults(look, boxes, size)]
        for sentence in look.sentences:
            if normalised(sentence) not in verbatim:
                faults += [(p, sentence, why) for p, why in _told_otherwise(sentence, evidence)]
        for problem, sentence, reason in faults:
            found.append(
                Verdict(
                    stage=2,
                    attempt=attempt,
                    look=number,
                    sentence=sentence,
                    verdict="reject",
                    problem=problem,
                    reason=reason,
                )
            )
        if not faults:
            reason = "as the report tells it, in the box of its regions"
            found.append(
                Verdict(stage=2, attempt=attempt, look=number, verdict="accept", reason=reason)
            )
    found += [
        Verdict(
            stage=2,
            attempt=attempt,
            sentence=sentence,
            verdict="reject",
            problem="side",
            reason=reason,
        )
        for sentence, reason in _other_side(pairs, looks)
    ]
    return found + [
        Verdict(stage=2, attempt=attempt, verdict="reject", problem="box", reason=reason)
        for reason in implausible(boxes, size)
    ]


def _other_side(pairs: Sequence[Pair], looks: Sequence[Look]) -> Iterator[tuple[str, str]]:
    """What the report tells of one side and the trace of the other alone.

    A sentence on the wrong side may be right of another finding that the report tells there; the
    finding that it was written for is then told nowhere.
    """
    words = {normalised(sentence) for look in looks for sentence in look.sentences}
    missing = [one for one in pairs if one.role == "told" and normalised(one.text) not in words]
    said = statements(" ".join(look.words for look in looks)) if missing else []
    for one in missing:
        for match in compare_statements(statements(one.text), said).conflicts:
            for conflict in match.conflicts:
                if {conflict.reference, conflict.other} == {"right", "left"}:
                    name = match.reference.statement.observation
                    told = f"the report says {conflict.reference}, the trace {conflict.other}"
                    yield one.text, f"{name}: {told}"


def _told_otherwise(sentence: str, evidence: Sequence[Statement]) -> Iterator[tuple[Problem, str]]:
    said = statements(sentence)
    named = any(one.observation not in _SHADOWS for one in said)
    compared = compare_statements(evidence, said)
    invented = _invented(compared, evidence)
    if invented:
        yield "invented", f"the report tells of no {_named(invented)}"
    for match in compared.conflicts:
        # "Nodular opacities": where the thing has a name, the shadow is not judged by itself.
        shadow = match.other.statement.observation in _SHADOWS
        for one in match.conflicts if not (shadow and named) else ():
            if one.name not in _TELLING or _narrowed(one):
                continue
            told = f"the report says {one.reference}, the trace {one.other}"
            name = match.other.statement.observation
            yield ("side" if one.name == "side" else "told-otherwise"), f"{name}: {told}"


def _narrowed(conflict: Conflict) -> bool:
    """Whether one side is told of what is on both: each side may have a look of its own."""
    return conflict.name == "side" and conflict.reference == "both"


def _box_faults(look: Look, boxes: Mapping[str, Corners], size: tuple[int, int]) -> Iterator[str]:
    x1, y1, x2, y2 = look.box
    shown = f"the box {list(look.box)}"
    if x1 >= x2 or y1 >= y2:
        yield f"{shown} ends before it begins"
    elif x1 < 0 or y1 < 0 or x2 > size[0] or y2 > size[1]:
        yield f"{shown} leaves the picture of {size[0]} × {size[1]} pixels"
    else:
        own = union(boxes, look.regions)
        if own is None:
            yield f"no box of {', '.join(look.regions)} is known"
        elif overlap(look.box, own) <= SAME_BOX:
            yield f"{shown} is not that of {', '.join(look.regions)}, {list(own)}"


def implausible(boxes: Mapping[str, Corners], size: tuple[int, int]) -> Iterator[str]:
    """What boxes of regions cannot be: mirrored, as large as the film, as small as a pixel."""
    right, left = boxes.get("right lung"), boxes.get("left lung")
    if right is not None and left is not None and right[0] + right[2] >= left[0] + left[2]:
        yield "the right lung's box is not to the left of the left lung's, as a frontal film has it"
    for name, box in boxes.items():
        share = (box[2] - box[0]) * (box[3] - box[1]) / (size[0] * size[1])
        lung = name in ("right lung", "left lung")
        if share > _MOST or share < (_LUNG_SHARE if lung else _LEAST):
            yield f"the box of the {name} is {100 * share:.3g} % of the film"


def _named(findings: Iterable[Finding]) -> str:
    return ", ".join(dict.fromkeys(one.statement.observation for one in findings))


def _list(names: Iterable[str]) -> str:
    return " and ".join(names)
