"""Think with images: findings for each picture, one summary, the options weighed, the answer.

Then, where the settings ask for it, the discussion of the case for students. Where a run reveals
the experts' captions, these stand in place of the reader's own findings; their summary stands in
place of its findings and its summary. What the reader is then not asked for is not in its reading.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field

from overread.core import Case, Finding, Option, Reading, Whole
from overread.core.verdicts import SECTIONS
from overread.errors import BadReply, ReaderError
from overread.language.discussions import split_discussion
from overread.language.text import one_line
from overread.prompts.replies import (
    ParsedReply,
    ReplyParser,
    json_parser,
    letter_parser,
    strict_schema,
    text_parser,
)
from overread.session import Session
from overread.workflows.final_question import parse_explanation
from overread.workflows.prompt_values import (
    NO_PICTURES,
    add_answer_step,
    describe_pictures,
    format_history,
    format_options,
    format_timepoint,
    prompt_for,
)

_IN_SUMMARY = "Not described one by one; the summary tells what they show together."


async def twi(case: Case, session: Session) -> Reading:
    """Read the pictures one by one, sum up, weigh every option, choose, and discuss."""
    if not case.options:
        raise ReaderError("the workflow 'twi' needs a case with options")
    findings = await _ask_findings(case, session)
    described = _describe(case, session, findings)
    summary = await _ask_summary(case, session, described)
    weighed = await _ask_differential(case, session, described, summary)
    own = tuple(Finding(text=text, regions=(Whole(picture=name),)) for name, text in findings.items())
    parts: dict[str, Any] = {
        "choice": weighed.choice,
        "probabilities": weighed.probabilities,
        "rationale": weighed.explanation,
        "findings": own or None,
        "report": None if session.hints.summary else summary,
    }
    if session.settings.discussion:
        parts["discussion"] = await _ask_discussion(case, session, described, summary, weighed)
    return session.reading(**parts)


# ---- findings and summary ------------------------------------------------------------------


async def _ask_findings(case: Case, session: Session) -> dict[str, str]:
    """Picture → what the reader says of it; one question each, with that picture alone."""
    if session.hints.captions or session.hints.summary:
        return {}
    found: dict[str, str] = {}
    for number, picture in enumerate(case.pictures, 1):
        time = format_timepoint(picture)
        values = {
            "history": format_history(case),
            "number": f"{number}",
            "count": f"{len(case.pictures)}",
            "time": f", of {time}, 1 being the earliest" if time else "",
        }
        found[picture.name] = await session.ask(
            "twi-findings",
            values,
            text_parser(),
            task="findings",
            show=await session.show_async(Whole(picture=picture.name)),
            kind="look",
        )
    return found


def _describe(case: Case, session: Session, findings: Mapping[str, str]) -> str:
    """What is said of each picture: by the experts, by the reader, or only in the experts' summary."""
    if session.hints.summary and not session.hints.captions and case.pictures:
        return _IN_SUMMARY
    return describe_pictures(case, session.hints.captions or findings)


async def _ask_summary(case: Case, session: Session, described: str) -> str | None:
    """The findings of all pictures as one; None where there is nothing to sum up."""
    if session.hints.summary:
        return session.hints.summary
    if not case.pictures:
        return None
    return await session.ask(
        "twi-summary",
        {"history": format_history(case), "findings": described},
        text_parser(),
        task="summary",
        regions=session.whole_pictures(),
        kind="say",
    )


# ---- the differential ----------------------------------------------------------------------


class Weight(BaseModel):
    """What is said of one option."""

    # Not 'option', which would be taken for a choice where the JSON around it is broken.
    candidate: str
    supports: str = ""
    against: str = ""
    probability: float | None = None


class Differential(BaseModel):
    """Every option weighed, and the answer."""

    differential: list[Weight]
    answer: str
    explanation: str = ""


_DIFFERENTIAL = strict_schema(Differential)


@dataclass(frozen=True)
class DifferentialResult:
    """What came of weighing the options."""

    choice: str
    explanation: str | None
    weights: Mapping[str, Weight]
    """Letter → what was said of it."""
    probabilities: dict[str, float] | None


async def _ask_differential(
    case: Case, session: Session, described: str, summary: str | None
) -> DifferentialResult:
    values = {
        "history": format_history(case),
        "findings": described,
        "summary": summary or NO_PICTURES,
        "options": format_options(case),
    }
    if not session.settings.image_ratio:
        del values["findings"]
    found = await session.ask(
        prompt_for(session, "twi-differential"),
        values,
        differential_parser(case.options),
        task="choose",
        show=await session.show_async(),
        schema=_DIFFERENTIAL,
        kind=None,
    )
    add_answer_step(session, "conclude", session.whole_pictures(), _format_differential(case, found))
    return found


