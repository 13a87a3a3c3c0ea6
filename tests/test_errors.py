"""Which errors end everything, and what is raised of several."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import overread.build.runner
import overread.cli.main  # noqa: F401 - every room, so that every error is known
from overread.errors import (
    BadReply,
    OverreadError,
    ReaderError,
    Unavailable,
    UnknownName,
    first_error,
    is_fatal,
)


def kinds(kind: type[OverreadError] = OverreadError) -> Iterator[type[OverreadError]]:
    """An error of ours and all that derive from it."""
    yield kind
    for other in kind.__subclasses__():
        yield from kinds(other)


def test_what_is_wrong_for_every_case_is_one_list() -> None:
    """Reading, judging, building and the Inspect bridge end on the same errors."""
    ours = [kind for kind in kinds() if kind.__module__.startswith("overread.")]
    assert {kind.__name__ for kind in ours if is_fatal(kind("told"))} == {
        "CacheUnusable",
        "LedgerUnusable",
        "LocksFail",
        "MissingPart",
        "OutOfResources",
        "RunUnwritable",
        "Unavailable",
        "Undeclared",
        "UsageError",
    }
    assert is_fatal(MemoryError())
    assert not is_fatal(ValueError("a bug of one case"))


@pytest.mark.parametrize(
    ("prefer", "first"), [((), ReaderError), (UnknownName, UnknownName), (OSError, ReaderError)]
)
def test_of_a_group_one_error_is_raised(
    prefer: type[BaseException] | tuple[()], first: type[OverreadError]
) -> None:
    """The first of the innermost group, or the kind that was asked for."""
    group = ExceptionGroup(
        "outer", [ExceptionGroup("inner", [ReaderError("one"), UnknownName("two")]), BadReply("x")]
    )
    assert type(first_error(group, prefer)) is first
    alone = Unavailable("no credit")
    assert first_error(alone) is alone
