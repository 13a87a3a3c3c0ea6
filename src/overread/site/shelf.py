"""The shelf: the datasets, runs, sweeps and builds that lie under the paths somebody gave.

Nothing is opened before it is asked for. Each thing has an id that is good in an address and stays
the same from one start to the next; no path ever comes back from outside.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from overread.catalog import unknown
from overread.core import Case, Entry, Place, Release
from overread.errors import OverreadError, UsageError
from overread.runs.spec import RunSpec, read_spec
from overread.site.unplaced import unplaced
from overread.site.walking import Found, walk

_REPEAT = frozenset({"oracle", "majority", "random"})
"""Readers that open the release themselves, and may hand in its words, of any case."""


@dataclass(frozen=True)
class Split:
    """One split of a dataset, read once and kept."""

    release: Release
    entries: dict[str, Entry]
    """Case → its row, in the release's order. Knows the truth."""
    unread: int
    """Rows that cannot become a case: `check` says why."""

    def entry(self, case: str) -> Entry:
        """One row, or an error that names the nearest ones."""
        found = self.entries.get(case)
        if found is None:
            raise unknown("case", case, self.entries)
        return found

    def case(self, case: str) -> Case:
        """What a reader may see of one row."""
        return self.entry(case).case


@dataclass
class Dataset:
    """One copy of a benchmark."""

    id: str
    name: str
    benchmark: str
    root: Path
    splits: tuple[str, ...]
    form: str | None = None
    pictures: Path | None = None
    _open: dict[str, tuple[object, Split]] = field(default_factory=dict, repr=False)
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def split(self, name: str) -> Split:
        """A split, read anew where its rows changed on disk."""
        if name not in self.splits:
            raise unknown("split", name, self.splits)
        stamp = _stamp(self.root)
        with self._lock:
            kept = self._open.get(name)
            if kept is not None and kept[0] == stamp:
                return kept[1]
            release = self.place(name).open()
            entries: dict[str, Entry] = {}
            unread = 0
            for row in release.scan():
                if row.entry is None:
                    unread += 1
                else:
                    entries.setdefault(row.entry.case.id, row.entry)
            made = Split(release, entries, unread)
            self._open[name] = (stamp, made)
            return made

    def place(self, split: str) -> Place:
        """The split as other rooms name it."""
        return Place(self.benchmark, self.root, split, self.form, self.pictures)


@dataclass(frozen=True)
class Run:
    """One folder of readings."""

    id: str
    name: str
    folder: Path
    spec: RunSpec
    dataset: str | None
    """Id of the dataset it read, where that lies on the shelf."""

    @property
    def repeats_truth(self) -> bool:
        """Whether its readings say the truth, because the reader was given it."""
        return repeats_truth(self.spec)


@dataclass(frozen=True)
class Sweep:
    """One folder of a sweep: a table over its runs."""

    id: str
    name: str
    folder: Path


@dataclass(frozen=True)
class Build:
    """One folder of a build, or of questions to people."""

    id: str
    name: str
    folder: Path


