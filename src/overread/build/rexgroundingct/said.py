"""What a sentence states, remembered: reports say the same things, and several steps ask."""

from __future__ import annotations

from functools import lru_cache

from overread.language.statements import Statement, statements
from overread.language.vocabulary import Vocabulary, vocabulary

_LONGEST = 1000
"""Characters of a text that is remembered."""


def stated(text: str) -> tuple[Statement, ...]:
    """What a sentence or a phrase states, in order.

    >>> [one.observation for one in stated("No effusion, but a 5 mm nodule.")]
    ['pleural effusion', 'nodule']
    """
    return _read(text, vocabulary()) if len(text) <= _LONGEST else tuple(statements(text))


@lru_cache(maxsize=16384)
def _read(text: str, words: Vocabulary) -> tuple[Statement, ...]:
    # The vocabulary in use is part of the key: another one reads the same words otherwise.
    return tuple(statements(text))
