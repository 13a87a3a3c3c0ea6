"""Seeded draws that depend on names alone: a case draws the same in any build."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable


def seeded_share(seed: int, *names: str) -> float:
    """A number from 0 to 1, excluding 1, for these names.

    >>> seeded_share(0, "case1") == seeded_share(0, "case1"), seeded_share(0, "case1") == seeded_share(1, "case1")
    (True, False)
    """
    text = "\0".join((str(seed), *names))
    return (
        int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:7]) / 2**56
    )


def seeded_order(items: Iterable[str], seed: int, *names: str) -> list[str]:
    """Items in a seeded order that depends on these names alone, not on the input's order."""
    return sorted(items, key=lambda item: (seeded_share(seed, *names, item), item))
