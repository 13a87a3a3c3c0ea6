"""Limits on asking: how many requests at once to each endpoint, and how long to wait before a
retry.
"""

from __future__ import annotations

import asyncio

from overread.core.seeded import hash_share

_FIRST_DELAY = 0.5
_MAX_DELAY = 60.0
_MAX_REQUESTED_DELAY = 300.0


def retry_delay(attempt: int, after: float | None, seed: int) -> float:
    """Seconds to wait before asking again: doubled each time, with jitter, or what was asked for.

    `attempt` counts from 0. A reader that said how long (`Retry-After`) is left alone at least
    that long, and five minutes at most; jitter keeps many from coming back at the same moment.

    >>> [round(retry_delay(n, None, 7), 1) <= 0.5 * 2**n for n in range(4)]
    [True, True, True, True]
    >>> 5.0 <= retry_delay(0, 5.0, 7) <= 5.5
    True
    """
    jitter = hash_share(seed, attempt, size=4)
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
