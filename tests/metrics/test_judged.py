"""Verdicts counted: numbers added up by hand, and nothing gained by what is missing."""

from __future__ import annotations

import json
import math
import pickle
from typing import Any

import numpy as np
import pytest

from overread.core import Entry, Reading
from overread.core.verdicts import (
    DiscussionVerdicts,
    EducationMark,
    SentenceVerdict,
    StepVerdict,
    StepVerdicts,
    Verdicts,
    discussion_of,
    explanation_of,
    text_digest,
)
from overread.metrics import Metric, Sample, Statistics, Subject, judged
from tests.workflows.scripted_judges import entry, perfect_verdicts, reading

METRICS = list(judged.METRICS.values())
STEPS = [metric for metric in METRICS if "step verdicts" in metric.needs]
DISCUSSION = [metric for metric in METRICS if "discussion verdicts" in metric.needs]


def step(
    *, factual: bool = True, critical: bool = False, errors: tuple[str, ...] = (), **more: Any
) -> StepVerdict:
    return StepVerdict(text="x", factual=factual, critical=critical, errors=errors, **more)


def step_verdicts(one: Reading, *steps: StepVerdict, **more: Any) -> StepVerdicts:
    about = text_digest(explanation_of(one))
    own = {"case_id": one.case_id, "sample": one.sample, "judge": "j", "about": about}
    return StepVerdicts(**{**own, **more}, steps=steps)


def sentence(section: str, *, correct: bool = True, judged: bool = True) -> SentenceVerdict:
    return SentenceVerdict(text="x", section=section, correct=correct, judged=judged)


def discussion_verdicts(one: Reading, *said: SentenceVerdict, **marks: int) -> DiscussionVerdicts:
    return DiscussionVerdicts(
        case_id=one.case_id,
        judge="j",
        about=text_digest(discussion_of(one)),
        sentences=said,
        education=tuple(EducationMark(dimension=d, mark=m) for d, m in marks.items()),
    )


def rows(metric: Metric, *subjects: tuple[Entry, Reading | None, tuple[Verdicts, ...]]) -> list[Statistics]:
    return [
        row
        for one, made, told in subjects
        for row in metric.measure(Subject(one, made, verdicts=told)).values()
    ]


def value(metric: Metric, *subjects: tuple[Entry, Reading | None, tuple[Verdicts, ...]]) -> float:
    (number,) = metric.combine(Sample(rows(metric, *subjects)))
    return float(number)


def test_steps_by_hand() -> None:
    """Two cases of 4 and 1 steps: every number as counted with a pencil."""
    one, two = reading("c1"), reading("c2")
    subjects = (
        (
            entry("c1"),
            one,
            (
                step_verdicts(
                    one,
                    step(critical=True),
                    step(),
                    step(factual=False, critical=True, errors=("reasoning", "image-understanding")),
                    step(factual=False, errors=("reasoning",)),
                ),
            ),
        ),
        (entry("c2"), two, (step_verdicts(two, step(critical=True)),)),
    )
    told = {metric.name: value(metric, *subjects) for metric in STEPS}
    assert told == {
        "step_factuality": pytest.approx(3 / 5),
        "case_all_factual": pytest.approx(1 / 2),
        "critical_step_ratio": pytest.approx(3 / 5),
        "step_errors_reasoning": pytest.approx(2 / 5),
        "step_errors_image": pytest.approx(1 / 5),
        "step_errors_scenario": 0.0,
        "step_errors_knowledge": 0.0,
        "critical_step_factuality": pytest.approx(2 / 3),
        "critical_step_errors_reasoning": pytest.approx(1 / 3),
        "critical_step_errors_image": pytest.approx(1 / 3),
        "critical_step_errors_scenario": 0.0,
        "critical_step_errors_knowledge": 0.0,
    }


def test_errors_of_decisive_steps_rest_on_cases_that_have_some() -> None:
    """A judged case without decisive steps is left out; one that nobody judged is at the worst."""
    one, two = reading("c1"), reading("c2")
    has = (entry("c1"), one, (step_verdicts(one, step(critical=True), step(factual=False)),))
    lacks = (entry("c2"), two, (step_verdicts(two, step(factual=False, errors=("reasoning",))),))
    factual, reasoning = (judged.METRICS[f"critical_step_{n}"] for n in ("factuality", "errors_reasoning"))
    assert (value(factual, has, lacks), value(reasoning, has, lacks)) == (1.0, 0.0)
    assert (value(factual, has, (entry("c3"), None, ())), value(reasoning, has, (entry("c3"), None, ()))) == (
        0.5,
        0.5,
    )
    assert math.isnan(value(factual, lacks))


def test_a_step_without_a_verdict_counts_against() -> None:
    """Not factual, not critical, and in every count of errors, whatever else the record says."""
    one = reading()
    told = step_verdicts(one, step(), step(judged=False, factual=True, critical=True))
    subject = (entry(), one, (told,))
    assert value(judged.STEP_FACTUALITY, subject) == 0.5
    assert value(judged.CRITICAL_STEP_RATIO, subject) == 0.0
    assert value(judged.CASE_ALL_FACTUAL, subject) == 0.0
    assert value(judged.METRICS["step_errors_scenario"], subject) == 0.5


