"""The words for findings: how the files in `wordings/` are read and what wordings they make.

A wording is a sentence before anything is filled in: a frame with a noun in it ("there {is} a
[solid nodule/solid nodules] {at}{sized}"), or a phrase that a category has to itself. What a text
may contain is explained at the top of `wordings/frames.toml`.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache, cached_property
from importlib.resources import files
from itertools import product
from typing import Literal

from pydantic import Field

from overread.core import Record
from overread.core.seeded import hash_number
from overread.errors import UnknownName
from overread.phantom.statement import EXTRAPULMONARY, KINDS

Style = Literal["radiologist", "translated"]
Family = Literal["things", "patches", "pleura", "beyond"]
Form = Literal["counted", "stuff", "changes", "whole"]

STYLES: tuple[Style, ...] = ("radiologist", "translated")
_FORMS: tuple[Form, ...] = ("counted", "stuff", "changes", "whole")
_CHOICE_PATTERN = re.compile(r"\(([^()]*\|[^()]*)\)")


class Noun(Record):
    """What a finding is called, without its adjectives."""

    text: str
    """The words; of one and of several ('solid nodule/solid nodules') where it is counted."""
    form: Form
    """How it behaves: see the comment in `wordings/1a.toml`."""
    kinds: tuple[str, ...] = ()
    """The kinds that it may be said of."""
    graded: bool = True
    """Whether it can be mild or severe."""

    def form_for(self, count: int) -> str:
        """The words for so many of them; empty where it cannot be said of so many.

        >>> Noun(text="/patchy consolidations", form="counted").form_for(1)
        ''
        """
        if self.form != "counted":
            return self.text
        one, many = self.text.split("/")
        return one if count == 1 else many

    def is_plural(self, count: int) -> bool:
        """Whether its verb is in the plural."""
        return self.form == "changes" or (self.form == "counted" and count > 1)

    def needs_article(self, count: int) -> bool:
        """Whether it needs an article within a sentence."""
        return self.form == "whole" or (self.form == "counted" and count == 1)


class NounWords(Record):
    """Nouns of one or several kinds."""

    kinds: tuple[str, ...] = ()
    """The kinds that they may be said of; empty for all of the file."""
    style: Style | None = None
    """The one style that they belong to, if not to both."""
    graded: bool = True
    """Whether they can be mild or severe."""
    counted: tuple[str, ...] = ()
    """Of one and of several, with a stroke between."""
    stuff: tuple[str, ...] = ()
    """Without article and plural."""
    changes: tuple[str, ...] = ()
    """Always in the plural."""
    whole: tuple[str, ...] = ()
    """One, however many parts it has."""

    def to_nouns(self, kinds: tuple[str, ...]) -> list[Noun]:
        """Each of them; `kinds` are those of the file."""
        mine = self.kinds or kinds
        return [
            Noun(text=text, form=form, kinds=mine, graded=self.graded)
            for form in _FORMS
            for text in getattr(self, form)
        ]


class PhraseWords(Record):
    """Whole sentences of one or several kinds."""

    kinds: tuple[str, ...] = ()
    """The kinds that they may be said of; empty for all of the file."""
    style: Style | None = None
    """The one style that they belong to, if not to both."""
    text: tuple[str, ...]
    """The texts, with slots."""


class FrameWords(Record):
    """Sentences that any noun can be set into."""

    style: Style
    """The style that they belong to."""
    families: tuple[Family, ...] = ("things", "patches", "pleura", "beyond")
    """What they fit."""
    often: float = 1
    """How often each of them is taken, compared with the others."""
    text: tuple[str, ...]
    """The texts, with slots."""


class GradeWords(Record):
    """What the three grades are called."""

    kinds: tuple[str, ...] = ()
    """The kinds for which they are called so; empty for all of the file."""
    mild: tuple[str, ...]
    """Words for mild."""
    moderate: tuple[str, ...]
    """Words for moderate."""
    severe: tuple[str, ...]
    """Words for severe."""

    def words_for(self, grade: str) -> tuple[str, ...]:
        """The words for one grade."""
        named: tuple[str, ...] = getattr(self, grade)
        return named


class TraitWords(Record):
    """What a trait is called."""

    name: str
    """The trait, of TRAITS."""
    adjectives: tuple[str, ...] = ()
    """Words before the noun."""
    having: tuple[str, ...] = ()
    """Words behind it, after 'with'; of one and of several where these differ."""


class CategoryWords(Record):
    """One file of `wordings/`: the words of one category."""

    about: str
    """What the category is."""
    family: Family
    """Which frames fit."""
    nouns: tuple[NounWords, ...] = Field(alias="noun")
    """What its findings are called."""
    phrases: tuple[PhraseWords, ...] = Field((), alias="phrase")
    """Sentences that only this category has."""
    severity: tuple[GradeWords, ...] = ()
    """Its own words for the grades."""
    traits: tuple[TraitWords, ...] = Field((), alias="trait")
    """Its own words for traits."""


class CommonWords(Record):
    """`wordings/frames.toml`: what all categories share."""

    frames: tuple[FrameWords, ...] = Field(alias="frame")
    """Sentences that any noun can be set into."""
    severity: tuple[GradeWords, ...]
    """Words for the grades."""
    adverbs: GradeWords
    """Adverbs for the grades."""
    traits: tuple[TraitWords, ...] = Field(alias="trait")
    """Words for the traits."""


class Wording(Record):
    """One way to say one kind of finding, before anything is filled in."""

    text: str
    """The whole of it; what is counted and held out."""
    template: str
    """The sentence with its slots."""
    noun: Noun | None = None
    """The noun for {thing}, where there is one."""
    kinds: tuple[str, ...]
    """The kinds that it may be said of."""
    weight: float
    """How often it is taken, compared with the others of its kind."""

    @cached_property
    def held_out(self) -> bool:
        """Whether only held-out cases use it."""
        return is_held_out(self.text)

    @property
    def needs_place(self) -> bool:
        """Whether it can only be said with a place."""
        return "{within}" in self.template or "{place}" in self.template

    @property
    def has_place(self) -> bool:
        """Whether it can be said with a place."""
        return self.needs_place or "{at}" in self.template

    def fits(self, count: int, *, countable: bool) -> bool:
        """Whether it can be said of so many.

        Of one thing that is counted nothing in the plural can be said, and phrases, which do not
        tell one from several, of no such thing.
        """
        if self.noun is None:
            return not countable
        alone = countable and count == 1
        return bool(self.noun.form_for(count)) and not (alone and self.noun.form == "changes")


def is_held_out(wording: str) -> bool:
    """Whether a wording belongs to the fifth that only held-out cases use.

    It hangs on nothing but the words, so that adding wordings moves no other one.

    >>> is_held_out("the (bronchial|airway) walls are thickened")
    False
    """
    return hash_number(wording) % 5 == 0


def expand_choices(text: str) -> tuple[str, ...]:
    """The texts that one text with choices stands for.

    >>> expand_choices("air (is|was) (seen|noted)")
    ('air is seen', 'air is noted', 'air was seen', 'air was noted')
    """
    parts = _CHOICE_PATTERN.split(text)
    # Every second part is a choice: re.split keeps what its group caught.
    options = [part.split("|") if place % 2 else [part] for place, part in enumerate(parts)]
    return tuple("".join(chosen) for chosen in product(*options))


@cache
def load_common_words() -> CommonWords:
    """What all categories share."""
    return CommonWords.model_validate(read_wordings_file("frames"))


@cache
def load_category_words(category: str, kind: str) -> CategoryWords:
    """The words of one category, or of everything beyond the lung."""
    return CategoryWords.model_validate(read_wordings_file("beyond" if kind in EXTRAPULMONARY else category))


def read_wordings_file(name: str) -> dict[str, object]:
    """One file of `wordings/`."""
    source = files("overread.phantom") / "wordings" / f"{name}.toml"
    return tomllib.loads(source.read_text("utf-8"))


def kinds_of(category: str) -> tuple[str, ...]:
    """The kinds of one category, in the lung or beyond it.

    >>> kinds_of("8a")
    ('coronary calcification', 'aortic calcification')
    """
    beyond = tuple(kind for kind, code in EXTRAPULMONARY.items() if code == category)
    if not beyond and category not in KINDS:
        raise UnknownName(
            f"there are no words for the category {category!r}",
            remedy=f"use one of {', '.join([*KINDS, *sorted(set(EXTRAPULMONARY.values()))])}",
        )
    return KINDS.get(category, beyond)


@cache
def list_wordings(category: str, kind: str, style: Style) -> tuple[Wording, ...]:
    """Every wording for one kind in one style, each once."""
    if kind not in kinds_of(category):
        raise UnknownName(
            f"there are no words for {kind!r} of category {category}",
            remedy=f"its kinds are {', '.join(kinds_of(category))}",
        )
    own = load_category_words(category, kind)
    all_kinds = tuple(EXTRAPULMONARY) if kind in EXTRAPULMONARY else KINDS[category]
    nouns = [
        noun
        for group in own.nouns
        if group.style in (None, style) and kind in (group.kinds or all_kinds)
        for noun in group.to_nouns(all_kinds)
    ]
    made: dict[str, Wording] = {}
    for frame in load_common_words().frames:
        if frame.style != style or own.family not in frame.families:
            continue
        for text in frame.text:
            templates = expand_choices(text)
            for template, noun in product(templates, nouns):
                full = template.replace("{a_thing}", f"a [{noun.text}]")
                full = full.replace("{thing}", f"[{noun.text}]")
                made[full] = Wording(
                    text=full,
                    template=template,
                    noun=noun,
                    kinds=noun.kinds,
                    weight=frame.often / len(templates) / len(nouns),
                )
    for group in own.phrases:
        if group.style in (None, style) and kind in (group.kinds or all_kinds):
            for text in group.text:
                templates = expand_choices(text)
                for template in templates:
                    made[template] = Wording(
                        text=template,
                        template=template,
                        kinds=group.kinds or all_kinds,
                        weight=1 / len(templates),
                    )
    return tuple(made.values())


def list_wording_texts(category: str, kind: str | None = None) -> tuple[str, ...]:
    """Every distinct wording of a category, or of one kind of it, in both styles.

    >>> len(list_wording_texts("2d")) > len(list_wording_texts("2d", "mass")) > 40
    True
    """
    wanted = kinds_of(category) if kind is None else (kind,)
    found = (
        wording.text
        for style in STYLES
        for each in wanted
        for wording in list_wordings(category, each, style)
    )
    return tuple(dict.fromkeys(found))


def grade_words(category: str, kind: str, grade: str) -> tuple[str, ...]:
    """What a grade is called for a kind: the category's own words, or those of all."""
    own = load_category_words(category, kind).severity
    fitting = [one for one in own if not one.kinds or kind in one.kinds]
    return (fitting or load_common_words().severity)[0].words_for(grade)


def trait_words(category: str, kind: str, name: str) -> TraitWords | None:
    """What a trait is called for a kind; None where there is no word for it."""
    own = load_category_words(category, kind).traits
    return next((one for one in (*own, *load_common_words().traits) if one.name == name), None)
