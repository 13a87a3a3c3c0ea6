"""What was said and shown to a reader in one exchange, the pictures as they were sent."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Hashable, Iterator
from typing import Literal

from overread.core import Case, Exchange, Pictures, Record, Reply, Shown, Slices
from overread.errors import OverreadError, PictureError, UsageError
from overread.pixels.encode import Sent
from overread.pixels.montages import closer_bytes
from overread.pixels.showing import shown_bytes
from overread.runs.spec import RunSpec
from overread.session import SessionSettings
from overread.site.traces.cutouts import Kept
from overread.site.traces.steps import told

_sent: Kept[tuple[Sent, bool]] = Kept(64)


class PictureSent(Record):
    """A picture that a question showed."""

    number: int
    """Its place among the pictures of the exchange: the one to ask for it by."""
    picture: str
    """Name of the picture within the case."""
    told: str
    """Which part of it."""
    width: int
    """Pixels across, as it was sent."""
    height: int
    same: bool
    """Whether it can be drawn again byte for byte as it was sent."""
    problem: str | None
    """Why it cannot be shown at all."""


class PartTold(Record):
    """Words or a picture of a message; one of both."""

    text: str | None
    picture: PictureSent | None


class MessageTold(Record):
    """One turn of the conversation."""

    role: Literal["system", "user", "assistant"]
    parts: list[PartTold]


class ExchangeTold(Record):
    """One question and its answer, as the log has them."""

    number: int
    count: int
    """How many exchanges the reading has."""
    task: str
    """What was asked for."""
    prompt: str
    """Name and digest of the prompt."""
    messages: list[MessageTold]
    reply: Reply | None
    """The answer as it came; absent where the reader drew a mask."""
    problem: str | None
    """Why the answer could not be used."""
    repaired: str | None
    """What had to be mended before it could be read."""
    from_cache: bool
    steps: list[int]
    """Indices of the steps that came of it."""


Drawn = Callable[[Shown], tuple[Sent, bool]]
"""A picture drawn again, and whether it is the same byte for byte."""


def exchange_told(
    exchange: Exchange, *, number: int, count: int, steps: list[int], draw: Drawn
) -> ExchangeTold:
    """One exchange for the page; pictures by their number."""
    messages = []
    pictures = 0
    for message in exchange.messages:
        parts = []
        for part in message.parts:
            if isinstance(part, str):
                parts.append(PartTold(text=part, picture=None))
                continue
            parts.append(PartTold(text=None, picture=_picture(part, pictures, draw)))
            pictures += 1
        messages.append(MessageTold(role=message.role, parts=parts))
    return ExchangeTold(
        number=number,
        count=count,
        task=exchange.task,
        prompt=exchange.prompt,
        messages=messages,
        reply=exchange.reply,
        problem=exchange.problem,
        repaired=exchange.repaired,
        from_cache=exchange.from_cache,
        steps=steps,
    )


def _picture(part: Shown, number: int, draw: Drawn) -> PictureSent:
    same, problem = False, None
    try:
        _, same = draw(part)
    except OverreadError as error:
        problem = error.what
    return PictureSent(
        number=number,
        picture=part.region.picture[:200],
        told=told(part.region),
        width=part.width,
        height=part.height,
        same=same,
        problem=problem,
    )


def shown_in(exchange: Exchange) -> list[Shown]:
    """The pictures of an exchange, in their order."""
    return [p for m in exchange.messages for p in m.parts if isinstance(p, Shown)]


def as_sent(
    shown: Shown, case: Case, pictures: Pictures, spec: RunSpec, key: Hashable
) -> tuple[Sent, bool]:
    """A picture drawn again as the run drew it, and whether it is the same byte for byte.

    The log keeps only the hash of what was sent. The same part of the same picture always gives the
    same bytes; where none of the ways to show it does, the dataset or the drawing has changed.
    """
    return _sent.get((key, shown), lambda: _drawn(shown, case, pictures, spec))


def _drawn(shown: Shown, case: Case, pictures: Pictures, spec: RunSpec) -> tuple[Sent, bool]:
    first: Sent | None = None
    problem: OverreadError | None = None
    for draw in _ways(shown, case, pictures, _settings(spec)):
        try:
            made = draw()
        except OverreadError as error:
            problem = error
            continue
        if hashlib.sha256(made[0]).hexdigest() == shown.sha256:
            return made, True
        first = first or made
    if first is None:
        raise PictureError(problem.what if problem else "it cannot be drawn again")
    return first, False


def _ways(
    shown: Shown, case: Case, pictures: Pictures, settings: SessionSettings
) -> Iterator[Callable[[], Sent]]:
    picture, region = case.picture(shown.region.picture), shown.region

    def plain() -> Sent:
        return shown_bytes(
            pictures,
            picture,
            region,
            longest=settings.longest,
            media=settings.media,
            windows=settings.windows,
            count=settings.slices,
        )

    yield plain
    if isinstance(region, Slices):
        yield lambda: closer_bytes(
            pictures,
            picture,
            region,
            part=None,
            longest=settings.longest,
            media=settings.media,
            windows=settings.windows,
            count=max(1, settings.slices // 2),
        )


def _settings(spec: RunSpec) -> SessionSettings:
    """How the run showed pictures; settings that this version does not know change nothing."""
    known = {field.name for field in dataclasses.fields(SessionSettings)}
    own = {k: v for k, v in spec.workflow.settings.items() if k in known}
    plain = {k: tuple(v) if isinstance(v, list) else v for k, v in own.items()}
    try:
        return SessionSettings(**plain)  # type: ignore[arg-type]
    except (UsageError, TypeError):
        return SessionSettings()