class Shelf:
    """Everything that may be looked at, by id."""

    def __init__(self, paths: Sequence[Path], *, moved: Path | None = None) -> None:
        """Look under `paths`; `moved` is where the datasets of runs lie, if not where they did."""
        self._paths = [path.resolve() for path in paths]
        self._moved = moved.resolve() if moved is not None else None
        self._lock = threading.RLock()
        self._truth = True
        self.datasets: dict[str, Dataset] = {}
        self.runs: dict[str, Run] = {}
        self.sweeps: dict[str, Sweep] = {}
        self.builds: dict[str, Build] = {}
        self.problems: list[str] = []
        self.look_again()
        if not (self.datasets or self.runs or self.sweeps or self.builds):
            told = self.problems[0] if self.problems else "there is nothing to look at"
            raise UsageError(
                told,
                where=", ".join(map(str, paths)),
                remedy="name folders of datasets, runs or builds, or folders that hold such",
            )

    @cached_property
    def own_readings(self) -> Path:
        """Where people's own readings are kept: in the first folder of many things that was given.

        Where every path is a dataset, a run or a build itself, in a folder beside the first.
        """
        for path in self._paths:
            first = next(iter(walk(path, depth=0)), None)
            if first is None:
                return path
        return self._paths[0].parent / "overread-readings"

    def withhold_truth(self) -> None:
        """From now on, keep no run whose readings repeat the truth."""
        self._truth = False
        self.look_again()

    def blind(self, text: str) -> str:
        """A text without the places of things on this machine: others may read it."""
        own = {str(path) for path in self._paths}
        own |= {str(one.root) for one in self.datasets.values()}
        for place in sorted(own, key=len, reverse=True):
            if len(place) > 1:
                text = text.replace(f"{place}/", "").replace(place, place.rpartition("/")[2])
        return unplaced(text)

    def look_again(self) -> None:
        """Find what came since; what is open stays open."""
        paths = list(self._paths)
        own = self.own_readings
        if own.is_dir() and not any(own.is_relative_to(path) for path in paths):
            paths.append(own)
        found = [one for path in paths for one in walk(path)]
        with self._lock:
            problems = [one.problem for one in found if one.problem]
            datasets = self._datasets_of(found)
            # Assigned whole, datasets first: others look at the shelf meanwhile.
            runs = self._runs_of(found, datasets, problems)
            self.problems, self.datasets, self.runs = problems, datasets, runs
            self.sweeps = {
                made.id: made
                for one in found
                if one.kind == "sweep"
                for made in [Sweep(_id(one.name, one.folder), one.name, one.folder)]
            }
            self.builds = {
                made.id: made
                for one in found
                if one.kind == "build"
                for made in [Build(_id(one.name, one.folder), one.name, one.folder)]
            }

    def dataset(self, name: str) -> Dataset:
        """A dataset by its id."""
        return _known("dataset", name, self.datasets)

    def run(self, name: str) -> Run:
        """A run by its id; one that was begun since the last look is found too."""
        if name not in self.runs:
            self.look_again()
        return _known("run", name, self.runs)

    def sweep(self, name: str) -> Sweep:
        """A sweep by its id."""
        return _known("sweep", name, self.sweeps)

    def build(self, name: str) -> Build:
        """A build by its id."""
        return _known("build", name, self.builds)

    def split_of(self, run: Run) -> Split:
        """The split that a run read."""
        if run.dataset is None:
            raise OverreadError(
                f"the dataset of the run {run.name} is not there",
                remedy="start the page with --root and the folder it lies in now",
            )
        return self.dataset(run.dataset).split(run.spec.split)

    def _datasets_of(self, found: Iterable[Found]) -> dict[str, Dataset]:
        return {
            dataset.id: dataset
            for one in found
            if one.kind == "dataset"
            for dataset in [self._kept(one)]
        }

    def _kept(self, one: Found, form: str | None = None, pictures: Path | None = None) -> Dataset:
        """A dataset as it is on the shelf already, with what is open of it, or a new one."""
        made = _id(one.name, one.folder)
        kept = self.datasets.get(made)
        if kept is not None and kept.splits == one.splits:
            return kept
        return Dataset(made, one.name, one.benchmark, one.folder, one.splits, form, pictures)

    def _runs_of(
        self, found: Iterable[Found], datasets: dict[str, Dataset], problems: list[str]
    ) -> dict[str, Run]:
        runs: dict[str, Run] = {}
        for one in found:
            if one.kind != "run":
                continue
            try:
                spec = read_spec(one.folder)
            except OverreadError as error:
                problems.append(str(error))
                continue
            try:
                dataset = self._read_by(spec, datasets)
            except (OSError, ValueError):  # what the spec names can be no folder at all
                problems.append(f"{one.name} names no folder as its dataset")
                dataset = None
            made = _id(one.name, one.folder)
            run = Run(made, one.name, one.folder, spec, dataset)
            if self._truth or not run.repeats_truth:
                runs[made] = run
            else:
                problems.append(f"{one.name} repeats the truth, which is withheld on this page")
        return runs

    def _read_by(self, spec: RunSpec, datasets: dict[str, Dataset]) -> str | None:
        """The dataset of a run; one that nobody named is put on the shelf beside it."""
        root = self._moved or Path(spec.root).resolve()
        pictures = Path(spec.pictures) if spec.pictures else None
        for dataset in datasets.values():
            if dataset.benchmark == spec.benchmark and dataset.root == root:
                return dataset.id if spec.split in dataset.splits else None
        for one in walk(root, depth=1):
            if one.kind == "dataset" and one.benchmark == spec.benchmark:
                dataset = self._kept(one, spec.form, pictures)
                datasets[dataset.id] = dataset
                return dataset.id if spec.split in one.splits else None
        return None


def repeats_truth(spec: RunSpec) -> bool:
    """Whether the readings of a run may say the truth, because the reader was given it."""
    return spec.reader.name in _REPEAT or bool(spec.workflow.settings.get("reveal"))


_Thing = TypeVar("_Thing")


def _known(kind: str, name: str, among: dict[str, _Thing]) -> _Thing:
    found = among.get(name)
    if found is None:
        raise unknown(kind, name, among)
    return found


def _id(name: str, folder: Path) -> str:
    """A word for an address: readable, and no two folders have the same."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "folder"
    return f"{plain}-{hashlib.sha256(str(folder).encode()).hexdigest()[:6]}"


def _stamp(root: Path) -> object:
    """What changes when rows are written again."""
    try:
        return tuple(sorted((file.name, *_age(file)) for file in root.iterdir()))
    except OSError:
        return None


def _age(file: Path) -> tuple[int, int]:
    try:
        at = file.stat()
    except OSError:  # a link to nowhere, or gone meanwhile
        return 0, 0
    return at.st_mtime_ns, at.st_size
