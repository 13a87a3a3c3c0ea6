"""What the releases of all benchmarks have in common: a fence, cases, pixels on demand."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overread.benchmarks.fields import refused
from overread.core import Case, Defect, Entry, Geometry, Picture
from overread.errors import UnknownName, UsageError
from overread.pixels.fence import Fence


@dataclass(frozen=True)
class Scanned:
    """One row that was looked at."""

    file: str
    row: int
    entry: Entry | None
    defects: list[Defect]


class FolderRelease(ABC):
    """One split of a release in a folder. Subclasses say how its rows become entries."""

    benchmark = ""

    def __init__(
        self, root: Path, split: str, *, form: str | None = None, pictures: Path | None = None
    ) -> None:
        """Open the folder; `pictures` is where the pictures lie when they are not inside it."""
        for folder in filter(None, (root, pictures)):
            try:
                what = (
                    "" if folder.is_dir() else "is a file" if folder.exists() else "does not exist"
                )
            except (OSError, ValueError):
                what = "cannot be a folder"
            if what:
                raise UsageError(
                    f"{folder} {what}", remedy="give the folder that holds the release"
                )
        self.root = root
        self.split = split
        self.form = form
        self.pictures = pictures
        self.fence = Fence(root)
        self.picture_fence = Fence(pictures) if pictures else self.fence

    def __iter__(self) -> Iterator[Case]:
        """The cases, one by one, without their truth."""
        return (entry.case for entry in self.entries())

    @abstractmethod
    def scan(self) -> Iterator[Scanned]:
        """Every row as an entry or None, and what is wrong with it: nothing raised or skipped."""

    @abstractmethod
    def count(self) -> int | None:
        """How many rows the split has, where that can be told without reading them."""

    def entries(self) -> Iterator[Entry]:
        """The cases with their truth: for scoring, checking and writing only.

        A row that cannot become a case raises `ReleaseError`; defects that leave a case do not.
        """
        for scanned in self.scan():
            if scanned.entry is None:
                raise refused(next(d for d in scanned.defects if d.severity == "error"))
            yield scanned.entry

    def entry(self, case_id: str) -> Entry:
        """One entry by its case's id, or by its place: '#3' is the third."""
        seen: list[str] = []
        for number, entry in enumerate(self.entries(), 1):
            if case_id in (entry.case.id, f"#{number}"):
                return entry
            seen.append(entry.case.id)
        near = difflib.get_close_matches(case_id, seen, n=1, cutoff=0.5)
        some = f"did you mean '{near[0]}'?" if near else f"for example '{seen[0]}'" if seen else ""
        raise UnknownName(
            f"no case is called '{case_id}' among the {len(seen)} of split '{self.split}'",
            where=str(self.root),
            remedy=some or "the split has no cases; try another --split",
        )

    def source(self, file: str) -> Path | bytes:
        """Where the bytes of a picture or mask are: a path inside the release, or the bytes."""
        return self.picture_fence.path(file)

    def pixels(self, picture: Picture) -> Any:
        """The pixels of a picture as a numpy array, read now."""
        from overread.pixels.formats import read_picture

        return read_picture(self.source(picture.file), name=picture.file)

    def geometry(self, picture: Picture) -> Geometry:
        """The geometry of a volume, from its own header."""
        from overread.pixels.nifti import read_geometry

        return read_geometry(self.source(picture.file), name=picture.file)
