"""The simplest way to read: one question a case, or one for each sentence to be found.

What is asked follows from the case: options are chosen from, sentences are found in the volume, a
question is answered in words, and any other picture gets its report.
"""

from __future__ import annotations

from overread.core import Case, Mask, Query, Reading
from overread.errors import ReaderError
from overread.session import Session
from overread.workflows.blocks import Blocks, CaseScan, ground_queries
from overread.workflows.final_question import (
    ask_answer,
    ask_choice,
    ask_report,
    cached_schema,
    report_instruction,
)
from overread.workflows.guided import ask_guided_report
from overread.workflows.prompt_values import (
    NOT_GIVEN,
    describe_pictures,
    format_options,
    format_windows,
    prompt_for,
)


async def direct(case: Case, session: Session) -> Reading:
    """Choose, find, answer or report: one question each."""
    if case.options:
        history = case.history or ""
        # Not stripped: cached replies are found by the exact words.
        told = {"history": history if history.strip() else NOT_GIVEN, "options": format_options(case)}
        show = await session.show_async()
        expert = _format_expert_words(case, session)
        told |= {"expert": expert} if expert else {}
        prompt = prompt_for(session, "choose-told" if expert else "choose")
        return session.reading(**await ask_choice(case, session, prompt, told, show=show))
    if case.queries:
        return await ground_queries(case, session, _ground_by_boxes)
    if case.asks == "answer" and case.instruction:
        told = {"question": case.instruction}
        show, prompt = await session.show_async(), prompt_for(session, "answer")
        return session.reading(**await ask_answer(session, prompt, told, show=show))
    if case.pictures:
        if session.hints.trace:
            return session.reading(**await ask_guided_report(case, session))
        told = {"instruction": report_instruction(case)}
        return session.reading(**await ask_report(session, "report", told, show=await session.show_async()))
    # This case only: the next one may have something to ask.
    raise ReaderError("the case has no options, no sentences to locate and no picture to report on")


def _format_expert_words(case: Case, session: Session) -> str:
    """What the run reveals of the experts' words, under the headings that `twi` has for its own."""
    hints, parts = session.hints, []
    if hints.captions:
        parts.append(f"What each picture shows:\n{describe_pictures(case, hints.captions)}")
    if hints.summary:
        parts.append(f"Summary of the imaging findings:\n{hints.summary}")
    return "\n\n".join(parts)


async def _ground_by_boxes(scan: CaseScan, query: Query, session: Session) -> Mask:
    """A reader of words is shown a montage of slices and marks boxes, which become the mask."""
    show = await session.show_async()
    blocks = await session.ask(
        "ground",
        {"finding": query.text, "windows": format_windows(session)},
        scan.parse_blocks,
        task="ground",
        show=show,
        schema=cached_schema(Blocks),
        query=query,
        frame=await session.run_in_thread(lambda: scan.frame(show[0])),
    )
    return await scan.hand_in_mask(query, blocks)
