"""Region–text pairs: which sentence speaks of which regions, every sentence accounted for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, Field

from overread.build.item import Change, Drop, Item, Keep, StepResult
from overread.build.mmrad.major_regions import Corners
from overread.build.mmrad.sentence_regions import RegionsByMajor, group_by_major, regions_of_sentence
from overread.build.step import StepContext, answer_or_note
from overread.core import Record
from overread.language.text import split_sentences
from overread.ontology import xray_regions
from overread.prompts.replies import json_parser

PROMPT = "build-mmrad-pairs"

SentenceRole = Literal["told", "summary", "around", "nowhere", "unboxed", "spare"]

_CONTEXT_SECTIONS = frozenset(
    (
        "technique procedure comparison comparisons history indication indications exam examination"
        " recommendation recommendations"
    ).split()
) | {"clinical history", "clinical information", "clinical indication"}
_SUMMARY_SECTIONS = frozenset("impression impressions conclusion conclusions opinion summary".split())


class RegionPair(Record):
    """One sentence, and where a film shows what it speaks of."""

    number: int
    """Counted from 1."""
    text: str
    """The sentence."""
    origin: Literal["report", "rows"] = "report"
    """Whether it stands in the report or in the thinking of a question row."""
    role: SentenceRole
    """What becomes of it: told in the trace; a summary of what is told; technique, history and
    the like around it; nothing that a region shows; of regions without a box; not needed, since
    the report says something of the same major region."""
    told: RegionsByMajor = Field(default_factory=dict)
    """Major region → the regions that it speaks of there."""


async def find_pairs(item: Item, context: StepContext) -> StepResult:
    """Find the regions of each sentence, by the reader where there is one, else by rules."""
    boxes = boxes_of(item)
    found = pairs_by_rules(item, boxes)
    changes: list[Change] = []
    made_by = "rules"
    open_ones = [one for one in found if one.role in ("told", "nowhere", "unboxed")]
    if context.has("reader") and open_ones:
        why = "the reader's pairs were no good, so rules made them: {problem}"
        note = Change(what="pairs", by=context.name("reader"), why=why)
        reply = await answer_or_note(_ask_model(found, open_ones, context), changes, note)
        if reply is not None:
            found, made_by = _apply_reply(found, reply, boxes), context.name("reader")
    if not any(one.role == "told" for one in found):
        unboxed = any(one.role == "unboxed" for one in found)
        why = (
            "the regions that the report speaks of have no boxes"
            if unboxed
            else f"none of {len(found)} sentences speaks of a region that a film shows"
        )
        reason = "no-boxes" if unboxed else "nothing-told"
        return Drop(reason=reason, why=why, by=made_by, changes=tuple(changes))
    for one in found:
        if one.role == "unboxed":
            why = f"no box for {', '.join(one.told)}"
            changes.append(Change(what=f"sentence {one.number}", before=one.text, why=why))
    report = str(item.data["report"])
    if not report.strip():
        report = assemble_report(found)
        why = "no report came with the questions; what they say was put together"
        changes.append(Change(what="report", after=report, why=why))
    kept = [one.model_dump(mode="json") for one in found]
    changes.append(Change(what="pairs", after=kept, by=made_by, why="regions of each sentence"))
    return Keep(data={"pairs": kept, "pairs_by": made_by, "report": report}, changes=tuple(changes))


def boxes_of(item: Item) -> dict[str, Corners]:
    """Region → box, from an item that went through the first step."""
    given = item.data["boxes"]
    assert isinstance(given, dict)  # the step `film` wrote it
    return {name: tuple(box) for name, box in given.items()}  # type: ignore[misc, arg-type]


def pairs_of(item: Item) -> list[RegionPair]:
    """The pairs of an item that went through this step."""
    given = item.data["pairs"]
    assert isinstance(given, list)  # this step wrote it
    return [RegionPair.model_validate(one) for one in given]


def pairs_by_rules(item: Item, boxes: Mapping[str, Corners]) -> list[RegionPair]:
    """The pairs as rules find them: the report's sentences, then those of question rows."""
    report = str(item.data["report"])
    parts = split_sentences(report)
    summed = any(part.section not in _CONTEXT_SECTIONS | _SUMMARY_SECTIONS for part in parts)
    found: list[RegionPair] = []
    for number, part in enumerate(parts, 1):
        text = " ".join(part.extract(report).split())
        role: SentenceRole | None = None
        if part.section in _CONTEXT_SECTIONS:
            role = "around"
        elif part.section in _SUMMARY_SECTIONS and summed:
            role = "summary"
        found.append(
            _make_pair(number, text, "report", {} if role else regions_of_sentence(text), boxes, role)
        )
    spoken = {major for one in found if one.role == "told" for major in one.told}
    for row in _row_sentences(item):
        names = [name for label in row[1] for name in xray_regions().find(label)]
        told = group_by_major(row[0], names)
        role = "spare" if told and spoken >= set(told) else None
        found.append(_make_pair(len(found) + 1, row[0], "rows", told, boxes, role))
    return found


