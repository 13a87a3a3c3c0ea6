"""The last question of a reading: a letter, an answer in words or a report, with any prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from pydantic import BaseModel

from overread.core import Case, Region, SentImage
from overread.errors import BadReply
from overread.prompts.replies import Answer, json_parser, letter_parser, short_answer_parser, text_parser
from overread.session import Session, StepKind
from overread.workflows.prompt_values import last_reply_text


class Choice(BaseModel):
    """The answer that is asked for."""

    answer: str
    explanation: str = ""


@cache
def cached_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of an answer: made once, since making it takes longer than asking."""
    return model.model_json_schema()


async def ask_choice(
    case: Case,
    session: Session,
    prompt: str,
    values: Mapping[str, str],
    *,
    show: Sequence[SentImage],
    regions: Sequence[Region] = (),
) -> dict[str, Any]:
    """One of the options and why, as parts of a reading."""
    choice = await session.ask(
        prompt,
        values,
        letter_parser(case.options),
        task="choose",
        show=show,
        schema=cached_schema(Choice),
        regions=regions,
        kind="conclude",
    )
    return {"choice": choice, "rationale": parse_explanation(last_reply_text(session))}


def parse_explanation(reply: str) -> str | None:
    """Why, in the reader's own words: the explanation of its answer, or all that it said."""
    try:
        return json_parser(Choice)(reply).value.explanation or None
    except BadReply:
        return reply or None


async def ask_answer(
    session: Session,
    prompt: str,
    values: Mapping[str, str],
    *,
    show: Sequence[SentImage],
    regions: Sequence[Region] = (),
    kind: StepKind | None = "conclude",
) -> dict[str, Any]:
    """An answer in words and why, as parts of a reading."""
    found = await session.ask(
        prompt,
        values,
        short_answer_parser(),
        task="answer",
        show=show,
        schema=cached_schema(Answer),
        regions=regions,
        kind=kind,
    )
    return {"choice": found.answer.strip(), "rationale": found.explanation or None}


async def ask_report(
    session: Session,
    prompt: str,
    values: Mapping[str, str],
    *,
    show: Sequence[SentImage],
    regions: Sequence[Region] = (),
    kind: StepKind | None = "conclude",
) -> dict[str, Any]:
    """A report, as a part of a reading."""
    found = await session.ask(
        prompt, values, text_parser(), task="report", show=show, regions=regions, kind=kind
    )
    return {"report": found}


def report_instruction(case: Case) -> str:
    """What the case asks to be reported, in the benchmark's words where it has any."""
    return case.instruction or "Write the report of this radiograph."
