"""Scoring a submission: predictions in a benchmark's official format against the truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from overread.core import Progress, ReleaseRef
from overread.errors import UsageError
from overread.runs.scoring.aggregation import BootstrapSettings
from overread.runs.scoring.card import Card
from overread.runs.scoring.card_builder import build_card, load_entries
from overread.runs.scoring.measurement import ReadingSet


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
    tell: Callable[[str], None] | None = None,
) -> Card:
    """Score a submission in the official format against one split of a copy of the benchmark.

    `metrics` are catalog names; without them the benchmark's own are scored. `settings` change
    what can be set of a metric, by name. What was measured before with the same files and settings
    is not measured again unless `fresh`. `tell` is told when another process is waited for that measures
    the same.
    """
    place = ReleaseRef(benchmark, Path(root), split, form, Path(pictures) if pictures else None)
    part = place.definition
    if part.read_submission is None:
        raise UsageError(f"{part.title} defines no submission format")
    release = place.open()
    entries = load_entries(release, place)
    submission = part.read_submission(release, Path(predictions), entries.values())
    return build_card(
        place,
        release,
        entries,
        [ReadingSet(submission)],
        reader=reader or submission.reader,
        predictions=Path(predictions).name,
        metrics=metrics,
        settings=settings,
        bootstrap=bootstrap,
        workers=workers,
        fresh=fresh,
        progress=progress,
        tell=tell,
    )
