"""The recipe `medthinkvqa` with models: what they add, and what becomes of answers that are no good."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from overread.build.medthinkvqa import RECIPE
from overread.pixels.encode import encode
from tests.build.demo_recipe import Built, scripted_build, table
from tests.workflows.scripted_model import Asked, js

LISTED = ["Sarcoidosis", "Silicosis", "Lymphoma", "Tuberculosis", "Metastases", "Amyloidosis"]
HISTORY = "A woman had coughed since the granulomatous sickness of Schaumann."
DISCUSSION = "Nodes are large. The lymphatic tumour would be bulky. Sarcoidosis fits."


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """One raw case with a picture."""
    return write_source(tmp_path / "in")


def write_source(folder: Path, **other: Any) -> Path:
    """A raw case, with other fields where these are given."""
    folder.mkdir(parents=True)
    case = {
        "id": "c1",
        "history": HISTORY,
        "imaging_findings": "Enlarged nodes.",
        "discussion": DISCUSSION,
        "differential": LISTED,
        "final_diagnosis": "Sarcoidosis",
        "images": [{"file": "a.png", "caption": "Nodes, arrows."}],
    }
    (folder / "cases.jsonl").write_text(json.dumps(case | other) + "\n")
    (folder / "a.png").write_bytes(encode(np.full((9, 9), 70, np.uint8)))
    return folder


Answers = dict[str, Callable[[Asked], str]]

QUIET: Answers = {
    "leaks": lambda _: js(leaks=[]),
    "probe": lambda asked: js(answer=letter_of(asked, "Silicosis"), explanation=""),
    "prune": lambda _: js(delete=[]),
    "icd": lambda _: js(category="D86"),
    "times": lambda _: js(longitudinal=False, timepoints=1, interval=None, quotes=[]),
    "modality": lambda _: js(modality="CT", sub_modality=None),
}
_MARKS = {
    "List every place where the history itself names": "leaks",
    "No pictures are shown. Choose": "probe",
    "Name the numbers of the sentences": "prune",
    "Give the one three-character category": "icd",
    "imaged at two or more times": "times",
    "Caption of the picture:": "modality",
}


def kind(asked: Asked) -> str:
    """Which prompt a question came by."""
    return next(name for mark, name in _MARKS.items() if mark in asked.words)


def letter_of(asked: Asked, diagnosis: str) -> str:
    """The letter at which a question offers a diagnosis."""
    found = re.search(rf"^([A-Z])\. {diagnosis}$", asked.words, re.M)
    assert found is not None
    return found[1]


def built(
    source: Path,
    out: Path,
    *,
    roles: Sequence[str] = ("reader",),
    settings: dict[str, str] | None = None,
    **answers: Callable[[Asked], str],
) -> Built:
    """A build in which models say nothing of note, but what is given."""
    said = QUIET | answers
    return scripted_build(
        source,
        out,
        lambda asked: said[kind(asked)](asked),
        recipe=RECIPE,
        roles=roles,
        settings=settings or {},
    )


def changes(folder: Path, step: str) -> list[dict[str, Any]]:
    """The changes of a step in the ledger."""
    rows = table(folder, f"SELECT changes FROM entries WHERE step = '{step}'")
    return [change for row in rows for change in json.loads(row[0])]


def in_turn(*answers: str) -> Callable[[Asked], str]:
    """These answers one after the other, the last of them to all that follow."""
    left = list(answers)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


def test_a_quiet_model_lets_the_case_through(source: Path, tmp_path: Path) -> None:
    """Every prompt is asked at least once, the picture is shown for its modality, a release is written."""
    done = built(source, tmp_path / "out", roles=("reader", "probe-1"))
    assert {kind(asked) for asked in done.asked} == {"leaks", "probe", "prune", "times", "modality"}
    assert [len(a.pictures) for a in done.asked if kind(a) == "modality"] == [1]
    (item,) = done.outcome.items
    assert item.data["images"][0]["modality"] == "CT"  # type: ignore[index,call-overload]
    assert item.data["tempting"] == "Silicosis"
    assert "Silicosis" in item.data["options"]  # type: ignore[operator]


def test_a_leak_that_rules_miss_is_found_by_the_model(source: Path, tmp_path: Path) -> None:
    """Its words must stand in the history; they are located and the drop names the model."""
    evidence = "granulomatous sickness of Schaumann"
    leak = {"option": "Sarcoidosis", "level": "L2", "evidence": evidence}
    done = built(source, tmp_path / "out", leaks=lambda _: js(leaks=[leak]))
    assert not done.outcome.items
    ((reason, by, why),) = table(done.folder, "SELECT reason, by, why FROM entries WHERE outcome = 'dropped'")
    assert reason == "leak-L2"
    assert by == "openai reader"
    start = HISTORY.index(evidence)
    assert f"{start} to {start + len(evidence)}" in why


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ({"option": "Gout", "level": "L2", "evidence": "woman"}, "none of the diagnoses"),
        ({"option": "Sarcoidosis", "level": "L2", "evidence": "Boeck"}, "does not stand in"),
        ({"option": "Sarcoidosis", "level": "L9", "evidence": "woman"}, "level"),
    ],
)
def test_invented_leaks_are_asked_for_again(
    source: Path, tmp_path: Path, bad: dict[str, str], told: str
) -> None:
    """An option, words or a level that are not there are refused with the reason, then none is taken."""
    done = built(source, tmp_path / "out", leaks=in_turn(js(leaks=[bad]), js(leaks=[])))
    again = [asked for asked in done.asked if kind(asked) == "leaks"]
    assert [asked.turns for asked in again] == [1, 3]
    assert told in again[1].last
    assert len(done.outcome.items) == 1


def test_answers_that_stay_bad_leave_the_rules_and_a_note(source: Path, tmp_path: Path) -> None:
    """The case goes on by rules, the ledger has every attempt and says that rules decided alone."""
    done = built(source, tmp_path / "out", leaks=lambda _: "I would rather not.")
    assert len(done.outcome.items) == 1
    assert any("no answer was good" in change["why"] for change in changes(done.folder, "leaks"))
    count = table(done.folder, "SELECT count(*) FROM attempts WHERE prompt LIKE 'build-med-leaks%'")
    assert count == [(3,)]


@pytest.mark.parametrize(
    ("remove", "right", "left"), [("all", 2, 0), ("all", 1, 1), ("any", 1, 0), ("any", 0, 1)]
)
def test_probes_remove_by_any_or_all(
    tmp_path: Path, source: Path, remove: str, right: int, left: int
) -> None:
    """With two probes, of whom so many are right, the case stays or goes by the setting."""
    told: list[str] = []

    def answer(asked: Asked) -> str:
        told.append("")
        return js(answer=letter_of(asked, "Sarcoidosis" if len(told) <= right else "Silicosis"))

    done = built(
        source, tmp_path / "out", roles=("probe-1", "probe-2"), settings={"remove": remove}, probe=answer
    )
    assert len(told) == 2
    assert all(not asked.pictures for asked in done.asked)
    assert len(done.outcome.items) == left
    if not left:
        ((reason,),) = table(done.folder, "SELECT reason FROM entries WHERE outcome = 'dropped'")
        assert reason == "solved-by-text"


def test_the_model_names_sentences_and_may_not_take_the_keys(source: Path, tmp_path: Path) -> None:
    """Deleting the key's sentence, or one that is not there, is refused; then one sentence goes."""
    answers = in_turn(js(delete=[3]), js(delete=[9]), js(delete=[2]))
    done = built(source, tmp_path / "out", prune=answers)
    (item,) = done.outcome.items
    assert item.data["discussion"] == "Nodes are large. Sarcoidosis fits."
    asked = [one for one in done.asked if kind(one) == "prune"]
    assert "which stays" in asked[1].last
    assert "no sentence 9" in asked[2].last
    (change,) = changes(done.folder, "discussion")
    assert change["by"] == "openai reader"


