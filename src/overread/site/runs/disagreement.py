"""Where readers disagree: case by case, how far apart their readings are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic_core import to_json
from starlette.responses import Response

from overread.core import Case, Reading, Record
from overread.errors import OverreadError, UsageError
from overread.metrics.choice import normalise_answer
from overread.runs.audit.shifts import total_variation, word_difference
from overread.runs.store import iter_readings
from overread.site.dependencies import AccessDep, ShelfDep
from overread.site.runs.chosen_runs import ChosenRuns
from overread.site.runs.run_cases import case_values, planned_cases
from overread.site.runs.scorecards import load_card
from overread.site.shelf import Run, Split

router = APIRouter()
MAX_RUNS = 8
"""Runs whose pairs are set against each other."""
MAX_LETTERS = 80
"""Letters of an answer in words that a table shows."""


class Disagreement(Record):
    """One case, and how far the runs are apart on it."""

    case: str
    apart: float | None
    """From 0, the same, to 1: the mean over all pairs of runs; absent where it cannot be said."""
    differ: bool | None
    """Whether not all chose or answered the same; absent where nothing was to choose."""
    words: float | None
    """Share of the words that only one of two has, mean over pairs; absent without words."""
    answers: list[str | None]
    """What each run chose or answered, in the order of the runs."""
    states: list[str]
    """Of each run: 'read', 'failed' or 'missing'."""
    values: list[float | None]
    """What the case scores by itself, of each run; empty where the truth is withheld."""
    spread: float | None
    """Largest value minus smallest."""


class Disagreements(Record):
    """All cases of some runs."""

    runs: list[str]
    rule: str
    """What `apart` is here."""
    asks_masks: bool
    """Whether masks are compared, which takes longer: `/disagreement/masks` tells how far."""
    metric: str | None
    """What the values are of."""
    rows: list[Disagreement]


@dataclass(frozen=True)
class _ReadingAnswer:
    """What of a reading is compared."""

    choice: str | None
    probabilities: Mapping[str, float] | None
    words: str
    failed: bool


@router.get("/disagreement", response_model=Disagreements)
def get_disagreement(
    runs: ChosenRuns,
    shelf: ShelfDep,
    access: AccessDep,
    metric: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    """How far apart the readings of each case are; with a metric, what each scores too."""
    if len(runs) > MAX_RUNS:
        raise UsageError(f"{len(runs)} runs are too many for this", remedy=f"choose up to {MAX_RUNS}")
    split = _split(runs, shelf)
    said = [_load_answers(run) for run in runs]
    values: list[Mapping[str, dict[str, float]]] = []
    if metric is not None and access.truth:
        values = [_values(run) for run in runs]
    cases = list(dict.fromkeys(c for run in runs for c in planned_cases(run, split)))
    rows = []
    for case in cases:
        own = [told.get(case) for told in said]
        scores = [found.get(case, {}).get(metric or "") for found in values]
        rows.append(_row(split.entries[case].case, own, scores))
    found = Disagreements(
        runs=[run.id for run in runs],
        rule=_distance_rule(split.entries[cases[0]].case) if cases else "",
        asks_masks=bool(cases) and bool(split.entries[cases[0]].case.queries),
        metric=metric if values else None,
        rows=rows,
    )
    return Response(to_json(found, inf_nan_mode="null"), media_type="application/json")


def _split(runs: list[Run], shelf: ShelfDep) -> Split:
    for run in runs:
        if run.dataset is not None:
            return shelf.split_of(run)
    return shelf.split_of(runs[0])


def _values(run: Run) -> Mapping[str, dict[str, float]]:
    try:
        return case_values(load_card(run))
    except OverreadError:
        return {}


def _load_answers(run: Run) -> dict[str, _ReadingAnswer]:
    """Case → what its first reading says."""
    found = {}
    for reading in iter_readings(run.folder):
        if reading.sample == 0:
            found[reading.case_id] = _ReadingAnswer(
                choice=reading.choice,
                probabilities=reading.probabilities,
                words=_words(reading),
                failed=reading.error is not None,
            )
    return found


def _words(reading: Reading) -> str:
    """What is compared word by word: the report, or the reason of a choice, or the findings."""
    for text in (reading.report, reading.rationale):
        if text:
            return text
    return "\n".join(finding.text for finding in reading.findings or () if finding.query is None)


def _distance_rule(case: Case) -> str:
    if case.options:
        return "share of the probability that would have to move, or 1 where the letters differ"
    if case.queries:
        return "1 minus the mean Dice of the masks of the first two runs"
    if case.asks == "answer":
        return "1 where the answers differ"
    return "share of the words that only one of two reports has"


def _row(case: Case, own: list[_ReadingAnswer | None], scores: list[float | None]) -> Disagreement:
    there = [one for one in own if one is not None and not one.failed]
    pairs = list(combinations(there, 2))
    chooses = bool(case.options) or case.asks == "answer"
    words = [word_difference(one.words, two.words) for one, two in pairs if one.words and two.words]
    known = [score for score in scores if score is not None]
    apart = [_distance(case, one, two) for one, two in pairs]
    told = [value for value in apart if value is not None]
    return Disagreement(
        case=case.id,
        apart=sum(told) / len(told) if told else None,
        differ=len({_answer(case, one) for one in there}) > 1 if chooses and pairs else None,
        words=sum(words) / len(words) if words else None,
        answers=[None if one is None else (one.choice or "")[:MAX_LETTERS] or None for one in own],
        states=["missing" if o is None else "failed" if o.failed else "read" for o in own],
        values=scores,
        spread=max(known) - min(known) if len(known) > 1 else None,
    )


def _answer(case: Case, said: _ReadingAnswer) -> str:
    return (said.choice or "") if case.options else normalise_answer(said.choice or "")


def _distance(case: Case, one: _ReadingAnswer, two: _ReadingAnswer) -> float | None:
    if case.options:
        moved = total_variation(one.probabilities, two.probabilities)
        return float(one.choice != two.choice) if moved is None else moved
    if case.asks == "answer":
        return float(_answer(case, one) != _answer(case, two))
    if case.queries:
        return None
    return word_difference(one.words, two.words)
