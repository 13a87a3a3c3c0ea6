"""Words of steps: do they speak of the region, does the report follow, are findings where they are."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest

from overread.core import Box, Case, Entry, Reading, Step, Trace, Truth
from overread.language.compare import compare_reports
from overread.metrics.contract import Metric, Subject
from overread.metrics.sample import Sample
from overread.metrics.traces import consistency as follows
from overread.metrics.traces.consistency import consistency
from overread.metrics.traces.findings import (
    TRACE_FINDINGS_F1,
    TRACE_FINDINGS_PRECISION,
    TRACE_FINDINGS_RECALL,
)
from overread.metrics.traces.looks import collect_looks
from overread.metrics.traces.words import CEILING_TRACE_REGION_WORDS, TRACE_REGION_WORDS, judge_look

CONSISTENCY = (
    follows.TRACE_CONSISTENCY_PRECISION,
    follows.TRACE_CONSISTENCY_RECALL,
    follows.TRACE_CONSISTENCY_F1,
)
CEILINGS = (
    follows.CEILING_TRACE_CONSISTENCY_PRECISION,
    follows.CEILING_TRACE_CONSISTENCY_RECALL,
    follows.CEILING_TRACE_CONSISTENCY_F1,
)
FINDINGS = (TRACE_FINDINGS_PRECISION, TRACE_FINDINGS_RECALL, TRACE_FINDINGS_F1)


def trace(*told: tuple[str | None, str]) -> Trace:
    """A look at each region and what is said after it."""
    steps: list[Step] = []
    for label, words in told:
        box = Box(picture="xray", x1=1, y1=2, x2=30, y2=40, label=label)
        steps.append(Step(kind="look", text="<image>", regions=(box,)))
        steps.append(Step(kind="say", text=f" The box is [1, 2, 30, 40] . {words}\n\n"))
    steps.append(Step(kind="conclude", text="In summary, the report: "))
    return Trace(steps=tuple(steps))


def subject(
    truth: Trace | None,
    own: Trace | None,
    *,
    report: str | None = "Normal heart size.",
    own_report: str | None = None,
    error: str | None = None,
) -> Subject:
    case = Case(id="c", benchmark="mmrad", split="test")
    reading = Reading(case_id="c", reader="r", trace=own, report=own_report, error=error)
    return Subject(Entry(case=case, truth=Truth(trace=truth, report=report)), reading)


def value(metric: Metric, *subjects: Subject) -> float:
    rows = [row for one in subjects for row in metric.measure(one).values()]
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows
    return float(metric.combine(Sample(rows))[0])


# (region looked at, what is said after it, whether that speaks of it)
VERDICTS: list[tuple[str | None, str, bool | None]] = [
    ("lung region", "Nodule in the left upper lobe.", True),
    ("lung region", "Enlarged heart.", False),
    ("lung region", "Pleural effusion on the right.", True),
    ("lung region", "Enlarged right hilum.", True),
    ("heart and the mediastinal region", "Cardiomegaly.", True),
    ("heart and the mediastinal region", "Consolidation in the right lung.", False),
    ("heart and the mediastinal region", "No pneumothorax. The heart is enlarged.", True),
    ("heart", "Mediastinal widening.", True),
    ("left lung", "Nodule in the left upper lobe.", True),
    ("left lung", "Nodule in the right upper lobe.", False),
    ("left lung", "Consolidation in the right lung. Nodule in the left lower lobe.", True),
    ("left lung", "Bilateral consolidation.", True),
    ("left apical zone", "Consolidation of the left lung.", True),
    ("left apical zone", "Consolidation in the left lower lobe.", False),
    ("right lower lung zone", "Consolidation in the right lower lobe.", True),
    ("left costophrenic angle", "Left pleural effusion.", True),
    ("left costophrenic angle", "Right pleural effusion.", False),
    ("left costophrenic angle", "Left pneumothorax.", True),
    ("pleura and diaphragm region", "No pneumothorax.", True),
    ("pleura and diaphragm region", "Emphysema.", False),
    ("bilateral hilar structures", "Consolidation of the right lung.", True),
    ("spine", "Degenerative change of the spine.", True),
    ("spine", "Cardiomegaly.", False),
    ("left kidney", "Cardiomegaly.", None),
    (None, "Cardiomegaly.", None),
    ("heart", "It looks as one would expect.", None),
    ("heart", "", None),
]


@pytest.mark.parametrize(("label", "words", "expected"), VERDICTS)
def test_words_speak_of_the_region_or_not(label: str | None, words: str, expected: bool | None) -> None:
    """A table of looks and words, judged by hand: within, around, elsewhere, not to be judged."""
    (look,) = collect_looks(trace((label, words)))
    assert judge_look(look) is expected


def test_region_words_are_the_share_of_judged_looks() -> None:
    """Looks that cannot be judged are left out; each case counts once; the row says where."""
    told = [(label, words) for label, words, _ in VERDICTS]
    known = [expected for *_, expected in VERDICTS if expected is not None]
    truth = trace(("heart", "Normal heart size."))
    row = TRACE_REGION_WORDS.measure(subject(truth, trace(*told)))[""]
    assert row["judged"] == len(known)
    assert row["agree"] == pytest.approx(sum(known) / len(known))
    assert row["elsewhere"].count("spine") == 1
    half = trace(("heart", "Cardiomegaly."), ("spine", "Cardiomegaly."))
    assert value(TRACE_REGION_WORDS, subject(truth, half), subject(truth, truth)) == 0.75


def test_region_words_of_the_reference_are_the_ceiling() -> None:
    """The reference as reading gets the ceiling, below 1 where it speaks of elsewhere itself."""
    truth = trace(("heart", "Cardiomegaly."), ("spine", "Left pleural effusion."))
    assert TRACE_REGION_WORDS.ceiling == CEILING_TRACE_REGION_WORDS.name
    ceiling = value(CEILING_TRACE_REGION_WORDS, subject(truth, None))
    assert ceiling == 0.5
    assert value(TRACE_REGION_WORDS, subject(truth, truth)) == ceiling
    for own in (None, Trace(), trace(("heart", "")), trace((None, "Cardiomegaly."))):
        assert value(TRACE_REGION_WORDS, subject(truth, own)) == TRACE_REGION_WORDS.worst == 0
    assert value(TRACE_REGION_WORDS, subject(truth, truth, error="no")) == 0
    silent = trace(("heart", "So it is."))
    for metric in (TRACE_REGION_WORDS, CEILING_TRACE_REGION_WORDS):
        assert metric.measure(subject(silent, truth)) == {}
        assert metric.measure(subject(None, truth)) == {}
        assert pickle.loads(pickle.dumps(metric)).name == metric.name


# (steps, report, in common, in the steps, in the report, what is wrong)
REPORTS: list[tuple[str, str, int, int, int, list[tuple[str, str]]]] = [
    ("Cardiomegaly.", "The heart is enlarged.", 1, 1, 1, []),
    ("Right pleural effusion.", "Pleural effusion.", 1, 1, 1, []),
    ("Right pleural effusion.", "Bilateral pleural effusion.", 1, 1, 1, []),
    ("Right pleural effusion.", "Left pleural effusion.", 0, 1, 1, [("side", "pleural effusion")]),
    ("Possible emphysema.", "Emphysema.", 1, 1, 1, []),
    ("Emphysema.", "No emphysema.", 0, 1, 0, [("presence", "emphysema")]),
    ("No emphysema.", "Emphysema.", 0, 0, 1, [("presence", "emphysema")]),
    ("Emphysema. Cardiomegaly.", "Cardiomegaly.", 1, 2, 1, [("not in the report", "emphysema")]),
    ("Cardiomegaly.", "Cardiomegaly. Emphysema.", 1, 1, 2, [("not in the steps", "emphysema")]),
    ("No emphysema.", "Normal heart size.", 0, 0, 0, []),
    ("Emphysema. Emphysema is seen.", "Emphysema.", 1, 1, 1, []),
]  # fmt: skip


@pytest.mark.parametrize(("steps", "report", "common", "in_steps", "in_report", "wrong"), REPORTS)
def test_reports_follow_from_steps_or_not(
    steps: str, report: str, common: int, in_steps: int, in_report: int, wrong: list[Any]
) -> None:
    """Findings counted by hand, with what disagrees; precision, recall and F1 follow from them."""
    told = consistency(steps, report)
    assert (told.common, told.steps, told.report) == (common, in_steps, in_report)
    assert list(told.disagreements) == wrong
    assert told.precision == (common / in_report if in_report else 1)
    assert told.recall == (common / in_steps if in_steps else 1)
    every = in_steps + in_report
    assert told.f1 == (2 * common / every if every else 1)
    plain = compare_reports(steps, report)
    if not any(what == "side" for what, _ in wrong):
        assert (told.precision, told.recall) == (plain.precision, plain.recall)


def test_consistency_is_of_the_reading_alone() -> None:
    """A reading that is wrong but of one piece scores 1; the truth only says which cases count."""
    truth = trace(("heart", "Cardiomegaly."))
    own = trace(("lungs", "Emphysema. Right pleural effusion."))
    whole = subject(truth, own, own_report="Emphysema and an effusion on the right.")
    assert [value(metric, whole) for metric in CONSISTENCY] == [1, 1, 1]
    half = subject(truth, own, own_report="Emphysema. Left pleural effusion.")
    assert [value(metric, half) for metric in CONSISTENCY] == [0.5, 0.5, 0.5]
    row = CONSISTENCY[0].measure(half)[""]
    assert row["disagreements"] == [["side", "pleural effusion"]]
    assert [value(metric, half, whole) for metric in CONSISTENCY] == [0.75, 0.75, 0.75]


def test_consistency_of_the_reference_is_the_ceiling() -> None:
    """The reference as reading gets the ceilings; a missing trace or report scores 0."""
    truth = trace(("lungs", "Emphysema. Nodule."), ("heart", "Cardiomegaly."))
    report = "Emphysema. Cardiomegaly. Pleural effusion. Rib fracture."
    perfect = subject(truth, truth, report=report, own_report=report)
    for metric, ceiling, expected in zip(CONSISTENCY, CEILINGS, (2 / 4, 2 / 3, 4 / 7), strict=True):
        assert metric.ceiling == ceiling.name
        assert value(metric, perfect) == pytest.approx(expected)
        assert value(ceiling, subject(truth, None, report=report)) == pytest.approx(expected)
        for own, told in ((truth, None), (None, report), (truth, " "), (Trace(), report)):
            missing = subject(truth, own, report=report, own_report=told)
            assert value(metric, missing) == metric.worst == 0
        for none in (subject(truth, truth, report=None), subject(None, truth, report=report)):
            assert metric.measure(none) == ceiling.measure(none) == {}
        assert pickle.loads(pickle.dumps(metric)).name == metric.name


def test_normal_report_after_normal_steps_is_consistent() -> None:
    """Where neither has a finding the report follows; a denied finding alone breaks nothing."""
    truth = trace(("heart", "Normal heart size."), ("lungs", "No pneumothorax."))
    one = subject(truth, truth, report="Normal heart size.", own_report="No pneumothorax.")
    assert [value(metric, one) for metric in CONSISTENCY] == [1, 1, 1]


def test_findings_count_at_the_region_where_they_are_told() -> None:
    """Right words at another region are one too few and one too many; sums of compare by region."""
    truth = trace(("lungs", "Emphysema. Nodule in the left lung."), ("heart", "Cardiomegaly."))
    own = trace(("heart", "Cardiomegaly. Emphysema."), ("lungs", "Nodule in the left lung."))
    by_region = [
        compare_reports("Emphysema. Nodule in the left lung.", "Nodule in the left lung."),
        compare_reports("Cardiomegaly.", "Cardiomegaly. Emphysema."),
    ]
    common = sum(one.found_count for one in by_region)
    found = sum(one.other_count for one in by_region)
    asked = sum(one.reference_count for one in by_region)
    assert (common, found, asked) == (2, 3, 3)
    scores = [value(metric, subject(truth, own)) for metric in FINDINGS]
    assert scores == pytest.approx([common / found, common / asked, 2 * common / (found + asked)])
    elsewhere = trace(("spine", "Cardiomegaly."))
    assert [value(metric, subject(truth, elsewhere)) for metric in FINDINGS] == [0, 0, 0]


def test_findings_of_the_reference_itself_are_best() -> None:
    """The reference scores 1, also where nothing is found; without looks 0; no words, no number."""
    sick = trace(("lungs", "Emphysema. Two nodules on the left."), (None, "Cardiomegaly."))
    well = trace(("lungs", "No pneumothorax."))
    mute = trace(("lungs", ""))
    for metric in FINDINGS:
        for truth in (sick, well):
            assert value(metric, subject(truth, truth)) == metric.best == 1
            for own in (None, Trace()):
                assert value(metric, subject(truth, own)) == metric.worst == 0
        assert metric.measure(subject(None, sick)) == {}
        assert metric.measure(subject(Trace(steps=(Step(kind="look"),)), mute)) == {}
        assert np.isnan(metric.combine(Sample([]))[0])
    assert [value(metric, subject(sick, well)) for metric in FINDINGS] == [1, 0, 0]
