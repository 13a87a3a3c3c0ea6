"""The words for signs of a radiograph: how `wordings/xray*.toml` are read, what wordings they make.

A wording is a sentence before anything is filled in, as in `phantom.words.lexicon`: a frame with a
noun in it, or a phrase that a sign has to itself. Positive and hedged sentences have frames of
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
from overread.phantom.statement import EXTRAPULMONARY, FindingStatement
from overread.phantom.words.lexicon import (
    STYLES,
    Noun,
    NounWords,
    Style,
    expand_choices,
    is_held_out,
    read_wordings_file,
)

Stance = Literal["positive", "hedged", "negative"]
"""Whether a sentence says that something is there, that it may be, or that it is not."""
Appearance = Literal["density", "lucency", "shape"]
PlaceKind = Literal["zones", "half", "none"]

SIGN_FILES = ("xray_lung", "xray_beyond")


class FilmNounWords(NounWords):
    """Nouns of a sign, and what must hold for them to be said."""

    views: tuple[View, ...] = ()
    """The views on which they are said; empty for all."""
    near: tuple[str, ...] = ()
    """Ends of region names of which the sign's zones must have one; empty for anywhere."""


class FilmPhraseWords(Record):
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
    """Kinds, as `sign_kind` names them."""
    group: str
    """The major region that a sentence about them belongs to."""
    looks: Appearance
    """Which frames fit."""
    placed: PlaceKind
    """How their place is told."""
    nouns: tuple[FilmNounWords, ...] = Field(alias="noun")
    """What they are called."""
    phrases: tuple[FilmPhraseWords, ...] = Field((), alias="phrase")
    """Positive sentences that only they have."""
    hedges: tuple[FilmPhraseWords, ...] = Field((), alias="hedge")
    """Hedged sentences that only they have."""


class _SignFile(Record):
    signs: tuple[SignWords, ...] = Field(alias="sign")
    """The signs of one file."""


class _FrameWords(Record):
    stance: Stance
    """Positive or hedged."""
    style: Style
    """The style that they belong to."""
    looks: tuple[Appearance, ...] = ("density", "lucency", "shape")
    """The signs that they fit."""
    counted: bool = False
    """Whether they fit only nouns that one counts, in zones of the lung."""
    often: float = 1
    """How often each of them is taken, compared with the others."""
    text: tuple[str, ...]
    """The texts, with slots."""


class ImpressionWords(Record):
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


class TechniqueWords(Record):
    """How a film was taken, in words."""

    view: View
    """The frontal view."""
    lateral: bool
    """Whether there is a lateral film too."""
    text: tuple[str, ...]
    """The texts."""


class FilmWords(Record):
    """`wordings/xray.toml`: what all signs share."""

    frames: tuple[_FrameWords, ...] = Field(alias="frame")
    """Sentences that any noun can be set into."""
    impression: ImpressionWords
    """How an impression says things."""
    techniques: tuple[TechniqueWords, ...] = Field(alias="technique")
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


def sign_kind(statement: FindingStatement) -> str:
    """What a sign is called in the files: its category and kind, or its kind beyond the lung.

    >>> sign_kind(FindingStatement(category="2g", kind="pneumothorax")), sign_kind(
    ...     FindingStatement(category="8d", kind="cardiomegaly"))
    ('2g:pneumothorax', 'cardiomegaly')
    """
    if statement.kind in EXTRAPULMONARY and statement.category == EXTRAPULMONARY[statement.kind]:
        return statement.kind
    return f"{statement.category}:{statement.kind}"


@cache
def load_film_words() -> FilmWords:
    """What all signs share."""
    return FilmWords.model_validate(read_wordings_file("xray"))


@cache
def load_all_sign_words() -> dict[str, SignWords]:
    """Kind → what it is called on a film."""
    return {
        kind: words
        for name in SIGN_FILES
        for words in _SignFile.model_validate(read_wordings_file(name)).signs
        for kind in words.kinds
    }


def find_sign_words(kind: str) -> SignWords:
    """What a sign of a kind is called on a film."""
    known = load_all_sign_words()
    if kind not in known:
        raise UnknownName(
            f"there are no words for {kind!r} on a radiograph", remedy=f"its kinds are {', '.join(known)}"
        )
    return known[kind]


@cache
def list_film_wordings(kind: str, stance: Stance, style: Style) -> tuple[FilmWording, ...]:
    """Every wording of a sign in one stance and one style, each once."""
    own = find_sign_words(kind)
    made: dict[str, FilmWording] = {}
    for group in own.nouns:
        if group.style not in (None, style) or (group.kinds and kind not in group.kinds):
            continue
        for noun, (template, weight, counted) in product(
            group.to_nouns(own.kinds), _fitting_frames(own, stance, style)
        ):
            if counted and noun.form != "counted":
                continue
            full = template.replace("{a_thing}", f"a [{noun.text}]")
            full = full.replace("{thing}", f"[{noun.text}]")
            made[full] = FilmWording(
                text=full, template=template, noun=noun, views=group.views, near=group.near, weight=weight
            )
    nouns = len({one.noun for one in made.values()})
    kept = {text: one.model_copy(update={"weight": one.weight / nouns}) for text, one in made.items()}
    for phrases in own.phrases if stance == "positive" else own.hedges:
        if phrases.style not in (None, style):
            continue
        for text in phrases.text:
            templates = expand_choices(text)
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


def list_film_wording_texts(kind: str, stance: Stance | None = None) -> tuple[str, ...]:
    """Every distinct wording of a sign, in both styles; of one stance or of both.

    >>> hedged = list_film_wording_texts("2d:mass", "hedged")
    >>> len(list_film_wording_texts("2d:mass")) > len(hedged) > 40
    True
    """
    stances: tuple[Stance, ...] = ("positive", "hedged") if stance is None else (stance,)
    found = (
        one.text for each in stances for style in STYLES for one in list_film_wordings(kind, each, style)
    )
    return tuple(dict.fromkeys(found))


def _fitting_frames(own: SignWords, stance: Stance, style: Style) -> list[tuple[str, float, bool]]:
    """Each frame that fits a sign, how often it is taken, and whether only for what one counts."""
    return [
        (template, frame.often / len(expand_choices(text)), frame.counted)
        for frame in load_film_words().frames
        if frame.stance == stance and frame.style == style and own.looks in frame.looks
        # What lies in the half of a chest does not project over it.
        if own.placed == "zones" or not frame.counted
        for text in frame.text
        for template in expand_choices(text)
    ]
