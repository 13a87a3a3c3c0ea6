"""Limits on asking: how many requests at once to each endpoint, and how long to wait before a
retry.
"""

from __future__ import annotations

import asyncio
import hashlib

_FIRST_DELAY = 0.5
_MAX_DELAY = 60.0
_MAX_REQUESTED_DELAY = 300.0


def derived_seed(run_seed: int, case_id: str, sample: int) -> int:
    """The seed of one reading: the same in every process, another for every case and sample.

    >>> derived_seed(0, "case00001", 0) == derived_seed(0, "case00001", 0)
    True
    >>> derived_seed(0, "case00001", 0) == derived_seed(0, "case00001", 1)
    False
    """
    told = f"{run_seed}\0{case_id}\0{sample}".encode()
    # 31 bits: endpoints and random generators of other languages take no more.
    return int.from_bytes(hashlib.sha256(told).digest()[:4], "big") >> 1


def retry_delay(attempt: int, after: float | None, seed: int) -> float:
    """Seconds to wait before asking again: doubled each time, with jitter, or what was asked for.

    `attempt` counts from 0. A reader that said how long (`Retry-After`) is left alone at least
    that long, and five minutes at most; jitter keeps many from coming back at the same moment.

    >>> [round(retry_delay(n, None, 7), 1) <= 0.5 * 2**n for n in range(4)]
    [True, True, True, True]
    >>> 5.0 <= retry_delay(0, 5.0, 7) <= 5.5
    True
    """
    told = f"{seed}\0{attempt}".encode()
    jitter = int.from_bytes(hashlib.sha256(told).digest()[:4], "big") / 2**32
    if after is not None and after >= 0:
        return min(after, _MAX_REQUESTED_DELAY) + jitter * min(0.5, 0.1 * after)
    return min(_MAX_DELAY, _FIRST_DELAY * 2.0 ** min(attempt, 20)) * (0.5 + jitter / 2)


class EndpointLimits:
    """One semaphore for each endpoint, shared by everybody in this process who asks it."""

    def __init__(self, at_once: int) -> None:
        """`at_once` is the most questions in flight to one endpoint."""
        self.at_once = at_once
        self._limits: dict[str, asyncio.Semaphore] = {}

    def limit_for(self, endpoint: str) -> asyncio.Semaphore:
        """The limit of that endpoint."""
        if endpoint not in self._limits:
            self._limits[endpoint] = asyncio.Semaphore(self.at_once)
        return self._limits[endpoint]
