"""MMRad predictions: traces, reports and answers in, and the sentence for each bad row."""

from __future__ import annotations

import json
import pickle
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import overread
from overread.benchmarks.mmrad.submission import read_submission
from overread.core import Reading, Release, Submission
from overread.errors import PictureError, SubmissionError
from tests.jsonl_rows import read_rows, write_rows

Row = dict[str, Any]
Hand = Callable[[list[Any]], Submission]
QUESTION: Row = {
    "image_path": "/p10/p10000032/s5/film.jpg",
    "question": "Is there an effusion on the right?",
    "question_type": "closed_ended_questions",
    "response": "<think>I look (right lung [40, 200, 90, 280]).</think><response><answer>Yes</answer>"
    "<location><ref>right lung</ref><box>[40, 200, 90, 280]</box></location></response>",
}


@pytest.fixture
def release(sketch: Path) -> Release:
    """The two test cases of the sketch."""
    return overread.load("mmrad", sketch / "mmrad")


@pytest.fixture
def good(sketch: Path) -> list[Row]:
    """The rows of the release, which are a perfect submission."""
    return read_rows(sketch / "mmrad" / "test.jsonl")


@pytest.fixture
def hand(release: Release, sketch: Path, tmp_path: Path) -> Hand:
    """Writes rows beside the crops and reads them as a submission."""
    shutil.copytree(sketch / "mmrad" / "IVLImage", tmp_path / "IVLImage")

    def read(rows: list[Any]) -> Submission:
        write_rows(tmp_path / "mine.jsonl", rows)
        return read_submission(release, tmp_path / "mine.jsonl")

    return read


@pytest.fixture
def asked(tmp_path: Path) -> Release:
    """A release of three question rows, two of them alike."""
    root = tmp_path / "thinkvg"
    root.mkdir()
    large = QUESTION | {"question": "How large is the heart?"}
    write_rows(root / "test.jsonl", [QUESTION, large, large])
    return overread.load("mmrad", root)


def said(submission: Submission, severity: str = "error") -> list[str]:
    return [str(problem) for problem in submission.problems if problem.severity == severity]


def crops(reading: Reading) -> list[str | None]:
    assert reading.trace is not None
    return [step.crop for step in reading.trace.steps if step.kind == "look"]


def test_the_release_is_a_perfect_submission(hand: Hand, good: list[Row], release: Release) -> None:
    """Rows as the release has them give its traces, findings and reports, and their crops."""
    submission = pickle.loads(pickle.dumps(hand(good)))
    assert submission.problems == []
    for entry in release.entries():
        reading = submission.readings[entry.case.id]
        truth = entry.truth
        assert truth is not None
        assert (reading.trace, reading.findings, reading.report) == (
            truth.trace,
            truth.findings,
            truth.report,
        )
        for crop in crops(reading):
            assert crop is not None
            assert submission.source(crop).is_file()
    with pytest.raises(PictureError):
        submission.source("../x")


def test_ids_with_a_response_or_a_report(hand: Hand, good: list[Row]) -> None:
    """A case may go by its id, with a trace or with a report alone; the report field wins."""
    submission = hand(
        [
            {"id": "sketch00003", "response": good[0]["response"], "report": "mine"},
            {"id": "sketch00004", "report": "alone"},
        ]
    )
    first, second = submission.readings.values()
    assert (first.report, second.report) == ("mine", "alone")
    assert crops(first) == [None, None]
    assert (second.trace, second.findings) == (None, None)
    assert said(submission) == []
    assert "fewer crops than <image>" in said(submission, "warning")[0]


def test_a_plain_response_is_the_report(hand: Hand, good: list[Row]) -> None:
    """A reader that takes no look and announces nothing wrote a report."""
    submission = hand([good[0], {"id": "sketch00004", "response": "Normal."}])
    assert submission.readings["sketch00004"].report == "Normal."
    assert said(submission) == []
    assert "all of it was taken as one" in said(submission, "warning")[0]


def test_reasoning_without_a_report(hand: Hand, good: list[Row]) -> None:
    """Looks without a report leave the report out, and say how it is announced."""
    body = good[1]["response"].partition("Summarizing")[0]
    submission = hand([good[0], good[1] | {"response": body}])
    assert said(submission)[0].startswith("no report can be told from the reasoning (in mine.jsonl")
    reading = submission.readings["sketch00004"]
    assert reading.report is None
    assert reading.error is None
    assert reading.trace is not None


def test_pictures_in_another_folder_are_recognised(hand: Hand, good: list[Row]) -> None:
    """The film is told by its last two parts, so that copies elsewhere can be read."""
    images = good[1]["images"]
    moved = good[1] | {"images": ["/data/" + images[0], *images[1:]]}
    del moved["prompt"]
    submission = hand([good[0], moved])
    assert submission.problems == []
    assert crops(submission.readings["sketch00004"]) == images[1:]


