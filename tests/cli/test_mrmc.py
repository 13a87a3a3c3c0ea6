"""`overread mrmc`, as a user types it: people who answered at the terminal, and models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import overread
from overread.phantom.exams.text_cases import write_text_cases
from overread.phantom.visit import PatientSettings
from tests.cli.overread_command import run
from tests.jsonl_rows import read_rows, write_rows

PEOPLE = {"ann": range(0, 20, 4), "bob": range(0, 20, 3), "cyd": range(2, 20, 5)}
"""The cases of twenty that each person gets wrong."""
MODELS = {"first": range(0, 20, 2), "second": range(5, 18)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of three people who typed their answers, and the scorecards of two models."""
    folder = tmp_path_factory.mktemp("mrmc")
    write_text_cases(folder / "texts", 100, PatientSettings())
    root = folder / "texts/medthinkvqa"
    rows = read_rows(root / "test.jsonl")
    for entry in overread.load("medthinkvqa", root).entries():
        for picture in entry.case.pictures:
            file = root / picture.file
            file.parent.mkdir(parents=True, exist_ok=True)
            Image.new("L", (8, 8), 90).save(file)

    def letters(wrong: range) -> list[str]:
        keys = [row["correct_answer"] for row in rows]
        return [("B" if key == "A" else "A") if n in wrong else key for n, key in enumerate(keys)]

    for name, wrong in PEOPLE.items():
        out = folder / name
        words = ("run", "medthinkvqa", root, "--reader", "person", "--reader-arg", f"name={name}")
        typed = "".join(f"{letter}\n.\n" for letter in letters(wrong))
        code, _, told = run(*words, "--out", out, typed=typed)
        assert code == 0, told
        code, _, told = run("score", out, "--metric", "accuracy", "--draws", "0")
        assert code == 0, told
    for name, wrong in MODELS.items():
        told_rows = [row | {"prediction": a} for row, a in zip(rows, letters(wrong), strict=True)]
        write_rows(folder / f"{name}.jsonl", told_rows)
        graded = ("grade", "medthinkvqa", root, folder / f"{name}.jsonl", "--metric", "accuracy")
        code, _, told = run(*graded, "--draws", "0", "--out", folder / f"{name}.json")
        assert code == 0, told
    return folder


def right(wrong: range) -> Any:
    return np.array([n not in wrong for n in range(20)], float)


def compared(folder: Path, *words: str) -> dict[str, Any]:
    code, out, told = run("mrmc", *words, "--json", cwd=folder)
    assert code == 0, told
    found: dict[str, Any] = json.loads(out)
    return found


def test_people_against_one_model(folder: Path) -> None:
    """Each person's difference from the model, with their spread and their common cases, by hand."""
    found = compared(folder, "people=ann", "people=bob", "people=cyd", "model=first.json")
    assert found["metric"] == "accuracy"
    assert found["cases"] == 20
    people = np.array([right(wrong) for wrong in PEOPLE.values()])
    assert found["groups"]["people"] == pytest.approx(
        {name: float(own.mean()) for name, own in zip(PEOPLE, people, strict=True)}
    )
    model = right(MODELS["first"])
    apart = people.mean(axis=1) - model.mean()
    table = np.cov(people - model) / 20
    cov2 = np.mean([table[i, j] for i in range(3) for j in range(3) if i != j])
    own = np.cov(people) / 20
    least = np.diag(own).mean() - np.mean([own[i, j] for i in range(3) for j in range(3) if i != j])
    spread = max(apart.var(ddof=1), least) / 3
    variance = spread + max(cov2, 0)
    assert found["difference"]["value"] == pytest.approx(apart.mean())
    assert found["difference"]["se"] == pytest.approx(np.sqrt(variance))
    assert found["difference"]["df"] == pytest.approx(2 * (variance / spread) ** 2)


def test_what_is_printed(folder: Path) -> None:
    """Groups with their readers, the difference with its test, and what it holds for."""
    words = ("people=ann", "people=bob", "people=cyd", "models=first.json", "models=second.json")
    code, out, told = run("mrmc", *words, cwd=folder, COLUMNS="120")
    assert code == 0, told
    for part in ("MedThinkVQA test", "mean of 3", "ann", "second", "people minus models: +", "degrees of"):
        assert part in out
    assert "'models' has two readers" in out


def test_paired_and_fixed(folder: Path) -> None:
    """The same readers twice, and readers taken as they are."""
    paired = compared(folder, "without=ann", "without=bob", "with=first.json", "with=second.json", "--paired")
    one = np.array([right(PEOPLE[name]) for name in ("ann", "bob")])
    two = np.array([right(own) for own in MODELS.values()])
    assert paired["paired"] is True
    assert paired["difference"]["value"] == pytest.approx(one.mean() - two.mean())
    fixed = compared(folder, "people=ann", "people=bob", "model=first.json", "--fixed")
    apart = one.mean(axis=0) - two[0]
    assert fixed["difference"]["df"] is None
    assert fixed["difference"]["se"] == pytest.approx(np.sqrt(apart.var(ddof=1) / 20))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("people=ann", "people=bob"), "1 group(s) were given, and two are compared"),
        (("ann", "bob"), "'ann' names no group"),
        (("a=ann", "b=bob", "c=cyd"), "3 group(s)"),
        (("a=ann", "b=nobody"), "the scorecard does not exist"),
        (("a=ann", "a=bob", "b=cyd", "--paired"), "are not the same two readers"),
        (("a=ann", "b=bob", "--metric", "brier"), "no metric in common"),
    ],
)
def test_bad_words_are_one_sentence(folder: Path, words: tuple[str, ...], told: str) -> None:
    """What cannot be compared is told in a sentence, with exit code 2 or 1."""
    code, _, err = run("mrmc", *words, cwd=folder)
    assert code != 0
    assert told in " ".join(err.split())
