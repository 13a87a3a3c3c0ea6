"""Captions of a case's pictures, and the imaging findings that sum them up.

A caption says what kind of picture it is, where and when it was taken, and what it shows: of a CT
slice what lies in that slice, of a film what its signs bear out, and nothing besides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from overread.phantom.case.changing import told_change, told_changes
from overread.phantom.case.course import Change
from overread.phantom.case.slices import Slice
from overread.phantom.film.saying import say
from overread.phantom.film.sign import FRONTAL, Sight, Sign
from overread.phantom.film.wording import Stance
from overread.phantom.illness.draft import Draft, Look
from overread.phantom.places import pick
from overread.phantom.sentences import sentence
from overread.phantom.statement import Statement
from overread.phantom.visit import Visit

_WINDOWS = {"lung": "lung", "mediastinum": "mediastinal", "bone": "bone"}
_CT = (
    "{Plane} CT of the chest in the {window} window {level}",
    "{Plane} chest CT, {window} window, {level}",
    "{Plane} CT image ({window} window) {level}",
)
_FILMS = {
    "PA": ("PA chest radiograph", "Frontal chest radiograph (PA)", "Posteroanterior chest film"),
    "AP supine": ("Supine AP chest radiograph", "Bedside chest radiograph (AP, supine)"),
    "lateral": ("Lateral chest radiograph", "Lateral chest film"),
}
_FIRST = ("at presentation", "at the first examination")
_CLEAR = (
    "Nothing abnormal is seen at this level.",
    "This slice shows nothing out of the ordinary.",
    "No abnormality is seen on this slice.",
)
_PLAIN_FILM = (
    "No abnormality is seen on this film.",
    "The film shows nothing out of the ordinary.",
)
_NO_CT = "CT of the chest shows no abnormality of lung or pleura."


def ct_caption(
    draft: Draft,
    look: Look,
    one: Slice,
    changes: Mapping[str, Change],
    rng: np.random.Generator,
    *,
    held_out: bool = False,
) -> str:
    """The caption of a CT slice; `changes` by the keys of the findings."""
    head = pick(rng, _CT).format(
        Plane=one.plane.capitalize(), window=_WINDOWS[one.window], level=one.level
    )
    said = [f"{head}{_when(draft, look, rng)}."]
    said += [_said(shown.statement, rng, held_out=held_out) for shown in one.shown]
    said += [told_change(changes[key], rng) for key in one.gone if key in changes]
    if len(said) == 1 and one.clear and one.window == "lung":
        said.append(pick(rng, _CLEAR))
    return " ".join(said)


def film_caption(
    draft: Draft,
    look: Look,
    sight: Sight | None,
    rng: np.random.Generator,
    *,
    held_out: bool = False,
) -> str:
    """The caption of a film; of a lateral one nothing is claimed."""
    assert look.view is not None
    said = [f"{pick(rng, _FILMS[look.view])}{_when(draft, look, rng)}."]
    if sight is not None:
        signs = film_sentences(sight, rng, held_out=held_out)
        said += signs or [pick(rng, _PLAIN_FILM)]
    return " ".join(said)


def film_sentences(sight: Sight, rng: np.random.Generator, *, held_out: bool = False) -> list[str]:
    """What a frontal film shows, and what it may show, each as a sentence."""
    told: list[str] = []
    for sign in _seen(sight.signs):
        stance: Stance = "positive" if sign.seen == "seen" else "hedged"
        made = say(sign, sight, rng, stance=stance, style="radiologist", held_out=held_out)
        told.append(_closed(made.text))
    return told


def imaging_findings(
    draft: Draft,
    days: Sequence[Visit],
    sights: Mapping[str, Sight | None],
    changes: Sequence[Change],
    rng: np.random.Generator,
    *,
    held_out: bool = False,
) -> str:
    """The findings of all pictures together: films, CT, and what became of them."""
    parts: list[str] = []
    for look in draft.looks:
        sight = sights.get(look.id)
        if look.time == 0 and look.view in FRONTAL and sight is not None:
            told = film_sentences(sight, rng, held_out=held_out)
            parts.append(f"Chest radiograph: {_lower(' '.join(told or [_PLAIN_FILM[0]]))}")
    statements = [finding.statement for finding in days[0].findings]
    statements += [other.statement for other in days[0].beyond]
    said = [_said(one, rng, held_out=held_out) for one in statements]
    lung = any(True for _ in days[0].findings)
    parts.append(f"CT: {_lower(' '.join(said))}" if lung else " ".join([_NO_CT, *said]))
    if len(days) > 1:
        parts.append(told_changes(changes, rng, interval=draft.interval))
        parts += [
            _said(change.after, rng, held_out=held_out)
            for change in changes
            if change.turn == "new" and change.after is not None
        ]
    return "\n".join(parts)


def _when(draft: Draft, look: Look, rng: np.random.Generator) -> str:
    """When it was taken, where there are two time points."""
    if draft.interval is None:
        return ""
    if look.time == 0:
        return f" {pick(rng, _FIRST)}"
    return pick(rng, (f", {draft.interval} later", f" at follow-up after {draft.interval}"))


def _said(statement: Statement, rng: np.random.Generator, *, held_out: bool) -> str:
    """One finding as a sentence that names its place."""
    return _closed(sentence(statement, rng, held_out=held_out, name_place=True).text)


def _seen(signs: Iterable[Sign]) -> list[Sign]:
    return [sign for sign in signs if sign.seen != "hidden"]


def _closed(text: str) -> str:
    text = text[0].upper() + text[1:]
    return text if text.endswith(".") else f"{text}."


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
