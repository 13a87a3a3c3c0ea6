"""Boxes that a reader of words marks on slices of a CT, and the masks that become of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from overread.core import (
    Box,
    Case,
    Geometry,
    Mask,
    Picture,
    Query,
    Reading,
    Region,
    SentImage,
    Slices,
    Volume,
    Whole,
)
from overread.errors import BadReply, ReaderError
from overread.pixels.geometry import from_ras, ras_geometry
from overread.pixels.montages import closeup_slices, tile_edges
from overread.pixels.relative_boxes import RelativeBox
from overread.pixels.sparse_masks import to_sparse_mask
from overread.prompts.box_words import BoxFrame
from overread.prompts.replies import ParsedReply, json_parser
from overread.session import Session


class Block(BaseModel):
    """A box through some slices, in shares of the slice's width and height."""

    first_slice: int = Field(ge=0)
    last_slice: int = Field(ge=0)
    left: float = Field(ge=0, le=1)
    top: float = Field(ge=0, le=1)
    right: float = Field(ge=0, le=1)
    bottom: float = Field(ge=0, le=1)

    @property
    def span(self) -> tuple[int, int]:
        """The lower slice and the upper one."""
        first, last = sorted((self.first_slice, self.last_slice))
        return first, last

    @property
    def part(self) -> RelativeBox:
        """Its edges, the left one first."""
        (left, right), (top, bottom) = (sorted((self.left, self.right)), sorted((self.top, self.bottom)))
        return RelativeBox(left, top, right, bottom)


class Blocks(BaseModel):
    """Where a finding is; nothing where it is not there."""

    blocks: list[Block] = Field(max_length=50)


def make_block(span: tuple[int, int], part: RelativeBox) -> Block:
    """A block from its slices and its edges."""
    return Block(first_slice=span[0], last_slice=span[1], **vars(part))


def to_whole_slice(block: Block, shown: RelativeBox | None) -> Block:
    """A block marked on a part of the slices, in shares of whole slices."""
    return block if shown is None else make_block(block.span, block.part.within(shown))


class CaseScan:
    """The CT of a case, in which sentences are found."""

    def __init__(self, session: Session, picture: Picture | None = None) -> None:
        """The first picture of the case, or another; it is not opened before it is needed."""
        self._session = session
        self.picture = picture or session.case.pictures[0]
        self.whole = Whole(picture=self.picture.name)

    @cached_property
    def space(self) -> Geometry:
        """Where its voxels lie."""
        return self._session.pictures.geometry(self.picture)

    @cached_property
    def size(self) -> tuple[int, int, int]:
        """Voxels across and down an axial slice as it is shown, and the number of slices."""
        return ras_geometry(self.space).shape

    @property
    def last(self) -> int:
        """Number of the uppermost slice."""
        return self.size[2] - 1

    def check_spans(self, spans: Iterable[tuple[int, int]]) -> None:
        """Refuse slices that are not there."""
        if any(span[1] > self.last for span in spans):
            raise BadReply(f"the slices of this CT are 0 to {self.last}")

    def parse_blocks(self, reply: str) -> ParsedReply[list[Block]]:
        """The boxes of an answer, all of them in the CT."""
        found = json_parser(Blocks)(reply)
        self.check_spans(block.span for block in found.value.blocks)
        return ParsedReply(found.value.blocks, found.repaired)

    def frame(self, shown: SentImage, *, closer: bool = False) -> BoxFrame:
        """The tiles of a montage of this CT, on which boxes are marked; `closer` for a close-up."""
        if self._session.reader.boxes.unit == "share":
            return BoxFrame(shown)  # shares are those of a tile whichever it is
        settings = self._session.settings
        tiles = tile_edges(
            shown.width,
            shown.height,
            shown.region,
            self.last,
            windows=len(settings.windows),
            count=closeup_slices(settings.slices) if closer else settings.slices,
        )
        return BoxFrame(shown, tiles)

    def slices(self, span: tuple[int, int]) -> Slices:
        """Some of its slices as a region."""
        return Slices(picture=self.picture.name, first=span[0], last=span[1])

    def block_regions(self, block: Block, label: str | None = None) -> tuple[Region, ...]:
        """A block as regions: its slices, and its edges in the voxels of a slice as it is shown."""
        x1, y1, x2, y2 = block.part.to_pixels(*self.size[:2])
        edges = Box(picture=self.picture.name, x1=x1, y1=y1, x2=x2, y2=y2, label=label)
        return self.slices(block.span), edges

    async def hand_in_mask(self, query: Query, blocks: Sequence[Block], note: str = "") -> Mask:
        """Hand in the blocks as the mask of a sentence."""
        # Millions of voxels: aside, so that other cases go on.
        mask = await asyncio.to_thread(lambda: to_sparse_mask(fill_blocks(blocks, self.space)))
        return self._session.keep_mask(query, mask, note)


FindMask = Callable[[CaseScan, Query, Session], Awaitable[Mask]]


async def ground_queries(case: Case, session: Session, find: FindMask) -> Reading:
    """A mask for every sentence: the reader's own where it draws masks, else made by `find`."""
    if not case.queries:
        raise ReaderError("the case has no sentences to locate")
    if not case.pictures or not isinstance(case.pictures[0], Volume):
        raise ReaderError("the first picture of the case is not a volume")
    draws = "masks" in session.reader.skills
    scan = CaseScan(session)
    findings = []
    for query in case.queries:
        region = await (session.draw(query) if draws else find(scan, query, session))
        findings.append(session.finding_for(query, region))
    return session.reading(findings=tuple(findings))


def fill_blocks(blocks: Sequence[Block], space: Geometry) -> NDArray[Any]:
    """The mask of boxes given on axial slices as they are shown: right on the left, front on top.

    >>> from overread.pixels.geometry import make_geometry
    >>> space = make_geometry((10, 8, 4), np.diag([1.0, 1.0, 1.0, 1.0]), where="here")
    >>> half = Block(first_slice=1, last_slice=1, left=0, top=0, right=0.5, bottom=1)
    >>> mask = fill_blocks([half], space)
    >>> int(mask.sum()), bool(mask[9, 0, 1]), bool(mask[0, 0, 1])
    (40, True, False)
    """
    across, down, slices = ras_geometry(space).shape
    mask = np.zeros((across, down, slices), dtype=bool)
    for block in blocks:
        (first, last), part = block.span, block.part
        left, right = round(part.left * across), round(part.right * across)
        top, bottom = round(part.top * down), round(part.bottom * down)
        # Shown slices run from the patient's right and from the front; stored RAS from the others.
        mask[across - right : across - left, down - bottom : down - top, first : last + 1] = True
    return np.asarray(from_ras(mask, space))
