"""A cache of what sentences state: reports repeat themselves, and several steps ask."""

from __future__ import annotations

from functools import lru_cache

from overread.language.statements import Statement, find_statements
from overread.language.vocabulary import Vocabulary, vocabulary

_MAX_CACHED = 1000
"""Characters of a text that is remembered."""


def cached_statements(text: str) -> tuple[Statement, ...]:
    """What a sentence or a phrase states, in order.

    >>> [one.observation for one in cached_statements("No effusion, but a 5 mm nodule.")]
    ['pleural effusion', 'nodule']
    """
    return _read_statements(text, vocabulary()) if len(text) <= _MAX_CACHED else tuple(find_statements(text))


@lru_cache(maxsize=16384)
def _read_statements(text: str, words: Vocabulary) -> tuple[Statement, ...]:
    # The vocabulary in use is part of the key: another one reads the same words otherwise.
    return tuple(find_statements(text))
