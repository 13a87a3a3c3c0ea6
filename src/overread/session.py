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

from overread.catalog import unknown
from overread.core import (
    Ask,
    Case,
    Drawn,
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
    Shown,
    Step,
    Trace,
    Usage,
    Volume,
    Whole,
)
from overread.errors import BadReply, UsageError
from overread.prompts import find_prompt
from overread.prompts.replies import Parse, Parsed

if TYPE_CHECKING:
    from overread.pixels.encode import Sent

T = TypeVar("T")

StepKind = Literal["say", "look", "ask", "conclude"]

_WORDS: dict[str, tuple[str, ...]] = {
    "evidence": ("multimodal", "boxes", "text"),
    "shuffle": ("options", "images"),
    "reveal": ("captions", "summary"),
}
"""Settings that are words → the words that they may be."""

_CUT = "the reply was cut off at its longest"

# Where pictures are encoded. One hand takes the flat ones in the order they come, since those in a
# parquet file are read as a stream; of volumes, which are large, no more than two are open at once.
_FLAT = ThreadPoolExecutor(1, "overread-pictures")
_VOLUMES = ThreadPoolExecutor(2, "overread-volumes")


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
    evidence: Literal["multimodal", "boxes", "text"] = "multimodal"
    """What a look gives the reader of an interleaved reading: the cut-out, its box, or words."""
    discussion: bool = True
    """Whether a diagnosis is followed by its teaching discussion."""
    looks: int = 12
    """The most looks that a reader takes who chooses them itself."""
    image_ratio: int = 100
    """Percent of a case's pictures that are shown; smaller shares are parts of larger ones."""
    shuffle: tuple[str, ...] = ()
    """What is put into another order in every sample but the first: options, images."""
    reveal: tuple[str, ...] = ()
    """What of the truth is told on purpose in place of the reader's own: captions, summary."""

    def __post_init__(self) -> None:
        """Refuse what cannot be shown, before anybody is asked."""
        from overread.pixels.windows import WINDOWS

        for name, least in (("longest", 16), ("slices", 1), ("repairs", 0), ("looks", 1)):
            if getattr(self, name) < least:
                raise UsageError(f"the setting '{name}' must be {least} or more")
        if not 0 <= self.image_ratio <= 100:
            raise UsageError("the setting 'image_ratio' is a percentage, 0 to 100")
        for name, known in _WORDS.items():
            given = getattr(self, name)
            for word in (given,) if isinstance(given, str) else given:
                if word not in known:
                    raise unknown(f"word of the setting '{name}'", word, known)
            if not isinstance(given, str):
                # The order in which they are named means nothing, nor does naming one twice.
                object.__setattr__(self, name, tuple(word for word in known if word in given))
        for window in self.windows:
            if window not in WINDOWS:
                raise unknown("window", window, WINDOWS)
        if not self.windows:
            raise UsageError("a CT is shown in no window", remedy="set windows=lung")

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
    _shown: dict[tuple[Region, Hashable], Shown] = field(default_factory=dict)

    # ---- showing -------------------------------------------------------------------------------

    def show(self, region: Region) -> Shown:
        """A part of a picture as the reader will see it; encoded once."""
        from overread.pixels.showing import shown_bytes

        settings = self.settings
        return self.shown_as(
            region,
            lambda: shown_bytes(
                self.pictures,
                self.case.picture(region.picture),
                region,
                longest=settings.longest,
                media=settings.media,
                windows=settings.windows,
                count=settings.slices,
            ),
        )

    def shown_as(self, region: Region, encoded: Callable[[], Sent], *, how: Hashable = ()) -> Shown:
        """A region as somebody draws it; `how` tells several drawings of it apart."""
        if (region, how) not in self._shown:
            data, media, (width, height) = encoded()
            digest = hashlib.sha256(data).hexdigest()
            self._images[digest] = data
            self._shown[region, how] = Shown(
                region=region, media=media, sha256=digest, width=width, height=height
            )
        return self._shown[region, how]

    def keep(self, shown: Shown) -> str:
        """Keep what was shown with the reading; gives its name in the run, which will write it."""
        stem = mask_file(self.case.id, self.sample).removesuffix(".nii.gz")
        name = f"{stem}+{len(self.files) + 1}.{shown.media.removeprefix('image/')}"
        self.files[name] = self._images[shown.sha256]
        return name

    def show_all(self) -> list[Shown]:
        """Every picture of the case, whole, in its order."""
        return [self.show(region) for region in self._wholes()]

    async def look(self, *regions: Region) -> list[Shown]:
        """The same as `show` for several, aside: other cases go on while these are encoded.

        Without regions it is every picture of the case, whole, in its order.
        """
        wanted = regions or self._wholes()
        return await self.aside(lambda: [self.show(region) for region in wanted])

    async def aside(self, work: Callable[[], T]) -> T:
        """Open pictures where all are opened: other cases go on meanwhile."""
        volumes = any(isinstance(picture, Volume) for picture in self.case.pictures)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(_VOLUMES if volumes else _FLAT, work)

    def _wholes(self) -> tuple[Region, ...]:
        return tuple(Whole(picture=picture.name) for picture in self.case.pictures)

    # ---- asking --------------------------------------------------------------------------------

    async def ask(
        self,
        prompt: str,
        values: Mapping[str, str],
        parse: Parse[T],
        *,
        task: str,
        show: Sequence[Shown] = (),
        schema: Mapping[str, JsonValue] | None = None,
        query: Query | None = None,
        regions: Sequence[Region] = (),
        kind: StepKind | None = "ask",
    ) -> T:
        """Ask in words and pictures, make sense of the answer, and record the step.

        Without a `kind` no step is recorded: whoever asks words it himself, by `note`.
        Pictures come before the text. Where the answer makes no sense the reader is told why and
        asked again, as often as the settings allow; then `BadReply` is raised and the case has
        failed.
        """
        own = self.settings.prompts
        wording = find_prompt(prompt, Path(own) if own else None)
        system, user = wording.render(values)
        self.prompts[prompt] = wording.digest
        messages = [Message(role="user", parts=(*show, user))]
        if system:
            messages.insert(0, Message(role="system", parts=(system,)))
        for left in range(self.settings.repairs, -1, -1):
            reply = await self._asked(tuple(messages), task, schema, query)
            if isinstance(reply, Drawn):
                raise UsageError(f"the reader '{self.reader.name}' draws, and was asked for words")
            where = f"{prompt} {wording.digest}"
            try:
                found = parse(_usable(reply))
            except BadReply as problem:
                self._record(task, where, messages, reply, problem=str(problem))
                if not left:
                    raise
                again = f"Your answer could not be used: {problem}. Answer again, as asked above."
                messages += [
                    Message(role="assistant", parts=(reply.text or "(no words)",)),
                    Message(role="user", parts=(again,)),
                ]
                continue
            # A text that was cut off may still be of use; whoever reads the log should know.
            cut = _CUT if reply.finish == "length" else None
            mended = "; ".join(filter(None, (found.repaired, cut))) or None
            self._record(task, where, messages, reply, repaired=mended)
            if kind is not None:
                looked = regions or [picture.region for picture in show]
                self.note(kind, reply.text, looked, exchange=len(self.exchanges) - 1)
            return found.value
        raise AssertionError("the loop above returns or raises")

    async def draw(self, query: Query, *, task: str = "ground") -> Mask:
        """Ask a reader that draws for the mask of one sentence; the run will write it."""
        drawn = await self._asked((), task, None, query)
        if not isinstance(drawn, Drawn):
            raise UsageError(
                f"the reader '{self.reader.name}' answers in words, and was asked to draw",
                remedy="use a reader with the skill 'masks'",
            )
        if drawn.mask is None:  # a dry run
            return self.drawn(query, None, drawn.note)
        from overread.pixels.spots import spot

        # Millions of voxels: aside, so that other cases go on.
        return self.drawn(query, await asyncio.to_thread(spot, drawn.mask), drawn.note)

    def drawn(self, query: Query, mask: Any, note: str = "") -> Mask:
        """Keep the mask of one sentence, however it came about; the run will write it.

        A case may have dozens of sentences, and a mask as many voxels as its CT: hand in a
        `pixels.spots.spot` of it, and only what is marked is held until it is written.
        """
        self.masks[query.id] = mask
        order = [other.id for other in self.case.queries]
        region = Mask(
            picture=self.case.pictures[0].name,
            file=mask_file(self.case.id, self.sample),
            channel=order.index(query.id),
            channels=len(order),
        )
        self.note("conclude", note, [region])
        return region

    async def _asked(
        self,
        messages: tuple[Message, ...],
        task: str,
        schema: Mapping[str, JsonValue] | None,
        query: Query | None,
    ) -> Reply | Drawn:
        sent = [part for m in messages for part in m.parts if isinstance(part, Shown)]
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

    def note(
        self,
        kind: StepKind,
        text: str,
        regions: Sequence[Region] = (),
        *,
        crop: str | None = None,
        exchange: int | None = None,
    ) -> None:
        """Record a step; `exchange` is the one it came from, where somebody was asked."""
        self.steps.append(
            Step(kind=kind, text=text, regions=tuple(regions), crop=crop, exchange=exchange)
        )

    def _record(
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

    def grounded(self, query: Query, region: Mask) -> Finding:
        """The finding that a mask answers a query with."""
        return Finding(text=query.text, query=query.id, regions=(region,))


def mask_file(case_id: str, sample: int) -> str:
    """Where a run keeps the masks that were drawn for a case.

    >>> mask_file("test_3_a_1", 0), mask_file("test_3_a_1", 2)
    ('arrays/test_3_a_1.nii.gz', 'arrays/test_3_a_1~2.nii.gz')
    """
    # No id of a case holds a tilde or a plus sign, so that no two readings share a file.
    return f"arrays/{case_id}.nii.gz" if not sample else f"arrays/{case_id}~{sample}.nii.gz"


def _usable(reply: Reply) -> str:
    """The words of a reply, unless it says itself that it is none."""
    if reply.finish == "refused":
        raise BadReply("it is a refusal")
    if reply.finish == "length" and not reply.text.strip():
        raise BadReply("it was cut off before it said anything; be brief")
    if not reply.text.strip():
        raise BadReply("it is empty")
    return reply.text


__all__ = ["Parse", "Parsed", "Session", "SessionSettings"]
