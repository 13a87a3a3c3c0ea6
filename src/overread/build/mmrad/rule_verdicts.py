"""Verdicts of rules on a trace: is each sentence in the report, and told the same way?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from overread.build.mmrad.major_regions import Corners, union_box
from overread.build.mmrad.pairs import RegionPair
from overread.build.mmrad.sentence_regions import regions_of_sentence
from overread.build.mmrad.trace_looks import RegionLook
from overread.core import Record
from overread.language.compare import Conflict, ReportComparison, compare_statements
from overread.language.findings import ReportFinding, is_there, sides_fit
from overread.language.statements import Statement, find_statements
from overread.metrics.boxes.overlap import iou
from overread.prompts.replies import normalise_text

Problem = Literal[
    "", "invented", "left-out", "wrong-region", "side", "told-otherwise", "box", "other", "unjudged"
]

SAME_BOX_IOU = 0.75
"""Share of two boxes' union in common from which GEMeX-ThinkVG counts them as the same."""
_COMPARED = ("presence", "side", "lobes", "segments", "zones", "size", "count")
_SHADOWS = ("lung opacity", "lung lesion", "infiltrate", "linear opacity", "volume loss")
"""Observations that say no more than that a lung is less clear."""
_LUNG_SHARE, _LEAST, _MOST = 0.03, 0.0002, 0.9
"""Shares of the film: a lung has more than the first, every region lies between the others."""


class TraceVerdict(Record):
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


def reflect_by_rules(
    pairs: Sequence[RegionPair], looks: Sequence[RegionLook], attempt: int = 1
) -> list[TraceVerdict]:
    """Stage 1 by rules: every sentence has a source, and everything that is told has a look.

    A sentence has a source when it is one of the report's, or when the report tells of every
    finding that it says is there; whether it tells it the same way is asked at stage 2.
    """
    evidence = find_statements("\n".join(one.text for one in pairs if one.role != "around"))
    found: list[TraceVerdict] = []
    for number, look in enumerate(looks, 1):
        for sentence in look.sentences:
            problem, reason = _find_source(sentence, look, pairs, evidence)
            found.append(
                TraceVerdict(
                    stage=1,
                    attempt=attempt,
                    look=number,
                    sentence=sentence,
                    verdict="reject" if problem else "accept",
                    problem=problem,
                    reason=reason,
                )
            )
    for problem_text, reason in _find_left_out(pairs, looks):
        found.append(
            TraceVerdict(
                stage=1,
                attempt=attempt,
                sentence=problem_text,
                verdict="reject",
                problem="left-out",
                reason=reason,
            )
        )
    return found


def _find_source(
    sentence: str, look: RegionLook, pairs: Sequence[RegionPair], evidence: Sequence[Statement]
) -> tuple[Problem, str]:
    """Why a sentence has no source; ('', where it comes from) where it has one."""
    same = [one for one in pairs if normalise_text(one.text) == normalise_text(sentence)]
    here = [one for one in same if look.major in one.told]
    if here:
        return "", f"sentence {here[0].number}, word by word"
    placed = [one for one in same if one.told]
    if placed:
        where = ", ".join(placed[0].told)
        return "wrong-region", f"it is said of the {look.major}, and speaks of the {where}"
    said = find_statements(sentence)
    invented = _find_invented(compare_statements(evidence, said), evidence)
    if invented:
        return "invented", f"the report tells of no {_list_observations(invented)}"
    told = regions_of_sentence(sentence)
    if told and look.major not in told:
        return ("wrong-region", f"it is said of the {look.major}, and speaks of the {_join_names(told)}")
    if not said and not any(look.major in one.told for one in pairs):
        return "invented", f"no sentence of the report speaks of the {look.major}"
    return "", "the report tells of it"


def _find_invented(compared: ReportComparison, evidence: Sequence[Statement]) -> list[ReportFinding]:
    """What is only in the trace; a word for any shadow is borne out by whatever casts one there."""
    lungs = [one for one in evidence if one.region == "L" and is_there(one)]
    return [
        one
        for one in compared.additions
        if one.statement.observation not in _SHADOWS
        or not any(sides_fit(one.statement.side, other.side) for other in lungs)
    ]


def _find_left_out(pairs: Sequence[RegionPair], looks: Sequence[RegionLook]) -> Iterator[tuple[str, str]]:
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
    words = {normalise_text(sentence) for look in looks for sentence in look.sentences}
    missing = [one for one in texts if normalise_text(one.text) not in words]
    if not missing:
        return
    said = find_statements(" ".join(look.text for look in looks))
    for one in missing:
        lost = compare_statements(find_statements(one.text), said).omissions
        if lost:
            yield one.text, f"the trace tells of no {_list_observations(lost)}"


