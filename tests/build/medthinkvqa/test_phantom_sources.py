"""The recipe `medthinkvqa` on the phantom's sources: what is determined equals the generator's own.

Determined are history, imaging findings, captions, pictures with their ids and modalities, the right
diagnosis, its ICD-10 place, time points and interval. Free are which four of the differentials stay,
their letters, the wording of the discussion (drawn apart for the raw case) and the split.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from overread.benchmarks import check, load
from overread.benchmarks.medthinkvqa.write import row_of
from overread.build.medthinkvqa import RECIPE
from overread.build.plan import BuildOutcome
from overread.build.runner import run_build
from overread.core import Entry
from overread.phantom.generator import make_population
from overread.phantom.illness.entries import make_text_entry
from overread.phantom.illness.raw_cases import make_raw_case
from overread.phantom.illness.sampler import draw_draft
from overread.phantom.visit import PatientSettings
from overread.pixels.encode import encode

PATIENTS = 60
SEED = 23
FREE = ("options", "correct_answer", "discussion")


@dataclass
class Built:
    """Raw cases, what the generator knows of them, and what the recipe made of them."""

    source: Path
    own: dict[str, dict[str, Any]]
    """Title → the generator's own row."""
    raw: dict[str, dict[str, Any]]
    """Title → the raw case."""
    planted: dict[str, dict[str, Any]]
    """Title → what is hidden in it."""
    outcome: BuildOutcome
    release: Path

    @property
    def rows(self) -> list[dict[str, Any]]:
        """All rows of the release."""
        return [row for split in ("train", "test") for row in lines(self.release / f"{split}.jsonl")]


def lines(path: Path) -> list[dict[str, Any]]:
    """Rows of a file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    """Rows into a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Text cases as the phantom writes them, each picture a few grey pixels."""
    root = tmp_path_factory.mktemp("phantom")
    settings = PatientSettings(seed=SEED, mix="illness")
    own, raw, planted = [], [], []
    grey = encode(np.full((8, 8), 90, np.uint8), kind="jpeg")
    for number in range(1, PATIENTS + 1):
        draft = draw_draft(number, settings)
        entry = make_text_entry(draft, settings)
        case, hidden = make_raw_case(draft, entry, settings)
        for image in case["images"]:
            file = root / "medthinkvqa" / image["file"]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(grey)
            image["file"] = f"../../medthinkvqa/{image['file']}"
        own.append(row_of(entry))
        raw.append(case)
        planted.append(hidden.model_dump(mode="json"))
    write_lines(root / "own.jsonl", own)
    write_lines(root / "planted.jsonl", planted)
    write_lines(root / "sources" / "medthinkvqa" / "cases.jsonl", raw)
    return root


def build(root: Path, out: Path, **settings: str) -> Built:
    """A build by rules alone."""
    source = root / "sources" / "medthinkvqa"
    outcome = run_build(RECIPE, source, out, settings=settings)
    assert outcome.problem is None, outcome.problem
    assert not outcome.tally.bugs
    raw = {row["title"]: row for row in lines(source / "cases.jsonl")}
    hidden = {row["id"]: row for row in lines(root / "planted.jsonl")}
    return Built(
        source=source,
        own={row["title"]: row for row in lines(root / "own.jsonl")},
        raw=raw,
        planted={title: hidden[row["id"]] for title, row in raw.items()},
        outcome=outcome,
        release=out / "release",
    )


@pytest.fixture(scope="module")
def built(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The build with all defaults, but more of a test split."""
    return build(sources, tmp_path_factory.mktemp("built") / "out", **{"test-share": "0.4"})


def determined(row: dict[str, Any]) -> dict[str, Any]:
    """What of a row is not free; text cases say nothing of the time of a single picture."""
    return {
        name: value for name, value in row.items() if name not in FREE and not name.endswith("_timepoint")
    }


def test_what_is_left_is_what_was_planted_clean(built: Built) -> None:
    """All clean cases stay, and no case with a leak, a clue or too few differentials does."""
    clean = {title for title, hidden in built.planted.items() if hidden["kind"] == "clean"}
    assert {row["title"] for row in built.rows} == clean
    assert 20 < len(clean) < PATIENTS


def test_drops_say_what_was_planted(built: Built) -> None:
    """The counts of each reason are those of the planted kinds."""
    kinds = [hidden["kind"] for hidden in built.planted.values()]
    dropped: dict[str, int] = {}
    for step in built.outcome.steps:
        dropped |= step.dropped
    assert dropped["too-few-differentials"] == kinds.count("few")
    assert dropped["leak-L3"] == kinds.count("L3")
    assert dropped["leak-L1"] == kinds.count("L1")
    assert dropped["solved-by-text"] == kinds.count("clue")


def test_determined_facts_equal_the_generators(built: Built) -> None:
    """Every cell that is not free is the generator's own, in every row."""
    for row in built.rows:
        assert determined(row) == determined(built.own[row["title"]])


def test_options_are_the_key_and_four_listed_others(built: Built) -> None:
    """Five different options of the experts' list, the right one at the letter that is given."""
    for row in built.rows:
        raw = built.raw[row["title"]]
        options = row["options"]
        assert list(options) == list("ABCDE")
        assert len(set(options.values())) == 5
        assert set(options.values()) <= set(raw["differential"])
        assert options[row["correct_answer"]] == raw["final_diagnosis"]


