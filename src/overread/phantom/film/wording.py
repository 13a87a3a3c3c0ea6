"""The words for signs of a radiograph: how `wordings/xray*.toml` are read, what wordings they make.

A wording is a sentence before anything is filled in, as in `overread.phantom.lexicon`: a frame with
a noun in it, or a phrase that a sign has to itself. Positive and hedged sentences have frames of
their own. What a text may contain is explained at the top of `wordings/xray.toml`.
"""

from __future__ import annotations

from functools import cache, cached_property
from itertools import product
from typing import Literal

from pydantic import Field

from overread.core import Record
from overread.errors import UnknownName
from overread.phantom.film.sign import View
from overread.phantom.lexicon import (
    STYLES,
    Noun,
    NounList,
    Style,
    alternatives,
    is_held_out,
    read_words,
)
from overread.phantom.statement import BEYOND, Statement

Stance = Literal["positive", "hedged", "negative"]
"""Whether a sentence says that something is there, that it may be, or that it is not."""
Looks = Literal["density", "lucency", "shape"]
Placed = Literal["zones", "half", "none"]

FILES = ("xray_lung", "xray_beyond")


class FilmNouns(NounList):
    """Nouns of a sign, and what must hold for them to be said."""

    views: tuple[View, ...] = ()
    """The views on which they are said; empty for all."""
    near: tuple[str, ...] = ()
    """Ends of region names of which the sign's zones must have one; empty for anywhere."""


class FilmPhrases(Record):
    """Whole sentences of a sign, and what must hold for them to be said."""

    style: Style | None = None
    """The one style that they belong to, if not to both."""
    views: tuple[View, ...] = ()
    """The views on which they are said; empty for all."""
    near: tuple[str, ...] = ()
    """Ends of region names of which the sign's zones must have one; empty for anywhere."""
    sided: bool = False
    """Whether they are said of one side, which they name."""
    both: bool = False
    """Whether they are said of both sides."""
    text: tuple[str, ...]
    """The texts, with slots."""


class SignWords(Record):
    """What signs of some kinds are called."""

    kinds: tuple[str, ...]
    """Kinds, as `kind_of` names them."""
    group: str
    """The major region that a sentence about them belongs to."""
    looks: Looks
    """Which frames fit."""
    placed: Placed
    """How their place is told."""
    nouns: tuple[FilmNouns, ...] = Field(alias="noun")
    """What they are called."""
    phrases: tuple[FilmPhrases, ...] = Field((), alias="phrase")
    """Positive sentences that only they have."""
    hedges: tuple[FilmPhrases, ...] = Field((), alias="hedge")
    """Hedged sentences that only they have."""


class _Signs(Record):
    signs: tuple[SignWords, ...] = Field(alias="sign")
    """The signs of one file."""


class _Frames(Record):
    stance: Stance
    """Positive or hedged."""
    style: Style
    """The style that they belong to."""
    looks: tuple[Looks, ...] = ("density", "lucency", "shape")
    """The signs that they fit."""
    counted: bool = False
    """Whether they fit only nouns that one counts, in zones of the lung."""
    often: float = 1
    """How often each of them is taken, compared with the others."""
    text: tuple[str, ...]
    """The texts, with slots."""


class Impressions(Record):
    """How an impression says things."""

    positive: tuple[str, ...]
    """What is there."""
    hedged: tuple[str, ...]
    """What may be there."""
    normal: tuple[str, ...]
    """That nothing was found."""
    calm: tuple[str, ...]
    """That nothing important was found."""
    cautious: tuple[str, ...]
    """The same where something doubtful was left out, or fluid or air is there and hidden."""


class Technique(Record):
    """How a film was taken, in words."""

    view: View
    """The frontal view."""
    lateral: bool
    """Whether there is a lateral film too."""
    text: tuple[str, ...]
    """The texts."""


class FilmWords(Record):
    """`wordings/xray.toml`: what all signs share."""

    frames: tuple[_Frames, ...] = Field(alias="frame")
    """Sentences that any noun can be set into."""
    impression: Impressions
    """How an impression says things."""
    techniques: tuple[Technique, ...] = Field(alias="technique")
    """How films are taken."""


