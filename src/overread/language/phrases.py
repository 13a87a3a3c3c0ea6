"""Finding known phrases in a row of words: a tree of words, the longest match first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from overread.language.tokens import Token, tokenise

T = TypeVar("T")

_END = ""
"""Key under which a node keeps what a phrase means; no word is empty."""
JOINERS = frozenset("-–/")
"""Signs that part words and do not part phrases: ground-glass, effusion/thickening."""


class PhraseMatch(NamedTuple, Generic[T]):
    """A phrase that was found: words `first` to `last`, excluding the last, and what it means."""

    first: int
    last: int
    value: T


class PhraseTree(Generic[T]):
    """Phrases and what each of them means."""

    def __init__(self, items: Iterable[tuple[str, T]] = ()) -> None:
        """`items` are pairs of a phrase and its meaning; a later one replaces an earlier one."""
        self._root: dict[str, object] = {}
        for phrase, value in items:
            self.add(phrase, value)

    def add(self, phrase: str, value: T) -> None:
        """Make a phrase known."""
        node = self._root
        for word in drop_joiners(tokenise(phrase)):
            node = node.setdefault(word.word, {})  # type: ignore[assignment]
        if node is not self._root:
            node[_END] = value

    def find(self, words: Sequence[Token]) -> list[PhraseMatch[T]]:
        """All phrases from left to right, each as long as it can be, none inside another."""
        found: list[PhraseMatch[T]] = []
        row = [token.word for token in words]
        count, free = len(row), 0
        first_words = self._root.get
        for at, word in enumerate(row):
            node: Any = first_words(word)
            if node is None or at < free:
                continue
            last = 0
            step = at + 1
            while node is not None:
                if _END in node:
                    last, value = step, node[_END]
                if step >= count:
                    break
                node = node.get(row[step])
                step += 1
            if last:
                found.append(PhraseMatch(at, last, value))
                free = last
        return found


def drop_joiners(found: Iterable[Token]) -> list[Token]:
    """Tokens without the signs that only join words."""
    joiners = JOINERS
    return [token for token in found if token[0] not in joiners]
