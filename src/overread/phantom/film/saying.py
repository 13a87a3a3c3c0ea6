"""A sign put into one sentence, which says no more than the sign does."""

from __future__ import annotations

import re
from bisect import bisect
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from overread.errors import UsageError
from overread.phantom.film.sign import Sight, Sign
from overread.phantom.film.wording import (
    FilmWording,
    Stance,
    film_choices,
    kind_of,
    sign_words,
)
from overread.phantom.film.zones import half_place, lung_place, side_word, sides_of
from overread.phantom.lexicon import Noun, Style, common_words, grade_words
from overread.phantom.phrases import length, measured, thing, with_articles
from overread.phantom.places import Place, pick
from overread.phantom.statement import Statement

_PLURALS = {
    "is": "are",
    "was": "were",
    "projects": "project",
    "remains": "remain",
}
_PLACE_PLURALS = {
    "shows": "show",
    "demonstrates": "demonstrate",
    "contains": "contain",
    "has": "have",
}
_UNGRADED = ("cardiomegaly",)
"""Kinds that a film grades by a measure of its own, if at all: the scan's grade may differ."""
_STAYS_BEHIND = re.compile(
    r" (of|in) |^(thickened|dilated|clustered|tiny|small|fine|millimetric|streaky|prominent)\b"
)
"""Nouns that a place follows: "left upper lung tiny nodules" is no English."""
_WALLS = ("thick-walled", "thin-walled")
_PLEURA = ("2e", "2g")
_TOLD = 0.505
"""The ratio from which an enlarged heart is said with its ratio: less would read as 0.50."""


@dataclass(frozen=True)
class Said:
    """A sentence without its full stop, and what it was made from."""

    text: str
    wording: str
    noun: Noun | None


def say(
    sign: Sign,
    sight: Sight,
    rng: np.random.Generator,
    *,
    stance: Stance,
    style: Style,
    held_out: bool,
) -> Said:
    """Put a sign into words, positively or hedged; its place is named, where it has one."""
    kind = kind_of(sign.statement)
    where = place_of(sign, rng)
    statement = film_statement(sign, stance=stance)
    fitting = [
        one
        for one in film_choices(kind, stance, style)
        if one.held_out == held_out
        and (where is not None or not one.needs_place)
        and fits(one, sign, sight)
    ]
    if not fitting:
        raise UsageError(
            f"no {stance} wording fits {kind!r} on a radiograph",
            where=f"src/overread/phantom/wordings, style {style}, held out: {held_out}",
            remedy="add wordings to that file",
        )
    steps = list(accumulate(one.weight for one in fitting))
    at = bisect(steps, rng.random() * steps[-1])
    wording = fitting[min(at, len(fitting) - 1)]
    return filled(wording, statement, sign, sight, where, rng, style)


def place_of(sign: Sign, rng: np.random.Generator) -> Place | None:
    """Where a sign is, in words; None for a heart, a spine, a hilum."""
    placed = sign_words(kind_of(sign.statement)).placed
    if placed == "zones":
        return lung_place(sign, rng)
    if placed == "half":
        return half_place(sign, rng, pleural=sign.statement.category in _PLEURA)
    return None


def film_statement(sign: Sign, *, stance: Stance) -> Statement:
    """What of a statement a film bears out: no lobes, no numbers, the size as it is on the film."""
    told = sign.statement
    sides = len(sides_of(sign))
    count = max(told.count, sides)
    if told.side == "both" and sides == 1:
        count -= 1
    graded = stance == "positive" and told.kind not in _UNGRADED
    return Statement(
        category=told.category,
        kind=told.kind,
        side=told.side,
        count=max(1, count),
        size_mm=sign.size_mm if stance == "positive" else None,
        severity=told.severity if graded else None,
        traits=tuple(trait for trait in told.traits if trait in _WALLS and told.category == "2h"),
    )


def filled(
    wording: FilmWording,
    statement: Statement,
    sign: Sign,
    sight: Sight,
    where: Place | None,
    rng: np.random.Generator,
    style: Style,
) -> Said:
    """The wording with every slot filled."""
    noun = wording.noun
    ahead = (
        where is not None
        and bool(where.modifier)
        and noun is not None
        and not wording.needs_place
        and (where.modifier == "bilateral" or not _STAYS_BEHIND.search(noun.text))
        and rng.random() < 0.4
    )
    slots = {"side": side_word(sign) or "", "ratio": f"{sight.heart_ratio:.2f}"}
    plural = False
    if noun is not None:
        modifier = where.modifier if where is not None and ahead else ""
        if re.search(r"^(apical|bilateral)\b", noun.text):
            modifier = modifier.removesuffix(" apical").replace("biapical", "bilateral")
        named = thing(statement, noun, rng, style=style, modifier=modifier, spread=False, full=0.6)
        slots["thing"] = named.text
        slots["a_thing"] = f"{{a}} {named.text}" if named.article else named.text
        plural = named.plural
        sized = "size_mm" in named.said or re.search("subcentimeter|millimetric", named.text)
        if not sized and "{sized}" in wording.template:
            slots |= _sized(statement, noun, rng, style)
    if where is not None:
        slots |= {"place": where.name, "within": where.within}
        slots["at"] = "" if ahead else where.adverb or where.within
    slots |= _graded(statement, rng)
    places_plural = where is not None and where.plural
    for verbs, many in ((_PLURALS, plural), (_PLACE_PLURALS, places_plural)):
        slots |= {one: several if many else one for one, several in verbs.items()}
    text = re.sub(
        r"\{(\w+)\}", lambda m: slots.get(m[1], "{a}" if m[1] == "a" else ""), wording.template
    )
    text = with_articles(" ".join(text.split()).replace(" ,", ","))
    return Said(text[0].upper() + text[1:], wording.text, noun)


def fits(wording: FilmWording, sign: Sign, sight: Sight) -> bool:
    """Whether a wording can be said of a sign on such a film."""
    if wording.views and sight.view not in wording.views:
        return False
    if "{ratio}" in wording.template and (sight.view != "PA" or sight.heart_ratio < _TOLD):
        return False
    if wording.near and not any(zone.endswith(wording.near) for zone in sign.zones):
        return False
    if wording.sides is not None and wording.sides != len(sides_of(sign)):
        return False
    if wording.noun is None:
        return True
    return bool(wording.noun.words(film_statement(sign, stance="positive").count))


def _sized(
    statement: Statement, noun: Noun, rng: np.random.Generator, style: Style
) -> dict[str, str]:
    """The slot for a size that the noun did not already take."""
    if statement.size_mm is None or rng.random() > 0.7:
        return {}
    size = length(statement.size_mm, rng, style=style)
    return {"sized": ", " + measured(statement, noun, size, rng)}


def _graded(statement: Statement, rng: np.random.Generator) -> dict[str, str]:
    """Severity as adjective and as adverb, where a phrase has slots for them."""
    grade = statement.severity
    if grade is None:
        return {}
    return {
        "severity": pick(rng, grade_words(statement.category, statement.kind, grade)),
        "mildly": pick(rng, common_words().adverbs.words(grade)),
    }
