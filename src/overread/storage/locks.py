"""Locks between processes. The system lets go of them when a process ends, however it ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from overread.errors import OverreadError


def lock_file(file: int | IO[bytes], *, busy: OverreadError | None = None, shared: bool = False) -> None:
    """Lock an open file until it is closed. Where others hold it: raise `busy`, or wait."""
    how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(file, how | (fcntl.LOCK_NB if busy else 0))
    except BlockingIOError:
        if busy is None:
            raise
        raise busy from None


@contextmanager
def lock_folder(folder: Path, *, busy: OverreadError | None = None) -> Iterator[None]:
    """Hold the lock of a folder, which must exist, while the block runs."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        lock_file(handle, busy=busy)
        yield
    finally:
        os.close(handle)


def lock_own(file: int) -> None:
    """Lock a file that was just made, so that others see it is in use; a file system without locks
    goes without.
    """
    with suppress(OSError):
        fcntl.flock(file, fcntl.LOCK_EX)


@contextmanager
def lock_if_free(path: Path) -> Iterator[bool]:
    """Hold the lock of a file or folder while the block runs; False where somebody else holds it."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        except OSError:  # no locks here: nobody can be seen to hold it
            pass
        yield True
    finally:
        os.close(handle)
