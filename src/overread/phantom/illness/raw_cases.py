"""Raw teaching cases, as builders of such a benchmark have them before anything is filtered.

A raw case has six to nine differentials (a few have fewer than five and are not eligible) and the
final diagnosis. Some histories give it away: they name a diagnosis (a leak of one of three levels),
or hold a clue that only one diagnosis fits. What was planted where stands in a hidden file.

    L3  the name itself: "Diagnosis: X", "biopsy-proven X"
    L2  a synonym, an acronym, an eponym or a foreign form
    L1  a hedged mention: "? X", "to rule out X", "suspected X"
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from overread.core import Entry, Record
from overread.core.case import captions_of
from overread.phantom.illness.discussion import load_teaching_texts, write_discussion
from overread.phantom.illness.draft import Draft
from overread.phantom.illness.entries import describe_planned_changes, list_planned_ever
from overread.phantom.illness.history import fill_template, pick, pronouns
from overread.phantom.illness.model import (
    Disease,
    are_distinguishable,
    load_diseases,
    load_diseases_by_option,
    load_presentations,
)
from overread.phantom.illness.sampler import plausible_diseases
from overread.phantom.population import seed_for
from overread.phantom.statement import FindingStatement
from overread.phantom.visit import PatientSettings

RawCaseKind = Literal["clean", "few", "L1", "L2", "L3", "clue"]

KIND_SHARES: dict[RawCaseKind, float] = {
    "clean": 0.60,
    "few": 0.08,
    "L1": 0.08,
    "L2": 0.08,
    "L3": 0.08,
    "clue": 0.08,
}
"""How many raw cases are of which kind; 'few' have fewer than five differentials."""

_LEAK_SENTENCES: dict[str, tuple[str, ...]] = {
    "L3": (
        "Diagnosis: {}.",
        "Biopsy-proven {}.",
        "The discharge letter reads {}.",
        "{} was diagnosed elsewhere.",
    ),
    "L2": (
        "The referral form reads {}.",
        "The patient was known to the ward for {}.",
        "A colleague had noted {} on the chart.",
    ),
    "L1": (
        "? {}.",
        "To rule out {}.",
        "Suspected {}.",
        "Findings possibly consistent with {}.",
        "The request says r/o {}.",
    ),
}
_TRUE_LEAK_SHARE = 0.7
"""How many of the leaks name the true diagnosis; the others name one that is wrong."""


class PlantedHint(Record):
    """What is hidden in one raw case."""

    id: str
    """Id of the raw case."""
    kind: RawCaseKind
    """What it is: clean, too few differentials, a leak of a level, or a clue."""
    eligible: bool
    """Whether it has at least five differentials."""
    level: Literal["L1", "L2", "L3"] | None = None
    """Level of the leak."""
    span: tuple[int, int] | None = None
    """Where the label or the clue stands in the history: [start, end)."""
    evidence: str | None = None
    """What stands there."""
    diagnosis: str | None = None
    """The differential that it is about."""
    is_key: bool | None = None
    """Whether that is the final diagnosis."""


def make_raw_case(
    draft: Draft,
    entry: Entry,
    settings: PatientSettings,
    found: list[FindingStatement] | None = None,
    changes: str | None = None,
) -> tuple[dict[str, Any], PlantedHint]:
    """The raw case of a draft and what is planted in it.

    `entry` lends captions, findings and files. `found` and `changes` are what was measured; without
    them the discussion speaks of what is planned.
    """
    rng = np.random.default_rng(seed_for(settings.seed, draft.patient, "case", "raw"))
    truth = entry.truth
    assert truth is not None
    name = f"raw{draft.patient:05d}"
    kind = _draw_kind(rng)
    answer = next(option.text for option in draft.options if option.letter == draft.answer)
    listed = _draw_differential(draft, rng, few=kind == "few")
    history, planted = _plant_hint(draft, kind, answer, listed, name, rng)
    captions = captions_of(truth)
    notes = {note.picture: note for note in truth.notes}
    if found is None:
        found, changes = list_planned_ever(draft), describe_planned_changes(draft)
    others = [(load_diseases_by_option()[text].code, text) for text in listed if text != answer]
    row: dict[str, Any] = {
        "id": name,
        "patient": entry.case.patient,
        "title": truth.title,
        "history": history,
        "imaging_findings": truth.report,
        "discussion": write_discussion(draft, found, changes, rng, others),
        "differential": listed,
        "final_diagnosis": answer,
        "images": [
            {
                "id": notes[picture.name].id,
                "file": picture.file,
                "caption": captions.get(picture.name),
                "modality": notes[picture.name].modality,
                "sub_modality": notes[picture.name].sub_modality,
            }
            for picture in entry.case.pictures
        ],
    }
    if draft.interval is not None:
        row["interval"] = draft.interval
    return row, planted


def _draw_kind(rng: np.random.Generator) -> RawCaseKind:
    left = rng.random()
    for kind, share in KIND_SHARES.items():
        left -= share
        if left < 0:
            return kind
    return "clean"


def _draw_differential(draft: Draft, rng: np.random.Generator, *, few: bool) -> list[str]:
    """The differentials by lot: the five options and some more, or three or four of the five."""
    five = [option.text for option in draft.options]
    if few:
        answer = next(option.text for option in draft.options if option.letter == draft.answer)
        others = [text for text in five if text != answer]
        kept = sorted(others, key=lambda _: rng.random())[: 2 + int(rng.random() * 2)]
        return sorted([answer, *kept], key=lambda _: rng.random())
    offered = {load_diseases_by_option()[text].code for text in five}
    group = plausible_diseases(load_presentations()[draft.group], draft.age, draft.sex)
    right = load_diseases()[draft.disease]
    able = [one for one in load_diseases().values() if one.may_affect(draft.age, draft.sex)]
    # Whichever four are kept beside the true one, the findings tell them apart from it.
    able = [one for one in able if one.code not in offered and are_distinguishable(one, right)]
    near = [one for one in able if one in group]
    far = [one for one in able if one not in group]
    more = sorted(near, key=lambda _: rng.random()) + sorted(far, key=lambda _: rng.random())
    number = 1 + int(rng.random() * 4)
    return sorted([*five, *(pick(rng, one.options) for one in more[:number])], key=lambda _: rng.random())


def _plant_hint(
    draft: Draft, kind: RawCaseKind, answer: str, listed: list[str], name: str, rng: np.random.Generator
) -> tuple[str, PlantedHint]:
    """The history with what is planted in it, and the note of it."""
    history = draft.history
    if kind in ("clean", "few"):
        return history, PlantedHint(id=name, kind=kind, eligible=kind != "few")
    about, words = answer, ""
    if kind == "clue":
        words = fill_template(
            load_teaching_texts()[load_diseases_by_option()[answer].code].clue, rng, pronouns(draft.sex)
        )
        sentence, inner = words, 0
    else:
        if rng.random() >= _TRUE_LEAK_SHARE:
            about = pick(rng, [text for text in listed if text != answer])
        template = pick(rng, _LEAK_SENTENCES[kind])
        words = _leak_words(
            load_diseases_by_option()[about], about, kind, rng, begins=template.startswith("{}")
        )
        inner = template.index("{}")
        sentence = template.format(words)
    before, after = _split_history(history, rng)
    start = len(before) + bool(before) + inner
    text = " ".join(part for part in (before, sentence, after) if part)
    assert text[start : start + len(words)] == words
    planted = PlantedHint(
        id=name,
        kind=kind,
        eligible=True,
        level=kind if kind in ("L1", "L2", "L3") else None,
        span=(start, start + len(words)),
        evidence=words,
        diagnosis=about,
        is_key=about == answer,
    )
    return text, planted


def _leak_words(
    disease: Disease, text: str, kind: RawCaseKind, rng: np.random.Generator, *, begins: bool
) -> str:
    """What the leak says: the name of the option, or for L2 another name of it."""
    words = pick(rng, disease.also) if kind == "L2" else text
    # Names of organisms and eponyms keep their capitals: those of `also` are written as they are.
    if kind == "L2" or begins or words.split()[0] in ("Pneumocystis",):
        return words
    return words[0].lower() + words[1:]


def _split_history(history: str, rng: np.random.Generator) -> tuple[str, str]:
    """The history before and after a sentence that is put in: second or last."""
    first = history.find(". ") + 1
    if first and rng.random() < 0.4:
        return history[:first], history[first + 1 :]
    return history, ""