@pytest.mark.parametrize(
    ("cut", "severity", "words"),
    [
        (lambda i: i[1:2], "warning", "fewer crops than <image>"),
        (lambda i: [*i[1:], "x.jpg"], "warning", "more crops than <image>"),
        (lambda i: [i[1], "gone.jpg"], "warning", "a crop is not there"),
        (lambda i: [i[1], "../x.jpg"], "error", "'../x.jpg' is not read"),
        (lambda i: [i[1], "/etc/passwd"], "error", "'/etc/passwd' is not read"),
        (lambda i: [i[1], 3], "error", "a crop is a number"),
    ],
)
def test_crops_that_cannot_be_had(
    hand: Hand, good: list[Row], cut: Callable[[list[str]], list[Any]], severity: str, words: str
) -> None:
    """A crop that is missing, surplus or elsewhere leaves the look, without its crop."""
    images = good[1]["images"]
    submission = hand([good[0], good[1] | {"images": [images[0], *cut(images)]}])
    (problem,) = submission.problems
    assert problem.severity == severity
    assert words in str(problem)
    last = images[2] if "more" in words else None
    assert crops(submission.readings["sketch00004"]) == [images[1], last]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"id": "sketch00004"}, "neither a response nor a report"),
        ({"id": "sketch00004", "response": 5}, "`response` is a number, not text"),
        ({"id": "sketch00004", "report": ["a"]}, "`report` is a list, not text"),
        ({"id": "sketch00004", "response": "x" * 200_001}, "`response` has 200,001 letters"),
    ],
)
def test_rows_without_a_reading_fail(hand: Hand, good: list[Row], row: Row, words: str) -> None:
    """A row in which nothing can be read fails its case alone."""
    submission = hand([good[0], row])
    assert submission.readings["sketch00004"].error
    assert submission.readings["sketch00003"].error is None
    assert words in said(submission)[0]
    assert "(in mine.jsonl, row 2, sketch00004)" in said(submission)[0]


def test_boxes_that_are_none(hand: Hand, good: list[Row]) -> None:
    """Brackets with five numbers are an error of the row; a look without any is a warning."""
    five = good[0]["response"].replace("[", "[1, ")
    none = good[1]["response"].replace("[", "").replace("]", "")
    submission = hand([good[0] | {"response": five}, good[1] | {"response": none}])
    assert "is no box of four numbers (the first of 2)" in said(submission)[0]
    assert len(said(submission)) == 1
    assert said(submission, "warning")[0].startswith("a look gives no box (in mine.jsonl, row 2")


def test_a_box_without_area_is_told(hand: Hand, good: list[Row]) -> None:
    """Corners in the wrong order meet nothing, and the reader hears why."""
    turned = good[0]["response"].replace("[133, 173, 241, 262]", "[241, 262, 133, 173]")
    assert turned != good[0]["response"]
    submission = hand([good[0] | {"response": turned}, good[1]])
    (warning,) = said(submission, "warning")
    assert warning.startswith("a box has no area: its right edge is not right of its left one")
    assert "(in mine.jsonl, row 1, sketch00003)" in warning


def test_what_is_wrong_twice_with_a_row_counts_once(hand: Hand, good: list[Row]) -> None:
    """Two crops that are not there in each of two rows are two rows, not four."""
    away = [row | {"images": [row["images"][0], "a.jpg", "b.jpg"]} for row in good]
    (warning,) = said(hand(away), "warning")
    assert warning.startswith("a crop is not there (2 rows: 1, 2)")


def test_rows_of_nobody(hand: Hand, good: list[Row]) -> None:
    """Rows that name no case, or an unknown one, are told; so are duplicates and what is missing."""
    stranger = good[1] | {"images": ["IVLImage/other/problem_image_1.jpg"]}
    submission = hand([good[0], good[0], {"response": "x"}, stranger, good[0] | {"report": "z"}])
    assert submission.readings["sketch00003"].error == (
        "the case is there more than once, and not the same (rows 1, 2, 5)"
    )
    errors = said(submission)
    assert errors[0].startswith("1 of 2 cases have no prediction (sketch00004)")
    assert any("the row does not tell which case it is about" in error for error in errors)
    assert "no case 'IVLImage/other/problem_image_1.jpg'" in said(submission, "warning")[0]


