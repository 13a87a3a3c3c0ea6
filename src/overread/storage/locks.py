"""Locks between processes. The system lets go of them when a process ends, however it ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
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
