"""The X-ray exam is written so that both layouts pass the check, patient by patient."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image as Pillow

import overread
from overread.benchmarks.mmrad.release import SPLITS
from overread.core import Entry
from overread.errors import OverreadError
from overread.phantom.exams.xray import (
    NAME,
    FilmRecord,
    counts,
    film_id,
    list_film_files,
    write_films,
    write_lists,
)
from overread.phantom.film.sign import FilmContents, View
from overread.phantom.population import draw_views, split_of
from overread.phantom.visit import PatientSettings
from tests.jsonl_rows import read_rows
from tests.phantom.film.made_up_sights import HEIGHT, WIDTH, sight

PATIENTS = range(1, 11)
SETTINGS = PatientSettings(seed=3)


@dataclass(frozen=True)
class Shot:
    """A picture of nothing."""

    pixels: NDArray[np.uint8]


@dataclass(frozen=True)
class Visitor:
    """A patient of whom only the number is known."""

    number: int
    settings: PatientSettings = SETTINGS


class Room:
    """Takes pictures of nothing, and notes of which views."""

    def __init__(self, number: int, *, rows: int = HEIGHT) -> None:
        self.number, self.rows = number, rows
        self.taken: list[str] = []

    def render(self, view: View, /) -> Shot:
        """A grey slope with a grain of its own."""
        self.taken.append(view)
        rng = np.random.default_rng([self.number, len(view)])
        slope = np.linspace(20, 200, WIDTH)[None, :] + rng.normal(0, 4, (self.rows, WIDTH))
        return Shot(np.clip(slope, 0, 255).astype(np.uint8))


def look(number: int) -> FilmContents:
    """What is seen of a patient, in the view that he gets."""
    return sight(number, view=draw_views(SETTINGS.seed, number)[0])


@pytest.fixture(scope="module")
def exam(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[FilmRecord]]:
    """Ten patients, written."""
    out = tmp_path_factory.mktemp("exam")
    records = [write_films(Visitor(n), Room(n), look(n), out) for n in PATIENTS]
    write_lists(out, records)
    return out, records


def entries(root: Path, split: str) -> list[Entry]:
    """All entries of a split."""
    return list(overread.load("mmrad", root, split=split).entries())


@pytest.mark.parametrize("root", ["mmrad", "mmrad/thinkvg"])
def test_both_layouts_are_intact(exam: tuple[Path, list[FilmRecord]], root: str) -> None:
    """The check finds neither an error nor a warning in any split."""
    out, _ = exam
    for split in SPLITS:
        assert list(overread.check("mmrad", out / root, split)) == []


def test_splits_are_by_patient(exam: tuple[Path, list[FilmRecord]]) -> None:
    """Records and questions of a patient are in the split of his number."""
    out, records = exam
    for split in SPLITS:
        mine = [one.number for one in records if split_of(one.number) == split]
        traces = entries(out / NAME, split)
        assert [one.case.id for one in traces] == [film_id(number) for number in mine]
        asked = entries(out / NAME / "thinkvg", split)
        assert {one.case.patient for one in asked} == {one.case.patient for one in traces}
        assert 6 * len(mine) <= len(asked) <= 10 * len(mine)


def test_pictures_are_there(exam: tuple[Path, list[FilmRecord]]) -> None:
    """All files of a record exist; crops are as large as their boxes; films are grey."""
    out, records = exam
    for record in records:
        assert set(list_film_files(record.number)) <= set(record.files)
        assert all((out / file).is_file() for file in record.files)
        film, *crops = record.row["images"]
        with Pillow.open(out / NAME / film) as opened:
            assert (opened.size, opened.mode) == ((WIDTH, HEIGHT), "L")
        for file, round_ in zip(crops, record.line["rounds"], strict=True):
            x1, y1, x2, y2 = round_["box"]
            with Pillow.open(out / NAME / file) as opened:
                assert opened.size == (x2 - x1, y2 - y1)
        copy = out / NAME / "thinkvg" / record.questions[0]["image_path"]
        assert copy.read_bytes() == (out / NAME / film).read_bytes()


def test_lateral_films_lie_beside(exam: tuple[Path, list[FilmRecord]]) -> None:
    """Who gets a lateral film has its file, its line names it, and no record shows it."""
    out, records = exam
    found = 0
    for record in records:
        wanted = "lateral" in draw_views(SETTINGS.seed, record.number)
        found += wanted
        assert (record.line["lateral"] is not None) == wanted
        if wanted:
            assert (out / NAME / record.line["lateral"]).is_file()
            assert record.line["lateral"] not in record.row["images"]
            assert "lateral" in record.line["technique"] or "Two" in record.line["technique"]
    assert 0 < found < len(records)


def test_all_that_is_known_is_told(exam: tuple[Path, list[FilmRecord]]) -> None:
    """phantom.jsonl has signs, all regions and each sentence; the sources have no sign."""
    out, _ = exam
    lines = read_rows(out / NAME / "phantom.jsonl")
    assert [line["patient"] for line in lines] == list(PATIENTS)
    for line in lines:
        assert line["signs"] == [one.model_dump(mode="json") for one in look(line["patient"]).signs]
        assert len(line["regions"]) == 35
        assert {"text", "stance", "keys", "regions"} <= set(line["sentences"][0])
    sources = read_rows(out / "sources" / NAME / "reports.jsonl")
    assert [row["report"] for row in sources] == [line["report"] for line in lines]
    for row in sources:
        assert (out / "sources" / NAME / row["image"]).is_file()
        assert "finding-" not in json.dumps(row)


def test_a_patient_hangs_on_nobody_else(exam: tuple[Path, list[FilmRecord]], tmp_path: Path) -> None:
    """Made alone he has the same record and the same bytes, and a record survives storage."""
    out, records = exam
    again = write_films(Visitor(4), Room(4), look(4), tmp_path)
    assert again == records[3]
    for file in again.files:
        assert (tmp_path / file).read_bytes() == (out / file).read_bytes()
    assert FilmRecord.model_validate_json(again.model_dump_json()) == again


def test_lists_of_a_single_patient(tmp_path: Path) -> None:
    """One patient makes one split, and the lists are written over when others join."""
    first = write_films(Visitor(1), Room(1), look(1), tmp_path)
    write_lists(tmp_path, [first])
    assert not (tmp_path / NAME / "val.jsonl").exists()
    assert list(overread.check("mmrad", tmp_path / NAME, "train")) == []
    second = write_films(Visitor(2), Room(2), look(2), tmp_path)
    write_lists(tmp_path, [first, second])
    assert len(entries(tmp_path / NAME, "test")) == 1


def test_what_is_counted(exam: tuple[Path, list[FilmRecord]]) -> None:
    """The card's counts add up to what the lists hold."""
    _, records = exam
    table = {(what, name): sum(many.values()) for what, name, many in counts(records)}
    assert table["films", "frontal"] == len(records)
    assert table["films", "PA"] + table["films", "AP supine"] == len(records)
    signs = sum(table["findings", seen] for seen in ("seen", "doubtful", "hidden"))
    assert signs == sum(len(record.line["signs"]) for record in records)
    every = table.pop(("questions", "all"))
    assert every == sum(len(record.questions) for record in records)
    assert every == sum(many for (what, _), many in table.items() if what == "questions")


def test_what_is_refused(tmp_path: Path) -> None:
    """A film of another size than was looked at, and a lateral film as the frontal one."""
    with pytest.raises(OverreadError, match="not of the size"):
        write_films(Visitor(1), Room(1, rows=90), look(1), tmp_path)
    sideways = look(1).model_copy(update={"view": "lateral"})
    with pytest.raises(OverreadError, match="where a frontal one belongs"):
        write_films(Visitor(1), Room(1), sideways, tmp_path)
