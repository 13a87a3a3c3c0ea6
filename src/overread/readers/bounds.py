"""Baselines that look at no picture: a score that one of these reaches too says little.

`random` answers at random, `majority` gives the most frequent answer, `longest` chooses the longest
option, and `nothing` leaves every answer empty.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from overread.core import Case, Entry, Geometry, Pictures, Reading, ReleaseRef, Truth
from overread.errors import OverreadError, ReaderError, UsageError
from overread.readers.arguments import settings_from
from overread.readers.whole_case import LazyMaskBase, Voxels, WholeCaseBase, require_release

REPORTS_COMPARED = 400
"""Most reports that are compared with each other to find the most typical one, evenly spread over
the split.
"""


@dataclass(frozen=True)
class NoSettings:
    """For readers without arguments."""


@dataclass(frozen=True)
class RandomSettings:
    """The arguments of the reader `random`."""

    radius: float = 15.0
    """Millimetres from the middle of a random ball to its edge."""


def make_random(arguments: Mapping[str, str], *, place: ReleaseRef | None = None) -> RandomReader:
    """Answers at random."""
    settings = settings_from(RandomSettings, arguments)
    if settings.radius <= 0:
        raise UsageError("the radius of a ball must be more than 0 mm")
    return RandomReader(require_release(place, "random"), settings)


def make_majority(arguments: Mapping[str, str], *, place: ReleaseRef | None = None) -> MajorityReader:
    """Gives the most frequent answer."""
    settings_from(NoSettings, arguments)
    return MajorityReader(require_release(place, "majority"))


def make_longest(arguments: Mapping[str, str], *, place: ReleaseRef | None = None) -> LongestReader:
    """Chooses the longest option."""
    settings_from(NoSettings, arguments)
    return LongestReader("longest", {"reader": "longest", "ties": "the earlier letter"})


def make_nothing(arguments: Mapping[str, str], *, place: ReleaseRef | None = None) -> NothingReader:
    """Hands in empty readings."""
    settings_from(NoSettings, arguments)
    return NothingReader("nothing", {"reader": "nothing"})


class NothingReader(WholeCaseBase):
    """Hands in an empty reading for every case: the lower bound of every metric."""

    async def reading(self, case: Case, pictures: Pictures, *, seed: int) -> Reading:
        """A reading with nothing in it."""
        return Reading(case_id=case.id, reader=self.name)


class LongestReader(WholeCaseBase):
    """Chooses the longest option; of equally long ones the first, as `length_bias` counts them."""

    async def reading(self, case: Case, pictures: Pictures, *, seed: int) -> Reading:
        """The letter of the longest option."""
        if not case.options:
            raise ReaderError("the case has no options, and 'longest' can do nothing else")
        letter = min(case.options, key=lambda option: (-len(option.text), option.letter)).letter
        return Reading(case_id=case.id, reader=self.name, choice=letter)


# ---- random --------------------------------------------------------------------------------


class RandomReader(LazyMaskBase):
    """Any letter; for each sentence a ball in the middle of the CT; another case's report.

    All letters are equally probable to it, and it says so. The report, or the answer to a question
    without options, is that of another case of the split, so that it reads like one.
    """

    def __init__(self, place: ReleaseRef, settings: RandomSettings) -> None:
        """Reports of the split are read when the first one is needed."""
        super().__init__(
            "random",
            {
                "reader": "random",
                "options": "one of them, all equally probable",
                "masks": f"a ball of {settings.radius:g} mm in the middle half of the CT",
                "reports and answers": "another case's of the same split",
            },
        )
        self._place = place
        self._radius = settings.radius

    @cached_property
    def _truths(self) -> list[tuple[str, Truth]]:
        """Case → the answer and the report of its truth, where it has any."""
        return [
            (entry.case.id, Truth(answer_text=truth.answer_text, report=truth.report))
            for entry in self._place.open().entries()
            if (truth := entry.truth) is not None and (truth.answer_text or truth.report)
        ]

    async def reading(self, case: Case, pictures: Pictures, *, seed: int) -> Reading:
        """A random reading; the same seed gives the same reading."""
        dice = np.random.default_rng(seed)
        if case.options:
            letters = [option.letter for option in case.options]
            parts: dict[str, Any] = {
                "choice": letters[int(dice.integers(len(letters)))],
                "probabilities": {letter: 1 / len(letters) for letter in letters},
            }
            return Reading(case_id=case.id, reader=self.name, **parts)
        if case.queries:
            space = pictures.geometry(case.pictures[0])

            def draw() -> list[Voxels]:
                return [random_ball(space, dice, self._radius) for _ in case.queries]

            return self._mask_reading(case, pictures, draw, seed=seed)
        others = [truth for other, truth in self._truths if other != case.id]
        told = others[int(dice.integers(len(others)))] if others else Truth()
        return Reading(case_id=case.id, reader=self.name, choice=told.answer_text, report=told.report)


def random_ball(space: Geometry, dice: np.random.Generator, radius: float) -> Voxels:
    """A ball of so many millimetres around a random voxel of the middle half of a volume.

    >>> from overread.pixels.geometry import make_geometry
    >>> space = make_geometry((40, 40, 20), np.diag([1.0, 1.0, 2.0, 1.0]), where="here")
    >>> mask = random_ball(space, np.random.default_rng(0), 6.0)
    >>> 0.9 < float(mask.sum()) * 2 / (4 / 3 * np.pi * 6**3) < 1.1
    True
    """
    centre = [int(dice.integers(n // 4, max(n // 4 + 1, n - n // 4))) for n in space.shape]
    reach = [int(radius / step) for step in space.spacing]
    low = [max(0, at - far) for at, far in zip(centre, reach, strict=True)]
    high = [min(n, at + far + 1) for n, at, far in zip(space.shape, centre, reach, strict=True)]
    axes = np.ogrid[tuple(slice(a, b) for a, b in zip(low, high, strict=True))]
    steps = zip(axes, centre, space.spacing, strict=True)
    squares = [((axis - at) * step) ** 2 for axis, at, step in steps]
    mask: Voxels = np.zeros(space.shape, dtype=bool)
    within = squares[0] + squares[1] + squares[2] <= radius**2
    mask[tuple(slice(a, b) for a, b in zip(low, high, strict=True))] = within
    return mask


# ---- majority ------------------------------------------------------------------------------


@dataclass(frozen=True)
class MajorityAnswers:
    """What is most often true in one split."""

    split: str
    cases: int
    letters: dict[str, float]
    """Letter → share of the cases whose key it is."""
    answer: str | None
    """The most frequent answer to questions without options."""
    report: str | None
    """The most typical report."""

    @property
    def has_truth(self) -> bool:
        """Whether the split has any truth to learn from."""
        return bool(self.letters or self.answer or self.report)


class MajorityReader(LazyMaskBase):
    """The most frequent letter, an empty mask for every sentence, the most typical report.

    It learns from the split `train` where the copy has one with its truth, else from the very split
    that is read; its identity says from which. A voxel is most often not marked, so the majority
    mask is empty.
    """

    def __init__(self, place: ReleaseRef) -> None:
        """Learn now: what was learned is part of the identity."""
        self._answers = usual = _learn_majority(place)
        super().__init__(
            "majority",
            {
                "reader": "majority",
                "learned from": usual.split if usual.has_truth else None,
                "cases": usual.cases,
                "letters": {letter: round(share, 6) for letter, share in usual.letters.items()},
                "masks": "empty",
                "reports": f"the one whose words are most like those of {REPORTS_COMPARED} others",
            },
        )

    async def reading(self, case: Case, pictures: Pictures, *, seed: int) -> Reading:
        """What is most often true, whatever the case."""
        if case.options:
            shares = {o.letter: self._answers.letters.get(o.letter, 0.0) for o in case.options}
            total = sum(shares.values())
            if not total:
                raise ReaderError("no case of this copy has a key to learn from")
            return Reading(
                case_id=case.id,
                reader=self.name,
                choice=min(shares, key=lambda letter: (-shares[letter], letter)),
                probabilities={letter: share / total for letter, share in shares.items()},
            )
        if case.queries:
            shape = pictures.geometry(case.pictures[0]).shape

            def draw() -> list[Voxels]:
                return [np.zeros(shape, dtype=bool)] * len(case.queries)

            return self._mask_reading(case, pictures, draw, seed=seed)
        if not self._answers.has_truth:
            raise ReaderError("no case of this copy has a truth to learn from")
        usual = self._answers
        return Reading(case_id=case.id, reader=self.name, choice=usual.answer, report=usual.report)


def _learn_majority(place: ReleaseRef) -> MajorityAnswers:
    elsewhere = place.split != "train" and "train" in place.definition.splits
    for form in dict.fromkeys((place.form, None)) if elsewhere else ():
        try:
            other = replace(place, split="train", form=form).open()
            found = _count_majority("train", other.entries())
        except OverreadError:
            continue  # no such split here, or not in this form, or damaged
        if found.has_truth:
            return found
    return _count_majority(place.split, place.open().entries())


def _count_majority(split: str, entries: Iterator[Entry]) -> MajorityAnswers:
    letters: Counter[str] = Counter()
    answers: Counter[str] = Counter()
    reports: list[str] = []
    cases = 0
    for entry in entries:
        truth = entry.truth or Truth()
        cases += entry.truth is not None
        if truth.answer and entry.case.options:
            letters[truth.answer] += 1
        elif truth.answer_text and not entry.case.options:
            answers[truth.answer_text] += 1
        if truth.report and not entry.case.options:
            reports.append(truth.report)
    total = letters.total()
    return MajorityAnswers(
        split=split,
        cases=cases,
        letters={letter: letters[letter] / total for letter in sorted(letters)},
        answer=min(answers, key=lambda text: (-answers[text], text)) if answers else None,
        report=most_typical(reports),
    )


def most_typical(texts: Sequence[str]) -> str | None:
    """The text whose words are most like those of the others; the first of equals.

    >>> most_typical(["the heart is large", "the heart is normal", "the heart is normal in size"])
    'the heart is normal'
    """
    step = max(1, len(texts) // REPORTS_COMPARED)
    some = list(texts[::step][:REPORTS_COMPARED])
    words = [frozenset(re.findall(r"\w+", text.casefold())) for text in some]
    scores = [
        sum(2 * len(mine & other) / max(1, len(mine) + len(other)) for other in words) for mine in words
    ]
    return some[max(range(len(some)), key=lambda n: (scores[n], -n))] if some else None
