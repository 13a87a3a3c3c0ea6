"""Look, crop, say, again and again over the major regions of a radiograph, then the report.

Three arms (`evidence`) ask what each region shows in the same words and differ in what a look
gives: `multimodal` tells the box of the region and shows what is in it, `boxes` tells the box,
`text` neither. The fourth, `words`, looks at the film once, says what all regions show, and reasons in
words alone from there on. Where a run reveals the reference trace, that stands in place of the
reader's own looks. The trace has the form of the interleaved records that such arms were compared on:
what is looked at next, the look with its box and cut-out, the box and the findings in words; at
last the report is announced.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field

from overread.core import Box, Case, Finding, Image, Reading, Region, SentImage, Whole
from overread.errors import BadReply, ReaderError
from overread.language.text import one_line
from overread.ontology import xray_regions
from overread.ontology.regions import MajorRegion
from overread.pixels.relative_boxes import OrientedImage, RelativeBox, enclosing_box, oriented_image
from overread.prompts.box_words import BoxFrame
from overread.prompts.interleaved import (
    ANALYZE,
    HIGHLIGHT,
    IMAGE,
    REPORT_CUE,
    box_sentence,
    neutralise_marks,
    ordinal,
)
from overread.prompts.replies import ParsedReply, json_parser, strict_schema, text_parser
from overread.session import Session
from overread.workflows.final_question import ask_answer, ask_report, report_instruction
from overread.workflows.guided import ask_guided_report
from overread.workflows.prompt_values import add_answer_step, edge_values, format_edges, render_fragment


class Edges(BaseModel):
    """A rectangle in shares of the picture's width and height."""

    left: float = Field(ge=0, le=1)
    top: float = Field(ge=0, le=1)
    right: float = Field(ge=0.01, le=1)
    bottom: float = Field(ge=0.01, le=1)


class Where(BaseModel):
    """Where a region is; nothing where it is not in the picture."""

    boxes: list[Edges] = Field(max_length=12)


class RegionWords(BaseModel):
    """What one region shows."""

    region: str = Field(min_length=1, max_length=80)
    words: str = Field(min_length=1)


class WholeLook(BaseModel):
    """What all regions show, after one look at the film."""

    regions: list[RegionWords] = Field(min_length=1, max_length=40)


_WHERE = strict_schema(Where)
_WHOLE_LOOK = strict_schema(WholeLook)


@dataclass(frozen=True)
class _RegionLook:
    """One region that was looked at, and what was said of it."""

    region: str
    words: str
    box: Box | None = None
    """Where it is in the stored picture."""
    part: RelativeBox | None = None
    """Where it is in the picture as it is shown."""
    cutout: SentImage | None = None
    exchange: int | None = None
    """The one that told where it is."""


async def interleaved(case: Case, session: Session) -> Reading:
    """Look at one major region after the other, then report, or answer what is asked."""
    if len(case.pictures) != 1 or not isinstance(case.pictures[0], Image):
        raise ReaderError("the workflow 'interleaved' needs cases with exactly one 2D image")
    if case.options or case.queries:
        raise ReaderError(
            "the workflow 'interleaved' is for reports and free-text answers, not for options or masks"
        )
    if session.hints.trace:
        return session.reading(**await ask_guided_report(case, session))
    walk = _RegionTour(session, case.pictures[0])
    if session.settings.evidence == "words":
        await walk.look_once()
    else:
        for group in xray_regions().groups:
            await walk.look_at(group)
    parts = await _conclude(case, session, walk.looks)
    own = tuple(Finding(text=look.words, regions=(look.box,) if look.box else ()) for look in walk.looks)
    return session.reading(findings=own or None, **parts)