def test_a_category_that_is_none_is_asked_for_again(tmp_path: Path) -> None:
    """Only for a diagnosis that no list knows; block and chapter are looked up from the answer."""
    folder = write_source(
        tmp_path / "in",
        final_diagnosis="Erdheim-Chester disease",
        differential=["Erdheim-Chester disease", *LISTED[1:]],
    )
    done = built(
        folder, tmp_path / "out", icd=in_turn(js(category="J19"), js(category="pain"), js(category="D76.3"))
    )
    (item,) = done.outcome.items
    told: Any = item.data["icd_placed"]
    assert told["category"].startswith("D76 - ")
    assert told["block"].startswith("D70-D77 - ")
    assert len([one for one in done.asked if kind(one) == "icd"]) == 3


def test_time_points_must_be_quoted(source: Path, tmp_path: Path) -> None:
    """A second time point without words, or with words that are not there, is refused."""
    answers = in_turn(
        js(longitudinal=True, timepoints=2, quotes=[]),
        js(longitudinal=True, timepoints=2, quotes=["a week later"]),
        js(longitudinal=True, timepoints=2, quotes=["had coughed since"]),
    )
    done = built(source, tmp_path / "out", times=answers)
    (item,) = done.outcome.items
    times: Any = item.data["times"]
    assert (times["timepoints"], times["interval"]) == (2, "unknown")
    (marker,) = times["markers"]
    assert HISTORY[marker["start"] : marker["end"]] == "had coughed since"
