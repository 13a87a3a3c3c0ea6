"""The judge of explanations: cut into single steps, each held against the experts' account.

A splitter cuts the explanation into 1 to 15 statements and adds nothing: a word or a number that is
not in the explanation gives it away. Where its cut cannot be taken the sentences are, by rule. Then
a judge who sees words only says of each step whether it is factual, whether the diagnosis rests on
it, and what is wrong with it.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise

from pydantic import BaseModel, Field

from overread.core import Entry, Reading
from overread.core.verdicts import Judge, StepVerdict, StepVerdicts, explanation_of, text_digest
from overread.errors import BadReply, UsageError
from overread.language.text import bare_words, one_line, split_sentences
from overread.ontology import step_errors
from overread.prompts.replies import json_parser, strict_schema
from overread.session import ParsedReply, Session
from overread.workflows.judges.verdicts import (
    MendedVerdict,
    VerdictList,
    ask_verdicts,
    escape_fence,
    expert_account,
    session_log,
)

MOST_STEPS = 15
"""Into how many steps an explanation is cut at most."""
MIN_COVERED = 0.5
"""Share of the explanation's words that the steps must have kept between them."""

_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")
_FUNCTION_WORDS = frozenset(
    (
        "a an and are as at be been by for from had has have he her his in is it its of on or "
        "she that the their them there these they this those to was were which who with"
    ).split()
)
"""Words that a cut may make necessary. No 'no', no 'not': these turn a statement round."""
_ENDINGS = ("ies", "ied", "ing", "es", "ed", "e", "s", "y")


class Steps(BaseModel):
    """The statements of an explanation."""

    steps: list[str] = Field(min_length=1, max_length=MOST_STEPS)


class StepAnswer(BaseModel):
    """What is asked for about each step."""

    step: int
    factual: bool
    critical: bool = False
    explanation: str = ""
    errors: list[str] = Field(default_factory=list)


class StepAnswers(BaseModel):
    """What is asked for."""

    verdicts: list[StepAnswer]


_STEPS_SCHEMA = strict_schema(Steps)
_VERDICTS_SCHEMA = strict_schema(StepAnswers)


async def judge_steps(entry: Entry, reading: Reading, session: Session) -> StepVerdicts:
    """The verdicts on the explanation of one reading; steps without one are not factual."""
    text = explanation_of(reading)
    if not text:
        raise UsageError(f"the reading of case {entry.case.id} has no explanation to judge")
    told = expert_account(entry)
    problem = None
    try:
        steps = await session.ask(
            "split-steps",
            {"explanation": escape_fence(text), "most": f"{MOST_STEPS}"},
            lambda reply: parse_steps(reply, text),
            task="split steps",
            schema=_STEPS_SCHEMA,
        )
    except BadReply as error:
        steps, problem = split_by_rule(text), str(error)
    found = VerdictList(
        StepAnswer, "verdicts", range(1, len(steps) + 1), lambda item: item.step, mend=_mend_answer
    )
    values = {
        **told,
        "steps": "\n".join(f"{n}. {step}" for n, step in enumerate(steps, 1)),
        "count": f"{len(steps)}",
        "errors": "\n".join(f"- {e.code}: {e.name}. {e.about}" for e in step_errors().item),
    }
    failure, verdicts = None, {}
    try:
        verdicts = await ask_verdicts(
            session, "judge-step", values, found, task="judge steps", schema=_VERDICTS_SCHEMA
        )
    except BadReply as error:
        failure = f"the judge gave no verdict that could be used: {error}"
    judged = tuple(_make_verdict(step, verdicts.get(n)) for n, step in enumerate(steps, 1))
    return StepVerdicts(
        case_id=entry.case.id,
        sample=reading.sample,
        about=text_digest(text),
        judge=session.reader.name,
        steps=judged,
        missing=sum(not step.judged for step in judged),
        split_by="rules" if problem else "model",
        split_problem=problem,
        error=failure,
        **session_log(session),
    )


def failed_steps(entry: Entry, reading: Reading, judge: str, why: str) -> StepVerdicts:
    """The record of a judge that could not be had: the sentences as steps, none of them judged."""
    text = explanation_of(reading)
    steps = tuple(_make_verdict(step, None) for step in split_by_rule(text))
    return StepVerdicts(
        case_id=entry.case.id,
        sample=reading.sample,
        about=text_digest(text),
        judge=judge,
        steps=steps,
        missing=len(steps),
        split_by="rules",
        error=why,
    )


