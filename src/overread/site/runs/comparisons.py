"""`/api/compare`: several runs on the same cases, paired, as `overread compare` does it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from overread.core import Record
from overread.errors import NotThere, OverreadError, UsageError
from overread.metrics import Metric
from overread.runs.scoring.aggregation import BootstrapSettings
from overread.runs.scoring.card import Card, Score
from overread.runs.scoring.comparison import MetricComparison, common_metrics, compare, honest_twin
from overread.site.headline import TWIN_PREFIXES, headline_scores
from overread.site.lru_cache import LruCache
from overread.site.runs.chosen_runs import ChosenRuns, with_run_names
from overread.site.runs.intervals import PairedDifference
from overread.site.runs.scorecards import card_stamp, load_card
from overread.site.runs.side_by_side import MetricInfo
from overread.site.shelf import Run

router = APIRouter()


class ComparedRun(Record):
    """One of the runs."""

    id: str
    name: str
    reader: str
    cases: int
    missing: int
    """Cases that nothing was read of."""
    failed: int
    """Cases that failed; they score worst."""


class ComparedMetric(MetricInfo):
    """A metric that all runs were scored by in the same way."""

    official: bool
    twin: bool
    """Whether it only stands beside another one."""


class McNemarCounts(Record):
    """McNemar's test: on how many units who is right."""

    both: int
    this_only: int
    """This run is right and the baseline wrong."""
    baseline_only: int
    neither: int
    exact_p: float
    mid_p: float
    notes: list[str]


# Runs are what statistics calls readers.
class RunRank(Record):
    """The rank of one run, and the ranks that draws of the cases leave to it."""

    run: str
    value: float
    rank: float
    low: float | None
    high: float | None
    first: float | None
    """Share of the draws in which no other run is better."""
    tested: tuple[int, int] | None
    """Ranks that Wilcoxon's tests with Holm's correction leave to it."""
    sure: tuple[int, int] | None
    """Its confidence set of ranks; those of all runs hold together."""


class WilcoxonPair(Record):
    """Two runs, tested by Wilcoxon's signed-rank test."""

    first: str
    second: str
    n: int
    zeros: int
    """Cases with equal scores."""
    p: float
    adjusted: float
    """After Holm, over all pairs."""
    ahead: str
    """The run that is ahead, or ''."""


class ComparisonResult(Record):
    """What came of comparing runs by one metric; the scores are those of all metrics."""

    runs: list[ComparedRun]
    """In the order they were asked for."""
    unscored: dict[str, str]
    """Run → why it is left out."""
    baseline: str
    metric: str
    """The one that differences and ranks are of."""
    metrics: list[ComparedMetric]
    left_out: dict[str, str]
    """Metric → why it is not compared."""
    scores: dict[str, dict[str, Score]]
    """Run → metric → score."""
    differences: dict[str, PairedDifference]
    """Run → its number minus the baseline's."""
    mcnemar: dict[str, McNemarCounts]
    ranking: list[RunRank]
    """The best first; empty where some number is undefined."""
    pairs: list[WilcoxonPair]
    level: float
    draws: int
    common: bool
    """Whether cases that not all runs have are left out."""