def differential_parser(options: Sequence[Option]) -> ReplyParser[DifferentialResult]:
    """Reads an answer as the options weighed and one of them chosen; the choice is what must be.

    >>> options = Option(letter="A", text="Sarcoidosis"), Option(letter="B", text="Silicosis")
    >>> told = differential_parser(options)('{"answer": "B", "explanation": "Eggshell nodes."}')
    >>> told.value.choice, told.value.explanation, told.repaired
    ('B', 'Eggshell nodes.', 'the options are not weighed one by one')
    """
    letters = letter_parser(options)

    def parse(reply: str) -> ParsedReply[DifferentialResult]:
        choice = letters(reply)
        try:
            given = json_parser(Differential)(reply)
        except BadReply:
            note = "the options are not weighed one by one"
            told = DifferentialResult(choice.value, parse_explanation(reply), {}, None)
            return ParsedReply(told, "; ".join(filter(None, (choice.repaired, note))))
        weights: dict[str, Weight] = {}
        for weight in given.value.differential:
            try:
                weights.setdefault(letters(weight.candidate).value, weight)
            except BadReply:
                continue  # of something that is no option
        explanation = given.value.explanation.strip() or None
        lacking = [option.letter for option in options if option.letter not in weights]
        note = f"{', '.join(lacking)} not weighed" if lacking else ""
        told = DifferentialResult(choice.value, explanation, weights, _probabilities(options, weights))
        return ParsedReply(told, "; ".join(filter(None, (choice.repaired, note))) or None)

    return parse


def _probabilities(options: Sequence[Option], weights: Mapping[str, Weight]) -> dict[str, float] | None:
    """How likely each option is, together 1; None unless all are given."""
    given = {o.letter: weights[o.letter].probability for o in options if o.letter in weights}
    known = {name: share for name, share in given.items() if share is not None}
    total = sum(known.values())
    if len(known) < len(options) or not math.isfinite(total) or total <= 0:
        return None
    if min(known.values()) < 0:
        return None
    return {name: share / total for name, share in known.items()}


def _format_differential(case: Case, found: DifferentialResult) -> str:
    """The differential in words, one option a line, and the reasons for the choice."""
    lines = []
    for option in case.options:
        weight = found.weights.get(option.letter)
        if weight is not None:
            parts = (("supported by", weight.supports), ("against it", weight.against))
            said = "; ".join(f"{what}: {one_line(text)}" for what, text in parts if text.strip())
            lines.append(f"{option.letter}. {option.text} – {said or 'nothing said'}")
    return "\n".join([*lines, found.explanation or f"The answer is {found.choice}."])


# ---- the discussion ------------------------------------------------------------------------


def _join_points(value: Any) -> Any:
    """A list of points as lines of one text."""
    points = isinstance(value, list) and all(isinstance(one, str) for one in value)
    return "\n".join(value) if points else value


Section = Annotated[str, BeforeValidator(_join_points), Field(min_length=1)]


class Discussion(BaseModel):
    """A teaching discussion in its six sections."""

    background: Section
    clinical_perspective: Section
    imaging_perspective: Section
    clinical_significance: Section
    outcome: Section
    take_home_points: Section


_DISCUSSION = strict_schema(Discussion)


async def _ask_discussion(
    case: Case, session: Session, described: str, summary: str | None, found: DifferentialResult
) -> str:
    diagnosis = next(option.text for option in case.options if option.letter == found.choice)
    values = {
        "history": format_history(case),
        "findings": described,
        "summary": summary or NO_PICTURES,
        "diagnosis": diagnosis,
        "explanation": found.explanation or "none was given",
    }
    return await session.ask(
        "twi-discussion",
        values,
        parse_discussion,
        task="discuss",
        schema=_DISCUSSION,
        regions=session.whole_pictures(),
        kind="say",
    )


def parse_discussion(reply: str) -> ParsedReply[str]:
    """Reads an answer as a discussion: JSON, or a text with all six headings.

    >>> said = "\\n".join(f"{section}: It is so." for section in SECTIONS)
    >>> parse_discussion(said).value == parse_discussion(parse_discussion(said).value).value
    True
    """
    try:
        given = json_parser(Discussion)(reply)
        texts = dict(zip(SECTIONS, vars(given.value).values(), strict=True))
        repaired = given.repaired
    except BadReply:
        texts = {}
        for section, sentence in split_discussion(text_parser()(reply).value):
            texts[section] = f"{texts[section]} {sentence}" if section in texts else sentence
        if not set(SECTIONS) <= texts.keys():
            raise
        repaired = "it stood in words, not in JSON"
    blank = [section for section in SECTIONS if not texts[section].strip()]
    if blank:
        raise BadReply(f"the section '{blank[0]}' is empty")
    told = [f"{section.capitalize()}\n{texts[section].strip()}" for section in SECTIONS]
    return ParsedReply("\n\n".join(told), repaired)
