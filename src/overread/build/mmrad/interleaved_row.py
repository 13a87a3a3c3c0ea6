"""The interleaved record: rounds of announcement, crop, box and findings, then the report."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from overread.benchmarks.mmrad.release import read_trace
from overread.benchmarks.row_fields import RowFields
from overread.build.item import Data, Drop, Item, Keep, StepResult
from overread.build.mmrad.rounds import RegionRound, rounds_of
from overread.build.step import StepContext
from overread.core import Box, Entry
from overread.prompts.interleaved import IMAGE, ordinal

INSTRUCTION = "Go over this chest X-ray one region at a time, and then write its report."
_ANNOUNCEMENT = "{ordinal}, I will analyze the {major}. I will highlight the {major} in this image. "
_BOX_SENTENCE = " It takes up the box [{box}]. "
_REPORT_CUE = "Putting these looks together, the report reads: "
_BRACKETS = re.compile(r"\[[\d\s.,;:+\-eE]{2,80}\]")


async def make_record(item: Item, context: StepContext) -> StepResult:
    """Write the record, and read it back as the benchmark does: what differs is not released."""
    rounds = rounds_of(item)
    text = str(item.data["report"]).strip()
    spoiling = _find_markup(text, rounds)
    if spoiling is not None:
        return Drop(reason="record-cannot-hold-it", why=spoiling)
    row = make_row(
        item.id, str(item.data["image"]), rounds, text, context.settings.get("instruction") or INSTRUCTION
    )
    reader = RowFields(dict(row), file="record", number=1)
    entry = read_trace(reader, split="train", place=1)
    lost = _find_loss(entry, rounds, text)
    if reader.defects or lost is not None:
        why = str(reader.defects[0]) if reader.defects else f"{lost} does not come back"
        return Drop(reason="record-does-not-read-back", why=why)
    return Keep(data={"record": row})


def make_row(name: str, image: str, rounds: Sequence[RegionRound], report: str, instruction: str) -> Data:
    """Prompt, response and images in the layout of the benchmark."""
    parts: list[str] = []
    for number, one in enumerate(rounds):
        box = ", ".join(str(edge) for edge in one.box)
        parts += [_ANNOUNCEMENT.format(ordinal=ordinal(number), major=one.major), IMAGE]
        parts += [_BOX_SENTENCE.format(box=box), f"{' '.join(one.sentences)}\n\n"]
    return {
        "prompt": f"{' '.join(instruction.split())} {IMAGE}",
        "response": "".join([*parts, _REPORT_CUE, report]),
        "images": [image_file(name, image), *crop_files(name, len(rounds))],
    }


def image_file(name: str, image: str) -> str:
    """Where the film of a record lies; it keeps its own kind of file.

    >>> image_file("p90000001_1", "images/p90000001_1.jpg")
    'IVLImage/p90000001_1/problem_image_1.jpg'
    """
    suffix = PurePosixPath(image).suffix.lower()
    return f"IVLImage/{name}/problem_image_1{suffix if suffix == '.png' else '.jpg'}"


def crop_files(name: str, many: int) -> list[str]:
    """Where the crops of a record lie."""
    return [f"IVLImage/{name}/reasoning_image_{number}.jpg" for number in range(1, many + 1)]


def _find_markup(report: str, rounds: Sequence[RegionRound]) -> str | None:
    """Words that would be taken for a crop or a box when the record is read."""
    for text in (report, *(sentence for one in rounds for sentence in one.sentences)):
        if IMAGE in text:
            return f"a text holds {IMAGE}, which stands for a crop"
    for one in rounds:
        for sentence in one.sentences:
            if _BRACKETS.search(sentence):
                return f"a sentence holds numbers in brackets, which are boxes: {sentence[:80]}"
    return None


def _find_loss(entry: Entry | None, rounds: Sequence[RegionRound], report: str) -> str | None:
    """What the benchmark's reader does not get out of a record as it was put in."""
    if entry is None or entry.truth is None or entry.truth.trace is None:
        return "the trace"
    if entry.truth.report != report:
        return "the report"
    looks = [step for step in entry.truth.trace.steps if step.kind == "look"]
    boxes = [b for step in looks for b in step.regions if isinstance(b, Box)]
    told = [(one.major, *map(float, one.box)) for one in rounds]
    if [(box.label, box.x1, box.y1, box.x2, box.y2) for box in boxes] != told:
        return "a region or its box"
    if [one.text for one in entry.truth.findings] != [" ".join(one.sentences) for one in rounds]:
        return "what is said of a region"
    return None
