"""Background checks of datasets: started once per split, polled by the page while they run.

No file paths are sent: files of pictures appear as the pictures' names.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import PurePosixPath

import overread
from overread.core import Defect, Entry, Mask, Record
from overread.core.defects import KINDS, Severity
from overread.errors import OverreadError
from overread.site.shelf import Dataset, Split
from overread.site.strip_paths import strip_paths

FIRST_LINES = 50
"""Defects of a kind that come with the list; the others are asked for."""
MAX_LINES = 20_000
"""Defects of a kind that are kept; all of them are counted."""
_ROWS = (".jsonl", ".json", ".parquet", ".csv")
_LONGEST = 400
_CHECKS = 12


# Apart from core's Defect: that names files.
class DefectLine(Record):
    """One defect."""

    case: str | None
    """The case, where the row got far enough to have one."""
    there: bool
    """Whether the case can be looked at."""
    where: str
    """File of rows, row and field, in one phrase."""
    told: str
    """What was expected and what was found."""


class DefectGroup(Record):
    """All defects of one kind."""

    code: str
    severity: Severity
    meaning: str
    """What this kind is, in one sentence."""
    count: int
    """How many there are, all of them."""
    first: list[DefectLine]
    """The first ones."""


class DefectList(Record):
    """A check, as far as it got."""

    done: int
    """Rows that were looked at."""
    total: int | None
    """How many rows there are, where that is known."""
    finished: bool
    opened_pictures: bool
    """Whether every picture was decoded, and not only seen to be there."""
    errors: int
    warnings: int
    groups: list[DefectGroup]
    """Errors first, then the most frequent."""
    problem: str | None
    """Why the check could not go on."""


class DefectLines(Record):
    """Some of the defects of one kind."""

    lines: list[DefectLine]
    count: int
    """How many there are, all of them."""
    kept: int
    """How many of them can be asked for."""


class DefectCheck:
    """One check of one split."""

    def __init__(self, dataset: Dataset, name: str, split: Split, *, open_pictures: bool) -> None:
        """Begins with `run`."""
        self.split = split
        self._dataset = dataset
        self._name = name
        self._open_pictures = open_pictures
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._done = 0
        self._total: int | None = len(split.entries) + split.unread
        self._finished = False
        self._problem: str | None = None
        self._counts: dict[str, int] = {}
        self._severity: dict[str, Severity] = {}
        self._lines: dict[str, list[DefectLine]] = {}

    def run(self, turn: threading.Lock) -> None:
        """Find every defect; one check at a time has the `turn`."""
        with turn:
            try:
                self._collect()
            except OverreadError as error:
                self._problem = error.what
            except Exception as error:  # the page must tell that a check ended, and how
                self._problem = f"the check failed ({type(error).__name__})"
            self._finished = True

    def stop(self) -> None:
        """Stop the check; its result is no longer needed."""
        self._stop.set()

    def snapshot(self) -> DefectList:
        """What is known so far."""
        with self._lock:
            codes = sorted(self._counts, key=lambda c: (self._severity[c] != "error", -self._counts[c], c))
            groups = [
                DefectGroup(
                    code=code,
                    severity=self._severity[code],
                    meaning=KINDS.get(code, "a kind of defect that another package names"),
                    count=self._counts[code],
                    first=self._lines[code][:FIRST_LINES],
                )
                for code in codes
            ]
            return DefectList(
                done=self._done,
                total=self._total,
                finished=self._finished,
                opened_pictures=self._open_pictures,
                errors=sum(g.count for g in groups if g.severity == "error"),
                warnings=sum(g.count for g in groups if g.severity == "warning"),
                groups=groups,
                problem=self._problem,
            )

    def lines(self, code: str, offset: int, limit: int) -> DefectLines:
        """Some of one kind."""
        with self._lock:
            kept = self._lines.get(code, [])
            return DefectLines(
                lines=kept[offset : offset + limit], count=self._counts.get(code, 0), kept=len(kept)
            )

    def _collect(self) -> None:
        place = self._dataset.release_ref(self._name)
        found = overread.check(
            place.benchmark,
            place.root,
            place.split,
            form=place.form,
            pictures=place.pictures,
            open_pictures=self._open_pictures,
            progress=self._note_progress,
        )
        for defect in found:
            if self._stop.is_set():
                return
            line = self._format_line(defect)
            with self._lock:
                self._counts[defect.code] = self._counts.get(defect.code, 0) + 1
                self._severity[defect.code] = defect.severity
                lines = self._lines.setdefault(defect.code, [])
                if len(lines) < MAX_LINES:
                    lines.append(line)

    def _note_progress(self, done: int, total: int | None) -> None:
        # Some benchmarks look at the rows more than once; what was done stays done.
        self._done = max(self._done, done)
        self._total = total if total is not None else self._total

    def _format_line(self, defect: Defect) -> DefectLine:
        entry = self.split.entries.get(defect.case or "")
        rows = PurePosixPath(defect.file.replace("\\", "/"))
        parts = [rows.name] if rows.suffix in _ROWS else []
        parts += [f"row {defect.row}"] if defect.row is not None else []
        parts += [defect.field] if defect.field else []
        expected = self._strip_paths(defect.expected, entry)
        told = f"found {self._strip_paths(defect.found, entry)}"
        return DefectLine(
            case=defect.case,
            there=entry is not None,
            where=", ".join(parts),
            told=f"expected {expected}, {told}" if expected else told,
        )

    def _strip_paths(self, text: str, entry: Entry | None) -> str:
        """The text without file paths: a picture's file becomes the picture's name."""
        folders = (self._dataset.root, self._dataset.pictures)
        names = {str(folder): "the folder" for folder in folders if folder is not None}
        if entry is not None:
            names |= {picture.file: picture.name for picture in entry.case.pictures}
            for finding in entry.truth.findings if entry.truth else ():
                masks = (region for region in finding.regions if isinstance(region, Mask))
                names |= {mask.file: "the mask" for mask in masks}
        text = strip_paths(text, names)
        return text if len(text) <= _LONGEST else text[:_LONGEST] + " …"


class DefectChecks:
    """The checks that were begun; the newest are kept."""

    def __init__(self) -> None:
        """None at first."""
        self._kept: OrderedDict[tuple[str, str, bool], DefectCheck] = OrderedDict()
        self._lock = threading.Lock()
        self._turn = threading.Lock()

    def get_or_start(
        self, dataset: Dataset, name: str, *, open_pictures: bool, restart: bool = False
    ) -> DefectCheck:
        """The check of a split, begun where there is none, or where the rows changed since."""
        split = dataset.split(name)
        key = (str(dataset.root), name, open_pictures)
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and kept.split is split and not (restart and kept.snapshot().finished):
                return kept
            if kept is not None:
                kept.stop()
            check = DefectCheck(dataset, name, split, open_pictures=open_pictures)
            self._kept[key] = check
            self._kept.move_to_end(key)
            while len(self._kept) > _CHECKS:
                self._kept.popitem(last=False)[1].stop()
        threading.Thread(target=check.run, args=(self._turn,), daemon=True).start()
        return check


checks = DefectChecks()
"""The checks of this process."""