def test_a_case_without_verdicts_is_an_average_case_at_its_worst() -> None:
    """3 of 4 steps in the one case that was judged, nothing in the other: half of 3/4."""
    one = reading("c1")
    steps = (step(), step(), step(), step(factual=False, errors=("reasoning",)))
    good = (entry("c1"), one, (step_verdicts(one, *steps),))
    for lost in (None, reading("c2"), reading("c2", rationale=None), reading("c2", error="lost")):
        bad = (entry("c2"), lost, ())
        assert value(judged.STEP_FACTUALITY, good, bad) == pytest.approx(3 / 8)
        assert value(judged.METRICS["step_errors_reasoning"], good, bad) == pytest.approx((1 / 4 + 1) / 2)
        assert value(judged.CASE_ALL_FACTUAL, good, bad) == 0.0


@pytest.mark.parametrize(
    ("change", "beside_good_ones"),
    [
        ({"case_id": "c9"}, 1.0),
        ({"sample": 1}, 1.0),
        ({"about": text_digest("other words")}, 1.0),
        ({"steps": ()}, 0.0),
    ],
)
def test_verdicts_on_something_else_are_none(change: dict[str, Any], beside_good_ones: float) -> None:
    """Of another case, another sample, other words, or of no step: as if nobody had judged."""
    one = reading()
    good = step_verdicts(one, step())
    told = good.model_copy(update=change)
    assert value(judged.STEP_FACTUALITY, (entry(), one, (told,))) == 0.0
    assert value(judged.STEP_FACTUALITY, (entry(), one, (good, told))) == beside_good_ones


def test_the_last_verdicts_count() -> None:
    """Of several on the same words the last are taken."""
    one = reading()
    bad, good = step_verdicts(one, step(factual=False)), step_verdicts(one, step())
    assert value(judged.STEP_FACTUALITY, (entry(), one, (bad, good))) == 1.0
    assert value(judged.STEP_FACTUALITY, (entry(), one, (good, bad))) == 0.0


def test_discussions_by_hand() -> None:
    """Sentences over all and by section, marks and their sum, as counted with a pencil."""
    one, two = reading("c1"), reading("c2")
    subjects = (
        (
            entry("c1"),
            one,
            (
                discussion_verdicts(
                    one,
                    sentence("background"),
                    sentence("background", correct=False),
                    sentence("outcome", judged=False),
                    sentence("unsectioned"),
                    definition=2,
                    manifestation=1,
                    imaging=2,
                    reasoning=0,
                    learning=1,
                ),
            ),
        ),
        (entry("c2"), two, (discussion_verdicts(two, sentence("background"), definition=1),)),
    )
    told = {metric.name: value(metric, *subjects) for metric in DISCUSSION}
    assert told == {
        "discussion_correctness": pytest.approx(3 / 5),
        "discussion_background": pytest.approx(2 / 3),
        "discussion_clinical": 0.0,
        "discussion_imaging": 0.0,
        "discussion_significance": 0.0,
        "discussion_outcome": 0.0,
        "discussion_take_home": 0.0,
        "education_score": pytest.approx((6 + 1) / 2),
        "education_definition": pytest.approx(3 / 2),
        "education_manifestation": pytest.approx(1 / 2),
        "education_imaging": pytest.approx(1.0),
        "education_reasoning": 0.0,
        "education_learning": pytest.approx(1 / 2),
    }


def test_a_section_that_was_not_written_counts_in_its_own_score_only() -> None:
    """One case with an outcome that is right, one without: half; the whole is not touched."""
    one, two = reading("c1"), reading("c2")
    subjects = (
        (entry("c1"), one, (discussion_verdicts(one, sentence("outcome"), sentence("outcome")),)),
        (entry("c2"), two, (discussion_verdicts(two, sentence("background")),)),
    )
    assert value(judged.DISCUSSION_OUTCOME, *subjects) == 0.5
    assert value(judged.DISCUSSION_CORRECTNESS, *subjects) == 1.0


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_bounds_and_form(metric: Metric) -> None:
    """Perfect is best, nothing is worst, no truth is nothing; plain JSON, draws, pickles."""
    one = reading()
    perfect = (entry(), one, perfect_verdicts(one))
    assert value(metric, perfect) == metric.best
    for lost in (None, one.model_copy(update={"error": "lost"})):
        assert value(metric, (entry(), lost, perfect_verdicts(one))) == metric.worst
    assert value(metric, (entry(), one, ())) == metric.worst
    assert rows(metric, (entry().model_copy(update={"truth": None}), one, ())) == []
    assert math.isnan(float(metric.combine(Sample([]))[0]))
    many = [*rows(metric, perfect), *rows(metric, (entry(), None, ())), *rows(metric, perfect)]
    assert json.loads(json.dumps(many)) == many
    weights = np.random.default_rng(1).integers(0, 3, size=(20, 3))
    together = metric.combine(Sample(many, weights))
    for counts, ours in zip(weights, together, strict=True):
        again = [row for row, n in zip(many, counts, strict=True) for _ in range(n)]
        (alone,) = metric.combine(Sample(again))
        assert ours == pytest.approx(alone, nan_ok=True)
    assert pickle.loads(pickle.dumps(metric.measure)) is metric.measure


def test_names_are_what_the_catalog_would_ask_for() -> None:
    """Each metric is its name in capitals."""
    for metric in METRICS:
        assert getattr(judged, metric.name.upper()) is metric
    assert len(METRICS) == 25
