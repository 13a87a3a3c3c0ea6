"""What a textbook says of diseases of the chest: which signs go with which diagnosis.

The tables are ours (`ontology/data/diagnoses/`), or somebody's own. They are matched to an option by
its words alone, so a release may word its options as it likes.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from overread.language.diagnoses.names import DiagnosisNames
from overread.ontology.diagnoses import Diagnosis, diagnoses, diagnoses_file

ALWAYS, OFTEN, SOMETIMES, SELDOM, NEVER = 0.9, 0.82, 0.33, 0.07, 0.02
"""How often a sign is there: expected of one alone, expected, possible, unnamed, against."""


def sign_chance(diagnosis: Diagnosis, sign: str) -> float:
    """How likely the sign is in somebody who has this."""
    if sign in diagnosis.expected:
        return ALWAYS if len(diagnosis.expected) == 1 else OFTEN
    if sign in diagnosis.possible:
        return SOMETIMES
    return NEVER if sign in diagnosis.against else SELDOM


def match_diagnosis(text: str) -> Diagnosis | None:
    """The diagnosis that an option means: the one of which it holds the longest name.

    Only those whose signs are known count, and what looks the same is taken for it.

    >>> match_diagnosis("Bacterial lobar pneumonia").key
    'lobar-pneumonia'
    >>> match_diagnosis("Metastases to both lungs").key
    'metastases'
    >>> match_diagnosis("a quarrel among neighbours") is None
    True
    """
    return _names_with_signs(diagnoses_file()).find_within(text)


@lru_cache(maxsize=2)
def _names_with_signs(file: str) -> DiagnosisNames:
    known = [one for one in diagnoses(Path(file) if file else None) if one.key]
    return DiagnosisNames([one.model_copy(update={"also": (*one.also, *one.similar)}) for one in known])
