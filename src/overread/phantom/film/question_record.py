"""A question about a film with its answer, in the words and the layout of GEMeX-ThinkVG."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from overread.core import Record
from overread.phantom.film.sign import FilmContents
from overread.phantom.film.trace import union_of_regions
from overread.phantom.words.place_phrases import pick

OPEN, CLOSED = "open_ended_questions", "closed_ended_questions"
SINGLE, MULTIPLE = "single_choice_questions", "multiple_choice_questions"
TYPE_COUNTS = {OPEN: 62712, CLOSED: 37340, SINGLE: 53905, MULTIPLE: 52114}
"""How many of each type the published set has."""

LETTERS = "ABCD"
_LOOK_SENTENCES = (
    "I look at the {region} {mention}.",
    "The question is about the {region} {mention}.",
    "First I look at the {region} {mention}.",
    "Let me examine the {region} {mention}.",
)


class FilmQuestion(Record):
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
    def duplicate_key(self) -> tuple[str, ...]:
        """Key that is equal for two questions that ask the same."""
        return (self.question_type, *sorted(self.seen))

    def has_boxes(self, sight: FilmContents) -> bool:
        """Whether the film has a box for every region that shows it."""
        return all(name in sight.regions for name in self.regions)

    def to_row(self, image: str) -> dict[str, Any]:
        """The row of the layout."""
        return {
            "image_path": image,
            "question": self.question,
            "question_type": self.question_type,
            "response": self.response,
        }


def make_choice_question(
    sight: FilmContents,
    asked: str,
    options: Sequence[str],
    many: int,
    looked: tuple[str, ...],
    reasons: Sequence[str],
    kind: str,
    rng: np.random.Generator,
) -> FilmQuestion:
    """A question with options, of which the first `many` are right before they are mixed."""
    order = [int(n) for n in rng.permutation(len(options))]
    lines = "".join(f" {letter}. {options[n]}" for letter, n in zip(LETTERS, order, strict=True))
    right = [letter for letter, n in zip(LETTERS, order, strict=True) if n < many]
    return make_question(sight, f"{asked}{lines}", kind, ", ".join(right), looked, reasons, rng)


def make_question(
    sight: FilmContents,
    asked: str,
    kind: str,
    answer: str,
    looked: tuple[str, ...],
    reasons: Sequence[str],
    rng: np.random.Generator,
) -> FilmQuestion:
    """The response: a look at each region, what is seen, the answer and where that is."""
    boxes = [f"[{', '.join(map(str, union_of_regions(sight, (name,))))}]" for name in looked]
    opening = pick(rng, _LOOK_SENTENCES)
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
    return FilmQuestion(
        question=asked,
        question_type=kind,
        answer=answer,
        regions=looked,
        response=response,
        seen=tuple(reasons),
    )
