"""The workflow `twi`: findings for each picture, a summary, the options weighed, the discussion."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import overread
from overread.benchmarks.medthinkvqa.submit import prediction_fields
from overread.core import Case, Option, Release, Whole
from overread.core.verdicts import SECTIONS
from overread.errors import BadReply
from overread.language.discussions import split_discussion
from overread.runs.engine import RunPlan
from overread.runs.estimate import estimate
from overread.workflows.twi import differential_parser, parse_discussion
from tests.jsonl_rows import read_rows, write_rows
from tests.workflows.scripted_model import Asked, Record, js, kinds, same_pixels, scripted, shown_regions

DISCUSSION = {
    name: f"This is the {name.replace('_', ' ')}."
    for name in (
        "background",
        "clinical_perspective",
        "imaging_perspective",
        "clinical_significance",
        "outcome",
    )
} | {"take_home_points": ["Look twice.", "Compare."]}
WEIGHED = js(
    differential=[
        {"candidate": letter, "supports": f"for {letter}", "against": "", "probability": share}
        for letter, share in zip("ABCDE", (10, 50, 20, 10, 10), strict=True)
    ],
    answer="B",
    explanation="A round mass; the others do not fit.",
)


def task_of(asked: Asked) -> str:
    """Which step a question is, by what it asks for."""
    for words, task in (
        ("Say what this picture shows", "findings"),
        ("Write one summary", "summary"),
        ("Weigh every one of them", "choose"),
        ("Write the discussion", "discuss"),
    ):
        if words in asked.words:
            return task
    raise AssertionError(asked.words)


def answered(asked: Asked) -> str:
    """A model that does as it is asked."""
    task = task_of(asked)
    if task == "findings":
        return f"Seen: {asked.words.split('is picture ')[1][0]}."
    return {"summary": "All in all, a mass.", "choose": WEIGHED, "discuss": js(**DISCUSSION)}[task]


def read(root: Path, out: Path, script: Any = answered, **more: Any) -> Record:
    return scripted("medthinkvqa", root, out, script, "twi", **{"limit": 1, **more})


@pytest.fixture
def case(sketch: Path) -> Case:
    """The first case."""
    return next(iter(overread.load("medthinkvqa", sketch / "medthinkvqa")))


def test_every_step_with_its_pictures(sketch: Path, tmp_path: Path, case: Case) -> None:
    """One question a picture with that picture alone, then words, then all pictures, then words."""
    release = overread.load("medthinkvqa", sketch / "medthinkvqa")
    films = [release.pictures.pixels(picture) for picture in case.pictures]
    done = read(sketch / "medthinkvqa", tmp_path / "run")
    tasks = [task_of(asked) for asked in done.asked]
    assert tasks == [*["findings"] * 3, "summary", "choose", "discuss"]
    sent = [list(asked.pictures) for asked in done.asked]
    wanted = [[films[0]], [films[1]], [films[2]], [], films, []]
    assert [len(some) for some in sent] == [len(some) for some in wanted]
    for some, others in zip(sent, wanted, strict=True):
        assert all(same_pixels(a, b) for a, b in zip(some, others, strict=True))
    reading = done.reading
    assert kinds(reading) == [*["look"] * 3, "say", "conclude", "say"]
    wholes = [Whole(picture=picture.name) for picture in case.pictures]
    assert shown_regions(reading) == [[w] for w in wholes] + [[], wholes, []]
    assert reading.trace is not None
    assert [list(step.regions) for step in reading.trace.steps] == [*([w] for w in wholes), *[wholes] * 3]
    assert [step.exchange for step in reading.trace.steps] == list(range(6))


def test_what_is_kept(sketch: Path, tmp_path: Path, case: Case) -> None:
    """Findings by picture, the summary, the letter, its reasons, probabilities, six sections."""
    reading = read(sketch / "medthinkvqa", tmp_path / "run").reading
    assert reading.findings is not None
    assert [f.text for f in reading.findings] == ["Seen: 1.", "Seen: 2.", "Seen: 3."]
    assert [f.regions[0].picture for f in reading.findings] == [p.name for p in case.pictures]
    assert reading.report == "All in all, a mass."
    assert (reading.choice, reading.rationale) == ("B", "A round mass; the others do not fit.")
    assert reading.probabilities == {"A": 0.1, "B": 0.5, "C": 0.2, "D": 0.1, "E": 0.1}
    assert list(dict.fromkeys(name for name, _ in split_discussion(reading.discussion or ""))) == list(
        SECTIONS
    )
    assert "Look twice.\nCompare." in (reading.discussion or "")


def test_each_step_is_told_the_steps_before(sketch: Path, tmp_path: Path, case: Case) -> None:
    """The summary knows the findings, the choice both, the discussion the choice; options late."""
    asked = read(sketch / "medthinkvqa", tmp_path / "run").asked
    summary, choice, talk = asked[3:]
    for number in (1, 2, 3):
        assert f"Picture {number}: Seen: {number}." in summary.words
    assert "Seen: 2." in choice.words
    assert "All in all, a mass." in choice.words
    for option in case.options:
        line = f"{option.letter}. {option.text}"
        assert line in choice.words
        assert all(option.text not in one.words for one in asked[:4])
    chosen = next(option.text for option in case.options if option.letter == "B")
    assert f"Diagnosis:\n{chosen}" in talk.words
    assert "the others do not fit" in talk.words


def test_the_submission_takes_all_of_it(sketch: Path, tmp_path: Path, case: Case) -> None:
    """Step 1, the summary, and each option weighed with the reasons are what is handed in."""
    row = prediction_fields(case, read(sketch / "medthinkvqa", tmp_path / "run").reading)
    assert (row["prediction"], row["prediction_rationale"]) == ("B", "A round mass; the others do not fit.")
    steps = row["prediction_twi"]
    assert steps["step1_per_image_findings"] == ["Seen: 1.", "Seen: 2.", "Seen: 3."]
    assert steps["step2_integrated_summary"] == "All in all, a mass."
    for option in case.options:
        assert f"{option.text} – supported by: for {option.letter}" in (steps["step3_differential_reasoning"])
    assert steps["step3_differential_reasoning"].endswith("the others do not fit.")
    assert row["prediction_probabilities"]["B"] == 0.5
    assert "Take-home points" in row["prediction_discussion"]


def test_without_a_discussion(sketch: Path, tmp_path: Path) -> None:
    """The setting leaves the last question away, and nothing else."""
    done = read(sketch / "medthinkvqa", tmp_path / "run", settings={"discussion": False})
    assert [task_of(asked) for asked in done.asked] == [*["findings"] * 3, "summary", "choose"]
    assert done.reading.discussion is None


@pytest.mark.parametrize(
    ("reveal", "tasks", "kept"),
    [
        (("captions",), ["summary", "choose"], (None, "All in all, a mass.")),
        (("summary",), ["choose"], (None, None)),
        (("captions", "summary"), ["choose"], (None, None)),
    ],
)
def test_what_experts_said_stands_in_for_the_readers_own(
    sketch: Path, tmp_path: Path, reveal: tuple[str, ...], tasks: list[str], kept: Any
) -> None:
    """The step is not asked for, its words are told, and the reading does not claim them."""
    root = sketch / "medthinkvqa"
    done = read(root, tmp_path / "run", settings={"reveal": reveal, "discussion": False})
    assert [task_of(asked) for asked in done.asked] == tasks
    release: Release = overread.load("medthinkvqa", root)
    truth = next(iter(release.entries())).truth
    assert truth is not None
    last = done.asked[-1].words
    if "captions" in reveal:
        assert all(finding.text in last for finding in truth.findings)
    if "summary" in reveal:
        assert f"{truth.report}" in last
    assert ("Not described one by one" in last) == (reveal == ("summary",))
    assert "Seen:" not in last
    found = done.reading.findings
    assert (None if found is None else len(found), done.reading.report) == kept


def test_time_points_are_told(copy: Callable[[str], Path], tmp_path: Path) -> None:
    """Where the case states them, with the picture and in what is told of all pictures."""
    root = copy("medthinkvqa")
    rows = read_rows(root / "test.jsonl")
    times = {"image_01_timepoint": 2, "image_02_timepoint": 1}
    write_rows(root / "test.jsonl", [row | times for row in rows])
    asked = read(root, tmp_path / "run").asked
    assert "picture 1 of 3 of one patient, of examination 2, 1 being the earliest." in asked[0].words
    assert "picture 3 of 3 of one patient.\n" in asked[2].words
    for words in (asked[3].words, asked[4].words, asked[5].words):
        assert "Picture 1 (examination 2): Seen" in words
        assert "Picture 3: Seen" in words


@pytest.mark.parametrize("step", ["findings", "summary", "choose", "discuss"])
def test_a_bad_answer_is_asked_for_again(sketch: Path, tmp_path: Path, step: str) -> None:
    """At each step the reader is told what is wrong, with the same pictures; the rest goes on."""
    bad = {"choose": '{"answer": "Z"}', "discuss": js(background="Only this.")}

    def once(asked: Asked) -> str:
        if task_of(asked) == step and asked.turns == 1:
            return bad.get(step, "<think>Hm")
        return answered(asked)

    done = read(sketch / "medthinkvqa", tmp_path / "run", once)
    assert done.reading.error is None
    assert len(kinds(done.reading)) == 6
    again = [asked for asked in done.asked if asked.turns == 3]
    first = next(asked for asked in done.asked if task_of(asked) == step)
    assert len(again) == (3 if step == "findings" else 1)
    assert "could not be used" in again[0].last
    assert len(again[0].pictures) == len(first.pictures)
    assert [one.problem is not None for one in done.reading.exchanges].count(True) == len(again)


@pytest.mark.parametrize("step", ["findings", "summary", "choose", "discuss"])
def test_a_step_that_fails_fails_the_case(sketch: Path, tmp_path: Path, step: str) -> None:
    """One sentence says why, and what was done before is kept."""

    def fails(asked: Asked) -> str:
        return " " if task_of(asked) == step else answered(asked)

    done = read(sketch / "medthinkvqa", tmp_path / "run", fails)
    reading = done.reading
    assert reading.error == "the answer could not be used: it is empty"
    assert reading.choice is None
    before = ["findings", "findings", "findings", "summary", "choose", "discuss"].index(step)
    assert len(reading.trace.steps if reading.trace else ()) == before


def test_an_answer_without_its_differential_counts() -> None:
    """The letter is what must be; what is missing is noted."""
    options = _options()
    told = differential_parser(options)("The answer is C.")
    assert (told.value.choice, told.value.probabilities) == ("C", None)
    assert "not weighed" in (told.repaired or "")
    some = js(differential=[{"candidate": "A"}, {"candidate": "banana"}], answer="C", explanation="")
    told = differential_parser(options)(some)
    assert told.repaired == "B, C, D, E not weighed"
    with pytest.raises(BadReply):
        differential_parser(options)(js(differential=[{"candidate": "A", "supports": "it"}]))


@pytest.mark.parametrize(
    ("shares", "wanted"),
    [
        ([0.2] * 5, [0.2] * 5),
        ([20, 20, 20, 20, 20], [0.2] * 5),
        ([0, 0, 0, 0, 0], None),
        ([-1, 1, 1, 1, 1], None),
        ([0.5, 0.5, None, 0, 0], None),
        ([float("inf"), 1, 1, 1, 1], None),
    ],
)
def test_probabilities_are_of_all_options_or_none(shares: Any, wanted: Any) -> None:
    """They add up to 1, whatever they were given in."""
    options = _options()
    weights = [
        {"candidate": o.letter, "probability": share} for o, share in zip(options, shares, strict=True)
    ]
    told = differential_parser(options)(json.dumps({"differential": weights, "answer": "A"}))
    found = told.value.probabilities
    assert (list(found.values()) if found else None) == wanted


def _options() -> tuple[Option, ...]:
    return tuple(Option(letter=letter, text=f"Disease {letter}") for letter in "ABCDE")


def test_a_discussion_in_words() -> None:
    """Headings will do in place of JSON, if all six are there."""
    said = "\n".join(f"## {section.title()}\nIt is so." for section in SECTIONS)
    assert parse_discussion(said).repaired == "it stood in words, not in JSON"
    with pytest.raises(BadReply, match="JSON object"):
        parse_discussion(said.replace("## Outcome", "## Remarks"))
    with pytest.raises(BadReply):
        parse_discussion(js(**{**DISCUSSION, "outcome": "  "}))


def test_a_case_without_pictures_is_weighed(sketch: Path, tmp_path: Path) -> None:
    """With no picture shown there is nothing to describe or to sum up."""
    settings = {"image_ratio": 0, "discussion": False}
    done = read(sketch / "medthinkvqa", tmp_path / "run", settings=settings)
    assert [task_of(asked) for asked in done.asked] == ["choose"]
    assert done.asked[0].pictures == ()
    assert (done.reading.choice, done.reading.findings, done.reading.report) == ("B", None, None)


def test_a_case_without_options_fails_alone(sketch: Path, tmp_path: Path) -> None:
    """Nothing can be weighed, and the reading says so."""
    done = scripted("mmrad", sketch / "mmrad", tmp_path / "run", answered, "twi")
    assert {reading.error for reading in done.readings.values()} == {
        "the workflow 'twi' needs a case with options"
    }
    assert done.asked == []


def test_what_it_would_take(sketch: Path) -> None:
    """A dry run follows it to its end: six questions and six pictures a case."""
    arguments = {"model": "m", "base_url": "http://127.0.0.1:1/v1"}
    root = sketch / "medthinkvqa"
    plan = RunPlan("medthinkvqa", root, "openai", arguments=arguments, workflow="twi", use_cache=False)
    found = estimate(plan)
    assert (found.calls, found.pictures, found.at_least) == (12, 12, False)