def _make_verdict(step: str, answer: StepAnswer | None) -> StepVerdict:
    if answer is None:
        return StepVerdict(text=step, judged=False)
    return StepVerdict(
        text=step,
        factual=answer.factual,
        critical=answer.critical,
        explanation=answer.explanation.strip(),
        errors=tuple(answer.errors),
    )


# ---- cutting -------------------------------------------------------------------------------


def parse_steps(reply: str, text: str) -> ParsedReply[list[str]]:
    """The steps that a splitter answered, if they are cut out of the text and nothing else."""
    answer = json_parser(Steps)(reply)
    given = [one_line(step) for step in answer.value.steps]
    steps = [step for step in dict.fromkeys(given) if _WORD.search(step)]
    if not steps:
        raise BadReply("no step says anything")
    new = added_words(steps, text)
    if new:
        raise BadReply(
            f"these words are not in the explanation: {', '.join(new[:8])}",
            remedy="keep its wording and add nothing",
        )
    if covered_share(steps, text) < MIN_COVERED:
        raise BadReply("the steps leave out more than half of what the explanation says")
    repairs = [answer.repaired] if answer.repaired else []
    if len(steps) < len(given):
        repairs.append("steps that were empty or said twice were left out")
    return ParsedReply(steps, "; ".join(repairs) or None)


def added_words(steps: list[str], text: str) -> list[str]:
    """Words and numbers of the steps that do not occur in the text, in any of their endings.

    >>> added_words(["The mass enhances.", "It measures 5 cm."], "An enhancing mass of 4 cm.")
    ['measures', '5']
    """
    known = _stems(text)
    return [
        word
        for word in dict.fromkeys(w.casefold() for step in steps for w in _WORD.findall(step))
        if word not in _FUNCTION_WORDS and _stem(word) not in known
    ]


def covered_share(steps: list[str], text: str) -> float:
    """Share of the text's words that occur in the steps."""
    said = {_stem(word.casefold()) for word in _WORD.findall(text) if word.casefold() not in _FUNCTION_WORDS}
    return len(said & _stems(" ".join(steps))) / len(said) if said else 1.0


def _stems(text: str) -> set[str]:
    return {_stem(word.casefold()) for word in _WORD.findall(text)}


def _stem(word: str) -> str:
    """A word without its ending, so that 'enhances' and 'enhancing' compare equal."""
    for ending in _ENDINGS:
        if word.endswith("ss"):
            break  # 'mass' is no plural
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def split_by_rule(text: str) -> list[str]:
    """The sentences of a text; neighbours are joined where there are more than 15.

    >>> split_by_rule("The nodule is solid. It has grown, so it is malignant.")
    ['The nodule is solid.', 'It has grown, so it is malignant.']
    """
    found = [one_line(sentence.extract(text)) for sentence in split_sentences(text)] or [one_line(text)]
    count = min(len(found), MOST_STEPS)
    edges = [n * len(found) // count for n in range(count + 1)]
    return [" ".join(found[a:b]) for a, b in pairwise(edges)]


# ---- judging -------------------------------------------------------------------------------


@cache
def _error_codes() -> dict[str, str]:
    """Every way an error may be named → its code."""
    names: dict[str, str] = {}
    for error in step_errors().item:
        for name in (error.code, error.name, error.name.removesuffix(" error")):
            names[bare_words(name)] = error.code
    return names


def _mend_answer(answer: StepAnswer) -> MendedVerdict[StepAnswer]:
    """A verdict whose errors are codes: none on a factual step, at least one on any other."""
    named = [_error_codes().get(bare_words(name)) for name in answer.errors]
    codes = list(dict.fromkeys(code for code in named if code is not None))
    if answer.factual:
        mended = answer.model_copy(update={"errors": []})
        note = f"step {answer.step} is factual, and its errors were left out"
        return MendedVerdict(mended, repaired=note if answer.errors else None)
    mended = answer.model_copy(update={"errors": codes})
    known = ", ".join(error.code for error in step_errors().item)
    if not codes:
        problem = f"step {answer.step} is not factual and has no error out of {known}"
        return MendedVerdict(mended, problem=problem)
    note = f"step {answer.step} had errors of an unknown kind, which were left out"
    return MendedVerdict(mended, repaired=note if None in named else None)


JUDGE = Judge(
    name="steps",
    needs="rationale",
    prompts=("split-steps", "judge-step"),
    text=explanation_of,
    questions=lambda _: 2,
    judge=judge_steps,
    make_failed=failed_steps,
)
