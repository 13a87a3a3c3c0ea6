"""The teaching discussion of a case: six sections, on what was really found in this patient."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from overread.core import Record
from overread.core.verdicts import SECTIONS
from overread.phantom.illness.draft import Draft
from overread.phantom.illness.finding_phrases import (
    describe_absence,
    describe_findings,
    find_words,
    finding_name,
)
from overread.phantom.illness.history import pick
from overread.phantom.illness.model import (
    Disease,
    FindingName,
    load_diseases,
    load_diseases_by_option,
    load_presentations,
    read_tables,
)
from overread.phantom.statement import FindingStatement
from overread.phantom.words.text_forms import join_phrases

_FILES = ("infections", "interstitial", "airways", "tumours", "chest")
_SYNTHETIC_NOTES = (
    "This patient is synthetic, and the images were computed.",
    "The patient is synthetic: nobody was examined.",
    "All of this patient is synthetic, the images included.",
)
_HISTORY_NOTES = (
    "The history, {about}, fits all five diagnoses and decides nothing.",
    "This patient came with {about}, which each of the five diagnoses may cause.",
    "What brought the patient, {about}, leaves all five diagnoses open.",
)


class TeachingText(Record):
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
def load_teaching_texts() -> dict[str, TeachingText]:
    """Code of a diagnosis → what is said of it."""
    found: dict[str, TeachingText] = {}
    for name in _FILES:
        for code, table in read_tables("teaching", f"{name}.toml").items():
            found[code] = TeachingText.model_validate(table)
    return found


def case_title(draft: Draft) -> str:
    """The title of a case, which tells nothing.

    It is a number, as in the release.
    """
    return f"Case number {draft.patient:05d}"


def write_discussion(
    draft: Draft,
    found: Sequence[FindingStatement],
    changes: str | None,
    rng: np.random.Generator,
    others: Sequence[tuple[str, str]] | None = None,
) -> str:
    """The discussion in six sections, each under its heading.

    `found` is what was seen on all days together, `changes` what became of it, in words. `others`
    are the diagnoses that are weighed, as code and name; without them, the other four options.
    """
    lesson = load_teaching_texts()[draft.disease]
    if others is None:
        others = [
            (load_diseases_by_option()[option.text].code, option.text)
            for option in draft.options
            if option.letter != draft.answer
        ]
    seen = "; ".join(_describe_found(draft, found))
    imaging = [
        pick(rng, ("CT shows {}.", "In this patient CT shows {}.", "The scan shows {}.")).format(seen),
        *lesson.imaging,
        *(_exclusion_sentence(draft, found, code, name, rng) for code, name in others),
    ]
    outcome = [*_drop_one(rng, lesson.outcome), *([changes] if changes else [])]
    outcome.append(pick(rng, _SYNTHETIC_NOTES))
    about = load_presentations()[draft.group].about
    texts = (
        _drop_one(rng, lesson.background),
        [*_drop_one(rng, lesson.clinical), pick(rng, _HISTORY_NOTES).format(about=about)],
        imaging,
        _drop_one(rng, lesson.significance),
        outcome,
        lesson.take_home,
    )
    return "\n\n".join(
        f"{heading[0].upper()}{heading[1:]}\n{' '.join(sentences)}"
        for heading, sentences in zip(SECTIONS, texts, strict=True)
    )


def _describe_found(draft: Draft, found: Sequence[FindingStatement]) -> list[str]:
    """What belongs to the illness, and then the rest."""
    disease = load_diseases()[draft.disease]
    own = describe_findings([one for one in found if finding_name(one) in disease.possible])
    rest = describe_findings([one for one in found if finding_name(one) not in disease.possible])
    if not own:
        return [rest or "nothing that stands out"]
    return [own, f"besides, without bearing on the diagnosis, {rest}"] if rest else [own]


def _exclusion_sentence(
    draft: Draft, found: Sequence[FindingStatement], code: str, name: str, rng: np.random.Generator
) -> str:
    """Why it is not another diagnosis: what that would show, or what it would not explain."""
    other, lesson = load_diseases()[code], load_teaching_texts()[code]
    marks = {finding_name(one) for one in found}
    missing = [needed for needed in other.needed if not needed & marks]
    said = pick(rng, ("would be expected to show", "would show", "would typically show"))
    if missing:
        return f"{name} {said} {lesson.expects}, but {describe_absence(missing[0])}."
    strange = _unexplained_findings(load_diseases()[draft.disease], other, marks)
    if not strange:
        return f"{name} {said} {lesson.expects}."
    return f"{name} would not explain {join_phrases(find_words(mark).one for mark in strange)}."


def _unexplained_findings(disease: Disease, other: Disease, marks: set[FindingName]) -> list[FindingName]:
    """What was found of the illness that another diagnosis never comes with: its marks if any."""
    strange = (marks & disease.possible) - other.possible
    needed = frozenset[FindingName]().union(*disease.needed)
    return sorted(strange & needed or strange)


def _drop_one(rng: np.random.Generator, sentences: Sequence[str]) -> list[str]:
    """All sentences, or one of them less, in their order."""
    if len(sentences) < 2 or rng.random() < 0.5:
        return list(sentences)
    left_out = int(rng.random() * len(sentences))
    return [text for n, text in enumerate(sentences) if n != left_out]
