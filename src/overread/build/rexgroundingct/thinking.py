"""The step that makes the chain of thought of every finding, in rules' words or a model's."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import BaseModel, JsonValue

from overread.build.item import Change, Item, Kept, Outcome, Question, Waits
from overread.build.rexgroundingct.accounting import told_problems
from overread.build.rexgroundingct.annotation import question_id, returned_masks
from overread.build.rexgroundingct.chain import Thought, chain_of
from overread.build.rexgroundingct.organs import Organs, read_organs
from overread.build.rexgroundingct.scans import name_of, organ_folder, organ_paths, stamp
from overread.build.step import Desk
from overread.errors import BadReply, PictureError
from overread.language.numerals import numerals
from overread.prompts.replies import json_object

PROMPT = "build-rex-chain"


class Thoughts(BaseModel):
    """One sentence for each step of a chain."""

    thoughts: list[str]


def organs_now(item: Item, desk: Desk) -> JsonValue:
    """The state of a scan's organ masks."""
    return {part: stamp(path) for part, path in organ_paths(desk, name_of(item)).items()}


async def think(item: Item, desk: Desk) -> Outcome:
    """Make the chain of every finding; one whose voxels are on the other side waits for people."""
    found = annotated_of(item)
    masks = returned_masks(item, desk, tuple(found))
    if masks is None:
        raise PictureError("the mask or the CT was taken away", where=name_of(item))
    paths = organ_paths(desk, name_of(item))
    organs: Organs = read_organs(paths, organ_folder(desk), masks.space)
    chains: dict[str, JsonValue] = {}
    changes: list[Change] = []
    doubts: list[Question] = []
    kept: dict[str, JsonValue] = {}
    for key, finding in found.items():
        text, category = str(finding["text"]), str(finding["category"])
        steps, doubt = chain_of(text, category, masks.labels(key), organs)
        asked = _question(item, key, text, doubt) if doubt else None
        verdict = desk.verdict(asked.id) if asked is not None else "accept"
        if verdict == "reject":
            changes.append(Change(what=f"finding {key}", before=text, by="people", why=str(doubt)))
            continue
        if asked is not None and verdict != "accept":
            doubts.append(asked)
            continue
        if desk.has():
            steps, change = await _worded(key, text, steps, desk)
            changes += [change] if change is not None else []
        chains[key] = [s.model_dump(mode="json", exclude_none=True) for s in steps]
        kept[key] = finding
    if doubts:
        return Waits(questions=tuple(doubts), changes=tuple(changes))
    data: dict[str, JsonValue] = {"annotated": kept, "chains": chains}
    return Kept(data=data, changes=tuple(changes))


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
    allowed = {number.meaning for number in numerals(finding)}
    for number, (step, text) in enumerate(zip(steps, said, strict=True)):
        if not text.strip():
            found.append(f"step {number} is empty")
        named = set(re.findall(r"[a-z]+", text.lower()))
        wanted = set(step.structure.split()) - {"of", "the"}
        if step.level not in ("scan", "lesion") and not wanted <= named:
            found.append(f"step {number} does not name the {step.structure}")
        strange = sorted({n.meaning for n in numerals(text)} - allowed)
        if strange:
            found.append(f"step {number} tells {strange[0]}, which the finding does not")
    return found


async def _worded(
    key: str, finding: str, steps: Sequence[Thought], desk: Desk
) -> tuple[list[Thought], Change | None]:
    """The same steps in a model's words; in those of the rules where its answer is no good."""
    listed = "\n".join(f"{n}. {step.level}: {step.structure}" for n, step in enumerate(steps))
    try:
        made = await desk.ask(
            PROMPT,
            {"finding": finding, "steps": listed, "count": str(len(steps))},
            json_object(Thoughts),
            check=lambda reply: told_problems(thought_problems(finding, steps, reply.thoughts)),
        )
    except BadReply as error:
        why = f"no answer of {desk.name()} could be taken: {error.what}"
        return list(steps), Change(what=f"chain {key}", after="by rules", why=why[:600])
    said = zip(steps, made.thoughts, strict=True)
    return [step.model_copy(update={"text": text.strip()}) for step, text in said], None


def _question(item: Item, key: str, text: str, doubt: str) -> Question:
    return Question(
        id=question_id(item, "chain", key, f"{item.data.get('mask')} {text}"),
        item=item.id,
        kind="side",
        text=f"Is the mask of finding {key} right? {doubt[:1].upper()}{doubt[1:]}.",
        shown={"scan": name_of(item), "finding": text},
        choices=("accept", "reject"),
    )
