"""What workflows of several steps share: closer looks, recorded steps, words that are told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from overread.core import Case, Picture, Region, SentImage, Slices
from overread.pixels.montages import encode_closeup
from overread.pixels.parts import RelativeBox
from overread.prompts import find_prompt
from overread.session import Session, StepKind

NOT_GIVEN = "not given"


async def closer(session: Session, region: Slices, part: RelativeBox | None = None) -> SentImage:
    """Half as many slices as a montage of the whole has, larger, or the same part of each."""
    settings = session.settings

    def shown() -> SentImage:
        return session.show_rendering(
            region,
            lambda: encode_closeup(
                session.pictures,
                session.case.picture(region.picture),
                region,
                part=part,
                longest=settings.longest,
                media=settings.media,
                windows=settings.windows,
                count=max(1, settings.slices // 2),
            ),
            how=("closer", part),
        )

    return await session.run_in_thread(shown)


def record(
    session: Session, kind: StepKind, regions: Sequence[Region], text: str | None = None
) -> None:
    """Record the step that the last answer was: its words, or those that were made of it."""
    words = said(session) if text is None else text
    session.add_step(kind, words, regions, exchange=len(session.exchanges) - 1)


def said(session: Session) -> str:
    """The words of the last answer, as they came."""
    reply = session.exchanges[-1].reply
    return "" if reply is None else reply.text


def worded(session: Session, prompt: str, values: Mapping[str, str]) -> str:
    """A piece of a question that has a file of its own; its digest is kept with the others."""
    own = session.settings.prompts
    wording = find_prompt(prompt, Path(own) if own else None)
    session.prompts[prompt] = wording.digest
    return wording.render(values)[1]


def options_told(case: Case) -> str:
    """The options, one a line."""
    return "\n".join(f"{option.letter}. {option.text}" for option in case.options)


def history_told(case: Case) -> str:
    """The history, or that there is none."""
    return (case.history or "").strip() or NOT_GIVEN


def windows_told(session: Session) -> str:
    """The windows in which slices are shown, in their order."""
    return ", then ".join(f"{name} window" for name in session.settings.windows)


def time_told(picture: Picture) -> str:
    """Which examination a picture is of, where the case states it; else nothing.

    >>> from overread.core import Image
    >>> time_told(Image(name="image-1", timepoint=2)), time_told(Image(name="image-1"))
    ('examination 2', '')
    """
    return "" if picture.timepoint is None else f"examination {picture.timepoint}"
