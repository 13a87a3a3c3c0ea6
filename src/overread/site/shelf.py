"""The shelf: datasets, runs, sweeps and builds found below the given paths, by id.

Nothing is opened before it is needed. Each thing has an id that can stand in an address and
stays the same from one start to the next; the API takes ids only, never paths.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from overread.catalog import unknown_name
from overread.core import Case, Entry, Release, ReleaseRef
from overread.errors import OverreadError, UsageError
from overread.runs.spec import RunSpec, read_spec
from overread.site.discovery import FoundFolder, find_folders
from overread.site.lru_cache import file_stamp
from overread.site.strip_paths import strip_paths
from overread.storage.spilled import SpilledMapping

_TRUTH_READERS = frozenset({"oracle", "majority", "random"})
"""Readers that open the release themselves, and may hand in its words, of any case."""


_MOST_HELD = 25_000
"""Rows of a split that are held in memory: more than any of the benchmarks has."""


@dataclass(frozen=True, eq=False)
class Split:
    """One split of a dataset, read once and kept."""

    release: Release
    entries: Mapping[str, Entry]
    """Case → its row, in the release's order; on disk where they are many. Knows the truth."""
    unread: int
    """Rows that cannot become a case: `check` says why."""

    def entry(self, case: str) -> Entry:
        """One row, or an error that names the nearest ones."""
        found = self.entries.get(case)
        if found is None:
            raise unknown_name("case", case, self.entries)
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
            raise unknown_name("split", name, self.splits)
        stamp = self.stamp()
        with self._lock:
            kept = self._open.get(name)
            if kept is not None and kept[0] == stamp:
                return kept[1]
            release = self.release_ref(name).open()
            entries: SpilledMapping[str, Entry] = SpilledMapping(held=_MOST_HELD)
            unread = 0
            for row in release.scan():
                if row.entry is None:
                    unread += 1
                elif row.entry.case.id not in entries:
                    entries[row.entry.case.id] = row.entry
            made = Split(release, entries, unread)
            self._open[name] = (stamp, made)
            return made

    def stamp(self) -> object:
        """What changes when its rows are written again."""
        return _stamp(self.root)

    def release_ref(self, split: str) -> ReleaseRef:
        """The split as other rooms name it."""
        return ReleaseRef(self.benchmark, self.root, split, self.form, self.pictures)


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
        """Whether its readings may contain the truth, because the reader was given it."""
        return repeats_truth(self.spec)


@dataclass(frozen=True)
class SweepFolder:
    """One folder of a sweep: a table over its runs."""

    id: str
    name: str
    folder: Path


@dataclass(frozen=True)
class BuildFolder:
    """One folder of a build, or of questions to people."""

    id: str
    name: str
    folder: Path


