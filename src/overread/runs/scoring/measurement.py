"""Measures every case of a split, in worker processes, using the cache for what was measured
before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

from overread.core import Entry, Mask, Progress, Reading, Release, ReleaseRef
from overread.core.submission import Submission
from overread.core.verdicts import Verdicts
from overread.errors import MissingPart, OverreadError
from overread.metrics import Metric, Subject, measure_key
from overread.metrics.groups import find_groups
from overread.runs.scoring.aggregation import UnitGroups
from overread.runs.scoring.card import CaseStatistics
from overread.runs.scoring.measure_cache import MeasureCache
from overread.runs.workers import open_release, run_in_workers
from overread.storage.digests import digest, file_identity
from overread.storage.spilled import SpilledMapping

Rows = dict[str, dict[str, dict[str, Any]]]
"""Measure → unit → statistics, of one case."""

_UNMEASURED = {"reader", "exchanges", "usage"}
PIXEL_NEEDS = frozenset({"masks", "crops"})
"""What a metric needs that takes pixels: measured in workers, and kept."""
_MAX_NAMED = 5


@dataclass(frozen=True)
class ReadingSet:
    """One reading of every case: a submission, or one sample of a run."""

    submission: Submission
    sample: int = 0
    """Which reading of its case, counted from 0: that of an audit's arm pairs with the audited."""
    verdicts: Mapping[str, tuple[Verdicts, ...]] = field(default_factory=dict)
    """Case → what judges said of this reading of it."""


@dataclass(frozen=True)
class MeasuredCases:
    """What was measured of all cases, what of it is kept on disk where it is much."""

    statistics: SpilledMapping[str, CaseStatistics]
    """Case → its statistics, in the order of the release."""
    groups: SpilledMapping[str, UnitGroups]
    """Case → its units → the groups of breakdowns that they are in."""
    problems: list[str]
    """What was found wrong on the way."""
    unmeasured: Mapping[str, MissingPart]
    """Measure → what it would need that is not installed here."""


def measure_cases(
    place: ReleaseRef,
    release: Release,
    entries: Mapping[str, Entry],
    attempts: Sequence[ReadingSet],
    metrics: Sequence[Metric],
    *,
    workers: int = 1,
    fresh: bool = False,
    progress: Progress | None = None,
    tell: Callable[[str], None] | None = None,
) -> MeasuredCases:
    """What was measured of each case, one case after the other.

    A case that was read several times has its units several times, in the same patient. A measure
    that needs what is not installed is left out, and the others are measured. `tell` is told, in
    one sentence, when another process has to be waited for.
    """
    measures = {measure_key(metric): metric for metric in metrics}
    unmeasured: dict[str, MissingPart] = {}
    while True:
        try:
            return _measure_all(
                place,
                release,
                entries,
                attempts,
                measures,
                unmeasured,
                workers=workers,
                fresh=fresh,
                progress=progress,
                tell=tell,
            )
        except _Unmeasured as lacking:
            # All cases are measured by the same metrics: begun again without this one.
            unmeasured[lacking.measure] = lacking.part
            del measures[lacking.measure]


class _Unmeasured(Exception):
    """A measure needs a part that is not installed."""

    def __init__(self, measure: str, part: MissingPart) -> None:
        super().__init__(measure)
        self.measure = measure
        self.part = part


