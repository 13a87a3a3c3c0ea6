"""What a textbook says of diseases of the chest: which signs go with which diagnosis.

The tables are ours, in plain TOML beside this file, one a subject. They are matched to an option by
its words alone, so a release may word its options as it likes.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib import resources

from overread.core.record import Record
from overread.errors import OverreadError

SUBJECTS = ("infection", "interstitial", "tumour", "airways", "chest")
"""The tables, one a subject."""
ALWAYS, OFTEN, SOMETIMES, SELDOM, NEVER = 0.9, 0.82, 0.33, 0.07, 0.02
"""How often a sign is there: expected of one alone, expected, possible, unnamed, against."""


class KnownDiagnosis(Record):
    """One diagnosis: how it is called, and what it looks like."""

    key: str
    words: tuple[str, ...]
    """Phrases; an option that holds all words of one is this diagnosis."""
    expected: tuple[str, ...] = ()
    """Signs without which it is hard to make."""
    possible: tuple[str, ...] = ()
    """Signs that go with it."""
    against: tuple[str, ...] = ()
    """Signs that speak against it."""
    sides: str | None = None
    """'one' or 'both' where it has a habit."""
    level: str | None = None
    """'upper' or 'lower' where it has a preference."""
    depth: str | None = None
    """'central' or 'peripheral' where it has a preference."""

    def chance(self, sign: str) -> float:
        """How likely the sign is in somebody who has this."""
        if sign in self.expected:
            return ALWAYS if len(self.expected) == 1 else OFTEN
        if sign in self.possible:
            return SOMETIMES
        return NEVER if sign in self.against else SELDOM


@cache
def load_diagnoses() -> tuple[KnownDiagnosis, ...]:
    """All diagnoses of all tables."""
    found: list[KnownDiagnosis] = []
    for subject in SUBJECTS:
        file = resources.files(__package__ or "").joinpath(f"knowledge_{subject}.toml")
        for key, row in tomllib.loads(file.read_text(encoding="utf-8")).items():
            found.append(KnownDiagnosis(key=key, **{name: _freeze(row[name]) for name in row}))
    keys = [entry.key for entry in found]
    if len(set(keys)) < len(keys):
        raise OverreadError("a diagnosis stands twice in the knowledge tables")
    return tuple(found)


def _freeze(value: str | list[str]) -> str | tuple[str, ...]:
    return value if isinstance(value, str) else tuple(value)


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


def match_diagnosis(text: str) -> KnownDiagnosis | None:
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
    meant: KnownDiagnosis | None = None
    for diagnosis in load_diagnoses():
        for phrase in diagnosis.words:
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
