"""What every part about builds asks for: the build of an address, and whose verdicts these are."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, HTTPException, Query

from overread.build.adjudication.reads import person_key, person_name
from overread.core import Record
from overread.metrics.statistics.bootstrap import Interval
from overread.site.dependencies import CurrentUser, PathId, ShelfDep
from overread.site.shelf import BuildFolder

LONGEST_ID = 1000
"""Characters of a question's id that may be asked for."""


def _build(build: PathId, shelf: ShelfDep) -> BuildFolder:
    return shelf.build(build)


OneBuild = Annotated[BuildFolder, Depends(_build)]
"""The build of an address with {build}."""

QuestionId = Annotated[str, Query(min_length=1, max_length=LONGEST_ID)]
"""Which question, in a query: its id may hold slashes."""


def resolve_person(user: str | None, told: str) -> str:
    """Whose verdict it is: who is logged in, and nobody else; else the name that was typed."""
    if user is None:
        return person_name(told)
    if told.strip() and person_key(told) != person_key(user):
        raise HTTPException(403, f"you are logged in as {user}, and cannot give verdicts under another name")
    return person_name(user)


def _current_person(user: CurrentUser, person: Annotated[str, Query(max_length=200)] = "") -> str:
    return resolve_person(user, person)


Person = Annotated[str, Depends(_current_person)]
"""Who asks: the user who is logged in, else `person` of the query."""


# Less than metrics' Interval: the page shows three numbers of it.
class AgreementValue(Record):
    """A number with its interval; absent where it is undefined."""

    value: float | None
    low: float | None
    high: float | None


def to_agreement_value(found: Interval) -> AgreementValue:
    """An interval as it is sent."""
    return AgreementValue(value=found.value, low=found.low, high=found.high)
