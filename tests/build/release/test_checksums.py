"""Checksums as somebody else may have written them."""

from __future__ import annotations

from pathlib import Path

import pytest

import overread.build.release.checksums as checksums


def test_a_name_that_no_file_can_have_is_a_bad_row(tmp_path: Path) -> None:
    """A NUL in a name is told like any other row that is none."""
    (tmp_path / checksums.CHECKSUMS).write_text(f"{'a' * 64}  te\0st.jsonl\n", "utf-8")
    (found,) = checksums.verify_checksums(tmp_path)
    assert (found.code, found.row) == ("bad-row", 1)


@pytest.mark.parametrize("file", ["[" * 300, "a/" * 2000])
def test_a_name_that_is_too_long_is_a_bad_row(tmp_path: Path, file: str) -> None:
    """Asking the system for such a file would end the check; what is told of it is short."""
    (tmp_path / checksums.CHECKSUMS).write_text(f"{'0' * 64}  {file}\n", "utf-8")
    (found,) = checksums.verify_checksums(tmp_path)
    assert found.code == "bad-row"
    assert len(found.found) <= 200