@router.get("/compare")
def get_compare(
    runs: ChosenRuns,
    baseline: Annotated[str | None, Query(max_length=200)] = None,
    metric: Annotated[str | None, Query(max_length=200)] = None,
    *,
    common: bool = False,
) -> ComparisonResult:
    """Scores of all runs, and by one metric their paired differences from a baseline and ranks."""
    cards: dict[str, Card] = {}
    unscored: dict[str, str] = {}
    for run in runs:
        try:
            cards[run.id] = load_card(run)
        except OverreadError as error:
            unscored[run.id] = error.what
    kept = [run for run in runs if run.id in cards]
    if len(kept) < 2:
        raise UsageError("fewer than two of these runs are scored", remedy="score them first")
    if baseline is not None and baseline not in cards:
        raise NotThere("the baseline is not among the scored runs", remedy="choose another one")
    first = baseline or kept[0].id
    try:
        chosen, left_out = common_metrics({first: cards[first], **cards}, ())
        names = {one.name: one for one in chosen}
        wanted = metric or honest_twin([*headline_scores(names, cards[first].official), *names][0], names)
        if wanted not in names:
            why = left_out.get(wanted, "no run was scored by it")
            raise UsageError(f"{wanted} cannot be compared: {why}", remedy="choose another metric")
        found = _compare_cached(kept, cards, first, wanted, common=common)
    except OverreadError as error:
        raise with_run_names(error, runs) from None
    return _to_result(kept, cards, first, names[wanted], chosen, left_out, found, unscored, common=common)


_cache: LruCache[MetricComparison] = LruCache(64)


def _compare_cached(
    runs: list[Run], cards: dict[str, Card], first: str, metric: str, *, common: bool
) -> MetricComparison:
    """The comparison by one metric; known ones are not drawn again."""

    def draw() -> MetricComparison:
        return compare(
            list(cards.values()),
            names=list(cards),
            baseline=first,
            metrics=[metric],
            units="common" if common else "same",
            bootstrap=BootstrapSettings(),
        ).metrics[metric]

    key = (tuple(run.id for run in runs), first, metric, common)
    return _cache.get(key, draw, stamp=[card_stamp(run) for run in runs])


def _to_result(
    runs: list[Run],
    cards: dict[str, Card],
    first: str,
    metric: Metric,
    metrics: list[Metric],
    left_out: dict[str, str],
    found: MetricComparison,
    unscored: dict[str, str],
    *,
    common: bool,
) -> ComparisonResult:
    named = {run.id: run.name for run in runs}
    for name, why in left_out.items():
        for run in runs:
            why = why.replace(run.id, run.name)
        left_out[name] = why
    tested = found.significance
    drawing = BootstrapSettings()
    return ComparisonResult(
        runs=[
            ComparedRun(
                id=run.id,
                name=named[run.id],
                reader=cards[run.id].reader,
                cases=cards[run.id].cases,
                missing=cards[run.id].missing,
                failed=cards[run.id].failed,
            )
            for run in runs
        ],
        unscored=unscored,
        baseline=first,
        metric=metric.name,
        metrics=[
            ComparedMetric(
                name=one.name,
                better=one.better,
                about=one.about,
                official=one.name in cards[first].official,
                twin=one.name.startswith(TWIN_PREFIXES),
            )
            for one in metrics
        ],
        left_out={n: why for n, why in left_out.items() if not n.startswith(TWIN_PREFIXES)},
        scores={
            run: {
                one.name: Score.model_validate(
                    card.scores[one.name].model_dump(include=set(Score.model_fields))
                )
                for one in metrics
            }
            for run, card in cards.items()
        },
        differences={
            run: PairedDifference.model_validate(one.as_dict()) for run, one in found.differences.items()
        },
        mcnemar={
            run: McNemarCounts(
                both=one.both,
                this_only=one.first_only,
                baseline_only=one.second_only,
                neither=one.neither,
                exact_p=one.exact_p,
                mid_p=one.mid_p,
                notes=list(one.notes),
            )
            for run, one in found.mcnemar.items()
        },
        ranking=[
            RunRank(
                run=one.reader,
                value=one.value,
                rank=one.rank,
                low=one.low,
                high=one.high,
                first=one.first,
                tested=tested.ranges[one.reader] if tested else None,
                sure=None if one.best is None or one.worst is None else (one.best, one.worst),
            )
            for one in (found.ranking.ranks if found.ranking else ())
        ],
        pairs=[
            WilcoxonPair.model_validate(one, from_attributes=True) for one in (tested.tests if tested else ())
        ],
        level=drawing.level,
        draws=drawing.draws,
        common=common,
    )
