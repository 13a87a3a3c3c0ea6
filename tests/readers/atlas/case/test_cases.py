"""The case part of atlas: kinds of pictures, signs of slices, knowledge, weighing, whole readings.

The slices are drawn here with a few ellipses, so that what they show is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from overread.core import Case, Image, Option
from overread.errors import PictureError
from overread.ontology.diagnoses import diagnoses
from overread.readers.atlas.case.knowledge import match_diagnosis
from overread.readers.atlas.case.option_weights import weigh_options
from overread.readers.atlas.case.picture_kinds import recognise_kind
from overread.readers.atlas.case.reading import read_case
from overread.readers.atlas.reader import make
from overread.readers.atlas.slice.lung_window import lung_signs
from overread.readers.atlas.slice.signs import PictureSign

Pixels = NDArray[np.uint8]
SIZE = 512
LUNG = (-1350.0, 150.0)
MEDIASTINUM = (-160.0, 240.0)


def inside(cx: float, cy: float, rx: float, ry: float) -> NDArray[np.bool_]:
    """An ellipse in a picture of 512 pixels."""
    y, x = np.mgrid[:SIZE, :SIZE]
    return np.asarray(((x - cx) / rx) ** 2 + ((y - cy) / ry) ** 2 <= 1)


def chest() -> NDArray[np.float64]:
    """HU of a plain axial slice: body, ribs, two lungs with a few vessels, heart, spine."""
    hu = np.full((SIZE, SIZE), -1000.0)
    hu[inside(256, 256, 235, 175)] = 40
    ring = inside(256, 250, 205, 146) & ~inside(256, 250, 197, 138)
    hu[ring] = 400
    for side in (-1, 1):
        hu[inside(256 + side * 100, 245, 82, 118)] = -850
    hu[inside(275, 235, 62, 55)] = 45
    hu[inside(256, 372, 26, 24)] = 500
    dice = np.random.default_rng(5)
    for _ in range(24):
        angle, far = dice.uniform(0, 2 * np.pi), dice.uniform(0.1, 0.7)
        side = dice.choice([-1, 1])
        x, y = 256 + side * 108 + 70 * far * np.cos(angle), 245 + 100 * far * np.sin(angle)
        hu[inside(x, y, 2.0, 2.0)] = 20
    return hu


def shown(hu: NDArray[np.float64], window: tuple[float, float] = LUNG) -> Pixels:
    """A slice as a picture of eight bits, with a little noise."""
    noise = np.random.default_rng(7).normal(0, 12, hu.shape)
    low, high = window
    return np.clip((hu + noise - low) / (high - low) * 255, 0, 255).astype(np.uint8)


def sure(pixels: Pixels) -> dict[str, float]:
    """Sign → how sure it is in a slice in the lung window."""
    kind = recognise_kind(pixels)
    assert kind.cut is not None
    assert kind.plane is not None
    return {sign.name: sign.confidence for sign in lung_signs(kind.cut, kind.plane)}


class Shelf:
    """Pictures by name, as a session would open them."""

    def __init__(self, pictures: Mapping[str, Any]) -> None:
        self.held = pictures

    def data(self, picture: Any) -> Path | bytes:
        """No bytes are needed here."""
        raise NotImplementedError

    def pixels(self, picture: Any) -> Any:
        """The pixels of one picture; None stands for a broken file."""
        held = self.held[picture.name]
        if held is None:
            raise PictureError("broken")
        return held

    def geometry(self, picture: Any) -> Any:
        """No volume is here."""
        raise NotImplementedError


def case_of(pictures: Mapping[str, Any], options: list[str]) -> tuple[Case, Shelf]:
    """A case with these pictures and options."""
    case = Case(
        id="one",
        benchmark="made",
        split="test",
        pictures=tuple(Image(name=name, file=f"{name}.png") for name in pictures),
        options=tuple(
            Option(letter=letter, text=text) for letter, text in zip("ABCDE", options, strict=False)
        ),
    )
    return case, Shelf(pictures)


OPTIONS = [
    "Spontaneous pneumothorax",
    "Lobar pneumonia",
    "Pulmonary alveolar proteinosis",
    "Exudative pleurisy",
    "Centrilobular emphysema",
]


def test_windows_of_an_axial_slice_are_recognised() -> None:
    """The same slice is told as lung window and as mediastinal window."""
    lung, soft = recognise_kind(shown(chest())), recognise_kind(shown(chest(), MEDIASTINUM))
    assert (lung.name, lung.plane, lung.window) == ("ct", "axial", "lung")
    assert (soft.name, soft.plane, soft.window) == ("ct", "axial", "mediastinum")


@pytest.mark.parametrize(
    "pixels",
    [
        np.zeros((300, 300), np.uint8),
        np.zeros((8, 8), np.uint8),
        np.zeros((0, 0), np.uint8),
        np.random.default_rng(1).integers(0, 255, (300, 400, 3)).astype(np.uint8),
        np.random.default_rng(2).integers(0, 255, (300, 400)).astype(np.uint8),
        np.full((5, 2000), 9, np.uint16),
        shown(np.where(inside(256, 256, 150, 190), 40.0, -1000.0)),
    ],
    ids=["black", "tiny", "empty", "colours", "noise", "strip", "no lungs"],
)
def test_other_pictures_are_not_understood(pixels: NDArray[Any]) -> None:
    """What is no slice or film of a chest is said not to be understood, and nothing is raised."""
    assert recognise_kind(pixels).name == "other"


def test_a_plain_slice_shows_little() -> None:
    """A slice with nothing but a heart and vessels is called neither hazy nor collapsed."""
    seen = sure(shown(chest()))
    for name in ("ground glass", "pneumothorax", "effusion", "honeycombing", "cysts", "mass"):
        assert seen[name] < 0.5, name


def test_haze_fluid_gas_and_cavity_are_seen_where_they_are() -> None:
    """Each thing that is drawn into the plain slice makes its own sign sure, on its own side."""
    plain = chest()
    air = plain == -850
    haze = np.where(air & inside(160, 230, 60, 70), -600.0, plain)
    assert sure(shown(haze))["ground glass"] > 0.8
    fluid = plain.copy()
    rows = np.arange(SIZE)[:, None]
    fluid[(inside(156, 245, 82, 118)) & (rows > 300)] = 10
    kind = recognise_kind(shown(fluid))
    assert kind.cut is not None
    effusion = next(s for s in lung_signs(kind.cut, "axial") if s.name == "effusion")
    assert effusion.confidence > 0.8
    assert effusion.side == "right"
    gas = np.where(inside(356, 245, 82, 118) & (rows < 215), -1000.0, plain)
    assert sure(shown(gas))["pneumothorax"] > 0.8
    cave = plain.copy()
    cave[inside(150, 220, 26, 26)] = 40
    cave[inside(150, 220, 16, 16)] = -990
    assert sure(shown(cave))["cavity"] > 0.8
    chalk = plain.copy()
    chalk[inside(150, 260, 9, 9)] = 700
    assert sure(shown(chalk))["calcified nodule"] > 0.8


def test_tables_are_whole() -> None:
    """At least 80 diagnoses, no sign both expected and against, what looks alike is of one of them."""
    known = [entry for entry in diagnoses() if entry.key]
    assert len(known) >= 80
    owners: dict[str, str] = {}
    signs: set[str] = set()
    assert len({entry.key for entry in known}) == len(known)
    for entry in known:
        named = [*entry.expected, *entry.possible, *entry.against]
        signs.update(named)
        assert len(named) == len(set(named)), entry.key
        for name in (*entry.names, *entry.also, *entry.similar):
            assert owners.setdefault(name, entry.key) == entry.key, name
    assert "consolidation" in signs


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("Septic pulmonary embolism", "septic-emboli"),
        ("Acute pulmonary embolism with infarction", "pulmonary-embolism"),
        ("Wegener's granulomatosis", "polyangiitis"),
        ("UIP", "pulmonary-fibrosis"),
        ("malignant pericardial effusion", "malignant-pericardial"),
        ("Non-tuberculous mycobacterial infection", "atypical-mycobacteria"),
        ("Tuberculosis (TB)", "tuberculosis"),
    ],
)
def test_options_are_matched_by_their_words(text: str, key: str) -> None:
    """Synonyms lead to the diagnosis they mean, the longer phrase before the shorter."""
    found = match_diagnosis(text)
    assert found is not None
    assert found.key == key


def test_every_name_of_a_diagnosis_with_signs_leads_to_it() -> None:
    """`atlas` and the builds go by one list: whatever a diagnosis is called, its signs are found."""
    for entry in diagnoses():
        for name in (*entry.names, *entry.also) if entry.key else ():
            found = match_diagnosis(name)
            assert found is not None, name
            assert found.key == entry.key, name


def test_a_list_of_ones_own_is_weighed_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In place of the house's, and the reader's identity tells it."""
    file = tmp_path / "own.toml"
    file.write_text(
        'replaces = true\n[[diagnosis]]\nkey = "mine"\nnames = ["quarrel of neighbours"]\n'
        'expected = ["effusion"]\n'
    )
    plain = make({}).identity
    monkeypatch.setenv("OVERREAD_DIAGNOSES", str(file))
    found = match_diagnosis("A long quarrel of the neighbours")
    assert found is not None
    assert found.key == "mine"
    assert match_diagnosis("Lobar pneumonia") is None
    assert make({}).identity != plain


