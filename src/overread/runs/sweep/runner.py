"""A sweep: one reader on the same cases under several settings, and how its score changes.

Each point of the cross product is an ordinary run in its own folder, which can be stopped and
resumed; all points share the reply cache.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

from overread import catalog
from overread.core import Progress, Reading
from overread.core.notebook import html_table
from overread.core.notice import NOTICE
from overread.errors import UsageError
from overread.metrics import Sample
from overread.metrics.statistics.bootstrap import Interval, cluster_key, interval
from overread.metrics.statistics.interval_rule import Bounds
from overread.metrics.statistics.paired_tests import Difference
from overread.runs.engine import RunOutcome, RunPlan, make_presenter, prepare_run, run
from overread.runs.estimate import Estimate, estimate
from overread.runs.scoring.aggregation import BootstrapSettings
from overread.runs.scoring.card import Card, DescribedScore
from overread.runs.scoring.comparison import compare
from overread.runs.scoring.from_run import score
from overread.runs.scoring.metric_selection import find_metric, find_missing_parts
from overread.runs.store import last_readings
from overread.runs.sweep.axes import Axis, SweepPoint, make_points
from overread.runs.tally import Watch

MARK = "overread sweep 1"

WatchFactory = Callable[[str], AbstractContextManager[Watch | None]]
"""Title of a point → what watches its run."""
ProgressFactory = Callable[[str], AbstractContextManager[Progress | None]]
"""Title of a point → what is told how far its scoring is."""


@dataclass(frozen=True)
class PointResult:
    """One point, read and scored."""

    point: SweepPoint
    outcome: RunOutcome
    card: Card
    agreement: Interval | None = None
    """Share of pairs of readings of one case that choose the same, where cases are read twice."""
    differences: Mapping[str, Difference] = field(default_factory=dict)
    """Metric → this point's number minus the first point's, paired; none at the first point."""

    @property
    def failed_readings(self) -> int:
        """Readings that failed."""
        return self.outcome.tally.failed + self.outcome.tally.failed_before


@dataclass(frozen=True)
class SweepResult:
    """What came of a sweep."""

    folder: Path
    axes: tuple[Axis, ...]
    metrics: tuple[str, ...]
    """What was asked to be scored, the headline first."""
    points: tuple[PointResult, ...]
    """As far as they were read."""
    total: int
    """How many points there are to be."""
    bootstrap: BootstrapSettings
    stopped: int | None = None
    """The signal that stopped it."""
    not_compared: Mapping[str, str] = field(default_factory=dict)
    """Metric → why there are no differences."""

    def score(self, swept: PointResult, metric: str) -> DescribedScore | None:
        """One number of one point."""
        return swept.card.scores.get(metric)

    def _repr_html_(self) -> str:
        """In a notebook: every number of every point."""
        rows = [
            (swept.point.name, metric, own.value, own.low, own.high, own.n, swept.failed_readings)
            for swept in self.points
            for metric in self.metrics
            if (own := self.score(swept, metric)) is not None
        ]
        head = ("point", "metric", "value", "low", "high", "n", "failed readings")
        note = f"{len(self.points)} of {self.total} points. {NOTICE}"
        return html_table(self.folder.name, rows, head=head, note=note)


def sweep_metrics(benchmark: str, wanted: Sequence[str]) -> tuple[str, ...]:
    """What a sweep scores: what was asked for, or the benchmark's own headline."""
    if wanted:
        names = catalog.metric_names(wanted)
        for name in names:
            catalog.find("metrics", name)
        return tuple(dict.fromkeys(names))
    exam = catalog.find("benchmarks", benchmark)
    return tuple(catalog.metric_names((exam.official or exam.metrics)[:1])[:1])


def sweep(
    plan: RunPlan,
    axes: Sequence[Axis],
    out: str | Path,
    *,
    metrics: Sequence[str] = (),
    fixed: Sequence[str] = (),
    bootstrap: BootstrapSettings | None = None,
    workers: int = 1,
    watching: WatchFactory | None = None,
    scoring: ProgressFactory | None = None,
) -> SweepResult:
    """Read and score every point, and set each against the first; the same call goes on.

    All points are made sure of before the first one is read. `fixed` names settings that were
    given for all points. Nothing is written here but the runs: see `sweep_files`.
    """
    folder = Path(out)
    _refuse_run_folder(folder)
    points = check_points(make_points(plan, axes, fixed=fixed))
    chosen = sweep_metrics(plan.benchmark, metrics)
    missing = find_missing_parts(map(find_metric, chosen))
    if len(missing) == len(chosen):  # nothing could be scored when all is read
        raise next(iter(missing.values()))
    bootstrap = bootstrap or BootstrapSettings()
    done: list[PointResult] = []
    stopped: int | None = None
    for number, point in enumerate(points, 1):
        title = f"{number}/{len(points)} {point.name}"
        with (watching or _no_watch)(title) as watch:
            outcome = run(point.plan, folder / point.folder, watch=watch)
        if not outcome.complete:
            stopped = outcome.stopped
            break
        with (scoring or _no_watch)(title) as told:
            card = score(
                folder / point.folder,
                metrics=chosen,
                may_be_empty=True,  # a point may lack a part of a reading that others have
                bootstrap=bootstrap,
                workers=workers,
                progress=told,
            )
        done.append(
            PointResult(point, outcome, card, choice_agreement(folder / point.folder, card, bootstrap))
        )
    found, why = _compare_to_first(done, chosen, bootstrap)
    return SweepResult(folder, tuple(axes), chosen, found, len(points), bootstrap, stopped, why)


