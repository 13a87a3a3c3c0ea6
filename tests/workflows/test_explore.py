"""The workflow `explore`: the reader chooses its next look itself, until it is done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

import overread
from overread.core import Box, Mask, Slices, Whole
from overread.metrics.traces.looks import collect_looks
from overread.pixels.draw import crop
from overread.pixels.masks import read_channel
from overread.pixels.montages import slice_montage
from overread.pixels.relative_boxes import RelativeBox
from overread.runs.engine import RunPlan
from overread.runs.estimate import estimate
from overread.runs.submission_export import export_submission
from overread.session import SessionSettings
from tests.jsonl_rows import read_rows, write_rows
from tests.runs.sketch_runs import questions
from tests.workflows.scripted_model import (
    Asked,
    Record,
    in_turn,
    js,
    kinds,
    same_pixels,
    scripted,
    shown_regions,
)

DONE = js(thought="I have seen enough.", action="answer", picture=None)
LETTER = js(answer="C", explanation="It fits.")
QUARTER: dict[str, Any] = {"left": 0.0, "top": 0.0, "right": 0.5, "bottom": 0.5}
WINDOWS = ("lung", "mediastinum")


def look(picture: str, thought: str = "Let me see.", **where: Any) -> str:
    return js(thought=thought, action="look", picture=picture, **where)


def read(benchmark: str, root: Path, out: Path, script: Any, **more: Any) -> Record:
    return scripted(benchmark, root, out, script, "explore", **{"limit": 1, **more})


def test_each_look_is_shown_and_recorded(sketch: Path, tmp_path: Path) -> None:
    """All looks so far are shown in their order, with every question and with the last one."""
    root = sketch / "medthinkvqa"
    release = overread.load("medthinkvqa", root)
    case = next(iter(release))
    films = [release.pictures.pixels(picture) for picture in case.pictures]
    part = RelativeBox(0, 0, 0.5, 0.5)
    quarter = part.crop(films[2])
    script = in_turn(
        look("image-3"),
        look("image-3", "Something is there.", place="right lung", **QUARTER),
        look("image-1", "A mass.", first_slice=3),
        DONE,
        LETTER,
    )
    done = read("medthinkvqa", root, tmp_path / "run", script)
    wanted = [[], [films[2]], [films[2], quarter], [films[2], quarter, films[0]]]
    wanted.append(wanted[-1])
    for asked, pictures in zip(done.asked, wanted, strict=True):
        assert len(asked.pictures) == len(pictures)
        assert all(same_pixels(a, b) for a, b in zip(asked.pictures, pictures, strict=True))
    reading = done.reading
    assert (reading.choice, reading.rationale) == ("C", "It fits.")
    assert kinds(reading) == ["say", "look", "say", "look", "say", "look", "say", "conclude"]
    x1, y1, x2, y2 = part.to_pixels(films[2].shape[1], films[2].shape[0])
    box = Box(picture="image-3", x1=x1, y1=y1, x2=x2, y2=y2, label="right lung")
    regions = [Whole(picture="image-3"), box, Whole(picture="image-1")]
    assert reading.trace is not None
    steps = reading.trace.steps
    assert [step.regions for step in steps if step.kind == "look"] == [(r,) for r in regions]
    assert [step.text for step in steps if step.kind == "say"] == [
        "Let me see.",
        "Something is there.",
        "A mass.",
        "I have seen enough.",
    ]
    # What is said after a look speaks of it.
    assert steps[2].regions == steps[1].regions
    assert list(steps[-1].regions) == regions
    assert [step.exchange for step in steps] == [0, 0, 1, 1, 2, 2, 3, 4]
    assert shown_regions(reading)[-1] == regions
    assert steps[3].crop is not None
    with Pillow.open(tmp_path / "run" / steps[3].crop) as image:
        assert same_pixels(np.asarray(image), crop(films[2], box))


def test_what_the_reader_is_told(copy: Callable[[str], Path], tmp_path: Path) -> None:
    """The task, the history, the pictures by neutral names, the looks so far, how many are left."""
    root = copy("medthinkvqa")
    rows = [row | {"image_02_timepoint": 1} for row in read_rows(root / "test.jsonl")]
    write_rows(root / "test.jsonl", rows)
    case = next(iter(overread.load("medthinkvqa", root)))
    script = in_turn(look("image-2", place="heart", **QUARTER), DONE, LETTER)
    first, second, last = read("medthinkvqa", root, tmp_path / "run", script, settings={"looks": 3}).asked
    for asked in (first, second, last):
        assert case.history is not None
        assert case.history in asked.words
        assert all(f"{o.letter}. {o.text}" in asked.words for o in case.options)
    assert "- image-1: a flat picture\n- image-2: a flat picture, examination 1\n" in first.words
    assert "nothing yet" in first.words
    assert "You may look 3 more times" in first.words
    assert "You may look 2 more times" in second.words
    line = "- Look 1: image-2, left 0.000, top 0.000, right 0.500, bottom 0.500 (heart)."
    assert line in second.words
    assert f"{line} You thought: I have seen enough." in last.words
    assert first.schema is not None
    assert first.schema["properties"]["picture"] == {"enum": ["image-1", "image-2", "image-3"]}
    assert set(first.schema["required"]) == set(first.schema["properties"])


def test_looks_are_used_up(sketch: Path, tmp_path: Path) -> None:
    """After so many looks it is asked for the answer, whatever it still wants to see."""
    script = in_turn(look("image-1"), look("image-2"), LETTER)
    done = read("medthinkvqa", sketch / "medthinkvqa", tmp_path / "run", script, settings={"looks": 2})
    assert done.reading.choice == "C"
    assert [len(asked.pictures) for asked in done.asked] == [0, 1, 2]


def test_slices_of_a_ct(sketch: Path, tmp_path: Path) -> None:
    """The whole scan, slices, a part of slices: the pixels are those; boxes become the mask."""
    root = sketch / "rexgroundingct"
    release = overread.load("rexgroundingct", root)
    case = next(iter(release))
    volume = release.pictures.pixels(case.pictures[0])
    space = release.pictures.geometry(case.pictures[0])

    def sheet(region: Any, count: int, **more: Any) -> Any:
        return slice_montage(volume, space, region, windows=WINDOWS, count=count, longest=512, **more)

    block = {"first_slice": 3, "last_slice": 4, "left": 0, "top": 0, "right": 1, "bottom": 1}
    script = in_turn(
        look("ct"),
        look("ct", first_slice=9, last_slice=5),
        look("ct", first_slice=5, last_slice=9, place="left lung", **QUARTER),
        look("ct", **QUARTER),
        DONE,
        js(blocks=[block]),
    )
    settings = {"slices": 8, "longest": 512}
    done = read("rexgroundingct", root, tmp_path / "run", script, settings=settings)
    near, part = Slices(picture="ct", first=5, last=9), RelativeBox(0, 0, 0.5, 0.5)
    wanted = [
        sheet(Whole(picture="ct"), 8),
        sheet(near, 4, largest=512),
        sheet(near, 4, largest=512, part=part),
        sheet(Slices(picture="ct", first=0, last=63), 4, largest=512, part=part),
    ]
    sent = done.asked[-1].pictures
    assert len(sent) == 4
    assert all(same_pixels(a, b) for a, b in zip(sent, wanted, strict=True))
    assert "- ct: a CT, axial slices 0 (feet) to 63 (head)" in done.asked[0].words
    reading = done.reading
    assert reading.trace is not None
    looks = [step.regions for step in reading.trace.steps if step.kind == "look"]
    width, height = space.shape[:2]
    edges = Box(picture="ct", x1=0, y1=0, x2=width / 2, y2=height / 2, label="left lung")
    assert looks[:3] == [(Whole(picture="ct"),), (near,), (near, edges)]
    assert kinds(reading)[-3:] == ["say", "say", "conclude"]
    (mask,) = (reading.findings or ())[0].regions
    assert isinstance(mask, Mask)
    voxels = read_channel(tmp_path / "run" / mask.file, 0, space.shape, 1)
    assert int(voxels.sum()) == width * height * 2


def test_each_sentence_has_its_own_tour(sketch: Path, tmp_path: Path) -> None:
    """What was looked at for one sentence is neither shown nor told for the next."""
    root = sketch / "rexgroundingct"
    case = list(overread.load("rexgroundingct", root))[1]

    def script(asked: Asked) -> str:
        if "Mark this finding" in asked.words:
            return js(blocks=[])
        return DONE if asked.pictures else look("ct")

    done = read("rexgroundingct", root, tmp_path / "run", script, limit=None, cases=[case.id])
    assert [len(asked.pictures) for asked in done.asked] == [0, 1, 1] * 2
    for number, asked in enumerate(done.asked):
        told = [query.text in asked.words for query in case.queries]
        assert told == [number < 3, number >= 3]


def test_a_report_with_looks(sketch: Path, tmp_path: Path) -> None:
    """The looks of a radiograph are a trace that scores and submissions read."""
    root = sketch / "mmrad"
    script = in_turn(
        look("xray"),
        look("xray", place="left lung", **QUARTER),
        js(thought="Clear lung.", action="answer"),
        "Normal chest.",
    )
    done = read("mmrad", root, tmp_path / "run", script)
    assert done.reading.report == "Normal chest."
    places = [(one.place, one.words) for one in collect_looks(done.reading.trace)]
    assert places[1] == ("left lung", "Clear lung.")
    export_submission(tmp_path / "run", tmp_path / "mine.jsonl")
    (row,) = read_rows(tmp_path / "mine.jsonl")
    assert "I will highlight the left lung of this X-ray. <image>" in row["response"]
    assert "Clear lung." in row["response"]
    assert len(row["images"]) == 2


def test_a_question_is_answered(tmp_path: Path) -> None:
    """A case with a question ends in an answer in words."""
    root = questions(tmp_path / "asked")
    (root / "films").mkdir()
    for number in range(3):
        Pillow.fromarray(np.full((40, 30), 60 * number, np.uint8)).save(root / f"films/{number}.jpg")
    script = in_turn(look(""), DONE, js(answer="No", explanation="None."))
    done = read("mmrad", root, tmp_path / "run", script)
    assert (done.reading.choice, done.reading.rationale) == ("No", "None.")
    assert "Is there an effusion on the right?" in done.asked[0].words


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("Look at the heart.", "no JSON object"),
        (look("image-9"), "image-1, image-2, image-3"),
        (js(action="zoom", picture="image-1"), "'look' or 'answer'"),
        (look("image-1", left=0.1, top=0.2), "all four edges"),
        (look("image-1", **QUARTER | {"right": 300}), "from 0 to 1"),
        (look("image-1", **QUARTER | {"right": 0.0}), "no width"),
    ],
)
def test_a_bad_move_is_asked_for_again(sketch: Path, tmp_path: Path, bad: str, why: str) -> None:
    """What cannot be looked at is told; a reader that goes on like that fails the case."""
    root = sketch / "medthinkvqa"
    script = in_turn(look("image-2"), bad, look("image-1"), DONE, LETTER)
    done = read("medthinkvqa", root, tmp_path / "run", script)
    assert done.reading.error is None
    assert why in done.asked[2].last
    assert len(done.asked[2].pictures) == 1
    failed = read("medthinkvqa", root, tmp_path / "not", in_turn(look("image-2"), bad)).reading
    assert (failed.error or "").startswith("the answer could not be used: ")
    assert why in (failed.error or "")
    assert kinds(failed) == ["say", "look"]


def test_slices_that_are_not_there(sketch: Path, tmp_path: Path) -> None:
    """A slice beyond the scan is told with the slices that there are."""
    script = in_turn(look("ct", first_slice=60, last_slice=64), look("ct"), DONE, js(blocks=[]))
    done = read("rexgroundingct", sketch / "rexgroundingct", tmp_path / "run", script)
    assert "the slices of ct are 0 to 63" in done.asked[1].last
    assert done.reading.error is None


def test_who_has_seen_nothing_cannot_report(sketch: Path, tmp_path: Path) -> None:
    """A choice may be made from the history; a report needs a look."""
    done = read("mmrad", sketch / "mmrad", tmp_path / "report", in_turn(DONE))
    assert "before you have looked" in (done.reading.error or "")
    chosen = read("medthinkvqa", sketch / "medthinkvqa", tmp_path / "run", in_turn(DONE, LETTER))
    assert chosen.reading.choice == "C"
    assert chosen.asked[-1].pictures == ()


def test_a_bad_last_answer_fails_the_case(sketch: Path, tmp_path: Path) -> None:
    """The looks are kept, and one sentence says why there is no answer."""
    script = in_turn(look("image-1"), DONE, js(answer="Z"))
    reading = read("medthinkvqa", sketch / "medthinkvqa", tmp_path / "run", script).reading
    assert (reading.error or "").startswith("the answer could not be used: 'Z'")
    assert kinds(reading) == ["say", "look", "say"]


def test_what_it_would_take(sketch: Path) -> None:
    """A dry run counts the most that it can take: every look, and the answer."""
    arguments = {"model": "m", "base_url": "http://127.0.0.1:1/v1"}
    plan = RunPlan(
        "medthinkvqa", sketch / "medthinkvqa", "openai", arguments=arguments, workflow="explore",
        use_cache=False, limit=1, settings=SessionSettings(looks=4),
    )  # fmt: skip
    found = estimate(plan)
    assert (found.calls, found.pictures, found.at_least) == (5, 1 + 2 + 3 + 4, False)
