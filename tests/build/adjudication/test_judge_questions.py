"""Checking a judge: what people are asked, that they are not told what it said, how far they agree."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from overread.build.adjudication import Queue, final_verdicts, verify_log
from overread.build.adjudication.judge_questions import (
    CONSENSUS,
    SENTENCE,
    STEP,
    find_judged_run,
    make_judge_questions,
    measure_judge_agreement,
    write_judge_questions,
)
from overread.core.verdicts import DiscussionVerdicts, SentenceVerdict, StepVerdict, StepVerdicts
from overread.errors import UsageError
from overread.runs.judging.verdict_store import VerdictStore
from overread.storage.atomic import open_atomic


def judged(run: Path, *factual: bool, case: str = "c1") -> Path:
    """A run of which the steps of one case were judged."""
    run.mkdir(exist_ok=True)
    steps = tuple(
        StepVerdict(text=f"Step {n}.", factual=yes, explanation="zebra", errors=("reasoning",) * (not yes))
        for n, yes in enumerate(factual, 1)
    )
    with VerdictStore(run) as store:
        store.append(StepVerdicts(case_id=case, judge="owl", about="", rule="r", steps=steps))
    return run


def test_people_are_asked_what_the_judge_was_and_not_told_what_it_said(tmp_path: Path) -> None:
    """One question a sentence, with its neighbours and the case; nothing of the verdict."""
    run = judged(tmp_path / "run", True, False)
    with VerdictStore(run) as store:
        said = (SentenceVerdict(text="It is fatal.", section="Background", correct=True),)
        store.append(DiscussionVerdicts(case_id="c1", judge="owl", about="", sentences=said))
    found = make_judge_questions(run, {"c1": {"history": "A cough."}})
    assert [one.kind for one in found] == [SENTENCE, STEP, STEP]
    assert found[1].choices == ("factual", "not factual")
    assert found[1].shown == {
        "sentence": "Step 1.",
        "history": "A cough.",
        "all of it": ["Step 1.", "Step 2."],
    }
    text = "".join(one.model_dump_json() for one in found)
    assert not any(word in text for word in ("zebra", "owl", "reasoning"))
    other = make_judge_questions(judged(tmp_path / "other", False, True), {"c1": {"history": "A cough."}})
    assert other == found[1:]  # another verdict, the same questions


def test_agreement_with_the_judge_is_counted_for_each_and_for_all(tmp_path: Path) -> None:
    """Each person and the decisions against the judge; 'cannot judge' is counted apart."""
    run = judged(tmp_path / "run", True, True, False, False)
    folder = tmp_path / "checked"
    asked = [one.id for one in write_judge_questions(run, folder)]
    assert find_judged_run(folder) == run
    queue = Queue(folder)
    for id_, one, other in zip(
        asked,
        ("factual", "factual", "not factual", "cannot judge"),
        ("factual", "not factual", "not factual", "cannot judge"),
        strict=True,
    ):
        queue.submit("ann", id_, one)
        queue.submit("Bob", id_, other, reasons=["reasoning"] if other == "not factual" else [])
    queue.submit("cem", asked[1], "factual")
    rows = {one.who: one for one in measure_judge_agreement(queue, run, draws=0)}
    assert list(rows) == ["ann", "Bob", "cem", CONSENSUS]
    assert {who: one.agreement.n for who, one in rows.items()} == {
        "ann": 3, "Bob": 3, "cem": 1, CONSENSUS: 3,
    }  # fmt: skip
    assert rows["ann"].agreement.share.value == 1
    assert rows["Bob"].agreement.share.value == pytest.approx(2 / 3)
    assert rows[CONSENSUS].agreement.share.value == 1
    assert rows["ann"].cannot_judge == 1
    assert rows["ann"].judge == "owl"


def test_questions_that_stayed_the_same_keep_their_verdicts(tmp_path: Path) -> None:
    """Writing again after more was judged adds questions and loses no verdict."""
    run = judged(tmp_path / "run", True)
    folder = tmp_path / "checked"
    (first,) = write_judge_questions(run, folder)
    for person in ("ann", "bob"):
        Queue(folder).submit(person, first.id, "factual")
    judged(run, False, case="c2")
    assert len(write_judge_questions(run, folder)) == 2
    assert final_verdicts(folder) == {first.id: "factual"}
    assert verify_log(folder).intact


def test_nothing_judged_and_a_folder_of_something_else_are_refused(tmp_path: Path) -> None:
    """Nothing is written over what is not ours."""
    (tmp_path / "run").mkdir()
    with pytest.raises(UsageError, match="nothing of this run was judged"):
        write_judge_questions(tmp_path / "run", tmp_path / "checked")
    assert not (tmp_path / "checked").exists()
    run = judged(tmp_path / "run", True)
    (tmp_path / "checked").mkdir()
    (tmp_path / "checked" / "diary.txt").write_text("mine")
    with pytest.raises(UsageError, match="holds something else"):
        write_judge_questions(run, tmp_path / "checked")
    assert find_judged_run(tmp_path / "checked") is None
    (tmp_path / "checked" / "judged.json").write_text('{"run": 5}')
    assert find_judged_run(tmp_path / "checked") is None


def test_a_kill_in_between_leaves_a_folder_that_is_known_for_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was written last: the same again goes on, and what the kill left is gone."""
    run, folder = judged(tmp_path / "run", True), tmp_path / "checked"
    whole = write_judge_questions(run, folder)
    names = sorted(path.name for path in folder.iterdir())
    for written in range(len(names)):
        shutil.rmtree(folder)
        killing = Killing(written)
        with monkeypatch.context() as patch:
            for module in ("judge_questions", "question_file"):
                patch.setattr(f"overread.build.adjudication.{module}.open_atomic", killing)
            with pytest.raises(KeyboardInterrupt):
                write_judge_questions(run, folder)
        assert write_judge_questions(run, folder) == whole
        assert sorted(path.name for path in folder.iterdir()) == names


class Killing:
    """Writes so many files, and leaves of the next what a kill leaves."""

    def __init__(self, files: int) -> None:
        self.left = files

    def __call__(self, path: Path) -> Any:
        self.left -= 1
        if self.left < 0:
            (path.parent / f".{'0a' * 16}.part").touch()
            raise KeyboardInterrupt
        return open_atomic(path)
