"""Cache of values computed from a split, dropped when its rows change on disk."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from overread.site.shelf import Split

T = TypeVar("T")


class SplitCache(Generic[T]):
    """Caches one value per split; the shelf makes a new Split object where the rows changed."""

    def __init__(self, make: Callable[[Split], T], *, most: int = 8) -> None:
        """`make` works it out; the `most` that were asked for last are kept."""
        self._make = make
        self._most = most
        self._kept: OrderedDict[int, tuple[weakref.ref[Split], T]] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, split: Split) -> T:
        """The thing; whoever asks while it is being made waits for it."""
        with self._lock:
            kept = self._kept.get(id(split))
            # A split that was read anew is let go of; another one may get its number.
            if kept is None or kept[0]() is not split:
                kept = self._kept[id(split)] = (weakref.ref(split), self._make(split))
            self._kept.move_to_end(id(split))
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
            return kept[1]
