"""One export at work: the cases in their order, what became of each, and whose truth stays hidden.

A case that cannot be written is left out and named, and the others go on. The truth of the test
split is taken off before any format sees the entry.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from overread.benchmarks import load
from overread.core import Entry, Progress, Release
from overread.errors import OverreadError, PictureError, ReaderError, UsageError

TEST_SPLIT = "test"


class CannotExport(OverreadError):
    """A case that a format has no place for; it is left out."""


@dataclass
class ExportJob:
    """What is exported, where to, and how it went."""

    benchmark: str
    root: Path
    out: Path
    """Folder that is written; it gets its name when all is done."""
    splits: tuple[str, ...]
    name: str = ""
    """What the folder will be called."""
    limit: int | None = None
    with_test_truth: bool = False
    style: str = ""
    final_folder: str = ""
    """Where the folder will lie when all is done: its whole path."""
    workflow: str = ""
    """The workflow whose questions are asked; empty for the usual ones."""
    image_root: str | None = None
    """What rows write before the names of their pictures; absent means as the format has it."""
    form: str | None = None
    pictures: Path | None = None
    dicom: Path | None = None
    """Folder with a DICOM series for each case, by the case's id."""
    progress: Progress | None = None
    cases: dict[str, int] = field(default_factory=dict)
    """Split → how many cases were written."""
    left_out: dict[str, str] = field(default_factory=dict)
    """Split and case → why it was not written."""
    notes: list[str] = field(default_factory=list)
    """What else the format made of the cases."""

    def load_split(self, split: str) -> Release:
        """One split of what is exported."""
        return load(self.benchmark, self.root, split, form=self.form, pictures=self.pictures)

    def hides(self, split: str) -> bool:
        """Whether the truth of this split stays where it is."""
        return split == TEST_SPLIT and not self.with_test_truth

    def load_splits(self) -> Iterator[Release]:
        """The splits, one by one."""
        for split in self.splits:
            self.cases.setdefault(split, 0)
            yield self.load_split(split)

    def peek_entries(self, split: str) -> Iterator[Entry]:
        """The entries of a split that will be tried, for a first look; nothing is counted."""
        for scanned in islice(self.load_split(split).scan(), self.limit):
            if scanned.entry is not None:
                yield self._hide_truth(scanned.entry, split)

    def entries(self, release: Release) -> Iterator[Entry]:
        """The entries of a split, without their truth where it is hidden."""
        total = release.count()
        total = total if self.limit is None or total is None else min(total, self.limit)
        for done, scanned in enumerate(islice(release.scan(), self.limit), 1):
            if scanned.entry is None:
                why = str(scanned.defects[0]) if scanned.defects else "it is no case"
                self.left_out[f"{release.split} row {scanned.row}"] = why
            else:
                yield self._hide_truth(scanned.entry, release.split)
            if self.progress is not None:
                self.progress(done, total)

    @contextmanager
    def track_case(self, entry: Entry) -> Iterator[None]:
        """Counts the case when the block ends well; a case that cannot be read is left out."""
        try:
            yield
        except (PictureError, CannotExport, ReaderError) as error:
            self.left_out[f"{entry.case.split} {entry.case.id}"] = str(error)
        else:
            self.cases[entry.case.split] = self.cases.get(entry.case.split, 0) + 1

    def require_cases(self) -> None:
        """Raise if no case was written at all."""
        if sum(self.cases.values()):
            return
        if self.left_out:
            name, why = next(iter(self.left_out.items()))
            raise UsageError(
                f"none of the {len(self.left_out)} case(s) could be exported; {name}: {why}",
                remedy="`overread check` says more",
            )
        raise UsageError(f"there are no cases in {', '.join(self.splits) or 'any split'}")

    def _hide_truth(self, entry: Entry, split: str) -> Entry:
        if not self.hides(split):
            return entry
        return entry.model_copy(update={"truth": None, "extra": {}})


def case_folder(entry: Entry) -> str:
    """Where the files of a case go: ids are unique within their split only."""
    return f"{entry.case.split}/{entry.case.id}"