def _measure_all(
    place: ReleaseRef,
    release: Release,
    entries: Mapping[str, Entry],
    attempts: Sequence[ReadingSet],
    measures: Mapping[str, Metric],
    unmeasured: Mapping[str, MissingPart],
    *,
    workers: int,
    fresh: bool,
    progress: Progress | None,
    tell: Callable[[str], None] | None,
) -> MeasuredCases:
    heavy = {k: m for k, m in measures.items() if PIXEL_NEEDS & set(m.needs)}
    light = {k: m for k, m in measures.items() if k not in heavy}
    waiting: SpilledMapping[str, _CaseRows] = SpilledMapping()
    wrong: dict[str, OverreadError] = {}
    done, total = 0, len(entries) * len(attempts)
    found = _FoundCases()

    def report_progress(more: int) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress(done, total)

    report_progress(0)
    for case, entry in entries.items():
        own = _CaseRows(entry.case.patient)
        for attempt in attempts:
            reading = attempt.submission.readings.get(case)
            judged = attempt.verdicts.get(case, ())
            subject = Subject(entry, reading, release, attempt.submission, judged)
            own.add_reading(reading)
            _merge_rows(own.rows, _measure_light(light, subject), attempt.sample)
            report_progress(0 if heavy else 1)
        if heavy:
            waiting[case] = own
        else:
            found.add(case, entry, own, is_wrong=False)
    for attempt in attempts if heavy else ():
        pixels = _measure_pixels(place, release, entries, attempt, heavy, workers, fresh=fresh, tell=tell)
        for case, rows, error in pixels:
            if isinstance(error, MissingPart):
                raise error
            if error is None:
                own = waiting[case]
                _merge_rows(own.rows, rows, attempt.sample)
                waiting[case] = own
            else:
                wrong[case] = error
            report_progress(1)
    for case, own in waiting.items():
        found.add(case, entries[case], own, is_wrong=case in wrong)
    problems = [f"{case} is in no score: {error}" for case, error in wrong.items()]
    told = [*found.hints(), *problems, *found.problems]
    return MeasuredCases(found.statistics, found.groups, told, unmeasured)


def _measure_light(measures: Mapping[str, Metric], subject: Subject) -> Rows:
    """As `measure_rows`; raises `_Unmeasured` where one of them needs what is not installed."""
    found: Rows = {}
    for key, metric in measures.items():
        try:
            found |= measure_rows({key: metric}, subject)
        except MissingPart as part:
            raise _Unmeasured(key, part) from None
    return found


def _merge_rows(rows: Rows, found: Rows, sample: int) -> None:
    for key, units in found.items():
        own = rows.setdefault(key, {})
        own |= {unit_name(unit, sample): row for unit, row in units.items()}


def unit_name(unit: str, sample: int) -> str:
    """What a unit is called in a further reading of its case.

    >>> unit_name("0", 0), unit_name("0", 2)
    ('0', '0@2')
    """
    return unit if not sample else f"{unit}@{sample}"


def _measure_pixels(
    place: ReleaseRef,
    release: Release,
    entries: Mapping[str, Entry],
    attempt: ReadingSet,
    measures: Mapping[str, Metric],
    workers: int,
    *,
    fresh: bool,
    tell: Callable[[str], None] | None,
) -> Iterator[tuple[str, Rows, OverreadError | None]]:
    """What takes pixels: from what was kept, and the rest in workers.

    Of several processes that measure the same, one does and the others wait for it.
    """
    submission = attempt.submission
    readings = submission.readings
    files = replace(submission, readings={}, problems=[])
    name = digest(place.benchmark, str(place.root.resolve()), place.split, submission.reader)
    with closing(MeasureCache(name, fresh=fresh and not attempt.sample)) as kept:
        todo: dict[str, str] = {}
        for case, entry in entries.items():
            key = _cache_key(release, entry, readings.get(case), submission, measures)
            before = kept.get(key)
            if before is None:
                todo[case] = key
            else:
                yield case, before, None
        if todo and kept.wait_for_others(tell):
            for case, key in list(todo.items()):
                before = kept.get(key)
                if before is not None:
                    del todo[case]
                    yield case, before, None
        jobs = ((case, place, entries[case], readings.get(case), files, measures) for case in todo)
        with closing(run_in_workers(_measure_case, jobs, workers)) as results:
            for case, found, error in results:
                if error is None:
                    kept.add(todo[case], found)
                yield case, found or {}, error


def measure_rows(measures: Mapping[str, Metric], subject: Subject) -> Rows:
    """What each measure says of one case."""
    found: Rows = {}
    for key, metric in measures.items():
        found[key] = {unit: dict(row) for unit, row in metric.measure(subject).items()}
    return found


def _measure_case(
    case: str,
    place: ReleaseRef,
    entry: Entry,
    reading: Reading | None,
    files: Submission,
    measures: Mapping[str, Metric],
) -> Rows:
    """One case, in a worker."""
    return measure_rows(measures, Subject(entry, reading, open_release(place), files))


