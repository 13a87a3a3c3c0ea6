"""A statement put into one sentence, which says no more than the statement does."""

from __future__ import annotations

import re
from bisect import bisect
from itertools import accumulate

import numpy as np

from overread.core import Record
from overread.errors import UsageError
from overread.phantom.statement import FindingStatement
from overread.phantom.words.lexicon import (
    STYLES,
    Style,
    Wording,
    grade_words,
    is_held_out,
    list_wording_texts,
    list_wordings,
    load_category_words,
    load_common_words,
)
from overread.phantom.words.noun_phrases import (
    NounPhrase,
    fill_articles,
    format_length,
    format_spread,
    size_participle,
    size_verb,
    write_noun_phrase,
)
from overread.phantom.words.place_phrases import PlacePhrase, pick, side_of, write_place

__all__ = ["STYLES", "FindingSentence", "Style", "is_held_out", "list_wording_texts", "write_sentence"]

PLACE_SHARE = 0.64
"""How many sentences name a place, of those that could: as in ReXGroundingCT."""

MAX_WORDS = 35
"""Words in the longest sentence, as in ReXGroundingCT."""

_MAX_ATTEMPTS = 8
_WIDESPREAD_LOBES = 4
_THING_VERBS = {"is": "are", "was": "were", "lies": "lie", "attracts": "attract"}
_PLACE_VERBS = {"shows": "show", "contains": "contain", "demonstrates": "demonstrate", "has": "have"}


class FindingSentence(Record):
    """One sentence about one finding, and what it gives away."""

    text: str
    """The words, with a capital and without a full stop, as findings of ReXGroundingCT are."""
    wording: str
    """What it was made from, before anything was filled in."""
    said: tuple[str, ...]
    """Fields of the statement whose value can be read off it ('a few' says no count)."""


def write_sentence(
    statement: FindingStatement,
    rng: np.random.Generator,
    *,
    style: Style = "radiologist",
    held_out: bool = False,
    name_place: bool | None = None,
    lobe_wise: bool = False,
) -> FindingSentence:
    """Put a statement into words.

    `name_place` says whether lobes or side must be named or must not be; None leaves it to chance.
    With `lobe_wise`, a place that is named is not coarser than its lobes. A statement that has no
    place is never given one. `held_out` takes only the wordings that `is_held_out`, otherwise only
    the others are taken.

    >>> nodule = FindingStatement(category="2d", kind="solid", side="right", lobes=("RUL",), size_mm=8)
    >>> write_sentence(nodule, np.random.default_rng(4), name_place=True).text
    'A solid lung nodule in the right upper lobe measures 8 mm'
    """
    if style not in STYLES:
        raise UsageError(f"there is no style {style!r}", remedy=f"use one of {', '.join(STYLES)}")
    family = load_category_words(statement.category, statement.kind).family
    if name_place is None:
        name_place = bool(rng.random() < PLACE_SHARE)
    name_place = name_place and side_of(statement) is not None
    if not name_place and 0 < len(statement.lobes) < _WIDESPREAD_LOBES:
        # "Extensive" of one lobe is not extensive where no lobe is named.
        statement = statement.model_copy(update={"severity": None})
    wording = _choose_wording(statement, rng, style=style, held_out=held_out, placed=name_place)
    for attempt in range(_MAX_ATTEMPTS):
        # Segments make the longest places: after two attempts lobes must do.
        fine = attempt < 2
        where = None
        if name_place:
            where = write_place(statement, rng, family=family, style=style, fine=fine, lobe_wise=lobe_wise)
        made = _fill_wording(statement, wording, where, rng, style)
        if len(made.text.split()) <= MAX_WORDS:
            break
    return made


def _choose_wording(
    statement: FindingStatement, rng: np.random.Generator, *, style: Style, held_out: bool, placed: bool
) -> Wording:
    """A wording that can say the statement, the usual ones more often."""
    found = [
        wording
        for wording in list_wordings(statement.category, statement.kind, style)
        if wording.held_out == held_out
        and (wording.has_place if placed else not wording.needs_place)
        and ("{measures}" not in wording.template or statement.size_mm is not None)
    ]
    counted = [one for one in found if one.fits(statement.count, countable=statement.countable)]
    # What has only nouns like "emphysema" is said with these even where it could be counted.
    fitting = counted or [one for one in found if one.fits(statement.count, countable=False)]
    if not fitting:
        raise UsageError(
            f"no wording fits {statement.kind!r} of category {statement.category}",
            where=f"src/overread/phantom/wordings, style {style}, held out: {held_out}",
            remedy="add wordings to that file",
        )
    steps = list(accumulate(one.weight for one in fitting))
    at = bisect(steps, rng.random() * steps[-1])
    return fitting[min(at, len(fitting) - 1)]


