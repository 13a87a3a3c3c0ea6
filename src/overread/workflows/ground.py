"""A sentence → a mask, in two looks: which slices, then where in them.

A reader that draws draws. A reader of words is shown a montage of the whole scan and names the
slices; then it is shown these, larger, and marks boxes.
"""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel, Field

from overread.core import Case, Mask, Query, Reading
from overread.prompts.replies import ParsedReply, json_parser, strict_schema
from overread.session import Session
from overread.workflows.blocks import Block, Blocks, CaseScan, ground_queries
from overread.workflows.prompt_values import add_answer_step, format_windows, show_closeup

Span = tuple[int, int]


class Range(BaseModel):
    """Some slices."""

    first_slice: int = Field(ge=0)
    last_slice: int = Field(ge=0)


class Ranges(BaseModel):
    """The slices in which a finding is; none where it is not seen."""

    ranges: list[Range] = Field(max_length=6)


_RANGES = strict_schema(Ranges)
_BLOCKS = strict_schema(Blocks)


async def ground(case: Case, session: Session) -> Reading:
    """A mask for every sentence of the case."""
    return await ground_queries(case, session, _ground_in_two_looks)


async def _ground_in_two_looks(scan: CaseScan, query: Query, session: Session) -> Mask:
    def ranges(reply: str) -> ParsedReply[list[Span]]:
        found = json_parser(Ranges)(reply)
        pairs = [sorted((one.first_slice, one.last_slice)) for one in found.value.ranges]
        spans = [(first, last) for first, last in pairs]
        scan.check_spans(spans)
        return ParsedReply(spans, found.repaired)

    spans = await session.ask(
        "ground-range",
        {"finding": query.text, "windows": format_windows(session)},
        ranges,
        task="ground",
        show=await session.show_async(scan.whole),
        schema=_RANGES,
        query=query,
        kind=None,
    )
    add_answer_step(session, "look", [scan.slices(span) for span in spans] or [scan.whole])
    blocks: list[Block] = []
    for span in widen_spans(spans, scan.last, session.settings.slices):
        blocks += await _ask_boxes(scan, span, query, session)
    return await scan.hand_in_mask(query, blocks)


async def _ask_boxes(scan: CaseScan, span: Span, query: Query, session: Session) -> list[Block]:
    """The boxes that are marked in some slices."""
    region = scan.slices(span)
    shown = await show_closeup(session, region)
    values = {
        "finding": query.text,
        "windows": format_windows(session),
        "first": f"{span[0]}",
        "last": f"{span[1]}",
    }
    found = await session.ask(
        "ground-boxes",
        values,
        scan.parse_blocks,
        task="ground",
        show=[shown],
        schema=_BLOCKS,
        query=query,
        kind=None,
        frame=await session.run_in_thread(lambda: scan.frame(shown, closer=True)),
    )
    add_answer_step(session, "look", [region, *(r for block in found for r in scan.block_regions(block))])
    return found


def widen_spans(spans: Iterable[Span], last: int, shown: int) -> list[Span]:
    """Spans with a rim as wide as the gap between two slices of the montage; touching ones joined.

    What ends between two shown slices is named by one of them, and may reach almost to the other.

    >>> widen_spans([(40, 44), (90, 90), (46, 50)], last=99, shown=12)
    [(31, 59), (81, 99)]
    """
    gap = -(-last // max(1, shown - 1))
    found: list[Span] = []
    for first, end in sorted(spans):
        first, end = max(0, first - gap), min(last, end + gap)
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((first, end))
    return found
