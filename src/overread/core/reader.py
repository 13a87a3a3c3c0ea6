"""Asking a reader: what it is shown and told, and what it answers.

A reader that models words gets rendered messages and pictures. A reader that computes (a segmenter,
a classical algorithm) takes the case itself, as far as a reader may see it. Both stand in one
request, and each takes what it can use.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from overread import catalog
from overread.core.benchmark import Pictures
from overread.core.box_convention import SHARES, BoxConvention
from overread.core.case import Case, Query
from overread.core.exchange import Message, Reply
from overread.core.regions import Box
from overread.core.release_ref import ReleaseRef
from overread.core.trace import Reading
from overread.errors import NotThere, ReaderError, UsageError

Masks = Sequence[Any]
"""Masks in the CT's own order, or None: first those of the queries, then those of other steps."""


@dataclass(frozen=True)
class TracedRegion:
    """What the reference trace says of one region, all its looks at it together."""

    region: str
    """The region in the words of the trace; "" where it has no name."""
    words: str
    """What is said of it; nothing that was said of a region before."""
    looks: tuple[TracedLook, ...] = ()
    """Where it was looked at, each box once."""


@dataclass(frozen=True)
class TracedLook:
    """One place that the reference trace looks at."""

    box: Box
    """In pixels of the picture as it is stored."""
    cutout: Callable[[], bytes] | None = None
    """Reads the release's own picture of it, where it has one."""


@dataclass(frozen=True)
class Hints:
    """What of the truth a run reveals on purpose, because its settings say so; else empty."""

    captions: Mapping[str, str] = field(default_factory=dict)
    """Picture → the expert's words on it."""
    summary: str | None = None
    """The expert's summary of all pictures."""
    trace: tuple[TracedRegion, ...] = ()
    """What the reference trace looks at and says before its report, region by region."""


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


class Reader:
    """Who reads: the base of every reader. One object serves all cases of a run, many at once.

    A reader sets `name`, `skills` and `identity`, and writes one of four methods: `read` answers
    one question, `reading` reads a whole case; `compute` and `compute_reading` are the same for a
    reader that keeps a core or a card busy (`computes`).
    """

    name: str
    """Stands in every reading; no default."""
    skills: frozenset[str]
    """'words' (answers messages with text), 'pictures' (sees the images in them), 'masks' (returns
    masks), 'whole' (returns the reading of a whole case, without a workflow); no default.
    """
    identity: Mapping[str, JsonValue]
    """Everything that changes its answers (model, endpoint, parameters): kept with the run and in
    the key of the cache. Never a key or a password. No default.
    """
    cached: bool = False
    """Whether a reply is worth keeping: yes for models, no for what is computed in a moment."""
    seeded: bool = False
    """Whether it hands `request.seed` to its model, so that the seed belongs in the cache key."""
    at_once: int | None = None
    """Most questions, or whole cases, that it takes at once; None for no limit of its own."""
    interactive: bool = False
    """Whether it talks to the terminal, so that nothing else may write there."""
    computes: bool = False
    """Whether it keeps a core or a card busy: then the run calls `compute` or `compute_reading` in
    worker processes.
    """
    ignores_pictures: bool = False
    """Whether it hands in what is written already: an audit or an ablation would change nothing."""
    boxes: BoxConvention = SHARES
    """In which numbers it gives boxes; questions are worded for it."""
    problems: Sequence[str] = ()
    """What is wrong with what it hands in, one sentence each; a run notes the first few."""
    remarks: Sequence[str] = ()
    """What it learnt while it was asked, one sentence each; a run notes them at its end."""

    async def read(self, request: Request) -> Reply | DrawnMask:
        """Answer one question; raises `TryAgain` for what may pass, `ReaderError` for the rest."""
        return await asyncio.to_thread(self.compute, request)

    def compute(self, request: Request) -> Reply | DrawnMask:
        """Answer one question, here and now; the same errors as `read`."""
        raise ReaderError(
            f"the reader '{self.name}' reads whole cases and cannot be used with a workflow",
            remedy="run it without a workflow",
        )

    async def reading(self, case: Case, pictures: Pictures, *, seed: int) -> Reading:
        """The reading of one whole case; `source` gives the files that it names."""
        raise ReaderError(f"the reader '{self.name}' answers questions and needs a workflow")

    def compute_reading(self, case: Case, pictures: Pictures, *, seed: int) -> tuple[Reading, Masks]:
        """The reading of one whole case, here and now, and its masks.

        The first masks are those of the case's queries, in their order; more may follow, for
        regions of steps. A `Mask` region of the reading names one by `channel`, its place in that
        list; the file and the number of channels are filled in when the masks are written.
        """
        raise ReaderError(f"the reader '{self.name}' answers questions and needs a workflow")

    async def read_whole(self, case: Case, pictures: Pictures, *, seed: int) -> tuple[Reading, Masks | None]:
        """What a run calls for a whole case: the reading, and masks where the run is to write them.

        A computing reader that was handed in ready-made, and so cannot be made again in a worker,
        computes in a thread here.
        """
        if self.computes:
            return await asyncio.to_thread(self.compute_reading, case, pictures, seed=seed)
        return await self.reading(case, pictures, seed=seed), None

    def source(self, file: str) -> Path | bytes:
        """The bytes of a mask or crop that a whole reading names, or the path to them.

        The run copies them case by case, so that a reader never holds the masks of all cases.
        """
        raise NotThere(f"there is no file {file}")

    async def close(self) -> None:
        """Let go of connections and memory; there are none unless a reader says so."""
        return


class WrappedReader(Reader):
    """Another reader, with something changed by who inherits; everything else is passed on."""

    def __init__(self, reader: Reader) -> None:
        """`reader` is the one that is asked."""
        self._reader = reader
        for attribute in Reader.__annotations__:
            setattr(self, attribute, getattr(reader, attribute))

    async def read(self, request: Request) -> Reply | DrawnMask:
        """Answer one question."""
        return await self._reader.read(request)

    async def read_whole(self, case: Case, pictures: Pictures, *, seed: int) -> tuple[Reading, Masks | None]:
        """Read a whole case."""
        return await self._reader.read_whole(case, pictures, seed=seed)

    def source(self, file: str) -> Path | bytes:
        """A file that a reading names."""
        return self._reader.source(file)

    async def close(self) -> None:
        """Close the reader."""
        await self._reader.close()


def make_reader(reader: str | Reader, arguments: Mapping[str, str], place: ReleaseRef | None) -> Reader:
    """A reader by its name in the catalog, or the one that was made already."""
    if isinstance(reader, str):
        reader = catalog.find("readers", reader)(dict(arguments), place=place)
    if not isinstance(reader, Reader):
        raise UsageError(
            f"the reader {type(reader).__name__} does not inherit overread.core.Reader",
            remedy=f"write `class {type(reader).__name__}(Reader)`, as docs/runs.md shows",
        )
    return reader


Ask = Callable[[Request], Awaitable[Reply | DrawnMask]]
"""Asks the reader on behalf of a session: with the cache, the limits and the retries of a run."""
