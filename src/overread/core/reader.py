"""Asking a reader: what it is shown and told, and what it answers.

A reader that models words gets rendered messages and pictures. A reader that computes (a segmenter,
a classical algorithm) takes the case itself, as far as a reader may see it. Both stand in one
request, and each takes what it can use.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic import JsonValue

from overread.core.benchmark import Pictures
from overread.core.case import Case, Query
from overread.core.exchange import Message, Reply
from overread.core.trace import Reading


@dataclass(frozen=True)
class Hints:
    """What of the truth a run reveals on purpose, because its settings say so; else empty."""

    captions: Mapping[str, str] = field(default_factory=dict)
    """Picture → the expert's words on it."""
    summary: str | None = None
    """The expert's summary of all pictures."""


@dataclass(frozen=True)
class Request:
    """One question to a reader."""

    task: str
    """What is asked for: 'choose', 'ground', 'report', or what a judge is to do."""
    case: Case
    """What a reader may see of the case."""
    pictures: Pictures
    """Opens the case's pictures."""
    messages: tuple[Message, ...] = ()
    """The question in words and pictures."""
    images: Mapping[str, bytes] = field(default_factory=dict)
    """Hash → the bytes of each picture that the messages show."""
    schema: Mapping[str, JsonValue] | None = None
    """JSON schema of the answer, where it is to be JSON. Endpoints are told; nobody trusts it."""
    query: Query | None = None
    """The sentence to be found, where one is asked about."""
    sample: int = 0
    """Which of several answers to the same question this is to be."""
    seed: int = 0
    """Seed for readers that use random numbers, from (run seed, case, sample); the same in every
    process.
    """


@dataclass(frozen=True)
class DrawnMask:
    """A mask that a computing reader drew: voxels in the CT's own order."""

    mask: Any
    """A boolean (H, W, D) array."""
    note: str = ""
    """What led to it, in words."""


class Reader(Protocol):
    """Who reads. One object serves all cases of a run, many at once."""

    name: str
    skills: frozenset[str]
    """'words' (answers messages with text), 'pictures' (sees the images in them), 'masks' (returns
    masks), 'whole' (returns the reading of a whole case, without a workflow).
    """
    identity: Mapping[str, JsonValue]
    """Everything that changes its answers (model, endpoint, parameters): kept with the run and in
    the key of the cache. Never a key or a password."""
    cached: bool
    """Whether a reply is worth keeping: yes for models, no for what is computed in a moment."""

    async def read(self, request: Request) -> Reply | DrawnMask:
        """Answer one question; raises `TryAgain` for what may pass, `ReaderError` for the rest."""

    async def close(self) -> None:
        """Let go of connections and memory."""


class WholeCaseReader(Reader, Protocol):
    """A reader that returns the reading of a whole case without a workflow: bounds, replayed
    submissions.
    """

    async def reading(self, case: Case, pictures: Pictures, *, seed: int) -> Reading:
        """The reading of one case."""


Ask = Callable[[Request], Awaitable[Reply | DrawnMask]]
"""Asks the reader on behalf of a session: with the cache, the limits and the retries of a run."""
