"""The simplest way to read: one question a case, or one for each sentence to be found.

What is asked follows from the case: options are chosen from, sentences are found in the volume, a
question is answered in words, and any other picture gets its report.
"""

from __future__ import annotations

from overread.core import Case, Mask, Query, Reading
from overread.errors import ReaderError
from overread.session import Session
from overread.workflows.answering import answer, choose, instruction_of, report, schema_of
from overread.workflows.blocks import Blocks, Scan, find_each
from overread.workflows.looking import options_told, windows_told


async def direct(case: Case, session: Session) -> Reading:
    """Choose, find, answer or report: one question each."""
    if case.options:
        told = {"history": case.history or "not given", "options": options_told(case)}
        show = await session.show_async()
        return session.reading(**await choose(case, session, "choose", told, show=show))
    if case.queries:
        return await find_each(case, session, _boxed)
    if case.asks == "answer" and case.instruction:
        told = {"question": case.instruction}
        return session.reading(
            **await answer(session, "answer", told, show=await session.show_async())
        )
    if case.pictures:
        told = {"instruction": instruction_of(case)}
        return session.reading(
            **await report(session, "report", told, show=await session.show_async())
        )
    # This case only: the next one may have something to ask.
    raise ReaderError("there are neither options, nor sentences, nor a picture to report on")


async def _boxed(scan: Scan, query: Query, session: Session) -> Mask:
    """A reader of words is shown a montage of slices and marks boxes, which become the mask."""
    blocks = await session.ask(
        "ground",
        {"finding": query.text, "windows": windows_told(session)},
        scan.read_blocks,
        task="ground",
        show=await session.show_async(),
        schema=schema_of(Blocks),
        query=query,
    )
    return await scan.mark(query, blocks)
