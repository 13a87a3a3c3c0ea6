"""A whole report: the technique, the findings sorted by region, what is absent, the impression."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from pydantic import Field

from overread.core import Record
from overread.errors import UsageError
from overread.ontology import report_regions
from overread.phantom.statement import EXTRAPULMONARY, PLEURAL, FindingStatement
from overread.phantom.words.lexicon import STYLES, NounWords, Style, load_category_words, read_wordings_file
from overread.phantom.words.noun_phrases import fill_articles, write_noun_phrase
from overread.phantom.words.place_phrases import pick, side_of, write_place
from overread.phantom.words.sentences import write_sentence
from overread.phantom.words.text_forms import to_sentence

__all__ = ["CtReport", "Style", "write_ct_report"]

_MAX_LINES = 5


class CtReport(Record):
    """A report of a chest CT."""

    technique: str
    """How the scan was made."""
    findings: str
    """Everything that is seen and what is not, in whole sentences, region by region."""
    impression: str
    """One to five lines that sum it up."""

    def to_row(self, volume: str) -> dict[str, str]:
        """The report as a row of CT-RATE's table, under the name of its volume."""
        return {
            "VolumeName": volume,
            "ClinicalInformation_EN": "",
            "Technique_EN": self.technique,
            "Findings_EN": self.findings,
            "Impressions_EN": self.impression,
        }


class _StyledTexts(Record):
    """The same in both styles."""

    unless: tuple[str, ...] = ()
    """What must not be there for it to be said."""
    radiologist: tuple[str, ...]
    """As a radiologist says it."""
    translated: tuple[str, ...]
    """As a machine translates it."""

    def for_style(self, style: Style) -> tuple[str, ...]:
        """Those of one style."""
        return self.radiologist if style == "radiologist" else self.translated


class _NormalTopic(Record):
    """Something that a report says of every patient, and how, unless it is otherwise."""

    region: str
    """Code of the report region."""
    about: str
    """What it is about."""
    first: bool = False
    """Whether it stands before the findings of its region."""
    lines: tuple[_StyledTexts, ...] = Field(alias="line")
    """The most that can be said comes first."""


class _TechniqueTexts(Record):
    """How a scan was made, in words."""

    style: Style
    """The style that the texts belong to."""
    contrast: bool
    """Whether contrast medium was given."""
    text: tuple[str, ...]
    """The texts."""


class _ImpressionNouns(NounWords):
    """What findings are called in an impression."""

    minor: bool = False
    """Whether it may be left out."""


class _ReportWords(Record):
    """`wordings/report.toml`."""

    technique: tuple[_TechniqueTexts, ...]
    """How the scan was made."""
    regions: dict[str, str]
    """Kind beyond the lung → code of its report region."""
    topics: tuple[_NormalTopic, ...] = Field(alias="topic")
    """What is said of everybody."""
    normal: _StyledTexts
    """Impressions where nothing is found."""
    nothing_acute: _StyledTexts
    """Impressions where only minor things are found."""
    impressions: tuple[_ImpressionNouns, ...] = Field(alias="impression")
    """What findings are called, the important ones first."""


@cache
def _load_report_words() -> _ReportWords:
    return _ReportWords.model_validate(read_wordings_file("report"))


def write_ct_report(
    statements: Sequence[FindingStatement],
    sentences: Sequence[str],
    rng: np.random.Generator,
    *,
    style: Style = "radiologist",
    held_out: bool = False,
    contrast: bool = False,
) -> CtReport:
    """Write the report of one patient.

    `statements` are all findings, `sentences` those of lung and pleura in words, as they are to
    stand in the report. Findings beyond the lung are put into words here, with held-out wordings if
    asked for. What is said to be absent is absent from the statements.
    """
    if style not in STYLES:
        raise UsageError(f"there is no style {style!r}", remedy=f"use one of {', '.join(STYLES)}")
    words = _load_report_words()
    there = frozenset[str]().union(*(_present_keys(statement) for statement in statements))
    parts: list[str] = []
    for region in report_regions().item:
        topics = [topic for topic in words.topics if topic.region == region.code]
        parts += [_normal_sentence(topic, there, rng, style) for topic in topics if topic.first]
        if region.code == "L":
            parts += [to_sentence(text) for text in sentences]
        for statement in statements:
            if words.regions.get(statement.kind) == region.code and statement.kind in EXTRAPULMONARY:
                made = write_sentence(statement, rng, style=style, held_out=held_out)
                parts.append(to_sentence(made.text))
        parts += [_normal_sentence(topic, there, rng, style) for topic in topics if not topic.first]
    technique = [
        text
        for group in words.technique
        if group.style == style and group.contrast == contrast
        for text in group.text
    ]
    return CtReport(
        technique=pick(rng, technique),
        findings=" ".join(part for part in parts if part),
        impression=_write_impression(statements, rng, style),
    )


