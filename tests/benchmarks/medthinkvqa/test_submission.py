"""MedThinkVQA predictions: what is accepted, what fails, and the sentence that says so."""

from __future__ import annotations

import gzip
import json
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import overread
from overread.benchmarks.medthinkvqa.submission import read_submission
from overread.benchmarks.prediction_rows import MAX_TEXT
from overread.core import Release, Submission, Whole
from overread.errors import SubmissionError
from tests.jsonl_rows import read_rows, write_rows

Row = dict[str, Any]
Hand = Callable[..., Submission]


@pytest.fixture
def release(sketch: Path) -> Release:
    """The two test cases of the sketch."""
    return overread.load("medthinkvqa", sketch / "medthinkvqa")


@pytest.fixture
def good(sketch: Path) -> list[Row]:
    """Original rows with the right predictions."""
    rows = read_rows(sketch / "medthinkvqa" / "test.jsonl")
    return [row | {"prediction": row["correct_answer"]} for row in rows]


@pytest.fixture
def hand(release: Release, tmp_path: Path) -> Hand:
    """Writes rows to a file and reads them as a submission."""

    def read(rows: list[Any], name: str = "mine.jsonl") -> Submission:
        path = tmp_path / name
        write_rows(path, rows)
        return read_submission(release, path)

    return read


def said(submission: Submission, severity: str = "error") -> list[str]:
    return [str(problem) for problem in submission.problems if problem.severity == severity]


def test_original_rows_with_predictions_have_no_problem(hand: Hand, good: list[Row]) -> None:
    """A correct submission gives one reading a case, named after the file, and no problem."""
    submission = hand(good)
    assert submission.problems == []
    assert submission.reader == "mine"
    assert {c: r.choice for c, r in submission.readings.items()} == {
        "case00003": good[0]["correct_answer"],
        "case00004": good[1]["correct_answer"],
    }
    assert pickle.loads(pickle.dumps(submission)).readings == submission.readings


def test_the_benchmark_says_how_it_is_handed_in() -> None:
    """The catalog's benchmark carries the reader of submissions and its official names."""
    part = overread.catalog.find("benchmarks", "medthinkvqa")
    assert part.read_submission is read_submission
    assert part.official == ("accuracy",)
    assert part.metrics[0] == "accuracy"


def test_steps_become_findings_summary_and_rationale(hand: Hand, good: list[Row]) -> None:
    """The three steps and the fields beside them land where metrics look for them."""
    extra = {
        "prediction_twi": {
            "step1_per_image_findings": ["one", "", "three"],
            "step2_integrated_summary": "all",
            "step3_differential_reasoning": "because",
        },
        "prediction_discussion": "taught",
        "prediction_probabilities": {good[0]["prediction"]: 0.9, "E": 0.1},
    }
    submission = hand([good[0] | extra, good[1] | {"prediction_rationale": "own"}])
    first, second = submission.readings.values()
    assert first.findings is not None
    assert [(f.text, f.regions) for f in first.findings] == [
        ("one", (Whole(picture="image-1"),)),
        ("three", (Whole(picture="image-3"),)),
    ]
    assert (first.report, first.rationale, first.discussion) == ("all", "because", "taught")
    assert first.probabilities is not None
    assert set(first.probabilities) == set("ABCDE")
    assert sum(first.probabilities.values()) == pytest.approx(1)
    assert first.trace is not None
    assert [step.kind for step in first.trace.steps] == ["look", "look", "say", "conclude"]
    assert (second.rationale, second.findings, second.trace) == ("own", None, None)
    assert submission.problems == []


@pytest.mark.parametrize(
    ("prediction", "words"),
    [
        ("F", "the prediction 'F' is none of A, B, C, D, E"),
        (None, "the prediction is null"),
        ("", "the prediction is empty"),
        ("  ", "the prediction is empty"),
        (["A"], "the prediction is a list"),
        ({"A": 1}, "the prediction is an object"),
        (1, "the prediction is a number"),
        (True, "the prediction is true"),
        ("B. Sarcoidosis", "the prediction 'B. Sarcoidosis' is none of"),
        ("AB", "the prediction 'AB' is none of"),
        ("\x1b[31mA", "the prediction '\\x1b[31mA' is none of"),
    ],
)
def test_what_is_no_letter_counts_as_wrong(hand: Hand, good: list[Row], prediction: Any, words: str) -> None:
    """Anything that is neither a letter nor an option fails its case, by name, and no other."""
    submission = hand([good[0], good[1] | {"prediction": prediction}])
    assert submission.readings["case00003"].error is None
    assert (submission.readings["case00004"].error or "").startswith(words)
    (problem,) = submission.problems
    assert str(problem).startswith(words)
    assert "(in mine.jsonl, row 2, case00004): write one letter, A to E" in str(problem)


def test_an_absent_prediction_counts_as_wrong(hand: Hand, good: list[Row]) -> None:
    """A row without the field fails as one with an empty field does."""
    del good[1]["prediction"]
    assert hand(good).readings["case00004"].error == "the row has no `prediction`"


