"""The words of a reading of a case: findings, summary, rationale and a short discussion."""

from __future__ import annotations

from collections.abc import Sequence

from overread.ontology.diagnoses import Diagnosis
from overread.readers.atlas.case.option_weights import WeighedOption
from overread.readers.atlas.slice.signs import PictureSign

NAMES = {
    "effusion": "pleural effusion",
    "bands": "linear bands",
    "septal lines": "thickened interlobular septa",
    "mosaic": "mosaic attenuation",
    "ground glass": "ground-glass opacity",
    "thick bronchial walls": "thickened bronchial walls",
    "fluid cyst": "a smooth round lesion as of a fluid-filled cyst",
    "nodule": "a nodule",
    "nodules": "several nodules",
    "mass": "a large dense area or mass",
    "bulla": "a bulla",
    "cavity": "a cavity",
    "cysts": "several cysts",
    "wide aorta": "a wide aorta",
    "large heart": "an enlarged heart",
    "hernia": "a hiatal hernia",
    "calcified nodule": "a calcified nodule",
    "coronary calcium": "coronary calcification",
    "aortic calcium": "calcification of the aorta",
    "lymph nodes": "enlarged lymph nodes",
    "mediastinal mass": "a mediastinal mass",
    "rib fracture": "a fractured rib",
}


def sign_name(sign: str) -> str:
    """A sign as one would say it."""
    return NAMES.get(sign, sign)


def describe_place(sign: PictureSign) -> str:
    """Where a sign lies, in words; empty where it has no place.

    >>> describe_place(PictureSign("effusion", 1.0, "", side="both", level="lower"))
    'on both sides, in the lower chest'
    """
    words = []
    if sign.side:
        words.append("on both sides" if sign.side == "both" else f"on the {sign.side}")
    if sign.level:
        words.append(f"in the {sign.level} chest")
    if sign.depth:
        words.append("near the pleura" if sign.depth == "peripheral" else "away from the pleura")
    return ", ".join(words)


def format_sign(sign: PictureSign) -> str:
    """One sign as a sentence with its measurement."""
    place = describe_place(sign)
    hedge = "" if sign.confidence >= 0.75 else "Possible "
    name = sign_name(sign.name)
    name = name.removeprefix("a ").removeprefix("an ") if hedge else name
    start = f"{hedge}{name}" if hedge else name[:1].upper() + name[1:]
    return f"{start}{' ' + place if place else ''}: {sign.measured}."


def join_words(words: Sequence[str]) -> str:
    """Words joined as in a sentence.

    >>> join_words(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else list(words))


def format_summary(kinds: Sequence[str], best: Sequence[PictureSign]) -> str:
    """What all pictures show together."""
    counts = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
    shown = join_words([f"{count} × {kind}" for kind, count in counts.items()])
    if not best:
        return f"Shown are {shown}. Nothing abnormal was measured in them."
    said = " ".join(format_sign(sign) for sign in best)
    return f"Shown are {shown}. {said}"


def format_reasons(entry: WeighedOption) -> str:
    """Why one option weighs what it does, in a sentence."""
    name = entry.option.text
    if entry.diagnosis is None:
        return f"{name} is in no table of this reader and gets an average weight."
    gains = sorted(entry.reasons, key=lambda reason: -reason.weight)
    fits = [sign_name(r.sign) for r in gains if r.present and r.weight > 0.15][:3]
    lacks = [
        sign_name(r.sign)
        for r in reversed(gains)
        if not r.present and r.weight < -0.25 and r.sign in entry.diagnosis.expected
    ][:2]
    odd = [sign_name(r.sign) for r in reversed(gains) if r.present and r.weight < -0.15][:2]
    parts = []
    if fits:
        parts.append(f"is supported by {join_words(fits)}")
    if odd:
        parts.append(f"does not explain {join_words(odd)}")
    if lacks:
        parts.append(f"would be expected to show {join_words(lacks)}, which was not measured")
    if not parts:
        parts.append("is neither supported nor excluded by what was measured")
    return f"{name} {join_words(parts)} (probability {entry.probability:.0%})."


def format_discussion(top: WeighedOption, others: Sequence[WeighedOption]) -> str:
    """A short discussion for teaching: what is typical of the choice, and what of the others."""
    if top.diagnosis is None:
        return (
            "The pictures, or the diagnoses that were offered, are outside what this reader "
            "knows, so the choice rests on little."
        )
    text = f"{top.option.text}: {_typical_signs(top.diagnosis)}"
    for other in others:
        if other.diagnosis is not None:
            text += f" {other.option.text}: {_typical_signs(other.diagnosis)}"
    return text + " The measurements are crude and were made without knowing the scale of a picture."


def _typical_signs(diagnosis: Diagnosis) -> str:
    if not diagnosis.expected:
        return "no sign is typical of it."
    text = f"typical is {join_words([sign_name(sign) for sign in diagnosis.expected])}"
    where = []
    if diagnosis.sides:
        where.append("on both sides" if diagnosis.sides == "both" else "on one side")
    if diagnosis.level:
        where.append(f"mostly in the {diagnosis.level} lung")
    if where:
        text += ", " + join_words(where)
    if diagnosis.possible:
        text += f"; {join_words([sign_name(sign) for sign in diagnosis.possible[:3]])} may be seen"
    return text + "."
