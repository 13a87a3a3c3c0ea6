"""How far the work of people is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from overread.build.adjudication.reads import CANNOT_JUDGE, QuestionKey, Reads, deciding_verdict, needed_read
from overread.build.item import Question
from overread.core import Record


class QuestionTally(Record):
    """How far the questions are."""

    questions: int = 0
    """How many there are."""
    settled: int = 0
    """Those that are decided."""
    by_third: int = 0
    """Those of them that a third person decided."""
    cannot_judge: int = 0
    """Those of them that were decided as 'cannot judge'."""
    first: int = 0
    """Those that nobody has read."""
    second: int = 0
    """Those that wait for the second read."""
    third: int = 0
    """Those on which two differ."""


class Progress(Record):
    """How far the work is. For who runs it; a reader is told his own numbers only."""

    all: QuestionTally
    """Of all questions."""
    kinds: dict[str, QuestionTally]
    """Kind → of the questions of that kind."""
    given: dict[str, int]
    """Person → verdicts that stand."""
    left: dict[str, int]
    """Person → questions that he can read yet."""
    outdated: int = 0
    """Verdicts on questions that have changed since, or are no longer asked; they do not count."""
    notes: tuple[str, ...] = ()
    """What was mended in the log."""


def count_progress(
    asked: Sequence[tuple[Question, QuestionKey]],
    reads: Reads,
    left: Mapping[str, int],
    notes: Sequence[str] = (),
) -> Progress:
    """How far the questions are that are asked now; `left` has everybody's open questions."""
    kinds: dict[str, Counter[str]] = {}
    for question, key in asked:
        counts = kinds.setdefault(question.kind, Counter())
        own = reads.of_question(key)
        counts["questions"] += 1
        last = deciding_verdict(own)
        if last is None:
            counts[needed_read(own)] += 1
            continue
        counts["settled"] += 1
        counts["by_third"] += own[0].verdict != own[1].verdict
        counts["cannot_judge"] += last.verdict == CANNOT_JUDGE
    current = {key for _, key in asked}
    return Progress(
        all=QuestionTally(**sum(kinds.values(), Counter())),
        kinds={kind: QuestionTally(**counts) for kind, counts in kinds.items()},
        given={name: len(reads.by_person(name)) for name in left},
        left=dict(left),
        outdated=sum(given.key not in current for given in reads.all()),
        notes=tuple(notes),
    )
