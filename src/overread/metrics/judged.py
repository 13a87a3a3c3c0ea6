"""Metrics computed from stored verdicts of a judge on explanations and discussions; no model is
asked here.

What is missing counts against the reading: a step without a verdict is not factual, and a case
without any current verdict (no reading, no explanation, not judged, or judged on other words) is
worst and weighs as much as the average judged case.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from overread.core import Reading
from overread.core.verdicts import (
    SECTIONS,
    DiscussionVerdicts,
    StepVerdict,
    StepVerdicts,
    discussion_of,
    explanation_of,
    text_digest,
)
from overread.metrics.contract import Measured, Metric, Subject, by_name, stored_as
from overread.metrics.sample import Numbers, Sample, safe_divide
from overread.ontology import education_dimensions, step_errors

NEED_STEPS = "step verdicts"
NEED_DISCUSSION = "discussion verdicts"

_RULE = "the MedThinkVQA judges' rule, counted by hand in the tests"
_NOT_JUDGED = {
    "not judged": "counts against the reading",
    "case without verdicts": "worst, with the weight of an average case",
}
_ERRORS = {
    "step_errors_reasoning": "reasoning",
    "step_errors_image": "image-understanding",
    "step_errors_scenario": "clinical-scenario",
    "step_errors_knowledge": "medical-knowledge",
}
"""Metric → code of the error that it counts."""
_V = TypeVar("_V", StepVerdicts, DiscussionVerdicts)


@stored_as("judged.measure_steps")
def measure_steps(subject: Subject) -> Measured:
    """One row a case: its steps, how many are factual, critical, and wrong in which way.

    >>> from overread.core import Case, Entry, Option, Truth
    >>> from overread.core.verdicts import StepVerdict
    >>> case = Case(id="c", benchmark="b", split="test", options=(Option(letter="A", text="gout"),))
    >>> entry = Entry(case=case, truth=Truth(answer="A"))
    >>> reading = Reading(case_id="c", reader="r", rationale="Tophi are seen. There is no gas.")
    >>> steps = (StepVerdict(text="Tophi are seen.", factual=True), StepVerdict(text="No gas."))
    >>> about = text_digest(reading.rationale)
    >>> verdicts = StepVerdicts(case_id="c", judge="j", about=about, steps=steps)
    >>> row = measure_steps(Subject(entry, reading, verdicts=(verdicts,)))[""]
    >>> row["steps"], row["factual"], row["all_factual"]
    (2, 1, 0)
    """
    truth, case = subject.entry.truth, subject.entry.case
    if truth is None or truth.answer is None or not case.options:
        return {}
    found = _current_verdicts(subject, StepVerdicts, explanation_of)
    steps = found.steps if found else ()
    row: dict[str, Any] = {
        "cases": 1,
        "present": int(bool(steps)),
        "steps": len(steps),
        "factual": sum(step.judged and step.factual for step in steps),
        "critical": sum(step.judged and step.critical for step in steps),
        "not_judged": sum(not step.judged for step in steps),
    }
    row["all_factual"] = int(bool(steps) and row["factual"] == row["steps"])
    for error in step_errors().item:
        # Nobody said that a step without a verdict is free of it.
        row[f"error:{error.code}"] = sum(not s.judged or error.code in s.errors for s in steps)
    return {"": row | _count_critical(steps)}


def _count_critical(steps: Sequence[StepVerdict]) -> dict[str, int]:
    """Factual steps and errors among those that the diagnosis rests on.

    A judged case that has none of them says nothing about them; one without verdicts is worst.
    """
    own = [step for step in steps if step.judged and step.critical]
    row = {
        "critical_cases": int(bool(own) or not steps),
        "critical_present": int(bool(own)),
        "critical_factual": sum(step.factual for step in own),
    }
    for error in step_errors().item:
        row[f"critical_error:{error.code}"] = sum(error.code in step.errors for step in own)
    return row


@stored_as("judged.measure_discussion")
def measure_discussion(subject: Subject) -> Measured:
    """One row a case: its sentences and how many are correct, by section, and the five marks."""
    truth = subject.entry.truth
    if truth is None or not (truth.discussion and truth.discussion.strip()):
        return {}
    found = _current_verdicts(subject, DiscussionVerdicts, discussion_of)
    sentences = found.sentences if found else ()
    row: dict[str, Any] = {
        "cases": 1,
        "present": int(bool(sentences)),
        "sentences": len(sentences),
        "correct": sum(s.judged and s.correct for s in sentences),
        "not_judged": sum(not s.judged for s in sentences),
    }
    for section in SECTIONS:
        own = [s for s in sentences if s.section == section]
        row[f"present:{section}"] = int(bool(own))
        row[f"sentences:{section}"] = len(own)
        row[f"correct:{section}"] = sum(s.judged and s.correct for s in own)
    marks = {m.dimension: m.mark for m in found.education if m.judged} if found else {}
    for term in education_dimensions().item:
        row[f"mark:{term.code}"] = marks.get(term.code, 0)
    row["education"] = sum(row[f"mark:{term.code}"] for term in education_dimensions().item)
    return {"": row}


def _current_verdicts(subject: Subject, kind: type[_V], words: Callable[[Reading], str]) -> _V | None:
    """The last verdicts of a kind on the words of the reading as they are now."""
    reading = subject.usable_reading
    text = words(reading) if reading else ""
    if reading is None or not text:
        return None
    about = text_digest(text)
    own = [
        verdicts
        for verdicts in subject.verdicts
        if isinstance(verdicts, kind)
        and (verdicts.case_id, verdicts.sample) == (reading.case_id, reading.sample)
        and verdicts.about == about
    ]
    return own[-1] if own else None


def pooled_share(
    sample: Sample,
    *,
    top: str,
    bottom: str,
    present: str = "present",
    all_cases: str = "cases",
    worst: float = 0.0,
) -> Numbers:
    """A share of all steps or sentences; each case without any adds an average case at the worst.

    >>> pooled_share(Sample([{"cases": 1, "present": 1, "n": 4, "good": 3}, {"cases": 1}]),
    ...        top="good", bottom="n")
    array([0.375])
    """
    cases, there = sample.total(all_cases), sample.total(present)
    of_those = sample.ratio(top, bottom)
    good = np.where(there > 0, of_those, 0.0) * there
    return safe_divide(good + worst * (cases - there), cases)


def mean_per_case(sample: Sample, *, top: str) -> Numbers:
    """The mean of one statistic over the cases."""
    return sample.ratio(top, "cases")


def _step_metric(name: str, about: str, **changes: Any) -> Metric:
    return Metric(
        **{
            "name": name,
            "about": about,
            "better": "higher",
            "needs": ("rationale", NEED_STEPS),
            "measure": measure_steps,
            "best": 1.0,
            "worst": 0.0,
            "reference": _RULE,
            "settings": _NOT_JUDGED,
            **changes,
        }
    )


def _error_metric(name: str, code: str) -> Metric:
    return _step_metric(
        name,
        f"steps with this error, as a share of all steps: {_error_name(code)}",
        combine=partial(pooled_share, top=f"error:{code}", bottom="steps", worst=1.0),
        better="lower",
        best=0.0,
        worst=1.0,
        settings={"not judged": "has every error", **_without("not judged")},
    )


def _critical_metrics() -> tuple[Metric, ...]:
    """Factuality and errors of the steps that the diagnosis rests on, alone."""
    share = partial(pooled_share, bottom="critical", present="critical_present", all_cases="critical_cases")
    settings = {
        "not judged": "not critical",
        **_without("not judged"),
        "judged case without critical steps": "left out",
    }
    return (
        _step_metric(
            "critical_step_factuality",
            "share of the steps that the diagnosis rests on that the judge holds factual",
            combine=partial(share, top="critical_factual"),
            settings=settings,
        ),
        *(
            _step_metric(
                f"critical_{name}",
                f"share of the steps that the diagnosis rests on with this error: {_error_name(code)}",
                combine=partial(share, top=f"critical_error:{code}", worst=1.0),
                better="lower",
                best=0.0,
                worst=1.0,
                settings=settings,
            )
            for name, code in _ERRORS.items()
        ),
    )


def _error_name(code: str) -> str:
    return next(term.name for term in step_errors().item if term.code == code)


def _without(key: str) -> dict[str, str]:
    return {name: value for name, value in _NOT_JUDGED.items() if name != key}


def _discussion_metric(name: str, about: str, **changes: Any) -> Metric:
    return Metric(
        **{
            "name": name,
            "about": about,
            "better": "higher",
            "needs": ("discussion", NEED_DISCUSSION),
            "measure": measure_discussion,
            "best": 1.0,
            "worst": 0.0,
            "reference": _RULE,
            "settings": _NOT_JUDGED,
            **changes,
        }
    )


def _section_metric(name: str, section: str) -> Metric:
    return _discussion_metric(
        name,
        f"share of the sentences of one section that are correct: {section}",
        combine=partial(
            pooled_share,
            top=f"correct:{section}",
            bottom=f"sentences:{section}",
            present=f"present:{section}",
        ),
        settings={**_NOT_JUDGED, "section that is not there": "as a case without verdicts"},
    )


def _mark_metric(name: str, code: str) -> Metric:
    terms = education_dimensions()
    term = next(term for term in terms.item if term.code == code)
    return _discussion_metric(
        name,
        f"education value of the discussion, 0 to {terms.highest}: {term.name}",
        combine=partial(mean_per_case, top=f"mark:{code}"),
        best=float(terms.highest or 0),
        settings={"not judged": 0},
    )


STEP_FACTUALITY = _step_metric(
    "step_factuality",
    "share of the steps of all explanations that the judge holds factual",
    combine=partial(pooled_share, top="factual", bottom="steps"),
)
CASE_ALL_FACTUAL = _step_metric(
    "case_all_factual",
    "share of cases whose explanation is factual in every step",
    combine=partial(mean_per_case, top="all_factual"),
    binary="all_factual",
    settings={"not judged": "counts against the reading"},
)
CRITICAL_STEP_RATIO = _step_metric(
    "critical_step_ratio",
    "share of steps that the diagnosis rests on; it describes rather than judges",
    combine=partial(pooled_share, top="critical", bottom="steps"),
)
STEP_ERRORS_REASONING, STEP_ERRORS_IMAGE, STEP_ERRORS_SCENARIO, STEP_ERRORS_KNOWLEDGE = (
    _error_metric(name, code) for name, code in _ERRORS.items()
)
(
    CRITICAL_STEP_FACTUALITY,
    CRITICAL_STEP_ERRORS_REASONING,
    CRITICAL_STEP_ERRORS_IMAGE,
    CRITICAL_STEP_ERRORS_SCENARIO,
    CRITICAL_STEP_ERRORS_KNOWLEDGE,
) = _critical_metrics()

DISCUSSION_CORRECTNESS = _discussion_metric(
    "discussion_correctness",
    "share of the sentences of all discussions that the judge holds correct",
    combine=partial(pooled_share, top="correct", bottom="sentences"),
)
DISCUSSION_BACKGROUND = _section_metric("discussion_background", SECTIONS[0])
DISCUSSION_CLINICAL = _section_metric("discussion_clinical", SECTIONS[1])
DISCUSSION_IMAGING = _section_metric("discussion_imaging", SECTIONS[2])
DISCUSSION_SIGNIFICANCE = _section_metric("discussion_significance", SECTIONS[3])
DISCUSSION_OUTCOME = _section_metric("discussion_outcome", SECTIONS[4])
DISCUSSION_TAKE_HOME = _section_metric("discussion_take_home", SECTIONS[5])

EDUCATION_SCORE = _discussion_metric(
    "education_score",
    "education value of the discussion: the sum of five marks, 0 to 10",
    combine=partial(mean_per_case, top="education"),
    best=float(len(education_dimensions().item) * (education_dimensions().highest or 0)),
    settings={"not judged": 0},
)
EDUCATION_DEFINITION = _mark_metric("education_definition", "definition")
EDUCATION_MANIFESTATION = _mark_metric("education_manifestation", "manifestation")
EDUCATION_IMAGING = _mark_metric("education_imaging", "imaging")
EDUCATION_REASONING = _mark_metric("education_reasoning", "reasoning")
EDUCATION_LEARNING = _mark_metric("education_learning", "learning")

METRICS = by_name(
    STEP_FACTUALITY,
    CASE_ALL_FACTUAL,
    CRITICAL_STEP_RATIO,
    STEP_ERRORS_REASONING,
    STEP_ERRORS_IMAGE,
    STEP_ERRORS_SCENARIO,
    STEP_ERRORS_KNOWLEDGE,
    CRITICAL_STEP_FACTUALITY,
    CRITICAL_STEP_ERRORS_REASONING,
    CRITICAL_STEP_ERRORS_IMAGE,
    CRITICAL_STEP_ERRORS_SCENARIO,
    CRITICAL_STEP_ERRORS_KNOWLEDGE,
    DISCUSSION_CORRECTNESS,
    DISCUSSION_BACKGROUND,
    DISCUSSION_CLINICAL,
    DISCUSSION_IMAGING,
    DISCUSSION_SIGNIFICANCE,
    DISCUSSION_OUTCOME,
    DISCUSSION_TAKE_HOME,
    EDUCATION_SCORE,
    EDUCATION_DEFINITION,
    EDUCATION_MANIFESTATION,
    EDUCATION_IMAGING,
    EDUCATION_REASONING,
    EDUCATION_LEARNING,
)
