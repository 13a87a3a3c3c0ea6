"""Questions about a film as GEMeX-ThinkVG asks them: open, closed, single and multiple choice.

Answers follow from signs and regions alone, and must not be guessable from the question. A film
with findings is therefore mostly asked about the unexpected (a finding that is there, a lung that
is not clear, its side), since films without findings can only be asked about the rest. The
cardiothoracic ratio is compared with numbers that are the same for every film. Letters and wrong
options are shuffled, whatever the right one is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from overread.benchmarks.mmrad.release import read_question
from overread.benchmarks.row_fields import RowFields
from overread.core import Entry
from overread.errors import OverreadError
from overread.phantom.film.facts import TOPICS, Fact, list_facts, list_universal_facts, matching_signs
from overread.phantom.film.lexicon import find_sign_words, sign_kind
from overread.phantom.film.question_record import (
    CLOSED,
    LETTERS,
    MULTIPLE,
    OPEN,
    SINGLE,
    TYPE_COUNTS,
    FilmQuestion,
    make_choice_question,
    make_question,
)
from overread.phantom.film.sign import FilmContents, Sign
from overread.phantom.film.zones import LEVELS, SIDES, sign_levels, sign_sides
from overread.phantom.words.place_phrases import pick

MIN_QUESTIONS, MAX_QUESTIONS = 6, 10
"""Questions of one film."""

NONE_OF_THESE = "None of these"

_NONE_RIGHT_SHARE = 0.08
"""How often, at each attempt, a film that shows nothing is asked which finding it shows.

If it were often, "None of these" would be a good guess.
"""
_EXPECTED_SHARE = 0.35
"""Share of closed questions on a film with findings that ask for the expected answer."""
_ASK_RATES = {"sharp angle": 0.15, "heart size": 0.25}
"""How often a normal part is asked for, so that yes and no are about as frequent."""
_RATIO_LIMITS = (0.46, 0.47, 0.49)
"""Cardiothoracic ratios that part hearts of PA films into four groups of much the same number.

Numbers near the ratio of the film itself would tell it: most hearts are of much the same size.
"""
_RATIO_MARGIN = 0.003
"""How far from a limit a ratio must be to be asked for."""
_MAX_ATTEMPTS = 12
_FINDINGS = frozenset(topic.noun for topic in TOPICS)


def draw_questions(sight: FilmContents, rng: np.random.Generator) -> list[FilmQuestion]:
    """Some questions about a film, no two alike, of every type that it can be asked.

    What a film has no box for is not asked: with regions of one's own that may be much.
    """
    known = list_facts(sight)
    types = list(TYPE_COUNTS)
    shares = np.array(list(TYPE_COUNTS.values())) / sum(TYPE_COUNTS.values())
    wanted = [*types, *(types[int(n)] for n in rng.choice(4, MAX_QUESTIONS - 4, p=shares))]
    wanted = wanted[: int(rng.integers(MIN_QUESTIONS, MAX_QUESTIONS + 1))]
    made: dict[tuple[str, ...], FilmQuestion] = {}
    for kind in wanted:
        for _ in range(_MAX_ATTEMPTS):
            one = _MAKERS[kind](sight, known, rng)
            if one is not None and one.has_boxes(sight) and one.duplicate_key not in made:
                made[one.duplicate_key] = one
                break
    if len(made) < MIN_QUESTIONS:
        # Of a film with much that is doubtful little can be asked but what holds of every film.
        known += list_universal_facts()
        for _ in range(_MAX_ATTEMPTS * MAX_QUESTIONS):
            one = _MAKERS[pick(rng, types)](sight, known, rng)
            if one is not None and one.has_boxes(sight) and len(made) < MIN_QUESTIONS:
                made.setdefault(one.duplicate_key, one)
    return list(made.values())


def read_question_entry(row: dict[str, Any], *, split: str, place: int) -> Entry:
    """The row of a question as the loader reads it; `place` is its number within the split."""
    reader = RowFields(dict(row), file=f"{split}.jsonl", number=place)
    entry = read_question(reader, split=split, place=place)
    if entry is None or reader.defects:
        raise OverreadError(f"question {place} of {split} gives no valid row: {reader.defects[0]}")
    return entry


def _closed_question(
    sight: FilmContents, known: Sequence[Fact], rng: np.random.Generator
) -> FilmQuestion | None:
    """A side, on which side of a number the heart's share of the chest is, a finding, a part."""
    made = _closed_side(sight, rng) if rng.random() < 0.3 else None
    if made is None and rng.random() < (0.25 if _shows_finding(known) else 0.75):
        made = _closed_ratio(sight, rng)
    if made is not None:
        return made
    surprising = [fact for fact in known if fact.true == (fact.topic in _FINDINGS)]
    usual = [fact for fact in known if fact.true != (fact.topic in _FINDINGS)]
    usual = [fact for fact in usual if rng.random() < _ASK_RATES.get(fact.topic, 1)]
    if not usual or (surprising and rng.random() > _EXPECTED_SHARE):
        usual = surprising
    # Whichever there are more of: what is asked of many films should be answered by yes and by no.
    findings = [fact for fact in usual if fact.topic in _FINDINGS]
    parts = [fact for fact in usual if fact.topic not in _FINDINGS]
    share = 0.35 if surprising else 0.6
    pool = parts if not findings or (parts and rng.random() < share) else findings
    if not pool:
        return None
    fact = pick(rng, pool)
    answer = "Yes" if fact.true else "No"
    return make_question(sight, fact.question, CLOSED, answer, (fact.region,), [fact.reason], rng)


