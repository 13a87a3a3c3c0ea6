"""Finding datasets, runs, sweeps and builds below a folder, by the files that mark them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from overread import catalog
from overread.benchmarks import splits_of
from overread.core import ReleaseRef
from overread.errors import OverreadError

MAX_DEPTH = 5
"""How many folders down anything is looked for."""
MAX_FOLDERS = 20_000
"""Folders that are looked into below one path; a whole home directory is no dataset."""
_ROWS = (".json", ".jsonl", ".parquet", ".csv")


@dataclass(frozen=True)
class FoundFolder:
    """One folder that was found, and its name."""

    kind: Literal["dataset", "run", "sweep", "build", "problem"]
    name: str
    folder: Path
    benchmark: str = ""
    splits: tuple[str, ...] = ()
    problem: str = ""


def find_folders(path: Path, *, depth: int = MAX_DEPTH) -> Iterator[FoundFolder]:
    """Everything at or below a path, nearest first; links to folders are not followed."""
    if not path.is_dir():
        yield FoundFolder("problem", path.name, path, problem=f"there is no folder {path}")
        return
    # Found things are called by where they lie below what was given, or by their own folder.
    ahead = [(path, 0)]
    looked = 0
    while ahead:
        folder, below = ahead.pop(0)
        looked += 1
        if looked > MAX_FOLDERS:
            told = f"{path} has more than {MAX_FOLDERS:,} folders: name one further down"
            yield FoundFolder("problem", path.name, path, problem=told)
            return
        name = str(folder.relative_to(path)) if folder != path else folder.name
        try:
            here = sorted(folder.iterdir())
        except OSError as error:
            told = f"{folder} cannot be looked into ({error.strerror})"
            yield FoundFolder("problem", name, folder, problem=told)
            continue
        names = {file.name for file in here}
        own = _kind(names)
        if own is not None:
            yield FoundFolder(own, name, folder)
        if own == "run":
            continue  # the arms of an audit are runs too, and belong to it
        dataset = _detect_dataset(folder, name, here) if own is None else None
        if dataset is not None:
            yield dataset
            continue
        if below < depth:
            inner = (f for f in here if not f.name.startswith(".") and not f.is_symlink())
            ahead += [(file, below + 1) for file in inner if file.is_dir()]


def _kind(names: set[str]) -> Literal["run", "sweep", "build"] | None:
    if "spec.json" in names and "readings.jsonl" in names:
        return "run"
    if "sweep.json" in names:
        return "sweep"
    if "ledger.sqlite" in names or "questions.jsonl" in names:
        return "build"
    return None


def _detect_dataset(folder: Path, name: str, here: list[Path]) -> FoundFolder | None:
    if not any(file.suffix in _ROWS or file.name == "data" for file in here):
        return None
    # Layouts are alike (a `test.jsonl` is in two of them), so the first rows decide.
    best, fewest = None, float("inf")
    for benchmark in catalog.names("benchmarks"):
        try:
            splits = splits_of(benchmark, folder)
            wrong = _misfit(ReleaseRef(benchmark, folder, splits[0]))
        except OverreadError:
            continue
        if wrong < fewest:
            best = FoundFolder("dataset", name, folder, benchmark, tuple(splits))
            fewest = wrong
    return best


def _misfit(place: ReleaseRef) -> float:
    """How badly the first rows fit the benchmark: rows without a case weigh most."""
    rows = list(islice(place.open().scan(), 3))
    lost = sum(row.entry is None for row in rows)
    return 1000.0 * lost + sum(len(row.defects) for row in rows)
