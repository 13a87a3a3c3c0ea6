"""Runs as submissions: what goes out in the official format comes back to the same numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import overread
from overread import catalog
from overread.cli.submit import submit as command
from overread.core import Reading, WrittenSubmission
from overread.errors import OverreadError, SubmissionError, UsageError
from overread.runs.scoring.aggregation import BootstrapSettings
from overread.runs.scoring.from_submission import grade
from overread.runs.submission_export import RunReadings, export_submission
from tests.jsonl_rows import read_rows
from tests.runs.sketch_runs import (
    BENCHMARKS,
    questions,
    ran,
    readings_in,
    rewritten,
    run_scores,
    same_scores,
    submitted_scores,
)

OUT = {"medthinkvqa": "mine.jsonl", "rexgroundingct": "mine.zip", "mmrad": "mine.jsonl"}


@pytest.fixture(params=[*BENCHMARKS, "questions"])
def exam(request: pytest.FixtureRequest, sketch: Path, tmp_path: Path) -> tuple[str, Path, Path]:
    """(benchmark, release, where to write), of each exam and of one of question rows."""
    name = request.param
    if name == "questions":
        return "mmrad", questions(tmp_path / "asked"), tmp_path / "mine.jsonl"
    return name, sketch / name, tmp_path / OUT[name]


@pytest.mark.parametrize("reader", ["oracle", "random", "majority"])
def test_there_and_back(
    exam: tuple[str, Path, Path], reader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run handed in is graded as its readings are when they are measured directly."""
    benchmark, root, out = exam
    ran(reader, benchmark, root, tmp_path / "run")
    handed = export_submission(tmp_path / "run", out)
    cases = overread.load(benchmark, root).count()
    assert (handed.written, handed.missing, handed.failed, handed.notes) == (cases, 0, 0, ())
    found, submission = submitted_scores(benchmark, root, out)
    assert [str(p) for p in submission.problems if p.severity == "error"] == []
    direct = run_scores(benchmark, root, test=tmp_path / "run")
    same_scores(direct, found)
    monkeypatch.setenv("OVERREAD_CACHE", str(tmp_path / "cache"))
    known = set(catalog.names("metrics"))
    names = [n for n, value in found.items() if n in known and not math.isnan(value)]
    if not names:
        return
    card = grade(benchmark, root, out, metrics=names, bootstrap=BootstrapSettings(draws=0))
    assert card.scores
    for name, score in card.scores.items():
        assert score.value == pytest.approx(direct[name], abs=1e-12), name


def test_oracle_submissions_have_nothing_to_tell(exam: tuple[str, Path, Path], tmp_path: Path) -> None:
    """A perfect run comes back without a single problem, warnings included."""
    benchmark, root, out = exam
    ran("oracle", benchmark, root, tmp_path / "run")
    export_submission(tmp_path / "run", out)
    assert submitted_scores(benchmark, root, out)[1].problems == []


def test_writing_twice_gives_the_same_bytes(exam: tuple[str, Path, Path], tmp_path: Path) -> None:
    """Equal runs are equal submissions, with or without force; something else is replaced by force only."""
    benchmark, root, out = exam
    ran("oracle", benchmark, root, tmp_path / "run")
    export_submission(tmp_path / "run", out)
    first = out.read_bytes()
    for force in (False, True):
        export_submission(tmp_path / "run", out, force=force)
        assert out.read_bytes() == first
    out.write_bytes(b"mine")
    with pytest.raises(UsageError, match="--force"):
        export_submission(tmp_path / "run", out)
    assert out.read_bytes() == b"mine"
    export_submission(tmp_path / "run", out, force=True)
    assert out.read_bytes() == first
    assert sorted(p.name for p in tmp_path.iterdir() if p.name.startswith(".")) == []


