"""Digests of plain values and of states of files."""

from __future__ import annotations

from pathlib import Path

from overread.storage.digests import digest, file_identity


def test_equal_values_have_one_digest() -> None:
    """In every process and every version: caches and cards hold it."""
    assert digest("a", {"x": 1, "y": [2.5, None]}) == digest("a", {"y": [2.5, None], "x": 1})
    assert digest("a", {"x": 1, "y": [2.5, None]}) == "3165eced948f197d1db743ee5945e705"
    assert digest("a") != digest("b")
    assert len(digest("\ud800")) == 32


def test_another_state_of_a_file_has_another_identity(tmp_path: Path) -> None:
    """A changed file, or other bytes, are told apart."""
    file = tmp_path / "x"
    file.write_bytes(b"1")
    before = file_identity(file)
    file.write_bytes(b"12")
    assert file_identity(file) != before
    assert file_identity(b"1") != file_identity(b"2")
    assert digest(1, "a") == digest(1, "a") != digest("1", "a")
