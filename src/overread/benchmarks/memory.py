"""Cases that were made here rather than loaded: entries, and the bytes of their pictures.

What the phantom and the builders make becomes a release by being written: a `MadeRelease` is
handed to the same writer that a loaded release is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from overread.core import Case, Entry, Geometry, Picture
from overread.errors import NotThere, UnknownName


class MadeRelease:
    """One split of cases in memory."""

    def __init__(
        self,
        benchmark: str,
        split: str,
        entries: Sequence[Entry],
        files: Mapping[str, bytes | Path],
        *,
        form: str | None = None,
    ) -> None:
        """`files` maps the names that pictures and masks carry to their bytes, or to files."""
        self.benchmark = benchmark
        self.root = Path()
        self.split = split
        self.form = form
        self._entries = entries
        self._files = files

    def __iter__(self) -> Iterator[Case]:
        """The cases, one by one, without their truth."""
        return (entry.case for entry in self._entries)

    def entries(self) -> Iterator[Entry]:
        """The cases with their truth."""
        return iter(self._entries)

    def entry(self, case_id: str) -> Entry:
        """One entry by its case's id."""
        for entry in self._entries:
            if entry.case.id == case_id:
                return entry
        raise UnknownName(f"no case is called '{case_id}'")

    def count(self) -> int | None:
        """How many cases there are."""
        return len(self._entries)

    def source(self, file: str) -> Path | bytes:
        """The bytes of a picture or mask."""
        if file not in self._files:
            raise NotThere(f"there is no file {file}")
        return self._files[file]

    def pixels(self, picture: Picture) -> Any:
        """The pixels of a picture as a numpy array."""
        from overread.pixels.formats import read_picture

        return read_picture(self.source(picture.file), name=picture.file)

    def geometry(self, picture: Picture) -> Geometry:
        """The geometry of a volume."""
        from overread.pixels.nifti import read_geometry

        return read_geometry(self.source(picture.file), name=picture.file)
