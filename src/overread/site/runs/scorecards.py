"""Scorecards: scores with intervals, breakdowns, calibration, and scoring itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from fastapi import APIRouter, Depends
from pydantic import JsonValue

from overread.core import Record
from overread.errors import NotThere, OverreadError, UsageError
from overread.metrics import Sample, measure_key
from overread.metrics.choice import ACCURACY, BINS, reliability
from overread.metrics.groups import BREAKDOWNS
from overread.metrics.statistics.bootstrap import BootstrapDraws, intervals
from overread.runs.scoring.aggregation import collect_units
from overread.runs.scoring.card import Card, DescribedScore, GroupScores, Score, read_card, short_signature
from overread.site.dependencies import OneRun, ShelfDep, require_truth, require_write
from overread.site.headline import TWIN_PREFIXES, group_label
from overread.site.lru_cache import LruCache, file_stamp
from overread.site.runs import background_scoring
from overread.site.runs.background_scoring import ScoringStatus
from overread.site.shelf import Run
from overread.site.strip_paths import strip_paths, strip_paths_in_json

router = APIRouter()
_MOST_PROBLEMS = 2000
_MOST_DRAWS = 100_000


@contextmanager
def card_errors() -> Iterator[None]:
    """Turn arithmetic and lookup errors of a damaged scorecard into a UsageError."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        raise UsageError(
            "the scorecard is damaged: its numbers cannot be computed", remedy="score the run again"
        ) from None


class CardScore(DescribedScore):
    """A score with its name and settings."""

    name: str
    official: bool
    """Whether the benchmark itself names it."""
    twin: str | None
    """The score that it stands beside, with another rule for what is missing, or as its ceiling."""
    settings: dict[str, JsonValue]
    """What changes the number."""


class ScorecardSummary(Record):
    """The scores of one run."""

    cases: int
    missing: int
    """Cases that nothing was read of."""
    failed: int
    """Cases that failed; they score worst."""
    not_judged: int
    """Cases whose own truth could not be read; they are in no score."""
    scores: list[CardScore]
    not_attempted: dict[str, str]
    """Metric → why it was not scored."""
    problems: list[str]
    """What was wrong, one sentence each."""
    more_problems: int
    """How many further ones there are."""
    signature: dict[str, JsonValue]
    """Versions and settings: everything that changes a number."""
    short: str
    """The signature in one line."""
    level: float
    """Of the intervals."""
    draws: int


class BreakdownGroup(GroupScores):
    """One group of a breakdown, with its name."""

    name: str
    label: str
    """As people call it: codes come with their names."""


class ScoreBreakdown(Record):
    """The scores of a run by one property of the cases or findings."""

    name: str
    about: str
    groups: list[BreakdownGroup]


class ConfidenceBin(Record):
    """Cases of about the same confidence."""

    low: float
    high: float
    """Ends of the bin of confidence."""
    n: int
    confidence: float
    """Mean confidence of the most likely option."""
    right: Score
    """Share of these options that are right."""


class Calibration(Record):
    """Whether the reader is right as often as it is sure."""

    bins: list[ConfidenceBin]
    """Those that have a case."""
    without: int
    """Cases without probabilities; the calibration error counts them as sure and wrong."""
    level: float
    scores: list[CardScore]
    """Calibration error, Brier score and log loss."""


@router.get("/runs/{run}/card")
def get_card(run: OneRun) -> ScorecardSummary:
    """The scores of a run, as `overread score` wrote them."""
    card = load_card(run)
    with card_errors():
        return _summarize_card(card)


def _summarize_card(card: Card) -> ScorecardSummary:
    drawing = card.signature["intervals"]
    return ScorecardSummary(
        cases=card.cases,
        missing=card.missing,
        failed=card.failed,
        not_judged=card.not_judged,
        scores=card_scores(card),
        not_attempted={n: why for n, why in card.not_attempted.items() if not _twin(n)},
        problems=[strip_paths(told) for told in card.problems[:_MOST_PROBLEMS]],
        more_problems=max(0, len(card.problems) - _MOST_PROBLEMS),
        signature=strip_paths_in_json(card.signature),
        short=short_signature(card),
        level=_number_or(drawing.get("level"), 0.95),
        draws=int(_number_or(drawing.get("draws"), 0)),
    )


