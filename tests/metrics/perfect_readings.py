"""Readings made of the truth itself: what a perfect reader would hand in."""

from __future__ import annotations

from overread.core import Entry, Reading


def perfect(entry: Entry) -> Reading:
    """The truth of a case as a reading of it."""
    truth = entry.truth
    assert truth is not None
    return Reading(
        case_id=entry.case.id,
        reader="perfect",
        choice=truth.answer or truth.answer_text,
        probabilities={truth.answer: 1.0} if truth.answer else None,
        rationale="The pictures show it. The others do not fit." if truth.answer else None,
        findings=truth.findings,
        report=truth.report,
        discussion=truth.discussion,
        trace=truth.trace,
    )