def _fill_wording(
    statement: FindingStatement,
    wording: Wording,
    where: PlacePhrase | None,
    rng: np.random.Generator,
    style: Style,
) -> FindingSentence:
    """The wording with every slot filled."""
    template = wording.template
    said = set(where.stated) if where is not None else set()
    said |= {"kind"} if len(wording.kinds) == 1 else set()
    # A place can stand before the noun where the wording does not ask for it elsewhere.
    ahead = (
        where is not None
        and bool(where.modifier)
        and wording.noun is not None
        and not wording.needs_place
        and rng.random() < 0.35
    )
    slots: dict[str, str] = {}
    named = NounPhrase("", article=False, plural=False, said=frozenset())
    if wording.noun is not None:
        named = write_noun_phrase(
            statement,
            wording.noun,
            rng,
            style=style,
            modifier=where.modifier if where is not None and ahead else "",
            spread="spread" not in said,
            size="{measures}" not in template,
            full=0.75 if where is not None else 0.95,
        )
        slots["thing"] = named.text
        slots["a_thing"] = f"{{a}} {named.text}" if named.article else named.text
        said |= named.said
    if where is not None:
        slots |= {"place": where.name, "within": where.with_preposition}
        slots["at"] = "" if ahead else where.adverb or where.with_preposition
    slots |= _size_slots(statement, wording, named, rng, style, said)
    slots |= _severity_and_spread_slots(statement, template, rng, said)
    for verbs, plural in ((_THING_VERBS, named.plural), (_PLACE_VERBS, _is_plural(where))):
        slots |= {one: many if plural else one for one, many in verbs.items()}
    # Slots in slots: the article is found last, when the word after it is known.
    text = re.sub(r"\{(\w+)\}", lambda m: slots.get(m[1], "{a}" if m[1] == "a" else ""), template)
    text = fill_articles(" ".join(text.split()).replace(" ,", ","))
    text = text[0].upper() + text[1:]
    order = tuple(name for name in FindingStatement.model_fields if name in said)
    return FindingSentence(text=text, wording=wording.text, said=order)


def _is_plural(where: PlacePhrase | None) -> bool:
    return where is not None and where.plural


def _size_slots(
    statement: FindingStatement,
    wording: Wording,
    named: NounPhrase,
    rng: np.random.Generator,
    style: Style,
    said: set[str],
) -> dict[str, str]:
    """The slots for a size that the noun did not already take."""
    if statement.size_mm is None or "size_mm" in named.said:
        return {}
    if re.search("subcentimeter|millimetric", named.text):
        return {}
    size = format_length(statement.size_mm, rng, style=style)
    if "{measures}" in wording.template:
        said.add("size_mm")
        return {"measures": size_verb(statement, size)}
    whole = wording.noun is not None and wording.noun.form == "whole"
    if "{sized}" not in wording.template or whole or rng.random() > 0.75:
        return {}
    said.add("size_mm")
    return {"sized": ", " + size_participle(statement, wording.noun, size, rng)}


def _severity_and_spread_slots(
    statement: FindingStatement, template: str, rng: np.random.Generator, said: set[str]
) -> dict[str, str]:
    """Severity and spread of a phrase that has slots for them."""
    slots: dict[str, str] = {}
    grade = statement.severity
    if grade is not None and re.search(r"\{severity\}|\{mildly\}", template):
        said.add("severity")
        slots["severity"] = pick(rng, grade_words(statement.category, statement.kind, grade))
        slots["mildly"] = pick(rng, load_common_words().adverbs.words_for(grade))
    if statement.spread and "{spread}" in template and "spread" not in said:
        said.add("spread")
        slots["spread"] = format_spread(statement)
    return slots