def test_answers_to_questions(asked: Release, tmp_path: Path) -> None:
    """The answer of a question row is the choice, in its own words; boxes stay in the trace."""
    rows = read_rows(tmp_path / "thinkvg" / "test.jsonl")
    rows[2]["response"] = rows[2]["response"].replace("Yes", " No ")
    path = tmp_path / "mine.jsonl"
    write_rows(path, rows)
    submission = read_submission(asked, path)
    assert submission.problems == []
    assert [r.choice for r in submission.readings.values()] == ["Yes", "Yes", "No"]
    truth = next(iter(asked.entries())).truth
    assert truth is not None
    assert submission.readings["film-q1"].trace == truth.trace
    write_rows(
        path,
        [
            {"id": "film-q1", "answer": "no"},
            rows[1] | {"response": "large"},
            rows[1] | {"response": "<think>hm"},
            {"id": "film-q9", "answer": "no"},
        ],
    )
    submission = read_submission(asked, path)
    assert [r.choice for r in submission.readings.values()] == ["no", "large", None]
    assert said(submission)[0].startswith("the response has no <answer> (in mine.jsonl, row 3")
    warnings = said(submission, "warning")
    assert "all of it was taken as the answer" in warnings[0]
    assert "no case 'film-q9'" in warnings[1]


def test_a_question_row_without_an_answer_fails(asked: Release, tmp_path: Path) -> None:
    """Neither a response nor an answer is a failed case."""
    path = tmp_path / "mine.jsonl"
    write_rows(path, [{"id": "film-q1"}])
    submission = read_submission(asked, path)
    assert submission.readings["film-q1"].error == "the row has neither a response nor an answer"


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"{}", b'{"id": "x", "report": "y"}', b"[]"])
def test_files_that_cannot_be_graded(release: Release, tmp_path: Path, content: bytes) -> None:
    """A file in which nothing is about any case raises one sentence that names it."""
    path = tmp_path / "mine.jsonl"
    path.write_bytes(content)
    with pytest.raises(SubmissionError, match=r"mine\.jsonl"):
        read_submission(release, path)


JUNK: tuple[Any, ...] = (None, True, -1, 3.7, [], {}, [1], {"a": 1}, [None], "", "\0", "<image>" * 9)


@settings(max_examples=120)
@given(seed=st.integers(0, 10**9))
def test_damage_is_told_and_never_crashes(
    sketch: Path, release: Release, asked: Release, tmp_path: Path, seed: int
) -> None:
    """Bytes and values changed at random give problems or a SubmissionError, nothing else."""
    rng = random.Random(seed)
    which, source = rng.choice(((release, sketch / "mmrad"), (asked, tmp_path / "thinkvg")))
    rows: list[Row] = read_rows(source / "test.jsonl")
    for _ in range(rng.randint(0, 3)):
        row = rng.choice(rows)
        row[rng.choice([*row, "id", "report", "answer"])] = rng.choice(JUNK)
    raw = bytearray("".join(json.dumps(row) + "\n" for row in rows).encode())
    for _ in range(rng.choice((0, 1, 3, 30))):
        raw[rng.randrange(len(raw))] = rng.randrange(256)
    path = tmp_path / "a.jsonl"
    path.write_bytes(raw)
    try:
        submission = read_submission(which, path)
    except SubmissionError as error:
        assert str(error)
        return
    if len(submission.readings) < len(list(which)):
        assert said(submission)
    for reading in submission.readings.values():
        if reading.error or (reading.report is None and reading.choice is None):
            assert said(submission)


def test_confidences_come_in_with_their_boxes(hand: Hand, good: list[Row]) -> None:
    """One number a box, in the order told: each box has it wherever it is told."""
    plain = hand(good).readings["sketch00003"]
    assert plain.trace is not None
    told = dict.fromkeys(r.model_dump_json() for s in plain.trace.steps for r in s.regions)
    numbers = [round(0.9 - 0.1 * n, 1) for n in range(len(told) - 1)] + [None]
    submission = hand([good[0] | {"confidences": numbers}, good[1]])
    assert submission.problems == []
    reading = submission.readings["sketch00003"]
    assert reading.trace is not None
    for before, after in zip(plain.trace.steps, reading.trace.steps, strict=True):
        for region, marked in zip(before.regions, after.regions, strict=True):
            expected = dict(zip(told, numbers, strict=True))[region.model_dump_json()]
            assert marked.model_dump() == {**region.model_dump(), "confidence": expected}


@pytest.mark.parametrize("wrong", [[0.5], "0.5", [0.5] * 99, {"a": 1}])
def test_confidences_that_do_not_fit_are_left_out(hand: Hand, good: list[Row], wrong: Any) -> None:
    """A list of another length, or no list, costs the confidences and nothing else."""
    submission = hand([good[0] | {"confidences": wrong}, good[1]])
    assert "`confidences` is" in said(submission)[0]
    assert submission.readings["sketch00003"] == hand(good).readings["sketch00003"]


def test_confidences_are_numbers_from_0_to_1(hand: Hand, good: list[Row]) -> None:
    """What is beyond is no confidence."""
    plain = hand(good).readings["sketch00003"]
    assert plain.trace is not None
    count = len({r.model_dump_json() for s in plain.trace.steps for r in s.regions})
    for wrong in (1.5, -0.1, "x", True):
        submission = hand([good[0] | {"confidences": [wrong] * count}, good[1]])
        assert "no number from 0 to 1" in said(submission)[0]
        assert submission.readings["sketch00003"] == plain
