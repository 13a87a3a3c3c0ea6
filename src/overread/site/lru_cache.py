"""Values that the page keeps in memory, and what tells that their files have changed."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")


class LruCache(Generic[T]):
    """The values that were asked for last; each is made once, however many threads ask for it."""

    def __init__(self, most: int) -> None:
        """Keep so many."""
        self._most = most
        self._lock = threading.Lock()
        self._making: dict[Hashable, threading.Lock] = {}
        self._kept: OrderedDict[Hashable, tuple[object, T]] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], T], *, stamp: object = None) -> T:
        """What is kept under a key with this stamp, or made now in the place of what was."""
        with self._lock:
            kept = self._find(key, stamp)
            if kept is not None:
                return kept[1]
            own = self._making.setdefault(key, threading.Lock())
        with own:
            with self._lock:
                kept = self._find(key, stamp)
            if kept is not None:  # made by another thread meanwhile
                return kept[1]
            try:
                made = make()
                with self._lock:
                    self._kept[key] = (stamp, made)
                    self._kept.move_to_end(key)
                    while len(self._kept) > self._most:
                        self._kept.popitem(last=False)
            finally:
                with self._lock:
                    self._making.pop(key, None)
            return made

    def _find(self, key: Hashable, stamp: object) -> tuple[object, T] | None:
        kept = self._kept.get(key)
        if kept is None or kept[0] != stamp:
            return None
        self._kept.move_to_end(key)
        return kept


def file_stamp(file: Path) -> tuple[int, int, int] | None:
    """What changes when a file is written; None where it is not there."""
    try:
        found = file.stat()
    except OSError:  # a link to nowhere, or gone meanwhile
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
