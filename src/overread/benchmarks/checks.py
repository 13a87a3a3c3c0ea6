"""What the checks of all benchmarks share: unique ids, patients, pictures, missing values."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from overread.benchmarks.release import FolderRelease
from overread.benchmarks.rows import missing_shards
from overread.core import Defect, Entry, Image, ScannedRow
from overread.errors import NotThere, PictureError, Refused, Truncated

T = TypeVar("T")


def picture_defect(error: PictureError, **where: object) -> Defect:
    """What went wrong with a file, as a defect."""
    found = error.what + (f" ({error.remedy})" if error.remedy else "")
    code, expected = "unreadable-file", "a readable file"
    if isinstance(error, NotThere):
        code, expected = "missing-file", "the file"
        found = "nothing" if found.startswith("there is no") else found
    elif isinstance(error, Truncated):
        code = "truncated-file"
    elif isinstance(error, Refused):
        code, expected = "refused-file", "a file of the release"
    told = {"code": code, "expected": expected, "found": found}
    return Defect.model_validate(told | where)


def flat_picture_defects(
    release: FolderRelease, scanned: ScannedRow, images: Iterable[tuple[str, str]], *, look: bool
) -> Iterator[Defect]:
    """Defects of flat pictures given as (field, file): are they there, and, with `look`, whole."""
    from overread.pixels.image_files import verify_image

    case = scanned.entry.case.id if scanned.entry else None
    for name, file in images:
        try:
            source = release.source(file)
            if look:
                verify_image(source, name=file)
        except PictureError as error:
            yield picture_defect(error, file=file, row=scanned.row, case=case, field=name)


def image_files(entry: Entry) -> list[tuple[str, str]]:
    """(name, file) of the flat pictures of a case."""
    return [(p.name, p.file) for p in entry.case.pictures if isinstance(p, Image) and p.file]


def check_in_threads(
    items: Iterable[T], work: Callable[[T], list[Defect]], *, look: bool
) -> Iterator[tuple[T, list[Defect]]]:
    """Each item with its defects, in order, checked by a few threads.

    Decoders release the interpreter lock, so threads suffice; a bounded queue limits memory. Where
    no picture is opened, the items are checked without threads.
    """
    if not look:
        for item in items:
            yield item, work(item)
        return
    workers = min(4, os.cpu_count() or 1)
    waiting: deque[tuple[T, Future[list[Defect]]]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for item in items:
                waiting.append((item, pool.submit(work, item)))
                if len(waiting) >= 4 * workers:
                    first, future = waiting.popleft()
                    yield first, future.result()
            while waiting:
                first, future = waiting.popleft()
                yield first, future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def shard_defects(files: list[str]) -> Iterator[Defect]:
    """Defects for numbered shards that are missing although the names of the others count them."""
    for file in missing_shards(files):
        yield Defect(code="missing-file", file=file, expected="the shard", found="nothing")


@dataclass
class UniqueIds:
    """Ids that must be unique within a split."""

    seen: dict[str, tuple[str, int]] = field(default_factory=dict)

    def defects(self, scanned: ScannedRow, case_id: str, *, column: str) -> Iterator[Defect]:
        """A defect when the id was seen before."""
        here = (scanned.file, scanned.row)
        file, row = self.seen.setdefault(case_id, here)
        if (file, row) != here:
            yield Defect(
                code="duplicate-id",
                file=scanned.file,
                row=scanned.row,
                case=case_id,
                field=column,
                expected="an id of its own",
                found=f"the id of row {row}" + (f" of {file}" if file != scanned.file else ""),
            )


@dataclass
class FormContents:
    """The cases of one form of a split, each with a hash of its content, to compare two forms."""

    file: str
    cases: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, scanned: ScannedRow, entry: Entry) -> None:
        """Take one case into account."""
        self.cases.setdefault(entry.case.id, (hash((entry.case, entry.truth)), scanned.row))

    def differences(self, twin: FormContents) -> Iterator[Defect]:
        """Defects for cases that the other form lacks or states differently."""
        for one, other in ((self, twin), (twin, self)):
            for case_id in one.cases.keys() - other.cases.keys():
                yield Defect(
                    code="twin-mismatch",
                    file=other.file,
                    case=case_id,
                    expected=f"the case, as in {one.file}",
                    found="nothing",
                )
        for case_id, (told, row) in twin.cases.items():
            if case_id in self.cases and self.cases[case_id][0] != told:
                yield Defect(
                    code="twin-mismatch",
                    file=twin.file,
                    row=row,
                    case=case_id,
                    expected=f"what {self.file} tells",
                    found="something else",
                )


@dataclass
class MissingValues:
    """Optional values that some rows have and others lack: one warning a field."""

    have: dict[str, int] = field(default_factory=dict)
    lack: dict[str, tuple[ScannedRow, int]] = field(default_factory=dict)

    def add(self, name: str, scanned: ScannedRow, *, filled: bool) -> None:
        """Take one value into account."""
        if filled:
            self.have[name] = self.have.get(name, 0) + 1
        else:
            first, count = self.lack.get(name, (scanned, 0))
            self.lack[name] = (first, count + 1)

    def defects(self) -> Iterator[Defect]:
        """A warning for each field that is empty in some rows only."""
        for name, (scanned, count) in self.lack.items():
            if self.have.get(name):
                expected = f"a value, as in {self.have[name]} other place(s)"
                found = f"nothing, here and in {count - 1} more" if count > 1 else "nothing"
                yield scanned.defect("missing-value", name, expected, found)


@dataclass
class UnknownWords:
    """Words that an open list does not have: one warning a word, with its first place and count."""

    expected: str
    seen: dict[tuple[str, str, str], tuple[ScannedRow, int]] = field(default_factory=dict)

    def add(self, scanned: ScannedRow, code: str, name: str, word: str) -> None:
        """Take one unknown word into account."""
        first, count = self.seen.get((code, name, word), (scanned, 0))
        self.seen[(code, name, word)] = (first, count + 1)

    def defects(self) -> Iterator[Defect]:
        """A warning for each word."""
        for (code, name, word), (scanned, count) in self.seen.items():
            found = f"'{word}'" + (f", {count} times" if count > 1 else "")
            yield scanned.defect(code, name, self.expected, found)


def shared_patient_defects(
    release: FolderRelease, here: dict[str, int], others: Iterable[FolderRelease]
) -> Iterator[Defect]:
    """A warning for each patient who is in another split too."""
    for other in others:
        told: set[str] = set()
        for scanned in other.scan():
            patient = scanned.entry.case.patient if scanned.entry else None
            if patient in here and patient not in told:
                told.add(patient)
                yield Defect(
                    code="patient-in-two-splits",
                    file=scanned.file,
                    row=scanned.row,
                    case=scanned.entry.case.id if scanned.entry else None,
                    field="patient",
                    expected=f"a patient of split '{other.split}' alone",
                    found=f"{patient}, also in split '{release.split}' (row {here[patient]})",
                )
