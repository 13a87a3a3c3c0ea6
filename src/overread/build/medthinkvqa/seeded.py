"""Seeded draws that depend on names alone: a case draws the same in any build."""

from __future__ import annotations

from collections.abc import Iterable

from overread.core.seeded import hash_share


def seeded_share(seed: int, *names: str) -> float:
    """A number from 0 to 1, excluding 1, for these names."""
    return hash_share(seed, *names, size=7)


def seeded_order(items: Iterable[str], seed: int, *names: str) -> list[str]:
    """Items in a seeded order that depends on these names alone, not on the input's order."""
    return sorted(items, key=lambda item: (seeded_share(seed, *names, item), item))
