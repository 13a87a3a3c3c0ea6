"""Scorecards: scores with intervals, breakdowns, calibration, and scoring itself."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal

from fastapi import APIRouter, Depends
from pydantic import JsonValue

from overread.core import Record
from overread.errors import NotThere, OverreadError, UsageError
from overread.metrics import Sample
from overread.metrics.choice import ACCURACY, BINS
from overread.metrics.groups import BREAKDOWNS
from overread.metrics.statistics.bootstrap import Draws, intervals
from overread.ontology import findings
from overread.runs.card import Card, Score, measure_key, read_card, short_signature
from overread.runs.scoring import units_of
from overread.site.parts import OneRun, OnShelf, may_write, sees_truth
from overread.site.runs import scoring_now
from overread.site.runs.scoring_now import Scoring
from overread.site.shelf import Run
from overread.site.unplaced import unplaced, unplaced_in

router = APIRouter()
TWINS = ("honest_", "ceiling_")
"""Beginnings of names of scores that only stand beside another one."""
_KEPT = 24
_MOST_PROBLEMS = 2000
_MOST_DRAWS = 100_000


@contextmanager
def reckoning() -> Iterator[None]:
    """What is on a card was checked in its form only: numbers that make no sense are told."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        raise UsageError(
            "the scorecard is damaged: no numbers follow from it", remedy="score the run again"
        ) from None


class ShownScore(Score):
    """A score with what one must know to read it."""

    name: str
    better: Literal["higher", "lower"]
    about: str
    """What it says, in one line."""
    reference: str
    """What it is held to."""
    official: bool
    """Whether the benchmark itself names it."""
    twin: str | None
    """The score that it stands beside, with another rule for what is missing, or as its ceiling."""
    settings: dict[str, JsonValue]
    """What changes the number."""


class ShownCard(Record):
    """The scores of one run."""

    cases: int
    missing: int
    """Cases that nothing was read of."""
    failed: int
    """Cases that failed; they score worst."""
    not_judged: int
    """Cases whose own truth could not be read; they are in no score."""
    scores: list[ShownScore]
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


class ShownGroup(Record):
    """One group of a breakdown."""

    name: str
    label: str
    """As people call it: codes come with their names."""
    n: int
    scores: dict[str, Score]


class ShownBreakdown(Record):
    """The scores of a run by one property of the cases or findings."""

    name: str
    about: str
    groups: list[ShownGroup]


class Bin(Record):
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

    bins: list[Bin]
    """Those that have a case."""
    without: int
    """Cases without probabilities; the calibration error counts them as sure and wrong."""
    level: float
    scores: list[ShownScore]
    """Calibration error, Brier score and log loss."""


@router.get("/runs/{run}/card")
def get_card(run: OneRun) -> ShownCard:
    """The scores of a run, as `overread score` wrote them."""
    card = card_of(run)
    with reckoning():
        return _card(card)


def _card(card: Card) -> ShownCard:
    drawing = card.signature["intervals"]
    return ShownCard(
        cases=card.cases,
        missing=card.missing,
        failed=card.failed,
        not_judged=card.not_judged,
        scores=shown_scores(card),
        not_attempted={n: why for n, why in card.not_attempted.items() if not _twin(n)},
        problems=[unplaced(told) for told in card.problems[:_MOST_PROBLEMS]],
        more_problems=max(0, len(card.problems) - _MOST_PROBLEMS),
        signature=unplaced_in(card.signature),
        short=short_signature(card),
        level=_number(drawing.get("level"), 0.95),
        draws=int(_number(drawing.get("draws"), 0)),
    )


@router.get("/runs/{run}/breakdowns", dependencies=[Depends(sees_truth)])
def get_breakdowns(run: OneRun) -> list[ShownBreakdown]:
    """The scores of a run over each group of its cases.

    Groups are named by the truth, and small ones tell of single cases.
    """
    return [
        ShownBreakdown(
            name=name,
            about=BREAKDOWNS.get(name, ""),
            groups=[
                ShownGroup(name=group, label=_label(name, group), n=own.n, scores=own.scores)
                for group, own in groups.items()
            ],
        )
        for name, groups in card_of(run).breakdowns.items()
    ]


