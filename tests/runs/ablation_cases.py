"""Cases whose pictures can be told apart by a look, and models that look or do not."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image as Pillow
from pydantic import JsonValue

from overread.core import Case, Finding, Pictures, Reader, Reading, ReleaseRef, Whole
from overread.prompts.replies import text_parser
from overread.runs.engine import RunOutcome, RunPlan, run_async
from overread.session import Session
from tests.jsonl_rows import read_rows, write_rows
from tests.readers.openai.misbehaving_server import Behaviour, Seen, Server, completion, packed, serving
from tests.runs.medthinkvqa_cases import write_cases


def pictured(folder: Path, cases: int = 4, pictures: int = 5) -> Path:
    """A release with pictures: number p of case c is all of the grey 10 c + p.

    The right option is B in odd cases and D in even ones. Captions and summaries name their case.
    """
    write_cases(folder, cases, pictures=pictures)
    rows = read_rows(folder / "test.jsonl")
    for number, row in enumerate(rows, 1):
        row["correct_answer"] = "B" if number % 2 else "D"
        row["correct_answer_text"] = row["options"][row["correct_answer"]]
        row["IMAGING_FINDINGS"] = f"All pictures of case {number} together show it."
        for slot in range(1, pictures + 1):
            row[f"image_{slot:02d}_caption"] = f"Expert on picture {slot} of case {number}."
            path = folder / row[f"image_{slot:02d}_path"]
            path.parent.mkdir(parents=True, exist_ok=True)
            Pillow.fromarray(np.full((24, 32), 10 * number + slot, np.uint8)).save(path)
    write_rows(folder / "test.jsonl", rows)
    return folder


# ---- what a server was sent ----------------------------------------------------------------


@dataclass
class Sent:
    """One request as the server saw it."""

    body: dict[str, Any]

    @property
    def parts(self) -> list[dict[str, Any]]:
        """Everything in all messages, in its order."""
        found: list[dict[str, Any]] = []
        for message in self.body["messages"]:
            content = message["content"]
            found += [{"type": "text", "text": content}] if isinstance(content, str) else content
        return found

    @property
    def urls(self) -> list[str]:
        """The pictures as they were sent."""
        return [part["image_url"]["url"] for part in self.parts if part["type"] == "image_url"]

    @property
    def greys(self) -> list[int]:
        """The pictures as they were seen: the grey of each."""
        found = []
        for url in self.urls:
            data = base64.b64decode(url.partition("base64,")[2])
            with Pillow.open(io.BytesIO(data)) as image:
                pixels = np.asarray(image.convert("L"))
            assert pixels.min() == pixels.max()
            found.append(int(pixels[0, 0]))
        return found

    @property
    def text(self) -> str:
        """All words."""
        return "\n".join(part["text"] for part in self.parts if part["type"] == "text")

    @property
    def rest(self) -> str:
        """Everything but the pictures, byte for byte; words alone may come as they are."""
        kept = dict(self.body)
        kept["messages"] = [
            {"role": message["role"], "content": _words(message["content"])}
            for message in self.body["messages"]
        ]
        return json.dumps(kept)

    @property
    def case(self) -> int:
        """Whose case it is, by its history or its options."""
        found = re.search(r"Patient (\d+) came|Diagnosis (\d+) |of case (\d+)", self.text)
        assert found
        return int(next(filter(None, found.groups())))


def _words(content: str | list[dict[str, Any]]) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in content if part["type"] != "image_url"]


def answers(choose: Any) -> Behaviour:
    """A model whose answer is what `choose` makes of what it was sent."""

    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        said = json.dumps({"answer": choose(Sent(seen.told)), "explanation": "So it is."})
        body = completion({"role": "assistant", "content": said})
        writer.write(packed(200, json.dumps(body).encode()))

    return behave


def served(root: Path, out: Path, choose: Any, **more: Any) -> tuple[RunOutcome, list[Sent]]:
    """A run with the real SDK against a scripted model, and all that the model was sent."""

    async def go() -> tuple[RunOutcome, Server]:
        async with serving(answers(choose)) as server:
            arguments = {"base_url": server.url, "model": "m", **more.pop("arguments", {})}
            plan = RunPlan("medthinkvqa", root, "openai", arguments, use_cache=False, **more)
            return await run_async(plan, out), server

    outcome, server = asyncio.run(go())
    return outcome, [Sent(seen.told) for seen in server.seen]


def by_case(sent: list[Sent]) -> dict[int, Sent]:
    """Case → its only request."""
    found = {one.case: one for one in sent}
    assert len(found) == len(sent)
    return dict(sorted(found.items()))


# ---- readers and workflows -----------------------------------------------------------------


@dataclass
class Counting(Reader):
    """Reads whole cases, and is right where it is shown at least so many pictures."""

    enough: int = 3
    wrong: str = "A"
    name: str = "counting"
    skills: frozenset[str] = frozenset(("whole",))
    identity: Mapping[str, JsonValue] = field(default_factory=dict)

    async def reading(self, case: Case, pictures: Pictures, *, seed: int) -> Reading:
        """The right option's letter, as it is shown, or a wrong one."""
        number = int(case.id.removeprefix("case"))
        right = f"Diagnosis {number} {'B' if number % 2 else 'D'}"
        letter = next(option.letter for option in case.options if option.text == right)
        seen = len(case.pictures) >= self.enough
        return Reading(case_id=case.id, reader=self.name, choice=letter if seen else self.wrong)


def make_counting(arguments: Mapping[str, str], *, place: ReleaseRef | None = None) -> Counting:
    """The reader that counts pictures; `enough` says how many it needs."""
    from overread.catalog import unknown_name

    for name in arguments:
        if name not in ("enough", "allow_remote"):
            raise unknown_name("reader argument", name, ("enough",))
    enough = int(arguments.get("enough", "3"))
    return Counting(enough, identity={"reader": "counting", "enough": enough})


@dataclass
class Noting(Reader):
    """Reads whole cases: says much, little or nothing of each picture."""

    says: str = "much"
    name: str = "noting"
    skills: frozenset[str] = frozenset(("whole",))
    identity: Mapping[str, JsonValue] = field(default_factory=dict)

    async def reading(self, case: Case, pictures: Pictures, *, seed: int) -> Reading:
        """The letter A, and words of each picture."""
        words = {"much": "Expert on a picture of a case.", "little": "A picture."}.get(self.says)
        findings = tuple(
            Finding(text=words, regions=(Whole(picture=picture.name),)) for picture in case.pictures if words
        )
        return Reading(case_id=case.id, reader=self.name, choice="A", findings=findings or None)


def make_noting(arguments: Mapping[str, str], *, place: ReleaseRef | None = None) -> Noting:
    """The reader that says something of each picture; `says` is how much."""
    says = arguments.get("says", "much")
    return Noting(says, identity={"reader": "noting", "says": says})


async def telling(case: Case, session: Session) -> Reading:
    """One question, with everything in it that is revealed."""
    told = [f"{name}: {text}" for name, text in session.hints.captions.items()]
    told += [session.hints.summary] if session.hints.summary else []
    values = {"history": case.history or "", "options": "\n".join(["options", *told])}
    said = await session.ask("choose", values, text_parser(), task="choose", show=await session.show_async())
    return session.reading(choice=json.loads(said)["answer"])
