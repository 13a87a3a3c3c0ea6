"""`overread build` and `overread ledger` in a terminal."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from overread import catalog
from overread.cli.build import _make_role
from overread.cli.main import app, main
from tests.build.demo_recipe import write_prompts, write_reports
from tests.runs.processes import served

RUNNER = CliRunner()


@pytest.fixture(autouse=True)
def demo_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """The recipe of the tests, by name."""
    monkeypatch.setitem(catalog.TABLES["recipes"], "demo", "tests.build.demo_recipe:DEMO")


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    """A build of three reports, one of them empty."""
    source = write_reports(tmp_path / "source", "b one", "a  two", "")
    prompts = write_prompts(tmp_path / "prompts")
    return ["build", "demo", str(source), "--out", str(tmp_path / "out"), "--prompts", str(prompts)]


def said(*arguments: str, code: int = 0) -> str:
    """What a command prints."""
    done = RUNNER.invoke(app, list(arguments), env={"COLUMNS": "200"})
    assert done.exit_code == code, (done.output, done.exception)
    return done.stdout


def told(*arguments: str, code: int = 0) -> Any:
    """The JSON that a command prints."""
    return json.loads(said(*arguments, "--json", code=code))


def test_a_build_and_its_ledger(words: list[str], tmp_path: Path) -> None:
    """A table of the steps, where the release is, and the way to the ledger."""
    text = said(*words)
    assert "1 empty-report" in text
    assert "release written" in text
    assert "(2 items)" in text
    out = str(tmp_path / "out")
    assert f"overread ledger {out}" in text
    assert "release unchanged" in said(*words)
    flow = said("ledger", out)
    assert "3 cases of the source, 2 left at the end" in flow
    assert "1 empty-report" in flow
    case = said("ledger", out, "r2")
    assert '"a  two" → "a two", by rules' in case
    whole = told("ledger", out)
    assert [step["kept"] for step in whole["steps"]] == [2, 2, 2, 2, 2]
    one = told("ledger", out, "r3")
    assert one["decisions"][0]["reason"] == "empty-report"
    export = told("ledger", out, "--export", str(tmp_path / "x.parquet"))
    assert export["decisions"] == 11


def test_a_preview_and_a_dry_run(words: list[str], tmp_path: Path) -> None:
    """A preview shows each change; a dry run writes nothing."""
    found = told(*words, "--dry-run")
    assert found["dry_run"]
    assert not (tmp_path / "out").exists()
    assert "what this would take" in said(*words, "--dry-run")
    text = said(*words, "--preview", "2")
    assert '"a  two" → "a two"' in text
    assert "a preview of 2; nothing is released" in text
    assert not (tmp_path / "out" / "release").exists()


def test_steps_from_and_settings(words: list[str]) -> None:
    """Steps by name, settings of the recipe; names that are unknown are told."""
    found = told(*words, "--steps", "tidy, sort", "--setting", "tone=loud")
    assert [step["kept"] for step in found["steps"]] == [2, 2, 0, 0, 0]
    assert not found["complete"]
    found = told(*words, "--from", "audit", "--setting", "tone=loud")
    assert [step["known"] for step in found["steps"]] == [3, 2, 0, 0, 0]


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--from", "sotr"], "did you mean 'sort'"),
        (["--setting", "tune=x"], "did you mean 'tone'"),
        (["--reader-arg", "model=x"], "--reader-arg was given and no --reader"),
        (["--probe", "openai", "--probe-arg", "2.model=x"], "for a probe that is not there"),
        (["--reader", "opnai"], "did you mean 'openai'"),
        (
            ["--reader", "openai", "--reader-arg", "model=x",
             "--reader-arg", "base_url=https://models.example.org/v1"],
            "--allow-remote",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_one_sentence(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str],
    sentence: str,
) -> None:  # fmt: skip
    """Exit code 2, one sentence that says what to do, and nothing written."""
    with pytest.raises(SystemExit) as left:
        main([*words, *more])
    assert left.value.code == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_permission_goes_to_every_role() -> None:
    """A reader of another package may need it too; who needs none takes no notice."""
    role = _make_role("mine", {"model": "m"}, allow_remote=True)
    assert role.arguments == {"model": "m", "allow_remote": "true"}
    assert _make_role("mine", {}, allow_remote=False).arguments == {}


def test_models_and_probes_by_arguments(words: list[str], tmp_path: Path) -> None:
    """Each role gets its reader and its arguments; the ledger tells who had which."""
    with served() as address:
        place = f"base_url={address}"
        found = told(
            *words, "--reader", "openai", "--reader-arg", "model=big", "--reader-arg", place,
            "--probe", "openai", "--probe", "openai", "--probe-arg", place,
            "--probe-arg", "1.model=small", "--probe-arg", "2.model=tiny",
            "--price-in", "1", "--price-out", "2",
        )  # fmt: skip
    assert found["calls"] == 4
    assert found["cost"] > 0
    code = (
        "import sqlite3, sys; "
        "print(sqlite3.connect(sys.argv[1]).execute('SELECT told FROM sittings').fetchone()[0])"
    )
    ledger = str(tmp_path / "out" / "ledger.sqlite")
    done = subprocess.run([sys.executable, "-c", code, ledger], capture_output=True, text=True, check=True)
    readers = json.loads(done.stdout)["readers"]
    models = {role: one["identity"]["model"] for role, one in readers.items()}
    assert models == {"reader": "big", "probe-1": "small", "probe-2": "tiny"}


def test_failures_and_strictness(tmp_path: Path) -> None:
    """A bug of a step is told with its item; --strict makes it exit code 1."""
    source = write_reports(tmp_path / "source", "raise", "fine")
    words = ["build", "demo", str(source), "--out", str(tmp_path / "out"),
             "--prompts", str(write_prompts(tmp_path / "prompts"))]  # fmt: skip
    text = said(*words)
    assert "bug: ValueError: a planted bug in 1 item(s), first r1" in text
    assert "--retry-failed" in text
    said(*words, "--strict", code=1)
    write_reports(source, "")
    assert "no release: no item is left to release" in said(*words, code=1)


def test_recipes_are_listed() -> None:
    """The recipes of the house are among what can be listed."""
    names = [row["name"] for row in told("list", "recipes")]
    assert names[:3] == ["rexgroundingct", "medthinkvqa", "mmrad"]
