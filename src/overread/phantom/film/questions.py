"""Questions about a film as GEMeX-ThinkVG asks them: open, closed, single and multiple choice.

Answers follow from the signs and the regions alone, and should not follow from the question. Where
a film shows something, it is mostly asked for what one would not guess (a finding that is there, a
lung that is not clear), since of films that show nothing only the rest can be asked. Letters are
drawn, and the right option is rarely the longest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from overread.benchmarks.fields import RowReader
from overread.benchmarks.mmrad.release import read_question
from overread.core import Entry, Record
from overread.errors import OverreadError
from overread.phantom.film.facts import TOPICS, Fact, facts, plain_facts, states
from overread.phantom.film.report import regions_of
from overread.phantom.film.sign import Sight, Sign
from overread.phantom.film.trace import union
from overread.phantom.film.wording import kind_of, sign_words
from overread.phantom.film.zones import LEVELS, SIDES, levels_of, sides_of
from overread.phantom.places import pick

FEWEST, MOST = 6, 10
"""Questions of one film."""

OPEN, CLOSED = "open_ended_questions", "closed_ended_questions"
SINGLE, MULTIPLE = "single_choice_questions", "multiple_choice_questions"
SHARES = {OPEN: 62712, CLOSED: 37340, SINGLE: 53905, MULTIPLE: 52114}
"""How many of each type the published set has."""

NONE = "None of these"

_GUESSED = 0.35
"""How often a film that shows something is asked what one would guess without it."""
_LETTERS = "ABCD"
_ATTEMPTS = 12
_FINDINGS = frozenset(topic.noun for topic in TOPICS)
_LOOKS = (
    "I look at the {region} {mention}.",
    "The question is about the {region} {mention}.",
    "First I look at the {region} {mention}.",
    "Let me examine the {region} {mention}.",
)


class Question(Record):
    """One question about a film, and its answer."""

    question: str
    """What is asked, with the options where there are some."""
    question_type: str
    """One of the four types."""
    answer: str
    """The right answer."""
    regions: tuple[str, ...]
    """The regions that show it."""
    response: str
    """Thinking, answer and location, tagged."""
    seen: tuple[str, ...]
    """What one sees, whatever the words of the question: no two of a type rest on the same."""

    @property
    def likeness(self) -> tuple[str, ...]:
        """What two questions have in common that ask the same."""
        return (self.question_type, *sorted(self.seen))

    def row(self, image: str) -> dict[str, Any]:
        """The row of the layout."""
        return {
            "image_path": image,
            "question": self.question,
            "question_type": self.question_type,
            "response": self.response,
        }


def film_questions(sight: Sight, rng: np.random.Generator) -> list[Question]:
    """Some questions about a film, no two alike, of every type that it can be asked."""
    known = facts(sight)
    types = list(SHARES)
    shares = np.array(list(SHARES.values())) / sum(SHARES.values())
    wanted = [*types, *(types[int(n)] for n in rng.choice(4, MOST - 4, p=shares))]
    wanted = wanted[: int(rng.integers(FEWEST, MOST + 1))]
    made: dict[tuple[str, ...], Question] = {}
    for kind in wanted:
        for _ in range(_ATTEMPTS):
            one = _MAKERS[kind](sight, known, rng)
            if one is not None and one.likeness not in made:
                made[one.likeness] = one
                break
    if len(made) < FEWEST:
        # Of a film with much that is doubtful little can be asked but what holds of every film.
        known += plain_facts()
        for _ in range(_ATTEMPTS * MOST):
            one = _MAKERS[pick(rng, types)](sight, known, rng)
            if one is not None and len(made) < FEWEST:
                made.setdefault(one.likeness, one)
    return list(made.values())


def question_entry(row: dict[str, Any], *, split: str, place: int) -> Entry:
    """The row of a question as the loader reads it; `place` is its number within the split."""
    reader = RowReader(dict(row), file=f"{split}.jsonl", number=place)
    entry = read_question(reader, split=split, place=place)
    if entry is None or reader.defects:
        raise OverreadError(f"question {place} of {split} makes no row: {reader.defects[0]}")
    return entry


def _closed(sight: Sight, known: Sequence[Fact], rng: np.random.Generator) -> Question | None:
    """A finding, a normal part, or on which side of a number the heart's share of the chest is."""
    if sight.view == "PA" and rng.random() < 0.25:
        return _closed_ratio(sight, rng)
    surprising = [fact for fact in known if fact.true == (fact.topic in _FINDINGS)]
    usual = [fact for fact in known if fact.true != (fact.topic in _FINDINGS)]
    if not usual or (surprising and rng.random() > _GUESSED):
        usual = surprising
    # As many of the one sort as of the other, whichever there are more of.
    sorts = [[f for f in usual if (f.topic in _FINDINGS) == sort] for sort in (True, False)]
    pools = [pool for pool in sorts if pool]
    if not pools:
        return None
    fact = pick(rng, pick(rng, pools))
    answer = "Yes" if fact.true else "No"
    return _made(sight, fact.question, CLOSED, answer, (fact.region,), [fact.reason], rng)


