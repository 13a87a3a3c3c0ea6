"""Draws by a hash of words alone: the same in every process, whoever else is drawn.

What was drawn stands in stored results (splits, seeds, letters), so neither these formulas nor the
words and sizes that callers hand in may change.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping


def hash_number(*words: object, size: int = 8) -> int:
    """A whole number of `size` bytes for these words."""
    text = "\0".join(map(str, words)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(text).digest()[:size])


def hash_share(*words: object, size: int = 8) -> float:
    """A number from 0 to 1, excluding 1, for these words.

    >>> hash_share(0, "case1") == hash_share(0, "case1"), hash_share(0, "a") == hash_share(1, "a")
    (True, False)
    """
    return hash_number(*words, size=size) / (1 << 8 * size)


def hash_seed(seed: int, *words: object) -> int:
    """A seed of 31 bits for these words: endpoints and other languages' generators take no more."""
    return hash_number(seed, *words, size=4) >> 1


def draw_split(share: float, shares: Mapping[str, float]) -> str:
    """The split that a share from 0 to 1 falls into, by the splits' own shares in their order.

    >>> [draw_split(share, {"train": 0.7, "val": 0.3, "test": 0.0}) for share in (0.2, 0.8)]
    ['train', 'val']
    """
    for split, own in shares.items():
        if share < own:
            return split
        share -= own
    return [split for split, own in shares.items() if own][-1]  # the sum fell short by rounding
