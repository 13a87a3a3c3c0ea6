"""A model server that follows a script, and opens every picture it is sent.

A script gives the answer to each question. It is handed what the question says and shows, pixels
and all, as they came over the socket; a failing check in it fails the test.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import io
import json
import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from overread.core import Reading
from overread.runs.engine import RunOutcome, RunPlan, run_async
from overread.runs.store import last_readings
from overread.session import SessionSettings
from tests.readers.openai.misbehaving_server import Seen, says, serving


@dataclass(frozen=True)
class Asked:
    """One question as the server got it."""

    words: str
    """All that it says, every message of it."""
    pictures: tuple[NDArray[np.uint8], ...]
    """What it shows, in the order in which it came."""
    schema: dict[str, Any] | None
    """The JSON schema that the answer is held to."""
    turns: int
    """Messages beside the system's: 1 for a question, 3 where it is asked again."""

    @property
    def last(self) -> str:
        """What was said last."""
        return self.words.rsplit("\n\f\n", 1)[-1]


Script = Callable[[Asked], str]


@dataclass
class Record:
    """What a run over a scripted server left."""

    asked: list[Asked]
    outcome: RunOutcome
    readings: dict[str, Reading]
    folder: Path

    @property
    def reading(self) -> Reading:
        """The only reading."""
        (reading,) = self.readings.values()
        return reading


def in_turn(*answers: str) -> Script:
    """Gives these answers one after the other, the last of them to all that follow."""
    left = list(answers)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


def scripted(benchmark: str, root: Path, out: Path, script: Script, workflow: str, **more: Any) -> Record:
    """A run of the reader `openai` against a server that follows the script, one case at a time."""
    settings = SessionSettings(**more.pop("settings", {}))
    arguments: dict[str, str] = more.pop("arguments", {})
    asked: list[Asked] = []
    wrong: list[BaseException] = []

    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        question = opened(seen.told)
        asked.append(question)
        try:
            text = script(question)
        except BaseException as error:
            wrong.append(error)
            raise
        await says(text)(seen, writer)

    async def reading() -> RunOutcome:
        async with serving(behave) as server:
            plan = RunPlan(
                benchmark,
                root,
                "openai",
                arguments={"model": "m", "base_url": server.url, **arguments},
                workflow=workflow,
                settings=settings,
                use_cache=False,
                concurrency=1,
                max_retries=0,
                **more,
            )
            return await run_async(plan, out)

    outcome = asyncio.run(reading())
    if wrong:
        raise wrong[0]
    found = {case: one for (case, _), one in sorted(last_readings(out).items())}
    return Record(asked, outcome, found, out)


@contextlib.contextmanager
def served(script: Script) -> Iterator[tuple[str, list[Asked]]]:
    """A server that follows the script in a thread of its own, for commands that run a loop
    themselves; its address, and what it was asked.
    """
    asked: list[Asked] = []
    ready: queue.Queue[str] = queue.Queue()
    loop, over = asyncio.new_event_loop(), asyncio.Event()

    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        asked.append(opened(seen.told))
        await says(script(asked[-1]))(seen, writer)

    async def serve() -> None:
        async with serving(behave) as server:
            ready.put(server.url)
            await over.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    try:
        yield ready.get(timeout=60), asked
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(timeout=60)
        loop.close()


def opened(told: dict[str, Any]) -> Asked:
    """A request taken apart."""
    texts: list[str] = []
    pictures: list[NDArray[np.uint8]] = []
    for message in told["messages"]:
        content: Any = message["content"]
        plain: list[Any] = [{"type": "text", "text": content}]
        for part in plain if isinstance(content, str) else content:
            if part["type"] == "text":
                texts.append(part["text"])
            else:
                pictures.append(pixels_of(part["image_url"]["url"]))
    form = told.get("response_format") or {}
    schema = form.get("json_schema", {}).get("schema")
    turns = sum(message["role"] != "system" for message in told["messages"])
    return Asked("\n\f\n".join(texts), tuple(pictures), schema, turns)


def pixels_of(uri: str) -> NDArray[np.uint8]:
    """The pixels of a picture as it was sent."""
    data = base64.b64decode(uri.partition("base64,")[2])
    with Pillow.open(io.BytesIO(data)) as image:
        return np.asarray(image)


def grey(picture: NDArray[Any]) -> NDArray[Any]:
    """A picture with one number a pixel."""
    return picture[..., 0] if picture.ndim == 3 else picture


def same_pixels(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Whether two pictures are the same, whether they are grey or grey in three colours."""
    return np.array_equal(grey(one), grey(other))


def js(**said: Any) -> str:
    """An answer in JSON."""
    return json.dumps(said)


def kinds(reading: Reading) -> list[str]:
    """The kinds of a reading's steps."""
    assert reading.trace is not None
    return [step.kind for step in reading.trace.steps]


def shown_regions(reading: Reading) -> list[list[Any]]:
    """For each exchange the regions that it showed."""
    return [
        [p.region for m in one.messages for p in m.parts if not isinstance(p, str)]
        for one in reading.exchanges
    ]
