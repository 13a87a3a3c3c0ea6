"""A finding as a noun with what is said around it: how many, how much, how large, of what looks.

Vague numbers mean: "a few" 3 or 4, "several" 5 to 9, "multiple" 3 or more, "numerous" 10 or more.
A size in centimetres is given from 10 mm on, and says the same millimetres ("2.3 cm" is 23 mm).
"Subcentimeter" and "millimetric" are said of what measures less than 10 mm.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from overread.phantom.statement import FindingStatement
from overread.phantom.words.lexicon import Noun, Style, grade_words, trait_words
from overread.phantom.words.place_phrases import pick

_NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_VAGUE_NUMBERS = (("a few", 3, 4), ("several", 5, 9), ("multiple", 3, 10**9), ("numerous", 10, 10**9))
# What lies along an axis of the body comes before what lies in or out: "basal subpleural".
_DEPTH_SPREADS = ("subpleural", "peripheral", "central")


@dataclass(frozen=True)
class NounPhrase:
    """A noun with its adjectives and what follows it."""

    text: str
    """Without article."""
    article: bool
    """Whether it needs one within a sentence."""
    plural: bool
    """Whether its verb is in the plural."""
    said: frozenset[str]
    """The fields of the statement that it gives away."""


def format_length(size_mm: int, rng: np.random.Generator, *, style: Style) -> str:
    """A length in millimetres, or in the centimetres that are exactly the same."""
    metric = size_mm >= 10 and rng.random() < (0.2 if style == "translated" else 0.45)
    return f"{size_mm // 10}.{size_mm % 10} cm" if metric else f"{size_mm} mm"


def size_participle(
    statement: FindingStatement, noun: Noun | None, size: str, rng: np.random.Generator
) -> str:
    """How a size is said behind the noun: of one thing its own, of several the largest one's."""
    if noun is not None and noun.form == "counted":
        if statement.count == 1:
            ways = ("measuring {}", "measuring {} in longest axis", "measuring {} in diameter")
            return pick(rng, ways).format(size)
        return pick(rng, ("the largest measuring {}", "measuring up to {}")).format(size)
    return f"measuring {size}" if statement.count == 1 else f"measuring up to {size}"


def size_verb(statement: FindingStatement, size: str) -> str:
    """The same as a verb: 'measures 12 mm', 'measure up to 12 mm'."""
    return f"measures {size}" if statement.count == 1 else f"measure up to {size}"


def format_spread(statement: FindingStatement) -> str:
    """The spread as adjectives: 'basal subpleural', 'apical and basal'."""
    inner = [word for word in statement.spread if word in _DEPTH_SPREADS]
    outer = [word for word in statement.spread if word not in _DEPTH_SPREADS]
    return " ".join(" and ".join(group) for group in (outer, inner) if group)


def write_noun_phrase(
    statement: FindingStatement,
    noun: Noun,
    rng: np.random.Generator,
    *,
    style: Style,
    modifier: str = "",
    spread: bool = True,
    size: bool = True,
    full: float = 0.75,
) -> NounPhrase:
    """The noun, with those of its adjectives that chance picks and those that are asked for.

    `modifier` is a place before the noun; without `spread` or `size` these are not said here, and
    `full` is how likely each of the others is.
    """
    said: set[str] = set()
    before: list[str] = []
    number = _number_word(statement, noun, rng, said)
    if statement.severity is not None and noun.graded and rng.random() < full:
        said.add("severity")
        grades = grade_words(statement.category, statement.kind, statement.severity)
        before.append(pick(rng, grades))
    large = _size_adjective(statement, noun, rng, said, style=style) if size else ""
    before += [large] if large else []
    # "Right lung mass", not "right lung lung mass".
    if re.search(r"\b(lung|pulmonary)\b", noun.text):
        modifier = modifier.removesuffix(" lung")
    before += [modifier] if modifier else []
    if spread and statement.spread and rng.random() < full:
        said.add("spread")
        before.append(format_spread(statement))
    looks, having = _choose_traits(statement, noun, rng, said, full)
    before += looks
    words = noun.form_for(statement.count)
    if having:
        words += (" and " if " with " in words else " with ") + " and ".join(having)
    text = " ".join(part for part in (number, *before, words) if part)
    article = noun.needs_article(statement.count) and not number
    return NounPhrase(text, article, noun.is_plural(statement.count), frozenset(said))


def fill_articles(text: str) -> str:
    """The text with every {a} turned into a or an.

    >>> fill_articles("{a} 8 mm nodule, {a} 1.8 cm mass, {a} upper lobe, {a} 11 mm cyst")
    'an 8 mm nodule, a 1.8 cm mass, an upper lobe, an 11 mm cyst'
    """
    return re.sub(r"\{a\} +(\S)(\S*)", _choose_article, text)


def _choose_article(match: re.Match[str]) -> str:
    first, rest = match.groups()
    if first.isdigit():
        spoken = re.split(r"\D", first + rest, maxsplit=1)[0]
        vowel = first == "8" or spoken in ("11", "18")
    else:
        vowel = first.lower() in "aeiou"
    return f"{'an' if vowel else 'a'} {first}{rest}"


def _number_word(statement: FindingStatement, noun: Noun, rng: np.random.Generator, said: set[str]) -> str:
    """How many, in a word; empty for one thing, for what is not counted, and now and then."""
    count = statement.count
    if not statement.countable or noun.form != "counted":
        return ""
    if count == 1:
        said.add("count")
        return ""
    roll = rng.random()
    if count <= 10 and roll < (0.6 if count <= 4 else 0.3):
        said.add("count")
        return _NUMBERS[count - 2]
    vague = [word for word, low, high in _VAGUE_NUMBERS if low <= count <= high]
    return pick(rng, vague) if vague and roll < 0.85 else ""


def _size_adjective(
    statement: FindingStatement, noun: Noun, rng: np.random.Generator, said: set[str], *, style: Style
) -> str:
    """A size before the noun; only one thing can have its size there, many can be small."""
    if statement.size_mm is None or noun.form != "counted":
        return ""
    roll = rng.random()
    # The size is that of the largest: if it is small, all are.
    if statement.size_mm < 10 and roll < (0.45 if style == "translated" else 0.15):
        return "millimetric" if style == "translated" else "subcentimeter"
    if statement.count == 1 and roll < 0.5:
        said.add("size_mm")
        return format_length(statement.size_mm, rng, style=style)
    return ""


def _choose_traits(
    statement: FindingStatement, noun: Noun, rng: np.random.Generator, said: set[str], full: float
) -> tuple[list[str], list[str]]:
    """Traits before the noun, and behind it after 'with'; all of them or none."""
    words = noun.form_for(statement.count)
    named = [trait_words(statement.category, statement.kind, name) for name in statement.traits]
    # A trait that the noun already is ("calcified nodule") is not said twice.
    known = [one for one in named if one is not None and one.name not in words]
    if noun.form != "counted":
        # A bulla has a wall; emphysema has none.
        known = [one for one in known if not one.name.endswith("-walled")]
    before: list[str] = []
    behind: list[str] = []
    if not known or rng.random() > full:
        return before, behind
    said.add("traits")
    for trait in known:
        if trait.adjectives and (not trait.having or rng.random() < 0.6):
            before.append(pick(rng, trait.adjectives))
        else:
            forms = pick(rng, trait.having).split("/")
            behind.append(forms[-1] if noun.is_plural(statement.count) else forms[0])
    return before, behind
