"""What every part about builds asks for: the build of an address, and whose verdicts these are."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, HTTPException, Query

from overread.build.adjudication.reads import person_key, person_name
from overread.core import Record
from overread.metrics.statistics.bootstrap import Interval
from overread.site.parts import OnShelf, User, Word
from overread.site.shelf import Build

LONGEST_ID = 1000
"""Characters of a question's id that may be asked for."""


def _build(build: Word, shelf: OnShelf) -> Build:
    return shelf.build(build)


OneBuild = Annotated[Build, Depends(_build)]
"""The build of an address with {build}."""

QuestionId = Annotated[str, Query(min_length=1, max_length=LONGEST_ID)]
"""Which question, in a query: its id may hold slashes."""


def person_of(user: str | None, told: str) -> str:
    """Whose verdict it is: who is logged in, and nobody else; else the name that was typed."""
    if user is None:
        return person_name(told)
    if told.strip() and person_key(told) != person_key(user):
        raise HTTPException(403, f"you are logged in as {user}, and read as nobody else")
    return person_name(user)


def _asking(user: User, person: Annotated[str, Query(max_length=200)] = "") -> str:
    return person_of(user, person)


Person = Annotated[str, Depends(_asking)]
"""Who asks: the user who is logged in, else `person` of the query."""


class QueueSpan(Record):
    """A number with its interval; absent where it is undefined."""

    value: float | None
    low: float | None
    high: float | None


def span(found: Interval) -> QueueSpan:
    """An interval as it is sent."""
    return QueueSpan(value=found.value, low=found.low, high=found.high)
