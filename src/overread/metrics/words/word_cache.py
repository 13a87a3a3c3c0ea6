"""A dictionary that computes missing values with a function and caches them up to a bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")

MOST_WORDS = 200_000
"""Reports have some ten thousand different words; what fills more than this is not language."""
LONGEST_WORD = 64


class WordCache(dict[str, Value], Generic[Value]):
    """What a function makes of a word: looked up at the speed of a dictionary after the first time.

    >>> sizes = WordCache(len)
    >>> sizes["effusion"], "effusion" in sizes
    (8, True)
    """

    def __init__(self, make: Callable[[str], Value]) -> None:
        """`make` must give the same for the same word."""
        super().__init__()
        self._make = make

    def __missing__(self, word: str) -> Value:
        """Work it out; forget everything first where too much is remembered."""
        value = self._make(word)
        if len(word) <= LONGEST_WORD:
            if len(self) >= MOST_WORDS:
                self.clear()
            self[word] = value
        return value
