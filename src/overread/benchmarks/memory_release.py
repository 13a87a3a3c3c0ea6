"""A release whose entries are in memory (or generated on demand) instead of in a folder.

The phantom and the builders hand a MemoryRelease to the same writer that writes a loaded release.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from overread.benchmarks.release import BaseRelease
from overread.core import Entry, ScannedRow
from overread.core.submission import FindFile


class MemoryRelease(BaseRelease):
    """One split of cases that exist in memory, or that are made as they are asked for."""

    def __init__(
        self,
        benchmark: str,
        split: str,
        entries: Iterable[Entry],
        find: FindFile,
        *,
        form: str | None = None,
        count: int | None = None,
    ) -> None:
        """`entries` is iterated more than once; `find` gives a file's bytes, or where they are."""
        self.benchmark = benchmark
        self.split = split
        self.form = form
        self._entries = entries
        self._find = find
        self._count = count

    def scan(self) -> Iterator[ScannedRow]:
        """Every entry; what was made here has no defects of reading."""
        for number, entry in enumerate(self._entries, 1):
            yield ScannedRow("made", number, entry, [])

    def count(self) -> int | None:
        """How many entries there will be, where that was said."""
        return self._count

    def source(self, file: str) -> Path | bytes:
        """The bytes of a picture, mask or crop, or where they are."""
        return self._find(file)
