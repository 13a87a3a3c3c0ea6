"""The contract of a benchmark: how its rows become cases and its cases become rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from overread.core.case import Case, Entry
from overread.core.defects import Defect
from overread.core.description import Description
from overread.core.pictures import Geometry, Picture
from overread.core.submission import ReadSubmission, Submit

TruthPart = Literal["masks in CTs", "traces of looks", "chains of thought", "diagnoses to choose from"]

Progress = Callable[[int, int | None], None]
"""Told (done, total) as work goes on; total is None while it is unknown."""


@dataclass(frozen=True)
class ScannedRow:
    """One row of a release after it was read: its entry, or None where it cannot become one, and
    its defects.
    """

    file: str
    row: int
    entry: Entry | None
    defects: list[Defect]

    def defect(self, code: str, field: str, expected: str, found: str, *, file: str | None = None) -> Defect:
        """A defect of this row, or of a file that belongs to it."""
        return Defect(
            code=code,
            file=file or self.file,
            row=self.row,
            case=self.entry.case.id if self.entry else None,
            field=field,
            expected=expected,
            found=found,
        )


class Pictures(Protocol):
    """Opens the pictures of cases, and nothing else: what a session is given beside a case."""

    def data(self, picture: Picture) -> Path | bytes:
        """Where the bytes of the picture are: a path, or the bytes themselves."""

    def pixels(self, picture: Picture) -> Any:
        """The pixels as a numpy array, read now."""

    def geometry(self, picture: Picture) -> Geometry:
        """The geometry of a volume, from its own header."""


class Release(Protocol):
    """One split of one copy of a benchmark.

    Iterating it, and its `pictures`, give what a reader may see. Everything else knows the truth
    and is for scoring, checking and writing only.
    """

    benchmark: str
    split: str
    form: str | None

    def __iter__(self) -> Iterator[Case]:
        """The cases, one by one, without their truth."""

    @property
    def pictures(self) -> Pictures:
        """Opens the pictures of the cases."""

    def count(self) -> int | None:
        """How many rows there are, where that can be told without reading them."""

    def scan(self) -> Iterator[ScannedRow]:
        """Every row as an entry or None, and what is wrong with it: nothing raised or skipped."""

    def entries(self) -> Iterator[Entry]:
        """The cases with their truth; raises at a row that cannot become one."""

    def entry(self, case_id: str) -> Entry:
        """One entry by its case's id, or by its place: '#3' is the third."""

    def source(self, file: str) -> Path | bytes:
        """Where the bytes of any file of the release are, masks and crops too."""


class Load(Protocol):
    """Opens one split of a copy."""

    def __call__(
        self, root: Path, split: str, *, form: str | None = None, pictures: Path | None = None
    ) -> Release:
        """`form` picks one of several; `pictures` is their folder where it is another one."""


class Check(Protocol):
    """Names every defect of one split of a copy."""

    def __call__(
        self,
        root: Path,
        split: str,
        *,
        form: str | None = None,
        pictures: Path | None = None,
        open_pictures: bool = True,
        progress: Progress | None = None,
    ) -> Iterator[Defect]:
        """As `Load`; without `open_pictures` only their presence is looked at."""


class Write(Protocol):
    """Writes one split in the benchmark's own layout."""

    def __call__(
        self,
        release: Release,
        out: Path,
        *,
        form: str | None = None,
        pictures: bool = True,
        progress: Progress | None = None,
    ) -> Path:
        """The file of rows that was written; without `pictures` it is the only one."""


class Describe(Protocol):
    """Counts what some splits of a copy hold."""

    def __call__(
        self,
        releases: Sequence[Release],
        *,
        headers: bool = False,
        column: str | None = None,
        progress: Progress | None = None,
    ) -> Description:
        """With `headers` those of the pictures are read too; `column` is one of nobody's to count."""


@dataclass(frozen=True)
class Hub:
    """Where a release can be fetched by those who have access."""

    repo: str
    """Data set on the hub, 'owner/name'; empty where there is none."""
    note: str = ""
    """What else is needed and where to ask for it."""


@dataclass(frozen=True)
class Benchmark:
    """One benchmark: a thin description and its functions.

    `forms` are the ways one split may be stored; None lets the copy decide.
    """

    name: str
    title: str
    about: str
    splits: tuple[str, ...]
    forms: tuple[str, ...]
    load: Load
    check: Check
    write: Write
    licence: str
    terms: str
    cite: str
    hub: Hub
    read_submission: ReadSubmission | None = None
    """Reads predictions in the benchmark's own format; None where it has none."""
    submit: Submit | None = None
    """Writes readings in that format; None where it has none."""
    submit_layouts: Mapping[str, Submit] = field(default_factory=dict)
    """Other layouts that readings are written in: name → what writes them."""
    metrics: tuple[str, ...] = ()
    """What is scored unless somebody asks otherwise, the headline first: catalog names of metrics,
    or of modules of `metrics/` for all of theirs (`catalog.metric_names`)."""
    slower_metrics: tuple[str, ...] = ()
    """What is scored beside them where somebody asks for all: it takes longer, or few want it."""
    official: tuple[str, ...] = ()
    """Names that the benchmark itself gives its numbers."""
    headline: tuple[str, str] | None = None
    """The metric of a table with one number a benchmark, and what the table calls it."""
    inspect_metrics: tuple[str, ...] = ()
    """What its Inspect task scores unless somebody asks otherwise; the official ones if empty."""
    demo_audits: int = 3
    """How many readings `overread demo` audits at most: a demo should not take all day."""
    hub_tasks: tuple[str, ...] = ("other",)
    """What Hugging Face calls its tasks, for the card of a release."""
    describe: Describe | None = None
    """Counts what a copy holds, as the paper's dataset tables do; None where nobody wrote it."""
    holds: tuple[TruthPart, ...] = ()
    """What its truth holds that some export formats are for."""
