"""The report of a frontal film: what is seen, what may be, what is not, and the impression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from overread.core import Record
from overread.errors import UsageError
from overread.ontology import xray_regions
from overread.phantom.film.lexicon import (
    FilmWording,
    Stance,
    find_sign_words,
    list_film_wordings,
    load_film_words,
    sign_kind,
)
from overread.phantom.film.negatives import NEVER_DENIED, choose_negatives, fallback_negative
from overread.phantom.film.sign import FRONTAL, FilmContents, Sign
from overread.phantom.film.sign_sentences import (
    SignSentence,
    fill_wording,
    limit_to_film,
    wording_fits,
    write_sign_place,
    write_sign_sentence,
)
from overread.phantom.words.lexicon import STYLES, Style, expand_choices
from overread.phantom.words.place_phrases import pick

HEDGED_SHARE = 0.7
"""How many of the doubtful signs a report mentions."""
ALWAYS_REPORTED = ("lung region", "pleura and diaphragm region", "heart and the mediastinal region")
"""Major regions of which every report says something."""
MINOR_KINDS = (
    *("osteophytes", "aortic calcification", "coronary calcification", "aortic ectasia"),
    *("hiatal hernia", "steatosis", "2a:band", "2a:scar", "2d:calcified", "1a:wall thickening"),
)
"""Kinds that an impression may leave out, and does where they are doubtful."""

_MAX_LINES = 6
_BASE_REGIONS = {
    "lung region": ("right lung", "left lung"),
    "pleura and diaphragm region": ("right costophrenic angle", "left costophrenic angle"),
    "heart and the mediastinal region": ("cardiac silhouette", "mediastinum"),
    "airway region": ("trachea", "carina"),
    "bone region": ("spine",),
    "abdominal region": ("abdomen",),
}
GROUPS = tuple(_BASE_REGIONS)
"""The major regions in the order in which a report goes through them, by our own names."""
_SIGN_REGIONS = {
    "cardiomegaly": ("cardiac silhouette",),
    "pericardial effusion": ("cardiac silhouette",),
    "coronary calcification": ("cardiac silhouette",),
    "aortic calcification": ("aortic arch",),
    "aortic ectasia": ("aortic arch",),
    "lymph nodes": ("mediastinum",),
    "hiatal hernia": ("mediastinum",),
    "osteophytes": ("spine",),
    "steatosis": ("right upper abdomen",),
}
"""Where a sign lies that names no zones."""


class XraySentence(Record):
    """One sentence of a report."""

    text: str
    """The words, with a full stop."""
    section: Literal["findings", "impression"]
    """Where it stands."""
    group: str
    """The major region that it belongs to; empty where it sums up the whole film."""
    regions: tuple[str, ...]
    """Regions of the ontology that it is about."""
    keys: tuple[str, ...] = ()
    """Keys of the signs that it states; none for what it denies."""
    stance: Stance
    """Whether it says that something is there, may be, or is not."""
    wording: str = ""
    """What it was made from, before anything was filled in."""


class XrayReport(Record):
    """A report of a chest radiograph."""

    technique: str
    """Which films were taken, and what that limits."""
    sentences: tuple[XraySentence, ...]
    """Findings region by region, then the impression."""

    @property
    def findings(self) -> str:
        """The findings as one paragraph."""
        return " ".join(one.text for one in self.sentences if one.section == "findings")

    @property
    def impression(self) -> str:
        """The impression, a line a sentence, numbered where there are several."""
        lines = [one.text for one in self.sentences if one.section == "impression"]
        if len(lines) == 1:
            return lines[0]
        return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))

    @property
    def text(self) -> str:
        """The whole of it, as a hospital writes it."""
        return (
            f"TECHNIQUE: {self.technique}\n\nFINDINGS: {self.findings}\n\n"
            f"IMPRESSION:{chr(10) if chr(10) in self.impression else ' '}{self.impression}"
        )

    def group_sentences(self, group: str) -> tuple[XraySentence, ...]:
        """The sentences of the findings that belong to a major region."""
        return tuple(one for one in self.sentences if one.section == "findings" and one.group == group)


def write_xray_report(
    sight: FilmContents,
    rng: np.random.Generator,
    *,
    style: Style = "radiologist",
    held_out: bool = False,
    lateral: bool = False,
) -> XrayReport:
    """Write the report of a frontal film.

    Every seen sign is stated; of the doubtful ones most are, hedged; hidden ones never are. What is
    denied is neither seen nor doubtful, and no effusion or pneumothorax is denied that is hidden.
    `held_out` takes only the fifth of the wordings that nothing else uses.
    """
    if style not in STYLES:
        raise UsageError(f"there is no style {style!r}", remedy=f"use one of {', '.join(STYLES)}")
    if sight.view not in FRONTAL:
        raise UsageError(f"a {sight.view} film has no report of its own", remedy="give a frontal")
    told = [sign for sign in sight.signs if sign.seen == "seen"]
    doubtful = [sign for sign in sight.signs if sign.seen == "doubtful"]
    mentioned = [sign for sign in doubtful if rng.random() < HEDGED_SHARE]
    said = {
        sign.key: write_sign_sentence(sign, sight, rng, stance=_stance(sign), style=style, held_out=held_out)
        for sign in (*told, *mentioned)
    }
    denied = choose_negatives(sight, rng, held_out=held_out, omits_doubtful=len(mentioned) < len(doubtful))
    made: list[XraySentence] = []
    for group in GROUPS:
        stated = [_sign_sentence(one, said[one.key]) for one in (*told, *mentioned) if _group(one) == group]
        absent = [one for one in denied if one.group == group]
        if group in ALWAYS_REPORTED and not stated and not absent:
            missed = [one for one in doubtful if _group(one) == group]
            if missed:
                hedged = write_sign_sentence(
                    missed[0], sight, rng, stance="hedged", style=style, held_out=held_out
                )
                mentioned.append(missed[0])
                said[missed[0].key] = hedged
                stated = [_sign_sentence(missed[0], hedged)]
            else:
                absent = [fallback_negative(group, sight, rng, held_out=held_out)]
        made += stated
        made += [
            XraySentence(
                text=to_sentence(one.text),
                section="findings",
                group=group,
                regions=one.regions,
                stance="negative",
                wording=one.wording,
            )
            for one in absent
        ]
    made += _write_impression(_by_importance((*told, *mentioned)), said, sight, rng, style)
    return XrayReport(technique=_write_technique(sight, rng, lateral=lateral), sentences=tuple(made))


def regions_of(sign: Sign) -> tuple[str, ...]:
    """Regions of the ontology that a sentence about a sign is about, in the ontology's order."""
    known = xray_regions().names
    kind = sign_kind(sign.statement)
    zones = tuple(name for name in known if name in sign.zones)
    return zones or _SIGN_REGIONS.get(kind, ()) or _BASE_REGIONS[find_sign_words(kind).group]


