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
from overread.errors import UsageError
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
    "evaluator": lambda asked: js(answer=letter_of(asked, "Silicosis"), explanation=""),
    "probe": lambda asked: js(answer=letter_of(asked, "Silicosis"), explanation=""),
    "options": lambda asked: js(answer=letter_of(asked, "Silicosis"), explanation=""),
    "prune": lambda _: js(delete=[]),
    "icd": lambda _: js(category="D86"),
    "times": lambda _: js(longitudinal=False, timepoints=1, interval=None, quotes=[]),
    "modality": lambda _: js(modality="CT", sub_modality=None),
}
_MARKS = {
    "List every place where the history itself names": "leaks",
    "The pictures above belong to one patient": "evaluator",
    "Choose the one that the history makes most likely": "evaluator",
    "No pictures are shown. Choose": "probe",
    "Neither a history nor pictures are shown": "options",
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
    assert {kind(asked) for asked in done.asked} == {
        "evaluator",
        "leaks",
        "probe",
        "prune",
        "times",
        "modality",
    }
    assert [len(a.pictures) for a in done.asked if kind(a) == "evaluator"] == [1]
    assert [len(a.pictures) for a in done.asked if kind(a) == "modality"] == [1]
    (item,) = done.outcome.items
    assert item.data["images"][0]["modality"] == "CT"  # type: ignore[index,call-overload]
    assert item.data["tempting"] == "Silicosis"
    assert "Silicosis" in item.data["options"]  # type: ignore[operator]


@pytest.mark.parametrize(("grey", "tempting"), [(70, "Lymphoma"), (200, None)])
def test_the_evaluator_chooses_by_what_it_sees(tmp_path: Path, grey: int, tempting: str | None) -> None:
    """Who falls for a wrong diagnosis on a dark picture, and not on a bright one, leaves it as an option."""
    source = write_source(tmp_path / "in")
    (source / "a.png").write_bytes(encode(np.full((9, 9), grey, np.uint8)))

    def look(asked: Asked) -> str:
        (pixels,) = asked.pictures
        return js(answer=letter_of(asked, "Lymphoma" if pixels.mean() < 128 else "Sarcoidosis"))

    (item,) = built(source, tmp_path / "out", evaluator=look).outcome.items
    assert item.data.get("tempting") == tempting
    if tempting:
        assert tempting in item.data["options"]  # type: ignore[operator]


def test_the_evaluator_sees_pictures_beside_sources_too(tmp_path: Path) -> None:
    """The phantom's raw cases name pictures of the release beside them; they are shown all the same."""
    source = write_source(tmp_path / "sources" / "raw", images=[{"file": "../../images/a.png"}])
    (tmp_path / "images").mkdir()
    (source / "a.png").rename(tmp_path / "images" / "a.png")
    done = built(source, tmp_path / "out")
    assert [len(asked.pictures) for asked in done.asked if kind(asked) == "evaluator"] == [1]


def test_an_evaluator_may_be_kept_from_the_pictures(source: Path, tmp_path: Path) -> None:
    """By a setting, for a model that reads text alone; and where pictures are only named."""
    for number, settings in enumerate(({"evaluator": "history"}, {"pictures": "named"})):
        done = built(source, tmp_path / f"out{number}", settings=settings)
        assert [len(asked.pictures) for asked in done.asked if kind(asked) == "evaluator"] == [0]
        assert done.outcome.items[0].data["tempting"] == "Silicosis"


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


def test_a_denied_family_history_is_no_leak_though_a_model_says_so(tmp_path: Path) -> None:
    """The case stays, and the ledger tells what the model said and why it does not count."""
    source = write_source(tmp_path / "in", history="A cough. No family history of the Schaumann sickness.")
    leak = {"option": "Sarcoidosis", "level": "L1", "evidence": "Schaumann sickness"}
    done = built(source, tmp_path / "out", leaks=lambda _: js(leaks=[leak]))
    assert len(done.outcome.items) == 1
    (change,) = changes(done.folder, "leaks")
    assert "denied is no leak" in change["why"]
    assert change["by"] == "openai reader"


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


GROUPS = "1-2 history all; 3 history any; 1,3 options any"


@pytest.mark.parametrize(
    ("right", "reason", "asked"),
    [
        ({}, None, ["probe", "probe", "probe", "options", "options"]),
        ({"probe-1": "probe"}, None, ["probe", "probe", "probe", "options", "options"]),
        ({"probe-1": "probe", "probe-2": "probe"}, "solved-by-text", ["probe", "probe"]),
        ({"probe-3": "probe"}, "solved-by-text", ["probe", "probe", "probe"]),
        ({"probe-3": "options"}, "solved-by-options", ["probe", "probe", "probe", "options", "options"]),
    ],
    ids=["nobody", "one of all", "all", "any", "options alone"],
)
def test_groups_of_probes_have_their_own_sight_and_rule(
    source: Path, tmp_path: Path, right: dict[str, str], reason: str | None, asked: list[str]
) -> None:
    """Groups in their order; who is asked by the options alone is told no word of the history."""
    roles = ("probe-1", "probe-2", "probe-3")
    order = iter([*roles, "probe-1", "probe-3"])

    def answer(asked: Asked) -> str:
        solved = right.get(next(order)) == kind(asked)
        return js(answer=letter_of(asked, "Sarcoidosis" if solved else "Silicosis"))

    done = built(
        source, tmp_path / "out", roles=roles, settings={"probe-groups": GROUPS}, probe=answer, options=answer
    )
    assert [kind(one) for one in done.asked] == asked
    assert all(("Schaumann" in one.words) == (kind(one) == "probe") for one in done.asked)
    assert len(done.outcome.items) == (reason is None)
    dropped = table(done.folder, "SELECT reason FROM entries WHERE outcome = 'dropped'")
    assert dropped == ([] if reason is None else [(reason,)])
    if reason is None:
        told: Any = done.outcome.items[0].data["probes"]
        assert [(one["sees"], one["rule"], len(one["answers"])) for one in told["groups"]] == [
            ("history", "all", 2),
            ("history", "any", 1),
            ("options", "any", 2),
        ]


@pytest.mark.parametrize(
    ("groups", "told"),
    [
        ("1-2 history most", "is no group"),
        ("history all", "is no group"),
        ("2-1 history all", "is no group"),
        ("1-3 history all", "names probe 3, and there are 2"),
        ("0-2 history all", "names probe 0, and there are 2"),
        ("1 history all", "probe 2 is in no group"),
    ],
)
def test_groups_that_are_none_are_refused(source: Path, tmp_path: Path, groups: str, told: str) -> None:
    """One sentence says what is wrong and what a group looks like."""
    with pytest.raises(UsageError, match=told):
        built(source, tmp_path / "out", roles=("probe-1", "probe-2"), settings={"probe-groups": groups})


def test_groups_and_a_common_rule_are_not_given_together(source: Path, tmp_path: Path) -> None:
    """A rule that would have no effect is refused."""
    settings = {"probe-groups": "1 history all", "remove": "any"}
    with pytest.raises(UsageError, match="both given"):
        built(source, tmp_path / "out", roles=("probe-1",), settings=settings)


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
        final_diagnosis="Susac syndrome",
        differential=["Susac syndrome", *LISTED[1:]],
    )
    done = built(
        folder, tmp_path / "out", icd=in_turn(js(category="J19"), js(category="pain"), js(category="I77.6"))
    )
    (item,) = done.outcome.items
    told: Any = item.data["icd_placed"]
    assert told["category"].startswith("I77 - ")
    assert told["block"].startswith("I70-I79 - ")
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
