"""StatisticRows of statistics: the same numbers whether rows are listed, kept as columns, or a part of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from overread.metrics import Sample, Statistics
from overread.metrics.rows import ColumnRows, ListedRows, StatisticRows


def some_rows() -> list[dict[str, Any]]:
    """Numbers of all sizes, gaps, lists and words."""
    return [
        {
            "asked": 1,
            "whole": n * 3_000_000_000 if n == 7 else n - 5,
            "share": n / 7,
            "maybe": None if n % 3 else 0.5,
            "yes": n % 2 == 0,
            "wrong": [0.1 * n, 1][: n % 3],
            "said": f"word {n}",
            f"chose:{'ABC'[n % 3]}": 1,
        }
        for n in range(20)
    ]


def both(rows: list[dict[str, Any]]) -> tuple[StatisticRows, StatisticRows]:
    """The rows in memory, and their numbers alone."""
    columns = ColumnRows(lambda: iter(rows), rows.__getitem__)
    for row in rows:
        columns.add(row)
    return ListedRows(rows), columns


PARTS = [np.arange(20), np.arange(3, 19), np.array([4]), np.array([9, 2, 2, 17]), np.array([], np.int64)]


@pytest.mark.parametrize("places", PARTS, ids=len)
def test_columns_say_what_rows_say(places: Any) -> None:
    """Columns, lists, values of rows and the rows themselves, of all and of a part."""
    rows = some_rows()
    wanted = ListedRows([rows[n] for n in places.tolist()])
    for whole in both(rows):
        found = whole.part(places)
        assert list(found) == list(wanted)
        assert [found[n] for n in range(len(found))] == list(wanted)
        assert found[:2] == wanted[:2]
        for name in ("asked", "whole", "share", "maybe", "yes", "chose:B", "nothing"):
            assert found.column(name).tolist() == wanted.column(name).tolist()
            assert found.column(name).dtype == np.float64
        for one, other in zip(found.lists("wrong"), wanted.lists("wrong"), strict=True):
            assert one.tolist() == other.tolist()
        assert found.row_values(letters).tolist() == [letters(row) for row in wanted]
        assert set(wanted.names) <= set(found.names)


def letters(row: Statistics) -> float:
    return len(row["said"])


def rank(rows: Sequence[Statistics]) -> Any:
    return np.argsort(np.argsort([-row["whole"] for row in rows])).astype(float)


def test_relative_values_of_a_part() -> None:
    """Among themselves they are new, among all they are those of all."""
    for whole in both(some_rows()):
        part = np.array([2, 5])
        assert whole.part(part).relative_values(rank).tolist() == [1, 0]
        assert whole.part(part, among_all=True).relative_values(rank).tolist() == rank(whole)[part].tolist()


def test_totals_are_those_of_rows_in_memory() -> None:
    """To the last bit, and they are no longer what was handed out before."""
    weights = np.random.default_rng(3).integers(0, 4, (50, 20))
    listed, columns = (Sample(rows, weights) for rows in both(some_rows()))
    for name in ("share", "yes", "nothing"):
        assert listed.total(name).tobytes() == columns.total(name).tobytes()
        listed.total(name).fill(7)
        assert listed.total(name).tobytes() == columns.total(name).tobytes()


def test_what_is_zero_in_all_rows_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many blocks of draws there are."""
    rows = [{"asked": 1, "sure": 0} for _ in range(4)]
    part = both(rows)[1].part(np.array([1, 2]))
    looked: list[str] = []
    whole = part.column

    def look(name: str) -> Any:
        looked.append(name)
        return whole(name)

    monkeypatch.setattr(part, "column", look)
    for _ in range(3):
        assert Sample(part, np.ones((2, 2))).total("sure").tolist() == [0, 0]
        assert Sample(part, np.ones((2, 2))).total("asked").tolist() == [2, 2]
    assert (looked.count("sure"), looked.count("asked")) == (1, 3)
