"""One patient in all three exams: each is intact, all agree, any road gives the same bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import overread
from overread.phantom.exams.text_cases import write_text_cases
from overread.phantom.generator import make_population
from overread.phantom.visit import PatientSettings
from tests.conftest import ILLNESS, PATIENTS
from tests.jsonl_rows import read_rows

RELEASES = {
    "medthinkvqa": ("medthinkvqa", ("train", "test")),
    "rexgroundingct": ("rexgroundingct", ("train", "val", "test")),
    "mmrad": ("mmrad", ("train", "val", "test")),
    "mmrad/thinkvg": ("mmrad", ("train", "val", "test")),
}


def tree(folder: Path) -> dict[str, bytes]:
    """Every file under a folder and its bytes."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def lines(patients: Path, exam: str) -> dict[int, dict[str, Any]]:
    """Patient → all that is known of him in an exam."""
    return {line["patient"]: line for line in read_rows(patients / exam / "phantom.jsonl")}


@pytest.mark.parametrize("folder", RELEASES)
def test_check_finds_nothing(patients: Path, folder: str) -> None:
    """No error and no warning in any split of any exam."""
    benchmark, splits = RELEASES[folder]
    for split in splits:
        assert list(overread.check(benchmark, patients / folder, split)) == []
        assert len(list(overread.load(benchmark, patients / folder, split)))


def test_the_exams_of_a_patient_agree(patients: Path) -> None:
    """The same person and the same findings in scan, films and case; the same split but for val."""
    scans, films, cases = (lines(patients, e) for e in ("rexgroundingct", "mmrad", "medthinkvqa"))
    assert sorted(scans) == sorted(films) == sorted(cases) == sorted(PATIENTS)
    for number, scan in scans.items():
        film, case = films[number], cases[number]
        assert scan["habitus"] == case["habitus"]
        found = [one["statement"] for one in scan["findings"]]
        assert found == [one["statement"] for one in case["days"][0]["findings"]]
        signs = {sign["key"]: sign["statement"] for sign in film["signs"]}
        for place, statement in enumerate(found):
            assert signs[f"finding-{place}"] == statement
        assert scan["split"] == film["split"]
        assert case["split"] == scan["split"].replace("val", "train")


def test_the_history_tells_the_age_and_sex_of_the_scan(patients: Path) -> None:
    """Who comes is who was scanned."""
    scans = lines(patients, "rexgroundingct")
    for split in ("train", "test"):
        for case in overread.load("medthinkvqa", patients / "medthinkvqa", split):
            habitus = scans[int(case.id.removeprefix("case"))]["habitus"]
            assert case.history is not None
            assert f"{habitus['age']}-year-old" in case.history
            words = set(case.history.lower().replace(".", " ").replace(",", " ").split())
            male = {"man", "he", "his", "male"}
            female = {"woman", "she", "her", "female"}
            assert words & (male if habitus["sex"] == "male" else female)
            assert not words & (female if habitus["sex"] == "male" else male)


def test_the_report_says_what_shows(patients: Path) -> None:
    """Positive sentences are of findings that show, and every finding that shows has one."""
    for line in lines(patients, "mmrad").values():
        seen = {sign["key"] for sign in line["signs"] if sign["seen"] == "seen"}
        told = {
            key
            for sentence in line["sentences"]
            if sentence["stance"] == "positive"
            for key in sentence["keys"]
        }
        assert told == seen


@pytest.mark.slow
def test_any_number_of_workers_and_any_order_give_the_same_bytes(patients: Path, tmp_path: Path) -> None:
    """One process, the first patient alone and the others later: the very same tree."""
    make_population(tmp_path / "a", 1, ILLNESS, workers=1)
    make_population(tmp_path / "a", sorted(PATIENTS), ILLNESS, workers=1)
    assert tree(tmp_path / "a") == tree(patients)


@pytest.mark.slow
def test_an_exam_does_not_depend_on_the_others(patients: Path, tmp_path: Path) -> None:
    """Each exam asked for alone has the files that it has among the three, but for its card."""
    whole = tree(patients)
    for exam in ("medthinkvqa", "rexgroundingct", "mmrad"):
        out = tmp_path / exam
        make_population(out, 1, ILLNESS, exams=[exam], workers=1)
        for name, data in tree(out).items():
            if name.endswith((".jpg", ".nii.gz")):
                assert whole[name] == data, name


@pytest.mark.slow
def test_with_another_mix_the_case_is_another_occasion(tmp_path: Path) -> None:
    """Scan and films agree, the case is of the same person with other findings; all is intact."""
    settings = PatientSettings(seed=5, mix="real")
    make_population(tmp_path / "out", 1, settings, workers=1)
    (scan,), (film,), (case,) = (
        lines(tmp_path / "out", exam).values() for exam in ("rexgroundingct", "mmrad", "medthinkvqa")
    )
    keys = {sign["key"] for sign in film["signs"] if sign["key"].startswith("finding")}
    assert len(keys) == len(scan["findings"])
    assert (scan["habitus"]["age"], scan["habitus"]["sex"]) == (
        case["habitus"]["age"],
        case["habitus"]["sex"],
    )
    for exam in ("medthinkvqa", "rexgroundingct", "mmrad"):
        assert list(overread.check(exam, tmp_path / "out" / exam, "train")) == []


def test_cases_as_text_are_what_readers_see_of_the_drawn_ones(patients: Path, tmp_path: Path) -> None:
    """History, options, answer and picture names are the same word for word, without a pixel."""
    splits = write_text_cases(tmp_path / "text", max(PATIENTS), ILLNESS)
    assert sum(splits.values()) == max(PATIENTS)
    assert not list((tmp_path / "text").rglob("*.jpg"))
    for split in splits:
        drawn, written = (
            overread.load("medthinkvqa", root / "medthinkvqa", split)
            for root in (patients, tmp_path / "text")
        )
        texts = {entry.case.id: entry for entry in written.entries()}
        for one in drawn.entries():
            other = texts[one.case.id]
            assert one.case == other.case
            assert one.truth is not None
            assert other.truth is not None
            assert one.truth.answer == other.truth.answer


def test_sources_and_cards(patients: Path) -> None:
    """Raw cases and reports as builders have them, and a card for each exam."""
    raw = read_rows(patients / "sources/medthinkvqa/cases.jsonl")
    planted = read_rows(patients / "sources/medthinkvqa/.planted.jsonl")
    assert [row["id"] for row in raw] == [row["id"] for row in planted]
    for row in raw:
        for image in row["images"]:
            assert (patients / "sources/medthinkvqa" / image["file"]).is_file()
    reports = read_rows(patients / "sources/mmrad/reports.jsonl")
    assert len(reports) == len(PATIENTS)
    for row in reports:
        assert (patients / "sources/mmrad" / row["image"]).is_file()
        assert len(row["regions"]) == 35
    for exam in ("medthinkvqa", "rexgroundingct", "mmrad"):
        card = (patients / exam / "README.md").read_text("utf-8")
        for words in ("Every patient here is synthetic", "--mix illness", "research and education"):
            assert words in card
        assert "{" not in card.split("## Layout")[0]
    assert json.loads((patients / ".making/settings.json").read_text())["mix"] == "illness"
