"""Three stages of verification, with a scripted model: faults are caught where they belong."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from overread.benchmarks import check
from overread.build.adjudication import Queue
from overread.build.ledger.queries import HistoryEntry, load_history
from overread.build.mmrad import RECIPE
from overread.build.mmrad.pairs import pairs_of
from overread.build.mmrad.trace_looks import looks_of
from overread.build.mmrad.verification import verdicts_of
from overread.build.plan import BuildOutcome, BuildPlan
from overread.build.reader_pool import RoleSpec
from overread.build.runner import build_async, run_build
from overread.pixels.image_files import write_image
from tests.phantom.film.made_up_sights import regions
from tests.readers.openai.misbehaving_server import Seen, says, serving
from tests.workflows.scripted_model import Asked, js, opened

REPORT = (
    "FINDINGS: Consolidation in the right lower lung zone. No pleural effusion. "
    "The heart is enlarged. The trachea is central.\n\nIMPRESSION: Right lower lung consolidation."
)
BOXES = {name: list(box) for name, box in regions().items()}
ANGLES = ["right costophrenic angle", "left costophrenic angle"]

Look = dict[str, Any]
Trace = list[Look]


def look(words: str, *names: str, box: list[int] | None = None) -> Look:
    """A look at regions with the box around them, or another one."""
    edges = list(zip(*(BOXES[name] for name in names), strict=True))
    around = [min(edges[0]), min(edges[1]), max(edges[2]), max(edges[3])]
    return {"regions": list(names), "box": box or around, "words": words}


LUNG = look("There is a consolidation in the right lower lung zone.", "right lower lung zone")
PLEURA = look("There is no pleural effusion.", *ANGLES)
HEART = look("The cardiac silhouette is enlarged.", "cardiac silhouette")
TRACHEA = look("The trachea is central.", "trachea")
GOOD = [LUNG, PLEURA, HEART, TRACHEA]

FAULTS: dict[str, tuple[int, str, Trace]] = {
    "invented finding": (
        1,
        "invented",
        [look(f"{LUNG['words']} There is a cavity.", "right lower lung zone"), *GOOD[1:]],
    ),
    "left-out region": (1, "left-out", [LUNG, PLEURA, TRACHEA]),
    "wrong region": (
        1,
        "wrong-region",
        [LUNG, PLEURA, look(f"{HEART['words']} No pleural effusion.", "cardiac silhouette"), TRACHEA],
    ),
    "swapped side": (
        2,
        "side",
        [look("Consolidation in the left lower lung zone.", "left lower lung zone"), *GOOD[1:]],
    ),
    "denial made a doubt": (
        2,
        "told-otherwise",
        [LUNG, look("There may be a small pleural effusion.", *ANGLES), HEART, TRACHEA],
    ),
    "box outside the picture": (
        2,
        "box",
        [look(LUNG["words"], "right lower lung zone", box=[60, 310, 900, 440]), *GOOD[1:]],
    ),
    "box of another region": (
        2,
        "box",
        [look(LUNG["words"], "right lower lung zone", box=[370, 40, 580, 190]), *GOOD[1:]],
    ),
}
"""Fault → the stage where rules catch it, what they call it, and a trace that has it."""


@dataclass
class Script:
    """What the two models answer; by default they find nothing wrong."""

    first: Trace
    again: Trace
    reflects: Callable[[Asked], str] | None = None
    audits: Callable[[Asked], str] | None = None
    pairs: Callable[[Asked], str] | None = None

    def __call__(self, asked: Asked, model: str) -> str:
        """The answer to one question, told from its words."""
        if "Give for each sentence the regions" in asked.words:
            assert model == "generator"
            return (self.pairs or _pairs)(asked)
        if "These things are wrong with it" in asked.words:
            assert model == "generator"
            return js(looks=self.again)
        if "Write the looks in a sensible order" in asked.words:
            assert model == "generator"
            return js(looks=self.first)
        if "that you wrote yourself" in asked.words:
            assert model == "generator"
            return (self.reflects or _supports_all)(asked)
        assert "You audit traces" in asked.words
        assert model == "second"
        return (self.audits or _finds_nothing)(asked)


def _numbers(words: str, after: str) -> list[int]:
    """The numbers of the numbered lines behind some words."""
    part = words.split(after, 1)[1].split("\n\n", 2)[1]
    return [int(line.split(".")[0]) for line in part.splitlines()]


def _pairs(asked: Asked) -> str:
    found = []
    for line in asked.words.split("of a report:", 1)[1].split("\n\n", 2)[1].splitlines():
        number, _, text = line.partition(". ")
        names = {"onsol": ["right lower lung zone"], "effus": ANGLES, "heart": ["heart"]}
        own = next((value for key, value in names.items() if key in text), ["trachea"])
        found.append({"sentence": int(number), "regions": own})
    return js(pairs=found)


def _supports_all(asked: Asked) -> str:
    many = _numbers(asked.words, "each with the regions looked at:")
    source = _numbers(asked.words, "The sentences of the report:")[:1]
    return js(sentences=[{"number": n, "supported": True, "source": source} for n in many])


def _finds_nothing(asked: Asked) -> str:
    rows = [json.loads(r) for r in asked.words.splitlines() if r.startswith('{"number"')]
    return js(looks=[{"number": row["number"], "right": True} for row in rows])


def source_of(root: Path) -> Path:
    """One film with its report and boxes."""
    pixels = np.random.default_rng(0).integers(0, 255, (560, 640), np.uint8)
    write_image(root / "images" / "a.jpg", pixels)
    row = {"id": "a", "patient": "p1", "image": "images/a.jpg", "report": REPORT}
    row["regions"] = BOXES  # type: ignore[assignment]
    (root / "reports.jsonl").write_text(json.dumps(row), encoding="utf-8")
    return root


def scripted(tmp_path: Path, script: Script, **settings: str) -> tuple[BuildOutcome, list[Asked]]:
    """A build with two models that follow the script."""
    source = tmp_path / "source"
    if not source.exists():
        source_of(source)
    asked: list[Asked] = []
    wrong: list[BaseException] = []

    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        question = opened(seen.told)
        asked.append(question)
        try:
            text = script(question, seen.told["model"])
        except BaseException as error:
            wrong.append(error)
            raise
        await says(text)(seen, writer)

    async def building() -> BuildOutcome:
        async with serving(behave) as server:
            plan = BuildPlan(
                RECIPE,
                source,
                readers={
                    "reader": RoleSpec("openai", {"model": "generator", "base_url": server.url}),
                    "auditor": RoleSpec("openai", {"model": "second", "base_url": server.url}),
                },
                settings=settings,
                concurrency=1,
                max_retries=0,
            )
            return await build_async(plan, tmp_path / "out")

    outcome = asyncio.run(building())
    if wrong:
        raise wrong[0]
    return outcome, asked


def step_of(tmp_path: Path, name: str) -> HistoryEntry:
    """What a step decided on the film in the end."""
    decisions = load_history(tmp_path / "out", "a").decisions
    return [one for one in decisions if one.entry.step == name][-1]


def rejects(tmp_path: Path, name: str) -> list[dict[str, Any]]:
    """The objections that a step put into the ledger."""
    told = [one.after for one in step_of(tmp_path, name).entry.changes if "verdict" in one.what]
    return [one for one in told if isinstance(one, dict) and one["verdict"] == "reject"]


def test_a_good_trace_goes_through_unasked(tmp_path: Path) -> None:
    """Four questions to the models, none to people; every verdict is kept with who gave it."""
    outcome, asked = scripted(tmp_path, Script(GOOD, GOOD))
    (item,) = outcome.items
    assert len(asked) == 4
    found = verdicts_of(item)
    by = {(one.stage, one.by) for one in found}
    assert len(by) == 4
    assert {stage for stage, name in by if name == "rules"} == {1, 2}
    assert {one.verdict for one in found} == {"accept"}
    assert [one.by == "rules" for one in looks_of(item)] == [False] * 4
    assert outcome.release is not None
    split = str(item.data["split"])
    assert not list(check("mmrad", outcome.release, split))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_caught_told_and_mended(tmp_path: Path, fault: str) -> None:
    """At its stage, though both models overlook it; the generator is told why and mends it."""
    stage, problem, trace = FAULTS[fault]
    outcome, asked = scripted(tmp_path, Script(trace, GOOD))
    here, other = ("reflect", "audit") if stage == 1 else ("audit", "reflect")
    caught = rejects(tmp_path, here)
    assert {(one["stage"], one["problem"]) for one in caught} == {(stage, problem)}
    assert not rejects(tmp_path, other)
    (again,) = [one for one in asked if "These things are wrong" in one.words]
    assert all(one["reason"] in again.words for one in caught)
    (item,) = outcome.items
    assert [one.text for one in looks_of(item)] == [one["words"] for one in GOOD]
    assert [one.problem for one in verdicts_of(item) if one.verdict == "reject"] == [
        one["problem"] for one in caught
    ]
    assert outcome.release is not None


@pytest.mark.parametrize(
    "fault", ["invented finding", "left-out region", "swapped side", "box outside the picture"]
)
def test_a_stubborn_fault_ends_with_people(tmp_path: Path, fault: str) -> None:
    """Nothing is released; the question shows the look and tells nobody's judgement."""
    _, _, trace = FAULTS[fault]
    outcome, _ = scripted(tmp_path, Script(trace, trace))
    assert outcome.waiting == 1
    assert not outcome.items
    (question, *_) = Queue(tmp_path / "out").open_questions("anna", kind="verify-trace")
    shown = json.dumps(question.shown) + question.text
    assert REPORT.split(".")[0] in shown
    assert "generator" not in shown
    assert "second" not in shown


