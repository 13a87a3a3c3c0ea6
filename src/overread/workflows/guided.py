"""The report of a radiograph whose reference trace a run reveals: one question.

What the trace says of its regions is told in place of the reader's own looks. The setting
`evidence` says what comes with the words: the trace's cut-outs (`multimodal`), its boxes (`boxes`),
the film alone (`text`), or not even that (`words`).
"""

from __future__ import annotations

from typing import Any

from overread.core import Case, Image, SentImage, TracedLook
from overread.errors import ReaderError
from overread.pixels.relative_boxes import oriented_image
from overread.pixels.sent_images import encode_file
from overread.session import Session
from overread.workflows.final_question import ask_report, report_instruction
from overread.workflows.prompt_values import format_edges


async def ask_guided_report(case: Case, session: Session) -> dict[str, Any]:
    """The report after what the revealed trace says, as a part of a reading."""
    evidence = session.settings.evidence
    show: list[SentImage] = [] if evidence == "words" else await session.show_async()
    looks = [look for one in session.hints.trace for look in one.looks]
    if evidence == "multimodal":
        show += [await _show_cutout(session, look) for look in looks]
    told = {"instruction": report_instruction(case), "notes": await _format_trace(case, session)}
    prompt = "guided-report-words" if evidence == "words" else "guided-report"
    return await ask_report(session, prompt, told, show=show)


async def _show_cutout(session: Session, look: TracedLook) -> SentImage:
    """The release's own cut-out; where it has none, what is in the box."""
    read, settings = look.cutout, session.settings
    if read is None:
        (shown,) = await session.show_async(look.box)
        return shown
    return await session.run_in_thread(
        lambda: session.show_rendering(
            look.box,
            lambda: encode_file(read(), longest=settings.longest, media=settings.media),
            how="of the trace",
        )
    )


async def _format_trace(case: Case, session: Session) -> str:
    """What the trace says, region by region, with as much of its looks as the arm has."""
    evidence = session.settings.evidence
    film = None
    if evidence in ("boxes", "multimodal"):
        picture = case.pictures[0]
        if not isinstance(picture, Image):
            raise ReaderError("the boxes of a trace need a case with a 2D image")
        film = await session.run_in_thread(lambda: oriented_image(session.pictures, picture))
    lines, shown = [], 1
    for one in session.hints.trace:
        places = [] if film is None else [format_edges(film.to_part(look.box)) for look in one.looks]
        if evidence == "multimodal":
            places = [f"picture {number}: {place}" for number, place in enumerate(places, shown + 1)]
        shown += len(places)
        where = f" ({'; '.join(places)})" if places else ""
        lines.append(f"- {one.region or 'no name'}{where}: {one.words or 'nothing else is said'}")
    return "\n".join(lines)
