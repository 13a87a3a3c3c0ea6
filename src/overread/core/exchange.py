"""What was said and shown to a reader, and what it answered: the entries of the log."""

from __future__ import annotations

from typing import Literal

from overread.core.record import Record
from overread.core.regions import Region


class SentImage(Record):
    """One image as it was sent to a reader; the bytes are stored elsewhere, once, by their hash."""

    region: Region
    """Which part of which picture of the case it shows."""
    media: str
    """'image/png' or 'image/jpeg'."""
    sha256: str
    """Hash of the bytes that are sent."""
    width: int
    """Pixels across."""
    height: int
    """Pixels down."""


class Message(Record):
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    """Who speaks."""
    parts: tuple[str | SentImage, ...]
    """Words and pictures in the order they are given."""


class Usage(Record):
    """What one reply, or many together, cost."""

    input_tokens: int = 0
    """Tokens read, pictures included, as the endpoint counts them."""
    output_tokens: int = 0
    """Tokens written, reasoning included."""
    pictures: int = 0
    """Pictures sent."""
    calls: int = 0
    """Times the reader was really asked; 0 where the reply came from the cache."""
    seconds: float = 0.0
    """Time that the reader took."""
    cost: float | None = None
    """Price in the currency of the price list, where one is given."""

    def __add__(self, other: Usage) -> Usage:
        costs = [usage.cost for usage in (self, other) if usage.cost is not None]
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            pictures=self.pictures + other.pictures,
            calls=self.calls + other.calls,
            seconds=self.seconds + other.seconds,
            cost=sum(costs) if costs else None,
        )


class Reply(Record):
    """What a reader answered, before anybody made sense of it."""

    text: str = ""
    """The words, exactly as they came."""
    reasoning: str | None = None
    """What the model thought aloud beside its answer, where the endpoint tells."""
    finish: Literal["stop", "length", "refused", "other"] = "stop"
    """Why it ended: it was done, it was cut off, it would not answer."""
    model: str = ""
    """The model as the endpoint names it."""
    usage: Usage = Usage()
    """What it cost."""
    asked_without: tuple[str, ...] | None = None
    """What of the question the endpoint refused, so that it was asked without: 'seed', 'JSON schema'."""


class Exchange(Record):
    """One question and its answer, as the log keeps them."""

    task: str
    """What was asked for."""
    prompt: str = ""
    """Name and digest of the prompt."""
    messages: tuple[Message, ...] = ()
    """What was said and shown."""
    reply: Reply | None = None
    """What was answered; absent where the reader drew a mask."""
    problem: str | None = None
    """Why the answer could not be used as it was: then the next exchange asks again."""
    repaired: str | None = None
    """What had to be mended before the answer could be read."""
    from_cache: bool = False
    """Whether the reply was known already."""
