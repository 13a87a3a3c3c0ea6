"""Statements that are true or false of a film, from which questions are made.

A statement is true if its sign is seen. It is false only if no sign of its kind, and none that
could be mistaken for it, is there in any state: nothing is asked about doubtful or hidden signs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from overread.phantom.film.lexicon import find_sign_words, sign_kind
from overread.phantom.film.sign import HEART_LIMIT, FilmContents, Sign
from overread.phantom.film.zones import SIDES, sign_sides

TopicPlace = Literal["lung", "pleura", "heart", "mediastinum", "aorta"]


@dataclass(frozen=True)
class Topic:
    """One thing that may be on a film."""

    noun: str
    """What it is called, without an article."""
    kinds: tuple[str, ...]
    """Kinds or categories of the signs that it is."""
    unlike: tuple[str, ...]
    """Kinds or categories that could be taken for it."""
    where: TopicPlace
    """Which regions show it."""
    article: str = ""
    """The article that it needs."""


@dataclass(frozen=True)
class Fact:
    """One thing that is true of a film, or false."""

    text: str
    """It as a statement, without a full stop."""
    question: str
    """It as a question that is answered by yes or no."""
    true: bool
    """Whether it is so."""
    region: str
    """The region of the ontology that shows it."""
    reason: str
    """What one sees there, as a sentence."""
    topic: str
    """What it is about; no two of one topic and region are asked together."""


TOPICS: tuple[Topic, ...] = (
    Topic("consolidation", ("2b:consolidation",), ("2b", "2c", "2d", "1e", "2h", "2e", "1f"), "lung"),
    Topic("nodule or mass", ("2d",), ("1e", "2h", "2b", "2c", "1f"), "lung", "a"),
    Topic("hazy opacity", ("2c",), ("2b", "1e", "1d", "2f", "2e"), "lung", "a"),
    Topic("reticular opacities", ("1d:reticulation", "2f"), ("1d", "1a", "1b", "1e", "2c"), "lung"),
    Topic("linear atelectasis", ("2a:band",), ("2a", "2b", "1d"), "lung"),
    Topic("emphysema", ("1c",), ("1f", "2g", "2h"), "lung"),
    Topic("cavity", ("2h:cavity",), ("2h", "2d", "1b", "1c"), "lung", "a"),
    Topic("bronchiectasis", ("1b",), ("1a", "1d", "2f", "2h"), "lung"),
    Topic("pleural effusion", ("2e:effusion",), ("2e", "2b"), "pleura", "a"),
    Topic("pneumothorax", ("2g",), ("1c", "2h"), "pleura", "a"),
    Topic("enlarged heart", ("cardiomegaly",), ("pericardial effusion",), "heart", "an"),
    Topic("hiatal hernia", ("hiatal hernia",), (), "mediastinum", "a"),
    Topic("mediastinal widening", ("lymph nodes",), ("aortic ectasia", "hiatal hernia"), "mediastinum"),
    Topic("ectatic aorta", ("aortic ectasia",), ("aortic calcification",), "aorta", "an"),
)

_MIDLINE_REGIONS = {"heart": "cardiac silhouette", "mediastinum": "mediastinum", "aorta": "aortic arch"}


def list_facts(sight: FilmContents) -> list[Fact]:
    """Everything that can be asked about a film, true or false."""
    made: list[Fact] = []
    for topic in TOPICS:
        if topic.where in _MIDLINE_REGIONS:
            made += _midline_facts(topic, sight)
        else:
            for side in SIDES:
                made += _side_facts(topic, side, sight)
    for side in SIDES:
        made += _clear_lung_facts(side, sight) + _sharp_angle_facts(side, sight)
    return made + _heart_size_facts(sight)


def list_universal_facts() -> list[Fact]:
    """Facts that hold for every synthetic film: used where little else is certain."""
    made = [
        _universal_fact("Trachea in the midline", "Is the trachea in the midline?", "trachea", true=True),
        _universal_fact("Free air under the diaphragm", "Is there free air?", "abdomen", true=False),
        _universal_fact("Catheter in the superior vena cava", "Is there a catheter?", "svc", true=False),
    ]
    for side in SIDES:
        shifted = f"Is the trachea shifted to the {side}?"
        made.append(_universal_fact(f"Trachea shifted to the {side}", shifted, "trachea", true=False))
        bone = f"{side} clavicle"
        made.append(_universal_fact(f"Intact {bone}", f"Is the {bone} intact?", bone, true=True))
        made.append(_universal_fact(f"Fractured {bone}", f"Is the {bone} fractured?", bone, true=False))
    return made


def _universal_fact(text: str, question: str, region: str, *, true: bool) -> Fact:
    seen = {
        "trachea": "The trachea lies in the midline.",
        "abdomen": "I see no free air under the diaphragm.",
        "svc": "I see no catheter.",
    }
    reason = seen.get(region, f"The {region} is intact.")
    return Fact(text, question, true, region, reason, topic=region)


def matching_signs(sight: FilmContents, names: tuple[str, ...], side: str | None) -> list[Sign]:
    """The signs of some kinds or categories, of one side or wherever they are."""
    return [
        sign
        for sign in sight.signs
        if {sign_kind(sign.statement), sign.statement.category} & set(names)
        and (side is None or _may_touch(sign, side))
    ]


def _may_touch(sign: Sign, side: str) -> bool:
    """Whether a side has some of a sign, seen or not."""
    return sign.statement.side in (None, "both", side) or side in sign_sides(sign)


def _topic_truth(topic: Topic, side: str | None, sight: FilmContents) -> bool | None:
    """Whether a topic is true; None where it is uncertain and must not be asked."""
    own = matching_signs(sight, topic.kinds, side)
    if any(sign.seen == "seen" and (side is None or side in sign_sides(sign)) for sign in own):
        return True
    if own or matching_signs(sight, topic.unlike, side):
        return None
    if topic.noun == "enlarged heart" and sight.heart_ratio > HEART_LIMIT[sight.view]:
        return None
    return False


def _side_facts(topic: Topic, side: str, sight: FilmContents) -> list[Fact]:
    true = _topic_truth(topic, side, sight)
    if true is None:
        return []
    lung = topic.where == "lung"
    place = f"in the {side} lung" if lung else f"on the {side}"
    # Free air shows along the lung, not where fluid gathers.
    region = f"{side} costophrenic angle" if topic.noun == "pleural effusion" else f"{side} lung"
    thing = f"{topic.article} {topic.noun}".strip()
    there = f"There is {thing} {place}." if true else f"I see no {topic.noun} {place}."
    if true and topic.noun == "reticular opacities":
        there = there.replace("There is", "There are")
    be = "Are" if topic.noun == "reticular opacities" else "Is"
    return [
        Fact(
            text=f"{topic.noun[0].upper()}{topic.noun[1:]} {place}",
            question=f"{be} there {thing} {place}?",
            true=true,
            region=region,
            reason=there,
            topic=topic.noun,
        )
    ]


def _midline_facts(topic: Topic, sight: FilmContents) -> list[Fact]:
    true = _topic_truth(topic, None, sight)
    if true is None:
        return []
    thing = f"{topic.article} {topic.noun}".strip()
    return [
        Fact(
            text=f"{topic.noun[0].upper()}{topic.noun[1:]}",
            question=f"Does this radiograph show {thing}?",
            true=true,
            region=_MIDLINE_REGIONS[topic.where],
            reason=f"There is {thing}." if true else f"I see no {topic.noun}.",
            topic=topic.noun,
        )
    ]


def _clear_lung_facts(side: str, sight: FilmContents) -> list[Fact]:
    """Whether a lung is clear."""
    groups = ("lung region", "pleura and diaphragm region")
    here = [
        sign
        for sign in sight.signs
        if find_sign_words(sign_kind(sign.statement)).group in groups and _may_touch(sign, side)
    ]
    seen = [
        sign
        for sign in here
        if sign.seen == "seen"
        and side in sign_sides(sign)
        and find_sign_words(sign_kind(sign.statement)).group == groups[0]
    ]
    if here and not seen:
        return []
    return [
        Fact(
            text=f"Clear {side} lung",
            question=f"Is the {side} lung clear?",
            true=not here,
            region=f"{side} lung",
            reason=f"The {side} lung is {'not ' if here else ''}clear.",
            topic="clear lung",
        )
    ]


def _sharp_angle_facts(side: str, sight: FilmContents) -> list[Fact]:
    """Whether a costophrenic angle is sharp; only an upright film can tell."""
    here = matching_signs(sight, ("2e",), side)
    angle = f"{side} costophrenic angle"
    blunted = [
        sign
        for sign in here
        if sign.seen == "seen" and sign.statement.kind == "effusion" and angle in sign.zones
    ]
    lower = any(
        f"{side} lower lung zone" in sign.zones and sign.statement.category in ("2b", "2c", "2a")
        for sign in sight.signs
    )
    if sight.view != "PA" or (not blunted and (here or lower)):
        return []
    return [
        Fact(
            text=f"Sharp {angle}",
            question=f"Is the {angle} sharp?",
            true=not blunted,
            region=angle,
            reason=f"The {angle} is {'blunted' if blunted else 'sharp'}.",
            topic="sharp angle",
        )
    ]


def _heart_size_facts(sight: FilmContents) -> list[Fact]:
    large = _topic_truth(next(t for t in TOPICS if t.noun == "enlarged heart"), None, sight)
    if large is None:
        return []
    return [
        Fact(
            text="Normal heart size",
            question="Is the heart normal in size?",
            true=not large,
            region="cardiac silhouette",
            reason=f"The heart is {'enlarged' if large else 'normal in size'}.",
            topic="heart size",
        )
    ]
