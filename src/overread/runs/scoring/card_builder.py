"""Builds scorecards: measures readings, combines statistics to scores, signs the result. `grade`
does it for a submission.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

from overread import catalog
from overread.core import Box, Entry, Mask, Progress, Reading, Release, ReleaseRef, Whole
from overread.core.verdicts import DiscussionVerdicts, StepVerdicts, Verdicts
from overread.errors import ReleaseError, UsageError
from overread.metrics import Metric
from overread.runs.scoring.aggregation import BootstrapSettings, compute_scores
from overread.runs.scoring.card import Card, CaseStatistics, measure_key
from overread.runs.scoring.measure_cache import digest
from overread.runs.scoring.measurement import ReadingSet, measure_cases


def grade(
    benchmark: str,
    root: str | Path,
    predictions: str | Path,
    split: str = "test",
    *,
    form: str | None = None,
    pictures: str | Path | None = None,
    metrics: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
    bootstrap: BootstrapSettings | None = None,
    reader: str | None = None,
    workers: int = 1,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Card:
    """Score a submission in the official format against one split of a copy of the benchmark.

    `metrics` are catalog names; without them the benchmark's own are scored. `settings` change
    what can be set of a metric, by name. What was measured before with the same files and settings
    is not measured again unless `fresh`.
    """
    place = ReleaseRef(benchmark, Path(root), split, form, Path(pictures) if pictures else None)
    part = place.definition
    if part.read_submission is None:
        raise UsageError(f"{part.title} defines no submission format")
    release = place.open()
    entries = load_entries(release, place)
    submission = part.read_submission(
        cast(Release, _LoadedRelease(release, entries)), Path(predictions)
    )
    card = build_card(
        place,
        release,
        entries,
        [ReadingSet(submission)],
        metrics=metrics,
        settings=settings,
        bootstrap=bootstrap,
        workers=workers,
        fresh=fresh,
        progress=progress,
    )
    return card.model_copy(
        update={"reader": reader or submission.reader, "predictions": Path(predictions).name}
    )


def load_entries(release: Release, place: ReleaseRef) -> dict[str, Entry]:
    """All entries of a release by the id of their case."""
    entries: dict[str, Entry] = {}
    for entry in release.entries():
        if entry.case.id in entries:
            raise ReleaseError(
                f"two cases are called '{entry.case.id}'",
                where=str(place.root),
                remedy="`overread check` names every defect of the release",
            )
        entries[entry.case.id] = entry
    if not entries:
        raise ReleaseError(f"split '{place.split}' has no cases", where=str(place.root))
    return entries


def build_card(
    place: ReleaseRef,
    release: Release,
    entries: Mapping[str, Entry],
    attempts: Sequence[ReadingSet],
    *,
    asked_for: Collection[str] = (),
    metrics: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
    bootstrap: BootstrapSettings | None = None,
    workers: int = 1,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Card:
    """The scorecard of one or several readings of the same cases by one reader.

    Parts of a reading that were `asked_for` are scored whether or not any reading has them.
    """
    part = place.definition
    chosen = select_metrics(metrics or part.metrics, settings or {})
    # Where no reading could be used, it cannot be seen what was attempted: then the
    # benchmark's official metrics count as attempted, and score worst.
    asked = {n for m in chosen if m.name in part.official for n in m.needs}
    unusable = not any(_has_usable(attempt) for attempt in attempts)
    tried = {
        m.name: m
        for m in chosen
        if m.name in part.official
        or (unusable and asked.issuperset(m.needs))
        or set(m.needs) <= set(asked_for)
        or _is_attempted(m, attempts)
    }
    skipped = {
        m.name: f"no prediction holds {' and '.join(m.needs)}"
        for m in chosen
        if m.name not in tried
    }
    if not tried:
        raise UsageError(
            f"the predictions hold nothing that {part.title} is scored by",
            remedy="; ".join(dict.fromkeys(skipped.values())) or "name a metric with --metric",
        )
    statistics, problems = measure_cases(
        place,
        release,
        entries,
        attempts,
        list(tried.values()),
        workers=workers,
        fresh=fresh,
        progress=progress,
    )
    bootstrap = bootstrap or BootstrapSettings()
    scores, breakdowns = compute_scores(list(tried.values()), statistics, entries, bootstrap)
    skipped |= {name: "the release has no truth for it" for name in tried if name not in scores}
    if not scores:
        raise _no_truth_error(place, statistics, problems)
    states = [case.state for case in statistics.values()]
    told = [str(problem) for attempt in attempts for problem in attempt.submission.problems]
    return Card(
        benchmark=place.benchmark,
        split=place.split,
        reader=attempts[0].submission.reader,
        predictions="",
        cases=len(entries),
        missing=states.count("missing"),
        failed=states.count("failed"),
        not_judged=states.count("not judged"),
        scores=scores,
        not_attempted=skipped,
        breakdowns=breakdowns,
        problems=(*told, *problems, *_describe_missing_truth(part.official, tried, statistics)),
        signature=_make_signature(release, entries, list(tried.values()), bootstrap),
        official=part.official,
        statistics=statistics,
    )


def _has_usable(attempt: ReadingSet) -> bool:
    return any(not reading.error for reading in attempt.submission.readings.values())


def _no_truth_error(
    place: ReleaseRef, statistics: Mapping[str, CaseStatistics], problems: Sequence[str]
) -> ReleaseError:
    """Why nothing at all can be scored: the truth is withheld, or none of it can be read."""
    if problems and all(case.state == "not judged" for case in statistics.values()):
        what = f"the truth of split '{place.split}' cannot be read; the first of it: {problems[0]}"
        remedy = "`overread check` names every defect of the release"
        return ReleaseError(what, where=str(place.root), remedy=remedy)
    return ReleaseError(
        f"the truth of split '{place.split}' is not in this copy",
        where=str(place.root),
        remedy="grade against a split or a copy that has it",
    )


def _describe_missing_truth(
    official: Sequence[str],
    tried: Mapping[str, Metric],
    statistics: Mapping[str, CaseStatistics],
) -> list[str]:
    """Notes on cases that the benchmark's own numbers leave out because the release has no truth
    for them.
    """
    keys = {name: measure_key(tried[name]) for name in official if name in tried}
    found = []
    for key in dict.fromkeys(keys.values()):
        without = [
            case
            for case, own in statistics.items()
            if own.state != "not judged" and not own.rows.get(key)
        ]
        if without:
            names = ", ".join(name for name, own in keys.items() if own == key)
            few = ", ".join(without[:5]) + ", …" * (len(without) > 5)
            found.append(
                f"the release has no truth for {len(without):,} of {len(statistics):,} cases "
                f"({few}): the others alone count in {names}"
            )
    return found


class _LoadedRelease:
    """A release whose entries were loaded already, because loading takes longer than most grading."""

    def __init__(self, release: Release, entries: Mapping[str, Entry]) -> None:
        """The release, and all its entries."""
        self._release = release
        self._entries = entries

    def entries(self) -> Iterator[Entry]:
        """The entries, without reading them again."""
        return iter(self._entries.values())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._release, name)


def select_metrics(names: Sequence[str], settings: Mapping[str, Any]) -> list[Metric]:
    """The metrics of those names, with the settings that somebody asked for."""
    chosen = [cast(Metric, catalog.find("metrics", name)) for name in dict.fromkeys(names)]
    unused = dict(settings)
    families: dict[int, dict[str, Metric]] = {}
    for metric in chosen:
        mine = {key: value for key, value in settings.items() if key in metric.settings}
        if mine and metric.retune is not None and id(metric.measure) not in families:
            family = metric.retune({**metric.settings, **mine})
            families[id(metric.measure)] = {other.name: other for other in family}
            for key in mine:
                unused.pop(key, None)
    if unused:
        raise _no_setting_error(next(iter(unused)), chosen)
    for metric in (m for family in families.values() for m in family.values()):
        for key in settings.keys() & metric.settings.keys():
            if metric.settings[key] != settings[key]:
                raise _no_setting_error(key, chosen)
    # Metrics that were measured together still are, whether or not the setting concerns them.
    return [families.get(id(m.measure), {}).get(m.name, m) for m in chosen]


def _no_setting_error(name: str, metrics: Sequence[Metric]) -> UsageError:
    known = sorted({key for m in metrics if m.retune is not None for key in m.settings})
    if name in known:
        remedy = "choose another metric instead: `overread list metrics`"
        return UsageError(f"'{name}' tells metrics apart and cannot be set", remedy=remedy)
    if known:
        return catalog.unknown_name("setting of these metrics", name, known)
    what = f"these metrics have no setting '{name}', nor any other"
    return UsageError(what, remedy="leave --setting out")


def _is_attempted(metric: Metric, attempts: Sequence[ReadingSet]) -> bool:
    """Whether any reading holds what the metric needs; absent means not attempted."""
    return any(
        all(has_part(reading, need, attempt.verdicts.get(case, ())) for need in metric.needs)
        for attempt in attempts
        for case, reading in attempt.submission.readings.items()
        if not reading.error
    )


def has_part(reading: Reading, need: str, verdicts: Sequence[Verdicts] = ()) -> bool:
    """Whether a reading has the part that a metric needs, or a judge has said something of it."""
    if need == "step verdicts":
        return any(isinstance(verdict, StepVerdicts) for verdict in verdicts)
    if need == "discussion verdicts":
        return any(isinstance(verdict, DiscussionVerdicts) for verdict in verdicts)
    steps = reading.trace.steps if reading.trace else ()
    findings = reading.findings or ()
    regions = [r for f in findings for r in f.regions] + [r for s in steps for r in s.regions]
    if need == "findings":
        return any(isinstance(r, Whole) for finding in findings for r in finding.regions)
    if need == "masks":
        return any(isinstance(region, Mask) for region in regions)
    if need == "boxes":
        return any(isinstance(region, Box) for region in regions)
    if need == "crops":
        return any(step.crop for step in steps)
    return getattr(reading, need) is not None


def _make_signature(
    release: Release,
    entries: Mapping[str, Entry],
    metrics: Sequence[Metric],
    drawing: BootstrapSettings,
) -> dict[str, Any]:
    import numpy as np
    import scipy

    return {
        "versions": {
            "overread": version("overread"),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
        },
        "release": {
            "benchmark": release.benchmark,
            "split": release.split,
            "cases": len(entries),
            "digest": digest(
                [_drop_empty(entries[c].model_dump(mode="json")) for c in sorted(entries)]
            )[:16],
        },
        "settings": {m.name: dict(m.settings) for m in metrics if m.settings},
        "vocabulary": _vocabulary_digest(),
        "intervals": drawing.as_settings(),
    }


def _drop_empty(value: Any) -> Any:
    """A dump without what is empty: fields that a later version adds must not change a digest."""
    if isinstance(value, dict):
        parts = {key: _drop_empty(part) for key, part in value.items()}
        return {key: part for key, part in parts.items() if part not in (None, [], {}, "")}
    return [_drop_empty(part) for part in value] if isinstance(value, list) else value


def _vocabulary_digest() -> str:
    """Which words the rules read reports by: the house's, or a file of one's own."""
    own = os.environ.get("OVERREAD_VOCABULARY")
    if not own:
        return "the house's"
    try:
        return digest(Path(own).read_text("utf-8"))[:16]
    except OSError:
        return "unreadable"
