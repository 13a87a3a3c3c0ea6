"""Builds a scorecard: selects metrics, measures readings, combines statistics, signs the result."""

from __future__ import annotations

import os
import platform
from collections.abc import Collection, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from overread.core import Entry, Progress, Release, ReleaseRef
from overread.errors import ReleaseError, UsageError
from overread.metrics import Metric, measure_key
from overread.runs.scoring.aggregation import BootstrapSettings, compute_scores
from overread.runs.scoring.card import Card, CaseStatistics
from overread.runs.scoring.measurement import ReadingSet, measure_cases
from overread.runs.scoring.metric_selection import attempted_metrics, select_metrics
from overread.storage.digests import digest


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
    reader: str,
    predictions: str,
    problems: Sequence[str] = (),
    signature: Mapping[str, Any] | None = None,
    asked_for: Collection[str] = (),
    metrics: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
    bootstrap: BootstrapSettings | None = None,
    workers: int = 1,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Card:
    """The scorecard of one or several readings of the same cases by one reader.

    `problems` are those that are known before anything is measured; `signature` is added to what
    every card is signed with. Parts of a reading that were `asked_for` are scored whether or not
    any reading has them.
    """
    part = place.definition
    chosen = select_metrics(metrics or part.metrics, settings or {})
    tried, skipped = attempted_metrics(chosen, attempts, part.official, asked_for)
    if not tried:
        raise UsageError(
            f"the predictions hold nothing that {part.title} is scored by",
            remedy="; ".join(dict.fromkeys(skipped.values())) or "name a metric with --metric",
        )
    statistics, found = measure_cases(
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
        raise _no_truth_error(place, statistics, found)
    states = [case.state for case in statistics.values()]
    readings = [one for attempt in attempts for one in attempt.submission.readings.values()]
    told = [str(problem) for attempt in attempts for problem in attempt.submission.problems]
    return Card(
        benchmark=place.benchmark,
        split=place.split,
        reader=reader,
        predictions=predictions,
        cases=len(entries),
        missing=states.count("missing"),
        failed=states.count("failed"),
        not_judged=states.count("not judged"),
        readings=len(readings),
        failed_readings=sum(one.error is not None for one in readings),
        scores=scores,
        not_attempted=skipped,
        breakdowns=breakdowns,
        problems=(*problems, *told, *found, *_describe_missing_truth(part.official, tried, statistics)),
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


def _describe_missing_truth(
    official: Sequence[str], tried: Mapping[str, Metric], statistics: Mapping[str, CaseStatistics]
) -> list[str]:
    """Notes on cases that the benchmark's own numbers leave out because the release has no truth
    for them.
    """
    keys = {name: measure_key(tried[name]) for name in official if name in tried}
    found = []
    for key in dict.fromkeys(keys.values()):
        without = [
            case for case, own in statistics.items() if own.state != "not judged" and not own.rows.get(key)
        ]
        if without:
            names = ", ".join(name for name, own in keys.items() if own == key)
            few = ", ".join(without[:5]) + ", …" * (len(without) > 5)
            found.append(
                f"the release has no truth for {len(without):,} of {len(statistics):,} cases "
                f"({few}): the others alone count in {names}"
            )
    return found


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
            "digest": digest([_drop_empty(entries[c].model_dump(mode="json")) for c in sorted(entries)])[:16],
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
