"""Questions for people who are not there, and a clock that always says the same."""

from __future__ import annotations

from pathlib import Path

from overread.build.adjudication import Queue
from overread.build.item import Question

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