class FilmWording(Record):
    """One way to say one sign, before anything is filled in."""

    text: str
    """The whole of it; what is counted and held out."""
    template: str
    """The sentence with its slots."""
    noun: Noun | None = None
    """The noun for {thing}, where there is one."""
    views: tuple[View, ...] = ()
    """The views on which it is said; empty for all."""
    near: tuple[str, ...] = ()
    """Ends of region names of which the sign's zones must have one."""
    sides: int | None = None
    """How many sides it is said of; None for any."""
    weight: float
    """How often it is taken, compared with the others of its sign."""

    @cached_property
    def held_out(self) -> bool:
        """Whether only held-out reports use it."""
        return is_held_out(self.text)

    @property
    def needs_place(self) -> bool:
        """Whether it can only be said with a place."""
        return "{within}" in self.template or "{place}" in self.template


def kind_of(statement: Statement) -> str:
    """What a sign is called in the files: its category and kind, or its kind beyond the lung.

    >>> kind_of(Statement(category="2g", kind="pneumothorax")), kind_of(
    ...     Statement(category="8d", kind="cardiomegaly"))
    ('2g:pneumothorax', 'cardiomegaly')
    """
    if statement.kind in BEYOND and statement.category == BEYOND[statement.kind]:
        return statement.kind
    return f"{statement.category}:{statement.kind}"


@cache
def film_words() -> FilmWords:
    """What all signs share."""
    return FilmWords.model_validate(read_words("xray"))


@cache
def all_signs() -> dict[str, SignWords]:
    """Kind → what it is called on a film."""
    return {
        kind: words
        for name in FILES
        for words in _Signs.model_validate(read_words(name)).signs
        for kind in words.kinds
    }


def sign_words(kind: str) -> SignWords:
    """What a sign of a kind is called on a film."""
    known = all_signs()
    if kind not in known:
        raise UnknownName(
            f"there are no words for {kind!r} on a radiograph",
            remedy=f"its kinds are {', '.join(known)}",
        )
    return known[kind]


@cache
def film_choices(kind: str, stance: Stance, style: Style) -> tuple[FilmWording, ...]:
    """Every wording of a sign in one stance and one style, each once."""
    own = sign_words(kind)
    made: dict[str, FilmWording] = {}
    for group in own.nouns:
        if group.style not in (None, style) or (group.kinds and kind not in group.kinds):
            continue
        for noun, (template, weight, counted) in product(
            group.nouns(own.kinds), _frames(own, stance, style)
        ):
            if counted and noun.form != "counted":
                continue
            full = template.replace("{a_thing}", f"a [{noun.text}]")
            full = full.replace("{thing}", f"[{noun.text}]")
            made[full] = FilmWording(
                text=full,
                template=template,
                noun=noun,
                views=group.views,
                near=group.near,
                weight=weight,
            )
    nouns = len({one.noun for one in made.values()})
    kept = {
        text: one.model_copy(update={"weight": one.weight / nouns}) for text, one in made.items()
    }
    for phrases in own.phrases if stance == "positive" else own.hedges:
        if phrases.style not in (None, style):
            continue
        for text in phrases.text:
            templates = alternatives(text)
            for template in templates:
                kept[template] = FilmWording(
                    text=template,
                    template=template,
                    views=phrases.views,
                    near=phrases.near,
                    sides=1 if phrases.sided else 2 if phrases.both else None,
                    weight=1.5 / len(templates),
                )
    return tuple(kept.values())


def film_wordings(kind: str, stance: Stance | None = None) -> tuple[str, ...]:
    """Every distinct wording of a sign, in both styles; of one stance or of both.

    >>> len(film_wordings("2d:mass")) > len(film_wordings("2d:mass", "hedged")) > 40
    True
    """
    stances: tuple[Stance, ...] = ("positive", "hedged") if stance is None else (stance,)
    found = (
        one.text for each in stances for style in STYLES for one in film_choices(kind, each, style)
    )
    return tuple(dict.fromkeys(found))


def _frames(own: SignWords, stance: Stance, style: Style) -> list[tuple[str, float, bool]]:
    """Each frame that fits a sign, how often it is taken, and whether only for what one counts."""
    return [
        (template, frame.often / len(alternatives(text)), frame.counted)
        for frame in film_words().frames
        if frame.stance == stance and frame.style == style and own.looks in frame.looks
        # What lies in the half of a chest does not project over it.
        if own.placed == "zones" or not frame.counted
        for text in frame.text
        for template in alternatives(text)
    ]