def test_weights_follow_the_signs_and_not_the_order() -> None:
    """A pneumothorax lifts its diagnosis; turning the options round moves no probability."""
    signs = [PictureSign("pneumothorax", 0.95, "gas", side="left"), PictureSign("effusion", 0.05, "none")]
    options = [Option(letter=letter, text=t) for letter, t in zip("ABCDE", OPTIONS, strict=True)]
    turned = [Option(letter=letter, text=t) for letter, t in zip("ABCDE", OPTIONS[::-1], strict=True)]
    first = {entry.option.text: entry.probability for entry in weigh_options(options, signs)}
    second = {entry.option.text: entry.probability for entry in weigh_options(turned, signs)}
    assert max(first, key=lambda text: first[text]) == "Spontaneous pneumothorax"
    assert first == pytest.approx(second)
    assert sum(first.values()) == pytest.approx(1)


def test_an_unknown_option_is_neither_first_nor_last() -> None:
    """What no table knows gets an average weight."""
    signs = [PictureSign("pneumothorax", 0.95, "gas")]
    options = [
        Option(letter="A", text="Spontaneous pneumothorax"),
        Option(letter="B", text="Quarrel of neighbours"),
        Option(letter="C", text="Lobar pneumonia"),
    ]
    chances = [entry.probability for entry in weigh_options(options, signs)]
    assert chances[0] > chances[1] > chances[2]