def base_regions(group: str) -> tuple[str, ...]:
    """The regions of a major region that whoever looks there looks at."""
    return _BASE_REGIONS[group]


def major_region(group: str) -> str:
    """What the regions in use call one of our major regions.

    With regions of one's own that is the group that holds what one looks at there; a major region
    that they do not have keeps our name.

    >>> major_region("lung region")
    'lung region'
    """
    looked = set(_BASE_REGIONS[group])
    held = {one.name: len(looked.intersection(one.members)) for one in xray_regions().groups}
    best = max(held, key=lambda name: held[name], default=group)
    return best if held.get(best) else group


def to_sentence(text: str) -> str:
    """The text as a whole sentence."""
    return text if text.endswith(".") else f"{text}."


def _stance(sign: Sign) -> Stance:
    return "positive" if sign.seen == "seen" else "hedged"


def _group(sign: Sign) -> str:
    return find_sign_words(sign_kind(sign.statement)).group


def _sign_sentence(sign: Sign, said: SignSentence) -> XraySentence:
    return XraySentence(
        text=to_sentence(said.text),
        section="findings",
        group=_group(sign),
        regions=regions_of(sign),
        keys=(sign.key,),
        stance=_stance(sign),
        wording=said.wording,
    )


def _by_importance(signs: Sequence[Sign]) -> list[Sign]:
    """What is sure before what is not, what matters before what does not, the plain first."""
    return sorted(
        signs, key=lambda one: (one.seen != "seen", sign_kind(one.statement) in MINOR_KINDS, -one.strength)
    )


def _write_impression(
    listed: Sequence[Sign],
    said: dict[str, SignSentence],
    sight: FilmContents,
    rng: np.random.Generator,
    style: Style,
) -> list[XraySentence]:
    """The important signs and some of the others; where there are none, that nothing was found."""
    ways = load_film_words().impression
    kept = [
        one
        for one in listed
        if sign_kind(one.statement) not in MINOR_KINDS or (one.seen == "seen" and rng.random() < 0.4)
    ]
    lines: list[XraySentence] = []
    if all(sign_kind(one.statement) in MINOR_KINDS for one in listed):
        texts = ways.cautious if _has_unstated(listed, sight) else ways.calm if listed else ways.normal
        lines.append(
            XraySentence(
                text=to_sentence(pick(rng, [one for text in texts for one in expand_choices(text)])),
                section="impression",
                group="",
                regions=("right lung", "left lung", "cardiac silhouette"),
                stance="negative",
            )
        )
    for sign in kept:
        texts = ways.positive if sign.seen == "seen" else ways.hedged
        short = _write_summary(sign, said[sign.key], pick(rng, texts), sight, rng, style)
        lines.append(_sign_sentence(sign, short).model_copy(update={"section": "impression"}))
    return list({one.text: one for one in lines}.values())[:_MAX_LINES]


def _has_unstated(listed: Sequence[Sign], sight: FilmContents) -> bool:
    """Whether something is there that the report neither states nor may deny."""
    told = {sign.key for sign in listed}
    return any(
        sign.seen == "doubtful" or sign_kind(sign.statement) in NEVER_DENIED
        for sign in sight.signs
        if sign.key not in told
    )


def _write_summary(
    sign: Sign, said: SignSentence, template: str, sight: FilmContents, rng: np.random.Generator, style: Style
) -> SignSentence:
    """A sign in a few words, with the noun that the findings gave it."""
    noun = said.noun
    if noun is None:
        choices = list_film_wordings(sign_kind(sign.statement), _stance(sign), style)
        noun = next(one.noun for one in choices if one.noun and wording_fits(one, sign, sight))
    wording = FilmWording(text=template, template=template, noun=noun, weight=1)
    statement = limit_to_film(sign, stance=_stance(sign))
    return fill_wording(wording, statement, sign, sight, write_sign_place(sign, rng), rng, style)


def _write_technique(sight: FilmContents, rng: np.random.Generator, *, lateral: bool) -> str:
    texts = [
        text
        for one in load_film_words().techniques
        if one.view == sight.view and one.lateral == (lateral and sight.view == "PA")
        for text in one.text
    ]
    return to_sentence(pick(rng, [one for text in texts for one in expand_choices(text)]))
