"""What all releases have in common: cases without their truth, pictures on demand, a fence."""

from __future__ import annotations

import difflib
import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

from overread.benchmarks.row_fields import row_error
from overread.core import Case, Entry, Geometry, Picture, ScannedRow
from overread.core.notebook import html_table
from overread.core.submission import FindFile
from overread.errors import NotThere, PictureError, Refused, Truncated, UnknownName, UsageError
from overread.storage.fence import Fence

_FIRST_CASES = 10


def clean_id(text: str) -> str:
    """A text as a case id; where characters must be replaced, a digest of the text is appended.

    >>> clean_id("case19254"), clean_id("../../x y")
    ('case19254', 'x-y-e76b0dff')
    """
    if re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}", text):
        return text
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-.")[:60]
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain}-{digest}" if plain else digest


class ReleasePictures:
    """Opens the pictures of cases by their records, and nothing else (no rows, masks, crops).

    Its errors name the picture ('image-1'), never the file: they may reach a reader, and a file
    name may give the truth away. The original error, with the file name, is their cause.
    """

    def __init__(self, find: FindFile) -> None:
        """`find` gives the path or the bytes of a picture's file."""
        self._find = find

    def data(self, picture: Picture) -> Path | bytes:
        """Where the bytes of the picture are: a path, or the bytes themselves."""
        from overread.pixels.formats import sniff_format

        with _hide_file_name(picture):
            source = self._find(picture.file)
            if sniff_format(source) is None:
                raise PictureError("this is no picture")
            return source

    def pixels(self, picture: Picture) -> Any:
        """The pixels as a numpy array, read now."""
        from overread.pixels.formats import read_picture

        with _hide_file_name(picture):
            return read_picture(self._find(picture.file), name=picture.file)

    def geometry(self, picture: Picture) -> Geometry:
        """The geometry of a volume, from its own header."""
        from overread.pixels.nifti import read_geometry

        with _hide_file_name(picture):
            return read_geometry(self._find(picture.file), name=picture.file)


_FILE_PROBLEMS = {NotThere: "is not there", Truncated: "is cut off", Refused: "was refused"}


@contextmanager
def _hide_file_name(picture: Picture) -> Iterator[None]:
    try:
        yield
    except PictureError as error:
        said = _FILE_PROBLEMS.get(type(error), "cannot be read")
        raise type(error)(
            f"the file of {picture.name} {said}", remedy=error.remedy or "`overread check` says more"
        ) from error


class BaseRelease(ABC):
    """What is read off `scan()`, whether the rows lie in a folder or were made here."""

    benchmark = ""
    split = ""
    form: str | None = None

    @abstractmethod
    def scan(self) -> Iterator[ScannedRow]:
        """Every row as an entry or None, and what is wrong with it: nothing raised or skipped."""

    @abstractmethod
    def count(self) -> int | None:
        """How many rows there are, where that can be told without reading them."""

    @abstractmethod
    def source(self, file: str) -> Path | bytes:
        """Where the bytes of any file of the release are, masks and crops too."""

    def find_picture(self, file: str) -> Path | bytes:
        """Where the bytes of a picture of a case are; masks and crops are none."""
        return self.source(file)

    @property
    def pictures(self) -> ReleasePictures:
        """Opens the pictures of the cases."""
        return ReleasePictures(self.find_picture)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.benchmark}, split {self.split}>"

    def _repr_html_(self) -> str:
        """In a notebook: the first cases, without their truth."""
        first = [
            (case.id, len(case.pictures), case.history or case.instruction or "", len(case.queries))
            for case in islice(self, _FIRST_CASES)
        ]
        rows = self.count()
        note = f"The first {len(first)} of {rows:,} rows." if rows and rows > len(first) else ""
        title = f"{self.benchmark}, split {self.split}"
        return html_table(title, first, head=("case", "pictures", "history or task", "sentences"), note=note)

    def __iter__(self) -> Iterator[Case]:
        """The cases, one by one, without their truth."""
        return (entry.case for entry in self.entries())

    def entries(self) -> Iterator[Entry]:
        """The cases with their truth: for scoring, checking and writing only.

        A row that cannot become a case raises `ReleaseError`; defects that leave a case do not.
        """
        for scanned in self.scan():
            if scanned.entry is None:
                raise row_error(scanned.defects)
            yield scanned.entry

    def entry(self, case_id: str) -> Entry:
        """One entry by its case's id, or by its place: '#3' is the third.

        The title of the case and the name or folder of its pictures will do as well. Rows that
        cannot become a case are passed over, unless they are the one asked for.
        """
        seen: list[str] = []
        for number, scanned in enumerate(self.scan(), 1):
            if scanned.entry is None:
                named = {defect.case for defect in scanned.defects}
                if case_id == f"#{number}" or case_id in named:
                    raise row_error(scanned.defects)
                continue
            if case_id == f"#{number}" or case_id in _case_names(scanned.entry):
                return scanned.entry
            seen.append(scanned.entry.case.id)
        near = difflib.get_close_matches(case_id, seen, n=1, cutoff=0.5)
        some = f"did you mean '{near[0]}'?" if near else f"for example '{seen[0]}'" if seen else ""
        raise UnknownName(
            f"no case is called '{case_id}' among the {len(seen)} of split '{self.split}'",
            remedy=some or "the split has no cases; try another --split",
        )


def _case_names(entry: Entry) -> set[str]:
    """What a person may call a case who knows the release: its id, title, files and folders."""
    names = {entry.case.id}
    if entry.truth is not None and entry.truth.title:
        names.add(entry.truth.title)
    for picture in entry.case.pictures:
        path = PurePosixPath(picture.file)
        names.add(picture.file)
        if len(path.parts) > 2:  # a folder of its own, not the one that all pictures lie in
            names.add(path.parent.name)
    return names


class FolderRelease(BaseRelease):
    """One split of a release in a folder. Subclasses say how its rows become entries."""

    split_has_a_file = True
    linked_folders: ClassVar[tuple[str, ...]] = ()
    """Folders directly in the root that may be links to another place: see `Fence`."""

    def __init__(
        self, root: Path, split: str, *, form: str | None = None, pictures: Path | None = None
    ) -> None:
        """Open the folder; `pictures` is where the pictures lie when they are not inside it."""
        for folder in filter(None, (root, pictures)):
            try:
                there = folder.is_dir()
                what = "is a file" if folder.exists() else "does not exist"
            except (OSError, ValueError):
                there, what = False, "cannot be a folder"
            if not there:
                raise UsageError(f"{folder} {what}", remedy="give the folder that holds the release")
        self.root = root
        self.split = split
        self.form = form
        self.picture_root = pictures
        self.fence = Fence(root, linked=self.linked_folders)
        self.picture_fence = Fence(pictures, linked=self.linked_folders) if pictures else self.fence

    def source(self, file: str) -> Path | bytes:
        """Where the bytes of any file of the release are, masks and crops too."""
        return self.picture_fence.path(file)
