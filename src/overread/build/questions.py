"""What only people can decide in a build: the questions it asks, and the verdicts that are in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from overread.build.item import Question
from overread.build.ledger_tables import looked_at, told

VERDICTS = "verdicts.jsonl"


def questions_of(folder: Path, *, waiting: bool = False) -> list[Question]:
    """Every question of the build as it stands, in the order of the source, each once.

    These are the questions of items that wait, and those whose verdicts the build rests on; with
    `waiting`, the first alone. What was asked by an earlier version of a step is left out.
    """
    base = looked_at(folder)
    try:
        with told(folder):
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


def corrected_key(question: str) -> str:
    """Under what name the verdicts hold what people put in the place of what they were shown."""
    return f"{question}\ncorrected"


def looked_up(
    verdicts: Mapping[str, str | None],
) -> list[tuple[str, str | None, str | None]]:
    """Each question that a step looked up: what people decided, and what they put in its place.

    >>> looked_up({"a": "accept", "a\\ncorrected": "[1]", "b": None, "b\\ncorrected": None})
    [('a', 'accept', '[1]'), ('b', None, None)]
    """
    beside = {corrected_key(question) for question in verdicts}
    return [
        (question, verdict, verdicts.get(corrected_key(question)))
        for question, verdict in verdicts.items()
        if question not in beside
    ]


def settled_verdicts(folder: Path) -> dict[str, str]:
    """Question → what people decided in the end; empty where nobody was asked yet.

    Where they put something in the place of what they were shown, that stands beside it as JSON.
    """
    if not (folder / VERDICTS).is_file():
        return {}
    if find_spec("overread.build.adjudication") is None:
        return {}
    # By name: adjudication asks the ledger for its questions, and would else ask itself.
    decided = import_module("overread.build.adjudication").decisions(folder)
    found: dict[str, str] = {}
    for question, decision in decided.items():
        found[question] = decision.verdict
        if decision.corrected:
            found[corrected_key(question)] = json.dumps(decision.corrected[0], sort_keys=True)
    return found
