"""Append-only files: torn lines, short writes, one writer, two names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

import pytest

from overread.errors import OverreadError, UsageError
from overread.storage.append_log import AppendLog, iter_lines, log_path, write_all


def open_log(path: Path, torn: Literal["cut", "end"] = "cut") -> AppendLog:
    return AppendLog(
        path,
        torn=torn,
        busy=UsageError("somebody has it"),
        unwritable=lambda error: OverreadError(f"full ({error.strerror})"),
    )


@pytest.mark.parametrize(
    ("before", "cut", "ended"),
    [
        (b"", b"", b""),
        (b"a\nb\n", b"a\nb\n", b"a\nb\n"),
        (b"a\nb", b"a\n", b"a\nb\n"),
        (b"half", b"", b"half\n"),
        (b"a\n" + b"x" * 200_000, b"a\n", b"a\n" + b"x" * 200_000 + b"\n"),
    ],
    ids=["new", "whole", "torn", "torn only", "long"],
)
def test_a_torn_line_is_cut_or_ended(tmp_path: Path, before: bytes, cut: bytes, ended: bytes) -> None:
    """By what the format says; the next line stands on its own either way."""
    for torn, whole in (("cut", cut), ("end", ended)):
        path = tmp_path / torn
        path.write_bytes(before)
        log = open_log(path, torn)  # type: ignore[arg-type]
        log.append(b"next\n")
        log.close(sync=True)
        log.close(sync=True)
        assert path.read_bytes() == whole + b"next\n"


def test_nobody_else_writes_meanwhile(tmp_path: Path) -> None:
    """A second one is refused and leaves nothing open; then it is free again."""
    first = open_log(tmp_path / "log")
    with pytest.raises(UsageError, match="somebody has it"):
        open_log(tmp_path / "log")
    first.close(sync=False)
    open_log(tmp_path / "log").close(sync=False)


def test_a_full_disk_is_the_callers_error() -> None:
    """Writing to a device that is always full raises what the caller made of it."""
    log = open_log(Path("/dev/full"))
    with pytest.raises(OverreadError, match=r"full \(No space left on device\)"):
        log.append(b"line\n")
    log.close(sync=False)


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system may take three bytes of a line at a time."""
    real = os.write
    short: Any = lambda handle, data: real(handle, data[:3])  # noqa: E731
    monkeypatch.setattr(os, "write", short)
    with (tmp_path / "log").open("wb") as file:
        write_all(file.fileno(), b"a whole line\n")
    assert (tmp_path / "log").read_bytes() == b"a whole line\n"


def test_lines_end_at_newlines_only(tmp_path: Path) -> None:
    """Other signs that some take for line ends are part of a line; a torn one is asked for."""
    path = tmp_path / "log"
    path.write_bytes("one\u2028\x85\n\n \ntwo\rthree\ntorn".encode())
    whole = ["one\u2028\x85\n".encode(), b"two\rthree\n"]
    assert list(iter_lines(path)) == whole
    assert list(iter_lines(path, torn=True)) == [*whole, b"torn"]
    assert list(iter_lines(tmp_path / "none")) == []


def test_an_old_name_goes_on_and_two_are_refused(tmp_path: Path) -> None:
    """A folder has one log: the new name, unless the old one is there."""
    assert log_path(tmp_path, "new", "old") == tmp_path / "new"
    (tmp_path / "old").touch()
    assert log_path(tmp_path, "new", "old") == tmp_path / "old"
    (tmp_path / "new").touch()
    with pytest.raises(UsageError, match="both new and old"):
        log_path(tmp_path, "new", "old")
