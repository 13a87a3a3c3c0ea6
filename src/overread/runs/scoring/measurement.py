"""Measures every case of a split, in worker processes, using the cache for what was measured
before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

from overread.core import Entry, Mask, Progress, Reading, Release, ReleaseRef
from overread.core.submission import Submission
from overread.core.verdicts import Verdicts
from overread.errors import MissingPart, OverreadError
from overread.metrics import Metric, Subject, measure_key
from overread.runs.scoring.card import CaseStatistics
from overread.runs.scoring.measure_cache import MeasureCache
from overread.runs.workers import open_release, run_in_workers
from overread.storage.digests import digest, file_identity

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
) -> tuple[dict[str, CaseStatistics], list[str]]:
    """Case → what was measured of it, and what was found wrong on the way.

    A case that was read several times has its units several times, in the same patient.
    """
    measures = {measure_key(metric): metric for metric in metrics}
    heavy = {k: m for k, m in measures.items() if PIXEL_NEEDS & set(m.needs)}
    light = {k: m for k, m in measures.items() if k not in heavy}
    rows: dict[str, Rows] = {case: {} for case in entries}
    wrong: dict[str, OverreadError] = {}
    done, total = 0, len(entries) * len(attempts)

    def report_progress(more: int) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress(done, total)

    report_progress(0)
    for attempt in attempts:
        for case, entry in entries.items():
            reading = attempt.submission.readings.get(case)
            judged = attempt.verdicts.get(case, ())
            subject = Subject(entry, reading, release, attempt.submission, judged)
            _merge_rows(rows[case], measure_rows(light, subject), attempt.sample)
            report_progress(0 if heavy else 1)
        if heavy:
            found = _measure_pixels(place, release, entries, attempt, heavy, workers, fresh=fresh)
            for case, own, error in found:
                if isinstance(error, MissingPart):
                    raise error
                if error is None:
                    _merge_rows(rows[case], own, attempt.sample)
                else:
                    wrong[case] = error
                report_progress(1)
    return _collect_statistics(entries, attempts, rows, wrong)


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
) -> Iterator[tuple[str, Rows, OverreadError | None]]:
    """What takes pixels: from what was kept, and the rest in workers."""
    submission = attempt.submission
    files = replace(submission, readings={}, problems=[])
    name = digest(place.benchmark, str(place.root.resolve()), place.split, submission.reader)
    kept = MeasureCache(name, fresh=fresh and not attempt.sample)
    keys = {case: _cache_key(release, entries[case], submission, measures) for case in entries}
    todo = []
    for case, entry in entries.items():
        before = kept.get(keys[case])
        if before is None:
            todo.append((case, place, entry, submission.readings.get(case), files, measures))
        else:
            yield case, before, None
    with closing(kept), closing(run_in_workers(_measure_case, todo, workers)) as results:
        for case, found, error in results:
            if error is None:
                kept.add(keys[case], found)
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


def _cache_key(release: Release, entry: Entry, submission: Submission, measures: Mapping[str, Metric]) -> str:
    """Everything that the statistics of one case depend on."""
    reading = submission.readings.get(entry.case.id)
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


def _collect_statistics(
    entries: Mapping[str, Entry],
    attempts: Sequence[ReadingSet],
    rows: Mapping[str, Rows],
    wrong: Mapping[str, OverreadError],
) -> tuple[dict[str, CaseStatistics], list[str]]:
    found: dict[str, CaseStatistics] = {}
    problems = [f"{case} is in no score: {error}" for case, error in wrong.items()]
    for case, entry in entries.items():
        readings = [attempt.submission.readings.get(case) for attempt in attempts]
        broken = dict.fromkeys(
            row["problem"] for units in rows[case].values() for row in units.values() if row.get("problem")
        )
        failed = any(reading is not None and reading.error for reading in readings)
        if case in wrong:
            state = "not judged"
        elif all(reading is None for reading in readings):
            state = "missing"
        elif failed or broken:
            state = "failed"
        else:
            state = "read"
        if state == "failed" and not failed:
            problems += [f"{case} scores worst: {problem}" for problem in broken]
        found[case] = CaseStatistics.model_validate(
            {"patient": entry.case.patient, "state": state, "rows": rows[case]}
        )
    return found, [*_scorer_stops(rows), *_orientation_hints(rows), *problems]


def _scorer_stops(rows: Mapping[str, Rows]) -> list[str]:
    """One sentence where the benchmark's own scorer would stop, and give no number at all."""
    stops: dict[str, str] = {}
    for case, measures in rows.items():
        for units in measures.values():
            for row in units.values():
                if row.get("official_stop"):
                    stops.setdefault(case, row["official_stop"])
    if not stops:
        return []
    (first, why), *_ = stops.items()
    named = ", ".join(list(stops)[:_MAX_NAMED]) + ", …" * (len(stops) > _MAX_NAMED)
    return [
        f"the official scorer stops at {len(stops)} case(s) ({named}), so there are no official numbers; "
        f"at {first}: {why}; hand that file in anew, or leave it out: then its case is left out"
    ]


def _orientation_hints(rows: Mapping[str, Rows]) -> list[str]:
    """Hints for masks that hardly overlap the truth but would if they were flipped or had axes
    swapped.
    """
    turns: dict[str, dict[tuple[str, str], float]] = {}
    for case, measures in rows.items():
        for units in measures.values():
            for unit, row in units.items():
                if row.get("turn"):
                    # A finding that two measures looked at is one finding.
                    turns.setdefault(row["turn"], {})[case, unit] = row["turn_dice"]
    return [_format_hint(turn, found) for turn, found in sorted(turns.items())]


def _format_hint(turn: str, found: Mapping[tuple[str, str], float]) -> str:
    cases = list(dict.fromkeys(case for case, _ in found))
    named = ", ".join(cases[:_MAX_NAMED]) + ", …" * (len(cases) > _MAX_NAMED)
    return (
        f"{len(found)} finding(s) of {named} hardly touch the truth and would fit it when {turn} "
        f"(mean Dice then {sum(found.values()) / len(found):.2f}): look whether the masks are in "
        "the CT's own orientation; they were scored as they are"
    )
