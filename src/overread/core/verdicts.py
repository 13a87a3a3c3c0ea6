"""Verdicts: what a judge said of a reading, sentence by sentence.

A judge is a reader that is shown the truth and says whether somebody's words hold. What it did not
speak of is in the record too, as not judged, and counts against the reading.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, TypeAdapter

from overread.core.exchange import Exchange, Usage
from overread.core.record import Record
from overread.core.trace import Reading

SECTIONS = (
    "background",
    "clinical perspective",
    "imaging perspective",
    "clinical significance",
    "outcome",
    "take-home points",
)
"""The sections of a teaching discussion, in their order."""

UNSECTIONED = "unsectioned"
"""Where sentences stand that are under no heading."""


class StepVerdict(Record):
    """What the judge said of one step of an explanation."""

    text: str
    """The step."""
    factual: bool = False
    """Whether it holds, judged leniently."""
    critical: bool = False
    """Whether the diagnosis rests on it."""
    explanation: str = ""
    """Why, in the judge's words."""
    errors: tuple[str, ...] = ()
    """What is wrong with it: codes of the step errors."""
    judged: bool = True
    """Whether the judge spoke of it; a step it left out is not factual."""


class SentenceVerdict(Record):
    """What the judge said of one sentence of a discussion."""

    text: str
    """The sentence."""
    section: str
    """The section it stands in."""
    correct: bool = False
    """Whether it holds."""
    explanation: str = ""
    """Why, in the judge's words."""
    judged: bool = True
    """Whether the judge spoke of it; a sentence it left out is not correct."""


class EducationMark(Record):
    """How well a discussion teaches, in one respect."""

    dimension: str
    """Code of the education dimension."""
    mark: int = 0
    """From 0, nothing of it, to 2, all one needs."""
    explanation: str = ""
    """Why, in the judge's words."""
    judged: bool = True
    """Whether the judge gave a mark; without one it is 0."""


class _VerdictsBase(Record):
    """Fields that all verdicts share: the reading, the judge, the cost."""

    case_id: str
    """The case whose reading was judged."""
    sample: int = 0
    """Which reading of the case."""
    about: str
    """Digest of the words that were judged: of other words the verdicts say nothing."""
    judge: str
    """Who judged."""
    rule: str = ""
    """Digest of the judge's identity, prompts and settings: other rules are other verdicts."""
    missing: int = 0
    """How many verdicts the judge did not give."""
    exchanges: tuple[Exchange, ...] = ()
    """Every question and answer; without the messages, which hold the truth."""
    usage: Usage | None = None
    """What judging cost."""
    error: str | None = None
    """Why the judge failed; what is not judged counts against the reading."""

    @property
    def key(self) -> tuple[str, str, int, str]:
        """Of records with the same key the last counts."""
        return (getattr(self, "kind", ""), self.case_id, self.sample, self.rule)


class StepVerdicts(_VerdictsBase):
    """The verdicts on the explanation of one reading."""

    kind: Literal["steps"] = "steps"
    """Says which verdicts these are."""
    steps: tuple[StepVerdict, ...] = ()
    """Every step of the explanation, judged or not."""
    split_by: Literal["model", "rules"] = "model"
    """Who cut the explanation into steps."""
    split_problem: str | None = None
    """Why the model's cut was not taken, where it was not."""


class DiscussionVerdicts(_VerdictsBase):
    """The verdicts on the teaching discussion of one reading."""

    kind: Literal["discussion"] = "discussion"
    """Says which verdicts these are."""
    sentences: tuple[SentenceVerdict, ...] = ()
    """Every sentence of the discussion, judged or not."""
    education: tuple[EducationMark, ...] = ()
    """A mark for each dimension of education value."""


Verdicts: TypeAlias = StepVerdicts | DiscussionVerdicts

VERDICTS: TypeAdapter[Verdicts] = TypeAdapter(Annotated[Verdicts, Field(discriminator="kind")])
"""Reads a stored line as the verdicts that it holds."""


@dataclass(frozen=True)
class Judge:
    """One way to judge: what it looks at, what it asks, and what it leaves when it fails."""

    name: str
    """How it is asked for; the kind of its verdicts."""
    needs: str
    """The part of a reading that it judges."""
    prompts: tuple[str, ...]
    """The prompts that it asks with."""
    text: Callable[[Reading], str]
    """The words that it judges; empty where there are none."""
    questions: Callable[[Reading], int]
    """How many questions judging a reading takes, where none must be asked twice."""
    judge: Callable[..., Awaitable[Verdicts]]
    """(entry, reading, session) → verdicts; raises where the judge cannot be had."""
    make_failed: Callable[..., Verdicts]
    """(entry, reading, judge's name, why) → verdicts in which nothing is judged."""


def explanation_of(reading: Reading) -> str:
    """Why the choice was made: the rationale, or its `explanation` where it is a JSON answer.

    >>> told = '{"answer": "B", "explanation": "The mass enhances."}'
    >>> explanation_of(Reading(case_id="c", reader="r", rationale=told))
    'The mass enhances.'
    """
    told = (reading.rationale or "").strip()
    if told.startswith("{"):
        try:
            answer: Any = json.loads(told)
        except (ValueError, RecursionError):
            return told
        inside = answer.get("explanation") if isinstance(answer, dict) else None
        return inside.strip() if isinstance(inside, str) else told
    return told


def discussion_of(reading: Reading) -> str:
    """The teaching discussion; empty where there is none."""
    return (reading.discussion or "").strip()


def text_digest(text: str) -> str:
    """What tells judged words from other words."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
