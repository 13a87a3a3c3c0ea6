"""The reader chooses where to look next: a picture, a part of one, some slices; until it is done.

Each move is one JSON object, `look` or `answer`, so that it works with every endpoint. All that was
looked at so far is shown with every question, in its order. When the reader is done, or has used up
its looks, it is asked what the case asks: a letter, boxes for a sentence, an answer, a report.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, JsonValue

from overread.core import Case, Mask, Query, Reading, Region, SentImage, Volume, Whole
from overread.errors import BadReply, ReaderError
from overread.language.text import one_line
from overread.pixels.planes import slice_count
from overread.pixels.relative_boxes import FULL_BOX, RelativeBox, oriented_image
from overread.prompts.replies import ParsedReply, json_parser, strict_schema
from overread.session import Session
from overread.workflows.blocks import Blocks, CaseScan, ground_queries, make_block
from overread.workflows.direct import direct
from overread.workflows.final_question import (
    ask_answer,
    ask_choice,
    ask_report,
    cached_schema,
    report_instruction,
)
from overread.workflows.prompt_values import (
    add_answer_step,
    format_history,
    format_options,
    format_timepoint,
    format_windows,
    render_fragment,
    show_closeup,
)


class Move(BaseModel):
    """What the reader does next."""

    thought: str = ""
    action: Literal["look", "answer"]
    picture: str | None = None
    place: str | None = None
    first_slice: int | None = None
    last_slice: int | None = None
    left: float | None = None
    top: float | None = None
    right: float | None = None
    bottom: float | None = None


def _make_schema() -> dict[str, Any]:
    """The schema of a move; null is listed first, because looking at the whole picture is the
    simplest move.
    """
    schema: Any = strict_schema(Move)
    for part in schema["properties"].values():
        part |= {"anyOf": part["anyOf"][::-1]} if "anyOf" in part else {}
    return {**schema}


_MOVE_SCHEMA = _make_schema()
_MIN_PART = 0.005
"""Smallest share of width or height that a part may have."""


@dataclass(frozen=True)
class LookTarget:
    """A look that can be taken."""

    picture: str
    span: tuple[int, int] | None = None
    """Slices of a volume; all where absent."""
    part: RelativeBox | None = None
    """Of the picture, or of each slice; all where absent."""
    place: str | None = None
    """What the reader calls it."""


@dataclass(frozen=True)
class ParsedMove:
    """A move that can be made: a look, or none where the reader is done."""

    thought: str
    aim: LookTarget | None


async def explore(case: Case, session: Session) -> Reading:
    """Look around, then choose, find, answer or report."""
    if not session.settings.image_ratio:
        return await direct(case, session)  # there is nothing to look at
    if case.options:
        tour = _Exploration(
            session, render_fragment(session, "task-choose", {"options": format_options(case)})
        )
        await tour.run()
        told = {"history": format_history(case), "options": format_options(case), "notes": tour.notes}
        return session.reading(
            **await ask_choice(case, session, "explore-choose", told, show=tour.shown, regions=tour.regions)
        )
    if case.queries:
        return await ground_queries(case, session, _ground_by_exploring)
    if not case.pictures:
        raise ReaderError("the case has no options, no sentences to locate and no picture to report on")
    if case.asks == "answer" and case.instruction:
        question = {"question": case.instruction}
        tour = _Exploration(session, render_fragment(session, "task-answer", question))
        await tour.run()
        told = {**question, "notes": tour.notes}
        ask = ask_answer(session, "explore-answer", told, show=tour.shown, regions=tour.regions)
        return session.reading(**await ask)
    told = {"instruction": report_instruction(case)}
    tour = _Exploration(session, render_fragment(session, "task-report", told))
    await tour.run()
    told["notes"] = tour.notes
    ask = ask_report(session, "explore-report", told, show=tour.shown, regions=tour.regions)
    return session.reading(**await ask)


async def _ground_by_exploring(scan: CaseScan, query: Query, session: Session) -> Mask:
    """The mask of one sentence: a tour of its own, then boxes."""
    tour = _Exploration(session, render_fragment(session, "task-ground", {"finding": query.text}), query)
    await tour.run()
    blocks = await session.ask(
        "explore-ground",
        {"finding": query.text, "windows": format_windows(session), "notes": tour.notes},
        scan.parse_blocks,
        task="ground",
        show=tour.shown,
        schema=cached_schema(Blocks),
        query=query,
        kind=None,
    )
    regions = [region for block in blocks for region in scan.block_regions(block)]
    add_answer_step(session, "say", regions or tour.regions)
    return await scan.hand_in_mask(query, blocks)


@dataclass
class _Exploration:
    """The looks that a reader takes at one case, one after the other, until it answers."""

    session: Session
    task: str
    """What is asked in the end, in words."""
    query: Query | None = None
    shown: list[SentImage] = field(default_factory=list)
    look_regions: list[tuple[Region, ...]] = field(default_factory=list)
    """Where each look was."""
    lines: list[str] = field(default_factory=list)
    """What was looked at and thought, a line a look."""
    last: dict[str, int] = field(default_factory=dict)
    """Volume → its uppermost slice."""

    @property
    def regions(self) -> list[Region]:
        """All that was looked at, once each."""
        return list(dict.fromkeys(region for places in self.look_regions for region in places))

    @property
    def notes(self) -> str:
        """The looks so far in words."""
        return "\n".join(self.lines) or "nothing yet"

    async def run(self) -> None:
        """Look until the reader is done, or its looks are used up."""
        session = self.session
        if not session.case.pictures:
            return
        listed = await session.run_in_thread(self._list_pictures)
        most = session.settings.looks
        while len(self.shown) < most:
            values = {
                "task": self.task,
                "history": format_history(session.case),
                "pictures": listed,
                "notes": self.notes,
                "left": f"{most - len(self.shown)}",
            }
            move = await session.ask(
                "explore-look",
                values,
                self._parse_move,
                task="look",
                show=self.shown,
                schema=self._move_schema(),
                query=self.query,
                kind=None,
            )
            add_answer_step(session, "say", self.look_regions[-1] if self.look_regions else (), move.thought)
            if self.lines and move.thought:
                self.lines[-1] += f" You thought: {move.thought}"
            if move.aim is None:
                return
            await self._show_target(move.aim)

    async def _show_target(self, aim: LookTarget) -> None:
        """Show what was aimed at, and record the look."""
        session = self.session
        picture = session.case.picture(aim.picture)
        crop = None
        region: Region = Whole(picture=picture.name)
        places: tuple[Region, ...] = (region,)
        if aim.span is None and aim.part is None:
            (shown,) = await session.show_async(region)
        elif isinstance(picture, Volume):
            scan = CaseScan(session, picture)
            span = aim.span or (0, self.last[picture.name])
            shown = await show_closeup(session, scan.slices(span), aim.part)
            places = (scan.slices(span),)
            if aim.part is not None:
                places = scan.block_regions(make_block(span, aim.part), aim.place)
        else:
            film = await session.run_in_thread(lambda: oriented_image(session.pictures, picture))
            box = film.to_box(aim.part or FULL_BOX, aim.place)
            (shown,) = await session.show_async(box)
            crop, places = session.save_image(shown), (box,)
        self.shown.append(shown)
        self.look_regions.append(places)
        self.lines.append(f"- Look {len(self.shown)}: {_describe_target(aim)}.")
        session.add_step("look", "", places, crop=crop, exchange=len(session.exchanges) - 1)

    def _list_pictures(self) -> str:
        """The pictures that can be looked at, a line each; volumes are opened for their slices."""
        lines = []
        for picture in self.session.case.pictures:
            about = "a flat picture"
            if isinstance(picture, Volume):
                last = slice_count(self.session.pictures.geometry(picture), "axial") - 1
                self.last[picture.name] = last
                about = f"a CT, axial slices 0 (feet) to {last} (head)"
            time = format_timepoint(picture)
            lines.append(f"- {picture.name}: {about}{f', {time}' if time else ''}")
        return "\n".join(lines)

    def _move_schema(self) -> dict[str, JsonValue]:
        """The schema of a move, with the names of the pictures."""
        names: list[JsonValue] = [picture.name for picture in self.session.case.pictures]
        properties: Any = _MOVE_SCHEMA["properties"]
        return {**_MOVE_SCHEMA, "properties": {**properties, "picture": {"enum": names}}}

    def _parse_move(self, reply: str) -> ParsedReply[ParsedMove]:
        """A move that can be made."""
        found = json_parser(Move)(reply)
        move, thought = found.value, one_line(found.value.thought)
        if move.action == "answer":
            if not self.shown and not self.session.case.options:
                raise BadReply("there is nothing to answer from before you have looked")
            return ParsedReply(ParsedMove(thought, None), found.repaired)
        names = [picture.name for picture in self.session.case.pictures]
        name = move.picture or (names[0] if len(names) == 1 else "")
        if name not in names:
            raise BadReply(f"the picture to look at must be one of {', '.join(names)}")
        place = one_line(move.place or "")[:120] or None
        aim = LookTarget(name, self._span(name, move), _move_part(move), place)
        return ParsedReply(ParsedMove(thought, aim), found.repaired)

    def _span(self, name: str, move: Move) -> tuple[int, int] | None:
        """The slices of a move; a flat picture has none, whatever is said."""
        given = [number for number in (move.first_slice, move.last_slice) if number is not None]
        if name not in self.last or not given:
            return None
        first, last = min(given), max(given)
        if first < 0 or last > self.last[name]:
            raise BadReply(f"the slices of {name} are 0 to {self.last[name]}")
        return first, last


def _move_part(move: Move) -> RelativeBox | None:
    """The part of the picture that a move aims at; None for all of it."""
    edges = (move.left, move.top, move.right, move.bottom)
    given = [edge for edge in edges if edge is not None]
    if not given:
        return None
    if len(given) < 4:
        raise BadReply("give all four edges of a part, or none")
    if min(given) < 0 or max(given) > 1:
        raise BadReply("the edges of a part are shares of width and height, from 0 to 1")
    (left, right), (top, bottom) = sorted(given[::2]), sorted(given[1::2])
    if right - left < _MIN_PART or bottom - top < _MIN_PART:
        raise BadReply("the part has no width or no height")
    return RelativeBox(left, top, right, bottom)


def _describe_target(aim: LookTarget) -> str:
    """A look in words.

    >>> _describe_target(LookTarget("ct", (3, 9), RelativeBox(0, 0, 0.5, 1), "right lung"))
    'ct, slices 3 to 9, left 0.000, top 0.000, right 0.500, bottom 1.000 (right lung)'
    """
    parts = [aim.picture]
    parts += [f"slices {aim.span[0]} to {aim.span[1]}"] if aim.span else []
    parts += [f"{name} {edge:.3f}" for name, edge in vars(aim.part).items()] if aim.part else []
    return ", ".join(parts) + (f" ({aim.place})" if aim.place else "")
