"""A measured film in words: sentences region by region, the report, and the steps that led to it.

The sentences are plain radiograph English, which the rules of `overread.language` read back as they
were meant. Nothing is denied that was not measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from overread.core import Box, Finding, Step
from overread.prompts.interleaved import ANALYZE, HIGHLIGHT, IMAGE, box_sentence, ordinal
from overread.readers.atlas.film.preparation import Edges
from overread.readers.atlas.film.regions import enclosing_edges
from overread.readers.atlas.film.signs import FilmSign, FilmSigns

BoxOf = Callable[[Edges, str | None], Box]
_LUNG, _PLEURA, _HEART = ("lung region", "pleura and diaphragm region", "heart and the mediastinal region")
GROUPS = {
    _LUNG: ("right lung", "left lung"),
    _PLEURA: (
        *("right costophrenic angle", "left costophrenic angle"),
        *("right hemidiaphragm", "left hemidiaphragm"),
    ),
    _HEART: ("cardiac silhouette", "mediastinum"),
}
"""Major region → the regions whose boxes make up its box."""
_GROUP_OF = {"pleural effusion": _PLEURA, "pneumothorax": _PLEURA, "cardiomegaly": _HEART}
_NOUNS = {
    "consolidation": "consolidation",
    "lung opacity": "hazy opacity",
    "nodule": "nodule",
    "lung mass": "mass",
}


@dataclass(frozen=True)
class FilmSentence:
    """One sentence and what it rests on."""

    group: str
    text: str
    signs: tuple[FilmSign, ...]
    """The measurements it rests on, of what is there and of what is not."""
    positive: bool
    """Whether it says that something is there."""


def compose_sentences(signs: FilmSigns) -> list[FilmSentence]:
    """What is there, and what was measured and is not, in the order of the regions."""
    told: list[FilmSentence] = []
    there = [sign for sign in signs.signs if sign.present]
    told += [
        FilmSentence(_LUNG, _opacity_sentence(sign), (sign,), positive=True)
        for sign in there
        if sign.name in _NOUNS
    ]
    clear = [s for s in signs.signs if s.name == "lung opacity" and not s.present]
    if len(clear) == 2:
        told.append(FilmSentence(_LUNG, "No focal consolidation or mass.", tuple(clear), positive=False))
    elif clear:
        told.append(FilmSentence(_LUNG, f"The {clear[0].side} lung is clear.", (clear[0],), positive=False))
    told += _pleural_sentences(signs, "pleural effusion", "pleural effusion, blunting the costophrenic angle")
    told += _pleural_sentences(signs, "pneumothorax", "pneumothorax")
    for sign in signs.signs:
        if sign.name == "cardiomegaly":
            text = "Cardiomegaly is present." if sign.present else "The heart is not enlarged."
            told.append(FilmSentence(_HEART, text, (sign,), positive=sign.present))
    return told


def _opacity_sentence(sign: FilmSign) -> str:
    """One opacity with its side and zones."""
    zones = [zone.split()[1] for zone in sign.zones]
    noun = _NOUNS[sign.name]
    if not zones:
        return f"There is a {noun} in the {sign.side} lung."
    named = " and ".join(zones)
    return f"There is a {noun} in the {sign.side} {named} lung zone{'s' if len(zones) > 1 else ''}."


def _pleural_sentences(signs: FilmSigns, name: str, words: str) -> list[FilmSentence]:
    """A sign of the pleura on both sides: what is there, then what is not."""
    ours = [sign for sign in signs.signs if sign.name == name]
    there, absent = [s for s in ours if s.present], [s for s in ours if not s.present]
    if len(there) == 2:
        return [FilmSentence(_PLEURA, f"There is a bilateral {name}.", tuple(there), positive=True)]
    if not there:
        return [FilmSentence(_PLEURA, f"No {name}.", tuple(absent), positive=False)]
    told = [FilmSentence(_PLEURA, f"There is a {there[0].side} {words}.", (there[0],), positive=True)]
    if absent:
        no = f"No {name} on the {absent[0].side}."
        told.append(FilmSentence(_PLEURA, no, (absent[0],), positive=False))
    return told


def compose_report(told: Sequence[FilmSentence]) -> str:
    """The report: findings, then what is there in short."""
    findings = " ".join(one.text for one in told)
    stated = [one.text for one in told if one.positive]
    summary = " ".join(stated) or "No acute cardiopulmonary abnormality."
    return f"FINDINGS: {findings}\n\nIMPRESSION: {summary}"


class FilmWriter:
    """Writes findings and steps with boxes in the pixels of the stored picture."""

    def __init__(self, box_of: BoxOf) -> None:
        """`box_of` puts edges of the upright picture into a box of the stored one."""
        self._box_of = box_of

    def findings(self, told: Sequence[FilmSentence]) -> tuple[Finding, ...]:
        """Each sentence with the places that it rests on."""
        return tuple(Finding(text=one.text, regions=tuple(self._boxes(one.signs))) for one in told)

    def steps(self, signs: FilmSigns, told: Sequence[FilmSentence]) -> list[Step]:
        """Region by region: what is looked at, the look, its box, the findings, the measures."""
        steps: list[Step] = []
        number = 0
        for group, members in GROUPS.items():
            edges = enclosing_edges(signs.places, members)
            if edges is None:
                continue
            box = self._box_of(edges, group)
            announced = f"{ANALYZE}{HIGHLIGHT}".format(ordinal=ordinal(number), region=group)
            number += 1
            steps.append(Step(kind="say", text=announced))
            steps.append(Step(kind="look", text=IMAGE, regions=(box,)))
            ours = [one for one in told if one.group == group]
            words = " ".join(one.text for one in ours)
            steps.append(Step(kind="say", text=f"{box_sentence(box)}{words}", regions=(box,)))
            steps += [self._measurement_step(sign, box) for one in ours for sign in one.signs]
            steps.append(Step(kind="say", text="\n\n"))
        return steps

    def _measurement_step(self, sign: FilmSign, box: Box) -> Step:
        """The measurement behind a sentence, with its place."""
        places = tuple(self._boxes((sign,))) or (box,)
        return Step(kind="say", text=f" Measured: {sign.measured}.", regions=places)

    def _boxes(self, signs: Sequence[FilmSign]) -> list[Box]:
        return [self._box_of(sign.box, _place_label(sign)) for sign in signs if sign.box]


def _place_label(sign: FilmSign) -> str | None:
    """What the place of a sign is called: its zone, or where it spans several, its lung."""
    if len(sign.zones) == 1:
        return sign.zones[0]
    return f"{sign.side} lung" if sign.side else None