def _closed_ratio(sight: Sight, rng: np.random.Generator) -> Question:
    above = bool(rng.random() < 0.5)
    step = int(rng.integers(2, 6)) / 100
    limit = round(sight.heart_ratio - step if above else sight.heart_ratio + step, 2)
    asked = f"Is the cardiothoracic ratio above {limit:.2f}?"
    reason = f"The cardiothoracic ratio is about {sight.heart_ratio:.2f}."
    answer = "Yes" if above else "No"
    return _made(sight, asked, CLOSED, answer, ("cardiac silhouette",), [reason], rng)


def _open(sight: Sight, known: Sequence[Fact], rng: np.random.Generator) -> Question | None:
    """What a region shows, where a sign is, how large the heart is."""
    makers = (_open_region, _open_place, _open_heart, _open_region)
    return makers[int(rng.integers(len(makers)))](sight, known, rng)


def _open_region(sight: Sight, known: Sequence[Fact], rng: np.random.Generator) -> Question | None:
    about = [fact for fact in known if fact.true]
    if not about:
        return None
    fact = pick(rng, about)
    # Only where the region shows one thing is that thing the answer.
    told = [one for one in about if one.region == fact.region]
    if len(told) > 1 or _crowded(sight, fact.region):
        return None
    asked = pick(
        rng,
        (
            f"What does the {fact.region} show?",
            f"What can be said of the {fact.region}?",
            f"Describe the {fact.region} on this radiograph.",
        ),
    )
    return _made(sight, asked, OPEN, f"{fact.text}.", (fact.region,), [fact.reason], rng)


def _crowded(sight: Sight, region: str) -> bool:
    """Whether a lung shows more than one thing, or something besides that is doubtful."""
    side, _, part = region.partition(" ")
    groups = ("lung region", "pleura and diaphragm region")
    here = [
        sign
        for sign in sight.signs
        if sign.seen != "hidden"
        and sign_words(kind_of(sign.statement)).group in groups
        and sign.statement.side in (side, "both")
    ]
    return part == "lung" and len(here) > 1


def _open_place(sight: Sight, known: Sequence[Fact], rng: np.random.Generator) -> Question | None:
    sign, noun = _one_place(sight, rng)
    if sign is None:
        return None
    (side,) = sides_of(sign)
    zones = [f"{side} {level} lung zone" for level in levels_of(sign, side)]
    answer = f"In the {zones[0]}."
    reason = f"The {noun} lies in the {zones[0]}."
    return _made(sight, f"Where is the {noun}?", OPEN, answer, (zones[0],), [reason], rng)


def _open_heart(sight: Sight, known: Sequence[Fact], rng: np.random.Generator) -> Question | None:
    sizes = [fact for fact in known if fact.text == "Normal heart size"]
    if not sizes:
        return None
    told = "normal in size" if sizes[0].true else "enlarged"
    if sight.view == "PA":
        told = f"{told}, with a cardiothoracic ratio of {sight.heart_ratio:.2f}"
    asked = pick(rng, ("How large is the heart?", "Describe the size of the cardiac silhouette."))
    reason = f"Its width against that of the chest tells that it is {told}."
    return _made(sight, asked, OPEN, f"It is {told}.", ("cardiac silhouette",), [reason], rng)


def _single(sight: Sight, known: Sequence[Fact], rng: np.random.Generator) -> Question | None:
    """A zone among four, a range of the heart's share of the chest, or a finding if any."""
    shows = any(fact.true and fact.topic in _FINDINGS for fact in known)
    if rng.random() < 0.4:
        made = _single_zone(sight, rng)
        if made is not None:
            return made
    if sight.view == "PA" and rng.random() < (0.25 if shows else 0.75):
        return _single_ratio(sight, rng)
    return _single_finding(sight, known, rng)


def _single_finding(
    sight: Sight, known: Sequence[Fact], rng: np.random.Generator
) -> Question | None:
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
    if not true or rng.random() < 0.1:
        options = [NONE, *(one.text for one in mixed[:3])]
        looked = tuple(dict.fromkeys(one.region for one in mixed[:3]))
        # "None of these" and "all of them" are asked once of a film, whatever the others are.
        made = _chosen(
            sight, asked, options, 1, looked, [one.reason for one in mixed[:3]], SINGLE, rng
        )
        return made.model_copy(update={"seen": (NONE,)})
    right = pick(rng, true)
    # A right option that is longer than all others would give itself away.
    mixed.sort(key=lambda one: len(one.text) < len(right.text))
    others = [mixed[0], mixed[int(rng.integers(1, len(mixed)))]]
    options = [right.text, *(one.text for one in others), NONE]
    return _chosen(sight, asked, options, 1, (right.region,), [right.reason], SINGLE, rng)


