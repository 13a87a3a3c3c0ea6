"""Words as a sentence, as a part of one, and as a list."""

from __future__ import annotations

from collections.abc import Iterable


def to_sentence(text: str) -> str:
    """The text as a whole sentence."""
    text = text[0].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."


def lower_first(text: str) -> str:
    """The text as it stands within a sentence."""
    return text[:1].lower() + text[1:]


def join_phrases(phrases: Iterable[str]) -> str:
    """Phrases as a list in words.

    >>> join_phrases(["a cavity", "consolidation", "a rib"])
    'a cavity, consolidation and a rib'
    """
    *first, last = [*phrases] or [""]
    return f"{', '.join(first)} and {last}" if first else last
