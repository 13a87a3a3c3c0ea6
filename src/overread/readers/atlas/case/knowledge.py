"""What a textbook says of diseases of the chest: which signs go with which diagnosis.

The tables are ours (`ontology/data/diagnoses/`). They are matched to an option by its words alone,
so a release may word its options as it likes.
"""

from __future__ import annotations

import re
from functools import cache

from overread.ontology.diagnoses import Diagnosis, diagnoses

ALWAYS, OFTEN, SOMETIMES, SELDOM, NEVER = 0.9, 0.82, 0.33, 0.07, 0.02
"""How often a sign is there: expected of one alone, expected, possible, unnamed, against."""


def sign_chance(diagnosis: Diagnosis, sign: str) -> float:
    """How likely the sign is in somebody who has this."""
    if sign in diagnosis.expected:
        return ALWAYS if len(diagnosis.expected) == 1 else OFTEN
    if sign in diagnosis.possible:
        return SOMETIMES
    return NEVER if sign in diagnosis.against else SELDOM


def split_words(text: str) -> list[str]:
    """The words of a text, small, without plural and possessive endings.

    >>> split_words("Septic emboli to the lungs")
    ['septic', 'emboli', 'to', 'the', 'lung']
    """
    bare = re.sub(r"['’]s\b", "", text.lower())
    return [_singular(word) for word in re.findall(r"[a-zäöüß]+", bare)]


def _singular(word: str) -> str:
    ends = len(word) > 4 and word.endswith("s") and not word.endswith(("ss", "is", "us", "as"))
    return word[:-1] if ends else word


def match_diagnosis(text: str) -> Diagnosis | None:
    """The diagnosis that an option means: the one of which it holds the longest phrase.

    >>> match_diagnosis("Bacterial lobar pneumonia").key
    'lobar-pneumonia'
    >>> match_diagnosis("Metastases to both lungs").key
    'metastases'
    >>> match_diagnosis("a quarrel among neighbours") is None
    True
    """
    said = split_words(text)
    best: tuple[int, int, str] | None = None
    meant: Diagnosis | None = None
    for diagnosis in diagnoses():
        for phrase in diagnosis.phrases:
            wanted = _phrase_words(phrase)
            if not all(any(_word_matches(word, want) for word in said) for want in wanted):
                continue
            rank = (len(wanted), sum(map(len, wanted)), diagnosis.key)
            if best is None or rank > best:
                best, meant = rank, diagnosis
    return meant


@cache
def _phrase_words(phrase: str) -> tuple[str, ...]:
    return tuple(word if word.endswith("*") else _singular(word) for word in phrase.lower().split())


def _word_matches(word: str, want: str) -> bool:
    return word.startswith(want[:-1]) if want.endswith("*") else word == want
