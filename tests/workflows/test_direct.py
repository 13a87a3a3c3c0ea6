"""The workflow `direct`: a letter, masks, an answer or a report, by one question each."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import overread
from overread.core import Case, Mask, Option, Reading, Reply, Request
from overread.errors import BadReply, ReaderError
from overread.pixels.masks import read_channel
from overread.runs.engine import RunPlan, run
from overread.runs.store import last_readings
from overread.session import Session, SessionSettings
from overread.workflows.blocks import Block, fill_blocks
from overread.workflows.direct import direct
from overread.workflows.twi import twi
from tests.runs.fake_readers import Echo
from tests.runs.sketch_runs import questions

FULL = {"left": 0.0, "top": 0.0, "right": 1.0, "bottom": 1.0}


def blocks(*found: dict[str, Any]) -> str:
    return json.dumps({"blocks": [{**FULL, **block} for block in found]})


def read(root: Path, out: Path, benchmark: str, *said: str, **more: Any) -> tuple[Echo, Any]:
    """Readings by case of a model that says this in turn, the last of it to all that follow."""
    told = list(said)

    def answer(request: Request) -> str:
        return told.pop(0) if len(told) > 1 else told[0]

    reader = Echo(answer)
    plan = RunPlan(benchmark, root, reader, use_cache=False, concurrency=1, **more)
    run(plan, out)
    return reader, {case: reading for (case, _), reading in last_readings(out).items()}


def words(request: Request) -> str:
    return "\n".join(p for m in request.messages for p in m.parts if isinstance(p, str))


def test_a_letter_and_its_reasons(sketch: Path, tmp_path: Path) -> None:
    """Options and history are asked about with all pictures, in order; the explanation is kept."""
    said = '{"answer": "C", "explanation": "A round mass."}'
    reader, found = read(sketch / "medthinkvqa", tmp_path / "run", "medthinkvqa", said)
    case = next(iter(overread.load("medthinkvqa", sketch / "medthinkvqa")))
    reading = found[case.id]
    assert (reading.choice, reading.rationale) == ("C", "A round mass.")
    asked = reader.asked[0]
    shown = [p.region.picture for p in asked.messages[-1].parts if not isinstance(p, str)]
    assert shown == ["image-1", "image-2", "image-3"]
    for option in case.options:
        assert f"{option.letter}. {option.text}" in words(asked)
    assert reading.trace is not None
    assert [step.kind for step in reading.trace.steps] == ["conclude"]
    assert [r.picture for r in reading.trace.steps[0].regions] == shown


@pytest.mark.parametrize("workflow", [direct, twi])
@pytest.mark.parametrize(
    ("history", "told"), [(None, "not given"), (" \n", "not given"), ("A cough.", "A cough.")]
)
def test_a_blank_history_is_not_given(workflow: Any, history: str | None, told: str) -> None:
    """Both ways of reading say the same where there is no history."""
    options = (Option(letter="A", text="Sarcoidosis"), Option(letter="B", text="Silicosis"))
    case = Case(id="c", benchmark="b", split="t", history=history, options=options)
    reader = Echo()
    session = Session(reader.read, reader, case, None)  # type: ignore[arg-type]
    session.settings = SessionSettings(discussion=False)
    asyncio.run(workflow(case, session))
    assert f"history:\n{told}\n" in words(reader.asked[0])


def test_a_report(sketch: Path, tmp_path: Path) -> None:
    """An instruction without a question is reported on, and nothing is chosen."""
    reader, found = read(sketch / "mmrad", tmp_path / "run", "mmrad", "No effusion.")
    assert {(r.report, r.choice) for r in found.values()} == {("No effusion.", None)}
    assert {request.task for request in reader.asked} == {"report"}


@pytest.mark.parametrize(
    ("said", "choice", "why"),
    [
        ('{"answer": "Yes", "explanation": "Blunt angle."}', "Yes", "Blunt angle."),
        ("<think>Blunt.</think><answer>Yes</answer>", "Yes", None),
        ("Yes", "Yes", None),
        ('```json\n{"answer": " Yes "}\n```', "Yes", None),
    ],
)
def test_a_question_is_answered(tmp_path: Path, said: str, choice: str, why: str | None) -> None:
    """Question rows get an answer in words, not a report, however the model puts it."""
    reader, found = read(with_films(tmp_path), tmp_path / "run", "mmrad", said)
    assert {(r.choice, r.rationale, r.report, r.error) for r in found.values()} == {(choice, why, None, None)}
    assert len(found) == 3
    assert {request.task for request in reader.asked} == {"answer"}
    assert "Is there an effusion on the right?" in words(reader.asked[0])


def test_an_answer_that_is_none_is_asked_for_again(tmp_path: Path) -> None:
    """Empty, twofold or endless answers are repaired once, then the case has failed."""
    root = with_films(tmp_path)
    for number, bad in enumerate(
        (
            '{"answer": "", "explanation": "?"}',
            '{"answer": "  "}',
            "<answer>Yes</answer> or <answer>No</answer>",
            "Well. " * 200,
            '{"explanation": "I do not know"}',
        )
    ):
        reader, found = read(root, tmp_path / f"a{number}", "mmrad", bad, '{"answer": "No"}')
        assert {r.choice for r in found.values()} == {"No"}, bad
        assert len(reader.asked) == 4
        _, found = read(root, tmp_path / f"b{number}", "mmrad", bad)
        assert all(r.error and r.choice is None for r in found.values()), bad


def with_films(folder: Path) -> Path:
    """Question rows with their films."""
    from PIL import Image as Pillow

    root = questions(folder / "asked")
    (root / "films").mkdir()
    for number in range(3):
        Pillow.fromarray(np.full((40, 30), 60 * number, np.uint8)).save(root / f"films/{number}.jpg")
    return root


def test_boxes_become_masks(sketch: Path, tmp_path: Path) -> None:
    """What a reader of words marks on slices is filled, one channel a sentence."""
    said = blocks({"first_slice": 2, "last_slice": 3}), blocks()
    _, found = read(sketch / "rexgroundingct", tmp_path / "run", "rexgroundingct", *said)
    release = overread.load("rexgroundingct", sketch / "rexgroundingct")
    first, second = release
    for case, expected in ((first, [96 * 72 * 2]), (second, [0, 0])):
        reading = found[case.id]
        assert reading.error is None
        sums = []
        for finding in reading.findings:
            [region] = finding.regions
            assert isinstance(region, Mask)
            shape = release.pictures.geometry(case.pictures[0]).shape
            file = tmp_path / "run" / region.file
            sums.append(int(read_channel(file, region.channel, shape, region.channels).sum()))
        assert sums == expected


def test_slices_that_are_not_there_are_no_answer(sketch: Path, tmp_path: Path) -> None:
    """A box beyond the CT is told and asked for again; it is not taken for an empty mask."""
    beyond, within = ({"first_slice": 3, "last_slice": n} for n in (64, 63))
    root = sketch / "rexgroundingct"
    reader, found = read(root, tmp_path / "run", "rexgroundingct", blocks(beyond), blocks(within), limit=1)
    assert all(reading.error is None for reading in found.values())
    assert "0 to 63" in words(reader.asked[1])
    _, found = read(root, tmp_path / "not", "rexgroundingct", blocks(beyond), limit=1)
    assert all("0 to 63" in (reading.error or "") for reading in found.values())


def test_the_question_names_the_windows(sketch: Path, tmp_path: Path) -> None:
    """Other windows than the usual are shown and told."""
    reader, _ = read(
        sketch / "rexgroundingct",
        tmp_path / "run",
        "rexgroundingct",
        blocks(),
        settings=SessionSettings(windows=("bone",), slices=2),
    )
    assert "bone window" in words(reader.asked[0])
    assert "lung window" not in words(reader.asked[0])


def test_every_block_is_where_it_is_shown() -> None:
    """A box in the upper left of a slice is the patient's right front, whatever the order."""
    from overread.pixels.geometry import make_geometry, to_ras

    block = Block(first_slice=1, last_slice=2, left=0.0, top=0.0, right=0.25, bottom=0.5)
    for flips in ((1, 1, 1), (-1, -1, 1), (1, -1, -1)):
        space = make_geometry((8, 6, 4), np.diag([*flips, 1.0]), where="here")
        mask = to_ras(fill_blocks([block], space), space)
        there = np.argwhere(mask)
        assert there.min(axis=0).tolist() == [6, 3, 1]
        assert there.max(axis=0).tolist() == [7, 5, 2]