def test_a_place_that_cannot_be_written_is_named(sketch: Path, tmp_path: Path) -> None:
    """A folder in the place of the file is one sentence with its name, not with that of a part."""
    ran("longest", "medthinkvqa", sketch / "medthinkvqa", tmp_path / "run")
    folder = tmp_path / "mine.jsonl"
    folder.mkdir()
    (folder / "kept").touch()
    with pytest.raises(OverreadError, match=r"mine.jsonl holds something else") as caught:
        export_submission(tmp_path / "run", folder, force=True)
    assert ".part" not in str(caught.value)
    assert [file.name for file in folder.iterdir()] == ["kept"]


def test_submissions_of_one_folder_have_crops_of_their_own(sketch: Path, tmp_path: Path) -> None:
    """Names that differ behind a dot do not share their cut-outs."""
    ran("oracle", "mmrad", sketch / "mmrad", tmp_path / "run")
    for version in ("v1", "v2"):
        export_submission(tmp_path / "run", tmp_path / f"mine.{version}.jsonl")
    found = sorted(p.name for p in tmp_path.iterdir() if p.name.endswith("-crops"))
    assert found == ["mine.v1-crops", "mine.v2-crops"]


def test_missing_cases_stay_missing_and_failed_ones_are_left_out(
    exam: tuple[str, Path, Path], tmp_path: Path
) -> None:
    """One case without a reading, one failed: neither is in the submission, the failed one told."""
    benchmark, root, out = exam
    run = tmp_path / "run"
    ran("oracle", benchmark, root, run)
    gone, failed, *left = readings_in(run)

    def change(reading: Reading) -> Reading | None:
        if reading.case_id == gone:
            return None
        lost = reading.case_id == failed
        return reading.model_copy(update={"error": "the line was cut"}) if lost else reading

    rewritten(run, change)
    if not left:
        with pytest.raises(SubmissionError, match="nothing to hand in"):
            export_submission(run, out)
        assert not out.exists()
        rewritten(run, lambda r: r.model_copy(update={"error": None}))
        handed = export_submission(run, out)
        assert (handed.written, handed.missing, handed.failed) == (1, 1, 0)
        assert list(submitted_scores(benchmark, root, out)[1].readings) == [failed]
        return
    handed = export_submission(run, out)
    assert (handed.written, handed.missing, handed.failed) == (1, 1, 1)
    assert handed.notes == (f"{failed} is left out: its reading failed (the line was cut)",)
    found, submission = submitted_scores(benchmark, root, out)
    assert list(submission.readings) == left
    same_scores(run_scores(benchmark, root, test=run), found)


def test_a_reader_that_says_nothing_cannot_hand_in(exam: tuple[str, Path, Path], tmp_path: Path) -> None:
    """A run without any answer is refused in one sentence, and nothing is left behind."""
    benchmark, root, out = exam
    ran("nothing", benchmark, root, tmp_path / "run")
    with pytest.raises(SubmissionError, match="nothing to hand in"):
        export_submission(tmp_path / "run", out)
    assert sorted(p.name for p in tmp_path.iterdir()) in (["run"], ["asked", "run"])


# ---- the run and the command ---------------------------------------------------------------


def test_which_sample_is_handed_in(sketch: Path, tmp_path: Path) -> None:
    """--sample picks one of several readings; one that is not there is refused with those there."""
    run, root = tmp_path / "run", sketch / "medthinkvqa"
    ran("random", "medthinkvqa", root, run, repeat=3)
    for sample in range(3):
        export_submission(run, tmp_path / f"{sample}.jsonl", sample=sample)
        sent = [row["prediction"] for row in read_rows(tmp_path / f"{sample}.jsonl")]
        assert sent == [r.choice for r in readings_in(run, sample).values()]
    with pytest.raises(UsageError, match=r"no reading number 3 .*--sample 0"):
        export_submission(run, tmp_path / "3.jsonl", sample=3)


