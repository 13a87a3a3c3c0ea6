"""`overread power`, as a user types it: pilots and numbers, against statsmodels."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.power import normal_power_het, normal_sample_size_one_tail

from overread.cli.power import power
from overread.errors import UsageError
from overread.phantom.exams.text_cases import write_text_cases
from overread.phantom.visit import PatientSettings
from tests.cli.overread_command import run

WRONG = {"steady": range(0, 20, 4), "rash": range(0, 20, 10)}
"""The cases of twenty that each reader gets wrong: of five that differ, `rash` is right on four."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Scorecards of two readers on the same twenty cases, and what each case scores by Brier."""
    folder = tmp_path_factory.mktemp("pilot")
    write_text_cases(folder / "texts", 100, PatientSettings())
    lines = (folder / "texts/medthinkvqa/test.jsonl").read_text("utf-8").splitlines()
    briers: dict[str, list[float]] = {}
    for reader, wrong in WRONG.items():
        rows, briers[reader] = [json.loads(line) for line in lines], []
        for n, row in enumerate(rows):
            right = row["correct_answer"]
            letters = [right, *sorted(set("ABCDE") - {right})]
            row["prediction"] = letters[n in wrong]
            sure = 0.6 + n / 100
            shares = dict.fromkeys(letters, (1 - sure) / 4) | {row["prediction"]: sure}
            row["prediction_probabilities"] = shares
            briers[reader].append(sum((p - (one == right)) ** 2 for one, p in shares.items()))
        path = folder / f"{reader}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        words = ("grade", "medthinkvqa", folder / "texts/medthinkvqa", path, "--draws", "0")
        code, _, told = run(*words, "--out", folder / f"{reader}.json")
        assert code == 0, told
    (folder / "briers.json").write_text(json.dumps(briers))
    return folder


def planned(*words: str | Path) -> dict[str, Any]:
    code, out, told = run("power", *words, "--json")
    assert code == 0, told
    found: dict[str, Any] = json.loads(out)
    return found


def test_cases_for_the_difference_of_a_pilot(folder: Path) -> None:
    """Right or wrong answers: McNemar's two standard deviations, as statsmodels counts cases."""
    found = planned(folder / "steady.json", folder / "rash.json", "--metric", "accuracy")
    theirs = normal_sample_size_one_tail(
        0.15, 0.8, 0.025, std_null=0.5, std_alternative=math.sqrt(0.25 - 0.15**2)
    )
    assert found["n"] == math.ceil(theirs)
    assert found["pilot"]["cases"] == 20
    assert found["pilot"]["difference"] == pytest.approx(0.15)
    assert found["pilot"]["discordant"] == found["spread"] == 0.25
    text = run("power", folder / "steady.json", folder / "rash.json", "--metric", "accuracy")[1]
    assert text.startswith("pilot: 20 cases, accuracy of rash less that of steady: +0.150\n")
    assert f"{found['n']} cases find a difference of 0.150" in text


def test_means_are_planned_by_the_spread_of_the_cases(folder: Path) -> None:
    """A number that is no share: the standard deviation of what the cases differ by."""
    briers = json.loads((folder / "briers.json").read_text())
    sd = np.std(np.subtract(briers["rash"], briers["steady"]), ddof=1)
    pilot = (folder / "steady.json", folder / "rash.json", "--metric", "brier")
    found = planned(*pilot, "--difference", "0.05", "--cases", "300")
    assert found["pilot"]["sd"] == found["spread"] == pytest.approx(sd)
    assert found["power"] == pytest.approx(normal_power_het(0.05, 300, 0.05, std_null=sd))
    least = planned(*pilot, "--cases", "300")
    assert normal_power_het(least["difference"], 300, 0.05, std_null=sd) == pytest.approx(0.8)


def test_numbers_without_a_pilot() -> None:
    """Shares and standard deviations that somebody has from elsewhere."""
    theirs = normal_sample_size_one_tail(0.03, 0.9, 0.025, std_null=0.1)
    found = planned("--sd", "0.1", "--difference", "0.03", "--power", "0.9")
    assert found["n"] == math.ceil(theirs)
    assert found["pilot"] is None
    twice = planned("--discordant", "0.16", "--difference", "0.04", "--design-effect", "2")
    assert abs(twice["n"] - 2 * 783) <= 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "a difference, or a number of cases"),
        ({"difference": 0.1}, "either the sd of differences or the discordant share"),
        ({"cases": 100}, "either the sd of differences or the discordant share"),
        ({"discordant": 0.1, "difference": 0.2}, "more than the discordant share"),
        ({"sd": 0.1, "difference": 0.0}, "difference is 0"),
        ({"cards": ["steady"]}, "a pilot is two scorecards"),
        ({"cards": ["steady", "rash"], "sd": 1.0}, "a pilot is two scorecards"),
        ({"cards": ["steady", "steady"], "metric": "accuracy"}, "no shares of discordant cases"),
        ({"cards": ["steady", "rash"], "metric": "acuracy"}, "did you mean 'accuracy'"),
    ],
)
def test_what_cannot_be_planned_is_refused(folder: Path, settings: dict[str, Any], message: str) -> None:
    """Nothing to plan with, two pilots at once, or readers that do not differ."""
    if "cards" in settings:
        settings["cards"] = [folder / f"{name}.json" for name in settings["cards"]]
    with pytest.raises(UsageError, match=message):
        power(**settings)
