"""What was said and shown to a reader in one exchange, the pictures as they were sent."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Hashable, Iterator
from typing import Literal

from overread.core import Case, Exchange, Pictures, Record, Reply, SentImage, Slices
from overread.errors import OverreadError, PictureError, UsageError
from overread.pixels.encode import EncodedImage
from overread.pixels.montages import encode_closeup
from overread.pixels.sent_images import encode_region
from overread.runs.spec import RunSpec
from overread.session import SessionSettings
from overread.site.lru_cache import LruCache
from overread.site.traces.steps import describe_region

_cache: LruCache[tuple[EncodedImage, bool]] = LruCache(64)


# Apart from core's SentImage: its region may name the file of a mask.
class ExchangePicture(Record):
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


class ExchangePart(Record):
    """Words or a picture of a message; one of both."""

    text: str | None
    picture: ExchangePicture | None


class ExchangeMessage(Record):
    """One turn of the conversation."""

    role: Literal["system", "user", "assistant"]
    parts: list[ExchangePart]


class ExchangeDetail(Record):
    """One question and its answer, as the log has them."""

    number: int
    count: int
    """How many exchanges the reading has."""
    task: str
    """What was asked for."""
    prompt: str
    """Name and digest of the prompt."""
    messages: list[ExchangeMessage]
    reply: Reply | None
    """The answer as it came; absent where the reader drew a mask."""
    problem: str | None
    """Why the answer could not be used."""
    repaired: str | None
    """What had to be mended before it could be read."""
    from_cache: bool
    steps: list[int]
    """Indices of the steps that came of it."""


Redraw = Callable[[SentImage], tuple[EncodedImage, bool]]
"""A picture drawn again, and whether it is the same byte for byte."""


def to_exchange_detail(
    exchange: Exchange, *, number: int, count: int, steps: list[int], draw: Redraw
) -> ExchangeDetail:
    """One exchange for the page; pictures by their number."""
    messages = []
    pictures = 0
    for message in exchange.messages:
        parts = []
        for part in message.parts:
            if isinstance(part, str):
                parts.append(ExchangePart(text=part, picture=None))
                continue
            parts.append(ExchangePart(text=None, picture=_to_exchange_picture(part, pictures, draw)))
            pictures += 1
        messages.append(ExchangeMessage(role=message.role, parts=parts))
    return ExchangeDetail(
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


def _to_exchange_picture(part: SentImage, number: int, draw: Redraw) -> ExchangePicture:
    same, problem = False, None
    try:
        _, same = draw(part)
    except OverreadError as error:
        problem = error.what
    return ExchangePicture(
        number=number,
        picture=part.region.picture[:200],
        told=describe_region(part.region),
        width=part.width,
        height=part.height,
        same=same,
        problem=problem,
    )


def sent_images(exchange: Exchange) -> list[SentImage]:
    """The pictures of an exchange, in their order."""
    return [p for m in exchange.messages for p in m.parts if isinstance(p, SentImage)]


def redraw_sent_image(
    shown: SentImage, case: Case, pictures: Pictures, spec: RunSpec, key: Hashable
) -> tuple[EncodedImage, bool]:
    """A picture drawn again as the run drew it, and whether it is the same byte for byte.

    The log keeps only the hash of what was sent. The same part of the same picture always gives the
    same bytes; where none of the ways to show it does, the dataset or the drawing has changed.
    """
    return _cache.get((key, shown), lambda: _redraw(shown, case, pictures, spec))


def _redraw(shown: SentImage, case: Case, pictures: Pictures, spec: RunSpec) -> tuple[EncodedImage, bool]:
    first: EncodedImage | None = None
    problem: OverreadError | None = None
    for draw in _renderers(shown, case, pictures, _settings(spec)):
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


def _renderers(
    shown: SentImage, case: Case, pictures: Pictures, settings: SessionSettings
) -> Iterator[Callable[[], EncodedImage]]:
    picture, region = case.picture(shown.region.picture), shown.region

    def render() -> EncodedImage:
        return encode_region(
            pictures,
            picture,
            region,
            longest=settings.longest,
            media=settings.media,
            windows=settings.windows,
            count=settings.slices,
        )

    yield render
    if isinstance(region, Slices):
        yield lambda: encode_closeup(
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