def test_a_case_is_read_whole() -> None:
    """Choice, probabilities, findings with boxes, report, reasons, and a step for each option."""
    plain = chest()
    rows = np.arange(SIZE)[:, None]
    gas = np.where(inside(356, 245, 82, 118) & (rows < 215), -1000.0, plain)
    case, shelf = case_of({"image-1": shown(gas), "image-2": shown(gas, MEDIASTINUM)}, OPTIONS)
    reading = read_case(case, shelf)
    assert reading.choice == "A"
    assert reading.probabilities is not None
    assert set(reading.probabilities) == set("ABCDE")
    assert sum(reading.probabilities.values()) == pytest.approx(1)
    assert reading.findings
    assert any("neumothorax" in f.text for f in reading.findings)
    box = next(f for f in reading.findings if "neumothorax" in f.text).regions[0]
    assert box.kind == "box"
    assert box.picture == "image-1"
    assert box.x1 > 230
    assert box.y2 < 260
    assert reading.report
    assert reading.rationale
    assert reading.discussion
    assert reading.trace is not None
    said = [step.text for step in reading.trace.steps]
    assert all(any(text in words for words in said) for text in OPTIONS)
    assert reading == read_case(case, shelf)


def test_names_letters_and_order_do_not_matter() -> None:
    """Other file names, another id and turned options lead to the same diagnosis."""
    haze = np.where((chest() == -850) & inside(160, 230, 60, 70), -600.0, chest())
    case, shelf = case_of({"image-1": shown(haze)}, OPTIONS)
    other, _ = case_of({"image-1": shown(haze)}, OPTIONS[::-1])
    other = other.model_copy(update={"id": "pneumothorax-of-somebody"})
    chosen = {o.letter: o.text for o in case.options}[str(read_case(case, shelf).choice)]
    again = {o.letter: o.text for o in other.options}[str(read_case(other, shelf).choice)]
    assert chosen == again


def test_bad_input_is_read_without_an_error() -> None:
    """Photographs, broken files and a case without pictures give a reading that says so."""
    noise = np.random.default_rng(1).integers(0, 255, (300, 400, 3)).astype(np.uint8)
    case, shelf = case_of({"image-1": noise, "image-2": None}, OPTIONS)
    reading = read_case(case, shelf)
    assert reading.choice in set("ABCDE")
    assert reading.findings == ()
    assert reading.trace is not None
    assert sum("Not understood" in step.text for step in reading.trace.steps) == 2
    bare, shelf = case_of({}, OPTIONS)
    assert read_case(bare, shelf).choice in set("ABCDE")
