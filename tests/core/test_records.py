"""What a reader may see and what is true are two objects."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

import overread
from overread.core import Box, Case, Entry, Option, Record, Truth
from overread.errors import OverreadError, Refused, UnknownName, UsageError

BENCHMARKS = ("medthinkvqa", "rexgroundingct", "mmrad")


def strings(value: Any) -> set[str]:
    """All texts in a JSON value."""
    if isinstance(value, str):
        return {value}
    if isinstance(value, dict):
        return set().union(*(strings(item) for item in value.values()), set())
    if isinstance(value, list):
        return set().union(*(strings(item) for item in value), set())
    return set()


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_a_case_tells_nothing_of_its_truth(sketch: Path, benchmark: str) -> None:
    """No text of the truth, no file name and no id stands in the dump of a case."""
    release = overread.load(benchmark, sketch / benchmark)
    for entry in release.entries():
        assert entry.truth is not None
        seen = json.dumps(entry.case.model_dump(mode="json"))
        shown = strings(entry.case.model_dump(mode="json"))
        # The sentence of a query, and an option's text, are for the reader; all else is not.
        allowed = {query.text for query in entry.case.queries} | shown
        hidden = strings(json.loads(entry.truth.model_dump_json())) - allowed
        hidden |= {picture.file for picture in entry.case.pictures} | {entry.case.id}
        for text in hidden:
            if len(text) > 3 and text not in ("whole", "mask", "xray", "image-1"):
                assert text not in seen, text


def test_nothing_reachable_from_a_case_is_a_truth(sketch: Path) -> None:
    """Walking all attributes of a case never meets a Truth or an Entry."""

    def walk(value: object, depth: int = 0) -> None:
        assert not isinstance(value, Truth | Entry)
        if depth > 6:
            return
        if isinstance(value, Record):
            for name in type(value).model_fields:
                walk(getattr(value, name), depth + 1)
        elif isinstance(value, tuple | list):
            for item in value:
                walk(item, depth + 1)

    for benchmark in BENCHMARKS:
        for case in overread.load(benchmark, sketch / benchmark):
            assert isinstance(case, Case)
            walk(case)


def test_records_do_not_change() -> None:
    """Records are frozen and refuse unknown fields and infinite numbers."""
    option = Option(letter="A", text="Sarcoidosis")
    with pytest.raises(ValidationError):
        option.text = "other"  # type: ignore[misc]
    with pytest.raises(ValidationError):
        Option(letter="A", text="x", right=True)  # type: ignore[call-arg]
    with pytest.raises(ValidationError):
        Box(picture="xray", x1=0, y1=0, x2=float("inf"), y2=1)


def test_a_box_knows_when_it_is_inverted() -> None:
    """A box that ends before it begins is kept, and says so."""
    assert Box(picture="x", x1=1, y1=1, x2=2, y2=2).is_proper
    assert not Box(picture="x", x1=2, y1=1, x2=1, y2=2).is_proper


@pytest.mark.parametrize("kind", [OverreadError, UsageError, UnknownName, Refused])
def test_errors_survive_a_process_border(kind: type[OverreadError]) -> None:
    """An error keeps its parts when it is pickled, as it is between processes."""
    error = pickle.loads(pickle.dumps(kind("what", where="here", remedy="do this")))
    assert type(error) is kind
    assert str(error) == "what (in here): do this"
