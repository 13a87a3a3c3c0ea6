"""Puts a sign into one sentence that states no more than the sign does."""

from __future__ import annotations

import re
from bisect import bisect
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from overread.errors import UsageError
from overread.phantom.film.lexicon import FilmWording, Stance, find_sign_words, list_film_wordings, sign_kind
from overread.phantom.film.sign import FilmContents, Sign
from overread.phantom.film.zones import side_word, sign_sides, write_half_place, write_zone_place
from overread.phantom.statement import PLEURAL, FindingStatement
from overread.phantom.words.lexicon import Noun, Style, grade_words, load_common_words
from overread.phantom.words.noun_phrases import (
    fill_articles,
    format_length,
    size_participle,
    write_noun_phrase,
)
from overread.phantom.words.place_phrases import PlacePhrase, pick

_PLURAL_VERBS = {"is": "are", "was": "were", "projects": "project", "remains": "remain"}
_PLURAL_PLACE_VERBS = {"shows": "show", "demonstrates": "demonstrate", "contains": "contain", "has": "have"}
_UNGRADED = ("cardiomegaly",)
"""Kinds that a film grades by a measure of its own, if at all: the scan's grade may differ."""
_PLACE_FOLLOWS = re.compile(
    r" (of|in) |^(thickened|dilated|clustered|tiny|small|fine|millimetric|streaky|prominent)\b"
)
"""Nouns that a place follows: "left upper lung tiny nodules" is no English."""
_WALLS = ("thick-walled", "thin-walled")
_RATIO_STATED_FROM = 0.505
"""The ratio from which an enlarged heart is said with its ratio: less would read as 0.50."""


@dataclass(frozen=True)
class SignSentence:
    """A sentence without its full stop, and what it was made from."""

    text: str
    wording: str
    noun: Noun | None


def write_sign_sentence(
    sign: Sign, sight: FilmContents, rng: np.random.Generator, *, stance: Stance, style: Style, held_out: bool
) -> SignSentence:
    """Put a sign into words, positively or hedged; its place is named, where it has one."""
    kind = sign_kind(sign.statement)
    where = write_sign_place(sign, rng)
    statement = limit_to_film(sign, stance=stance)
    fitting = [
        one
        for one in list_film_wordings(kind, stance, style)
        if one.held_out == held_out
        and (where is not None or not one.needs_place)
        and wording_fits(one, sign, sight)
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
    return fill_wording(wording, statement, sign, sight, where, rng, style)


def write_sign_place(sign: Sign, rng: np.random.Generator) -> PlacePhrase | None:
    """Where a sign is, in words; None for a heart, a spine, a hilum."""
    placed = find_sign_words(sign_kind(sign.statement)).placed
    if placed == "zones":
        return write_zone_place(sign, rng)
    if placed == "half":
        return write_half_place(sign, rng, pleural=sign.statement.category in PLEURAL)
    return None


def limit_to_film(sign: Sign, *, stance: Stance) -> FindingStatement:
    """What of a statement a film bears out: no lobes, no numbers, the size as it is on the film."""
    told = sign.statement
    sides = len(sign_sides(sign))
    count = max(told.count, sides)
    if told.side == "both" and sides == 1:
        count -= 1
    graded = stance == "positive" and told.kind not in _UNGRADED
    return FindingStatement(
        category=told.category,
        kind=told.kind,
        side=told.side,
        count=max(1, count),
        size_mm=sign.size_mm if stance == "positive" else None,
        severity=told.severity if graded else None,
        traits=tuple(trait for trait in told.traits if trait in _WALLS and told.category == "2h"),
    )


def fill_wording(
    wording: FilmWording,
    statement: FindingStatement,
    sign: Sign,
    sight: FilmContents,
    where: PlacePhrase | None,
    rng: np.random.Generator,
    style: Style,
) -> SignSentence:
    """The wording with every slot filled."""
    noun = wording.noun
    ahead = (
        where is not None
        and bool(where.modifier)
        and noun is not None
        and not wording.needs_place
        and (where.modifier == "bilateral" or not _PLACE_FOLLOWS.search(noun.text))
        and rng.random() < 0.4
    )
    slots = {"side": side_word(sign) or "", "ratio": f"{sight.heart_ratio:.2f}"}
    plural = False
    if noun is not None:
        modifier = where.modifier if where is not None and ahead else ""
        if re.search(r"^(apical|bilateral)\b", noun.text):
            modifier = modifier.removesuffix(" apical").replace("biapical", "bilateral")
        named = write_noun_phrase(
            statement, noun, rng, style=style, modifier=modifier, spread=False, full=0.6
        )
        slots["thing"] = named.text
        slots["a_thing"] = f"{{a}} {named.text}" if named.article else named.text
        plural = named.plural
        sized = "size_mm" in named.said or re.search("subcentimeter|millimetric", named.text)
        if not sized and "{sized}" in wording.template:
            slots |= _size_slot(statement, noun, rng, style)
    if where is not None:
        slots |= {"place": where.name, "within": where.with_preposition}
        slots["at"] = "" if ahead else where.adverb or where.with_preposition
    slots |= _severity_slots(statement, rng)
    places_plural = where is not None and where.plural
    for verbs, many in ((_PLURAL_VERBS, plural), (_PLURAL_PLACE_VERBS, places_plural)):
        slots |= {one: several if many else one for one, several in verbs.items()}
    text = re.sub(r"\{(\w+)\}", lambda m: slots.get(m[1], "{a}" if m[1] == "a" else ""), wording.template)
    text = fill_articles(" ".join(text.split()).replace(" ,", ","))
    return SignSentence(text[0].upper() + text[1:], wording.text, noun)


def wording_fits(wording: FilmWording, sign: Sign, sight: FilmContents) -> bool:
    """Whether a wording can be said of a sign on such a film."""
    if wording.views and sight.view not in wording.views:
        return False
    if "{ratio}" in wording.template and (sight.view != "PA" or sight.heart_ratio < _RATIO_STATED_FROM):
        return False
    if wording.near and not any(zone.endswith(wording.near) for zone in sign.zones):
        return False
    if wording.sides is not None and wording.sides != len(sign_sides(sign)):
        return False
    if wording.noun is None:
        return True
    return bool(wording.noun.form_for(limit_to_film(sign, stance="positive").count))


def _size_slot(
    statement: FindingStatement, noun: Noun, rng: np.random.Generator, style: Style
) -> dict[str, str]:
    """The slot for a size that the noun did not already take."""
    if statement.size_mm is None or rng.random() > 0.7:
        return {}
    size = format_length(statement.size_mm, rng, style=style)
    return {"sized": ", " + size_participle(statement, noun, size, rng)}


def _severity_slots(statement: FindingStatement, rng: np.random.Generator) -> dict[str, str]:
    """Severity as adjective and as adverb, where a phrase has slots for them."""
    grade = statement.severity
    if grade is None:
        return {}
    return {
        "severity": pick(rng, grade_words(statement.category, statement.kind, grade)),
        "mildly": pick(rng, load_common_words().adverbs.words_for(grade)),
    }