def _closed_side(sight: FilmContents, rng: np.random.Generator) -> FilmQuestion | None:
    """Whether a thing that is seen on one side is on the right, or on the left."""
    found = _unique_signs(sight)
    if not found:
        return None
    sign, noun = pick(rng, found)
    (side,) = sign_sides(sign)
    asked = pick(rng, SIDES)
    answer = "Yes" if asked == side else "No"
    reason = f"The {noun} is on the {side}."
    return make_question(
        sight, f"Is the {noun} on the {asked}?", CLOSED, answer, (f"{side} lung",), [reason], rng
    )


def _closed_ratio(sight: FilmContents, rng: np.random.Generator) -> FilmQuestion | None:
    limit = _RATIO_LIMITS[1]
    if not _measurable(sight, (limit,)):
        return None
    asked = f"Is the cardiothoracic ratio above {limit:.2f}?"
    answer = "Yes" if sight.heart_ratio > limit else "No"
    return make_question(sight, asked, CLOSED, answer, ("cardiac silhouette",), [_ratio_sentence(sight)], rng)


def _measurable(sight: FilmContents, limits: Sequence[float]) -> bool:
    """Whether the ratio can be measured on the film and lies clear of some limits."""
    near = any(abs(sight.heart_ratio - limit) < _RATIO_MARGIN for limit in limits)
    return sight.view == "PA" and not near


def _ratio_sentence(sight: FilmContents) -> str:
    return f"The cardiothoracic ratio is {sight.heart_ratio:.3f}."


def _shows_finding(known: Sequence[Fact]) -> bool:
    """Whether a film shows any of the findings that are asked for."""
    return any(fact.true and fact.topic in _FINDINGS for fact in known)


def _open_question(
    sight: FilmContents, known: Sequence[Fact], rng: np.random.Generator
) -> FilmQuestion | None:
    """What a region shows, where a sign is, how large the heart is."""
    makers = (_open_region, _open_place, _open_heart, _open_side)
    return makers[int(rng.integers(len(makers)))](sight, known, rng)


def _open_region(sight: FilmContents, known: Sequence[Fact], rng: np.random.Generator) -> FilmQuestion | None:
    about = [fact for fact in known if fact.true]
    asked_for = [fact for fact in about if rng.random() < _ASK_RATES.get(fact.topic, 1)]
    if not asked_for:
        return None
    fact = pick(rng, asked_for)
    # Only where the region shows one thing is that thing the answer.
    told = [one for one in about if one.region == fact.region]
    if len(told) > 1 or _shows_several(sight, fact.region):
        return None
    asked = pick(
        rng,
        (
            f"What does the {fact.region} show?",
            f"What can be said of the {fact.region}?",
            f"Describe the {fact.region} on this radiograph.",
        ),
    )
    return make_question(sight, asked, OPEN, f"{fact.text}.", (fact.region,), [fact.reason], rng)


def _shows_several(sight: FilmContents, region: str) -> bool:
    """Whether a lung shows more than one thing, or something besides that is doubtful."""
    side, _, part = region.partition(" ")
    groups = ("lung region", "pleura and diaphragm region")
    here = [
        sign
        for sign in sight.signs
        if sign.seen != "hidden"
        and find_sign_words(sign_kind(sign.statement)).group in groups
        and sign.statement.side in (side, "both")
    ]
    return part == "lung" and len(here) > 1


