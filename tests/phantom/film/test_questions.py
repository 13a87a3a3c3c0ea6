"""Questions about films: right answers, balanced ones, and rows that the loader reads."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest

from overread.core import Box
from overread.phantom.film.facts import list_facts, list_universal_facts
from overread.phantom.film.question_record import CLOSED, MULTIPLE, OPEN, SINGLE, TYPE_COUNTS, FilmQuestion
from overread.phantom.film.questions import (
    MAX_QUESTIONS,
    MIN_QUESTIONS,
    NONE_OF_THESE,
    draw_questions,
    read_question_entry,
)
from overread.phantom.film.sign import FilmContents, Visibility
from overread.phantom.film.zones import sign_sides
from tests.phantom.film.made_up_sights import regions, sight, sign

MANY = 400


@pytest.fixture(scope="module")
def asked() -> list[tuple[FilmContents, list[FilmQuestion]]]:
    """Some hundreds of films with their questions."""
    films = [sight(seed, most=3) for seed in range(MANY)]
    return [(film, draw_questions(film, np.random.default_rng(n))) for n, film in enumerate(films)]


def options(one: FilmQuestion) -> dict[str, str]:
    """Letter → option."""
    return dict(re.findall(r" ([A-D])\. (.+?)(?= [A-D]\. |$)", one.question))


def test_every_film_is_asked_enough(asked: list[tuple[FilmContents, list[FilmQuestion]]]) -> None:
    """Six to ten questions a film, no two alike, of all four types."""
    types: Counter[str] = Counter()
    for _, questions in asked:
        assert MIN_QUESTIONS <= len(questions) <= MAX_QUESTIONS
        assert len({one.question for one in questions}) == len(questions)
        types.update(one.question_type for one in questions)
    assert set(types) == set(TYPE_COUNTS)
    assert min(types.values()) / sum(types.values()) > 0.15


def test_answers_follow_from_the_facts(asked: list[tuple[FilmContents, list[FilmQuestion]]]) -> None:
    """Yes is said of what is true, no of what is false, and options are marked accordingly."""
    for film, questions in asked:
        known = list_facts(film) + list_universal_facts()
        closed = {fact.question: fact.true for fact in known}
        stated = {fact.text: fact.true for fact in known}
        for one in questions:
            if one.question_type == CLOSED:
                number = re.search(r"above (0\.\d\d)", one.question)
                side = re.fullmatch(r"Is the .+ on the (right|left)\?", one.question)
                if number:
                    true = film.heart_ratio > float(number[1])
                elif side:
                    (region,) = one.regions
                    true = region == f"{side[1]} lung"
                else:
                    true = closed[one.question]
                assert one.answer == ("Yes" if true else "No")
            if one.question_type in (SINGLE, MULTIPLE) and "zone" not in one.question:
                right = set(one.answer.split(", "))
                for letter, text in options(one).items():
                    true = text == NONE_OF_THESE and not any(map(stated.get, options(one).values()))
                    numbers = [float(number) for number in re.findall(r"0\.\d\d", text)]
                    if numbers:
                        low = 0.0 if text.startswith("Below") else numbers[0]
                        high = 1.0 if text.startswith("Above") else numbers[-1]
                        true = low < film.heart_ratio < high
                    assert stated.get(text, true) == (letter in right), (one, text)
            if one.question_type == SINGLE:
                assert len(options(one)) == 4
                assert one.answer in "ABCD"


def test_zones_that_are_asked_for() -> None:
    """A question for a zone is about a seen sign that has that zone and no other."""
    found = 0
    for seed in range(500):
        film = sight(seed, most=1)
        for one in draw_questions(film, np.random.default_rng(seed)):
            if "which zone" in one.question or one.question.startswith("Where is"):
                zone = options(one).get(one.answer, one.answer).lower()
                zone = zone.removeprefix("in the ").removesuffix(".")
                holding = [each for each in film.signs if zone in each.zones]
                assert any(each.seen == "seen" for each in holding), one
                assert one.regions == (zone,)
                found += 1
    assert found > 5


def test_answers_are_balanced(asked: list[tuple[FilmContents, list[FilmQuestion]]]) -> None:
    """About as many no as yes, of normal parts too; every letter as often."""
    every = [one for _, questions in asked for one in questions]
    guesses = Counter(
        (one.question.split()[0] == "Is" and "clear" in one.question, one.answer)
        for one in every
        if one.question_type == CLOSED and re.search("clear|there", one.question)
    )
    # Whether a lung is clear, or a finding there, cannot be told from being asked.
    for clear in (True, False):
        share = guesses[clear, "Yes"] / (guesses[clear, "Yes"] + guesses[clear, "No"])
        assert 0.25 < share < 0.7, guesses
    # Nor whether an angle is sharp or a heart normal, though nearly all are.
    parts = Counter(
        one.answer
        for one in every
        if one.question_type == CLOSED and re.search("sharp|normal in size", one.question)
    )
    assert parts["Yes"] < 0.85 * parts.total(), parts
    assert parts.total() < 0.1 * sum(one.question_type == CLOSED for one in every)
    said = Counter(one.answer for one in every if one.question_type == CLOSED)
    assert 0.42 < said["Yes"] / said.total() < 0.58
    letters = Counter(one.answer for one in every if one.question_type == SINGLE)
    assert all(0.18 < letters[letter] / letters.total() < 0.32 for letter in "ABCD")
    several = Counter(
        letter for one in every if one.question_type == MULTIPLE for letter in one.answer.split(", ")
    )
    assert all(0.2 < several[letter] / several.total() < 0.3 for letter in "ABCD")
    assert len({one.answer for one in every if one.question_type == OPEN}) > 40


def test_options_give_nothing_away(asked: list[tuple[FilmContents, list[FilmQuestion]]]) -> None:
    """The longest, the shortest, none of these, the one most like the question: each a guess."""
    right: Counter[str] = Counter()
    singles = [
        one
        for _, questions in asked
        for one in questions
        if one.question_type == SINGLE and NONE_OF_THESE in options(one).values()
    ]
    for one in singles:
        texts = options(one)
        findings = sorted(
            (letter for letter in texts if texts[letter] != NONE_OF_THESE), key=lambda at: len(texts[at])
        )
        stem = set(one.question.split(" A. ")[0].lower().split())
        shared = {letter: len(stem & set(text.lower().split())) for letter, text in texts.items()}
        best = [letter for letter in shared if shared[letter] == max(shared.values())]
        right["none"] += texts[one.answer] == NONE_OF_THESE
        right["shortest"] += one.answer == findings[0]
        right["longest"] += one.answer == findings[-1]
        right["like the question"] += one.answer == best[0]
    assert len(singles) > 200
    for guess, times in right.items():
        assert times / len(singles) < 0.36, (guess, times, len(singles))


def test_sides_and_ratios_cannot_be_guessed(asked: list[tuple[FilmContents, list[FilmQuestion]]]) -> None:
    """Half of the sides are right; the numbers of ratios are the same, whatever the film is."""
    sides: Counter[str] = Counter()
    limits: set[str] = set()
    for film, questions in asked:
        for one in questions:
            if one.question_type == CLOSED and re.search(r" on the \w+\?$", one.question):
                sides[one.answer] += not one.question.startswith("Is there")
            if "cardiothoracic ratio" in one.question:
                assert film.view == "PA"
                limits |= set(re.findall(r"0\.\d\d", one.question))
    assert 0.3 < sides["Yes"] / sides.total() < 0.7, sides
    assert limits == {"0.46", "0.47", "0.49"}


def test_rows_are_read(asked: list[tuple[FilmContents, list[FilmQuestion]]]) -> None:
    """The loader finds the answer, a look and a box, both of a region that is known."""
    for film, questions in asked[:60]:
        for place, one in enumerate(questions, 1):
            entry = read_question_entry(one.to_row("images/p90000001_1.jpg"), split="val", place=place)
            truth = entry.truth
            assert truth is not None
            assert truth.answer_text == one.answer
            assert truth.trace is not None
            boxes = [
                region for step in truth.trace.steps for region in step.regions if isinstance(region, Box)
            ]
            assert len(boxes) == 2 * len(one.regions)
            labels = [box.label for box in boxes]
            assert labels[: len(one.regions)] == list(one.regions)
            assert set(labels[len(one.regions) :]) == {one.regions[0] if len(one.regions) == 1 else None}
            for name, box in zip((*one.regions, *one.regions), boxes, strict=True):
                assert (box.x1, box.y1, box.x2, box.y2) == film.regions[name]
                assert 0 <= box.x1 < box.x2 <= film.columns
                assert 0 <= box.y1 < box.y2 <= film.rows
            assert entry.case.patient == "p90000001"
            assert entry.extra == {"question_type": one.question_type}


def test_nothing_is_asked_of_what_is_not_sure() -> None:
    """A hidden or doubtful effusion makes neither a yes nor a no on its side."""
    rng = np.random.default_rng(0)
    one = sign("2e", "effusion", "seen", rng)
    told = one.statement.model_copy(update={"side": "left"})
    zones = ("left costophrenic angle",)
    states: tuple[Visibility, ...] = ("seen", "doubtful", "hidden")
    answers = {}
    for state in states:
        changed = one.model_copy(update={"seen": state, "statement": told, "zones": zones})
        film = FilmContents(
            view="PA", columns=640, rows=560, regions=regions(), signs=(changed,), heart_ratio=0.44
        )
        assert sign_sides(changed) == ("left",)
        known = {fact.question: fact.true for fact in list_facts(film)}
        answers[state] = known.get("Is there a pleural effusion on the left?")
        assert known["Is there a pleural effusion on the right?"] is False
        assert known.get("Is the left costophrenic angle sharp?") is (False if state == "seen" else None)
    assert answers == {"seen": True, "doubtful": None, "hidden": None}


def test_the_same_chance_gives_the_same_questions() -> None:
    """Questions hang on the film and the chance alone."""
    film = sight(5)
    first, again = (draw_questions(film, np.random.default_rng(1)) for _ in range(2))
    assert first == again