def audit_by_rules(
    pairs: Sequence[RegionPair],
    looks: Sequence[RegionLook],
    boxes: Mapping[str, Corners],
    size: tuple[int, int],
    attempt: int = 1,
) -> list[TraceVerdict]:
    """Stage 2 by rules: told as the report tells it, in the box of its regions, a plausible one."""
    evidence = find_statements("\n".join(one.text for one in pairs if one.role != "around"))
    verbatim = {normalise_text(one.text) for one in pairs}
    found: list[TraceVerdict] = []
    for number, look in enumerate(looks, 1):
        faults = [("box", "", reason) for reason in _find_box_faults(look, boxes, size)]
        for sentence in look.sentences:
            if normalise_text(sentence) not in verbatim:
                faults += [(p, sentence, why) for p, why in _find_contradictions(sentence, evidence)]
        for problem, sentence, reason in faults:
            found.append(
                TraceVerdict(
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
            found.append(TraceVerdict(stage=2, attempt=attempt, look=number, verdict="accept", reason=reason))
    found += [
        TraceVerdict(
            stage=2, attempt=attempt, sentence=sentence, verdict="reject", problem="side", reason=reason
        )
        for sentence, reason in _find_wrong_side(pairs, looks)
    ]
    return found + [
        TraceVerdict(stage=2, attempt=attempt, verdict="reject", problem="box", reason=reason)
        for reason in implausible_boxes(boxes, size)
    ]


def _find_wrong_side(pairs: Sequence[RegionPair], looks: Sequence[RegionLook]) -> Iterator[tuple[str, str]]:
    """What the report tells of one side and the trace of the other alone.

    A sentence on the wrong side may be right of another finding that the report tells there; the
    finding that it was written for is then told nowhere.
    """
    words = {normalise_text(sentence) for look in looks for sentence in look.sentences}
    missing = [one for one in pairs if one.role == "told" and normalise_text(one.text) not in words]
    said = find_statements(" ".join(look.text for look in looks)) if missing else []
    for one in missing:
        for match in compare_statements(find_statements(one.text), said).conflicts:
            for conflict in match.conflicts:
                if {conflict.reference, conflict.other} == {"right", "left"}:
                    name = match.reference.statement.observation
                    told = f"the report says {conflict.reference}, the trace {conflict.other}"
                    yield one.text, f"{name}: {told}"


def _find_contradictions(sentence: str, evidence: Sequence[Statement]) -> Iterator[tuple[Problem, str]]:
    said = find_statements(sentence)
    named = any(one.observation not in _SHADOWS for one in said)
    compared = compare_statements(evidence, said)
    invented = _find_invented(compared, evidence)
    if invented:
        yield "invented", f"the report tells of no {_list_observations(invented)}"
    for match in compared.conflicts:
        # "Nodular opacities": where the thing has a name, the shadow is not judged by itself.
        shadow = match.other.statement.observation in _SHADOWS
        for one in match.conflicts if not (shadow and named) else ():
            if one.name not in _COMPARED or _is_one_of_both(one):
                continue
            told = f"the report says {one.reference}, the trace {one.other}"
            name = match.other.statement.observation
            yield ("side" if one.name == "side" else "told-otherwise"), f"{name}: {told}"


def _is_one_of_both(conflict: Conflict) -> bool:
    """Whether one side is told of what is on both: each side may have a look of its own."""
    return conflict.name == "side" and conflict.reference == "both"


def _find_box_faults(look: RegionLook, boxes: Mapping[str, Corners], size: tuple[int, int]) -> Iterator[str]:
    x1, y1, x2, y2 = look.box
    shown = f"the box {list(look.box)}"
    if x1 >= x2 or y1 >= y2:
        yield f"{shown} ends before it begins"
    elif x1 < 0 or y1 < 0 or x2 > size[0] or y2 > size[1]:
        yield f"{shown} leaves the picture of {size[0]} × {size[1]} pixels"
    else:
        own = union_box(boxes, look.regions)
        if own is None:
            yield f"no box of {', '.join(look.regions)} is known"
        elif iou([look.box], [own])[0, 0] <= SAME_BOX_IOU:
            yield f"{shown} is not that of {', '.join(look.regions)}, {list(own)}"


def implausible_boxes(boxes: Mapping[str, Corners], size: tuple[int, int]) -> Iterator[str]:
    """What boxes of regions cannot be: mirrored, as large as the film, as small as a pixel."""
    right, left = boxes.get("right lung"), boxes.get("left lung")
    if right is not None and left is not None and right[0] + right[2] >= left[0] + left[2]:
        yield "the right lung's box is not to the left of the left lung's, as a frontal film has it"
    for name, box in boxes.items():
        share = (box[2] - box[0]) * (box[3] - box[1]) / (size[0] * size[1])
        lung = name in ("right lung", "left lung")
        if share > _MOST or share < (_LUNG_SHARE if lung else _LEAST):
            yield f"the box of the {name} is {100 * share:.3g} % of the film"


def _list_observations(findings: Iterable[ReportFinding]) -> str:
    return ", ".join(dict.fromkeys(one.statement.observation for one in findings))


def _join_names(names: Iterable[str]) -> str:
    return " and ".join(names)
