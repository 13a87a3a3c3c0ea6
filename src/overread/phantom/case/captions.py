"""Captions of a case's pictures, and the imaging findings that sum them up.

A caption says what kind of picture it is, where and when it was taken, and what it shows: of a CT
slice what lies in that slice, of a film what its signs bear out, and nothing besides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from overread.phantom.case.change_words import write_change, write_changes
from overread.phantom.case.days import FindingChange
from overread.phantom.case.slices import CaseSlice
from overread.phantom.film.lexicon import Stance
from overread.phantom.film.sign import FRONTAL, FilmContents, Sign
from overread.phantom.film.sign_sentences import write_sign_sentence
from overread.phantom.illness.draft import Draft, PictureSpec
from overread.phantom.statement import FindingStatement
from overread.phantom.visit import Visit
from overread.phantom.words.place_phrases import pick
from overread.phantom.words.sentences import write_sentence
from overread.phantom.words.text_forms import lower_first, to_sentence

_WINDOWS = {"lung": "lung", "mediastinum": "mediastinal", "bone": "bone"}
_CT_HEADS = (
    "{Plane} CT of the chest in the {window} window {level}",
    "{Plane} chest CT, {window} window, {level}",
    "{Plane} CT image ({window} window) {level}",
)
_FILM_HEADS = {
    "PA": ("PA chest radiograph", "Frontal chest radiograph (PA)", "Posteroanterior chest film"),
    "AP supine": ("Supine AP chest radiograph", "Bedside chest radiograph (AP, supine)"),
    "lateral": ("Lateral chest radiograph", "Lateral chest film"),
}
_FIRST_TIMES = ("at presentation", "at the first examination")
_CLEAR_SLICE = (
    "Nothing abnormal is seen at this level.",
    "This slice shows nothing out of the ordinary.",
    "No abnormality is seen on this slice.",
)
_CLEAR_FILM = ("No abnormality is seen on this film.", "The film shows nothing out of the ordinary.")
_CLEAR_CT = "CT of the chest shows no abnormality of lung or pleura."


def write_ct_caption(
    draft: Draft,
    look: PictureSpec,
    one: CaseSlice,
    changes: Mapping[str, FindingChange],
    rng: np.random.Generator,
    *,
    held_out: bool = False,
) -> str:
    """The caption of a CT slice; `changes` by the keys of the findings."""
    head = pick(rng, _CT_HEADS).format(
        Plane=one.plane.capitalize(), window=_WINDOWS[one.window], level=one.level
    )
    said = [f"{head}{_time_phrase(draft, look, rng)}."]
    said += [_finding_sentence(shown.statement, rng, held_out=held_out) for shown in one.shown]
    said += [write_change(changes[key], rng) for key in one.gone if key in changes]
    if len(said) == 1 and one.clear and one.window == "lung":
        said.append(pick(rng, _CLEAR_SLICE))
    return " ".join(said)


def write_film_caption(
    draft: Draft,
    look: PictureSpec,
    sight: FilmContents | None,
    rng: np.random.Generator,
    *,
    held_out: bool = False,
) -> str:
    """The caption of a film; of a lateral one nothing is claimed."""
    assert look.view is not None
    said = [f"{pick(rng, _FILM_HEADS[look.view])}{_time_phrase(draft, look, rng)}."]
    if sight is not None:
        signs = write_film_sentences(sight, rng, held_out=held_out)
        said += signs or [pick(rng, _CLEAR_FILM)]
    return " ".join(said)


def write_film_sentences(
    sight: FilmContents, rng: np.random.Generator, *, held_out: bool = False
) -> list[str]:
    """What a frontal film shows, and what it may show, each as a sentence."""
    told: list[str] = []
    for sign in _visible_signs(sight.signs):
        stance: Stance = "positive" if sign.seen == "seen" else "hedged"
        made = write_sign_sentence(sign, sight, rng, stance=stance, style="radiologist", held_out=held_out)
        told.append(to_sentence(made.text))
    return told


def write_imaging_findings(
    draft: Draft,
    days: Sequence[Visit],
    sights: Mapping[str, FilmContents | None],
    changes: Sequence[FindingChange],
    rng: np.random.Generator,
    *,
    held_out: bool = False,
) -> str:
    """The findings of all pictures together: films, CT, and what became of them."""
    parts: list[str] = []
    for look in draft.pictures:
        sight = sights.get(look.id)
        if look.time == 0 and look.view in FRONTAL and sight is not None:
            told = write_film_sentences(sight, rng, held_out=held_out)
            parts.append(f"Chest radiograph: {lower_first(' '.join(told or [_CLEAR_FILM[0]]))}")
    statements = [finding.statement for finding in days[0].findings]
    statements += [other.statement for other in days[0].extrapulmonary]
    said = [_finding_sentence(one, rng, held_out=held_out) for one in statements]
    lung = any(True for _ in days[0].findings)
    parts.append(f"CT: {lower_first(' '.join(said))}" if lung else " ".join([_CLEAR_CT, *said]))
    if len(days) > 1:
        parts.append(write_changes(changes, rng, interval=draft.interval))
        parts += [
            _finding_sentence(change.after, rng, held_out=held_out)
            for change in changes
            if change.turn == "new" and change.after is not None
        ]
    return "\n".join(parts)


def _time_phrase(draft: Draft, look: PictureSpec, rng: np.random.Generator) -> str:
    """When it was taken, where there are two time points."""
    if draft.interval is None:
        return ""
    if look.time == 0:
        return f" {pick(rng, _FIRST_TIMES)}"
    return pick(rng, (f", {draft.interval} later", f" at follow-up after {draft.interval}"))


def _finding_sentence(statement: FindingStatement, rng: np.random.Generator, *, held_out: bool) -> str:
    """One finding as a sentence that names its place."""
    return to_sentence(write_sentence(statement, rng, held_out=held_out, name_place=True).text)


def _visible_signs(signs: Iterable[Sign]) -> list[Sign]:
    return [sign for sign in signs if sign.seen != "hidden"]
