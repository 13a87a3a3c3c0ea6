"""docs/papers.md: every row's command is known, and is run on synthetic patients as it stands."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from overread.cli.main import app
from tests.docs.obliging_endpoint import obliging_endpoint

PAGE = Path(__file__).resolve().parents[2] / "docs" / "papers.md"
RUN_BY = ("test", "test, without weights", "hand")
WORDS = (
    "Think-with-Images",
    "leakage",
    "anatomical chain of thought",
    "interleaved vision-language reasoning",
    "multimodal chain of thought",
    "reasoning effort",
    "image ratio",
)


def sections() -> dict[str, list[tuple[str, str]]]:
    """Paper → its rows: (command, who ran it)."""
    found: dict[str, list[tuple[str, str]]] = {}
    for part in PAGE.read_text("utf-8").split("\n## ")[1:]:
        title, _, body = part.partition("\n")
        rows = [line.strip("|").split("|") for line in body.splitlines() if line.startswith("| ")]
        cells = [[cell.strip() for cell in row] for row in rows[1:]]
        assert all(len(row) == 4 for row in cells), title
        found[title] = [(row[1].strip("`"), row[3]) for row in cells]
    return found


def test_the_papers_words_are_on_the_page() -> None:
    """A search for what a paper calls a thing finds it."""
    text = PAGE.read_text("utf-8").casefold()
    assert not [word for word in WORDS if word.casefold() not in text]
    assert len(sections()) == 3


def test_every_command_is_understood() -> None:
    """Each verb is there, and so is every option of it; every row says who ran it."""
    verbs = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    options = {verb: {name for part in one.params for name in part.opts} for verb, one in verbs.items()}
    for rows in sections().values():
        for command, by in rows:
            program, verb, *words = command.split()
            assert program == "overread", command
            assert {word for word in words if word.startswith("--")} <= options[verb], command
            assert by in RUN_BY, command


def _rate(sheet: Path, rated: Path) -> None:
    """Fill in the sheet as an expert who agrees with the judge would."""
    with sheet.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        row["factual"], row["critical"] = "yes", "yes"
    with rated.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


@pytest.mark.slow
@pytest.mark.parametrize("paper", list(sections()))
def test_every_row_runs(paper: str, patients: Path, tmp_path: Path) -> None:
    """From top to bottom, in one fresh folder; no case may fail, and no traceback may be seen."""
    with obliging_endpoint() as url:
        asked = "--{0} openai --{0}-arg base_url={1} --{0}-arg model={2}"
        own = {
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "OVERREAD_CACHE": str(tmp_path / "cache"),
            "DATA": str(patients),
            "URL": url,
            "MODEL": asked.format("reader", url, "m"),
            "PROBE": asked.format("probe", url, "m"),
            "AUDITOR": asked.format("auditor", url, "other"),
        }
        (tmp_path / "made").mkdir()
        for command, by in sections()[paper]:
            if by == "hand":
                continue
            if "steps-rated.csv" in command:
                _rate(tmp_path / "made" / "steps.csv", tmp_path / "made" / "steps-rated.csv")
            done = subprocess.run(
                ["bash", "-c", command],
                env=os.environ | own,
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=False,
            )
            told = f"{command}\n{done.stdout}\n{done.stderr}"
            assert "Traceback" not in done.stderr, told
            if by == "test, without weights":
                assert re.search(r"weights|needs the package|not scored", done.stdout + done.stderr), told
            else:
                assert done.returncode == 0, told
                assert not re.search(r"^failed +[1-9]", done.stdout, re.M), told
