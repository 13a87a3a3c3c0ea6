"""Locks: refused, waited for, shared, and let go of."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from overread.errors import UsageError
from overread.storage.locks import lock_file, lock_folder

BUSY = UsageError("somebody is at it")


def test_a_folder_is_held_by_one(tmp_path: Path) -> None:
    """The second is refused while the block runs, also where it ends badly."""

    def hold(*, fails: bool) -> None:
        with lock_folder(tmp_path, busy=BUSY):
            if fails:
                raise RuntimeError

    with lock_folder(tmp_path), pytest.raises(UsageError, match="somebody is at it"):
        hold(fails=False)
    with pytest.raises(RuntimeError):
        hold(fails=True)
    hold(fails=False)


def test_without_a_refusal_it_waits(tmp_path: Path) -> None:
    """The second comes after the first is done."""
    order: list[str] = []

    def second() -> None:
        with lock_folder(tmp_path):
            order.append("second")

    with lock_folder(tmp_path):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(0.05)
        order.append("first")
    thread.join(300)
    assert order == ["first", "second"]


def test_readers_share_and_a_writer_does_not(tmp_path: Path) -> None:
    """Two shared locks go together; an exclusive one is refused beside them."""
    path = tmp_path / "log"
    path.touch()
    with path.open("rb") as one, path.open("rb") as two, path.open("rb") as three:
        lock_file(one, path, shared=True)
        lock_file(two, path, busy=BUSY, shared=True)
        with pytest.raises(UsageError, match="somebody is at it"):
            lock_file(three, path, busy=BUSY)
