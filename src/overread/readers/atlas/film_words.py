"""A measured film in words: sentences region by region, the report, and the steps that led to it.

The sentences are plain radiograph English, which the rules of `overread.language` read back as they
were meant. Nothing is denied that was not measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from overread.core import Box, Finding, Step
from overread.readers.atlas.film_signs import FilmSign, FilmSigns

CUE = "Summarizing the previous analysis, I will generate the following report: "
BoxOf = Callable[[tuple[float, float, float, float], str | None], Box]
_ORDINALS = ("First", "Second", "Third", "Fourth")
_LUNG, _PLEURA, _HEART = (
    "lung region",
    "pleura and diaphragm region",
    "heart and the mediastinal region",
)
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
class Said:
    """One sentence and what it rests on."""

    group: str
    text: str
    signs: tuple[FilmSign, ...]
    """The measurements it rests on, of what is there and of what is not."""
    stated: bool
    """Whether it says that something is there."""


def sentences(signs: FilmSigns) -> list[Said]:
    """What is there, and what was measured and is not, in the order of the regions."""
    told: list[Said] = []
    there = [sign for sign in signs.signs if sign.there]
    told += [
        Said(_LUNG, _opacity(sign), (sign,), stated=True) for sign in there if sign.name in _NOUNS
    ]
    clear = [s for s in signs.signs if s.name == "lung opacity" and not s.there]
    if len(clear) == 2:
        told.append(Said(_LUNG, "No focal consolidation or mass.", tuple(clear), stated=False))
    elif clear:
        told.append(Said(_LUNG, f"The {clear[0].side} lung is clear.", (clear[0],), stated=False))
    told += _pleural(signs, "pleural effusion", "pleural effusion, blunting the costophrenic angle")
    told += _pleural(signs, "pneumothorax", "pneumothorax")
    for sign in signs.signs:
        if sign.name == "cardiomegaly":
            text = "Cardiomegaly is present." if sign.there else "The heart is not enlarged."
            told.append(Said(_HEART, text, (sign,), stated=sign.there))
    return told


def _opacity(sign: FilmSign) -> str:
    """One opacity with its side and zones."""
    zones = [zone.split()[1] for zone in sign.zones]
    noun = _NOUNS[sign.name]
    if not zones:
        return f"There is a {noun} in the {sign.side} lung."
    named = " and ".join(zones)
    return f"There is a {noun} in the {sign.side} {named} lung zone{'s' if len(zones) > 1 else ''}."


def _pleural(signs: FilmSigns, name: str, words: str) -> list[Said]:
    """A sign of the pleura on both sides: what is there, then what is not."""
    ours = [sign for sign in signs.signs if sign.name == name]
    there, absent = [s for s in ours if s.there], [s for s in ours if not s.there]
    if len(there) == 2:
        return [Said(_PLEURA, f"There is a bilateral {name}.", tuple(there), stated=True)]
    if not there:
        return [Said(_PLEURA, f"No {name}.", tuple(absent), stated=False)]
    told = [Said(_PLEURA, f"There is a {there[0].side} {words}.", (there[0],), stated=True)]
    if absent:
        no = f"No {name} on the {absent[0].side}."
        told.append(Said(_PLEURA, no, (absent[0],), stated=False))
    return told


def report_of(told: Sequence[Said]) -> str:
    """The report: findings, then what is there in short."""
    findings = " ".join(one.text for one in told)
    stated = [one.text for one in told if one.stated]
    summary = " ".join(stated) or "No acute cardiopulmonary abnormality."
    return f"FINDINGS: {findings}\n\nIMPRESSION: {summary}"


def boxed(signs: FilmSigns, names: Sequence[str]) -> tuple[float, float, float, float] | None:
    """The smallest box that holds these regions."""
    boxes = [signs.places[name] for name in names if name in signs.places]
    if not boxes:
        return None
    left, top, right, bottom = zip(*boxes, strict=True)
    return min(left), min(top), max(right), max(bottom)


class Pen:
    """Writes findings and steps with boxes in the pixels of the stored picture."""

    def __init__(self, box_of: BoxOf) -> None:
        """`box_of` puts edges of the upright picture into a box of the stored one."""
        self._box_of = box_of

    def findings(self, told: Sequence[Said]) -> tuple[Finding, ...]:
        """Each sentence with the places that it rests on."""
        return tuple(Finding(text=one.text, regions=tuple(self._boxes(one.signs))) for one in told)

    def steps(self, signs: FilmSigns, told: Sequence[Said]) -> list[Step]:
        """Region by region: what is looked at, the look, its box, the findings, the measures."""
        steps: list[Step] = []
        number = 0
        for group, members in GROUPS.items():
            edges = boxed(signs, members)
            if edges is None:
                continue
            box = self._box_of(edges, group)
            ordinal = _ORDINALS[number]
            number += 1
            announced = (
                f"{ordinal}, I need to analyze the {group}. "
                f"I will highlight the {group} of this X-ray. "
            )
            steps.append(Step(kind="say", text=announced))
            steps.append(Step(kind="look", text="<image>", regions=(box,)))
            corners = f"[{box.x1:.0f}, {box.y1:.0f}, {box.x2:.0f}, {box.y2:.0f}]"
            ours = [one for one in told if one.group == group]
            words = " ".join(one.text for one in ours)
            text = f" The bounding box of this area is {corners} . {words}"
            steps.append(Step(kind="say", text=text, regions=(box,)))
            steps += [self._measure(sign, box) for one in ours for sign in one.signs]
            steps.append(Step(kind="say", text="\n\n"))
        return steps

    def _measure(self, sign: FilmSign, box: Box) -> Step:
        """The measurement behind a sentence, with its place."""
        places = tuple(self._boxes((sign,))) or (box,)
        return Step(kind="say", text=f" Measured: {sign.measured}.", regions=places)

    def _boxes(self, signs: Sequence[FilmSign]) -> list[Box]:
        return [self._box_of(sign.box, _place_of(sign)) for sign in signs if sign.box]


def _place_of(sign: FilmSign) -> str | None:
    """What the place of a sign is called: its zone, or where it spans several, its lung."""
    if len(sign.zones) == 1:
        return sign.zones[0]
    return f"{sign.side} lung" if sign.side else None
