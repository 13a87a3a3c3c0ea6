"""What workflows of several steps share: close-ups, recorded steps, and values formatted for
prompts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from overread.core import Case, ChainLink, Picture, Region, SentImage, Slices
from overread.language.text import one_line
from overread.pixels.montages import closeup_slices, encode_closeup
from overread.pixels.relative_boxes import RelativeBox
from overread.prompts import find_prompt
from overread.session import Session, StepKind

NOT_GIVEN = "not given"
NO_PICTURES = "No picture is shown."


async def show_closeup(session: Session, region: Slices, part: RelativeBox | None = None) -> SentImage:
    """A close-up montage: half as many slices as the overview, larger, optionally cropped to one
    part.
    """
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
                count=closeup_slices(settings.slices),
            ),
            how=("closer", part),
        )

    return await session.run_in_thread(shown)


def add_answer_step(
    session: Session,
    kind: StepKind,
    regions: Sequence[Region],
    text: str | None = None,
    link: ChainLink | None = None,
) -> None:
    """Add a step for the last answer: with its own words, or with `text`."""
    words = last_reply_text(session) if text is None else text
    session.add_step(kind, words, regions, exchange=len(session.exchanges) - 1, link=link)


def last_reply_text(session: Session) -> str:
    """The words of the last answer, as they came."""
    reply = session.exchanges[-1].reply
    return "" if reply is None else reply.text


def render_fragment(session: Session, prompt: str, values: Mapping[str, str]) -> str:
    """A fragment of a question from its own prompt file; its digest is recorded with the others."""
    own = session.settings.prompts
    wording = find_prompt(prompt, Path(own) if own else None)
    session.prompts[prompt] = wording.digest
    return wording.render(values)[1]


def edge_values(part: RelativeBox | None) -> dict[str, str]:
    """The edges of a part, each for a prompt; nothing where there is none."""
    return {} if part is None else {name: f"{edge:.3f}" for name, edge in vars(part).items()}


def format_edges(part: RelativeBox | None) -> str:
    """The edges of a part in one line.

    >>> format_edges(RelativeBox(0, 0.25, 0.5, 1))
    'left 0.000, top 0.250, right 0.500, bottom 1.000'
    """
    return ", ".join(f"{name} {edge}" for name, edge in edge_values(part).items())


def prompt_for(session: Session, prompt: str) -> str:
    """The name of a prompt, or of its wording for a run that shows no picture."""
    return prompt if session.settings.image_ratio else f"{prompt}-no-pictures"


def format_options(case: Case) -> str:
    """The options, one a line."""
    return "\n".join(f"{option.letter}. {option.text}" for option in case.options)


def format_history(case: Case) -> str:
    """The history, or that there is none."""
    return (case.history or "").strip() or NOT_GIVEN


def format_windows(session: Session) -> str:
    """The windows in which slices are shown, in their order."""
    return ", then ".join(f"{name} window" for name in session.settings.windows)


def format_timepoint(picture: Picture) -> str:
    """Which examination a picture is of, where the case states it; else nothing.

    >>> from overread.core import Image
    >>> [format_timepoint(Image(name="image-1", timepoint=time)) for time in (2, None)]
    ['examination 2', '']
    """
    return "" if picture.timepoint is None else f"examination {picture.timepoint}"


def describe_pictures(case: Case, texts: Mapping[str, str]) -> str:
    """What is said of each picture, by its number and its examination."""
    lines = []
    for number, picture in enumerate(case.pictures, 1):
        time = format_timepoint(picture)
        named = f"Picture {number} ({time})" if time else f"Picture {number}"
        lines.append(f"{named}: {one_line(texts.get(picture.name, '')) or 'not described'}")
    return "\n".join(lines) or NO_PICTURES
