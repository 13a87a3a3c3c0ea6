"""Weighs the options of a case by the signs that its pictures showed.

For every sign that could be looked for, the table says how often it is there in each diagnosis, and
the reader knows about how often it sees what is there, and sees what is not. The product of these
chances is the weight of a diagnosis. Signs go together, so each counts for less than all of itself;
a diagnosis that no table knows gets the average weight of the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from overread.core.case import Option
from overread.core.seeded import hash_share
from overread.ontology.diagnoses import Diagnosis
from overread.readers.atlas.case.knowledge import match_diagnosis, sign_chance
from overread.readers.atlas.slice.signs import PictureSign

DETECTION_RATES: Mapping[str, tuple[float, float]] = {
    "aortic calcium": (0.45, 0.35),
    "bronchiectasis": (0.7, 0.13),
    "bulla": (0.75, 0.05),
    "calcified nodule": (0.9, 0.06),
    "cavity": (0.85, 0.12),
    "consolidation": (0.75, 0.3),
    "coronary calcium": (0.5, 0.25),
    "crazy paving": (0.5, 0.05),
    "cysts": (0.65, 0.07),
    "effusion": (0.85, 0.08),
    "emphysema": (0.5, 0.25),
    "fluid cyst": (0.7, 0.05),
    "ground glass": (0.85, 0.22),
    "hernia": (0.6, 0.1),
    "honeycombing": (0.9, 0.02),
    "large heart": (0.7, 0.06),
    "mass": (0.6, 0.18),
    "micronodules": (0.35, 0.18),
    "mosaic": (0.75, 0.18),
    "nodule": (0.45, 0.35),
    "nodules": (0.7, 0.25),
    "pericardial effusion": (0.3, 0.1),
    "pleural calcification": (0.35, 0.03),
    "pleural thickening": (0.35, 0.2),
    "pneumothorax": (0.9, 0.08),
    "reticulation": (0.75, 0.09),
    "rib fracture": (0.3, 0.03),
    "septal lines": (0.85, 0.12),
    "thick bronchial walls": (0.25, 0.16),
    "tree-in-bud": (0.6, 0.48),
}
"""Sign → how often it is seen where it is, and where it is not; `USUAL` for the rest.

Measured on the pictures of synthetic patients, in words of their reports, and rounded."""
DEFAULT_RATES = (0.6, 0.1)
SIGN_WEIGHT = 0.8
"""How much of a sign counts, since signs come together."""
PLACE_WEIGHT = 0.35
"""Log weight that is added where the sign's place fits the diagnosis, and subtracted where it does
not.
"""


@dataclass(frozen=True)
class Reason:
    """What one sign did to one option."""

    sign: str
    present: bool
    weight: float
    """Natural logarithm of how much likelier the sign makes it than an average diagnosis."""


@dataclass(frozen=True)
class WeighedOption:
    """One option, what it was taken for, and what it weighs."""

    option: Option
    diagnosis: Diagnosis | None
    weight: float
    probability: float = 0.0
    reasons: tuple[Reason, ...] = field(default=(), repr=False)


def surest_signs(signs: Sequence[PictureSign]) -> dict[str, PictureSign]:
    """Sign → the picture in which it was surest."""
    best: dict[str, PictureSign] = {}
    for sign in signs:
        held = best.get(sign.name)
        if held is None or sign.confidence > held.confidence:
            best[sign.name] = sign
    return best


def weigh_options(options: Sequence[Option], signs: Sequence[PictureSign]) -> list[WeighedOption]:
    """All options with their probabilities, in the order they were given."""
    best = surest_signs(signs)
    known = [(option, match_diagnosis(option.text)) for option in options]
    entries = [_weigh_option(option, diagnosis, best) for option, diagnosis in known]
    weights = [entry.weight for entry in entries if entry.diagnosis is not None]
    neutral = float(np.mean(weights)) if weights else 0.0
    final = np.array([e.weight if e.diagnosis is not None else neutral for e in entries])
    # Equal weights must not favour the earlier letter; the words of an option decide.
    final = final + np.array([_tie_breaker(option.text) for option in options])
    chances = np.exp(final - final.max())
    chances /= chances.sum()
    return [
        WeighedOption(entry.option, entry.diagnosis, float(weight), float(chance), entry.reasons)
        for entry, weight, chance in zip(entries, final, chances, strict=True)
    ]


def _tie_breaker(text: str) -> float:
    return hash_share(" ".join(text.lower().split()), size=4) * 1e-3


def _weigh_option(
    option: Option, diagnosis: Diagnosis | None, best: Mapping[str, PictureSign]
) -> WeighedOption:
    if diagnosis is None:
        return WeighedOption(option, None, 0.0)
    weight = 0.0
    reasons: list[Reason] = []
    for name, sign in sorted(best.items()):
        seen, false = DETECTION_RATES.get(name, DEFAULT_RATES)
        usual = seen * 0.15 + false * 0.85
        chance = sign_chance(diagnosis, name)
        met = seen * chance + false * (1 - chance)
        gain = sign.confidence * np.log(met / usual) + (1 - sign.confidence) * np.log((1 - met) / (1 - usual))
        gain = float(gain) * SIGN_WEIGHT
        if sign.present and name in (*diagnosis.expected, *diagnosis.possible):
            gain += PLACE_WEIGHT * _place_fit(diagnosis, sign)
        weight += gain
        reasons.append(Reason(name, sign.present, gain))
    return WeighedOption(option, diagnosis, weight, 0.0, tuple(reasons))


def _place_fit(diagnosis: Diagnosis, sign: PictureSign) -> float:
    score = 0.0
    if diagnosis.sides and sign.side:
        score += 1 if (diagnosis.sides == "both") == (sign.side == "both") else -1
    if diagnosis.level and sign.level:
        score += 1 if diagnosis.level == sign.level else -1
    if diagnosis.depth and sign.depth:
        score += 1 if diagnosis.depth == sign.depth else -1
    return score
