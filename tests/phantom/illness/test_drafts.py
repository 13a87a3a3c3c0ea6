"""Drafts: what is visible depends on nothing hidden, and what is hidden fits the diagnosis."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest

from overread.phantom.body.anatomy import Body
from overread.phantom.illness import sampler
from overread.phantom.illness.draft import Draft
from overread.phantom.illness.model import (
    BUILD_FINDINGS,
    Disease,
    load_confusable_pairs,
    load_diseases,
    load_diseases_by_option,
    load_presentations,
)
from overread.phantom.illness.sampler import INCIDENTAL_FINDINGS, draw_draft, plausible_diseases
from overread.phantom.population import draw_views, seed_for
from overread.phantom.visit import PatientSettings

SETTINGS = PatientSettings(seed=11)
NUMBER = 2500

# Ordinary words that also stand in a name of some diagnosis; none of them points to it.
ORDINARY = set(
    "a and of the with to both one in by an at on lung lungs disease infection left chronic "
    "long down chemotherapy standing".split()
)


@pytest.fixture(scope="module")
def drafts() -> list[Draft]:
    return [draw_draft(n, SETTINGS) for n in range(1, NUMBER + 1)]


def options_of(draft: Draft) -> list[Disease]:
    return [load_diseases_by_option()[option.text] for option in draft.options]


def visible(draft: Draft) -> tuple[object, ...]:
    return (draft.age, draft.sex, draft.group, draft.history, draft.options, draft.pictures, draft.interval)


def test_age_and_sex_are_those_of_the_body() -> None:
    """A draft knows its patient without building the body."""
    for number in (1, 2, 3, 40):
        habitus = Body(seed_for(SETTINGS.seed, number, "body")).habitus
        draft = draw_draft(number, SETTINGS)
        assert (draft.age, draft.sex) == (habitus.age, habitus.sex)


def test_a_draft_depends_on_seed_and_number_alone(drafts: list[Draft]) -> None:
    """Drawn again, alone and in another order, it is the same; with another seed it is not."""
    for number in (400, 7, 31):
        assert draw_draft(number, SETTINGS) == drafts[number - 1]
        assert draw_draft(number, PatientSettings(seed=12)) != drafts[number - 1]
        assert draw_draft(number, PatientSettings(seed=11, size="full")) == drafts[number - 1]


def test_nothing_visible_depends_on_the_key(drafts: list[Draft], monkeypatch: pytest.MonkeyPatch) -> None:
    """With another stream for the truth, keys change and everything else stays."""

    def other(seed: int, patient: int, *purpose: str | int) -> np.random.SeedSequence:
        more = ("again",) if "truth" in purpose else ()
        return seed_for(seed, patient, *purpose, *more)

    monkeypatch.setattr(sampler, "seed_for", other)
    again = [draw_draft(n, SETTINGS) for n in range(1, 401)]
    assert [visible(one) for one in again] == [visible(one) for one in drafts[:400]]
    same = sum(one.answer == two.answer for one, two in zip(again, drafts, strict=False))
    assert 0.1 < same / 400 < 0.32


def test_the_key_is_drawn_evenly(drafts: list[Draft]) -> None:
    """Each letter is right as often, and so is each diagnosis where it is offered."""
    letters = Counter(draft.answer for draft in drafts)
    assert all(abs(letters[letter] / NUMBER - 0.2) < 0.03 for letter in "ABCDE")
    offered = Counter(d.code for draft in drafts for d in options_of(draft))
    right = Counter(draft.disease for draft in drafts)
    assert set(right) == set(load_diseases())
    for code, times in offered.items():
        spread = (0.16 / times) ** 0.5
        assert abs(right[code] / times - 0.2) < 4.5 * spread, code


def test_options_are_plausible_and_apart(drafts: list[Draft]) -> None:
    """Five different diagnoses that fit presentation, age and sex, no two of them too alike."""
    for draft in drafts:
        found = options_of(draft)
        fitting = plausible_diseases(load_presentations()[draft.group], draft.age, draft.sex)
        assert [option.letter for option in draft.options] == list("ABCDE")
        assert len({disease.code for disease in found}) == 5
        assert all(disease in fitting for disease in found)
        assert found["ABCDE".index(draft.answer)].code == draft.disease
        codes = [disease.code for disease in found]
        assert not any(
            frozenset((one, two)) in load_confusable_pairs()
            for n, one in enumerate(codes)
            for two in codes[:n]
        )


def test_histories_name_no_diagnosis(drafts: list[Draft]) -> None:
    """Neither a name, a synonym or an acronym, nor any word of one that is not an ordinary word."""
    names = {name for d in load_diseases().values() for name in (*d.options, *d.also)}
    words = {word for name in names for word in re.findall(r"[^\W\d_]+", name.lower())}
    words -= ORDINARY
    whole = re.compile(r"\b(?:" + "|".join(re.escape(name) for name in sorted(names)) + r")\b", re.I)
    for draft in drafts:
        assert not whole.search(draft.history)
        said = set(re.findall(r"[^\W\d_]+", draft.history.lower()))
        assert not said & words, draft.history


def test_histories_say_who_it_is_and_vary(drafts: list[Draft]) -> None:
    """Age and sex are told, slots are filled, and hardly any two histories are alike."""
    for draft in drafts:
        text = draft.history
        assert f"{draft.age}-year-old {'woman' if draft.sex == 'female' else 'man'}" in text
        assert not re.search(r"[{}|~]|\(\w+\||  |\b1 (?:weeks|months|years|days)\b", text)
        assert not re.search(r"\b[Aa] (?:8\d|18)-year|\b[Aa]n (?![aeiouAEIOU8]|18)", text)
        wrong = r"\b(?:he|his)\b" if draft.sex == "female" else r"\b(?:she|her)\b"
        assert not re.search(wrong, text, re.I)
        assert 25 <= len(text.split()) <= 160
    shapes = {re.sub(r"\d+", "#", draft.history) for draft in drafts}
    assert len(shapes) > 0.97 * NUMBER


def test_no_value_is_told_twice(drafts: list[Draft]) -> None:
    """A history gives one temperature, one pulse, one saturation."""
    for draft in drafts:
        for word in ("°C", "saturation", "pulse", "C-reactive", "aemoglobin", "mmHg"):
            assert draft.history.count(word) <= 1, draft.history


def test_pictures_can_show_any_of_the_five(drafts: list[Draft]) -> None:
    """Three to nine pictures; each day has lung and mediastinum; films are those of the patient."""
    for number, draft in enumerate(drafts, 1):
        assert 3 <= len(draft.pictures) <= 9
        assert len({look.id for look in draft.pictures}) == len(draft.pictures)
        times = [look.time for look in draft.pictures]
        assert times == sorted(times)
        assert set(times) == ({0, 1} if draft.longitudinal else {0})
        for time in set(times):
            axial = [look.window for look in draft.pictures if look.time == time and look.plane == "axial"]
            assert axial.count("lung") >= 2
            assert axial.count("mediastinum") >= 1
        views = {look.view for look in draft.pictures if look.view}
        assert views <= set(draw_views(SETTINGS.seed, number))
        assert all((look.view is None) == (look.plane is not None) for look in draft.pictures)
        assert all((look.plane is None) == (look.window is None) for look in draft.pictures)
        asked = any("bone" in disease.windows for disease in options_of(draft))
        assert asked == any(look.window == "bone" for look in draft.pictures)
    sizes = Counter(len(draft.pictures) for draft in drafts)
    assert set(sizes) == set(range(3, 10))


def test_a_second_day_has_really_changed(drafts: list[Draft]) -> None:
    """A third of the cases have two days; each day shows something, and something differs."""
    later = [draft for draft in drafts if draft.longitudinal]
    assert 0.26 < len(later) / NUMBER < 0.34
    for draft in later:
        assert draft.interval in draft.history  # type: ignore[operator]
        assert len(draft.turns) == len(draft.plans)
        assert len(draft.extrapulmonary_turns) == len(draft.extrapulmonary)
        assert set(draft.turns) != {"gone"}
        assert set(draft.turns) != {"new"}
        assert {*draft.turns, *draft.extrapulmonary_turns} != {"same"}
        changed = [p for p, turn in zip(draft.plans, draft.turns, strict=True) if turn != "same"]
        assert len(changed) != 1 or changed[0].needed or {*draft.extrapulmonary_turns} - {"same"}
        for name, turn in zip(draft.extrapulmonary, draft.extrapulmonary_turns, strict=True):
            assert turn == "same" or (name not in BUILD_FINDINGS and turn in ("gone", "new"))
    for draft in drafts:
        assert draft.longitudinal or not (draft.turns or draft.extrapulmonary_turns)
        assert draft.plans
    assert {turn for draft in later for turn in draft.turns} == {"gone", "smaller", "same", "larger", "new"}


def test_only_what_can_grow_grows(drafts: list[Draft]) -> None:
    """Bands come and go, scars and emphysema stay; what grows begins with room to grow."""
    for draft in drafts:
        for plan, turn in zip(draft.plans, draft.turns, strict=False):
            if plan.kind == "band":
                assert turn in ("gone", "same", "new")
            if plan.kind == "scar" or plan.category == "1c":
                assert turn == "same"
            if turn == "larger":
                assert plan.scale <= 1.6
    twice = [d for d in drafts if [p.kind for p in d.plans].count("band") == 2]
    for draft in twice:
        one, other = (plan for plan in draft.plans if plan.kind == "band")
        assert not set(one.lobes) & set(other.lobes)


def test_infections_heal_and_tumours_grow(drafts: list[Draft]) -> None:
    """What becomes of a finding is what the disease makes likely."""

    def turns(*codes: str) -> Counter[str]:
        return Counter(d.turns[0] for d in drafts if d.disease in codes and d.longitudinal)

    acute = turns("lobar_pneumonia", "bronchopneumonia", "viral_pneumonia", "pneumocystis_pneumonia")
    tumour = turns("lung_carcinoma", "metastases", "lymphangitic_carcinomatosis")
    assert acute["gone"] + acute["smaller"] > 2 * (acute["larger"] + acute["same"])
    assert tumour["larger"] > 2 * (tumour["smaller"] + tumour["gone"])


def test_the_illness_has_what_it_needs(drafts: list[Draft]) -> None:
    """Every needed finding is planned, and nothing of the illness is impossible for it."""
    for draft in drafts:
        disease = load_diseases()[draft.disease]
        own = {f"{p.category} {p.kind}" for p in draft.plans[: draft.illness_plans]}
        own |= set(draft.extrapulmonary[: draft.illness_extrapulmonary])
        assert own <= disease.possible
        assert all(marks & own for marks in disease.needed)


def test_what_is_in_focus_lies_together(drafts: list[Draft]) -> None:
    """Signs in focus share one lobe, and what fills a pleural space is on its side."""
    together = 0
    for draft in drafts:
        disease = load_diseases()[draft.disease]
        focused = {mark for sign in disease.signs if sign.focus for mark in sign.marks}
        own = draft.plans[: draft.illness_plans]
        there = [plan for plan in own if f"{plan.category} {plan.kind}" in focused]
        lobes = {plan.lobes for plan in there if plan.places[0] in ("lobe", "segment")}
        assert len(lobes) <= 1
        for lobe in lobes:
            assert lobe[0] in disease.focus
            assert all(lobe[0] in plan.lobes for plan in there)
        together += len(there) > 1
    assert together > 100


def test_chance_findings_are_taken_for_no_option(drafts: list[Draft]) -> None:
    """What a patient has besides is needed by none of the five; both kinds do occur."""
    seen: Counter[str] = Counter()
    for draft in drafts:
        besides = [f"{p.category} {p.kind}" for p in draft.plans[draft.illness_plans :]]
        besides += draft.extrapulmonary[draft.illness_extrapulmonary :]
        seen.update(besides)
        for disease in options_of(draft):
            assert not any(set(besides) & marks for marks in disease.needed)
            assert not set(besides) & set(disease.confused)
            assert not set(besides) & {one.mark for one in disease.beyond}
    assert all(seen[f"{plan.category} {plan.kind}"] for plan, _, _ in INCIDENTAL_FINDINGS)
    assert seen["coronary calcification"]


def read_findings(draft: Draft) -> str:
    """Choose by the findings alone: who lacks what he needs is out, who explains most is in."""
    marks = {f"{plan.category} {plan.kind}" for plan in draft.plans} | set(draft.extrapulmonary)
    found = {option.letter: load_diseases_by_option()[option.text] for option in draft.options}
    able = {k: d for k, d in found.items() if all(needed & marks for needed in d.needed)}
    asked = frozenset[str]().union(*(needed for d in found.values() for needed in d.needed))
    left = {letter: len(marks & asked - disease.possible) for letter, disease in able.items()}
    best = [letter for letter, number in left.items() if number == min(left.values())]
    return best[0] if len(best) == 1 else ""


def test_findings_tell_the_key_every_time(drafts: list[Draft]) -> None:
    """A reader who knows the findings and the disease model finds every key, without a guess."""
    assert all(read_findings(draft) == draft.answer for draft in drafts)


def test_findings_that_are_left_out_do_not_tell_it(drafts: list[Draft]) -> None:
    """The same reader without the findings of the illness finds hardly any."""
    from dataclasses import replace

    blind = [replace(d, plans=d.plans[d.illness_plans :], extrapulmonary=()) for d in drafts[:500]]

    def reads(draft: Draft) -> str:
        try:
            return read_findings(draft)
        except ValueError:
            return ""

    assert sum(reads(draft) == draft.answer for draft in blind) < 0.3 * len(blind)
