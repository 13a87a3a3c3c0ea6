"""The questions that a build asks people, from its ledger."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from overread.build.item import Question
from overread.build.ledger.tables import open_for_reading, sqlite_errors


def load_ledger_questions(folder: Path, *, waiting: bool = False) -> list[Question]:
    """Every question of the build as it stands, in the order of the source, each once.

    These are the questions of items that wait, and those whose verdicts the build rests on; with
    `waiting`, the first alone. What was asked by an earlier version of a step is left out.
    """
    base = open_for_reading(folder)
    try:
        with sqlite_errors(folder):
            rows = base.execute(
                "SELECT q.question FROM questions q JOIN items i ON i.id = q.item "
                "WHERE EXISTS (SELECT 1 FROM flow f WHERE f.item = q.item AND f.entry = q.entry) "
                "OR (NOT ? AND EXISTS (SELECT 1 FROM flow f JOIN entries e ON e.id = f.entry, "
                "json_each(e.verdicts) v WHERE f.item = q.item AND v.key = q.id)) "
                "ORDER BY i.place, q.entry, q.id",
                (waiting,),
            ).fetchall()
    finally:
        base.close()
    found: dict[str, Question] = {}
    for row in rows:
        question = Question.model_validate_json(row[0])
        found[question.id] = question  # asked again in other words: the last ones count
    return list(found.values())


def correction_key(question: str) -> str:
    """The key under which verdicts hold the corrected data for a question."""
    return f"{question}\ncorrected"


def list_consulted(verdicts: Mapping[str, str | None]) -> list[tuple[str, str | None, str | None]]:
    """Each question that a step looked up: what people decided, and what they put in its place.

    >>> list_consulted({"a": "accept", "a\\ncorrected": "[1]", "b": None, "b\\ncorrected": None})
    [('a', 'accept', '[1]'), ('b', None, None)]
    """
    beside = {correction_key(question) for question in verdicts}
    return [
        (question, verdict, verdicts.get(correction_key(question)))
        for question, verdict in verdicts.items()
        if question not in beside
    ]