def test_letters_and_texts_that_can_be_told_are_taken(hand: Hand, good: list[Row]) -> None:
    """Small letters, spaces and the whole text of an option are taken, with a warning each."""
    options = good[1]["options"]
    submission = hand([good[0] | {"prediction": " b "}, good[1] | {"prediction": options["C"].upper() + "."}])
    assert [reading.choice for reading in submission.readings.values()] == ["B", "C"]
    assert said(submission) == []
    assert [p.what for p in submission.problems] == [
        "the prediction is a letter in other writing",
        "the prediction is the text of an option; its letter was taken",
    ]


def test_missing_cases_are_one_line(hand: Hand, good: list[Row]) -> None:
    """A case of which there is no row has no reading, and one line counts them."""
    submission = hand(good[:1])
    assert list(submission.readings) == ["case00003"]
    assert said(submission) == [
        "1 of 2 cases have no prediction (case00004) (in mine.jsonl): hand in one row for each; "
        "they count as the worst"
    ]


def test_duplicates(hand: Hand, good: list[Row]) -> None:
    """The same row twice is a warning; two answers to one case fail it."""
    same = hand([good[0], good[1], good[1]])
    assert said(same) == []
    assert "each time the same" in said(same, "warning")[0]
    assert same.readings["case00004"].choice == good[1]["prediction"]
    other = "A" if good[1]["prediction"] != "A" else "B"
    differing = hand([good[0], good[1], good[1] | {"prediction": other}])
    assert "more than once, and not the same (rows 2, 3)" in said(differing)[0]
    assert differing.readings["case00004"].error
    assert differing.readings["case00003"].error is None


def permuted(row: Row) -> Row:
    texts = list(row["options"].values())
    return row | {"options": dict(zip("ABCDE", texts[1:] + texts[:1], strict=True))}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (permuted, "the options are in another order"),
        (lambda row: row | {"options": row["options"] | {"A": "x"}}, "the options are not the"),
        (lambda row: row | {"options": 7}, "the options are no mapping"),
        (
            lambda row: row | {"correct_answer": "A" if row["correct_answer"] != "A" else "B"},
            "`correct_answer` is not the original one",
        ),
    ],
)
def test_rows_whose_letters_mean_something_else_are_refused(
    hand: Hand, good: list[Row], change: Callable[[Row], Row], words: str
) -> None:
    """A letter is only believed beside the original options and key."""
    submission = hand([good[0], change(good[1])])
    assert said(submission)[0].startswith(words)
    assert said(submission)[0].endswith("copy the original row and add the prediction to it")
    assert submission.readings["case00004"].error


def test_a_release_without_its_key_refuses_no_row(good: list[Row], sketch: Path, tmp_path: Path) -> None:
    """Where the key is withheld, a row that carries one is not called changed."""
    original = read_rows(sketch / "medthinkvqa" / "test.jsonl")
    bare = [{k: v for k, v in row.items() if not k.startswith("correct_")} for row in original]
    (tmp_path / "release").mkdir()
    write_rows(tmp_path / "release" / "test.jsonl", bare)
    write_rows(tmp_path / "mine.jsonl", good)
    release = overread.load("medthinkvqa", tmp_path / "release")
    submission = read_submission(release, tmp_path / "mine.jsonl")
    assert [reading.error for reading in submission.readings.values()] == [None, None]


def test_no_message_tells_the_key(hand: Hand, good: list[Row]) -> None:
    """A participant who changes `correct_answer` does not learn it from the refusal."""
    row = good[1] | {"correct_answer": "E", "correct_answer_text": "z"}
    for problem in hand([good[0], row]).problems:
        assert good[1]["correct_answer_text"] not in str(problem)


def test_other_changes_are_warnings(hand: Hand, good: list[Row]) -> None:
    """Texts that were changed, other types and columns that were left out cost nothing."""
    less = {k: v for k, v in good[0].items() if k not in ("discussion", "ICD Block")}
    submission = hand([less, good[1] | {"CLINICAL_HISTORY": "other", "title": good[1]["title"]}])
    assert said(submission) == []
    assert [p.what for p in submission.problems] == [
        "the row has not all of the original fields; its prediction was taken",
        "original fields were changed: CLINICAL_HISTORY",
    ]
    typed = hand([good[0], good[1] | {"image_count": "many"}])
    assert said(typed) == []
    assert "of another kind" in typed.problems[0].what
    assert typed.readings["case00004"].choice == good[1]["prediction"]


