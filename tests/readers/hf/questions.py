"""Questions to the reader `hf`, and ways to ask them."""

from __future__ import annotations

import asyncio
import hashlib
import io
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from PIL import Image

from overread.core import Message, Pictures, Reply, Request, SentImage, Whole
from overread.readers.hf.reader import HFReader, make
from tests.readers.openai.questions import CASE

T = TypeVar("T")
TOKENS = 12


def png(seed: int, width: int, height: int) -> bytes:
    """A picture of a few large patches, which even a tiny model can tell from others."""
    patches = np.random.default_rng(seed).integers(0, 255, (4, 4), dtype=np.uint8)
    stream = io.BytesIO()
    Image.fromarray(patches).resize((width, height), Image.Resampling.NEAREST).save(stream, "PNG")
    return stream.getvalue()


def question(
    number: int = 0, *, pictures: int = 1, words: str = "which lobe?", system: str = "", seed: int = 0
) -> Request:
    data = [png(100 * number + n, 20 + 7 * n + number, 30 + 3 * n) for n in range(pictures)]
    return asked_of(data, words, system=system, seed=seed)


def asked_of(data: Sequence[bytes], words: str, *, system: str = "", seed: int = 0) -> Request:
    shown = [
        SentImage(
            region=Whole(picture=f"image-{number}"),
            media="image/png",
            sha256=hashlib.sha256(one).hexdigest(),
            width=1,
            height=1,
        )
        for number, one in enumerate(data, 1)
    ]
    messages = [Message(role="user", parts=(*shown, words))]
    if system:
        messages.insert(0, Message(role="system", parts=(system,)))
    return Request(
        task="choose",
        case=CASE,
        pictures=cast(Pictures, None),
        messages=tuple(messages),
        images={part.sha256: one for part, one in zip(shown, data, strict=True)},
        seed=seed,
    )


def several(**more: Any) -> list[Request]:
    """Questions of different lengths, with no picture up to three."""
    return [
        question(n, pictures=n % 4, words="the left lung nodule " * (1 + 3 * n), **more) for n in range(6)
    ]


def reader(folder: Path, **arguments: object) -> HFReader:
    told = {"max_new_tokens": TOKENS, "device": "cpu", **arguments}
    made = make({"model": str(folder), **{name: str(value) for name, value in told.items()}})
    assert isinstance(made, HFReader)
    return made


def finished(made: HFReader, work: Awaitable[T]) -> T:
    async def all_of() -> T:
        try:
            return await work
        finally:
            await made.close()

    return asyncio.run(all_of())


def together(made: HFReader, questions: Sequence[Request]) -> list[Any]:
    async def all_of() -> list[Any]:
        waiting = (made.read(one) for one in questions)
        return await asyncio.gather(*waiting, return_exceptions=True)

    return finished(made, all_of())


def one_by_one(made: HFReader, questions: Sequence[Request]) -> list[Reply]:
    async def all_of() -> list[Reply]:
        return [await made.read(one) for one in questions]

    return finished(made, all_of())


def answer(made: HFReader, request: Request | None = None) -> Reply:
    return one_by_one(made, [request or question()])[0]
