"""Lots that hang on a name alone: the same case draws the same, whatever else is in the build."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable


def lot(seed: int, *names: str) -> float:
    """A number from 0 to 1, excluding 1, for these names.

    >>> lot(0, "case1") == lot(0, "case1"), lot(0, "case1") == lot(1, "case1")
    (True, False)
    """
    text = "\0".join((str(seed), *names))
    return (
        int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:7]) / 2**56
    )


def order_of(items: Iterable[str], seed: int, *names: str) -> list[str]:
    """Items in an order that is drawn by lot for these names, whatever order they came in."""
    return sorted(items, key=lambda item: (lot(seed, *names, item), item))
