"""One reader at work on one case: render, show, ask, parse, record.

A workflow is handed a case and a session, and nothing else. The session shows pictures and asks
the reader through what the run hands it (cache, limits, retries), makes sense of the answers, asks
again where they make none, and keeps every step and every exchange.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import JsonValue

from overread.catalog import unknown_name
from overread.core import (
    Ask,
    Case,
    ChainLink,
    DrawnMask,
    Exchange,
    Finding,
    Hints,
    Mask,
    Message,
    Pictures,
    Query,
    Reader,
    Reading,
    Region,
    Reply,
    Request,
    SentImage,
    Step,
    Trace,
    Usage,
    Volume,
    Whole,
)
from overread.errors import BadReply, UsageError
from overread.prompts import find_prompt
from overread.prompts.box_words import BOX_WORDS, BoxFrame, box_words, native_schema, reply_in_shares
from overread.prompts.replies import ParsedReply, ReplyParser

if TYPE_CHECKING:
    from overread.pixels.encode import EncodedImage

T = TypeVar("T")

StepKind = Literal["say", "look", "ask", "conclude"]

_ALLOWED_WORDS: dict[str, tuple[str, ...]] = {
    "evidence": ("multimodal", "boxes", "text", "words"),
    "shuffle": ("options", "images"),
    "reveal": ("captions", "summary", "trace"),
}
"""Settings that are words → the words that they may be."""

_CUT_OFF = "the reply was cut off at its longest"

# Threads that encode images. Flat images go through one thread in order, since those in a parquet
# file are read as a stream; at most two volumes, which are large, are open at once.
_IMAGE_POOL = ThreadPoolExecutor(1, "overread-pictures")
_VOLUME_POOL = ThreadPoolExecutor(2, "overread-volumes")


@dataclass(frozen=True)
class SessionSettings:
    """How a session shows and asks: part of a run's spec."""

    longest: int = 1024
    """Pixels of the longer side of a picture; larger ones are scaled down."""
    media: Literal["png", "jpeg"] = "png"
    """How pictures are sent that cannot be sent as they are."""
    windows: tuple[str, ...] = ("lung", "mediastinum")
    """HU windows in which slices of a CT are shown."""
    slices: int = 16
    """How many slices of a CT a montage shows, evenly spread."""
    repairs: int = 1
    """How often an answer that makes no sense is asked for again."""
    prompts: str | None = None
    """Folder of one's own prompts, which win over the house's."""
    evidence: Literal["multimodal", "boxes", "text", "words"] = "multimodal"
    """What a look gives who reads region by region, or is told the reference trace: the cut-out, its
    box, the whole film, or nothing but words after one look at the film."""
    discussion: bool = True
    """Whether a diagnosis is followed by its teaching discussion."""
    looks: int = 12
    """The most looks that a reader takes who chooses them itself."""
    image_ratio: int = 100
    """Percent of a case's pictures that are shown; smaller shares are parts of larger ones."""
    shuffle: tuple[str, ...] = ()
    """What is put into another order in every sample but the first: options, images."""
    reveal: tuple[str, ...] = ()
    """What of the truth is told on purpose in place of the reader's own: captions, summary, trace."""

    def __post_init__(self) -> None:
        """Refuse what cannot be shown, before anybody is asked."""
        from overread.pixels.windows import WINDOWS

        for name, least in (("longest", 16), ("slices", 1), ("repairs", 0), ("looks", 1)):
            if getattr(self, name) < least:
                raise UsageError(f"the setting '{name}' must be {least} or more")
        if not 0 <= self.image_ratio <= 100:
            raise UsageError("the setting 'image_ratio' is a percentage, 0 to 100")
        for name, known in _ALLOWED_WORDS.items():
            given = getattr(self, name)
            for word in (given,) if isinstance(given, str) else given:
                if word not in known:
                    raise unknown_name(f"word of the setting '{name}'", word, known)
            if not isinstance(given, str):
                # The order in which they are named means nothing, nor does naming one twice.
                object.__setattr__(self, name, tuple(word for word in known if word in given))
        for window in self.windows:
            if window not in WINDOWS:
                raise unknown_name("window", window, WINDOWS)
        if not self.windows:
            raise UsageError("no HU window is set for CT slices", remedy="set windows=lung")

    def as_settings(self) -> dict[str, Any]:
        """For the spec of a run."""
        return dict(vars(self))