def _present_keys(statement: FindingStatement) -> frozenset[str]:
    """The words of `unless` that a statement answers to."""
    if statement.kind in EXTRAPULMONARY:
        return frozenset({statement.kind})
    where = "pleura" if statement.category in PLEURAL else "lung"
    return frozenset({statement.category, f"{statement.category}:{statement.kind}", where})


def _normal_sentence(
    topic: _NormalTopic, there: frozenset[str], rng: np.random.Generator, style: Style
) -> str:
    """The sentence of the first line of a topic that no finding contradicts; empty where there is
    none, and in 15 % of the draws.
    """
    chosen = rng.random() < 0.85
    fitting = [line for line in topic.lines if not there & set(line.unless)]
    return pick(rng, fitting[0].for_style(style)) if fitting and chosen else ""


def _write_impression(statements: Sequence[FindingStatement], rng: np.random.Generator, style: Style) -> str:
    """The important findings, and some of the others, in other words than above."""
    words = _load_report_words()
    if not statements:
        return pick(rng, words.normal.for_style(style))
    ranked = sorted(((_rank(statement), statement) for statement in statements), key=_rank_of)
    major = [each for each in ranked if not words.impressions[each[0]].minor]
    minor = [each for each in ranked if words.impressions[each[0]].minor]
    lines: list[str] = []
    if not major:
        lines.append(pick(rng, words.nothing_acute.for_style(style)))
    kept = major + [each for each in minor if rng.random() < 0.5]
    ranks = [rank for rank, _ in kept]
    lines += [
        _impression_line(words.impressions[rank], one, rng, style, alone=ranks.count(rank) == 1)
        for rank, one in kept
    ]
    lines = list(dict.fromkeys(lines))[:_MAX_LINES]
    if style == "radiologist" and len(lines) > 1 and rng.random() < 0.6:
        lines = [f"{number}. {line}" for number, line in enumerate(lines, 1)]
    return "\n".join(lines)


def _rank_of(ranked: tuple[int, FindingStatement]) -> int:
    return ranked[0]


def _rank(statement: FindingStatement) -> int:
    """How important a finding is: its place among the impressions."""
    beyond = statement.kind in EXTRAPULMONARY
    name = statement.kind if beyond else f"{statement.category}:{statement.kind}"
    for rank, group in enumerate(_load_report_words().impressions):
        if name in group.kinds:
            return rank
    raise UsageError(f"there is no impression for {name!r}", where="wordings/report.toml")


def _impression_line(
    group: _ImpressionNouns,
    statement: FindingStatement,
    rng: np.random.Generator,
    style: Style,
    *,
    alone: bool,
) -> str:
    """One line of the impression; where it is not alone of its kind its lobes are named."""
    noun = pick(rng, group.to_nouns(group.kinds))
    family = load_category_words(statement.category, statement.kind).family
    where = None
    if side_of(statement) is not None and (not alone or rng.random() < 0.8):
        where = write_place(statement, rng, family=family, style=style, fine=False, lobe_wise=not alone)
    elif 0 < len(statement.lobes) < 4:
        statement = statement.model_copy(update={"severity": None})
    ahead = where is not None and bool(where.modifier) and rng.random() < 0.5
    named = write_noun_phrase(
        statement,
        noun,
        rng,
        style=style,
        modifier=where.modifier if where is not None and ahead else "",
        spread=where is None,
    )
    at = "" if where is None or ahead else where.adverb or where.with_preposition
    return to_sentence(fill_articles(f"{named.text} {at}".strip()))
