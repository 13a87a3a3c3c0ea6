"""The embedded reader: what it is, and which part of it reads which case."""

from __future__ import annotations

import asyncio
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from overread import catalog
from overread.core import Case, Image, Option, Pictures, Query, Reading, Request, Volume
from overread.errors import ReaderError, UsageError
from overread.readers.atlas import make
from overread.readers.atlas.ct.target import parse_organ, parse_target


def case_of(**parts: Any) -> Case:
    """A case of nothing but what is given."""
    return Case(id="case_1", benchmark="rexgroundingct", split="test", **parts)


def test_it_is_in_the_catalog() -> None:
    """It is found by name, reads whole cases in a worker, and tells its version."""
    reader = catalog.find("readers", "atlas")({})
    assert reader.computes
    assert reader.skills == {"whole"}
    assert not reader.cached
    assert reader.identity["reader"] == "atlas"
    assert reader.identity["version"] >= 1


def test_nothing_can_be_set() -> None:
    """An argument that it does not have is refused."""
    with pytest.raises(UsageError):
        make({"threshold": "3"})


def test_it_answers_no_single_question() -> None:
    """A workflow that asks it is told to run it without one."""
    request = Request(task="choose", case=case_of(), pictures=None)  # type: ignore[arg-type]
    with pytest.raises(ReaderError, match="whole cases"):
        asyncio.run(make({}).read(request))


@pytest.mark.parametrize(
    ("part", "function", "case"),
    [
        ("case", "read_case", case_of(options=(Option(letter="A", text="Sarcoidosis"),))),
        ("film", "read_film", case_of(pictures=(Image(name="image-1"),))),
    ],
)
def test_cases_go_to_the_part_that_reads_them(
    part: str, function: str, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Options go to `case`, a picture without a question to `film`, and neither draws masks."""
    stand_in = ModuleType(part)

    def read(given: Case, pictures: Pictures) -> Reading:
        return Reading(case_id=given.id, reader="atlas", report=part)

    setattr(stand_in, function, read)
    monkeypatch.setitem(sys.modules, f"overread.readers.atlas.{part}.reading", stand_in)
    reading, masks = make({}).compute_reading(case, None, seed=0)  # type: ignore[arg-type]
    assert reading.report == part
    assert masks == []


def test_sentences_go_to_the_ct_part() -> None:
    """A case with sentences but no CT is answered with steps that say so, and no mask."""
    case = case_of(queries=(Query(id="0", text="A nodule in the right lung"),))
    reading, masks = make({}).compute_reading(case, None, seed=0)  # type: ignore[arg-type]
    assert masks == [None]
    assert reading.findings is not None
    assert not reading.findings[0].regions
    assert reading.trace is not None
    assert "no CT" in reading.trace.steps[0].text


@pytest.mark.parametrize("volume", [np.zeros((40, 40, 10), np.int16), np.full((9, 9, 3), -1000)])
def test_no_lungs_no_marks(volume: np.ndarray[Any, Any]) -> None:
    """A volume without lungs, or of a few slices, is no error: a step says so."""
    case = case_of(
        pictures=(Volume(name="ct"),),
        queries=(Query(id="0", text="Emphysema"), Query(id="1", text="Left lung")),
    )
    reading, masks = make({}).compute_reading(case, Alone(volume), seed=0)
    assert masks == [None, None]
    assert reading.trace is not None
    assert "No lungs" in reading.trace.steps[0].text


class Alone:
    """Pictures of one volume with voxels of 2 mm, stored as RAS."""

    def __init__(self, volume: np.ndarray[Any, Any]) -> None:
        self.volume = volume

    def data(self, picture: Any) -> bytes:
        """Nobody asks."""
        raise NotImplementedError

    def pixels(self, picture: Any) -> Any:
        """The voxels."""
        return self.volume

    def geometry(self, picture: Any) -> Any:
        """Where they lie."""
        from overread.pixels.geometry import make_geometry

        x, y, z = self.volume.shape
        return make_geometry((x, y, z), np.diag([2.0, 2.0, 2.0, 1.0]), where="a test")


@pytest.mark.parametrize(
    ("text", "category", "side", "lobes", "size", "count"),
    [
        ("Two solid nodules in the left upper lobe, the larger 9 mm", "2d", "left", ("LUL",), 9, 2),
        ("Bilateral pleural effusions", "2e", "both", (), None, None),
        ("Bullous emphysema in the right upper lobe", "1c", "right", ("RUL",), None, None),
        ("Lung cancer, gross tumour volume", "2d", None, (), None, None),
    ],
)
def test_what_a_sentence_asks_for(
    text: str, category: str, side: str | None, lobes: tuple[str, ...], size: float | None, count: int | None
) -> None:
    """Category, side, lobes, size and number are read from the sentence."""
    wanted = parse_target(text)
    assert wanted is not None
    assert (wanted.category, wanted.lobes, wanted.size_mm) == (category, lobes, size)
    assert lobes or wanted.side == side
    assert count is None or wanted.count == count
    assert category in wanted.description


def test_what_is_not_of_the_lung_is_not_asked_for() -> None:
    """Sentences about bone, and negated ones, ask for nothing in the lung."""
    assert parse_target("Fracture of the seventh rib") is None
    assert parse_target("Ribs") is None


def test_organs_are_told_from_findings() -> None:
    """A sentence that names a lung and nothing else asks for that lung."""
    right = parse_organ("Right lung")
    assert right is not None
    assert right.side == "right"
    assert not right.lobes
    lobe = parse_organ("Left lower lobe of the lung")
    assert lobe is not None
    assert lobe.lobes == ("LLL",)
    assert parse_organ("Nodule in the right lung") is None
    assert parse_organ("Liver") is None
