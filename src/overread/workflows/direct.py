"""The simplest way to read: one question a case, or one for each sentence to be found.

What is asked follows from the case: options are chosen from, sentences are found in the volume, a
question is answered in words, and any other picture gets its report.
"""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from overread.core import Case, Finding, Geometry, Mask, Query, Reading
from overread.errors import BadReply, ReaderError
from overread.pixels.geometry import from_ras, ras_geometry
from overread.pixels.spots import spot
from overread.prompts.replies import (
    Answer,
    Parsed,
    json_object,
    letter,
    plain_text,
    short_answer,
)
from overread.session import Session


async def direct(case: Case, session: Session) -> Reading:
    """Choose, find, answer or report: one question each."""
    if case.options:
        return await _choose(case, session)
    if case.queries:
        return await _ground(case, session)
    if case.asks == "answer" and case.instruction:
        return await _answer(case, case.instruction, session)
    if case.pictures:
        return await _report(case, session)
    # This case only: the next one may have something to ask.
    raise ReaderError("there are neither options, nor sentences, nor a picture to report on")


@cache
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of an answer: made once, since making it takes longer than asking."""
    return model.model_json_schema()


# ---- choosing ------------------------------------------------------------------------------


class Choice(BaseModel):
    """The answer that is asked for."""

    answer: str
    explanation: str = ""


async def _choose(case: Case, session: Session) -> Reading:
    options = "\n".join(f"{option.letter}. {option.text}" for option in case.options)
    choice = await session.ask(
        "choose",
        {"history": case.history or "not given", "options": options},
        letter(case.options),
        task="choose",
        show=await session.look(),
        schema=_schema(Choice),
        kind="conclude",
    )
    return session.reading(choice=choice, rationale=_explained(session))


def _explained(session: Session) -> str | None:
    """Why, in the reader's own words: the explanation of its answer, or all that it said."""
    said = session.exchanges[-1].reply
    if said is None:
        return None
    try:
        return json_object(Choice)(said.text).value.explanation or None
    except BadReply:
        return said.text


# ---- answering -----------------------------------------------------------------------------


async def _answer(case: Case, question: str, session: Session) -> Reading:
    found = await session.ask(
        "answer",
        {"question": question},
        short_answer(),
        task="answer",
        show=await session.look(),
        schema=_schema(Answer),
        kind="conclude",
    )
    return session.reading(choice=found.answer.strip(), rationale=found.explanation or None)


# ---- reporting -----------------------------------------------------------------------------


async def _report(case: Case, session: Session) -> Reading:
    report = await session.ask(
        "report",
        {"instruction": case.instruction or "Write the report of this radiograph."},
        plain_text(),
        task="report",
        show=await session.look(),
        kind="conclude",
    )
    return session.reading(report=report)


# ---- finding -------------------------------------------------------------------------------


class Block(BaseModel):
    """A box through some slices, in shares of the slice's width and height."""

    first_slice: int = Field(ge=0)
    last_slice: int = Field(ge=0)
    left: float = Field(ge=0, le=1)
    top: float = Field(ge=0, le=1)
    right: float = Field(ge=0, le=1)
    bottom: float = Field(ge=0, le=1)


class Blocks(BaseModel):
    """Where a finding is; nothing where it is not there."""

    blocks: list[Block] = Field(max_length=50)


async def _ground(case: Case, session: Session) -> Reading:
    findings: list[Finding] = []
    draws = "masks" in session.reader.skills
    for query in case.queries:
        region = await (session.draw(query) if draws else _boxed(case, query, session))
        findings.append(session.grounded(query, region))
    return session.reading(findings=tuple(findings))


async def _boxed(case: Case, query: Query, session: Session) -> Mask:
    """A reader of words is shown a montage of slices and marks boxes, which become the mask."""
    windows = ", then ".join(f"{name} window" for name in session.settings.windows)

    def parse(reply: str) -> Parsed[tuple[list[Block], Geometry]]:
        found = json_object(Blocks)(reply)
        space = session.pictures.geometry(case.pictures[0])
        last = ras_geometry(space).shape[2] - 1
        if any(max(block.first_slice, block.last_slice) > last for block in found.value.blocks):
            raise BadReply(f"the slices of this CT are 0 to {last}")
        return Parsed((found.value.blocks, space), found.repaired)

    blocks, space = await session.ask(
        "ground",
        {"finding": query.text, "windows": windows},
        parse,
        task="ground",
        show=await session.look(),
        schema=_schema(Blocks),
        query=query,
    )
    # Millions of voxels: aside, so that other cases go on.
    return session.drawn(query, await asyncio.to_thread(lambda: spot(filled(blocks, space))))


def filled(blocks: list[Block], space: Geometry) -> NDArray[Any]:
    """The mask of boxes given on axial slices as they are shown: right on the left, front on top.

    >>> from overread.pixels.geometry import geometry
    >>> space = geometry((10, 8, 4), np.diag([1.0, 1.0, 1.0, 1.0]), where="here")
    >>> half = Block(first_slice=1, last_slice=1, left=0, top=0, right=0.5, bottom=1)
    >>> mask = filled([half], space)
    >>> int(mask.sum()), bool(mask[9, 0, 1]), bool(mask[0, 0, 1])
    (40, True, False)
    """
    across, down, slices = ras_geometry(space).shape
    mask = np.zeros((across, down, slices), dtype=bool)
    for block in blocks:
        first, last = sorted((block.first_slice, block.last_slice))
        left, right = sorted((round(block.left * across), round(block.right * across)))
        top, bottom = sorted((round(block.top * down), round(block.bottom * down)))
        # Shown slices run from the patient's right and from the front; stored RAS from the others.
        mask[across - right : across - left, down - bottom : down - top, first : last + 1] = True
    return np.asarray(from_ras(mask, space))
