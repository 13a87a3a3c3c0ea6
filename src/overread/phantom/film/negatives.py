"""The negative sentences of a film's report: what is said to be normal or absent.

A line is left out where a seen or doubtful sign contradicts it. A hidden sign may be denied, as a
radiologist would who cannot see it; but an effusion or a pneumothorax is never denied on its side.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from pydantic import Field

from overread.core import Record
from overread.phantom.film.lexicon import find_sign_words, sign_kind
from overread.phantom.film.sign import HEART_LIMIT, FilmContents, Sign, View
from overread.phantom.film.zones import SIDES, sign_sides
from overread.phantom.words.lexicon import expand_choices, is_held_out, read_wordings_file
from overread.phantom.words.place_phrases import pick

NEVER_DENIED = ("2e:effusion", "2g:pneumothorax")
"""Kinds that are not denied even where they are hidden."""
_LUNG, _PLEURA = "lung region", "pleura and diaphragm region"


class NegativeLine(Record):
    """One thing that can be said of a normal part, and when."""

    unless: tuple[str, ...] = ()
    """What must not be there."""
    needs: tuple[str, ...] = ()
    """What must be there, one of them."""
    sided: bool = False
    """Whether it speaks of the one {side} on which nothing of `unless` is."""
    kept: bool = False
    """Whether it is only a fallback for a region of which nothing else is said."""
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


class _NegativeTopic(Record):
    group: str
    """Major region."""
    lines: tuple[NegativeLine, ...] = Field(alias="line")
    """The most that can be said comes first."""


class _NegativeWords(Record):
    """`wordings/xray_normal.toml`."""

    none: tuple[str, ...]
    """Frames of denial."""
    topics: tuple[_NegativeTopic, ...] = Field(alias="topic")
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
def load_negative_words() -> _NegativeWords:
    """The topics, as the file has them."""
    return _NegativeWords.model_validate(read_wordings_file("xray_normal"))


@cache
def list_line_wordings(line: NegativeLine) -> tuple[str, ...]:
    """Every wording of a line, each once."""
    made = [one for text in line.text for one in expand_choices(text)]
    for frame in load_negative_words().none:
        for one in expand_choices(frame):
            made += [one.replace("{denied}", noun) for noun in line.denied]
    return tuple(dict.fromkeys(made))


def present_by_side(sight: FilmContents, *, omits_doubtful: bool) -> dict[str, frozenset[str]]:
    """Side → the keys of `unless` that hold there; a sign without a side counts for both.

    `omits_doubtful` says that the report leaves out something doubtful.
    """
    found: dict[str, set[str]] = {side: set() for side in SIDES}
    for sign in sight.signs:
        kind = sign_kind(sign.statement)
        if sign.seen == "hidden" and kind not in NEVER_DENIED:
            continue
        words = {kind, sign.statement.category}
        group = find_sign_words(kind).group
        # What is hidden is no reason to call a lung or a pleura unclear.
        if sign.seen != "hidden" and group in (_LUNG, _PLEURA):
            words.add("lung" if group == _LUNG else "pleura")
        for side in _affected_sides(sign):
            found[side] |= words
    for side in SIDES:
        if sight.heart_ratio > HEART_LIMIT[sight.view]:
            found[side].add("wide heart")
        if omits_doubtful:
            found[side].add("untold")
    return {side: frozenset(words) for side, words in found.items()}


def choose_negatives(
    sight: FilmContents, rng: np.random.Generator, *, held_out: bool, omits_doubtful: bool
) -> list[Negative]:
    """What is said to be absent or normal, topic by topic."""
    there = present_by_side(sight, omits_doubtful=omits_doubtful)
    made: list[Negative] = []
    for topic in load_negative_words().topics:
        for line in topic.lines:
            side = _applicable_side(line, sight, there)
            if side is None or line.kept:
                continue
            if rng.random() < line.often:
                made.append(_make_negative(topic.group, line, side, sight, rng, held_out=held_out))
            break
    return made


def fallback_negative(
    group: str, sight: FilmContents, rng: np.random.Generator, *, held_out: bool
) -> Negative:
    """A true sentence about a region of which nothing else is said: the first line that applies."""
    there = present_by_side(sight, omits_doubtful=True)
    fitting = [
        (line, side)
        for topic in load_negative_words().topics
        if topic.group == group
        for line in topic.lines
        if (side := _applicable_side(line, sight, there)) is not None
    ]
    line, side = fitting[0]
    return _make_negative(group, line, side, sight, rng, held_out=held_out)


def _affected_sides(sign: Sign) -> tuple[str, ...]:
    """The sides that a sign speaks for; what one side hides of it counts too."""
    if sign.statement.side is None or sign.statement.side == "both":
        return SIDES
    return tuple({sign.statement.side, *sign_sides(sign)})


def _applicable_side(line: NegativeLine, sight: FilmContents, there: dict[str, frozenset[str]]) -> str | None:
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


def _make_negative(
    group: str,
    line: NegativeLine,
    side: str,
    sight: FilmContents,
    rng: np.random.Generator,
    *,
    held_out: bool,
) -> Negative:
    fitting = [
        text
        for text in list_line_wordings(line)
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