class _RegionTour:
    """Looks at the major regions of one radiograph in turn, and records the steps."""

    def __init__(self, session: Session, picture: Image) -> None:
        self.looks: list[_RegionLook] = []
        self._session = session
        self._picture = picture
        self._whole = Whole(picture=picture.name)
        self._evidence = session.settings.evidence
        self._film: OrientedImage | None = None

    async def look_at(self, group: MajorRegion) -> None:
        """One region: where it is, and what is there. What is not in the picture is passed over."""
        session = self._session
        show = await session.show_async(self._whole)
        named = {"region": group.name, "members": ", ".join(group.members)}
        box, part, cutout, exchange = None, None, None, None
        if self._evidence != "text":
            part = await session.ask(
                "interleaved-where",
                named,
                parse_location,
                task="locate",
                show=show,
                schema=_WHERE,
                kind=None,
                frame=BoxFrame(show[0]),
            )
            if part is None:
                return
            exchange = len(session.exchanges) - 1
            box = (await self._stored_film()).to_box(part, group.name)
        if self._evidence == "multimodal" and box is not None:
            (cutout,) = await session.show_async(box)
            show = [*show, cutout]
        told = {"evidence": self._evidence_words(part), "before": _format_notes(self.looks)}
        words = await session.ask(
            "interleaved-say", {**named, **told}, text_parser(), task="describe", show=show, kind=None
        )
        look = _RegionLook(group.name, words, box, part, cutout, exchange)
        self._record_look(look)
        self.looks.append(look)

    async def look_once(self) -> None:
        """All regions in one look at the film, which is not shown again."""
        session = self._session
        names = [f"- {group.name} ({', '.join(group.members)})" for group in xray_regions().groups]
        said = await session.ask(
            "interleaved-once",
            {"regions": "\n".join(names)},
            json_parser(WholeLook),
            task="describe",
            show=await session.show_async(self._whole),
            schema=_WHOLE_LOOK,
            kind=None,
        )
        session.add_step("look", "", [self._whole], exchange=len(session.exchanges) - 1)
        for one in said.regions:
            announced = ANALYZE.format(ordinal=ordinal(len(self.looks)), region=one_line(one.region))
            told = f"{neutralise_marks(announced)} {neutralise_marks(one.words)}\n\n"
            add_answer_step(session, "say", [self._whole], told)
            self.looks.append(_RegionLook(one_line(one.region), one.words))

    async def _stored_film(self) -> OrientedImage:
        """The film as it is stored; opened once, when something is to be found in it."""
        if self._film is None:
            session, picture = self._session, self._picture
            self._film = await session.run_in_thread(lambda: oriented_image(session.pictures, picture))
        return self._film

    def _evidence_words(self, part: RelativeBox | None) -> str:
        """What the arm (`evidence`) tells the reader about the region, besides its name."""
        return render_fragment(self._session, f"evidence-{self._evidence}", edge_values(part))

    def _record_look(self, look: _RegionLook) -> None:
        """The steps of one look, in the words that interleaved records have."""
        session = self._session
        announced = ANALYZE.format(ordinal=ordinal(len(self.looks)), region=look.region)
        if look.box is None:
            session.add_step("say", announced)
            session.add_step("look", "", [self._whole])
            add_answer_step(session, "say", [self._whole], f"{neutralise_marks(look.words)}\n\n")
            return
        box = look.box
        session.add_step("say", announced + HIGHLIGHT.format(region=look.region))
        crop = session.save_image(look.cutout) if look.cutout else None
        session.add_step("look", IMAGE, [box], crop=crop, exchange=look.exchange)
        told = f"{box_sentence(box)}{neutralise_marks(look.words)}\n\n"
        add_answer_step(session, "say", [box], told)


def parse_location(reply: str) -> ParsedReply[RelativeBox | None]:
    """Reads an answer as the place of a region: the smallest box that holds all boxes given."""
    found = json_parser(Where)(reply)
    parts = [
        RelativeBox(min(e.left, e.right), min(e.top, e.bottom), max(e.left, e.right), max(e.top, e.bottom))
        for e in found.value.boxes
    ]
    if any(part.right - part.left < 0.005 or part.bottom - part.top < 0.005 for part in parts):
        raise BadReply("a box has no width or no height")
    return ParsedReply(enclosing_box(*parts) if parts else None, found.repaired)


def _format_notes(looks: list[_RegionLook]) -> str:
    """What was said so far, region by region, with the boxes where the arm has any."""
    lines = []
    for look in looks:
        edges = format_edges(look.part)
        lines.append(f"- {look.region}{f' ({edges})' if edges else ''}: {one_line(look.words)}")
    return "\n".join(lines) or "nothing yet"


async def _conclude(case: Case, session: Session, looks: list[_RegionLook]) -> dict[str, Any]:
    """The report, or the answer, from the notes, the film and the cut-outs, as far as the arm has them."""
    in_words = session.settings.evidence == "words"
    show = [] if in_words else await session.show_async()
    show += [look.cutout for look in looks if look.cutout]
    tail = "-words" if in_words else ""
    places: list[Region] = [look.box for look in looks if look.box]
    if case.asks == "answer" and case.instruction:
        told = {"question": case.instruction, "notes": _format_notes(looks)}
        return await ask_answer(session, f"interleaved-answer{tail}", told, show=show, regions=places)
    told = {"instruction": report_instruction(case), "notes": _format_notes(looks)}
    parts = await ask_report(session, f"interleaved-report{tail}", told, show=show, kind=None)
    add_answer_step(session, "conclude", (), REPORT_CUE)
    # A mark of a look in the report would be taken for one.
    return {"report": parts["report"].replace(IMAGE, " ").strip()}
