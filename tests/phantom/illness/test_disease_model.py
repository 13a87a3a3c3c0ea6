"""The disease model: enough of it, complete, and such that pictures can tell diagnoses apart."""

from __future__ import annotations

import re
from itertools import combinations

import pytest

from overread.ontology import lungs
from overread.phantom.illness.discussion import lessons
from overread.phantom.illness.drawing import CHANCE_FINDINGS, most_together
from overread.phantom.illness.model import (
    BUILD,
    Disease,
    by_option,
    courses,
    diseases,
    icd,
    presentations,
    read_tables,
    told_apart,
    too_alike,
)
from overread.phantom.illness.telling import called
from overread.phantom.population import facts
from overread.phantom.statement import BEYOND, KINDS
from overread.prompts.replies import normalised

EVERY = list(diseases().values())


def test_there_are_diagnoses_and_presentations_enough() -> None:
    """At least 24 diagnoses and six presentations, each of at least six diagnoses."""
    assert len(EVERY) >= 24
    assert len(presentations()) >= 6
    for presentation in presentations().values():
        assert len(set(presentation.diseases)) >= 6
        assert set(presentation.diseases) <= set(diseases())
        assert most_together(presentation.diseases) >= 5
    offered = {code for one in presentations().values() for code in one.diseases}
    assert offered == set(diseases())


@pytest.mark.parametrize("code", presentations())
def test_findings_tell_all_that_are_offered_together_apart(code: str) -> None:
    """Of any two of a presentation one needs what the other never has, or they never meet."""
    for one, other in combinations(presentations()[code].diseases, 2):
        if frozenset((one, other)) not in too_alike():
            assert told_apart(diseases()[one], diseases()[other]), f"{one} and {other}"


def test_diagnoses_with_the_same_findings_are_not_told_apart() -> None:
    """The rule can say no: fluid on one side is fluid on one side."""
    assert not told_apart(diseases()["pleurisy"], diseases()["malignant_effusion"])
    assert told_apart(diseases()["lobar_pneumonia"], diseases()["tuberculosis"])


def test_options_are_distinct_and_of_similar_length() -> None:
    """No two diagnoses share a name, and names have 15 to 36 letters."""
    texts = [text for disease in EVERY for text in disease.options]
    assert len({normalised(text) for text in texts}) == len(texts) == len(by_option())
    assert all(15 <= len(text) <= 36 for text in texts)
    means = [sum(map(len, d.options)) / len(d.options) for d in EVERY]
    assert max(means) - min(means) < 16
    assert all(len(disease.options) >= 2 for disease in EVERY)


def test_synonyms_are_no_options() -> None:
    """What counts as a leak of level 2 is never a name that stands among the options."""
    texts = {normalised(text) for text in by_option()}
    for disease in EVERY:
        assert len(disease.also) >= 2
        assert not texts & {normalised(word) for word in disease.also}


@pytest.mark.parametrize("disease", EVERY, ids=lambda d: d.code)
def test_a_diagnosis_is_complete(disease: Disease) -> None:
    """It needs some finding, its ICD category is known, and all that it shows can be drawn."""
    assert disease.needed
    code = icd(disease.icd)
    assert re.fullmatch(r"[A-Z]\d\d - .+", code.category)
    low, high = re.match(r"(\w+)-(\w+) - ", code.block).groups()  # type: ignore[union-attr]
    assert low <= disease.icd <= high
    assert code.chapter.startswith("Chapter ")
    places = set(facts()["category"]["1e"]["places"]) | {"lower"}
    for sign in disease.signs:
        assert set(sign.places) <= places
        assert sign.places
        assert 0 < sign.chance <= 1
        assert 0.3 <= sign.scale[0] <= sign.scale[1] <= 2.5
        assert not sign.focus or disease.focus
    assert set(disease.focus) <= {lobe.code for lobe in lungs().lobes}
    categories = [sign.marks[0].split()[0] for sign in disease.signs]
    assert len(set(categories)) == len(categories), "two of a category never share a lobe"


def test_the_build_of_a_body_does_not_change() -> None:
    """What is build rather than illness stays the same over time."""
    for disease in EVERY:
        for one in disease.beyond:
            assert one.course == "lasts" or one.mark not in BUILD
            turns = {turn for span in courses()[one.course].values() for turn in span}
            assert turns <= {"gone", "same", "new"}, "nothing beyond the lung is drawn larger"


def test_chances_of_a_course_add_up() -> None:
    """For weeks and for months the chances of the turns are one."""
    for course in courses().values():
        assert set(course) == {"weeks", "months"}
        for chances in course.values():
            assert sum(chances.values()) == pytest.approx(1)


def test_everything_has_words() -> None:
    """Each diagnosis has a lesson, and each finding is called something."""
    assert set(lessons()) == set(diseases())
    marks = [f"{category} {kind}" for category, kinds in KINDS.items() for kind in kinds]
    for mark in [*marks, *BEYOND]:
        assert called(mark).one
        assert called(mark).bare


def test_lessons_differ() -> None:
    """No sentence of a lesson is said of two diagnoses, but for what they share."""
    said: dict[str, str] = {}
    for code, lesson in lessons().items():
        texts = (*lesson.background, *lesson.clinical, *lesson.imaging, *lesson.take_home)
        for text in texts:
            assert text.endswith(".")
            assert said.setdefault(text, code) == code, text


def test_every_category_of_the_model_is_listed() -> None:
    """The ICD file has no category that nobody has, and none is missing."""
    assert set(read_tables("icd.toml")["category"]) == {disease.icd for disease in EVERY}


def test_chance_findings_are_no_marks_of_a_kind_of_their_own() -> None:
    """What anybody may have by chance is one of the kinds that can be drawn."""
    for plan, chance, _ in CHANCE_FINDINGS:
        assert plan.kind in KINDS[plan.category]
        assert 0 < chance < 0.2
        assert not plan.needed