def _single_ratio(sight: Sight, rng: np.random.Generator) -> Question:
    """Which of four ranges holds the heart's share of the chest; they stand in their order."""
    place, inside = int(rng.integers(4)), int(rng.integers(1, 4)) / 100
    first = round(sight.heart_ratio, 2) - inside - 0.04 * place
    lines = "".join(
        f" {letter}. {first + 0.04 * n:.2f} to {first + 0.04 * (n + 1):.2f}"
        for n, letter in enumerate(_LETTERS)
    )
    reason = f"The cardiothoracic ratio is about {sight.heart_ratio:.2f}."
    asked = f"Which range holds the cardiothoracic ratio?{lines}"
    return _made(sight, asked, SINGLE, _LETTERS[place], ("cardiac silhouette",), [reason], rng)


def _single_zone(sight: Sight, rng: np.random.Generator) -> Question | None:
    sign, noun = _one_place(sight, rng)
    if sign is None:
        return None
    (side,) = sides_of(sign)
    right = f"{side} {levels_of(sign, side)[0]} lung zone"
    others = [
        f"{one} {level} lung zone"
        for one in SIDES
        for level in LEVELS
        if f"{one} {level} lung zone" != right
    ]
    chosen = [others[int(n)] for n in rng.permutation(len(others))[:3]]
    options = [text[0].upper() + text[1:] for text in (right, *chosen)]
    reason = f"The {noun} lies in the {right}."
    asked = f"In which zone is the {noun}?"
    return _chosen(sight, asked, options, 1, (right,), [reason], SINGLE, rng)


def _multiple(sight: Sight, known: Sequence[Fact], rng: np.random.Generator) -> Question | None:
    """Which of some findings are seen, or which of some parts are normal."""
    true = [fact for fact in known if fact.true and fact.topic in _FINDINGS]
    if true and rng.random() < 0.6:
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
    made = _chosen(sight, asked, options, many, looked, reasons, MULTIPLE, rng)
    return made if many < 4 else made.model_copy(update={"seen": ("all",)})


def _one_place(sight: Sight, rng: np.random.Generator) -> tuple[Sign | None, str]:
    """A seen sign that lies in one zone of one lung, alone of its kind, and what it is called."""
    found: list[tuple[Sign, str]] = []
    for topic in TOPICS:
        own = states(sight, topic.kinds, None)
        if topic.where != "lung" or len(own) != 1 or states(sight, topic.unlike, None):
            continue
        (sign,) = own
        sides = sides_of(sign)
        singular = topic.noun != "reticular opacities"
        if sign.seen == "seen" and len(sides) == 1 and singular:
            levels = levels_of(sign, sides[0])
            if len(levels) == 1 and levels[0] in LEVELS and len(regions_of(sign)) <= 2:
                noun = "mass" if kind_of(sign.statement) == "2d:mass" else topic.noun
                noun = "nodule" if noun == "nodule or mass" else noun
                if sign.statement.count == 1:
                    found.append((sign, noun))
    return pick(rng, found) if found else (None, "")


def _chosen(
    sight: Sight,
    asked: str,
    options: Sequence[str],
    many: int,
    looked: tuple[str, ...],
    reasons: Sequence[str],
    kind: str,
    rng: np.random.Generator,
) -> Question:
    """A question with options, of which the first `many` are right before they are mixed."""
    order = [int(n) for n in rng.permutation(len(options))]
    lines = "".join(f" {letter}. {options[n]}" for letter, n in zip(_LETTERS, order, strict=True))
    right = [letter for letter, n in zip(_LETTERS, order, strict=True) if n < many]
    return _made(sight, f"{asked}{lines}", kind, ", ".join(right), looked, reasons, rng)


def _made(
    sight: Sight,
    asked: str,
    kind: str,
    answer: str,
    looked: tuple[str, ...],
    reasons: Sequence[str],
    rng: np.random.Generator,
) -> Question:
    """The response: a look at each region, what is seen, the answer and where that is."""
    boxes = [f"[{', '.join(map(str, union(sight, (name,))))}]" for name in looked]
    opening = pick(rng, _LOOKS)
    looks = [
        (opening if not n else "I also look at the {region} {mention}.").format(
            region=name, mention=f"({name} {box})"
        )
        for n, (name, box) in enumerate(zip(looked, boxes, strict=True))
    ]
    # The layout has one name for all boxes of an answer: several regions go without.
    named = f"<ref>{looked[0]}</ref>" if len(looked) == 1 else ""
    held = "".join(f"<box>{box}</box>" for box in boxes)
    response = (
        f"<think>{' '.join((*looks, *reasons))}</think><response><answer>{answer}</answer>"
        f"<location>{named}{held}</location></response>"
    )
    return Question(
        question=asked,
        question_type=kind,
        answer=answer,
        regions=looked,
        response=response,
        seen=tuple(reasons),
    )


_MAKERS: dict[str, Callable[[Sight, Sequence[Fact], np.random.Generator], Question | None]] = {
    OPEN: _open,
    CLOSED: _closed,
    SINGLE: _single,
    MULTIPLE: _multiple,
}