@router.get("/runs/{run}/calibration", dependencies=[Depends(sees_truth)])
def get_calibration(run: OneRun) -> Calibration:
    """How often the most likely option is right, by how likely it was held to be.

    With few cases in a bin this tells of single ones, so that it is truth.
    """
    card = card_of(run)
    with reckoning():
        return _calibration(card)


def _calibration(card: Card) -> Calibration:
    units = units_of(card.statistics, measure_key(ACCURACY))
    rows = units.rows
    used = [p for p in range(BINS) if any(row.get(f"bin:{p}:n") for row in rows)]
    if not used:
        raise NotThere("no reading of this run tells probabilities")
    drawing = card.signature["intervals"]
    level = _number(drawing.get("level"), 0.95)
    draws = Draws(
        units.clusters,
        draws=min(int(_number(drawing.get("draws"), 0)), _MOST_DRAWS),
        seed=int(_number(drawing.get("seed"), 0)),
    )
    shares = {
        str(p): partial(Sample.ratio, top=f"bin:{p}:right", bottom=f"bin:{p}:n") for p in used
    }
    found = intervals(shares, rows, draws, level=level)
    all_of = Sample(rows)
    bins = []
    for place in used:
        n = float(all_of.total(f"bin:{place}:n")[0])
        own = found[str(place)]
        bins.append(
            Bin(
                low=place / BINS,
                high=(place + 1) / BINS,
                n=int(n),
                confidence=float(all_of.total(f"bin:{place}:sure")[0]) / n,
                right=Score(value=own.value, low=own.low, high=own.high, n=int(n)),
            )
        )
    wanted = ("calibration_error", "brier", "log_loss")
    return Calibration(
        bins=bins,
        without=int(all_of.total(f"bin:{BINS}:n")[0]),
        level=level,
        scores=[score for score in shown_scores(card) if score.name in wanted],
    )


@router.post(
    "/runs/{run}/score", dependencies=[Depends(may_write), Depends(sees_truth)], status_code=202
)
def post_score(run: OneRun, shelf: OnShelf) -> Scoring:
    """Score a run, as `overread score RUN` does; how far that is, the run's status tells.

    Whoever reads a single case and has it scored learns whether that was right: it tells truth.
    """
    if run.dataset is None:
        raise UsageError(
            f"the dataset of the run {run.name} is not there, and its truth is needed",
            remedy="start the page with --root and the folder it lies in now",
        )
    return scoring_now.begin(run, shelf)


# ---- cards ---------------------------------------------------------------------------------

_cards: OrderedDict[Path, tuple[tuple[int, int], Card]] = OrderedDict()
_lock = threading.Lock()


def stamp_of(run: Run) -> tuple[int, int]:
    """What changes when a run is scored again."""
    try:
        now = (run.folder / "card.json").stat()
    except OSError:
        raise NotThere(
            f"the run {run.name} is not scored", remedy="score it, or run `overread score` on it"
        ) from None
    return now.st_mtime_ns, now.st_size


def card_of(run: Run) -> Card:
    """The scorecard of a run, read anew where it was written since."""
    file = run.folder / "card.json"
    stamp = stamp_of(run)
    with _lock:
        kept = _cards.get(file)
        if kept is not None and kept[0] == stamp:
            _cards.move_to_end(file)
            return kept[1]
    try:
        card = read_card(run.folder)
    except OverreadError as error:
        raise UsageError(
            f"the scores of {run.name}: {error.what}", remedy="score it again"
        ) from None
    with _lock:
        _cards[file] = (stamp, card)
        while len(_cards) > _KEPT:
            _cards.popitem(last=False)
    return card


def shown_scores(card: Card) -> list[ShownScore]:
    """The scores of a card, in its order."""
    return [
        ShownScore(
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
    for prefix in TWINS:
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return None


def _label(breakdown: str, group: str) -> str:
    known = findings().categories.get(group) if breakdown == "category" else None
    return f"{group} {known.name}" if known else group


def _number(value: Any, usual: float) -> float:
    return float(value) if isinstance(value, int | float) else usual
