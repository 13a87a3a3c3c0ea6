"""The film part of `atlas` on films drawn by hand: what is in them is known."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image as Pillow
from scipy import ndimage

from overread.core import Box, Case, Image
from overread.errors import PictureError
from overread.language.statements import find_statements
from overread.prompts.interleaved import join_response, parse_interleaved, parse_thinking
from overread.readers.atlas.film.answers import answer_question
from overread.readers.atlas.film.reading import read_film
from overread.readers.atlas.film.report import compose_sentences
from overread.readers.atlas.film.signs import FilmSigns, read_signs

Grey = NDArray[np.uint8]
SIZE = 400
RIGHT, LEFT = (55, 60, 185, 330), (215, 60, 345, 330)
"""Where the lungs are drawn; the patient's right is on the picture's left."""


def _disc(x: float, y: float, wide: float, tall: float) -> NDArray[np.bool_]:
    rows, columns = np.mgrid[:SIZE, :SIZE]
    return np.asarray(((columns - x) / wide) ** 2 + ((rows - y) / tall) ** 2 < 1)


def drawn(
    *, heart: float = 1.0, patch: tuple[float, float, float] | None = None, fluid: bool = False
) -> Grey:
    """A chest: body, two lungs with a dome below each, spine, heart; and what is wrong with it."""
    rows, columns = np.mgrid[:SIZE, :SIZE]
    film = np.full((SIZE, SIZE), 0.02)
    film[(np.abs(columns - 200) < 185 - 0.15 * np.abs(rows - 200)) & (rows > 12)] = 0.62
    lungs = np.zeros((SIZE, SIZE), bool)
    for x1, y1, x2, y2 in (RIGHT, LEFT):
        inner = x2 if x2 < 200 else x1
        outer = x1 if x2 < 200 else x2
        along = (rows - y1) / (y2 - y1)
        reach = np.sqrt(np.clip(1 - (1 - np.clip(along, 0, 1)) ** 2.4, 0, 1))
        edge = inner + (outer - inner) * (0.35 + 0.65 * reach)
        between = (columns > np.minimum(inner, edge)) & (columns < np.maximum(inner, edge))
        lung = between & (along > 0) & (along < 1)
        lung &= ~_disc((inner + outer) / 2 + (inner - outer) * 0.1, 345, 72, 62)
        lungs |= lung
    film[lungs] = 0.22
    film[_disc(188, 245, 44 * heart, 58)] = 0.75
    film[_disc(215, 262, 56 * heart, 52)] = 0.75
    film[(np.abs(columns - 200) < 16) & (rows > 10)] = 0.82
    film[(rows > 300) & ~lungs & (film > 0.1)] = 0.8
    if patch is not None:
        x, y, radius = patch
        film[_disc(x, y, radius, radius) & lungs] += 0.28
    if fluid:
        level = 300 - 45 * np.clip((columns - 290) / 55, 0, 1)
        film[lungs & (columns > 285) & (rows > level)] = 0.75
    film = ndimage.gaussian_filter(film, 1.5)
    film += np.random.default_rng(3).normal(0, 0.01, film.shape)
    return np.asarray(np.clip(film, 0, 1) * 255, np.uint8)


@pytest.fixture(scope="module")
def plain() -> FilmSigns:
    """A film with nothing wrong."""
    return read_signs(drawn())


def _iou(one: Any, other: Any) -> float:
    wide = min(one[2], other[2]) - max(one[0], other[0])
    tall = min(one[3], other[3]) - max(one[1], other[1])
    shared = max(wide, 0) * max(tall, 0)
    areas = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other))
    return float(shared / (areas - shared))


def _lungs_fit(found: FilmSigns, left: int = 0, top: int = 0) -> None:
    for name, (x1, y1, x2, y2) in (("right lung", RIGHT), ("left lung", LEFT)):
        drawn_at = (x1 + left, y1 + top, x2 + left, y2 + top)
        assert _iou(found.places[name], drawn_at) > 0.7, (name, found.places[name])


def test_lungs_are_found_where_they_were_drawn(plain: FilmSigns) -> None:
    """Both boxes overlap the drawn ones, the right lung on the picture's left."""
    assert plain.lungs_found
    _lungs_fit(plain)


def test_a_negative_film_is_turned_round() -> None:
    """With air stored white the same lungs are found, and the reader says that it was so."""
    found = read_signs(255 - drawn())
    assert found.lungs_found
    assert found.inverted
    _lungs_fit(found)


def test_a_black_frame_moves_the_boxes_with_it() -> None:
    """A rim of black is cut off, and boxes are in the pixels of the whole picture."""
    framed = np.zeros((SIZE + 100, SIZE + 60), np.uint8)
    framed[70 : 70 + SIZE, 40 : 40 + SIZE] = drawn()
    found = read_signs(framed)
    assert found.lungs_found
    _lungs_fit(found, 40, 70)


