"""The disease model: enough of it, complete, and such that pictures can tell diagnoses apart."""

from __future__ import annotations

import re
from itertools import combinations

import pytest

from overread.ontology import lung_anatomy
from overread.phantom.illness.discussion import load_teaching_texts
from overread.phantom.illness.finding_phrases import find_words
from overread.phantom.illness.model import (
    BUILD_FINDINGS,
    Disease,
    are_distinguishable,
    find_icd,
    load_confusable_pairs,
    load_courses,
    load_diseases,
    load_diseases_by_option,
    load_presentations,
    read_tables,
)
from overread.phantom.illness.sampler import INCIDENTAL_FINDINGS, max_offered_together
from overread.phantom.population import load_population_tables
from overread.phantom.statement import EXTRAPULMONARY, KINDS
from overread.prompts.replies import normalise_text

EVERY = list(load_diseases().values())


def test_there_are_diagnoses_and_presentations_enough() -> None:
    """At least 24 diagnoses and six presentations, each of at least six diagnoses."""
    assert len(EVERY) >= 24
    assert len(load_presentations()) >= 6
    for presentation in load_presentations().values():
        assert len(set(presentation.diseases)) >= 6
        assert set(presentation.diseases) <= set(load_diseases())
        assert max_offered_together(presentation.diseases) >= 5
    offered = {code for one in load_presentations().values() for code in one.diseases}
    assert offered == set(load_diseases())


@pytest.mark.parametrize("code", load_presentations())
def test_findings_tell_all_that_are_offered_together_apart(code: str) -> None:
    """Of any two of a presentation one needs what the other never has, or they never meet."""
    for one, other in combinations(load_presentations()[code].diseases, 2):
        if frozenset((one, other)) not in load_confusable_pairs():
            assert are_distinguishable(load_diseases()[one], load_diseases()[other]), f"{one} and {other}"


def test_diagnoses_with_the_same_findings_are_not_told_apart() -> None:
    """The rule can say no: fluid on one side is fluid on one side."""
    assert not are_distinguishable(load_diseases()["pleurisy"], load_diseases()["malignant_effusion"])
    assert are_distinguishable(load_diseases()["lobar_pneumonia"], load_diseases()["tuberculosis"])


def test_options_are_distinct_and_of_similar_length() -> None:
    """No two diagnoses share a name, and names have 15 to 36 letters."""
    texts = [text for disease in EVERY for text in disease.options]
    assert len({normalise_text(text) for text in texts}) == len(texts) == len(load_diseases_by_option())
    assert all(15 <= len(text) <= 36 for text in texts)
    means = [sum(map(len, d.options)) / len(d.options) for d in EVERY]
    assert max(means) - min(means) < 16
    assert all(len(disease.options) >= 2 for disease in EVERY)


def test_synonyms_are_no_options() -> None:
    """What counts as a leak of level 2 is never a name that stands among the options."""
    texts = {normalise_text(text) for text in load_diseases_by_option()}
    for disease in EVERY:
        assert len(disease.also) >= 2
        assert not texts & {normalise_text(word) for word in disease.also}


@pytest.mark.parametrize("disease", EVERY, ids=lambda d: d.code)
def test_a_diagnosis_is_complete(disease: Disease) -> None:
    """It needs some finding, its ICD category is known, and all that it shows can be drawn."""
    assert disease.needed
    code = find_icd(disease.icd)
    assert re.fullmatch(r"[A-Z]\d\d - .+", code.category)
    low, high = re.match(r"(\w+)-(\w+) - ", code.block).groups()  # type: ignore[union-attr]
    assert low <= disease.icd <= high
    assert code.chapter.startswith("Chapter ")
    places = set(load_population_tables()["category"]["1e"]["places"]) | {"lower"}
    for sign in disease.signs:
        assert set(sign.places) <= places
        assert sign.places
        assert 0 < sign.chance <= 1
        assert 0.3 <= sign.scale[0] <= sign.scale[1] <= 2.5
        assert not sign.focus or disease.focus
    assert set(disease.focus) <= {lobe.code for lobe in lung_anatomy().lobes}
    categories = [sign.marks[0].split()[0] for sign in disease.signs]
    assert len(set(categories)) == len(categories), "two of a category never share a lobe"


def test_the_build_of_a_body_does_not_change() -> None:
    """What is build rather than illness stays the same over time."""
    for disease in EVERY:
        for one in disease.beyond:
            assert one.course == "lasts" or one.mark not in BUILD_FINDINGS
            turns = {turn for span in load_courses()[one.course].values() for turn in span}
            assert turns <= {"gone", "same", "new"}, "nothing beyond the lung is drawn larger"


def test_chances_of_a_course_add_up() -> None:
    """For weeks and for months the chances of the turns are one."""
    for course in load_courses().values():
        assert set(course) == {"weeks", "months"}
        for chances in course.values():
            assert sum(chances.values()) == pytest.approx(1)


def test_everything_has_words() -> None:
    """Each diagnosis has a lesson, and each finding is called something."""
    assert set(load_teaching_texts()) == set(load_diseases())
    marks = [f"{category} {kind}" for category, kinds in KINDS.items() for kind in kinds]
    for mark in [*marks, *EXTRAPULMONARY]:
        assert find_words(mark).one
        assert find_words(mark).bare


def test_lessons_differ() -> None:
    """No sentence of a lesson is said of two diagnoses, but for what they share."""
    said: dict[str, str] = {}
    for code, lesson in load_teaching_texts().items():
        texts = (*lesson.background, *lesson.clinical, *lesson.imaging, *lesson.take_home)
        for text in texts:
            assert text.endswith(".")
            assert said.setdefault(text, code) == code, text


def test_every_category_of_the_model_is_listed() -> None:
    """The ICD file has no category that nobody has, and none is missing."""
    assert set(read_tables("icd.toml")["category"]) == {disease.icd for disease in EVERY}


def test_chance_findings_are_no_marks_of_a_kind_of_their_own() -> None:
    """What anybody may have by chance is one of the kinds that can be drawn."""
    for plan, chance, _ in INCIDENTAL_FINDINGS:
        assert plan.kind in KINDS[plan.category]
        assert 0 < chance < 0.2
        assert not plan.needed
