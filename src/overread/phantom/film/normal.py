"""What a report of a film denies: the usual negatives, unless something seen or doubtful forbids.

What is hidden may be denied, as a radiologist would who cannot see it. An effusion or a
pneumothorax may not, on its side: a reader who knows the patient would call that wrong.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from pydantic import Field

from overread.core import Record
from overread.phantom.film.sign import HEART_LIMIT, Sight, Sign, View
from overread.phantom.film.wording import kind_of, sign_words
from overread.phantom.film.zones import SIDES, sides_of
from overread.phantom.lexicon import alternatives, is_held_out, read_words
from overread.phantom.places import pick

NEVER_DENIED = ("2e:effusion", "2g:pneumothorax")
"""Kinds that are not denied even where they are hidden."""
_LUNG, _PLEURA = "lung region", "pleura and diaphragm region"


class Line(Record):
    """One thing that can be said of a normal part, and when."""

    unless: tuple[str, ...] = ()
    """What must not be there."""
    needs: tuple[str, ...] = ()
    """What must be there, one of them."""
    sided: bool = False
    """Whether it speaks of the one {side} on which nothing of `unless` is."""
    kept: bool = False
    """Whether it stands in where nothing else is said of a region."""
    views: tuple[View, ...] = ()
    """The views on which it is said; empty for all."""
    often: float = 0.85
    """How likely it is said where it may be."""
    regions: tuple[str, ...]
    """The regions that it is about."""
    text: tuple[str, ...] = ()
    """Sentences."""
    denied: tuple[str, ...] = ()
    """Nouns that are set into the frames of denial."""


class _Topic(Record):
    group: str
    """Major region."""
    lines: tuple[Line, ...] = Field(alias="line")
    """The most that can be said comes first."""


class _Words(Record):
    """`wordings/xray_normal.toml`."""

    none: tuple[str, ...]
    """Frames of denial."""
    topics: tuple[_Topic, ...] = Field(alias="topic")
    """What is said of everybody."""


class Negative(Record):
    """A sentence without its full stop that says what is not there, and the regions it is about."""

    text: str
    """The words."""
    group: str
    """Major region."""
    regions: tuple[str, ...]
    """Regions of the ontology."""
    wording: str
    """What it was made from."""


@cache
def normal_words() -> _Words:
    """The topics, as the file has them."""
    return _Words.model_validate(read_words("xray_normal"))


@cache
def line_wordings(line: Line) -> tuple[str, ...]:
    """Every wording of a line, each once."""
    made = [one for text in line.text for one in alternatives(text)]
    for frame in normal_words().none:
        for one in alternatives(frame):
            made += [one.replace("{denied}", noun) for noun in line.denied]
    return tuple(dict.fromkeys(made))


def marks_of(sight: Sight, *, untold: bool) -> dict[str, frozenset[str]]:
    """Side → what is there, in the words of `unless`; what has no side is on both.

    `untold` says that the report leaves out something doubtful.
    """
    found: dict[str, set[str]] = {side: set() for side in SIDES}
    for sign in sight.signs:
        kind = kind_of(sign.statement)
        if sign.seen == "hidden" and kind not in NEVER_DENIED:
            continue
        words = {kind, sign.statement.category}
        group = sign_words(kind).group
        # What is hidden is no reason to call a lung or a pleura unclear.
        if sign.seen != "hidden" and group in (_LUNG, _PLEURA):
            words.add("lung" if group == _LUNG else "pleura")
        for side in _touched(sign):
            found[side] |= words
    for side in SIDES:
        if sight.heart_ratio > HEART_LIMIT[sight.view]:
            found[side].add("wide heart")
        if untold:
            found[side].add("untold")
    return {side: frozenset(words) for side, words in found.items()}


def negatives(
    sight: Sight, rng: np.random.Generator, *, held_out: bool, untold: bool
) -> list[Negative]:
    """What is said to be absent or normal, topic by topic."""
    there = marks_of(sight, untold=untold)
    made: list[Negative] = []
    for topic in normal_words().topics:
        for line in topic.lines:
            side = _said_of(line, sight, there)
            if side is None or line.kept:
                continue
            if rng.random() < line.often:
                made.append(_made(topic.group, line, side, sight, rng, held_out=held_out))
            break
    return made


def stand_in(group: str, sight: Sight, rng: np.random.Generator, *, held_out: bool) -> Negative:
    """Something true of a region of which nothing else is said; the best that may be said."""
    there = marks_of(sight, untold=True)
    fitting = [
        (line, side)
        for topic in normal_words().topics
        if topic.group == group
        for line in topic.lines
        if (side := _said_of(line, sight, there)) is not None
    ]
    line, side = fitting[0]
    return _made(group, line, side, sight, rng, held_out=held_out)


def _touched(sign: Sign) -> tuple[str, ...]:
    """The sides that a sign speaks for; what one side hides of it counts too."""
    if sign.statement.side is None or sign.statement.side == "both":
        return SIDES
    return tuple({sign.statement.side, *sides_of(sign)})


def _said_of(line: Line, sight: Sight, there: dict[str, frozenset[str]]) -> str | None:
    """The side that a line may be said of, 'both', or None where it may not."""
    every = there["right"] | there["left"]
    if line.views and sight.view not in line.views:
        return None
    if line.needs and not every & set(line.needs):
        return None
    forbidden = set(line.unless)
    if not line.sided:
        return None if every & forbidden else "both"
    free = [side for side in SIDES if not there[side] & forbidden]
    return free[0] if len(free) == 1 else None


def _made(
    group: str, line: Line, side: str, sight: Sight, rng: np.random.Generator, *, held_out: bool
) -> Negative:
    fitting = [
        text
        for text in line_wordings(line)
        if is_held_out(text) == held_out and ("{ratio}" not in text or sight.view == "PA")
    ]
    wording = pick(rng, fitting)
    text = wording.replace("{side}", side).replace("{ratio}", f"{sight.heart_ratio:.2f}")
    return Negative(
        text=text[0].upper() + text[1:],
        group=group,
        regions=tuple(region.replace("{side}", side) for region in line.regions),
        wording=wording,
    )