def test_a_plain_film_has_no_signs(plain: FilmSigns) -> None:
    """Where nothing was drawn, everything that is looked for is absent."""
    assert [sign.name for sign in plain.signs if sign.present] == []
    looked_for = {sign.name for sign in plain.signs}
    assert looked_for == {"lung opacity", "pleural effusion", "pneumothorax", "cardiomegaly"}


@pytest.mark.parametrize(("x", "side"), [(95, "right"), (300, "left")])
def test_an_opacity_is_found_where_it_was_drawn(x: int, side: str) -> None:
    """A drawn patch is a sign of that side, its box over the patch, and the other side is clear."""
    found = read_signs(drawn(patch=(x, 215, 24)))
    dense = [sign for sign in found.signs if sign.present and sign.name != "cardiomegaly"]
    assert {sign.side for sign in dense} == {side}
    box = dense[0].box
    assert box is not None
    assert _iou(box, (x - 24, 191, x + 24, 239)) > 0.3
    assert not any(
        sign.side == side for sign in found.signs if sign.name == "lung opacity" and not sign.present
    )


def test_a_wide_heart_is_measured_and_named(plain: FilmSigns) -> None:
    """The ratio grows with the drawn heart, and only the wide one is enlarged."""
    wide = read_signs(drawn(heart=1.4))
    assert plain.heart_ratio is not None
    assert wide.heart_ratio is not None
    assert wide.heart_ratio > plain.heart_ratio + 0.08
    assert wide.find_present("cardiomegaly")
    assert not plain.find_present("cardiomegaly")


def test_fluid_blunts_the_angle_of_its_side() -> None:
    """A drawn meniscus is an effusion on the left and none on the right."""
    found = read_signs(drawn(fluid=True))
    assert found.find_present("pleural effusion", "left")
    assert not found.find_present("pleural effusion", "right")


def _photograph() -> NDArray[np.uint8]:
    rows, columns = np.mgrid[:200, :300]
    return np.stack([rows, columns * 0.8, 255 - rows], axis=-1).astype(np.uint8)


@pytest.mark.parametrize(
    "picture",
    [
        pytest.param(_photograph(), id="photograph"),
        pytest.param(np.full((300, 300), 90, np.uint8), id="one tone"),
        pytest.param(np.zeros((20, 20), np.uint8), id="tiny"),
        pytest.param(np.random.default_rng(0).integers(0, 255, (300, 260), np.uint8), id="noise"),
        pytest.param(drawn()[60:330, 55:190], id="one lung"),
        pytest.param(np.rot90(drawn()), id="lying"),
    ],
)
def test_what_is_no_frontal_film_is_not_measured(picture: NDArray[np.uint8]) -> None:
    """Such a picture has no lungs, no regions and no signs, and the reason is told."""
    found = read_signs(picture)
    assert not found.lungs_found
    assert not found.places
    assert not found.signs
    assert found.why


# ---- the whole reading ---------------------------------------------------------------------


class Shelf:
    """One picture, as a release would open it."""

    def __init__(self, pixels: NDArray[np.uint8] | None) -> None:
        self._pixels = pixels

    def data(self, picture: Any) -> bytes:
        """The bytes of a PNG."""
        out = io.BytesIO()
        Pillow.fromarray(self.pixels(picture)).save(out, "PNG")
        return out.getvalue()

    def pixels(self, picture: Any) -> Any:
        """The pixels, where there are any."""
        if self._pixels is None:
            raise PictureError("damaged")
        return self._pixels

    def geometry(self, picture: Any) -> Any:
        """There is no volume here."""
        raise PictureError("flat")


def _case(**changes: Any) -> Case:
    picture = Image(name="image-1", file="a.png")
    parts = {"id": "c", "benchmark": "mmrad", "split": "test", "pictures": (picture,)}
    return Case(**{**parts, **changes})


def test_the_report_is_read_back_as_it_was_meant() -> None:
    """By the language rules the report states the drawn patch and denies what was absent."""
    reading = read_film(_case(), Shelf(drawn(patch=(95, 215, 24))))
    assert reading.report
    told = find_statements(reading.report)
    there = {(one.observation, one.side) for one in told if one.presence == "present"}
    assert len(there) == 1
    assert {side for _, side in there} == {"right"}
    absent = {one.observation for one in told if one.presence == "absent"}
    assert {"pleural effusion", "pneumothorax", "cardiomegaly"} <= absent


