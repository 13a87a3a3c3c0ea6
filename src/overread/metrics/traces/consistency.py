"""Whether the report follows from the steps before it.

Steps and report are compared as two reports (`language/compare.py`). A finding of the report is
borne out when a step says that it is there, on a side that fits; a finding of the steps is kept
when the report says so. No truth is needed: a consistent reading may be wrong from end to end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from overread.core import Trace
from overread.language.compare import compare_statements
from overread.language.findings import ReportFinding, sides_fit
from overread.metrics.contract import Measured, Metric, Subject, by_name, stored_as
from overread.metrics.shares import ceiling_metric, share_metric
from overread.metrics.traces.looks import cached_statements, step_words, trace_pair


@dataclass(frozen=True)
class Consistency:
    """How far a report follows from its steps."""

    common: int
    """Findings that are there by both, on sides that fit."""
    steps: int
    """Findings that are there by the steps."""
    report: int
    """Findings that are there by the report."""
    disagreements: tuple[tuple[str, str], ...]
    """(what is wrong, finding): 'not in the steps', 'not in the report', 'presence' or 'side'."""

    @property
    def precision(self) -> float:
        """Share of the report's findings that a step bears out; 1 where it has none."""
        return self.common / self.report if self.report else 1.0

    @property
    def recall(self) -> float:
        """Share of the steps' findings that the report keeps; 1 where they have none."""
        return self.common / self.steps if self.steps else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of both; 1 where neither has a finding."""
        every = self.steps + self.report
        return 2 * self.common / every if every else 1.0


def consistency(steps: str, report: str) -> Consistency:
    """Hold a report against the words of its steps.

    >>> told = consistency("Effusion on the left. Cardiomegaly.", "Effusion on the right. Nodule.")
    >>> told.common, told.steps, told.report
    (0, 2, 2)
    >>> for what, finding in told.disagreements:
    ...     print(what + ":", finding)
    side: pleural effusion
    not in the report: cardiomegaly
    not in the steps: nodule
    """
    both = compare_statements(cached_statements(steps), cached_statements(report))
    common = 0
    wrong: list[tuple[str, str]] = []
    for match in both.matches:
        one, two = match.reference, match.other
        if one.is_there != two.is_there:
            wrong.append(("presence", _name(one if one.is_there else two)))
        elif match.both_present and not sides_fit(one.statement.side, two.statement.side):
            wrong.append(("side", _name(one)))
        elif match.both_present:
            common += 1
        elif one.is_there:
            wrong += [("not in the report", _name(one)), ("not in the steps", _name(two))]
    wrong += [("not in the report", _name(finding)) for finding in both.omissions]
    wrong += [("not in the steps", _name(finding)) for finding in both.additions]
    return Consistency(common, both.reference_count, both.other_count, tuple(wrong))


def _name(finding: ReportFinding) -> str:
    return finding.statement.observation


def _row(trace: Trace | None, report: str | None) -> dict[str, Any]:
    """Statistics of one reading; all 0 where it has no words before its report, or no report."""
    words = step_words(trace)
    if not words.strip() or not (report or "").strip():
        return {"cases": 1, "precision": 0.0, "recall": 0.0, "f1": 0.0}
    told = consistency(words, report or "")
    return {
        "cases": 1,
        "precision": told.precision,
        "recall": told.recall,
        "f1": told.f1,
        "common": told.common,
        "in_steps": told.steps,
        "in_report": told.report,
        "disagreements": [list(pair) for pair in told.disagreements],
    }


@stored_as("traces.consistency.measure_consistency")
def measure_consistency(subject: Subject) -> Measured:
    """One row a case whose reference has steps and a report; a missing reading scores 0."""
    reading = subject.usable_reading
    if not _can_be_judged(subject):
        return {}
    return {"": _row(reading.trace if reading else None, reading.report if reading else None)}


@stored_as("traces.consistency.measure_reference_consistency")
def measure_reference_consistency(subject: Subject) -> Measured:
    """The same of the reference's own steps and report."""
    truth = subject.entry.truth
    return {"": _row(truth.trace, truth.report)} if truth and _can_be_judged(subject) else {}


def _can_be_judged(subject: Subject) -> bool:
    truth = subject.entry.truth
    return bool(truth and truth.report and step_words(trace_pair(subject)[0]).strip())


_ABOUT = {
    "precision": "share of the report's findings that the steps bear out",
    "recall": "share of the steps' findings that the report keeps",
    "f1": "whether the report follows from the steps: harmonic mean of precision and recall",
}


def _metrics(kind: str) -> tuple[Metric, Metric]:
    """The metric, and what the reference itself gets."""
    metric = share_metric(
        f"trace_consistency_{kind}",
        _ABOUT[kind],
        needs=("trace", "report"),
        measure=measure_consistency,
        top=kind,
        reference="language.compare, and findings counted by hand in the tests",
        settings={
            "steps": "all words before the conclusion",
            "contradictions": ["presence", "side"],
            "no finding in either": 1,
            "mean": "cases",
        },
        ceiling=f"ceiling_trace_consistency_{kind}",
    )
    about = f"what the reference traces themselves get for consistency ({kind})"
    return metric, ceiling_metric(metric, about, measure_reference_consistency)


TRACE_CONSISTENCY_PRECISION, CEILING_TRACE_CONSISTENCY_PRECISION = _metrics("precision")
TRACE_CONSISTENCY_RECALL, CEILING_TRACE_CONSISTENCY_RECALL = _metrics("recall")
TRACE_CONSISTENCY_F1, CEILING_TRACE_CONSISTENCY_F1 = _metrics("f1")

METRICS = by_name(
    TRACE_CONSISTENCY_PRECISION,
    TRACE_CONSISTENCY_RECALL,
    TRACE_CONSISTENCY_F1,
    CEILING_TRACE_CONSISTENCY_PRECISION,
    CEILING_TRACE_CONSISTENCY_RECALL,
    CEILING_TRACE_CONSISTENCY_F1,
)
