"""FastAPI dependencies of all routes: shelf, access rights, user, objects of an address."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import Depends, HTTPException, Path, Request

from overread.core import Entry, Record
from overread.site.access import Access
from overread.site.shelf import Dataset, Run, Shelf, Split

PathId = Annotated[str, Path(max_length=200, pattern=r"^[A-Za-z0-9_.#-]+$")]
"""An id in an address: no slash, so that no path can hide in it."""


class ApiError(Record):
    """Why a request was not answered: one sentence and what to do."""

    what: str
    """What is wrong."""
    remedy: str = ""
    """What to do about it."""


ERROR_RESPONSES: dict[int | str, dict[str, object]] = {
    401: {"model": ApiError, "description": "Not logged in, or no token."},
    403: {"model": ApiError, "description": "Not allowed on this page."},
    404: {"model": ApiError, "description": "Not found."},
    422: {"model": ApiError, "description": "Invalid request, or stored data that cannot be read."},
}
"""Answers that any part may give."""


def _shelf(request: Request) -> Shelf:
    return cast(Shelf, request.app.state.shelf)


def _access(request: Request) -> Access:
    return cast(Access, request.app.state.access)


ShelfDep = Annotated[Shelf, Depends(_shelf)]
"""What there is to look at."""
AccessDep = Annotated[Access, Depends(_access)]
"""Who may look, and what they may do."""


def require_truth(access: AccessDep) -> None:
    """Refuse where the truth is withheld: `dependencies=[Depends(sees_truth)]`."""
    if not access.truth:
        raise HTTPException(403, "the truth is withheld on this page")


def require_write(access: AccessDep) -> None:
    """Refuse where the page is read-only."""
    if access.read_only:
        raise HTTPException(403, "this page is read-only")


def _user(request: Request) -> str | None:
    return cast("str | None", getattr(request.state, "user", None))


CurrentUser = Annotated[str | None, Depends(_user)]
"""The name somebody logged in with; None where the token let them in."""


def _dataset(dataset: PathId, shelf: ShelfDep) -> Dataset:
    return shelf.dataset(dataset)


def _split(dataset: PathId, split: PathId, shelf: ShelfDep) -> Split:
    return shelf.dataset(dataset).split(split)


def _entry(dataset: PathId, split: PathId, case: PathId, shelf: ShelfDep) -> Entry:
    return shelf.dataset(dataset).split(split).entry(case)


def _run(run: PathId, shelf: ShelfDep) -> Run:
    return shelf.run(run)


OneDataset = Annotated[Dataset, Depends(_dataset)]
"""The dataset of an address with {dataset}."""
OneSplit = Annotated[Split, Depends(_split)]
"""The split of an address with {dataset}/{split}."""
OneEntry = Annotated[Entry, Depends(_entry)]
"""The row of an address with {dataset}/{split}/{case}; knows the truth."""
OneRun = Annotated[Run, Depends(_run)]
"""The run of an address with {run}."""
