"""The cases of a run as one table: what became of each, and what each scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic_core import to_json
from starlette.responses import Response

from overread.core import Entry, Record, Usage
from overread.errors import NotThere, OverreadError
from overread.metrics.groups import find_groups
from overread.runs.scoring.aggregation import UnitKey
from overread.runs.scoring.card import Card
from overread.runs.scoring.case_scores import values_by_case
from overread.site.dependencies import AccessDep, OneRun, ShelfDep, require_truth
from overread.site.lru_cache import LruCache
from overread.site.runs.reading_index import ReadingSummary, index_of_run
from overread.site.runs.scorecards import card_errors, load_card
from overread.site.shelf import Run, Split
from overread.site.strip_paths import strip_paths

router = APIRouter()
NameQuery = Annotated[str | None, Query(max_length=200)]


# Apart from the readings: values and right answers are withheld with the truth.
class RunCaseRow(Record):
    """One case of a run."""

    case: str
    state: Literal["read", "failed", "missing", "not judged"]
    error: str | None = None
    """Why it failed."""
    choices: list[str | None]
    """What was chosen, once for each reading of the case."""
    right: list[bool | None] | None
    """Whether these are right; absent where the truth is withheld or nothing is to choose."""
    values: list[float | None]
    """What the case scores by itself, in the order of the metrics."""
    sure: float | None
    """Probability of the option the first reading holds most likely."""
    steps: int
    findings: int
    calls: int
    tokens: int
    """Read and written together."""
    seconds: float
    cost: float | None


class RunCaseTable(Record):
    """The cases of a run, in the order of the release."""

    metrics: list[str]
    """Those that each case has a value of; none where the truth is withheld."""
    breakdown: str | None
    group: str | None
    """Only units of this group are in the values, and only cases with such a unit are here."""
    rows: list[RunCaseRow]


@router.get("/runs/{run}/cases", response_model=RunCaseTable)
def get_cases(
    run: OneRun, shelf: ShelfDep, access: AccessDep, breakdown: NameQuery = None, group: NameQuery = None
) -> Response:
    """All cases of a run; with a breakdown and a group, those behind that number.

    What single cases score, and which group they are in, tells the truth: where that is withheld
    neither is sent.
    """
    if breakdown is not None or group is not None:
        require_truth(access)
    try:
        split: Split | None = shelf.split_of(run)
    except OverreadError:
        split = None
    card = _load_card_or_none(run) if access.truth else None
    within = None
    if breakdown is not None and group is not None:
        within = _units_in_group(load_card(run), split, breakdown, group)
    table = _table(run, split, card, within, truth=access.truth)
    told = table.model_copy(update={"breakdown": breakdown, "group": group})
    # Built and told once: checking thousands of rows a second time takes longer than making them.
    return Response(to_json(told, inf_nan_mode="null"), media_type="application/json")


def planned_cases(run: Run, split: Split) -> list[str]:
    """The cases that a run is to read, in the order of the release."""
    named = set(run.spec.cases)
    return [case for case in split.entries if not named or case in named][: run.spec.limit]


def case_values(card: Card, within: frozenset[UnitKey] | None = None) -> Mapping[str, dict[str, float]]:
    """Case → metric → what the case scores by itself."""

    def compute() -> tuple[Card, dict[str, dict[str, float]]]:
        found: dict[str, dict[str, float]] = {}
        with card_errors():
            for line in values_by_case(card, within=within):
                if line["value"] is not None:
                    found.setdefault(line["case"], {})[line["metric"]] = line["value"]
        return card, found

    return _values.get((id(card), within), compute)[1]


_values: LruCache[tuple[Card, dict[str, dict[str, float]]]] = LruCache(24)
"""With the card itself, so that no other one gets its id."""


def _load_card_or_none(run: Run) -> Card | None:
    try:
        return load_card(run)
    except OverreadError:
        return None


def _units_in_group(card: Card, split: Split | None, breakdown: str, group: str) -> frozenset[UnitKey]:
    """The units of a group."""
    if split is None:
        raise NotThere("the dataset of the run was not found, and it defines the groups")
    if group not in card.breakdowns.get(breakdown, {}):
        raise NotThere(f"no case of the run is in the group '{group}' of '{breakdown}'")
    found = set()
    for case, own in card.statistics.items():
        entry = split.entries.get(case)
        if entry is None:
            continue
        for unit in {unit for rows in own.rows.values() for unit in rows}:
            if group in find_groups(entry, unit.partition("@")[0]).get(breakdown, ()):
                found.add((case, unit))
    return frozenset(found)


def _table(
    run: Run, split: Split | None, card: Card | None, within: frozenset[UnitKey] | None, *, truth: bool
) -> RunCaseTable:
    by_case: dict[str, dict[int, ReadingSummary]] = {}
    for (case, sample), glance in index_of_run(run.folder).refresh().items():
        by_case.setdefault(case, {})[sample] = glance
    cases = planned_cases(run, split) if split is not None else list(by_case)
    if within is not None:
        inside = {case for case, _ in within}
        cases = [case for case in cases if case in inside]
    values = case_values(card, within) if card is not None else {}
    metrics = list(card.scores) if card is not None else []
    return RunCaseTable(
        metrics=metrics,
        breakdown=None,
        group=None,
        rows=[
            _row(
                case,
                by_case.get(case, {}),
                split.entries.get(case) if split is not None and truth else None,
                [values.get(case, {}).get(name) for name in metrics],
                judged=card is None or _is_judged(card, case),
            )
            for case in cases
        ],
    )


def _is_judged(card: Card, case: str) -> bool:
    own = card.statistics.get(case)
    return own is None or own.state != "not judged"


def _row(
    case: str,
    readings: Mapping[int, ReadingSummary],
    entry: Entry | None,
    values: list[float | None],
    *,
    judged: bool,
) -> RunCaseRow:
    glances = [readings[sample] for sample in sorted(readings)]
    error = next((one.error for one in glances if one.error is not None), None)
    state: Literal["read", "failed", "missing", "not judged"] = "read"
    if not glances:
        state = "missing"
    elif error is not None:
        state = "failed"
    elif not judged:
        state = "not judged"
    answer = entry.truth.answer if entry is not None and entry.truth is not None else None
    asked = answer is not None and entry is not None and bool(entry.case.options)
    usage = sum((one.usage for one in glances if one.usage), Usage())
    return RunCaseRow(
        case=case,
        state=state,
        error=strip_paths(error) if error is not None else None,
        choices=[one.choice for one in glances],
        right=[one.choice == answer for one in glances] if asked else None,
        values=values,
        sure=glances[0].sure if glances else None,
        steps=sum(one.steps for one in glances),
        findings=sum(one.findings for one in glances),
        calls=usage.calls,
        tokens=usage.input_tokens + usage.output_tokens,
        seconds=usage.seconds,
        cost=usage.cost,
    )
