"""A radiograph read whole: a report with its boxes and steps, or the answer to a question.

The picture is measured (`film_signs`), put into words (`film_words`), and where a question is
asked, it is held against what was measured (`film_answers`). A picture that is no frontal film gets
a reading that says so and marks nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.core import Box, Case, Image, Pictures, Reading, Step, Trace, Whole
from overread.errors import OverreadError
from overread.pixels.image_files import stored_orientation
from overread.pixels.relative_boxes import OrientedImage, RelativeBox
from overread.pixels.sent_images import apply_orientation
from overread.prompts.interleaved import REPORT_CUE
from overread.readers.atlas.film.answers import answer_question
from overread.readers.atlas.film.report import (
    BoxOf,
    FilmSentence,
    FilmWriter,
    compose_report,
    compose_sentences,
)
from overread.readers.atlas.film.signs import FilmSigns, read_signs
from overread.readers.atlas.identity import NAME

_NOTHING = "The picture could not be read as a frontal chest radiograph."


def read_film(case: Case, pictures: Pictures) -> Reading:
    """The report of a radiograph with its steps; where the case asks for an answer, that."""
    asked = case.asks == "answer"
    first = next((one for one in case.pictures if isinstance(one, Image)), None)
    if first is None:
        return _unreadable_reading(case, "there is no flat picture in the case", None, asked=asked)
    try:
        pixels, box_of = _open_upright(pictures, first)
    except OverreadError:
        return _unreadable_reading(case, "the picture could not be opened", first, asked=asked)
    signs = read_signs(pixels)
    if not signs.lungs_found:
        return _unreadable_reading(case, signs.why, first, asked=asked)
    told = compose_sentences(signs)
    pen = FilmWriter(box_of)
    if asked:
        return _answer_reading(case, signs, told, pen, box_of)
    steps = [*pen.steps(signs, told), Step(kind="conclude", text=REPORT_CUE)]
    return Reading(
        case_id=case.id,
        reader=NAME,
        findings=pen.findings(told),
        report=compose_report(told),
        trace=Trace(steps=tuple(steps)),
    )


def _open_upright(pictures: Pictures, picture: Image) -> tuple[NDArray[Any], BoxOf]:
    """The pixels as they are looked at, and what puts edges in them back into the stored frame."""
    stored = np.asarray(pictures.pixels(picture))
    way = stored_orientation(pictures.data(picture))
    shown = np.asarray(apply_orientation(stored, way))
    height, width = shown.shape[:2]
    film = OrientedImage(picture.name, stored.shape[1], stored.shape[0], way)

    def box_of(edges: tuple[float, float, float, float], label: str | None) -> Box:
        left, top, right, bottom = edges
        part = RelativeBox(
            max(0.0, left / width), max(0.0, top / height), min(1.0, right / width), min(1.0, bottom / height)
        )
        return film.to_box(part, label)

    return shown, box_of


def _answer_reading(
    case: Case, signs: FilmSigns, told: list[FilmSentence], pen: FilmWriter, box_of: BoxOf
) -> Reading:
    """The answer, with the regions that it rests on in the thinking before it."""
    answer = answer_question(case.instruction or "", signs, told)
    steps = [Step(kind="say", text="The question is about ")]
    marks = []
    for number, name in enumerate(answer.regions):
        box = box_of(signs.places[name], name)
        corners = f"[{box.x1:.0f}, {box.y1:.0f}, {box.x2:.0f}, {box.y2:.0f}]"
        if number:
            steps.append(Step(kind="say", text=" and "))
        steps.append(Step(kind="say", text=f"the {name} "))
        steps.append(Step(kind="look", text=f"({name} {corners})", regions=(box,)))
        marks.append((name, box, corners))
    steps.append(Step(kind="say", text=f". {answer.because} ", regions=tuple(m[1] for m in marks)))
    places = "".join(f"<ref>{name}</ref><box>{corners}</box>" for name, _, corners in marks)
    final = f"<response><answer>{answer.text}</answer><location>{places}</location></response>"
    steps.append(Step(kind="conclude", text=final, regions=tuple(m[1] for m in marks)))
    return Reading(
        case_id=case.id,
        reader=NAME,
        choice=answer.text,
        rationale=answer.because,
        findings=pen.findings(told),
        trace=Trace(steps=tuple(steps)),
    )


def _unreadable_reading(case: Case, why: str, picture: Image | None, *, asked: bool) -> Reading:
    """A reading that says why nothing was measured; it marks nothing."""
    places = (Whole(picture=picture.name),) if picture else ()
    steps = (
        Step(kind="say", text=f"{_NOTHING} Why: {why}. ", regions=places),
        Step(kind="conclude", text="" if asked else REPORT_CUE),
    )
    return Reading(
        case_id=case.id,
        reader=NAME,
        choice="It cannot be told" if asked else None,
        report=None if asked else _NOTHING,
        findings=(),
        trace=Trace(steps=steps),
    )
