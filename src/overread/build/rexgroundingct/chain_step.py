"""The step that makes the chain of thought of every finding, by rules or by a model."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import BaseModel, JsonValue

from overread.build.item import Change, Item, Keep, Question, StepResult, Wait
from overread.build.rexgroundingct.chain import Thought, make_chain
from overread.build.rexgroundingct.completeness import join_problems
from overread.build.rexgroundingct.mask_step import load_masks, question_id
from overread.build.rexgroundingct.organs import Organs, read_organs
from overread.build.rexgroundingct.scan_paths import file_stamp, organ_folder, organ_paths, scan_name
from overread.build.rexgroundingct.settings import by_rules
from overread.build.step import StepContext, answer_or_note
from overread.errors import PictureError
from overread.language.numerals import find_numerals
from overread.prompts.replies import json_parser

PROMPT = "build-rex-chain"


class Thoughts(BaseModel):
    """One sentence for each step of a chain."""

    thoughts: list[str]


def organs_state(item: Item, context: StepContext) -> JsonValue:
    """The state of a scan's organ masks."""
    return {part: file_stamp(path) for part, path in organ_paths(context, scan_name(item)).items()}


async def make_chains(item: Item, context: StepContext) -> StepResult:
    """Make the chain of every finding; one whose voxels are on the other side waits for people."""
    found = annotated_of(item)
    masks = load_masks(item, context, tuple(found))
    if masks is None:
        raise PictureError("the mask or the CT was taken away", where=scan_name(item))
    paths = organ_paths(context, scan_name(item))
    organs: Organs = read_organs(paths, organ_folder(context), masks.space)
    chains: dict[str, JsonValue] = {}
    changes: list[Change] = []
    doubts: list[Question] = []
    kept: dict[str, JsonValue] = {}
    for key, finding in found.items():
        text, category = str(finding["text"]), str(finding["category"])
        steps, doubt = make_chain(text, category, masks.labels(key), organs)
        asked = _side_question(item, key, text, doubt) if doubt else None
        verdict = context.verdict(asked.id) if asked is not None else "accept"
        if verdict == "reject":
            changes.append(Change(what=f"finding {key}", before=text, by="people", why=str(doubt)))
            continue
        if asked is not None and verdict != "accept":
            doubts.append(asked)
            continue
        if context.has():
            said = await answer_or_note(
                _reword(text, steps, context), changes, by_rules(context, f"chain {key}")
            )
            steps = said or steps
        chains[key] = [s.model_dump(mode="json", exclude_none=True) for s in steps]
        kept[key] = finding
    if doubts:
        return Wait(questions=tuple(doubts), changes=tuple(changes))
    data: dict[str, JsonValue] = {"annotated": kept, "chains": chains}
    return Keep(data=data, changes=tuple(changes))


def annotated_of(item: Item) -> dict[str, dict[str, JsonValue]]:
    """The findings of an item that have masks: key → text, category, entities and voxels."""
    found = item.data["annotated"]
    assert isinstance(found, dict)
    return {key: value for key, value in found.items() if isinstance(value, dict)}


def thought_problems(finding: str, steps: Sequence[Thought], said: Sequence[str]) -> list[str]:
    """What is wrong with a model's wording: steps left out, structures not named, new numbers."""
    if len(said) != len(steps):
        return [f"there are {len(steps)} steps, and {len(said)} sentences"]
    found = []
    allowed = {number.meaning for number in find_numerals(finding)}
    for number, (step, text) in enumerate(zip(steps, said, strict=True)):
        if not text.strip():
            found.append(f"step {number} is empty")
        named = set(re.findall(r"[a-z]+", text.lower()))
        wanted = set(step.structure.split()) - {"of", "the"}
        if step.level not in ("scan", "lesion") and not wanted <= named:
            found.append(f"step {number} does not name the {step.structure}")
        strange = sorted({n.meaning for n in find_numerals(text)} - allowed)
        if strange:
            found.append(f"step {number} tells {strange[0]}, which the finding does not")
    return found


async def _reword(finding: str, steps: Sequence[Thought], context: StepContext) -> list[Thought]:
    """The same steps in a model's words."""
    listed = "\n".join(f"{n}. {step.level}: {step.structure}" for n, step in enumerate(steps))
    made = await context.ask(
        PROMPT,
        {"finding": finding, "steps": listed, "count": str(len(steps))},
        json_parser(Thoughts),
        check=lambda reply: join_problems(thought_problems(finding, steps, reply.thoughts)),
    )
    said = zip(steps, made.thoughts, strict=True)
    return [step.model_copy(update={"text": text.strip()}) for step, text in said]


def _side_question(item: Item, key: str, text: str, doubt: str) -> Question:
    return Question(
        id=question_id(item, "chain", key, f"{item.data.get('mask')} {text}"),
        item=item.id,
        kind="side",
        text=f"Is the mask of finding {key} right? {doubt[:1].upper()}{doubt[1:]}.",
        shown={"scan": scan_name(item), "finding": text},
        choices=("accept", "reject"),
    )