def estimate_points(
    plan: RunPlan, axes: Sequence[Axis], out: str | Path, *, fixed: Sequence[str] = ()
) -> list[tuple[SweepPoint, Estimate]]:
    """What each point would take from here on; nobody is asked and nothing written."""
    _refuse_run_folder(Path(out))
    points = check_points(make_points(plan, axes, fixed=fixed))
    return [(point, estimate(point.plan, Path(out) / point.folder)) for point in points]


def check_points(points: list[SweepPoint]) -> list[SweepPoint]:
    """The points, after checking that each can be run and has a folder of its own."""
    folders: dict[str, str] = {}
    seen: dict[str, str] = {}
    for point in points:
        reader, release, spec = prepare_run(point.plan)
        try:
            make_presenter(point.plan, reader, release)
        finally:
            asyncio.run(reader.close())
        told = spec.model_copy(update={"versions": {}}).model_dump_json()
        if told in seen:
            raise UsageError(
                f"'{point.name}' is the same run as '{seen[told]}'",
                remedy="leave one of them out, or use a reader that this setting affects",
            )
        seen[told] = point.name
        other = folders.setdefault(point.folder.casefold(), point.name)
        if other != point.name:
            raise UsageError(f"'{point.name}' and '{other}' would have the same folder")
    return points


def _refuse_run_folder(folder: Path) -> None:
    if (folder / "spec.json").exists():
        raise UsageError(
            "this folder is a run, and a sweep is a folder of runs",
            where=str(folder),
            remedy="give another --out",
        )


def _no_watch(_: str) -> AbstractContextManager[None]:
    return nullcontext()


# ---- numbers -------------------------------------------------------------------------------


def _compare_to_first(
    done: Sequence[PointResult], metrics: Sequence[str], drawing: BootstrapSettings
) -> tuple[tuple[PointResult, ...], dict[str, str]]:
    """The points with their paired differences, and why a metric has none."""
    if len(done) < 2:
        return tuple(done), {}
    why: dict[str, str] = {}
    found: list[PointResult] = [done[0]]
    apart: dict[str, dict[str, Difference]] = {swept.point.name: {} for swept in done}
    for metric in metrics:
        scored = {swept.point.name: swept.card for swept in done if metric in swept.card.scores}
        if done[0].point.name not in scored or len(scored) < 2:
            if scored:
                lacking = "the first" if done[0].point.name not in scored else "every other"
                why[metric] = f"{lacking} point has no score"
            continue
        try:
            compared = compare(list(scored.values()), names=list(scored), metrics=[metric], bootstrap=drawing)
        except UsageError as error:
            why[metric] = error.what
            continue
        for name, difference in compared.metrics[metric].differences.items():
            apart[name][metric] = difference
    for swept in done[1:]:
        differences = apart[swept.point.name]
        found.append(PointResult(swept.point, swept.outcome, swept.card, swept.agreement, differences))
    return tuple(found), why


def choice_agreement(folder: Path, card: Card, bootstrap: BootstrapSettings) -> Interval | None:
    """How often two readings of the same case choose the same; None where none is read twice.

    A reading without a choice agrees with no other. Letters are the release's, in whatever order
    the options were shown: what a shuffle changes shows here.
    """
    by_case: dict[str, list[Reading]] = {}
    for (case, _), reading in sorted(last_readings(folder).items()):
        by_case.setdefault(case, []).append(reading)
    rows: list[dict[str, Any]] = []
    clusters: list[str] = []
    for case, readings in by_case.items():
        pairs = list(combinations((reading.choice for reading in readings), 2))
        if not pairs or case not in card.statistics:
            continue
        same = sum(one is not None and one == other for one, other in pairs)
        rows.append({"same": same / len(pairs), "cases": 1})
        clusters.append(cluster_key(case, card.statistics[case].patient))
    if not rows or not any(reading.choice for own in by_case.values() for reading in own):
        return None
    share = partial(Sample.ratio, top="same", bottom="cases")
    return interval(
        share,
        rows,
        clusters,
        draws=bootstrap.draws,
        seed=bootstrap.seed,
        level=bootstrap.level,
        bounds=Bounds(0.0, 1.0),
    )
