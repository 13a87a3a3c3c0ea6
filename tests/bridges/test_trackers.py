"""`--log-to`: what is told to trackers, and what happens where one is not there or fails."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from overread import catalog
from overread.bridges.trackers.tracked_results import run_key, track_card, track_run
from overread.bridges.trackers.tracker import TrackedRun, Trackers
from overread.errors import MissingPart, OverreadError, UnknownName, UsageError
from overread.runs.engine import RunPlan, run
from overread.runs.scoring.from_run import score
from tests.cli.overread_command import run as overread
from tests.runs.medthinkvqa_cases import write_cases

PACKAGES = {"mlflow": "mlflow", "wandb": "wandb", "tensorboard": "tensorboard"}


class Kept:
    """A tracker that remembers."""

    def __init__(self, place: str) -> None:
        self.runs: list[TrackedRun] = []

    def log(self, run: TrackedRun) -> str:
        self.runs.append(run)
        return "here"


class Broken(Kept):
    """One whose server is gone."""

    def log(self, run: TrackedRun) -> str:
        raise ConnectionError("no route\nto host")


@pytest.fixture
def _trackers_of_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    for made in (Kept, Broken):
        monkeypatch.setitem(catalog.TABLES["trackers"], made.__name__, f"{__name__}:{made.__name__}")
    monkeypatch.setattr("overread.catalog._load_part", lambda kind, name, target: globals()[name])


def test_what_a_tracker_is_told_of_a_run_and_its_scores(tmp_path: Path) -> None:
    """Settings and numbers of the whole, under one key; no case, no path of this machine."""
    root = write_cases(tmp_path / "data", 12)
    outcome = run(RunPlan("medthinkvqa", root, "longest"), tmp_path / "mine")
    card = score(tmp_path / "mine")
    told, scored = track_run(outcome), track_card(card, run_key(tmp_path / "mine"), "mine")
    assert (told.name, scored.name) == ("mine", "mine")
    assert told.key == scored.key != run_key(tmp_path / "other")
    assert told.settings["reader"] == "longest"
    assert told.numbers["run/readings"] == 12
    assert "run/cost" not in told.numbers
    accuracy = card.scores["accuracy"]
    assert scored.numbers["accuracy"] == accuracy.value
    assert scored.numbers["accuracy_low"] == accuracy.low
    assert scored.numbers["accuracy_n"] == 12
    everything = json.dumps([dict(one.settings) | dict(one.numbers) for one in (told, scored)])
    assert str(tmp_path) not in everything
    assert "case00001" not in everything
    assert "Diagnosis" not in everything


@pytest.mark.parametrize(
    ("target", "kind", "words"),
    [
        ("mlfow:./here", UnknownName, "no tracker is called 'mlfow': did you mean 'mlflow'?"),
        (":here", UsageError, "names no tracker: there are mlflow, wandb, tensorboard"),
        ("tensorboard", UsageError, "'tensorboard' needs a folder: say --log-to tensorboard:DIR"),
    ],
)
def test_a_target_that_cannot_be_is_told_before_anything_runs(
    target: str, kind: type[Exception], words: str
) -> None:
    """A name that is none, or a folder that is missing."""
    with pytest.raises(kind) as caught:
        Trackers([target])
    assert words in str(caught.value)


@pytest.mark.parametrize("name", PACKAGES)
def test_a_missing_package_is_told_with_its_remedy(name: str, tmp_path: Path) -> None:
    """Before a case is read: one sentence, and the folder of the run is not begun."""
    if importlib.util.find_spec(PACKAGES[name]):
        pytest.skip(f"{name} is here")
    with pytest.raises(MissingPart, match=rf"is not installed: pip install 'overread\[{name}\]'"):
        Trackers([f"{name}:{tmp_path}"])
    root = write_cases(tmp_path / "data", 2)
    words = ("run", "medthinkvqa", root, "--reader", "longest", "--out", tmp_path / "out")
    code, _, problem = overread(*words, "--log-to", f"{name}:{tmp_path / 'log'}")
    assert code != 0
    assert problem.count("\n") == 1
    assert f"pip install 'overread[{name}]'" in problem
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("_trackers_of_tests")
def test_a_tracker_that_fails_takes_nothing_along() -> None:
    """The others log all the same, and one sentence says what failed."""
    trackers = Trackers(["Broken:x", "Kept:y"])
    with pytest.raises(OverreadError) as caught:
        trackers.log(TrackedRun("k", "mine", numbers={"accuracy": 0.5}))
    assert str(caught.value) == (
        "Broken could not log the results (ConnectionError: no route to host): "
        "they are kept; mend this, and the same command logs them"
    )
    kept = trackers._trackers[1][1]
    assert isinstance(kept, Kept)
    assert kept.runs[0].numbers == {"accuracy": 0.5}
