"""What follows from the verdicts on one question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from overread.build.adjudication.reads import PersonVerdict, deciding_verdict
from overread.build.item import Data
from overread.core import Record


class Decision(Record):
    """What people decided on a question."""

    question: str
    """Id of the question."""
    item: str
    """What it is about."""
    kind: str
    """What was asked for."""
    verdict: str
    """One of the question's choices, or 'cannot judge'."""
    by: Literal["agreement", "third"]
    """Whether the two reads were the same, or a third person decided."""
    people: tuple[str, ...]
    """Who gave this verdict, of those that counted; who decided comes first."""
    reasons: tuple[str, ...] = ()
    """Their reason codes."""
    notes: tuple[str, ...] = ()
    """What they said in words."""
    corrected: tuple[Data, ...] = ()
    """What they put in the place of what was shown; the first is that of who decided."""


def decide(reads: Sequence[PersonVerdict]) -> Decision | None:
    """What the verdicts on a question, in their order, decide; None where they do not yet."""
    last = deciding_verdict(reads)
    if last is None:
        return None
    third = reads[0].verdict != reads[1].verdict
    alike = [given for given in reads[: 2 + third] if given.verdict == last.verdict]
    alike.sort(key=lambda given: given is not last)  # who decided comes first
    return Decision(
        question=last.question,
        item=last.item,
        kind=last.kind,
        verdict=last.verdict,
        by="third" if third else "agreement",
        people=tuple(given.person for given in alike),
        reasons=tuple(dict.fromkeys(code for given in alike for code in given.reasons)),
        notes=tuple(given.note for given in alike if given.note),
        corrected=tuple(given.corrected for given in alike if given.corrected is not None),
    )