def test_bare_rows_and_strangers(hand: Hand, good: list[Row]) -> None:
    """An id and a letter will do; a row of an unknown case is a warning with a near id."""
    rows = [
        {"id": "case00003", "prediction": "A"},
        {"id": "case00004", "prediction": "B"},
        {"id": "Case_4", "prediction": "B"},
        {"id": "case00099", "prediction": "B"},
        {"prediction": "B"},
    ]
    submission = hand(rows)
    assert [r.choice for r in submission.readings.values()] == ["A", "B"]
    assert said(submission) == [
        "the row has neither the original fields nor an id (in mine.jsonl, row 5): copy the "
        "original row and add the prediction to it"
    ]
    warnings = said(submission, "warning")
    assert "(2 rows: 1, 2)" in warnings[0]
    assert warnings[1].endswith("did you mean 'case00004'?")
    assert warnings[2].startswith("the release has no case 'case00099'")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"A": 0.5, "B": 0.6}, "adds up to 1.1"),
        ({"A": float("nan"), "B": 1}, "holds something else"),
        ({"A": -0.5, "B": 1.5}, "holds something else"),
        ({"A": True}, "holds something else"),
        ({"A": 10**400}, "holds something else"),
        ({"F": 1.0}, "has other keys"),
        ({}, "adds up to 0"),
        ([0.2] * 5, "is a list, not an object"),
        ("no json", "is a text, not an object"),
    ],
)
def test_probabilities_that_are_none(hand: Hand, good: list[Row], value: Any, words: str) -> None:
    """Impossible probabilities are an error of their own; the letter still counts."""
    if isinstance(value, dict) and value.get("A") == 10**400:
        value = json.dumps({"A": 10**400})
    submission = hand([good[0], good[1] | {"prediction_probabilities": value}])
    assert words in said(submission)[0]
    assert submission.readings["case00004"].probabilities is None
    assert submission.readings["case00004"].choice == good[1]["prediction"]


def test_probabilities_against_the_prediction(hand: Hand, good: list[Row]) -> None:
    """A prediction that is not the most probable option is pointed out."""
    other = "A" if good[1]["prediction"] != "A" else "B"
    submission = hand([good[0], good[1] | {"prediction_probabilities": {other: 1.0}}])
    assert "not the most probable" in said(submission, "warning")[0]


def test_steps_of_the_wrong_kind(hand: Hand, good: list[Row]) -> None:
    """A step that is no text is not handed in; one text too many has no picture."""
    twi = {"step1_per_image_findings": ["a", 2, "c", "d"], "step2_integrated_summary": ["x"], "z": 1}
    submission = hand([good[0] | {"prediction_twi": twi}, good[1] | {"prediction_twi": [1]}])
    errors = said(submission)
    assert "`step1_per_image_findings` is a number, not text" in errors[0]
    assert "`step2_integrated_summary` is a list, not text" in errors[1]
    assert "`prediction_twi` is a list, not an object" in errors[2]
    first = submission.readings["case00003"]
    assert first.findings is not None
    assert [(f.text, len(f.regions)) for f in first.findings] == [("a", 1), ("c", 1), ("d", 0)]
    assert first.report is None
    assert len(said(submission, "warning")) == 2


def test_texts_have_a_limit(hand: Hand, good: list[Row]) -> None:
    """A text of a million letters is refused before a metric sees it."""
    submission = hand([good[0], good[1] | {"prediction_rationale": "x" * (MAX_TEXT + 1)}])
    assert "has 200,001 letters" in said(submission)[0]
    assert submission.readings["case00004"].rationale is None


def test_a_submission_can_be_renamed(hand: Hand, good: list[Row]) -> None:
    """`renamed` changes the reader everywhere and nothing else."""
    before = hand(good)
    after = before.with_reader("model")
    assert after.reader == "model"
    assert {reading.reader for reading in after.readings.values()} == {"model"}
    assert after.with_reader("mine") == before


JUNK: tuple[Any, ...] = (None, True, -1, 3.7, 10**30, [], {}, [1], {"a": 1}, [None], "", "\0", "x")


@settings(max_examples=120)
@given(seed=st.integers(0, 10**9))
def test_damage_is_told_and_never_crashes(sketch: Path, release: Release, tmp_path: Path, seed: int) -> None:
    """Bytes and values changed at random give problems or a SubmissionError, nothing else."""
    rng = random.Random(seed)
    rows = read_rows(sketch / "medthinkvqa" / "test.jsonl")
    rows = [row | {"prediction": "A", "prediction_twi": {"step1_per_image_findings": ["a"]},
                   "prediction_probabilities": {"A": 1.0}} for row in rows]  # fmt: skip
    for _ in range(rng.randint(0, 4)):
        row = rng.choice(rows)
        row[rng.choice(list(row))] = rng.choice(JUNK)
    raw = bytearray("".join(json.dumps(row) + "\n" for row in rows).encode())
    if rng.random() < 0.3:
        raw = bytearray(gzip.compress(bytes(raw), mtime=0))
    for _ in range(rng.choice((0, 1, 3, 30))):
        raw[rng.randrange(len(raw))] = rng.randrange(256)
    if rng.random() < 0.2:
        del raw[rng.randrange(len(raw)) :]
    path = tmp_path / rng.choice(("a.jsonl", "a.json", "a.jsonl.gz", "a.parquet"))
    path.write_bytes(raw)
    try:
        submission = read_submission(release, path)
    except SubmissionError as error:
        assert str(error)
        return
    for reading in submission.readings.values():
        assert reading.error or reading.choice in set("ABCDE")
    if len(submission.readings) < 2 or any(r.error for r in submission.readings.values()):
        assert said(submission)