@router.get("/runs/{run}/breakdowns", dependencies=[Depends(require_truth)])
def get_breakdowns(run: OneRun) -> list[ScoreBreakdown]:
    """The scores of a run over each group of its cases.

    Groups are named by the truth, and small ones tell of single cases.
    """
    return [
        ScoreBreakdown(
            name=name,
            about=BREAKDOWNS.get(name, ""),
            groups=[
                BreakdownGroup(name=group, label=group_label(name, group), **dict(own))
                for group, own in groups.items()
            ],
        )
        for name, groups in load_card(run).breakdowns.items()
    ]


@router.get("/runs/{run}/calibration", dependencies=[Depends(require_truth)])
def get_calibration(run: OneRun) -> Calibration:
    """How often the most likely option is right, by how likely it was held to be.

    With few cases in a bin this tells of single ones, so that it is truth.
    """
    card = load_card(run)
    with card_errors():
        return _compute_calibration(card)


def _compute_calibration(card: Card) -> Calibration:
    units = collect_units(card.statistics, measure_key(ACCURACY))
    rows = units.rows
    used = [p for p in range(BINS) if any(row.get(f"bin:{p}:n") for row in rows)]
    if not used:
        raise NotThere("no reading of this run has probabilities")
    drawing = card.signature["intervals"]
    level = _number_or(drawing.get("level"), 0.95)
    draws = BootstrapDraws(
        units.clusters,
        draws=min(int(_number_or(drawing.get("draws"), 0)), _MOST_DRAWS),
        seed=int(_number_or(drawing.get("seed"), 0)),
    )
    shares = {str(p): partial(Sample.ratio, top=f"bin:{p}:right", bottom=f"bin:{p}:n") for p in used}
    found = intervals(shares, rows, draws, level=level)
    all_of = Sample(rows)
    bins = []
    for place, point in zip(used, reliability(all_of), strict=True):
        own, n = found[str(place)], int(point["n"])
        bins.append(
            ConfidenceBin(
                low=place / BINS,
                high=(place + 1) / BINS,
                n=n,
                confidence=point["confidence"],
                right=Score(
                    value=own.value, low=own.low, high=own.high, n=n, method=own.method, note=own.note
                ),
            )
        )
    wanted = ("calibration_error", "calibration_error_debiased", "brier", "log_loss")
    return Calibration(
        bins=bins,
        without=int(all_of.total(f"bin:{BINS}:n")[0]),
        level=level,
        scores=[score for score in card_scores(card) if score.name in wanted],
    )


@router.post(
    "/runs/{run}/score", dependencies=[Depends(require_write), Depends(require_truth)], status_code=202
)
def post_score(run: OneRun, shelf: ShelfDep) -> ScoringStatus:
    """Score a run, as `overread score RUN` does; how far that is, the run's status tells.

    Whoever reads a single case and has it scored learns whether that was right: it tells truth.
    """
    if run.dataset is None:
        raise UsageError(
            f"the dataset of the run {run.name} was not found, and scoring needs its truth",
            remedy="start the page with --root and its current folder",
        )
    return background_scoring.start_scoring(run, shelf)


# ---- cards ---------------------------------------------------------------------------------

_cache: LruCache[Card] = LruCache(24)


def card_stamp(run: Run) -> object:
    """What changes when a run is scored again."""
    stamp = file_stamp(run.folder / "card.json")
    if stamp is None:
        raise NotThere(f"the run {run.name} is not scored", remedy="score it, or run `overread score` on it")
    return stamp


def load_card(run: Run) -> Card:
    """The scorecard of a run, read anew where it was written since."""
    stamp = card_stamp(run)
    try:
        return _cache.get(run.folder, lambda: read_card(run.folder), stamp=stamp)
    except OverreadError as error:
        raise UsageError(f"the scores of {run.name}: {error.what}", remedy="score it again") from None


def card_scores(card: Card) -> list[CardScore]:
    """The scores of a card, in its order."""
    return [
        CardScore(
            **score.model_dump(),
            name=name,
            official=name in card.official,
            twin=_twin(name),
            settings=card.signature["settings"].get(name) or {},
        )
        for name, score in card.scores.items()
    ]


def _twin(name: str) -> str | None:
    """The score that this one only stands beside."""
    for prefix in TWIN_PREFIXES:
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return None


def _number_or(value: Any, usual: float) -> float:
    return float(value) if isinstance(value, int | float) else usual