@dataclass
class Session:
    """One reader at work on one case."""

    ask_reader: Ask
    reader: Reader
    case: Case
    pictures: Pictures
    settings: SessionSettings = field(default_factory=SessionSettings)
    sample: int = 0
    seed: int = 0
    hints: Hints = field(default_factory=Hints)
    """What of the truth the run reveals on purpose, as its settings say."""
    steps: list[Step] = field(default_factory=list)
    exchanges: list[Exchange] = field(default_factory=list)
    masks: dict[str, Any] = field(default_factory=dict)
    """Query → the mask that was drawn for it; the run writes them."""
    files: dict[str, bytes] = field(default_factory=dict)
    """Name in the run → bytes of a file that the reading names, a cut-out; the run writes them."""
    prompts: dict[str, str] = field(default_factory=dict)
    """Prompt → digest, of those that were used."""
    _images: dict[str, bytes] = field(default_factory=dict)
    _sent_images: dict[tuple[Region, Hashable], SentImage] = field(default_factory=dict)

    # ---- showing -------------------------------------------------------------------------------

    def show(self, region: Region) -> SentImage:
        """A part of a picture as the reader will see it; encoded once."""
        from overread.pixels.sent_images import encode_region

        settings = self.settings
        return self.show_rendering(
            region,
            lambda: encode_region(
                self.pictures,
                self.case.picture(region.picture),
                region,
                longest=settings.longest,
                media=settings.media,
                windows=settings.windows,
                count=settings.slices,
            ),
        )

    def show_rendering(
        self, region: Region, encoded: Callable[[], EncodedImage], *, how: Hashable = ()
    ) -> SentImage:
        """A region encoded by `encoded()`, cached by region and `how`, which tells several
        renderings of it apart.
        """
        if (region, how) not in self._sent_images:
            data, media, (width, height) = encoded()
            digest = hashlib.sha256(data).hexdigest()
            self._images[digest] = data
            self._sent_images[region, how] = SentImage(
                region=region, media=media, sha256=digest, width=width, height=height
            )
        return self._sent_images[region, how]

    def save_image(self, shown: SentImage) -> str:
        """Save an image that was sent with the reading; returns its file name in the run, which
        writes it.
        """
        stem = mask_file(self.case.id, self.sample).removesuffix(".nii.gz")
        name = f"{stem}+{len(self.files) + 1}.{shown.media.removeprefix('image/')}"
        self.files[name] = self._images[shown.sha256]
        return name

    def show_all(self) -> list[SentImage]:
        """Every picture of the case, whole, in its order."""
        return [self.show(region) for region in self.whole_pictures()]

    async def show_async(self, *regions: Region) -> list[SentImage]:
        """As `show` for several regions, in a worker thread, so that other cases go on meanwhile.

        Without regions: every picture of the case, whole, in its order.
        """
        wanted = regions or self.whole_pictures()
        return await self.run_in_thread(lambda: [self.show(region) for region in wanted])

    async def run_in_thread(self, work: Callable[[], T]) -> T:
        """Run `work`, which opens pictures, in the worker thread for pictures; other cases go on
        meanwhile.
        """
        volumes = any(isinstance(picture, Volume) for picture in self.case.pictures)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(_VOLUME_POOL if volumes else _IMAGE_POOL, work)

    def whole_pictures(self) -> tuple[Region, ...]:
        """Every picture of the case as a region, in its order."""
        return tuple(Whole(picture=picture.name) for picture in self.case.pictures)

    # ---- asking --------------------------------------------------------------------------------

    async def ask(
        self,
        prompt: str,
        values: Mapping[str, str],
        parse: ReplyParser[T],
        *,
        task: str,
        show: Sequence[SentImage] = (),
        schema: Mapping[str, JsonValue] | None = None,
        query: Query | None = None,
        regions: Sequence[Region] = (),
        kind: StepKind | None = "ask",
        frame: BoxFrame | None = None,
    ) -> T:
        """Send a prompt with images, parse the answer and record the step.

        With a `frame` boxes are asked for, in the reader's own numbers: the prompt's words, the schema
        and the answer are turned, and `parse` is handed shares.

        Without a `kind` no step is recorded; the caller records its own with `add_step`. Images
        come before the text. Where the answer cannot be parsed the reader is told why and asked
        again, as often as the settings allow; then `BadReply` is raised and the case has failed.
        """
        own = self.settings.prompts
        wording = find_prompt(prompt, Path(own) if own else None)
        boxes = self.reader.boxes
        native = frame is not None and boxes.unit != "share"
        asked = wording.placeholders & BOX_WORDS
        if native and not asked:
            raise UsageError(
                f"the prompt '{prompt}' asks for boxes as shares, and the reader gives them as {boxes.name}",
                remedy="put the gaps for boxes into it, as the house's prompt of that name has them",
            )
        words = box_words(boxes, frame)
        system, user = wording.render({**values, **{name: words[name] for name in asked}})
        self.prompts[prompt] = wording.digest
        schema = native_schema(schema, boxes) if native and schema is not None else schema
        messages = [Message(role="user", parts=(*show, user))]
        if system:
            messages.insert(0, Message(role="system", parts=(system,)))
        for left in range(self.settings.repairs, -1, -1):
            reply = await self._send_request(tuple(messages), task, schema, query)
            if isinstance(reply, DrawnMask):
                raise UsageError(f"the reader '{self.reader.name}' returns masks but was asked for text")
            where = f"{prompt} {wording.digest}"
            try:
                text = _reply_text(reply)
                found = parse(reply_in_shares(text, boxes, frame) if native and frame else text)
            except BadReply as problem:
                self._record_exchange(task, where, messages, reply, problem=str(problem))
                if not left:
                    raise
                again = f"Your answer could not be used: {problem}. Answer again, as asked above."
                messages += [
                    Message(role="assistant", parts=(reply.text or "(no words)",)),
                    Message(role="user", parts=(again,)),
                ]
                continue
            # A text that was cut off may still be of use; whoever reads the log should know.
            cut = _CUT_OFF if reply.finish == "length" else None
            mended = "; ".join(filter(None, (found.repaired, cut))) or None
            self._record_exchange(task, where, messages, reply, repaired=mended)
            if kind is not None:
                looked = regions or [picture.region for picture in show]
                self.add_step(kind, reply.text, looked, exchange=len(self.exchanges) - 1)
            return found.value
        raise AssertionError("the loop above returns or raises")

    async def draw(self, query: Query, *, task: str = "ground") -> Mask:
        """Ask a reader that draws for the mask of one sentence; the run will write it."""
        drawn = await self._send_request((), task, None, query)
        if not isinstance(drawn, DrawnMask):
            raise UsageError(
                f"the reader '{self.reader.name}' returns text but was asked for a mask",
                remedy="use a reader with the skill 'masks'",
            )
        if drawn.mask is None:  # a dry run
            return self.keep_mask(query, None, drawn.note)
        from overread.pixels.sparse_masks import to_sparse_mask

        # Millions of voxels: aside, so that other cases go on.
        return self.keep_mask(query, await asyncio.to_thread(to_sparse_mask, drawn.mask), drawn.note)

    def keep_mask(self, query: Query, mask: Any, note: str = "") -> Mask:
        """Keep the mask for one query; the run will write it.

        A case may have dozens of queries, and a mask has as many voxels as its CT: hand in
        `pixels.sparse_masks.to_sparse_mask(mask)`, so that only the marked block is held in memory.
        """
        self.masks[query.id] = mask
        order = [other.id for other in self.case.queries]
        region = Mask(
            picture=self.case.pictures[0].name,
            file=mask_file(self.case.id, self.sample),
            channel=order.index(query.id),
            channels=len(order),
        )
        self.add_step("conclude", note, [region])
        return region

    async def _send_request(
        self,
        messages: tuple[Message, ...],
        task: str,
        schema: Mapping[str, JsonValue] | None,
        query: Query | None,
    ) -> Reply | DrawnMask:
        sent = [part for m in messages for part in m.parts if isinstance(part, SentImage)]
        return await self.ask_reader(
            Request(
                task=task,
                case=self.case,
                pictures=self.pictures,
                messages=messages,
                images={picture.sha256: self._images[picture.sha256] for picture in sent},
                schema=schema,
                query=query,
                sample=self.sample,
                seed=self.seed,
            )
        )

    # ---- recording -----------------------------------------------------------------------------

    def add_step(
        self,
        kind: StepKind,
        text: str,
        regions: Sequence[Region] = (),
        *,
        crop: str | None = None,
        exchange: int | None = None,
        link: ChainLink | None = None,
    ) -> None:
        """Record a step; `exchange` is the one it came from, where somebody was asked."""
        self.steps.append(
            Step(kind=kind, text=text, regions=tuple(regions), crop=crop, exchange=exchange, link=link)
        )

    def _record_exchange(
        self,
        task: str,
        prompt: str,
        messages: Sequence[Message],
        reply: Reply,
        *,
        problem: str | None = None,
        repaired: str | None = None,
    ) -> None:
        self.exchanges.append(
            Exchange(
                task=task,
                prompt=prompt,
                messages=tuple(messages),
                reply=reply,
                problem=problem,
                repaired=repaired,
                from_cache=reply.usage.calls == 0,
            )
        )

    def reading(self, **parts: Any) -> Reading:
        """The reading of the case, with everything that was recorded."""
        spent = Usage()
        for exchange in self.exchanges:
            if exchange.reply is not None:
                spent += exchange.reply.usage
        return Reading(
            case_id=self.case.id,
            reader=self.reader.name,
            sample=self.sample,
            trace=Trace(steps=tuple(self.steps)) if self.steps else None,
            exchanges=tuple(self.exchanges),
            usage=spent,
            **parts,
        )

    def finding_for(self, query: Query, region: Mask) -> Finding:
        """The finding that answers a query with a mask."""
        return Finding(text=query.text, query=query.id, regions=(region,))


def mask_file(case_id: str, sample: int) -> str:
    """Where a run keeps the masks that were drawn for a case.

    >>> mask_file("test_3_a_1", 0), mask_file("test_3_a_1", 2)
    ('arrays/test_3_a_1.nii.gz', 'arrays/test_3_a_1~2.nii.gz')
    """
    # No id of a case holds a tilde or a plus sign, so that no two readings share a file.
    return f"arrays/{case_id}.nii.gz" if not sample else f"arrays/{case_id}~{sample}.nii.gz"


def _reply_text(reply: Reply) -> str:
    """The text of a reply; raises `BadReply` where it was refused, cut off or empty."""
    if reply.finish == "refused":
        raise BadReply("it is a refusal")
    if reply.finish == "length" and not reply.text.strip():
        raise BadReply("it was cut off before it said anything; be brief")
    if not reply.text.strip():
        raise BadReply("it is empty")
    return reply.text


__all__ = ["ParsedReply", "ReplyParser", "Session", "SessionSettings"]