def test_hostile_words_are_words(sketch: Path) -> None:
    """Braces, tags, headings and a megabyte in a history are passed on as they are."""
    hostile = (
        "{{history}} {{options}} {history} %s \\1 $HOME <image> </answer> <think>\n# system\n# user\n"
        "---\n\u202e\u0000 🫁 Ä " + "x" * 1_000_000
    )
    case = Case(
        id="c",
        benchmark="medthinkvqa",
        split="test",
        history=hostile,
        options=(Option(letter="A", text="{{options}} </answer>"), Option(letter="B", text="B")),
    )
    reader = Echo(lambda _: '{"answer": "A"}')
    reading = finished(case, reader)
    assert reading.choice == "A"
    [asked] = reader.asked
    assert hostile in words(asked)
    assert "A. {{options}} </answer>" in words(asked)
    system, _ = asked.messages
    assert "radiologist" in str(system.parts[0])
    assert len(words(asked)) < len(hostile) + 2000
    again = Reading.model_validate_json(reading.model_dump_json())
    assert again == reading


def finished(case: Case, reader: Echo) -> Reading:
    import asyncio

    class NoPictures:
        def data(self, picture: Any) -> Any:
            raise AssertionError

        pixels = geometry = data

    session = Session(reader.read, reader, case, NoPictures())
    return asyncio.run(direct(case, session))


def test_a_case_with_nothing_to_ask_fails_alone() -> None:
    """It is an error of this case, not of the run."""
    with pytest.raises(ReaderError, match="no options"):
        finished(Case(id="c", benchmark="x", split="test"), Echo())


def test_an_answer_needs_a_question() -> None:
    """A case that asks for an answer and words no question is reported on instead."""
    case = Case(id="c", benchmark="x", split="test", asks="answer", pictures=())
    with pytest.raises(ReaderError):
        finished(case, Echo())
    asked = Case(id="c", benchmark="x", split="test", asks="answer", instruction="Why?")
    assert finished(asked, Echo(lambda _: "So.")).choice == "So."


def test_a_refusal_is_a_bad_reply() -> None:
    """A reader that will not answer is asked once more, and then the case fails."""
    reader = Echo(lambda _: Reply(text="I cannot help with that.", finish="refused"))
    case = Case(id="c", benchmark="x", split="t", options=(Option(letter="A", text="Gout"),), history="h")
    with pytest.raises(BadReply):
        finished(case, reader)
    assert len(reader.asked) == 2


def test_a_report_that_was_cut_off_is_marked(sketch: Path, tmp_path: Path) -> None:
    """It counts as it is, and the log says that its end is missing."""
    reader = Echo(lambda _: Reply(text="The heart is of normal si", finish="length"))
    run(RunPlan("mmrad", sketch / "mmrad", reader, use_cache=False), tmp_path / "run")
    for reading in last_readings(tmp_path / "run").values():
        assert reading.report == "The heart is of normal si"
        assert "cut off" in (reading.exchanges[-1].repaired or "")
