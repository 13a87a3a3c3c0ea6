"""Mappings that do not fill the memory: the same as a dict, wherever their values lie."""

from __future__ import annotations

import pickle
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.errors import OverreadError
from overread.storage.spilled import SpilledMapping


@given(
    st.lists(st.tuples(st.integers(0, 12), st.text() | st.none() | st.lists(st.floats(allow_nan=False)))),
    st.integers(0, 5),
)
def test_it_is_a_dict(pairs: list[tuple[int, Any]], held: int) -> None:
    """Order, values set again, what is missing: as of a dict, with any number of them in memory."""
    found: SpilledMapping[int, Any] = SpilledMapping(held=held)
    wanted: dict[int, Any] = {}
    for key, value in pairs:
        found[key] = wanted[key] = value
        assert found[key] == value
    assert list(found) == list(wanted)
    assert list(found.items()) == list(wanted.items())
    assert list(found.values()) == list(wanted.values())
    assert found == wanted
    assert found.spills == (len(wanted) > held)
    assert pickle.loads(pickle.dumps(found)) == wanted
    assert found.get(99) is None


def test_values_larger_than_what_is_read_at_once() -> None:
    """Large and small ones, in their order and out of it."""
    found: SpilledMapping[str, bytes] = SpilledMapping(held=0)
    wanted = {f"{n}": bytes([n]) * size for n, size in enumerate((3, 700_000, 5, 262_144, 1, 300_000))}
    for key, value in wanted.items():
        found[key] = value
    assert [found[key] for key in reversed(wanted)] == list(reversed(wanted.values()))
    assert list(found.values()) == list(wanted.values())
    found["7"] = b"after it was read"
    assert (found["7"], found["1"]) == (b"after it was read", wanted["1"])


def test_a_place_without_room_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the scratch file cannot be made, one sentence says where and what to do."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    found: SpilledMapping[int, bytes] = SpilledMapping(held=0)
    with pytest.raises(OverreadError, match=r"scratch file cannot be written .*nowhere.*TMPDIR"):
        found[1] = bytes(1 << 20)