def _open_place(sight: FilmContents, known: Sequence[Fact], rng: np.random.Generator) -> FilmQuestion | None:
    sign, noun = _draw_one_zone_sign(sight, rng)
    if sign is None:
        return None
    (side,) = sign_sides(sign)
    zones = [f"{side} {level} lung zone" for level in sign_levels(sign, side)]
    answer = f"In the {zones[0]}."
    reason = f"The {noun} lies in the {zones[0]}."
    return make_question(sight, f"Where is the {noun}?", OPEN, answer, (zones[0],), [reason], rng)


def _open_side(sight: FilmContents, known: Sequence[Fact], rng: np.random.Generator) -> FilmQuestion | None:
    found = _unique_signs(sight)
    if not found:
        return _open_region(sight, known, rng)
    sign, noun = pick(rng, found)
    (side,) = sign_sides(sign)
    asked = f"On which side is the {noun}?"
    reason = f"The {noun} is on the {side}."
    return make_question(sight, asked, OPEN, f"On the {side}.", (f"{side} lung",), [reason], rng)


def _open_heart(sight: FilmContents, known: Sequence[Fact], rng: np.random.Generator) -> FilmQuestion | None:
    sizes = [fact for fact in known if fact.text == "Normal heart size"]
    if not sizes:
        return None
    told = "normal in size" if sizes[0].true else "enlarged"
    if sight.view == "PA":
        told = f"{told}, with a cardiothoracic ratio of {sight.heart_ratio:.2f}"
    asked = pick(rng, ("How large is the heart?", "Describe the size of the cardiac silhouette."))
    reason = f"Measured against the chest, the heart is {told}."
    return make_question(sight, asked, OPEN, f"It is {told}.", ("cardiac silhouette",), [reason], rng)


def _single_question(
    sight: FilmContents, known: Sequence[Fact], rng: np.random.Generator
) -> FilmQuestion | None:
    """A zone among four, a range of the heart's share of the chest, or a finding if any."""
    made = _single_zone(sight, rng) if rng.random() < 0.4 else None
    if made is None and rng.random() < (0.25 if _shows_finding(known) else 0.75):
        made = _single_ratio(sight, rng)
    return made or _single_finding(sight, known, rng)


def _single_finding(
    sight: FilmContents, known: Sequence[Fact], rng: np.random.Generator
) -> FilmQuestion | None:
    """Three findings and "None of these"."""
    true = [fact for fact in known if fact.true and fact.topic in _FINDINGS]
    false = [fact for fact in known if not fact.true and fact.topic in _FINDINGS]
    if len(false) < 3:
        return None
    mixed = [false[int(n)] for n in rng.permutation(len(false))]
    asked = pick(
        rng,
        (
            "Which of these findings does this radiograph show?",
            "Which of the following is seen on this radiograph?",
            "Which finding is present on this radiograph?",
        ),
    )
    if not true and rng.random() > _NONE_RIGHT_SHARE:
        return None
    if not true:
        options = [NONE_OF_THESE, *(one.text for one in mixed[:3])]
        looked = tuple(dict.fromkeys(one.region for one in mixed[:3]))
        # "None of these" and "all of them" are asked once of a film, whatever the others are.
        made = make_choice_question(
            sight, asked, options, 1, looked, [one.reason for one in mixed[:3]], SINGLE, rng
        )
        return made.model_copy(update={"seen": (NONE_OF_THESE,)})
    right = pick(rng, true)
    options = [right.text, *(one.text for one in mixed[:2]), NONE_OF_THESE]
    return make_choice_question(sight, asked, options, 1, (right.region,), [right.reason], SINGLE, rng)


def _single_ratio(sight: FilmContents, rng: np.random.Generator) -> FilmQuestion | None:
    """Which of four ranges holds the heart's share of the chest; they stand in their order."""
    if not _measurable(sight, _RATIO_LIMITS):
        return None
    low, middle, high = (f"{limit:.2f}" for limit in _RATIO_LIMITS)
    ranges = [f"Below {low}", f"{low} to {middle}", f"{middle} to {high}", f"Above {high}"]
    place = int(np.searchsorted(_RATIO_LIMITS, sight.heart_ratio))
    if rng.random() < 0.5:
        ranges, place = ranges[::-1], 3 - place
    lines = "".join(f" {letter}. {text}" for letter, text in zip(LETTERS, ranges, strict=True))
    asked = f"Which range holds the cardiothoracic ratio?{lines}"
    answer, told = LETTERS[place], _ratio_sentence(sight)
    return make_question(sight, asked, SINGLE, answer, ("cardiac silhouette",), [told], rng)


