"""Builds a scorecard: selects metrics, measures readings, combines statistics, signs the result."""

from __future__ import annotations

import os
import platform
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from overread.core import Entry, Progress, Release, ReleaseRef
from overread.errors import ReleaseError, UsageError
from overread.metrics import Metric, measure_key
from overread.runs.scoring.aggregation import BootstrapSettings, compute_scores
from overread.runs.scoring.card import Card, CaseStatistics
from overread.runs.scoring.measurement import ReadingSet, measure_cases
from overread.runs.scoring.metric_selection import (
    attempted_metrics,
    find_missing_parts,
    select_metrics,
    survey_readings,
    why_missing,
)
from overread.storage.digests import digest, digest_list
from overread.storage.spilled import SpilledMapping


def load_entries(
    release: Release, place: ReleaseRef, *, keep: Callable[[Entry], bool] | None = None
) -> SpilledMapping[str, Entry]:
    """All entries of a release by the id of their case, most of them on disk where they are many.

    With `keep` only those for which it says yes, though all are read.
    """
    entries: SpilledMapping[str, Entry] = SpilledMapping()
    left_out: set[str] = set()
    for entry in release.entries():
        case = entry.case.id
        if case in entries or case in left_out:
            raise ReleaseError(
                f"two cases are called '{case}'",
                where=str(place.root),
                remedy="`overread check` names every defect of the release",
            )
        if keep is None or keep(entry):
            entries[case] = entry
        else:
            left_out.add(case)
    if not entries and not left_out:
        raise ReleaseError(f"split '{place.split}' has no cases", where=str(place.root))
    return entries


def build_card(
    place: ReleaseRef,
    release: Release,
    entries: Mapping[str, Entry],
    attempts: Sequence[ReadingSet],
    *,
    reader: str,
    predictions: str,
    problems: Sequence[str] = (),
    signature: Mapping[str, Any] | None = None,
    asked_for: Collection[str] = (),
    metrics: Sequence[str] = (),
    may_be_empty: bool = False,
    settings: Mapping[str, Any] | None = None,
    bootstrap: BootstrapSettings | None = None,
    workers: int = 1,
    fresh: bool = False,
    progress: Progress | None = None,
    tell: Callable[[str], None] | None = None,
) -> Card:
    """The scorecard of one or several readings of the same cases by one reader.

    `problems` are those that are known before anything is measured; `signature` is added to what
    every card is signed with. Parts of a reading that were `asked_for` are scored whether or not
    any reading has them. A metric whose weights are not here is named with the reason, and the
    others are scored. A card without any score is refused unless it `may_be_empty`. `tell` is told
    when another process is waited for.
    """
    part = place.definition
    chosen = select_metrics(metrics or part.metrics, settings or {})
    survey = survey_readings(chosen, attempts)
    tried, skipped = attempted_metrics(chosen, survey, part.official, asked_for)
    missing = find_missing_parts(tried.values())
    tried = {name: metric for name, metric in tried.items() if name not in missing}
    if not tried and missing and not may_be_empty:
        raise next(iter(missing.values()))
    if not tried and not may_be_empty:
        raise UsageError(
            f"the predictions hold nothing that {part.title} is scored by",
            remedy="; ".join(dict.fromkeys(skipped.values())) or "name a metric with --metric",
        )
    measured = measure_cases(
        place,
        release,
        entries,
        attempts,
        list(tried.values()),
        workers=workers,
        fresh=fresh,
        progress=progress,
        tell=tell,
    )
    bootstrap = bootstrap or BootstrapSettings()
    missing |= {
        name: measured.unmeasured[measure_key(metric)]
        for name, metric in tried.items()
        if measure_key(metric) in measured.unmeasured
    }
    tried = {name: metric for name, metric in tried.items() if name not in missing}
    if not tried and missing and not may_be_empty:
        raise next(iter(missing.values()))
    statistics, found = measured.statistics, measured.problems
    scores, breakdowns = compute_scores(list(tried.values()), statistics, measured.groups, bootstrap)
    skipped |= {name: "the release has no truth for it" for name in tried if name not in scores}
    skipped |= {name: why_missing(lacking) for name, lacking in missing.items()}
    if not scores and tried:
        raise _no_truth_error(place, statistics, found)
    states, untold = _survey_cases(statistics, part.official, tried)
    told = [str(problem) for attempt in attempts for problem in attempt.submission.problems]
    return Card(
        benchmark=place.benchmark,
        split=place.split,
        reader=reader,
        predictions=predictions,
        cases=len(entries),
        missing=states["missing"],
        failed=states["failed"],
        not_judged=states["not judged"],
        readings=survey.readings,
        failed_readings=survey.failed,
        scores=scores,
        not_attempted=skipped,
        breakdowns=breakdowns,
        problems=(*problems, *told, *found, *untold),
        signature={**_make_signature(release, entries, list(tried.values()), bootstrap), **(signature or {})},
        official=part.official,
        statistics=statistics,
    )


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


def _survey_cases(
    statistics: Mapping[str, CaseStatistics], official: Sequence[str], tried: Mapping[str, Metric]
) -> tuple[Counter[str], list[str]]:
    """How many cases are in each state, and notes on cases that the benchmark's own numbers leave out
    because the release has no truth for them.
    """
    states: Counter[str] = Counter()
    keys = {name: measure_key(tried[name]) for name in official if name in tried}
    without: dict[str, list[str]] = {key: [] for key in keys.values()}
    for case, own in statistics.items():
        states[own.state] += 1
        for key, cases in without.items():
            if own.state != "not judged" and not own.rows.get(key):
                cases.append(case)
    found = []
    for key, cases in without.items():
        if cases:
            names = ", ".join(name for name, own in keys.items() if own == key)
            few = ", ".join(cases[:5]) + ", …" * (len(cases) > 5)
            found.append(
                f"the release has no truth for {len(cases):,} of {len(statistics):,} cases "
                f"({few}): the others alone count in {names}"
            )
    return states, found


def _make_signature(
    release: Release, entries: Mapping[str, Entry], metrics: Sequence[Metric], drawing: BootstrapSettings
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
            "digest": digest_list(_drop_empty(entries[c].model_dump(mode="json")) for c in sorted(entries))[
                :16
            ],
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