def test_people_decide_on_what_still_stands(tmp_path: Path) -> None:
    """Rejected words give way to the report's own, and the release is written with the verdict."""
    _, _, trace = FAULTS["swapped side"]
    script = Script(trace, trace)
    scripted(tmp_path, script)
    queue = Queue(tmp_path / "out")
    for person in ("anna", "ben"):
        for question in queue.open_questions(person):
            queue.submit(person, question.id, "reject")
    outcome, _ = scripted(tmp_path, script)
    (item,) = outcome.items
    assert "Consolidation in the right lower lung zone." in {one.text for one in looks_of(item)}
    assert "left lower" not in str(item.data["record"])
    last = verdicts_of(item)[-1]
    assert (last.stage, last.verdict, last.by) == (3, "reject", "people")


def decide_all(folder: Path, **verdicts: str) -> None:
    """Two people give these verdicts by the kind of question, `reject` where none is named."""
    queue = Queue(folder)
    for person in ("anna", "ben"):
        for question in queue.open_questions(person):
            queue.submit(person, question.id, verdicts.get(question.kind.replace("-", "_"), "reject"))


def objects_to(words: str) -> Callable[[Asked], str]:
    """An auditor who objects to the look that says this and to no other."""

    def audits(asked: Asked) -> str:
        rows = [json.loads(r) for r in asked.words.splitlines() if r.startswith('{"number"')]
        judged = [
            {"number": r["number"], "right": False, "problem": "wrong-region", "reason": "It is not there."}
            if words in r["words"]
            else {"number": r["number"], "right": True}
            for r in rows
        ]
        return js(looks=judged)

    return audits


