"""Histories: sentences of the presentation, put together by lot, and nothing of the diagnosis."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np

from overread.phantom.illness.model import Presentation, read_tables

_TEMPLATE_PART = re.compile(r"\(([^()]*\|[^()]*)\)|\{(\d[\d.]*)~(\d[\d.]*)\}|\{(\w+)\}")

_AN_AGE = re.compile(r"\b([Aa]) (?=(?:18|8\d)-year)")

_TOPICS = (
    *("°c", "pulse", "saturation", "breaths a minute", "blood pressure", " kg", "smok"),
    *("c-reactive", "haemoglobin", "white cells", "d-dimer", "creatinine", "dehydrogenase"),
    *("antibiotic", "auscultation", "inhale", "slept", "breath sounds", "tired", "unremarkable"),
)

Slots = Mapping[str, str]
Filler = Callable[[np.random.Generator, Slots], str]

_PRONOUNS = {
    "female": {"man": "woman", "he": "she", "He": "She", "his": "her", "His": "Her"},
    "male": {"man": "man", "he": "he", "He": "He", "his": "his", "His": "His"},
}


def pick(rng: np.random.Generator, items: Sequence[str]) -> str:
    """One of the items, each as likely."""
    return items[int(rng.random() * len(items))]


def fill_template(template: str, rng: np.random.Generator, slots: Slots) -> str:
    """A template with its choices made, its numbers drawn and its slots filled.

    >>> fill_template("{He} took {2~2} (pills|pills).", np.random.default_rng(0), {"He": "She"})
    'She took 2 pills.'
    """
    return "".join(part if isinstance(part, str) else part(rng, slots) for part in _parse_template(template))


@cache
def _parse_template(template: str) -> tuple[str | Filler, ...]:
    """The template cut into fixed text and what is drawn."""
    parts: list[str | Filler] = []
    at = 0
    for match in _TEMPLATE_PART.finditer(template):
        parts.append(template[at : match.start()])
        choices, low, high, slot = match.groups()
        if choices is not None:
            parts.append(_choice_filler(tuple(choices.split("|"))))
        elif slot is not None:
            parts.append(_slot_filler(slot))
        else:
            parts.append(_number_filler(low, high))
        at = match.end()
    return (*parts, template[at:])


def _choice_filler(texts: tuple[str, ...]) -> Filler:
    # A chosen text may hold numbers and slots of its own.
    return lambda rng, slots: fill_template(pick(rng, texts), rng, slots)


def _slot_filler(name: str) -> Filler:
    return lambda rng, slots: slots[name]


def _number_filler(low: str, high: str) -> Filler:
    decimals = len(low.partition(".")[2])
    unit = 10**decimals
    least, most = round(float(low) * unit), round(float(high) * unit)

    def draw(rng: np.random.Generator, slots: Slots) -> str:
        value = least + int(rng.random() * (most - least + 1))
        return f"{value / unit:.{decimals}f}" if decimals else str(value)

    return draw


def pronouns(sex: str) -> Slots:
    """The slots that depend on the sex alone."""
    return _PRONOUNS[sex]


def write_history(
    presentation: Presentation, age: int, sex: str, interval: str | None, rng: np.random.Generator
) -> str:
    """The history of somebody of that age and sex who comes with that presentation."""
    tables = _load_tables()
    slots = {**_PRONOUNS[sex], "age": str(age), "interval": interval or ""}
    slots["organ"] = pick(rng, tables["organ"][sex])
    reason = fill_template(pick(rng, tables["reason"]["any"]), rng, slots)
    slots |= {"reason": reason, "Reason": reason[0].upper() + reason[1:]}
    chosen = [pick(rng, presentation.opening)]
    for templates, fewest, most in (
        (presentation.symptom, 1, 2),
        (presentation.risk, 1, 2),
        (presentation.exam, 1, 2),
        (presentation.laboratory, 0, 1),
        (presentation.closing, 0, 1),
    ):
        chosen += _choose_templates(rng, templates, fewest, most, chosen)
    if interval is not None:
        chosen.append(pick(rng, tables["longitudinal"]["sentences"]))
    text = " ".join(fill_template(template, rng, slots) for template in chosen)
    return _AN_AGE.sub(r"\1n ", text)


@cache
def _load_tables() -> dict[str, dict[str, Sequence[str]]]:
    tables = read_tables("presentations.toml")
    return {"organ": tables["organ"], "reason": tables["reason"], "longitudinal": tables["longitudinal"]}


def _choose_templates(
    rng: np.random.Generator, templates: Sequence[str], fewest: int, most: int, said: Sequence[str]
) -> list[str]:
    """So many different templates, none of which speaks of what was said already."""
    number = fewest + int(rng.random() * (most - fewest + 1))
    known = frozenset[str]().union(*(_topics(one) for one in said))
    chosen: list[int] = []
    for n in sorted(range(len(templates)), key=lambda _: rng.random()):
        if len(chosen) < number and not _topics(templates[n]) & known:
            chosen.append(n)
            known |= _topics(templates[n])
    return [templates[n] for n in sorted(chosen)]


@cache
def _topics(template: str) -> frozenset[str]:
    """What a template speaks of that should not be spoken of twice, lest two values differ."""
    return frozenset(topic for topic in _TOPICS if topic in template.lower())
