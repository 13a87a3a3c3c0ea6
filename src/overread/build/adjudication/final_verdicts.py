"""What people decided on the questions of a folder, as a build looks it up."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from overread.build.adjudication.decision import Decision, decide
from overread.build.adjudication.question_file import has_questions, load_questions
from overread.build.adjudication.queue import Queue
from overread.build.adjudication.reads import question_digest
from overread.build.adjudication.verdict_log import VerdictLog
from overread.build.item import Question
from overread.build.ledger.questions import correction_key


def final_verdicts(folder: Path, questions: Iterable[Question] | None = None) -> dict[str, str]:
    """Question id → the final verdict, where there is one; raises where the log was altered.

    Corrected data, where given, stands beside it under its correction key, as JSON.

    `questions` are those that are asked now, from wherever they are kept: verdicts on others do
    not count. Without them they are the folder's own, and a question that is not among these
    counts as it was last asked.
    """
    found: dict[str, str] = {}
    for id_, decision in load_decisions(folder, questions).items():
        found[id_] = decision.verdict
        if decision.corrected:
            found[correction_key(id_)] = json.dumps(decision.corrected[0], sort_keys=True)
    return found


def load_decisions(folder: Path, questions: Iterable[Question] | None = None) -> dict[str, Decision]:
    """The same as `Decision` records: with who decided, why, and the corrected data."""
    if questions is not None:
        return Queue(folder, questions).decisions()
    reads = VerdictLog(folder).refresh()
    keys = {given.question: given.key for given in reads.all()}
    if keys and has_questions(folder):
        keys |= {q.id: (q.id, question_digest(q)) for q in load_questions(folder)}
    found = {id_: decide(reads.of_question(key)) for id_, key in keys.items()}
    return {id_: decision for id_, decision in found.items() if decision is not None}