def test_the_last_line_of_a_case_counts(sketch: Path, tmp_path: Path) -> None:
    """Later lines win, a line that was cut off or damaged does not count."""
    run = tmp_path / "run"
    ran("oracle", "medthinkvqa", sketch / "medthinkvqa", run)
    lines = (run / "readings.jsonl").read_text().splitlines(keepends=True)
    case = json.loads(lines[0])["case_id"]
    later = json.dumps({**json.loads(lines[0]), "choice": "E"}) + "\n"
    torn = json.dumps({**json.loads(lines[0]), "choice": "A"})
    (run / "readings.jsonl").write_text("".join([*lines, "{}\n", "[]\n", later, "nonsense\n", torn]))
    with RunReadings(run) as readings:
        found = readings.get(case)
        assert found is not None
        assert found.choice == "E"
        assert len(readings) == 2
        assert readings.get("nobody") is None


def test_a_release_that_moved(copy: Any, tmp_path: Path) -> None:
    """--root says where the release is now."""
    root = copy("medthinkvqa")
    ran("oracle", "medthinkvqa", root, tmp_path / "run")
    root.rename(tmp_path / "moved")
    with pytest.raises(UsageError):
        export_submission(tmp_path / "run", tmp_path / "mine.jsonl")
    assert export_submission(tmp_path / "run", tmp_path / "mine.jsonl", root=tmp_path / "moved").written == 2


@pytest.fixture
def invoke() -> Callable[..., Any]:
    """The command by itself."""
    app = typer.Typer()
    app.command()(command)
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


def test_the_command(sketch: Path, tmp_path: Path, invoke: Callable[..., Any]) -> None:
    """It says what it wrote, warns of what it left out, and writes what a leaderboard asks for."""
    run, out = tmp_path / "run", tmp_path / "mine.jsonl"
    ran("oracle", "medthinkvqa", sketch / "medthinkvqa", run)
    first = next(iter(readings_in(run)))
    rewritten(run, lambda r: r.model_copy(update={"error": "no [power]" if r.case_id == first else None}))
    words = ("--name", "Ours 7B", "--organisation", "Us", "--link", "https://example.org")
    told = invoke(run, "--out", out, "--open-source", *words)
    assert told.exit_code == 0, told.output
    assert "1 case; 1 left out" in told.stdout.replace("\n", " ")
    assert "no [power]" in " ".join(told.stderr.split())
    meta = json.loads((tmp_path / "mine.jsonl.meta.json").read_text())
    assert meta.pop("date").count("-") == 2
    assert meta == {
        "benchmark": "medthinkvqa",
        "split": "test",
        "model": "Ours 7B",
        "organisation": "Us",
        "open_source": True,
        "link": "https://example.org",
    }
    told = invoke(run, "--out", out, "--force", "--json")
    assert json.loads(told.stdout)["written"] == 1
    out.write_text("{}")
    assert isinstance(invoke(run, "--out", out).exception, UsageError)


def test_no_word_no_meta(sketch: Path, tmp_path: Path, invoke: Callable[..., Any]) -> None:
    """Without any of the options nothing is written beside the submission."""
    ran("oracle", "rexgroundingct", sketch / "rexgroundingct", tmp_path / "run")
    told = invoke(tmp_path / "run", "--out", tmp_path / "mine.zip")
    assert told.exit_code == 0, told.output
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine.zip", "run"]


def test_what_is_no_run_is_told(tmp_path: Path) -> None:
    """A folder without a run, or with one that has read nothing, ends in one sentence."""
    with pytest.raises(UsageError, match="this folder is not a run"):
        export_submission(tmp_path, tmp_path / "mine.jsonl")


def test_progress_is_told(sketch: Path, tmp_path: Path) -> None:
    """Every case is counted, whether it goes out or not."""
    run = tmp_path / "run"
    ran("oracle", "mmrad", sketch / "mmrad", run, limit=1)
    told: list[tuple[int, int | None]] = []
    handed: WrittenSubmission = export_submission(
        run, tmp_path / "mine.jsonl", progress=lambda done, total: told.append((done, total))
    )
    assert told == [(1, 2), (2, 2)]
    assert (handed.written, handed.missing) == (1, 1)