def test_letters_and_lengths_are_balanced(built: Built) -> None:
    """In each split letters differ by one at most; the right option is rarely the longest."""
    for split in ("train", "test"):
        rows = lines(built.release / f"{split}.jsonl")
        counts = [sum(row["correct_answer"] == letter for row in rows) for letter in "ABCDE"]
        assert max(counts) - min(counts) <= 1
    longest = [
        len(row["correct_answer_text"]) == max(len(text) for text in row["options"].values())
        for row in built.rows
    ]
    assert sum(longest) / len(longest) < 0.35


def test_the_discussion_only_loses_sentences_on_what_is_no_option(built: Built) -> None:
    """Each remaining sentence was there before, the key's stay, and no left-out name is left."""
    for row in built.rows:
        raw = built.raw[row["title"]]
        before = raw["discussion"]
        gone = set(raw["differential"]) - set(row["options"].values())
        for paragraph in row["discussion"].split("\n\n"):
            heading, _, text = paragraph.partition("\n")
            assert f"{heading}\n" in before
            assert all(part in before for part in text.split(". "))
        assert not [name for name in gone if f"{name} would" in row["discussion"]]
        kept = [name for name in row["options"].values() if f"{name} would" in before]
        assert all(f"{name} would" in row["discussion"] for name in kept)
        assert "This patient" in row["discussion"] or "synthetic" in row["discussion"]


@pytest.mark.parametrize("split", ["train", "test"])
def test_the_release_passes_the_check_with_its_pictures(built: Built, split: str) -> None:
    """Nothing is wrong with either split, pictures opened."""
    assert list(check("medthinkvqa", built.release, split)) == []
    assert len(list(load("medthinkvqa", built.release, split))) > 5


def test_cutting_leaks_gives_the_generators_history_back(sources: Path, tmp_path: Path) -> None:
    """With leaks cut instead of dropped, every leaking case has its original history again."""
    cut = build(sources, tmp_path / "out", leaks="cut", proof="keep")
    leaking = {title for title, hidden in cut.planted.items() if hidden["level"]}
    rows = {row["title"]: row for row in cut.rows}
    assert len(leaking & rows.keys()) >= 0.9 * len(leaking)
    for title in leaking & rows.keys():
        assert cut.raw[title]["history"] != cut.own[title]["CLINICAL_HISTORY"]
        assert rows[title]["CLINICAL_HISTORY"] == cut.own[title]["CLINICAL_HISTORY"]


def test_words_alone_tell_modalities_and_time_points(sources: Path, tmp_path: Path) -> None:
    """Without the source's columns, captions tell the modality and texts the time points."""
    root = tmp_path / "bare"
    rows = lines(sources / "sources" / "medthinkvqa" / "cases.jsonl")
    for row in rows:
        row.pop("interval", None)
        for image in row["images"]:
            del image["modality"], image["sub_modality"]
    write_lines(root / "sources" / "medthinkvqa" / "cases.jsonl", rows)
    for name in ("own.jsonl", "planted.jsonl"):
        (root / name).write_bytes((sources / name).read_bytes())
    bare = build(root, tmp_path / "out", pictures="named")
    assert len(bare.rows) > 20
    for row in bare.rows:
        own = bare.own[row["title"]]
        for name in ("is_longitudinal", "timepoint_count", "interval_text"):
            assert row.get(name) == own.get(name)
        for name in own:
            if name.endswith("_modality") and "sub" not in name:
                assert row[name] == own[name]


def test_the_planted_file_is_never_read(sources: Path, tmp_path: Path) -> None:
    """A hidden file that lies about every case changes nothing."""
    folder = sources / "sources" / "medthinkvqa"
    first = build(sources, tmp_path / "one", pictures="named")
    (folder / ".planted.jsonl").write_text('{"id": "raw00001", "kind": "clean"}\n')
    try:
        second = build(sources, tmp_path / "two", pictures="named")
    finally:
        (folder / ".planted.jsonl").unlink()
    assert first.rows == second.rows


@pytest.mark.slow
def test_drawn_patients_are_rebuilt_whole(tmp_path: Path) -> None:
    """From drawn patients every cell that is not free is the generator's, times of pictures too."""
    root = tmp_path / "phantom"
    make_population(root, 2, PatientSettings(seed=20), exams=["medthinkvqa"], workers=2)
    own: dict[str, Entry] = {}
    for split in ("train", "test"):
        for entry in load("medthinkvqa", root / "medthinkvqa", split).entries():
            own[entry.case.id] = entry
    outcome = run_build(
        RECIPE, root / "sources" / "medthinkvqa", tmp_path / "out", settings={"leaks": "cut", "proof": "keep"}
    )
    assert outcome.problem is None
    assert len(outcome.items) == 2
    for split in ("train", "test"):
        errors = list(check("medthinkvqa", tmp_path / "out" / "release", split))
        assert [d for d in errors if d.severity == "error"] == []
        for entry in load("medthinkvqa", tmp_path / "out" / "release", split).entries():
            theirs = row_of(own[entry.case.id])
            ours = row_of(entry)
            assert {k: v for k, v in ours.items() if k not in FREE} == {
                k: v for k, v in theirs.items() if k not in FREE
            }
            for picture in entry.case.pictures:
                release = tmp_path / "out" / "release"
                assert (release / picture.file).read_bytes() == (
                    root / "medthinkvqa" / picture.file
                ).read_bytes()
