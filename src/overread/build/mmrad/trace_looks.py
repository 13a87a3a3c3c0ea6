"""The trace: look after look, each at some regions in a box, with what is said of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from pydantic import BaseModel, Field, JsonValue

from overread.build.item import Change, Item, Keep, StepResult
from overread.build.mmrad.major_regions import Corners, sort_regions, union_box
from overread.build.mmrad.pairs import RegionPair, boxes_of, pairs_of
from overread.build.mmrad.sentence_regions import group_by_major, regions_of_sentence
from overread.build.step import StepContext, answer_or_note
from overread.core import Record
from overread.language.text import split_sentences
from overread.ontology import xray_regions
from overread.prompts.replies import json_parser

PROMPT, REVISE_PROMPT = "build-mmrad-trace", "build-mmrad-revise"

_MAX_WORDS = 1200
"""Characters of what is said of one look."""


class RegionLook(Record):
    """One look: where, and what is said of it."""

    major: str
    """The major region that it belongs to."""
    regions: tuple[str, ...]
    """The regions that are looked at."""
    box: Corners
    """Around them, in the film's own pixels."""
    sentences: tuple[str, ...]
    """What is said."""
    by: str = "rules"
    """Who wrote it."""

    @property
    def text(self) -> str:
        """All that is said, in one piece."""
        return " ".join(self.sentences)


async def write_trace(item: Item, context: StepContext) -> StepResult:
    """Write the trace: by the reader where there is one, else by rules from the pairs."""
    boxes = boxes_of(item)
    looks = looks_of_pairs(pairs_of(item), boxes)
    changes: list[Change] = []
    if context.has("reader"):
        why = "the reader's trace was no good, so rules wrote it: {problem}"
        note = Change(what="trace", by=context.name("reader"), why=why)
        looks = await answer_or_note(ask_trace(item, context), changes, note) or looks
    kept: list[JsonValue] = [one.model_dump(mode="json") for one in looks]
    made_by = looks[0].by
    changes.append(Change(what="trace", after=kept, by=made_by, why="written from the pairs"))
    return Keep(
        data={"trace": kept, "trace_by": made_by, "verdicts": [], "disputed": []}, changes=tuple(changes)
    )


def looks_of(item: Item) -> list[RegionLook]:
    """The trace of an item that went through this step."""
    given = item.data["trace"]
    assert isinstance(given, list)  # this step wrote it
    return [RegionLook.model_validate(one) for one in given]


def looks_of_pairs(pairs: Sequence[RegionPair], boxes: Mapping[str, Corners]) -> list[RegionLook]:
    """The trace by rules: each sentence of the report where it is told, word by word."""
    made: list[RegionLook] = []
    for pair in pairs:
        for major, names in pair.told.items() if pair.role == "told" else ():
            box = union_box(boxes, names)
            if box is None:
                continue
            made.append(RegionLook(major=major, regions=names, box=box, sentences=(pair.text,)))
    return made


class LookReply(BaseModel):
    """One look as a model writes it."""

    regions: list[str] = Field(min_length=1)
    box: list[float]
    words: str = Field(min_length=1)


class TraceReply(BaseModel):
    """A trace as a model writes it."""

    looks: list[LookReply] = Field(min_length=1)


async def ask_trace(item: Item, context: StepContext) -> list[RegionLook]:
    """The reader's trace; raises `BadReply` where none of its answers has the right form."""
    reply = await context.ask(PROMPT, _prompt_values(item), json_parser(TraceReply), check=form_problem)
    return parse_looks(reply, context.name("reader"))


async def ask_revision(
    item: Item, looks: Sequence[RegionLook], objections: Sequence[str], context: StepContext
) -> list[RegionLook]:
    """The trace as the reader rewrites it when told what is wrong with it."""
    values = _prompt_values(item) | {
        "trace": format_looks(looks),
        "objections": "\n".join(f"- {one}" for one in objections),
    }
    reply = await context.ask(REVISE_PROMPT, values, json_parser(TraceReply), check=form_problem)
    return parse_looks(reply, context.name("reader"))


def form_problem(reply: TraceReply) -> str | None:
    """What of a model's trace cannot be read at all; whether it is right is for verification."""
    for number, look in enumerate(reply.looks, 1):
        if len(look.box) != 4:
            return f"the box of look {number} is not four numbers [x1, y1, x2, y2]"
        if len(look.words) > _MAX_WORDS or not split_sentences(look.words):
            return f"the words of look {number} are not one to three sentences"
        for name in look.regions:
            if not xray_regions().find(name):
                return f"'{name[:60]}' in look {number} is not on the list of regions"
        majors = _majors_of_look(look)
        if len(majors) > 1:
            return f"look {number} goes over {' and '.join(majors)}: look at each by itself"
    return None


def parse_looks(reply: TraceReply, by: str) -> list[RegionLook]:
    """A model's trace as looks."""
    made = []
    for look in reply.looks:
        words = " ".join(look.words.split())
        x1, y1, x2, y2 = (round(edge) for edge in look.box)
        made.append(
            RegionLook(
                major=_majors_of_look(look)[0],
                regions=sort_regions(n for name in look.regions for n in xray_regions().find(name)),
                box=(x1, y1, x2, y2),
                sentences=tuple(one.extract(words) for one in split_sentences(words)),
                by=by,
            )
        )
    return made


def _majors_of_look(look: LookReply) -> list[str]:
    """The major regions that a look's regions belong to, as its words are told."""
    names = [name for label in look.regions for name in xray_regions().find(label)]
    told = group_by_major(look.words, names)
    # The box of a lung may show two things that are told apart; the words then decide.
    said = [major for major in told if major in regions_of_sentence(look.words)]
    return (said if len(said) == 1 and len(told) > 1 else None) or list(told)


def format_looks(looks: Sequence[RegionLook]) -> str:
    """A trace as a model is shown it: numbered looks as JSON."""
    rows = [
        {"number": n, "regions": list(one.regions), "box": list(one.box), "words": one.text}
        for n, one in enumerate(looks, 1)
    ]
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)


def _prompt_values(item: Item) -> dict[str, str]:
    """What the generator is told of a film."""
    told = [one for one in pairs_of(item) if one.role == "told"]
    return {
        "report": str(item.data["report"]),
        "pairs": "\n".join(
            f"{one.number}. {one.text} → {', '.join(x for r in one.told.values() for x in r)}" for one in told
        ),
        "boxes": format_boxes(boxes_of(item)),
        "size": f"{item.data['width']} × {item.data['height']}",
    }


def format_boxes(boxes: Mapping[str, Corners]) -> str:
    """Boxes as a model is shown them."""
    return "\n".join(f"- {name}: {list(box)}" for name, box in boxes.items())
