"""Questions to the reader `openai`, and servers to ask them of."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from typing import Any, cast

import pytest

from overread.core import Case, Image, Message, Option, Pictures, Reader, Reply, Request, SentImage, Whole
from overread.errors import ReaderError
from overread.readers.openai.reader import make
from tests.readers.openai.misbehaving_server import Behaviour, Server, serving

KEY = "sk-canary-9f8e7d6c5b4a39281706"
CASE = Case(
    id="CANARY-case-id",
    benchmark="medthinkvqa",
    split="test",
    patient="CANARY-patient",
    pictures=(Image(name="image-1", file="images/CANARY-file/glioma.png"),),
    history="Cough.",
    options=(Option(letter="A", text="Sarcoidosis"),),
)
PIXELS = (b"\x89PNG first", b"\x89PNG second")
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}


def shown(data: bytes) -> SentImage:
    digest = hashlib.sha256(data).hexdigest()
    return SentImage(region=Whole(picture="image-1"), media="image/png", sha256=digest, width=2, height=1)


def request(*, schema: Mapping[str, Any] | None = None, sample: int = 0) -> Request:
    parts = (shown(PIXELS[0]), "Between them.", shown(PIXELS[1]), "What is it?")
    return Request(
        task="choose",
        case=CASE,
        pictures=cast(Pictures, None),
        messages=(
            Message(role="system", parts=("You are a radiologist.",)),
            Message(role="user", parts=parts),
        ),
        images={hashlib.sha256(data).hexdigest(): data for data in PIXELS},
        schema=schema,
        sample=sample,
    )


async def asked(reader: Reader, question: Request | None = None) -> Reply:
    try:
        reply = await reader.read(question or request())
    finally:
        await reader.close()
    assert isinstance(reply, Reply)
    return reply


def answer(*behaviours: Behaviour, **arguments: str) -> tuple[Reply, Server]:
    """The reply of a reader with these arguments to a server that behaves like this."""

    async def talk() -> tuple[Reply, Server]:
        async with serving(*behaviours) as server:
            reader = make({"model": "local-vl", "base_url": server.url, **arguments})
            return await asked(reader, request(schema=SCHEMA)), server

    return asyncio.run(talk())


def failure(*behaviours: Behaviour, **arguments: str) -> ReaderError:
    """The error that a reader ends in."""
    with pytest.raises(ReaderError) as caught:
        answer(*behaviours, **arguments)
    return caught.value


def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take keys and addresses out of the environment."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "AZURE_OPENAI_API_KEY", "OPENAI_ADMIN_KEY"):
        monkeypatch.delenv(name, raising=False)
