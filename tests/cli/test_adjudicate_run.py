"""`overread adjudicate RUN`: people check a judge at the terminal, as they do on the page."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from overread import RunPlan
from overread import run as read_cases
from overread.build.adjudication import Queue, verify_log
from tests.build.adjudication.sample_questions import judged_by_owl
from tests.cli.overread_command import run as command


@pytest.fixture
def read(copy: Callable[[str], Path], tmp_path: Path) -> Path:
    """A run of some cases that nobody has judged."""
    out = tmp_path / "mine"
    read_cases(RunPlan("medthinkvqa", copy("medthinkvqa"), "random", split="test"), out)
    return out


def test_two_people_against_the_judge(read: Path) -> None:
    """The questions are written beside the run; agreement is of the reads and with the judge."""
    cases = judged_by_owl(read)
    beside = read.with_name("mine-judge-checked")
    code, _, err = command("adjudicate", read, "--progress")
    assert code == 2
    assert "there are no questions about the judge of this run yet" in err
    every = 2 * len(cases)
    code, out, err = command("adjudicate", read, "--as", "ann", typed="f\n" * every)
    assert (code, out) == (0, f"ann: {every} given, 0 left\n")
    assert "Does this step of the explanation hold?" in err
    assert "right answer" in err
    assert "zebra" not in err
    code, out, _ = command("adjudicate", beside, "--as", "bob", typed="f\nn\n" * len(cases))
    assert (code, out) == (0, f"bob: {every} given, 0 left\n")
    assert len(Queue(beside).current_verdicts()) == 2 * every
    assert verify_log(beside).intact

    code, out, _ = command("adjudicate", read, "--agreement", "--draws", "0")
    assert code == 0
    assert f"judged-step: {every} questions read twice, {len(cases)} differ" in out
    assert f"judged-step: ann against the judge owl, {every} questions\n  agree  0.500" in out
    assert f"judged-step: bob against the judge owl, {every} questions\n  agree  1.000" in out
    code, out, _ = command("adjudicate", read, "--agreement", "--draws", "0", "--json")
    told = {one["who"]: one["agreement"]["share"]["value"] for one in json.loads(out)[1:]}
    assert told == {"ann": 0.5, "bob": 1.0, "decided together": 1.0}
    assert command("adjudicate", read, "--verify")[0] == 0


def test_what_was_judged_since_is_asked_too(read: Path) -> None:
    """Sitting down again asks about what the judge said meanwhile; nothing given is lost."""
    cases = judged_by_owl(read)
    file = read / "judge_verdicts.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text(lines[0])
    code, out, _ = command("adjudicate", read, "--as", "ann", typed="f\nq\n")
    assert (code, out) == (0, "ann: 1 given, 1 left\n")
    file.write_text("".join(lines))
    code, out, _ = command("adjudicate", read, "--as", "ann", typed="q\n")
    assert (code, out) == (0, f"ann: 0 given, {2 * len(cases) - 1} left\n")


def test_what_cannot_be_asked_is_said(read: Path, tmp_path: Path) -> None:
    """A run that nobody judged, a dataset that is gone or has moved."""
    code, _, err = command("adjudicate", read, "--as", "ann")
    assert code == 2
    assert "nothing of this run was judged yet" in err
    judged_by_owl(read)
    moved = tmp_path / "moved"
    shutil.move(tmp_path / "medthinkvqa", moved)
    code, _, err = command("adjudicate", read, "--as", "ann", typed="q\n")
    assert code == 0
    assert "note: new sentences are shown without their cases" in err
    assert "right answer" not in err
    code, _, err = command("adjudicate", read, "--as", "ann", "--root", moved, typed="q\n")
    assert code == 0
    assert "right answer" in err


def test_a_dataset_that_is_away_costs_no_verdict(read: Path, tmp_path: Path) -> None:
    """Questions that were asked with their cases stay so; only new ones stand alone."""
    cases = judged_by_owl(read)
    file = read / "judge_verdicts.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text(lines[0])
    assert command("adjudicate", read, "--as", "ann", typed="f\nf\n")[0] == 0
    file.write_text("".join(lines))
    shutil.move(tmp_path / "medthinkvqa", tmp_path / "away")
    code, out, _ = command("adjudicate", read, "--as", "bob", typed="f\nq\n")
    assert (code, out) == (0, f"bob: 1 given, {2 * len(cases) - 1} left\n")
    code, out, _ = command("adjudicate", read, "--export", tmp_path / "all.csv")
    assert (code, out.split()[0]) == (0, "3")
    code, out, _ = command("adjudicate", read, "--progress", "--json")
    told = json.loads(out)
    assert (told["outdated"], told["given"]) == (0, {"ann": 2, "bob": 1})


def test_a_row_that_is_no_case_spoils_no_other(read: Path, tmp_path: Path) -> None:
    """The terminal shows of a damaged dataset what the page shows of it."""
    judged_by_owl(read)
    file = tmp_path / "medthinkvqa" / "test.jsonl"
    rows = file.read_text().splitlines(keepends=True)
    file.write_text("".join([*rows, "no row\n", rows[0]]))
    code, _, err = command("adjudicate", read, "--as", "ann", typed="q\n")
    assert code == 0
    assert "right answer" in err
    assert "note:" not in err
