"""How far the masks of two runs are apart, case by case: measured in a thread while one looks."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from fastapi import APIRouter

from overread.core import Case, Mask, Reading, Record, Volume
from overread.errors import NotThere, OverreadError, UsageError
from overread.runs.audit.shifts import AnswerShift, measure_shifts
from overread.site.dependencies import ShelfDep
from overread.site.lru_cache import LruCache, file_stamp
from overread.site.runs.chosen_runs import ChosenRuns
from overread.site.runs.reading_index import index_of_run
from overread.site.runs.run_cases import planned_cases
from overread.site.shelf import Run, Split
from overread.storage.fence import Fence

router = APIRouter()
_IDLE_LIMIT = 20.0
"""Seconds that nobody asked, after which measuring stops; who asks again has it go on."""


class MaskDistances(Record):
    """How far the masks of the first two runs are apart, as far as that is measured."""

    done: int
    of: int
    apart: dict[str, float]
    """Case → 1 minus the mean Dice of its sentences; cases that one run lacks are absent."""


@router.get("/disagreement/masks")
def get_mask_distances(runs: ChosenRuns, shelf: ShelfDep) -> MaskDistances:
    """What is measured so far; asking has it go on."""
    one, two = runs[:2]
    run = one if one.dataset is not None else two
    split = shelf.split_of(run)
    cases = [case for case in planned_cases(run, split) if split.entries[case].case.queries]
    if not cases:
        raise UsageError("these runs were asked for no masks")
    return _comparison_of(one, two).progress(split, cases)


def compare_masks(case: Case, split: Split, one: Run, two: Run) -> dict[str, AnswerShift]:
    """Sentence → how far apart two runs mark it."""
    volume = next((p for p in case.pictures if isinstance(p, Volume)), None)
    if not case.queries or volume is None:
        raise UsageError("this case asks for no masks")
    before, after = (_load_checked_reading(run, case.id) for run in (one, two))
    shape = split.release.pictures.geometry(volume).shape
    return measure_shifts(case, before, after, (one.folder, two.folder), shape, blank=True)


def _load_checked_reading(run: Run, case: str) -> Reading:
    """A reading whose masks are known to lie within the run."""
    reading = index_of_run(run.folder).reading(case)
    if reading.error is not None:
        raise NotThere(f"{run.name} failed on this case")
    fence = Fence(run.folder)
    for finding in reading.findings or ():
        for region in finding.regions:
            if isinstance(region, Mask):
                fence.path(region.file)
    return reading


@dataclass
class _MaskComparison:
    """Two runs, and what is measured of them."""

    one: Run
    two: Run
    found: dict[str, float | None] = field(default_factory=dict)
    asked: float = 0.0
    thread: threading.Thread | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def progress(self, split: Split, cases: list[str]) -> MaskDistances:
        """What is known, after seeing to it that the rest is being measured."""
        with self.lock:
            self.asked = time.monotonic()
            left = [case for case in cases if case not in self.found]
            if left and (self.thread is None or not self.thread.is_alive()):
                work = threading.Thread(target=self._measure_all, args=(split, left), daemon=True)
                self.thread = work
                work.start()
            known = {case: self.found[case] for case in cases if case in self.found}
        return MaskDistances(
            done=len(known),
            of=len(cases),
            apart={case: value for case, value in known.items() if value is not None},
        )

    def _measure_all(self, split: Split, cases: list[str]) -> None:
        for case in cases:
            if time.monotonic() - self.asked > _IDLE_LIMIT:
                return
            with _VOLUME_LOCK:
                value = self._measure_case(split, case)
            with self.lock:
                self.found[case] = value

    def _measure_case(self, split: Split, case: str) -> float | None:
        try:
            found = compare_masks(split.entries[case].case, split, self.one, self.two)
        except (OverreadError, OSError, ValueError):
            return None  # the case itself says why when it is opened
        return sum(move.far for move in found.values()) / len(found) if found else None


_VOLUME_LOCK = threading.Lock()
"""One volume at a time: the page must still answer."""
_comparisons: LruCache[_MaskComparison] = LruCache(16)


def _comparison_of(one: Run, two: Run) -> _MaskComparison:
    """What is measured of two runs; begun anew where one of them was read further."""
    stamp = [file_stamp(run.folder / "readings.jsonl") for run in (one, two)]
    key = (one.folder, two.folder)
    return _comparisons.get(key, lambda: _MaskComparison(one, two), stamp=stamp)
