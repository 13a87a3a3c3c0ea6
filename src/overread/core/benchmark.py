"""The contract of a benchmark: how its rows become cases and its cases become rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from overread.core.case import Case, Entry
from overread.core.defects import Defect
from overread.core.pictures import Geometry, Picture

Progress = Callable[[int, int | None], None]
"""Told (done, total) as work goes on; total is None while it is unknown."""


class Release(Protocol):
    """One split of one copy of a benchmark. Iterating it gives what a reader may see."""

    benchmark: str
    root: Path
    split: str
    form: str | None

    def __iter__(self) -> Iterator[Case]:
        """The cases, one by one, without their truth."""

    def entries(self) -> Iterator[Entry]:
        """The cases with their truth: for scoring, checking and writing only."""

    def entry(self, case_id: str) -> Entry:
        """One entry by its case's id."""

    def count(self) -> int | None:
        """How many rows there are, where that can be told without reading them."""

    def source(self, file: str) -> Path | bytes:
        """Where the bytes of a picture or mask are: a path inside the release, or the bytes."""

    def pixels(self, picture: Picture) -> Any:
        """The pixels of a picture as a numpy array, read now."""

    def geometry(self, picture: Picture) -> Geometry:
        """The geometry of a volume, from its own header."""


@dataclass(frozen=True)
class Hub:
    """Where a release can be fetched by those who have access."""

    repo: str
    """Data set on the hub, 'owner/name'; empty where there is none."""
    gated: bool
    """Whether the terms must be accepted on the hub's page first."""
    note: str = ""
    """What else is needed and where to ask for it."""


@dataclass(frozen=True)
class Benchmark:
    """One benchmark: a thin description and four functions.

    `forms` are the ways one split may be stored; None lets the copy decide.
    """

    name: str
    title: str
    about: str
    splits: tuple[str, ...]
    forms: tuple[str, ...]
    load: Callable[..., Release]
    """(root, split, *, form=None, pictures=None) → Release"""
    check: Callable[..., Iterator[Defect]]
    """(root, split, *, form=None, pictures=None, open_pictures=True, progress=None) → defects"""
    write: Callable[..., Path]
    """(release, out, *, form=None, progress=None) → the file that lists the cases"""
    licence: str
    terms: str
    cite: str
    hub: Hub
    aliases: tuple[str, ...] = field(default=())
