"""What is true and what is false of a film, one thing at a time: what questions are made from.

A thing is true if it is seen. It is false only if nothing of its kind, and nothing that one could
take for it, is there in any state: of what is doubtful or hidden nothing is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from overread.phantom.film.sign import HEART_LIMIT, Sight, Sign
from overread.phantom.film.wording import kind_of, sign_words
from overread.phantom.film.zones import SIDES, sides_of

Where = Literal["lung", "pleura", "heart", "mediastinum", "aorta"]


@dataclass(frozen=True)
class Topic:
    """One thing that may be on a film."""

    noun: str
    """What it is called, without an article."""
    kinds: tuple[str, ...]
    """Kinds or categories of the signs that it is."""
    unlike: tuple[str, ...]
    """Kinds or categories that could be taken for it."""
    where: Where
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
    Topic(
        "consolidation", ("2b:consolidation",), ("2b", "2c", "2d", "1e", "2h", "2e", "1f"), "lung"
    ),
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
    Topic(
        "mediastinal widening", ("lymph nodes",), ("aortic ectasia", "hiatal hernia"), "mediastinum"
    ),
    Topic("ectatic aorta", ("aortic ectasia",), ("aortic calcification",), "aorta", "an"),
)

_MIDDLE = {"heart": "cardiac silhouette", "mediastinum": "mediastinum", "aorta": "aortic arch"}


def facts(sight: Sight) -> list[Fact]:
    """Everything that can be asked about a film, true or false."""
    made: list[Fact] = []
    for topic in TOPICS:
        if topic.where in _MIDDLE:
            made += _about_middle(topic, sight)
        else:
            for side in SIDES:
                made += _about_side(topic, side, sight)
    for side in SIDES:
        made += _clear(side, sight) + _sharp(side, sight)
    return made + _normal_heart(sight)


def plain_facts() -> list[Fact]:
    """What holds of every film of ours: for films of which little else is sure."""
    made = [
        _plain("Trachea in the midline", "Is the trachea in the midline?", "trachea", true=True),
        _plain("Free air under the diaphragm", "Is there free air?", "abdomen", true=False),
        _plain("Catheter in the superior vena cava", "Is there a catheter?", "svc", true=False),
    ]
    for side in SIDES:
        shifted = f"Is the trachea shifted to the {side}?"
        made.append(_plain(f"Trachea shifted to the {side}", shifted, "trachea", true=False))
        bone = f"{side} clavicle"
        made.append(_plain(f"Intact {bone}", f"Is the {bone} intact?", bone, true=True))
        made.append(_plain(f"Fractured {bone}", f"Is the {bone} fractured?", bone, true=False))
    return made


def _plain(text: str, question: str, region: str, *, true: bool) -> Fact:
    seen = {
        "trachea": "The trachea lies in the midline.",
        "abdomen": "I see no free air under the diaphragm.",
        "svc": "I see no catheter.",
    }
    reason = seen.get(region, f"The {region} is intact.")
    return Fact(text, question, true, region, reason, topic=region)


def states(sight: Sight, names: tuple[str, ...], side: str | None) -> list[Sign]:
    """The signs of some kinds or categories, of one side or wherever they are."""
    return [
        sign
        for sign in sight.signs
        if {kind_of(sign.statement), sign.statement.category} & set(names)
        and (side is None or _may_touch(sign, side))
    ]


def _may_touch(sign: Sign, side: str) -> bool:
    """Whether a side has some of a sign, seen or not."""
    return sign.statement.side in (None, "both", side) or side in sides_of(sign)


def _truth(topic: Topic, side: str | None, sight: Sight) -> bool | None:
    """Whether a topic is true; None where nobody should be asked."""
    own = states(sight, topic.kinds, side)
    if any(sign.seen == "seen" and (side is None or side in sides_of(sign)) for sign in own):
        return True
    if own or states(sight, topic.unlike, side):
        return None
    if topic.noun == "enlarged heart" and sight.heart_ratio > HEART_LIMIT[sight.view]:
        return None
    return False


def _about_side(topic: Topic, side: str, sight: Sight) -> list[Fact]:
    true = _truth(topic, side, sight)
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


def _about_middle(topic: Topic, sight: Sight) -> list[Fact]:
    true = _truth(topic, None, sight)
    if true is None:
        return []
    thing = f"{topic.article} {topic.noun}".strip()
    return [
        Fact(
            text=f"{topic.noun[0].upper()}{topic.noun[1:]}",
            question=f"Does this radiograph show {thing}?",
            true=true,
            region=_MIDDLE[topic.where],
            reason=f"There is {thing}." if true else f"I see no {topic.noun}.",
            topic=topic.noun,
        )
    ]


def _clear(side: str, sight: Sight) -> list[Fact]:
    """Whether a lung is clear."""
    groups = ("lung region", "pleura and diaphragm region")
    here = [
        sign
        for sign in sight.signs
        if sign_words(kind_of(sign.statement)).group in groups and _may_touch(sign, side)
    ]
    seen = [
        sign
        for sign in here
        if sign.seen == "seen"
        and side in sides_of(sign)
        and sign_words(kind_of(sign.statement)).group == groups[0]
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


def _sharp(side: str, sight: Sight) -> list[Fact]:
    """Whether a costophrenic angle is sharp; only an upright film can tell."""
    here = states(sight, ("2e",), side)
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


def _normal_heart(sight: Sight) -> list[Fact]:
    large = _truth(next(t for t in TOPICS if t.noun == "enlarged heart"), None, sight)
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