def test_the_trace_comes_back_from_its_response() -> None:
    """Joined and parsed as an interleaved response, looks, boxes and the report are the same."""
    reading = read_film(_case(), Shelf(drawn(patch=(95, 215, 24))))
    assert reading.trace
    looks = [step for step in reading.trace.steps if step.kind == "look"]
    parsed = parse_interleaved(
        join_response(reading.trace, reading.report), ["crop"] * len(looks), picture="image-1"
    )
    assert parsed.oddities == ()
    assert parsed.report == reading.report
    again = [step.regions for step in parsed.trace.steps if step.kind == "look"]
    assert again == [step.regions for step in looks]
    assert len(looks) == 3


def test_each_conclusion_has_its_measurement_and_place() -> None:
    """Every finding has a box in the picture, and a step gives the number behind it."""
    reading = read_film(_case(), Shelf(drawn(heart=1.4)))
    assert reading.findings
    assert reading.trace
    for finding in reading.findings:
        assert finding.regions
        assert all(isinstance(box, Box) and 0 <= box.x1 < box.x2 <= SIZE for box in finding.regions)
    measured = [step for step in reading.trace.steps if "Measured" in step.text]
    assert all(step.regions for step in measured)
    assert any("ratio of its width" in step.text for step in measured)


def test_the_same_film_is_read_the_same_twice() -> None:
    """Nothing is drawn by lot."""
    shelf = Shelf(drawn(fluid=True))
    assert read_film(_case(), shelf) == read_film(_case(), shelf)


@pytest.mark.parametrize("pixels", [None, np.full((300, 300), 90, np.uint8)])
def test_bad_input_gives_a_reading_that_says_so(pixels: NDArray[np.uint8] | None) -> None:
    """A picture that cannot be opened, or is none, gives words and no marks."""
    reading = read_film(_case(), Shelf(pixels))
    assert reading.findings == ()
    assert reading.report
    assert not find_statements(reading.report)
    assert reading.trace
    assert "Why:" in reading.trace.steps[0].text


# ---- questions -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Is the heart normal in size?", "Yes"),
        ("Does this radiograph show an enlarged heart?", "No"),
        ("Is there a pleural effusion on the left?", "Yes"),
        ("Is the left costophrenic angle sharp?", "No"),
        ("Is there a pneumothorax on the right?", "No"),
        ("Which finding is seen? A. Pneumothorax on the left B. None of these", "B"),
        (
            "Which of these are true of this radiograph? A. Normal heart size "
            "B. Sharp right costophrenic angle C. Sharp left costophrenic angle",
            "A, B",
        ),
        ("What does the left costophrenic angle show?", "Pleural effusion on the left."),
        ("Is the cardiothoracic ratio above 0.90?", "No"),
    ],
)
def test_questions_are_answered_by_what_was_measured(fluid: FilmSigns, question: str, answer: str) -> None:
    """Yes or no, letters and words follow from a film with fluid on the left alone."""
    assert answer_question(question, fluid, compose_sentences(fluid)).text == answer


@pytest.fixture(scope="module")
def fluid() -> FilmSigns:
    """A film with fluid on the left."""
    return read_signs(drawn(fluid=True))


def test_an_answer_names_its_regions_in_its_thinking() -> None:
    """The trace of an answer parses as a thinking response, with the box of the region asked of."""
    case = _case(asks="answer", instruction="Is the left costophrenic angle sharp?")
    reading = read_film(case, Shelf(drawn(fluid=True)))
    assert reading.choice == "No"
    assert reading.trace
    parsed = parse_thinking(join_response(reading.trace, None), picture="image-1")
    assert parsed.answer == "No"
    looks = [step for step in parsed.trace.steps if step.kind == "look"]
    assert [box.label for step in looks for box in step.regions if isinstance(box, Box)] == [
        "left costophrenic angle"
    ]


@pytest.mark.shared
def test_real_lungs_are_boxed(shared: Path) -> None:
    """On the real films with boxes the lungs overlap them by .6 on average."""
    told = json.loads((shared / "cxr" / "lung_boxes.json").read_text())
    names = {image["id"]: image["file_name"] for image in told["images"]}
    overlaps = []
    found: dict[str, FilmSigns] = {}
    for one in told["annotations"]:
        file = shared / "cxr" / "images" / names[one["image_id"]]
        if file.name not in found:
            with Pillow.open(file) as picture:
                found[file.name] = read_signs(np.asarray(picture.convert("RGB")))
        x, y, wide, tall = one["bbox"]
        lung = {1: "right lung", 2: "left lung"}[one["category_id"]]
        place = found[file.name].places.get(lung, (0, 0, 1, 1))
        overlaps.append(_iou(place, (x, y, x + wide, y + tall)))
    assert np.mean(overlaps) >= 0.6
