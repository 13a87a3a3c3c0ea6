"""`overread phantom` as a person types it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from overread.cli.main import main
from overread.phantom.exams import patient_exams
from overread.phantom.patient import Patient, PatientSettings
from tests.phantom.fake_patients import fake_patient


@pytest.fixture(autouse=True)
def _fake(monkeypatch: pytest.MonkeyPatch) -> None:
    """Patients are made in no time, in this process."""
    monkeypatch.setattr(patient_exams, "make_patient", fake_patient)


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of `overread phantom …` in this process."""
    exams = () if "--exams" in words else ("--exams", "rexgroundingct")
    with pytest.raises(SystemExit) as left:
        main(["phantom", *map(str, words), *exams, "--workers", "1"])
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return int(left.value.code or 0), out, err


def test_makes_says_and_goes_on(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """What was made, what already exists, and how to check it; check agrees."""
    out = tmp_path / "out"
    code, told, err = run(capsys, out, "--patients", 3)
    assert (code, err) == (0, "")
    assert "made 3 synthetic patient(s)" in told
    assert "1 test, 1 train, 1 val; 3 findings" in told
    assert "all 3 synthetic patient(s) are in" in run(capsys, out, "--patients", 3)[1]
    assert "made 1 synthetic patient(s)" in run(capsys, out, "--patients", 4)[1]
    with pytest.raises(SystemExit) as left:
        main(["check", "rexgroundingct", str(out / "rexgroundingct"), "--split", "all"])
    assert not left.value.code
    assert "is intact: 0 error(s), 0 warning(s)" in capsys.readouterr().out


def test_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """One document, with the settings."""
    words = ("--patients", 2, "--seed", 5, "--difficulty", "hard", "--mix", "even", "--json")
    code, told, err = run(capsys, tmp_path / "out", *words)
    summary: dict[str, Any] = json.loads(told)
    assert (code, err) == (0, "")
    assert summary["ok"]
    assert (summary["patients"], summary["made"], summary["there"]) == (2, 2, 0)
    assert summary["splits"] == {"test": 1, "train": 1}
    assert summary["categories"] == {"2d": 2}
    assert summary["settings"] == PatientSettings(seed=5, difficulty="hard", mix="even").model_dump()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--size", "fulll"), "no size is called 'fulll': did you mean 'full'?"),
        (("--difficulty", "impossible"), "there are easy, medium, hard"),
        (("--mix", "reel"), "did you mean 'real'?"),
        (("--wordings", "held_out"), "did you mean 'held-out'?"),
        (("--style", "poet"), "there are radiologist, translated, mixed"),
        (("--exams", "mmrad,rexgrounding"), "did you mean 'rexgroundingct'?"),
        (("--exams", " , "), "no exam was given"),
        (("--patients", "0"), "--patients"),
        (("--seed", "-1"), "--seed"),
    ],
)
def test_what_cannot_be_asked_for(
    words: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Exit 2, what there is to choose from, and nothing is written."""
    code, out, err = run(capsys, tmp_path / "out", *words)
    assert (code, out) == (2, "")
    assert sentence in err
    assert not (tmp_path / "out").exists()


def test_other_settings_are_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """In one sentence, with what to do."""
    run(capsys, tmp_path / "out", "--patients", 1)
    code, _, err = run(capsys, tmp_path / "out", "--patients", 1, "--size", "full")
    assert code == 2
    assert err.endswith("out was made with size small, not full: choose another folder\n")


def test_a_patient_who_cannot_be_made(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 1 with his number; the others are there; Ctrl-C is no error either."""

    def mostly(number: int, settings: PatientSettings) -> Patient:
        if number == 2:
            raise ValueError("no room")
        if number == 4:
            raise KeyboardInterrupt if settings.seed == 0 else ValueError("no room")
        return fake_patient(number, settings)

    monkeypatch.setattr(patient_exams, "make_patient", mostly)
    code, out, err = run(capsys, tmp_path / "out", "--patients", 3)
    assert code == 1
    assert "made 2 synthetic patient(s)" in out
    assert err == "overread: patient 2 could not be made: ValueError: no room\n"
    code, out, _ = run(capsys, tmp_path / "out", "--patients", 3, "--json")
    assert code == 1
    assert list(json.loads(out)["failed"]) == ["2"]
    code, out, err = run(capsys, tmp_path / "out", "--patients", 4)
    assert (code, out) == (130, "")
    assert "resume with the same command" in err
    code, _, err = run(capsys, tmp_path / "other", "--patients", 4, "--seed", 1)
    assert code == 1
    assert err.endswith("patient 2 could not be made: ValueError: no room; 1 more likewise\n")


def test_cases_as_text(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Rows without pictures, in words and in JSON; only for cases, and only into a fresh folder."""
    words = ("--patients", 10, "--text-only", "--exams", "medthinkvqa")
    code, told, err = run(capsys, tmp_path / "out", *words)
    assert (code, err) == (0, "")
    assert "drew 10 case(s) as text in" in told
    assert " ".join(told.split()).endswith("2 test, 8 train")
    code, told, _ = run(capsys, tmp_path / "json", *words, "--json")
    assert (code, json.loads(told)["cases"]) == (0, {"test": 2, "train": 8})
    code, _, err = run(capsys, tmp_path / "out", *words)
    assert code == 2
    assert err.endswith("out already exists and is not an empty folder: choose another folder\n")
    code, _, err = run(capsys, tmp_path / "new", "--text-only", "--exams", "mmrad")
    assert code == 2
    assert "only cases can be drawn as text" in err