def _single_zone(sight: FilmContents, rng: np.random.Generator) -> FilmQuestion | None:
    sign, noun = _draw_one_zone_sign(sight, rng)
    if sign is None:
        return None
    (side,) = sign_sides(sign)
    right = f"{side} {sign_levels(sign, side)[0]} lung zone"
    others = [
        f"{one} {level} lung zone" for one in SIDES for level in LEVELS if f"{one} {level} lung zone" != right
    ]
    chosen = [others[int(n)] for n in rng.permutation(len(others))[:3]]
    options = [text[0].upper() + text[1:] for text in (right, *chosen)]
    reason = f"The {noun} lies in the {right}."
    asked = f"In which zone is the {noun}?"
    return make_choice_question(sight, asked, options, 1, (right,), [reason], SINGLE, rng)


def _multiple_question(
    sight: FilmContents, known: Sequence[Fact], rng: np.random.Generator
) -> FilmQuestion | None:
    """Which of some findings are seen, or which of some parts are normal."""
    true = [fact for fact in known if fact.true and fact.topic in _FINDINGS]
    if true and rng.random() < 0.8:
        false = [fact for fact in known if not fact.true and fact.topic in _FINDINGS]
        many = min(len(true), int(rng.integers(1, 4)))
        asked = "Which of these findings are seen on this radiograph?"
    else:
        true = [fact for fact in known if fact.true and fact.topic not in _FINDINGS]
        false = [fact for fact in known if not fact.true and fact.topic not in _FINDINGS]
        # Every part that is not normal is an option: of films that show nothing there is none.
        many = min(len(true), 4 - min(len(false), 3))
        asked = "Which of these are true of this radiograph?"
    if many < 1 or len(false) < 4 - many:
        return None
    chosen = [true[int(n)] for n in rng.permutation(len(true))[:many]]
    chosen += [false[int(n)] for n in rng.permutation(len(false))[: 4 - many]]
    looked = tuple(dict.fromkeys(fact.region for fact in chosen[:many]))
    reasons = [fact.reason for fact in chosen]
    options = [fact.text for fact in chosen]
    made = make_choice_question(sight, asked, options, many, looked, reasons, MULTIPLE, rng)
    return made if many < 4 else made.model_copy(update={"seen": ("all",)})


def _unique_signs(sight: FilmContents) -> list[tuple[Sign, str]]:
    """Seen signs of one lung or its pleura, each alone of its kind, and what they are called."""
    found: list[tuple[Sign, str]] = []
    for topic in TOPICS:
        own = matching_signs(sight, topic.kinds, None)
        if topic.where not in ("lung", "pleura") or topic.noun == "reticular opacities":
            continue
        if len(own) != 1 or matching_signs(sight, topic.unlike, None):
            continue
        (sign,) = own
        if sign.seen == "seen" and sign.statement.side in SIDES and sign.statement.count == 1:
            noun = "mass" if sign_kind(sign.statement) == "2d:mass" else topic.noun
            found.append((sign, "nodule" if noun == "nodule or mass" else noun))
    return found


def _draw_one_zone_sign(sight: FilmContents, rng: np.random.Generator) -> tuple[Sign | None, str]:
    """A seen sign that lies in one zone of one lung, alone of its kind, and what it is called."""
    found = [
        (sign, noun)
        for sign, noun in _unique_signs(sight)
        if find_sign_words(sign_kind(sign.statement)).placed == "zones"
        and len(levels := sign_levels(sign, sign_sides(sign)[0])) == 1
        and levels[0] in LEVELS
    ]
    return pick(rng, found) if found else (None, "")


_MAKERS: dict[str, Callable[[FilmContents, Sequence[Fact], np.random.Generator], FilmQuestion | None]] = {
    OPEN: _open_question,
    CLOSED: _closed_question,
    SINGLE: _single_question,
    MULTIPLE: _multiple_question,
}
