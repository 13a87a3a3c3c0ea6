"""The words of a reading of a case: findings, summary, rationale and a short discussion."""

from __future__ import annotations

from collections.abc import Sequence

from overread.readers.atlas.case_signs import CaseSign
from overread.readers.atlas.knowledge import Diagnosis
from overread.readers.atlas.weighing import Weighed

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


def name_of(sign: str) -> str:
    """A sign as one would say it."""
    return NAMES.get(sign, sign)


def place_of(sign: CaseSign) -> str:
    """Where a sign lies, in words; empty where it has no place.

    >>> place_of(CaseSign("effusion", 1.0, "", side="both", level="lower"))
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


def sentence(sign: CaseSign) -> str:
    """One sign as a sentence with its measurement."""
    place = place_of(sign)
    hedge = "" if sign.sure >= 0.75 else "Possible "
    name = name_of(sign.name)
    name = name.removeprefix("a ").removeprefix("an ") if hedge else name
    start = f"{hedge}{name}" if hedge else name[:1].upper() + name[1:]
    return f"{start}{' ' + place if place else ''}: {sign.measured}."


def listed(words: Sequence[str]) -> str:
    """Words joined as in a sentence.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else list(words))


def summary_of(kinds: Sequence[str], best: Sequence[CaseSign]) -> str:
    """What all pictures show together."""
    counts = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
    shown = listed([f"{count} × {kind}" for kind, count in counts.items()])
    if not best:
        return f"Shown are {shown}. Nothing abnormal was measured in them."
    said = " ".join(sentence(sign) for sign in best)
    return f"Shown are {shown}. {said}"


def reasons_of(entry: Weighed) -> str:
    """Why one option weighs what it does, in a sentence."""
    name = entry.option.text
    if entry.diagnosis is None:
        return f"{name} is in no table of this reader and gets an average weight."
    gains = sorted(entry.reasons, key=lambda reason: -reason.weight)
    fits = [name_of(r.sign) for r in gains if r.there and r.weight > 0.15][:3]
    lacks = [
        name_of(r.sign)
        for r in reversed(gains)
        if not r.there and r.weight < -0.25 and r.sign in entry.diagnosis.expected
    ][:2]
    odd = [name_of(r.sign) for r in reversed(gains) if r.there and r.weight < -0.15][:2]
    parts = []
    if fits:
        parts.append(f"is supported by {listed(fits)}")
    if odd:
        parts.append(f"does not explain {listed(odd)}")
    if lacks:
        parts.append(f"would be expected to show {listed(lacks)}, which was not measured")
    if not parts:
        parts.append("is neither supported nor excluded by what was measured")
    return f"{name} {listed(parts)} (probability {entry.probability:.0%})."


def discussion_of(top: Weighed, others: Sequence[Weighed]) -> str:
    """A short discussion for teaching: what is typical of the choice, and what of the others."""
    if top.diagnosis is None:
        return (
            "The pictures, or the diagnoses that were offered, are outside what this reader "
            "knows, so the choice rests on little."
        )
    text = f"{top.option.text}: {_typical(top.diagnosis)}"
    for other in others:
        if other.diagnosis is not None:
            text += f" {other.option.text}: {_typical(other.diagnosis)}"
    return (
        text + " The measurements are crude and were made without knowing the scale of a picture."
    )


def _typical(diagnosis: Diagnosis) -> str:
    if not diagnosis.expected:
        return "no sign is typical of it."
    text = f"typical is {listed([name_of(sign) for sign in diagnosis.expected])}"
    where = []
    if diagnosis.sides:
        where.append("on both sides" if diagnosis.sides == "both" else "on one side")
    if diagnosis.level:
        where.append(f"mostly in the {diagnosis.level} lung")
    if where:
        text += ", " + listed(where)
    if diagnosis.possible:
        text += f"; {listed([name_of(sign) for sign in diagnosis.possible[:3]])} may be seen"
    return text + "."