@pytest.mark.parametrize(
    "where", [pytest.param("no region", marks=pytest.mark.slow), "heart and the mediastinal region"]
)
def test_rejecting_the_reports_own_words_changes_their_region(tmp_path: Path, where: str) -> None:
    """The words are the report's, so the pair is wrong: people say where it belongs, and there it is told."""
    own = look("Consolidation in the right lower lung zone.", "right lower lung zone")
    script = Script([own, *GOOD[1:]], [own, *GOOD[1:]], audits=objects_to("Consolidation"))
    scripted(tmp_path, script)
    decide_all(tmp_path / "out")
    again, _ = scripted(tmp_path, script)
    assert again.waiting == 1
    (question,) = Queue(tmp_path / "out").open_questions("anna")
    assert (question.kind, "lungs" in question.choices) == ("sentence-region", False)
    decide_all(tmp_path / "out", sentence_region=where)
    outcome, _ = scripted(tmp_path, script)
    (item,) = outcome.items
    told = [one.major for one in looks_of(item) if own["words"] in one.sentences]
    places = [] if where == "no region" else [where]
    assert told == places
    (pair,) = [one for one in pairs_of(item) if one.text == own["words"]]
    assert (pair.role, list(pair.told)) == ("told" if places else "nowhere", places)
    assert any("pair of sentence" in one.what for one in step_of(tmp_path, "people").entry.changes)


def test_own_words_in_a_wrong_region_go_where_they_belong(tmp_path: Path) -> None:
    """Said of the trachea and nowhere else: rejected there, the sentence is told of the pleura."""
    moved = look(f"{TRACHEA['words']} No pleural effusion.", "trachea")
    thick = look("The costophrenic angles are sharp.", *ANGLES)
    trace = [LUNG, thick, HEART, moved]
    scripted(tmp_path, Script(trace, trace))
    decide_all(tmp_path / "out")
    outcome, _ = scripted(tmp_path, Script(trace, trace))
    (item,) = outcome.items
    told = [one.major for one in looks_of(item) if "No pleural effusion." in one.sentences]
    assert len(told) == 1
    assert "pleura" in told[0]
    assert any(TRACHEA["words"] in one.sentences for one in looks_of(item))


def test_people_may_accept_and_may_be_left_out(tmp_path: Path) -> None:
    """An accepted trace stays as it is; with people=drop a dispute ends the film instead."""
    _, _, trace = FAULTS["left-out region"]
    scripted(tmp_path, Script(trace, trace))
    queue = Queue(tmp_path / "out")
    for person in ("anna", "ben"):
        for question in queue.open_questions(person):
            queue.submit(person, question.id, "accept")
    outcome, _ = scripted(tmp_path, Script(trace, trace))
    (item,) = outcome.items
    assert [one.text for one in looks_of(item)] == [one["words"] for one in trace]
    dropped, _ = scripted(tmp_path, Script(trace, trace), people="drop")
    assert {why for step in dropped.steps for why in step.dropped} == {"disputed"}


