"""Files of lines that are only ever appended to, and survive a kill at any moment.

A kill can cut off the last line, nothing else. Whether the rest of such a line is cut off before
the next one is written, or ended and left as a line that nobody can read, is part of each format.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Literal

from overread.errors import OverreadError, UsageError
from overread.storage.locks import lock_file
from overread.storage.system import open_binary

_BLOCK = 1 << 16


class AppendLog:
    """One such file, open for appending by nobody else."""

    def __init__(
        self,
        path: Path,
        *,
        torn: Literal["cut", "end"],
        busy: OverreadError,
        unwritable: Callable[[OSError], OverreadError],
    ) -> None:
        """Open or make the file, lock it and deal with a torn last line.

        `busy` is raised where another process has it, `unwritable` makes the error of a failed
        write or sync.
        """
        self._unwritable = unwritable
        number = open_binary(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        self._file: IO[bytes] = os.fdopen(number, "rb+", buffering=0)
        try:
            lock_file(self._file, path, busy=busy)
            end = self._file.seek(0, os.SEEK_END)
            whole = _end_of_last_line(self._file, end)
            if whole != end and torn == "cut":
                self._file.truncate(whole)
            elif whole != end:
                self.append(b"\n")
        except BaseException:
            self._file.close()
            raise

    def append(self, line: bytes) -> None:
        """Write one line with its end; from now on a kill does not lose it."""
        try:
            write_all(self._file.fileno(), line)
        except OSError as error:
            raise self._unwritable(error) from None

    def sync(self) -> None:
        """Have the disk keep what was written; may be called from a thread."""
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise self._unwritable(error) from None

    def close(self, *, sync: bool) -> None:
        """Let go of the file, synced first where asked."""
        if self._file.closed:
            return
        try:
            if sync:
                self.sync()
        finally:
            self._file.close()


def write_all(handle: int, data: bytes) -> None:
    """Write every byte: one call may write less than it was given."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def iter_lines(path: Path, *, torn: bool = False) -> Iterator[bytes]:
    """The lines of a file, blank ones left out; the last one without its end only with `torn`."""
    try:
        with path.open("rb") as file:
            for line in file:
                if (torn or line.endswith(b"\n")) and line.strip():
                    yield line
    except FileNotFoundError:
        return


def log_path(folder: Path, name: str, old_name: str) -> Path:
    """The log `name` of a folder; where one stands there by its old name, that one goes on.

    Two of them are refused: each would hold a part of the lines.
    """
    path, old = folder / name, folder / old_name
    if not old.exists():
        return path
    if path.exists():
        raise UsageError(
            f"there are both {name} and {old_name}, its old name",
            where=str(folder),
            remedy="move one of them away: verdicts are kept in one file",
        )
    return old


def _end_of_last_line(file: IO[bytes], end: int) -> int:
    """Where the last whole line ends."""
    while end > 0:
        begin = max(0, end - _BLOCK)
        file.seek(begin)
        found = file.read(end - begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end = begin
    return 0
