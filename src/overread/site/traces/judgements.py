"""What judges said of a reading, sentence by sentence: they saw the truth, so this tells it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from overread.core import Reading, Record
from overread.core.verdicts import (
    DiscussionVerdicts,
    StepVerdicts,
    Verdicts,
    discussion_of,
    explanation_of,
    text_digest,
)
from overread.ontology import education_dimensions, step_errors
from overread.ontology.terms import Term
from overread.runs.judging.verdict_store import load_verdicts, verdicts_path
from overread.site.lru_cache import LruCache, file_stamp


class JudgedSentence(Record):
    """What a judge said of one step of an explanation, or one sentence of a discussion."""

    text: str
    """The words that were judged."""
    holds: bool
    """Whether they hold."""
    judged: bool
    """Whether the judge spoke of them at all; what it left out counts as wrong."""
    critical: bool
    """Whether the diagnosis rests on them."""
    reason: str
    """Why, in the judge's words."""
    errors: list[Term]
    section: str | None
    """The section of the discussion they stand in."""
    step: int | None
    """Index of the step of the trace that has these words, where one has."""


class TeachingMark(Record):
    """How well a discussion teaches in one respect."""

    name: str
    mark: int
    highest: int
    reason: str
    judged: bool


class Judgement(Record):
    """What one judge said of one reading."""

    kind: Literal["steps", "discussion"]
    judge: str
    rule: str
    """Beginning of the digest of its prompts and settings: other rules are other judgements."""
    stale: bool
    """Whether the reading says something else by now than what was judged."""
    error: str | None
    """Why the judge failed, where it did."""
    missing: int
    """Verdicts that it was asked for and did not give."""
    verdicts: list[JudgedSentence]
    education: list[TeachingMark]
    """How well a discussion teaches; empty for steps."""


_cache: LruCache[dict[tuple[str, int], list[Verdicts]]] = LruCache(32)


def load_judgements(folder: Path, reading: Reading) -> list[Judgement]:
    """Every judgement of a reading, the latest first."""
    own = _verdicts(folder).get((reading.case_id, reading.sample), [])
    return [_to_judgement(one, reading) for one in reversed(own)]


def is_judged(folder: Path, reading: Reading) -> bool:
    """Whether anybody judged a reading; says nothing of what came of it."""
    return (reading.case_id, reading.sample) in _verdicts(folder)


def _verdicts(folder: Path) -> dict[tuple[str, int], list[Verdicts]]:
    """(case, sample) → its verdicts; read again only where the file changed."""

    def read() -> dict[tuple[str, int], list[Verdicts]]:
        found: dict[tuple[str, int], list[Verdicts]] = {}
        for one in load_verdicts(folder).values():
            found.setdefault((one.case_id, one.sample), []).append(one)
        return found

    return _cache.get(folder, read, stamp=file_stamp(verdicts_path(folder)))


def _to_judgement(one: Verdicts, reading: Reading) -> Judgement:
    words = explanation_of(reading) if isinstance(one, StepVerdicts) else discussion_of(reading)
    common = {
        "kind": one.kind,
        "judge": one.judge,
        "rule": one.rule[:8],
        "stale": one.about != text_digest(words),
        "error": one.error,
        "missing": one.missing,
    }
    texts = [step.text for step in reading.trace.steps] if reading.trace else []
    if isinstance(one, DiscussionVerdicts):
        return Judgement.model_validate(
            {
                **common,
                "verdicts": [
                    JudgedSentence(
                        text=said.text,
                        holds=said.correct,
                        judged=said.judged,
                        critical=False,
                        reason=said.explanation,
                        errors=[],
                        section=said.section,
                        step=find_step(texts, said.text),
                    )
                    for said in one.sentences
                ],
                "education": _teaching_marks(one),
            }
        )
    names = {term.code: term for term in step_errors().item}
    return Judgement.model_validate(
        {
            **common,
            "verdicts": [
                JudgedSentence(
                    text=said.text,
                    holds=said.factual,
                    judged=said.judged,
                    critical=said.critical,
                    reason=said.explanation,
                    errors=[
                        names.get(code) or Term(code=code, name=code, about="not in the list of step errors")
                        for code in said.errors
                    ],
                    section=None,
                    step=find_step(texts, said.text),
                )
                for said in one.steps
            ],
            "education": [],
        }
    )


def _teaching_marks(one: DiscussionVerdicts) -> list[TeachingMark]:
    terms = education_dimensions()
    names = {term.code: term.name for term in terms.item}
    return [
        TeachingMark(
            name=names.get(mark.dimension, mark.dimension),
            mark=mark.mark,
            highest=terms.highest or 2,
            reason=mark.explanation,
            judged=mark.judged,
        )
        for mark in one.education
    ]


def find_step(texts: Sequence[str], words: str) -> int | None:
    """The first step that has some words, however they are spaced and spelled large or small.

    >>> find_step(["A mass.", "It  enhances like a ring."], "it enhances")
    1
    """
    wanted = _normalize(words)
    if not wanted:
        return None
    return next((n for n, text in enumerate(texts) if wanted in _normalize(text)), None)


def _normalize(text: str) -> str:
    return " ".join(text.split()).casefold().rstrip(".")