def assemble_report(found: Iterable[RegionPair]) -> str:
    """A report of what is told, major region by major region, where none was given."""
    told = [one for one in found if one.role == "told"]
    lines: dict[str, None] = {}
    for group in xray_regions().groups:
        for one in told:
            if group.name in one.told:
                lines.setdefault(one.text)
    return f"FINDINGS: {' '.join(lines)}"


def _row_sentences(item: Item) -> list[tuple[str, list[str]]]:
    given = item.data["said"]
    rows = given if isinstance(given, list) else []
    return [(str(r["text"]), [str(n) for n in r["regions"]]) for r in rows]  # type: ignore[index, union-attr, call-overload]


def _make_pair(
    number: int,
    text: str,
    origin: Literal["report", "rows"],
    told: RegionsByMajor,
    boxes: Mapping[str, Corners],
    role: SentenceRole | None,
) -> RegionPair:
    boxed = {major: names for major, names in told.items() if any(n in boxes for n in names)}
    own: SentenceRole = "told" if boxed else "unboxed" if told else "nowhere"
    return RegionPair(number=number, text=text, origin=origin, role=role or own, told=boxed or told)


class _PairReply(BaseModel):
    sentence: int
    regions: list[str]


class PairsReply(BaseModel):
    """What a model answers: the regions of each sentence."""

    pairs: list[_PairReply]


async def _ask_model(
    found: Sequence[RegionPair], open_ones: Sequence[RegionPair], context: StepContext
) -> PairsReply:
    values = {
        "sentences": "\n".join(f"{one.number}. {one.text}" for one in open_ones),
        "regions": "\n".join(f"- {name}" for name in xray_regions().names),
    }
    by_number = {one.number: one for one in open_ones}
    return await context.ask(
        PROMPT, values, json_parser(PairsReply), check=lambda reply: pairs_problem(reply, by_number)
    )


def pairs_problem(reply: PairsReply, asked: Mapping[int, RegionPair]) -> str | None:
    """What is wrong with a model's pairs, in words that it can act on; None where nothing is."""
    numbers = [one.sentence for one in reply.pairs]
    lacking = [str(n) for n in asked if n not in numbers]
    if lacking:
        return f"sentences {', '.join(lacking)} are missing; every sentence needs an entry"
    for one in reply.pairs:
        if one.sentence not in asked or numbers.count(one.sentence) > 1:
            return f"sentence {one.sentence} was not asked for, or is there twice"
        names: set[str] = set()
        for label in one.regions:
            known = xray_regions().find(label)
            if not known:
                return f"'{label[:60]}' in sentence {one.sentence} is not on the list of regions"
            names |= set(known)
        told = {name for own in asked[one.sentence].told.values() for name in own}
        if told and not names:
            return f"sentence {one.sentence} speaks of {', '.join(sorted(told))}: give its regions"
        sides = [{n.split()[0] for n in some} & {"right", "left"} for some in (told, names)]
        if len(sides[0]) == 1 and sides[1] and not sides[0] & sides[1]:
            return f"sentence {one.sentence} is about the {sides[0].pop()} side"
    return None


def _apply_reply(
    found: Sequence[RegionPair], reply: PairsReply, boxes: Mapping[str, Corners]
) -> list[RegionPair]:
    """The pairs with a model's regions in the place of the rules'."""
    given = {one.sentence: one.regions for one in reply.pairs}
    made = []
    for one in found:
        if one.number not in given:
            made.append(one)
            continue
        names = [name for label in given[one.number] for name in xray_regions().find(label)]
        told = group_by_major(one.text, names)
        made.append(_make_pair(one.number, one.text, one.origin, told, boxes, None))
    return made