def test_the_auditor_objects_where_rules_do_not(tmp_path: Path) -> None:
    """Its reason goes to the generator; what it still objects to goes to people."""

    def audits(asked: Asked) -> str:
        rows = [json.loads(r) for r in asked.words.splitlines() if r.startswith('{"number"')]
        judged = [{"number": row["number"], "right": True} for row in rows[1:]]
        bad = {"number": 1, "right": False, "problem": "other", "reason": "It is too terse."}
        return js(looks=[bad, *judged])

    outcome, asked = scripted(tmp_path, Script(GOOD, GOOD, audits=audits))
    assert any("too terse" in one.words for one in asked if "wrong with it" in one.words)
    assert outcome.waiting == 1
    assert {one["by"] for one in rejects(tmp_path, "audit")} != {"rules"}


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("no JSON at all", "JSON"),
        (js(pairs=[{"sentence": 1, "regions": ["right lung"]}]), "missing"),
        (js(pairs=[{"sentence": n, "regions": ["left kidney"]} for n in range(1, 5)]), "list"),
        (js(pairs=[{"sentence": n, "regions": []} for n in range(1, 5)]), "speaks of"),
        (js(pairs=[{"sentence": n, "regions": ["left lung"]} for n in range(1, 5)]), "right side"),
    ],
)
def test_bad_pairs_are_asked_for_again_and_end_in_the_ledger(tmp_path: Path, reply: str, reason: str) -> None:
    """The reason is told to the model; where it does not help, rules make the pairs and say so."""
    outcome, asked = scripted(tmp_path, Script(GOOD, GOOD, pairs=lambda _: reply))
    repeated = [one for one in asked if "Give for each sentence" in one.words]
    assert len(repeated) == 3
    assert reason in repeated[-1].last
    decided = step_of(tmp_path, "pairs")
    assert all(one.problem for one in decided.asked)
    assert "rules made them" in decided.entry.changes[0].why
    (item,) = outcome.items
    assert item.data["pairs_by"] == "rules"


def test_a_judgement_that_judges_nothing_is_no_acceptance(tmp_path: Path) -> None:
    """A reflection that leaves sentences out is asked again, and then people are asked."""
    outcome, asked = scripted(tmp_path, Script(GOOD, GOOD, reflects=lambda _: js(sentences=[], left_out=[])))
    assert len([one for one in asked if "that you wrote yourself" in one.words]) == 3
    assert outcome.waiting == 1
    assert {one["problem"] for one in rejects(tmp_path, "reflect")} == {"unjudged"}


@pytest.mark.parametrize(
    "trace",
    [
        [],
        [look("", "trachea")],
        [look("The trachea is central.", "trachea", box=[1, 2, 3])],
        [{"regions": ["left kidney"], "box": [1, 2, 3, 4], "words": "A cyst."}],
        [look("Clear lungs and central trachea.", "trachea", "right lung")],
    ],
)
def test_a_trace_of_no_form_is_replaced_by_the_rules(tmp_path: Path, trace: Trace) -> None:
    """It is asked for again with the reason; then the rules write it, and the ledger says so."""
    outcome, asked = scripted(tmp_path, Script(trace, GOOD))
    assert len([one for one in asked if "sensible order" in one.words]) == 3
    (item,) = outcome.items
    assert {one.by for one in looks_of(item)} == {"rules"}
    assert "rules wrote it" in step_of(tmp_path, "trace").entry.changes[0].why


def test_mirrored_boxes_are_for_people_to_judge(tmp_path: Path) -> None:
    """Without any model: a right lung on the picture's right makes the film wait."""
    source = source_of(tmp_path / "source")
    row = json.loads((source / "reports.jsonl").read_text("utf-8"))
    boxes = row["regions"]
    boxes["right lung"], boxes["left lung"] = boxes["left lung"], boxes["right lung"]
    (source / "reports.jsonl").write_text(json.dumps(row), encoding="utf-8")
    outcome = run_build(RECIPE, source, tmp_path / "out")
    assert outcome.waiting == 1
    queue = Queue(tmp_path / "out")
    for person in ("anna", "ben"):
        (question,) = queue.open_questions(person)
        assert "right lung" in question.text
        queue.submit(person, question.id, "reject")
    again = run_build(RECIPE, source, tmp_path / "out")
    assert {why for step in again.steps for why in step.dropped} == {"rejected-by-people"}
