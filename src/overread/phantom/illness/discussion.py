"""The teaching discussion of a case: six sections, on what was really found in this patient."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from overread.core import Record
from overread.core.verdicts import SECTIONS
from overread.phantom.illness.draft import Draft
from overread.phantom.illness.history import pick
from overread.phantom.illness.model import (
    Disease,
    Mark,
    by_option,
    diseases,
    presentations,
    read_tables,
)
from overread.phantom.illness.telling import absent, called, listed, mark_of, told_together
from overread.phantom.statement import Statement

_FILES = ("infections", "interstitial", "airways", "tumours", "chest")
_SYNTHETIC = (
    "This patient is synthetic, and the images were computed.",
    "The patient is synthetic: nobody was examined.",
    "All of this patient is synthetic, the images included.",
)
_UNDECIDED = (
    "The history, {about}, fits all five diagnoses and decides nothing.",
    "This patient came with {about}, which each of the five diagnoses may cause.",
    "What brought the patient, {about}, leaves all five diagnoses open.",
)


class Lesson(Record):
    """What is said of a diagnosis for teaching."""

    background: tuple[str, ...]
    """What the disease is."""
    clinical: tuple[str, ...]
    """How patients present."""
    imaging: tuple[str, ...]
    """What is typical on images."""
    expects: str
    """The same in a few words, after 'would be expected to show'."""
    significance: tuple[str, ...]
    """Why it matters."""
    outcome: tuple[str, ...]
    """What becomes of patients."""
    take_home: tuple[str, ...]
    """What to remember."""
    clue: str
    """A sentence of a history that fits only this diagnosis: for raw sources, never for a case."""


@cache
def lessons() -> dict[str, Lesson]:
    """Code of a diagnosis → what is said of it."""
    found: dict[str, Lesson] = {}
    for name in _FILES:
        for code, table in read_tables("teaching", f"{name}.toml").items():
            found[code] = Lesson.model_validate(table)
    return found


def title(draft: Draft) -> str:
    """The title of a case, which tells nothing.

    It is a number, as in the release.
    """
    return f"Case number {draft.patient:05d}"


def discussion(
    draft: Draft,
    found: Sequence[Statement],
    changes: str | None,
    rng: np.random.Generator,
    others: Sequence[tuple[str, str]] | None = None,
) -> str:
    """The discussion in six sections, each under its heading.

    `found` is what was seen on all days together, `changes` what became of it, in words. `others`
    are the diagnoses that are weighed, as code and name; without them, the other four options.
    """
    lesson = lessons()[draft.disease]
    if others is None:
        others = [
            (by_option()[option.text].code, option.text)
            for option in draft.options
            if option.letter != draft.answer
        ]
    seen = "; ".join(_findings(draft, found))
    imaging = [
        pick(rng, ("CT shows {}.", "In this patient CT shows {}.", "The scan shows {}.")).format(
            seen
        ),
        *lesson.imaging,
        *(_against(draft, found, code, name, rng) for code, name in others),
    ]
    outcome = [*_some(rng, lesson.outcome), *([changes] if changes else [])]
    outcome.append(pick(rng, _SYNTHETIC))
    about = presentations()[draft.group].about
    texts = (
        _some(rng, lesson.background),
        [*_some(rng, lesson.clinical), pick(rng, _UNDECIDED).format(about=about)],
        imaging,
        _some(rng, lesson.significance),
        outcome,
        lesson.take_home,
    )
    return "\n\n".join(
        f"{heading[0].upper()}{heading[1:]}\n{' '.join(sentences)}"
        for heading, sentences in zip(SECTIONS, texts, strict=True)
    )


def _findings(draft: Draft, found: Sequence[Statement]) -> list[str]:
    """What belongs to the illness, and then the rest."""
    disease = diseases()[draft.disease]
    own = told_together([one for one in found if mark_of(one) in disease.possible])
    rest = told_together([one for one in found if mark_of(one) not in disease.possible])
    if not own:
        return [rest or "nothing that stands out"]
    return [own, f"besides, without bearing on the diagnosis, {rest}"] if rest else [own]


def _against(
    draft: Draft, found: Sequence[Statement], code: str, name: str, rng: np.random.Generator
) -> str:
    """Why it is not another diagnosis: what that would show, or what it would not explain."""
    other, lesson = diseases()[code], lessons()[code]
    marks = {mark_of(one) for one in found}
    missing = [needed for needed in other.needed if not needed & marks]
    said = pick(rng, ("would be expected to show", "would show", "would typically show"))
    if missing:
        return f"{name} {said} {lesson.expects}, but {absent(missing[0])}."
    strange = _unexplained(diseases()[draft.disease], other, marks)
    if not strange:
        return f"{name} {said} {lesson.expects}."
    return f"{name} would not explain {listed(called(mark).one for mark in strange)}."


def _unexplained(disease: Disease, other: Disease, marks: set[Mark]) -> list[Mark]:
    """What was found of the illness that another diagnosis never comes with: its marks if any."""
    strange = (marks & disease.possible) - other.possible
    needed = frozenset[Mark]().union(*disease.needed)
    return sorted(strange & needed or strange)


def _some(rng: np.random.Generator, sentences: Sequence[str]) -> list[str]:
    """All sentences, or one of them less, in their order."""
    if len(sentences) < 2 or rng.random() < 0.5:
        return list(sentences)
    left_out = int(rng.random() * len(sentences))
    return [text for n, text in enumerate(sentences) if n != left_out]