class Shelf:
    """Everything that may be looked at, by id."""

    def __init__(self, paths: Sequence[Path], *, datasets_root: Path | None = None) -> None:
        """Look under `paths`; `datasets_root` holds the datasets of runs that have moved since."""
        self._paths = [path.resolve() for path in paths]
        self._datasets_root = datasets_root.resolve() if datasets_root is not None else None
        self._lock = threading.RLock()
        self._truth = True
        self.datasets: dict[str, Dataset] = {}
        self.runs: dict[str, Run] = {}
        self.sweeps: dict[str, SweepFolder] = {}
        self.builds: dict[str, BuildFolder] = {}
        self.problems: list[str] = []
        self.rescan()
        if not (self.datasets or self.runs or self.sweeps or self.builds):
            told = self.problems[0] if self.problems else "no datasets, runs or builds were found"
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
            first = next(iter(find_folders(path, depth=0)), None)
            if first is None:
                return path
        return self._paths[0].parent / "overread-readings"

    def withhold_truth(self) -> None:
        """From now on, keep no run whose readings repeat the truth."""
        self._truth = False
        self.rescan()

    def strip_paths(self, text: str) -> str:
        """The text without paths of this machine, since others may read it."""
        names = {str(path): path.name for path in self._paths}
        for run in self.runs.values():
            names |= {place: "the dataset" for place in (run.spec.root, run.spec.pictures) if place}
            names[str(run.folder)] = "the run"
        for one in self.datasets.values():
            names[str(one.root)] = one.root.name
        return strip_paths(text, names)

    def rescan(self) -> None:
        """Search the paths again for new folders; splits that are open stay open."""
        paths = list(self._paths)
        own = self.own_readings
        if own.is_dir() and not any(own.is_relative_to(path) for path in paths):
            paths.append(own)
        found = [one for path in paths for one in find_folders(path)]
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
                for made in [SweepFolder(_id(one.name, one.folder), one.name, one.folder)]
            }
            self.builds = {
                made.id: made
                for one in found
                if one.kind == "build"
                for made in [BuildFolder(_id(one.name, one.folder), one.name, one.folder)]
            }

    def dataset(self, name: str) -> Dataset:
        """A dataset by its id."""
        return _find_by_id("dataset", name, self.datasets)

    def run(self, name: str) -> Run:
        """A run by its id; one that was begun since the last look is found too."""
        if name not in self.runs:
            self.rescan()
        return _find_by_id("run", name, self.runs)

    def sweep(self, name: str) -> SweepFolder:
        """A sweep by its id."""
        return _find_by_id("sweep", name, self.sweeps)

    def build(self, name: str) -> BuildFolder:
        """A build by its id."""
        return _find_by_id("build", name, self.builds)

    def split_of(self, run: Run) -> Split:
        """The split that a run read."""
        if run.dataset is None:
            raise OverreadError(
                f"the dataset of the run {run.name} was not found",
                remedy="start the page with --root and its current folder",
            )
        return self.dataset(run.dataset).split(run.spec.split)

    def _datasets_of(self, found: Iterable[FoundFolder]) -> dict[str, Dataset]:
        return {
            dataset.id: dataset
            for one in found
            if one.kind == "dataset"
            for dataset in [self._reuse_or_make_dataset(one)]
        }

    def _reuse_or_make_dataset(
        self, one: FoundFolder, form: str | None = None, pictures: Path | None = None
    ) -> Dataset:
        """The dataset that is on the shelf already, with its open splits, or a new one."""
        made = _id(one.name, one.folder)
        kept = self.datasets.get(made)
        if kept is not None and kept.splits == one.splits:
            return kept
        return Dataset(made, one.name, one.benchmark, one.folder, one.splits, form, pictures)

    def _runs_of(
        self, found: Iterable[FoundFolder], datasets: dict[str, Dataset], problems: list[str]
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
                dataset = self._find_dataset(spec, datasets)
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

    def _find_dataset(self, spec: RunSpec, datasets: dict[str, Dataset]) -> str | None:
        """Id of the dataset that a run read; one outside of the given paths is added."""
        root = self._datasets_root or Path(spec.root).resolve()
        pictures = Path(spec.pictures) if spec.pictures else None
        for dataset in datasets.values():
            if dataset.benchmark == spec.benchmark and dataset.root == root:
                return dataset.id if spec.split in dataset.splits else None
        for one in find_folders(root, depth=1):
            if one.kind == "dataset" and one.benchmark == spec.benchmark:
                dataset = self._reuse_or_make_dataset(one, spec.form, pictures)
                datasets[dataset.id] = dataset
                return dataset.id if spec.split in one.splits else None
        return None


def neighbours(order: Sequence[str], case: str) -> dict[str, Any]:
    """Where a case stands among others: its place from 1, their count, the ones next to it."""
    at = order.index(case)
    return {
        "place": at + 1,
        "count": len(order),
        "previous": order[at - 1] if at else None,
        "next": order[at + 1] if at + 1 < len(order) else None,
    }


def repeats_truth(spec: RunSpec) -> bool:
    """Whether the readings of a run may say the truth, because the reader was given it."""
    return spec.reader.name in _TRUTH_READERS or bool(spec.workflow.settings.get("reveal"))


_Thing = TypeVar("_Thing")


def _find_by_id(kind: str, name: str, among: dict[str, _Thing]) -> _Thing:
    found = among.get(name)
    if found is None:
        raise unknown_name(kind, name, among)
    return found


def _id(name: str, folder: Path) -> str:
    """A word for an address: readable, and no two folders have the same."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "folder"
    return f"{plain}-{hashlib.sha256(str(folder).encode()).hexdigest()[:6]}"


def _stamp(root: Path) -> object:
    """What changes when rows are written again."""
    try:
        return {file.name: file_stamp(file) for file in root.iterdir()}
    except OSError:
        return None