def _cache_key(
    release: Release,
    entry: Entry,
    reading: Reading | None,
    submission: Submission,
    measures: Mapping[str, Metric],
) -> str:
    """Everything that the statistics of one case depend on."""
    truth_files = {
        r.file
        for f in (entry.truth.findings if entry.truth else ())
        for r in f.regions
        if isinstance(r, Mask)
    }
    own = {
        r.file for f in (reading.findings or () if reading else ()) for r in f.regions if isinstance(r, Mask)
    }
    own |= {step.crop for step in (reading.trace.steps if reading and reading.trace else ()) if step.crop}
    pictures = {picture.file for picture in entry.case.pictures}
    return digest(
        entry.model_dump(mode="json"),
        reading.model_dump(mode="json", exclude=_UNMEASURED) if reading else None,
        [_file_state(release, file) for file in sorted(truth_files | pictures)],
        [_file_state(submission, file) for file in sorted(own)],
        sorted((key, m.settings) for key, m in measures.items()),
    )


def _file_state(files: Any, file: str) -> list[Any]:
    try:
        return file_identity(files.source(file))
    except OverreadError as error:
        return ["absent", str(error)]


@dataclass
class _CaseRows:
    """What was measured of one case, before it is settled what became of it."""

    patient: str | None
    rows: Rows = field(default_factory=dict)
    is_read: bool = False
    """Whether there is any reading of it."""
    is_failed: bool = False
    """Whether any of them failed."""

    def add_reading(self, reading: Reading | None) -> None:
        self.is_read |= reading is not None
        self.is_failed |= reading is not None and bool(reading.error)


class _FoundCases:
    """Cases that were measured, settled one by one in the order of the release."""

    def __init__(self) -> None:
        self.statistics: SpilledMapping[str, CaseStatistics] = SpilledMapping()
        self.groups: SpilledMapping[str, UnitGroups] = SpilledMapping()
        self.problems: list[str] = []
        self._stops: dict[str, str] = {}
        self._turns: dict[str, dict[tuple[str, str], float]] = {}

    def add(self, case: str, entry: Entry, own: _CaseRows, *, is_wrong: bool) -> None:
        """Settle one case; `is_wrong` where its truth could not be measured."""
        broken: dict[str, None] = {}
        for units in own.rows.values():
            for unit, row in units.items():
                if row.get("problem"):
                    broken[row["problem"]] = None
                if row.get("official_stop"):
                    self._stops.setdefault(case, row["official_stop"])
                if row.get("turn"):
                    # A finding that two measures looked at is one finding.
                    self._turns.setdefault(row["turn"], {})[case, unit] = row["turn_dice"]
        if is_wrong:
            state = "not judged"
        elif not own.is_read:
            state = "missing"
        else:
            state = "failed" if own.is_failed or broken else "read"
        if state == "failed" and not own.is_failed:
            self.problems += [f"{case} scores worst: {problem}" for problem in broken]
        self.statistics[case] = CaseStatistics.model_validate(
            {"patient": own.patient, "state": state, "rows": own.rows}
        )
        names = {unit.partition("@")[0] for units in own.rows.values() for unit in units}
        self.groups[case] = {unit: find_groups(entry, unit) for unit in names}

    def hints(self) -> list[str]:
        """What concerns many cases, a sentence each."""
        return [
            *_scorer_stops(self._stops),
            *(_format_hint(turn, found) for turn, found in sorted(self._turns.items())),
        ]


def _scorer_stops(stops: Mapping[str, str]) -> list[str]:
    """One sentence where the benchmark's own scorer would stop, and give no number at all."""
    if not stops:
        return []
    (first, why), *_ = stops.items()
    named = ", ".join(list(stops)[:_MAX_NAMED]) + ", …" * (len(stops) > _MAX_NAMED)
    return [
        f"the official scorer stops at {len(stops)} case(s) ({named}), so there are no official numbers; "
        f"at {first}: {why}; hand that file in anew, or leave it out: then its case is left out"
    ]


def _format_hint(turn: str, found: Mapping[tuple[str, str], float]) -> str:
    """A hint for masks that hardly overlap the truth but would if they were flipped or had axes
    swapped.
    """
    cases = list(dict.fromkeys(case for case, _ in found))
    named = ", ".join(cases[:_MAX_NAMED]) + ", …" * (len(cases) > _MAX_NAMED)
    return (
        f"{len(found)} finding(s) of {named} hardly touch the truth and would fit it when {turn} "
        f"(mean Dice then {sum(found.values()) / len(found):.2f}): look whether the masks are in "
        "the CT's own orientation; they were scored as they are"
    )
