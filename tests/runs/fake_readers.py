"""Readers and workflows of the tests: plain ones, and some that misbehave on purpose."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from pydantic import JsonValue

from overread.core import (
    Case,
    DrawnMask,
    Finding,
    Mask,
    Message,
    Pictures,
    Reader,
    Reading,
    ReleaseRef,
    Reply,
    Request,
    Usage,
)
from overread.errors import ReaderError
from overread.session import ParsedReply, Session

ANSWER = json.dumps({"answer": "B", "explanation": "It fits."})


@dataclass
class Echo(Reader):
    """Answers 'B', or whatever `answer` says; counts who asked."""

    answer: Callable[[Request], str | Reply] = lambda _: ANSWER
    delay: float = 0.0
    answers: int | None = None
    """After so many answers it keeps everybody waiting."""
    cached: bool = True
    at_once: int | None = None
    name: str = "echo"
    skills: frozenset[str] = frozenset(("words", "pictures"))
    identity: Mapping[str, JsonValue] = field(default_factory=lambda: {"model": "echo", "endpoint": "here"})
    asked: list[Request] = field(default_factory=list)
    most: int = 0
    closed: bool = False
    _now: int = 0

    async def read(self, request: Request) -> Reply:
        """Answer after a moment."""
        self.asked.append(request)
        self._now += 1
        self.most = max(self.most, self._now)
        try:
            held = self.answers is not None and len(self.asked) > self.answers
            await asyncio.sleep(3600 if held else self.delay)
            said = self.answer(request)
        finally:
            self._now -= 1
        if isinstance(said, Reply):
            return said
        return Reply(text=said, model="echo", usage=Usage(input_tokens=100, output_tokens=10))

    async def close(self) -> None:
        """Remember that it was told to."""
        self.closed = True


async def plain(case: Case, session: Session) -> Reading:
    """One question without a prompt file: the history, answered by a letter."""
    reply = await session.ask_reader(asked(case, session))
    assert isinstance(reply, Reply)
    letter = json.loads(reply.text)["answer"]
    return session.reading(choice=letter, rationale=reply.text)


def asked(case: Case, session: Session, words: str = "") -> Request:
    """The question of `plain`."""
    told = words or f"{case.history} {[option.text for option in case.options]}"
    return Request(
        task="choose",
        case=case,
        pictures=session.pictures,
        messages=(Message(role="user", parts=(told,)),),
        sample=session.sample,
        seed=session.seed,
    )


@dataclass
class WholeReader(Reader):
    """Reads whole cases: the right letter is always 'C'."""

    name: str = "whole"
    skills: frozenset[str] = frozenset(("whole",))
    identity: Mapping[str, JsonValue] = field(default_factory=dict)

    async def reading(self, case: Case, pictures: Pictures, *, seed: int) -> Reading:
        """A letter, and the seed that it was drawn with."""
        return Reading(case_id=case.id, reader=self.name, choice="C", rationale=str(seed))


@dataclass
class WithFiles(WholeReader):
    """A whole reader that hands in files of its own: the masks of another place."""

    where: Path = Path()

    async def reading(self, case: Case, pictures: Pictures, *, seed: int) -> Reading:
        """One mask for each query, all in one file."""
        findings = tuple(
            Finding(text=query.text, query=query.id, regions=(mask,))
            for number, query in enumerate(case.queries)
            for mask in [Mask(picture="ct", file="mine.nii.gz", channel=number, channels=len(case.queries))]
        )
        return Reading(case_id=case.id, reader=self.name, findings=findings)

    def source(self, file: str) -> Path:
        """Where its files are."""
        return self.where / file


class Drawer(Reader):
    """A computing reader: draws a corner, and dies on the cases it is told to."""

    name = "drawer"
    skills = frozenset(("masks",))
    computes = True

    def __init__(self, arguments: Mapping[str, str]) -> None:
        """`dies` names a case; `once` a file that remembers a first death."""
        self.arguments = dict(arguments)
        self.identity = {"corner": 2}

    def compute(self, request: Request) -> DrawnMask:
        """The mask of one sentence."""
        once = self.arguments.get("once")
        if request.case.id == self.arguments.get("dies") and not (once and Path(once).exists()):
            if once:
                Path(once).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        shape = request.pictures.geometry(request.case.pictures[0]).shape
        mask = np.zeros(shape, bool)
        mask[:2, :2, :2] = True
        here = multiprocessing.current_process().name
        return DrawnMask(mask, note="at home" if here == "MainProcess" else "in a worker")


def make_drawer(arguments: Mapping[str, str], *, place: ReleaseRef | None = None) -> Drawer:
    """The computing reader."""
    assert place is not None
    return Drawer(arguments)


class Stubborn(Echo):
    """Does not stop when it is told to."""

    async def read(self, request: Request) -> Reply:
        """Answer, and shrug off being cancelled."""
        try:
            return await super().read(request)
        except asyncio.CancelledError:
            await asyncio.sleep(3600)
            raise


def make_echo(arguments: Mapping[str, str], *, place: ReleaseRef | None = None) -> Echo:
    """The plain reader, with a number of answers, a case that it fails on, or a strong will."""
    failing = arguments.get("fails")

    def answer(request: Request) -> str:
        if request.case.id == failing:
            raise ReaderError("it would not", remedy="ask nicely")
        return ANSWER

    kind = Stubborn if "stubborn" in arguments else Echo
    answers = int(arguments["answers"]) if "answers" in arguments else None
    return kind(answer, delay=float(arguments.get("delay", 0)), answers=answers)


async def draw_all(case: Case, session: Session) -> Reading:
    """A mask for every sentence."""
    found = [session.finding_for(query, await session.draw(query)) for query in case.queries]
    return session.reading(findings=tuple(found))


async def thrice(case: Case, session: Session) -> Reading:
    """Three questions, one after the other: a kill between them must not lose the answers."""
    said = []
    for turn in ("first", "second", "third"):
        values = {"history": f"{turn} look: {case.history}", "options": str(case.options)}
        said.append(await session.ask("choose", values, ParsedReply[str], task="choose"))
    return session.reading(choice=json.loads(said[-1])["answer"], rationale=" ".join(said))
