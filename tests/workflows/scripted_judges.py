"""A judge that says what it is told to, and a case for it to judge."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from overread.core import (
    Case,
    Entry,
    Finding,
    Geometry,
    Image,
    Option,
    Picture,
    Reader,
    Reading,
    Reply,
    Request,
    Truth,
    Usage,
    Whole,
)
from overread.core.verdicts import (
    SECTIONS,
    DiscussionVerdicts,
    EducationMark,
    SentenceVerdict,
    StepVerdict,
    StepVerdicts,
    Verdicts,
    discussion_of,
    explanation_of,
    text_digest,
)
from overread.errors import TryAgain
from overread.ontology import education_dimensions
from overread.session import Session, SessionSettings

EXPLANATION = (
    "The MRI shows an enhancing mass of 4 cm in the left temporal lobe. "
    "There is no restricted diffusion, which rules out an abscess."
)
STEPS = [
    "The MRI shows an enhancing mass of 4 cm in the left temporal lobe.",
    "There is no restricted diffusion.",
    "No restricted diffusion rules out an abscess.",
]
DISCUSSION = (
    "Background\nGlioblastoma is the commonest malignant primary brain tumour. It is fatal.\n\n"
    "**Imaging Perspective:** It enhances like a ring.\n\n"
    "## Take-home points\n- Look for diffusion restriction."
)

Said = str | Reply | Exception


class Scripted(Reader):
    """Answers each task with the next of its lines; the last of them is said again and again."""

    name = "scripted"
    skills = frozenset({"words"})
    cached = True

    def __init__(self, lines: Mapping[str, Sequence[Said]], model: str = "canned") -> None:
        self.identity: Mapping[str, JsonValue] = {"model": model}
        self.lines = {task: list(said) for task, said in lines.items()}
        self.requests: list[Request] = []

    async def read(self, request: Request) -> Reply:
        self.requests.append(request)
        lines = self.lines[request.task]
        said = lines.pop(0) if len(lines) > 1 else lines[0]
        if isinstance(said, Exception):
            raise said
        usage = Usage(input_tokens=10, output_tokens=5, calls=1)
        return said if isinstance(said, Reply) else Reply(text=said, usage=usage)

    async def close(self) -> None:
        self.closed = True

    def asked(self, task: str) -> list[str]:
        """The whole text of every question of a task."""
        return [
            "\n".join(part for m in request.messages for part in m.parts if isinstance(part, str))
            for request in self.requests
            if request.task == task
        ]


class Obliging(Reader):
    """A judge that cuts at full stops and finds every second thing right."""

    name = "obliging"
    skills = frozenset({"words"})
    cached = True

    def __init__(self, model: str = "canned") -> None:
        self.identity: Mapping[str, JsonValue] = {"model": model, "endpoint": "here"}
        self.tasks: list[str] = []
        self.fail: Exception | None = None
        self.shy = 0
        self.closed = False

    async def read(self, request: Request) -> Reply:
        self.tasks.append(request.task)
        if self.fail is not None:
            raise self.fail
        if self.shy:
            self.shy -= 1
            raise TryAgain("too busy")
        asked = request.messages[-1].parts[-1]
        assert isinstance(asked, str)
        return Reply(text=json.dumps(self.answer(request.task, asked)), usage=Usage(input_tokens=1))

    def answer(self, task: str, asked: str) -> dict[str, Any]:
        if task == "split steps":
            return {"steps": re.findall(r"[^.]+\.", asked.split("=====\n")[1].split("\n=====")[0])}
        if task == "judge education":
            dimensions = ("definition", "manifestation", "imaging", "reasoning", "learning")
            return {"marks": [{"dimension": d, "mark": 1} for d in dimensions]}
        numbers = [int(n) for n in re.findall(r"^(\d+)\. ", asked, re.M)]
        if task == "judge steps":
            return {
                "verdicts": [
                    {"step": n, "factual": n % 2 == 1, "errors": [] if n % 2 else ["reasoning"]}
                    for n in numbers
                ]
            }
        return {"verdicts": [{"sentence": n, "correct": n % 2 == 1} for n in numbers]}

    async def close(self) -> None:
        self.closed = True


def make(arguments: Mapping[str, str], *, place: object = None) -> Obliging:
    """The obliging judge as a reader of the catalog."""
    return Obliging(arguments["model"])


class NoPictures:
    """Judges see no pictures."""

    def data(self, picture: Picture) -> Path | bytes:
        raise AssertionError("a judge opened a picture")

    def pixels(self, picture: Picture) -> Any:
        raise AssertionError("a judge opened a picture")

    def geometry(self, picture: Picture) -> Geometry:
        raise AssertionError("a judge opened a picture")


def entry(case_id: str = "c1") -> Entry:
    """A case with an account of every kind."""
    return Entry(
        case=Case(
            id=case_id,
            benchmark="medthinkvqa",
            split="test",
            pictures=(Image(name="image_01", file="x.png"),),
            history="HISTORY headache",
            options=(Option(letter="A", text="Abscess"), Option(letter="B", text="Glioblastoma")),
        ),
        truth=Truth(
            title="TITLE",
            answer="B",
            answer_text="Glioblastoma",
            findings=(Finding(text="CAPTION ring", regions=(Whole(picture="image_01"),)),),
            report="FINDINGS mass",
            discussion="DISCUSSION tumour",
        ),
    )


def reading(case_id: str = "c1", **parts: Any) -> Reading:
    """What somebody wrote of it."""
    own: dict[str, Any] = {"choice": "B", "rationale": EXPLANATION, "discussion": DISCUSSION}
    return Reading(case_id=case_id, reader="r", **{**own, **parts})


def session(reader: Scripted, about: Entry, *, repairs: int = 1) -> Session:
    """A session without a run around it."""
    return Session(reader.read, reader, about.case, NoPictures(), SessionSettings(repairs=repairs))


def split(steps: Sequence[str] = STEPS) -> str:
    """A splitter's answer."""
    return json.dumps({"steps": list(steps)})


def verdict(step: int, factual: bool = True, errors: Sequence[str] = (), **more: Any) -> dict[str, Any]:
    """One verdict of a judge's answer."""
    told = {"critical": False, "explanation": f"why {step}", **more}
    return {"step": step, "factual": factual, "errors": list(errors), **told}


def verdicts(*given: dict[str, Any]) -> str:
    """A judge's answer about steps."""
    return json.dumps({"verdicts": list(given)})


def sentences(*correct: bool, first: int = 1) -> str:
    """A judge's answer about sentences."""
    given = [{"sentence": n, "correct": c, "explanation": ""} for n, c in enumerate(correct, first)]
    return json.dumps({"verdicts": given})


def marks(**given: Any) -> str:
    """A judge's answer about education value."""
    return json.dumps({"marks": [{"dimension": d, "mark": m} for d, m in given.items()]})


def perfect_verdicts(one: Reading) -> tuple[Verdicts, ...]:
    """What the friendliest judge would say of a reading."""
    steps = (StepVerdict(text="All of it.", factual=True, critical=True),)
    said = tuple(SentenceVerdict(text="It.", section=name, correct=True) for name in SECTIONS)
    given = tuple(EducationMark(dimension=term.code, mark=2) for term in education_dimensions().item)
    own = {"case_id": one.case_id, "sample": one.sample, "judge": "friend"}
    return (
        StepVerdicts(**own, about=text_digest(explanation_of(one)), steps=steps),
        DiscussionVerdicts(**own, about=text_digest(discussion_of(one)), sentences=said, education=given),
    )
