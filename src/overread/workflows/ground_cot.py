"""A sentence → a mask by way of the anatomy: whole scan → lung → lobe → segment → lesion.

At each level the reader is shown what the level before left, closer, and told the chain so far. The
chain is recorded: each step says its level, and its regions are the slices of each place and the
edges of the place on them, under the name of the structure. A level that does not apply (the pleura
has no lobes) is passed over, and the chain says so. A reader that draws draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel, Field

from overread.core import Case, ChainLevel, ChainLink, Mask, Query, Reading, Region, SentImage
from overread.language.text import one_line
from overread.ontology import lung_anatomy
from overread.pixels.relative_boxes import RelativeBox, enclosing_box
from overread.prompts.box_words import BoxFrame
from overread.prompts.replies import ParsedReply, json_parser, strict_schema
from overread.session import Session
from overread.workflows.blocks import Block, Blocks, CaseScan, ground_queries, to_whole_slice
from overread.workflows.prompt_values import add_answer_step, format_windows, show_closeup

LEVELS: tuple[ChainLevel, ...] = ("lung", "lobe", "segment")
"""The levels between the whole scan and the lesion."""
_RIM, _LEAST = 0.1, 0.1
"""What is shown around a place, in shares of its size; and the least of a slice that is shown."""


class Place(Block):
    """A structure, and the box through some slices that holds it."""

    structure: str = Field(min_length=1, max_length=200)
    # A structure is never a line.
    right: float = Field(ge=0.01, le=1)
    bottom: float = Field(ge=0.01, le=1)


class Places(BaseModel):
    """Where the finding lies on one level; nothing where the level does not apply."""

    thought: str = ""
    places: list[Place] = Field(max_length=8)


class Lesion(Blocks):
    """Where the finding itself is; nothing where it is not seen."""

    thought: str = ""


_PLACES = strict_schema(Places)
_LESION = strict_schema(Lesion)


async def ground_cot(case: Case, session: Session) -> Reading:
    """A mask for every sentence of the case, each with its chain."""
    return await ground_queries(case, session, _ground_by_levels)


async def _ground_by_levels(scan: CaseScan, query: Query, session: Session) -> Mask:
    chain = _Chain(scan, query, session)
    first = ChainLink(query=query.id, level="scan")
    session.add_step("look", f"scan: looked for: {query.text}", [scan.whole], link=first)
    for level in LEVELS:
        await chain.ask_level(level)
    return await scan.hand_in_mask(query, await chain.ask_lesion())


@dataclass
class _Chain:
    """How far the search for one sentence has come."""

    scan: CaseScan
    query: Query
    session: Session
    lines: list[str] = field(default_factory=list)
    """The chain in words, a line a level."""
    structures: list[str] = field(default_factory=list)
    """What was found on the last level that applied."""
    span: tuple[int, int] | None = None
    """The slices that are left; absent before anything was found."""
    part: RelativeBox | None = None
    """The part of each slice that is left."""

    async def ask_level(self, level: ChainLevel) -> None:
        """Ask for the places of one level, and go on within them."""
        shown = await self._show_remaining()
        found = await self.session.ask(
            "cot-place",
            {**self._prompt_values(), "level": level, "names": structure_names(level, self.structures)},
            self._parse_places,
            task="ground",
            show=[shown],
            schema=_PLACES,
            query=self.query,
            kind=None,
            frame=await self._frame(shown),
        )
        places = [(one_line(place.structure), to_whole_slice(place, self.part)) for place in found.places]
        names = list(dict.fromkeys(name for name, _ in places))
        regions = [region for name, block in places for region in self.scan.block_regions(block, name)]
        thought = one_line(found.thought) or "; ".join(names) or "passed over"
        link = ChainLink(query=self.query.id, level=level, structures=tuple(names))
        add_answer_step(self.session, "look", regions or [self._region()], f"{level}: {thought}", link)
        if places:
            self.structures = names
            blocks = [block for _, block in places]
            self.span, self.part = narrow(blocks, self.scan.last)
            self.lines.append(format_level(level, names, blocks, thought))
        else:
            self.lines.append(format_level(level, (), (), thought))

    async def ask_lesion(self) -> list[Block]:
        """Ask for the boxes of the finding itself, in shares of whole slices."""
        shown = await self._show_remaining()
        found = await self.session.ask(
            "cot-lesion",
            self._prompt_values(),
            self._parse_lesion,
            task="ground",
            show=[shown],
            schema=_LESION,
            query=self.query,
            kind=None,
            frame=await self._frame(shown),
        )
        blocks = [to_whole_slice(block, self.part) for block in found.blocks]
        regions = [region for block in blocks for region in self.scan.block_regions(block)]
        thought = one_line(found.thought) or f"{len(blocks)} marked"
        link = ChainLink(query=self.query.id, level="lesion")
        add_answer_step(self.session, "look", regions or [self._region()], f"lesion: {thought}", link)
        return blocks

    def _parse_places(self, reply: str) -> ParsedReply[Places]:
        found = json_parser(Places)(reply)
        self.scan.check_spans(place.span for place in found.value.places)
        return found

    def _parse_lesion(self, reply: str) -> ParsedReply[Lesion]:
        found = json_parser(Lesion)(reply)
        self.scan.check_spans(block.span for block in found.value.blocks)
        return found

    def _prompt_values(self) -> dict[str, str]:
        return {
            "finding": self.query.text,
            "windows": format_windows(self.session),
            "path": "\n".join(self.lines) or "nothing yet",
        }

    def _region(self) -> Region:
        return self.scan.whole if self.span is None else self.scan.slices(self.span)

    async def _frame(self, shown: SentImage) -> BoxFrame:
        """Where boxes are marked on what is shown."""
        closer = self.span is not None
        return await self.session.run_in_thread(lambda: self.scan.frame(shown, closer=closer))

    async def _show_remaining(self) -> SentImage:
        if self.span is None:
            (shown,) = await self.session.show_async(self.scan.whole)
            return shown
        return await show_closeup(self.session, self.scan.slices(self.span), self.part)


def narrow(blocks: Sequence[Block], last: int) -> tuple[tuple[int, int], RelativeBox]:
    """The slices, and the part of each, that hold all the blocks, with a rim; `last` is the last slice."""
    first, end = _span(blocks)
    rim = max(1, round((end - first + 1) * _RIM))
    span = max(0, first - rim), min(last, end + rim)
    return span, enclosing_box(*(block.part for block in blocks)).widen(_RIM).at_least(_LEAST)


def format_level(level: str, names: Sequence[str], blocks: Sequence[Block], thought: str) -> str:
    """What was found on a level as the next ones are told; nothing where the level does not apply."""
    if not blocks:
        return f"- {level}: does not apply. {thought}"
    first, end = _span(blocks)
    return f"- {level}: {'; '.join(names)} (slices {first} to {end}). {thought}"


def _span(blocks: Sequence[Block]) -> tuple[int, int]:
    return min(block.span[0] for block in blocks), max(block.span[1] for block in blocks)


def structure_names(level: str, structures: Sequence[str]) -> str:
    """How the structures of a level are called; segments are those of the lobes found before.

    >>> structure_names("lobe", [])[:34]
    'right upper lobe, right middle lob'
    >>> structure_names("segment", ["Right middle lobe"])
    'lateral segment of the right middle lobe, medial segment of the right middle lobe'
    """
    if level == "lung":
        return "right lung, left lung, right pleural space, left pleural space"
    if level == "lobe":
        return ", ".join(lobe.name for lobe in lung_anatomy().lobes)
    before = " ".join(structures).lower()
    own = [lobe for lobe in lung_anatomy().lobes if lobe.name in before] or lung_anatomy().lobes
    return ", ".join(f"{part.name} segment of the {lobe.name}" for lobe in own for part in lobe.segments)
