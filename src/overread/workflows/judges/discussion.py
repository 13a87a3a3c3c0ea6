"""The judge of teaching discussions: each sentence, by section, and how well the whole teaches.

Sections are found by their headings and sentences by rule; no model is asked for that. Sentences
are judged some at a time, so that a long discussion is not cut off.
"""

from __future__ import annotations

from functools import cache

from pydantic import BaseModel

from overread.core import Entry, Reading
from overread.core.verdicts import (
    DiscussionVerdicts,
    EducationMark,
    Judge,
    SentenceVerdict,
    discussion_of,
    text_digest,
)
from overread.errors import BadReply, UsageError
from overread.language.discussions import split_discussion
from overread.language.text import bare_words
from overread.ontology import education_dimensions
from overread.prompts.replies import strict_schema
from overread.session import Session
from overread.workflows.judges.verdicts import (
    MendedVerdict,
    VerdictList,
    ask_verdicts,
    escape_fence,
    expert_account,
    session_log,
)

SENTENCES_PER_QUESTION = 30
"""Sentences that are judged with one question."""


class SentenceAnswer(BaseModel):
    """What is asked for about each sentence."""

    sentence: int
    correct: bool
    explanation: str = ""


class SentenceAnswers(BaseModel):
    """What is asked for."""

    verdicts: list[SentenceAnswer]


class MarkAnswer(BaseModel):
    """What is asked for in each respect."""

    dimension: str
    mark: int
    explanation: str = ""


class MarkAnswers(BaseModel):
    """What is asked for."""

    marks: list[MarkAnswer]


_SENTENCES_SCHEMA = strict_schema(SentenceAnswers)
_MARKS_SCHEMA = strict_schema(MarkAnswers)


async def judge_discussion(entry: Entry, reading: Reading, session: Session) -> DiscussionVerdicts:
    """The verdicts on the discussion of one reading; what has none is not correct, or 0."""
    text = discussion_of(reading)
    if not text:
        raise UsageError(f"the reading of case {entry.case.id} has no discussion to judge")
    told = expert_account(entry)
    written = split_discussion(text)
    failures: list[str] = []
    answers: dict[int, SentenceAnswer] = {}
    for begin in range(0, len(written), SENTENCES_PER_QUESTION):
        try:
            answers |= await _ask_sentences(written, begin, told, session)
        except BadReply as error:
            failures.append(f"no verdict on sentences from {begin + 1} on could be used: {error}")
    try:
        marks = await _ask_marks(text, told, session)
    except BadReply as error:
        marks = {}
        failures.append(f"no mark of education value could be used: {error}")
    judged = tuple(
        _make_verdict(section, sentence, answers.get(n)) for n, (section, sentence) in enumerate(written, 1)
    )
    given = tuple(_make_mark(term.code, marks.get(term.code)) for term in education_dimensions().item)
    return DiscussionVerdicts(
        case_id=entry.case.id,
        sample=reading.sample,
        about=text_digest(text),
        judge=session.reader.name,
        sentences=judged,
        education=given,
        missing=sum(not s.judged for s in judged) + sum(not m.judged for m in given),
        error="; ".join(failures) or None,
        **session_log(session),
    )


def failed_discussion(entry: Entry, reading: Reading, judge: str, why: str) -> DiscussionVerdicts:
    """The record of a judge that could not be had: nothing is judged."""
    text = discussion_of(reading)
    judged = tuple(_make_verdict(section, sentence, None) for section, sentence in split_discussion(text))
    marks = tuple(_make_mark(term.code, None) for term in education_dimensions().item)
    return DiscussionVerdicts(
        case_id=entry.case.id,
        sample=reading.sample,
        about=text_digest(text),
        judge=judge,
        sentences=judged,
        education=marks,
        missing=len(judged) + len(marks),
        error=why,
    )


def _make_verdict(section: str, text: str, answer: SentenceAnswer | None) -> SentenceVerdict:
    if answer is None:
        return SentenceVerdict(text=text, section=section, judged=False)
    told = answer.explanation.strip()
    return SentenceVerdict(text=text, section=section, correct=answer.correct, explanation=told)


def _make_mark(dimension: str, answer: MarkAnswer | None) -> EducationMark:
    if answer is None:
        return EducationMark(dimension=dimension, judged=False)
    told = answer.explanation.strip()
    return EducationMark(dimension=dimension, mark=answer.mark, explanation=told)


# ---- sentences -----------------------------------------------------------------------------


async def _ask_sentences(
    written: list[tuple[str, str]], begin: int, told: dict[str, str], session: Session
) -> dict[int, SentenceAnswer]:
    """The verdicts on some sentences, beginning with one."""
    lines: list[str] = []
    chosen = list(enumerate(written, 1))[begin : begin + SENTENCES_PER_QUESTION]
    before = ""
    for number, (section, sentence) in chosen:
        if section != before:
            lines.append(f"[{section}]")
        before = section
        lines.append(f"{number}. {sentence}")
    numbers = [number for number, _ in chosen]
    values = {
        **told,
        "sentences": "\n".join(lines),
        "count": f"{len(numbers)}",
        "first": f"{numbers[0]}",
        "last": f"{numbers[-1]}",
    }
    found = VerdictList(SentenceAnswer, "verdicts", numbers, lambda item: item.sentence)
    return await ask_verdicts(
        session,
        "judge-discussion-sentences",
        values,
        found,
        task="judge discussion",
        schema=_SENTENCES_SCHEMA,
    )


# ---- education value -----------------------------------------------------------------------


@cache
def _dimension_codes() -> dict[str, str]:
    """Every way a dimension may be named → its code."""
    return {
        bare_words(name): term.code for term in education_dimensions().item for name in (term.code, term.name)
    }


async def _ask_marks(text: str, told: dict[str, str], session: Session) -> dict[str, MarkAnswer]:
    terms = education_dimensions()
    lowest, highest = terms.lowest or 0, terms.highest or 0

    def of(answer: MarkAnswer) -> str | None:
        # A mark that there is not is no mark: it is asked for again.
        within = lowest <= answer.mark <= highest
        return _dimension_codes().get(bare_words(answer.dimension)) if within else None

    found = VerdictList(
        MarkAnswer, "marks", [term.code for term in terms.item], of, mend=MendedVerdict, noun="mark"
    )
    values = {
        "diagnosis": told["diagnosis"],
        "findings": told["findings"],
        "reference": told["discussion"],
        "discussion": escape_fence(text),
        "dimensions": "\n".join(f"- {t.code}: {t.name}. {t.about}" for t in terms.item),
        "lowest": f"{lowest}",
        "highest": f"{highest}",
    }
    return await ask_verdicts(
        session, "judge-education", values, found, task="judge education", schema=_MARKS_SCHEMA
    )


def _count_questions(reading: Reading) -> int:
    return -(-len(split_discussion(discussion_of(reading))) // SENTENCES_PER_QUESTION) + 1


JUDGE = Judge(
    name="discussion",
    needs="discussion",
    prompts=("judge-discussion-sentences", "judge-education"),
    text=discussion_of,
    questions=_count_questions,
    judge=judge_discussion,
    make_failed=failed_discussion,
)
