"""Questions for people who are not there, and a clock that always says the same."""

from __future__ import annotations

from pathlib import Path

from overread.build.adjudication import Queue
from overread.build.item import Question
from overread.core.verdicts import StepVerdict, StepVerdicts
from overread.runs.judging.verdict_store import VerdictStore
from overread.runs.store import last_readings

NOON = "2026-02-01T12:00:00+00:00"


def question(number: int, kind: str = "verify-trace", **given: object) -> Question:
    """A question on a made-up item."""
    told = {
        "id": f"item{number}/{kind}",
        "item": f"item{number}",
        "kind": kind,
        "text": f"Does trace {number} hold?",
        "shown": {"report": "There is an effusion on the left.", "box": [1, 2, 30, 40]},
    }
    return Question.model_validate(told | given)


def queue_of(folder: Path, questions: list[Question]) -> Queue:
    """A queue of its own, as another process would have, with a clock that stands still."""
    return Queue(folder, questions, clock=lambda: NOON)


def judged_by_owl(run: Path) -> list[str]:
    """Verdicts of a made-up judge on two steps of each reading of a run; the cases."""
    cases = sorted({case for case, _ in last_readings(run)})
    with VerdictStore(run) as store:
        for case in cases:
            steps = tuple(
                StepVerdict(text=f"{word} of {case}.", factual=yes, explanation="zebra")
                for word, yes in (("First", True), ("Second", False))
            )
            store.append(StepVerdicts(case_id=case, judge="owl", about="", rule="r", steps=steps))
    return cases
